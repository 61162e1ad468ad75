# web.sh - tidemark-web in the test's own folder.  Source it after daemon.sh.
# shellcheck shell=sh disable=SC2154

WEB=${WEB:-$B/tidemark-web}
web_pid=
root=
[ "$(id -u)" -ne 0 ] || root=--allow-root

# web_start [OPTION...] - sets $page, the address without its last slash.
web_start()
{
	rm -f "$D/web.log" # or an old line would be read
	# shellcheck disable=SC2086 # a word or none
	"$WEB" -c "$conf" $root "$@" >"$D/web.log" 2>&1 </dev/null &
	web_pid=$!
	within 30 grep -q '^tidemark-web: [hu]' "$D/web.log" || return 1
	page=$(sed -n 's|^tidemark-web: \(http.*\)/$|\1|p' "$D/web.log")
}

# TERM ends it, with 0.
web_stop()
{
	[ -n "$web_pid" ] || return 0
	kill "$web_pid" && wait "$web_pid"
	web_status=$?
	web_pid=
	return "$web_status"
}

web_end()
{
	[ -z "$web_pid" ] || kill "$web_pid" 2>/dev/null
	daemon_end
}
trap web_end EXIT

# get PATH [OPTION...], post BODY [OPTION...] - a question
get()
{
	path=$1
	shift
	curl -sS --max-time 60 "$@" "$page$path"
}

post()
{
	post_to /ask "$@"
}

# post_to PATH BODY [OPTION...]; BODY may be @FILE
post_to()
{
	path=$1 body=$2
	shift 2
	curl -sS --max-time 90 --data-binary "$body" "$@" "$page$path"
}

# status COMMAND... - the status of the answer to it.
status()
{
	"$@" -o "$D/body" -w '%{http_code}'
}

# answers STATUS COMMAND...
answers()
{
	want=$1
	shift
	same "$(status "$@")" "$want"
}

# state EXPRESSION - of /state.json as $s.
state()
{
	get /state.json | perl -MJSON::PP -0777 -e '
		my $s = decode_json(<STDIN>);
		my $v = eval $ARGV[0];
		print defined $v ? $v : "undef"' "$1"
}
