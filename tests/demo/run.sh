#!/bin/sh
# run.sh DIR - the product at work: everything below DIR, no root, no mail
# server, one port of loopback for the page.  A sample mailbox of ours is
# replayed through the milter protocol, as a mail server would speak it; one of
# its senders is too fast for the limits set here.
#
# On a terminal it is `tidemark top' until q; without one it shows three
# snapshots and ends.
set -u
dir=$1
B=${B:-build}
mkdir -p "$dir/run" "$dir/state"
dir=$(cd "$dir" && pwd)
sample=tests/demo/sample.mbox
conf=$dir/tidemark.conf
terminal=
[ -t 0 ] && [ -t 1 ] && terminal=yes
daemon=''
traffic=''
web=''
page=''

tidemark()
{
	"$B/tidemark" -c "$conf" "$@"
}

finish()
{
	trap - EXIT
	trap '' HUP INT TERM
	# shellcheck disable=SC2086 # words, by intent
	[ -z "$traffic$web" ] || kill $traffic $web 2>/dev/null
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null
		wait "$daemon" 2>/dev/null
	fi
	rm -f "$dir/pids"
	echo "stopped; everything it wrote is in $dir"
}

# One that was killed could not take its children with it.  A pid that has gone
# to somebody else does not have our folder in its command line.
ours()
{
	grep -qF "$dir" "/proc/$1/cmdline" 2>/dev/null
}

end_leftovers()
{
	[ -e "$dir/pids" ] || return 0
	read -r runner rest <"$dir/pids"
	if ours "$runner"; then
		echo "it runs in $dir already, as $runner; end that one first"
		exit 1
	fi
	for pid in $rest; do
		! ours "$pid" || kill "$pid"
	done
	for pid in $rest; do
		tries=0
		while ours "$pid" && [ "$tries" -lt 400 ]; do
			tries=$((tries + 1))
			sleep 0.1
		done
	done
	echo "what an earlier run in $dir had left was stopped"
}
end_leftovers
trap finish EXIT
trap 'exit 0' INT TERM
trap 'exit 129' HUP

# Whom the next run would have to end, should we be killed.
keep_pids()
{
	echo "$$ $daemon $traffic $web" >"$dir/pids"
}

cat >"$conf" <<END
runtime_dir = $dir/run
state_dir = $dir/state
log = $dir/log
web_listen = 127.0.0.1:0
[profile external]
socket = local:$dir/run/external.sock
daemons = MTA-ext
oksender_mode = enforce
oksender_limit = 1860/1h
oksender_leak = 2s
oksender_ban = 10min
okip_mode = dry-run
okip_limit = 36000/1h
okip_leak = 102ms
[profile internal]
socket = local:$dir/run/internal.sock
daemons = MTA-int
oksender_mode = dry-run
oksender_limit = 1840/1h
oksender_leak = 2s
END

"$B/tidemarkd" -c "$conf" &
daemon=$!
keep_pids
tries=0
# Ours: another one may answer there.
until tidemark status >/dev/null 2>&1 && kill -0 "$daemon" 2>/dev/null; do
	tries=$((tries + 1))
	if [ "$tries" -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
		echo "tidemarkd did not start; its log:"
		tail -n 5 "$dir/log"
		exit 1
	fi
	sleep 0.1
done

for daemon_name in external:MTA-ext internal:MTA-int; do
	"$FEED" -s "local:$dir/run/${daemon_name%:*}.sock" \
	    --daemon "${daemon_name#*:}" -c 2 -m 3 -r 10 -n 0 --retry --quiet \
	    "$sample" >/dev/null 2>&1 &
	traffic="$traffic $!"
done
traffic=${traffic# }

# People who write to many at once, now and then, and so stand at all heights:
# another one each second and a half, who is back when the last drop is out.
bursts()
{
	n=0
	while :; do
		for domain in harbour fjord bookshop orchard lighthouse; do
			for who in anna ben carla dmitri eva farid greta hugo \
			    ines jonas klara lars mona nils; do
				n=$((n + 1))
				from=$who@$domain.example
				printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\nFrom: %s\nTo: list@example.org\nSubject: %s\n\n%s\n\n' \
				    "$from" "$from" "$from" "minutes" \
				    "Dear all, the minutes of our meeting are where they always are. $who" \
				    >"$dir/burst"
				"$FEED" -s "local:$dir/run/external.sock" -m 60 \
				    -n $((6 + n * 37 % 45)) --retry --quiet \
				    --client "198.51.100.${#domain}" "$dir/burst"
				sleep 1.5
			done
		done
	done
}
bursts >/dev/null 2>&1 &
traffic="$traffic $!"
keep_pids

# The page, on a port that is free; without it all goes on.
start_page()
{
	root=
	[ "$(id -u)" -ne 0 ] || root=--allow-root
	: >"$dir/web.log"
	"$B/tidemark-web" -c "$conf" $root >"$dir/web.log" 2>&1 &
	web=$!
	tries=0
	while [ -z "$page" ] && [ "$tries" -lt 50 ] &&
	    kill -0 "$web" 2>/dev/null; do
		tries=$((tries + 1))
		sleep 0.1
		page=$(sed -n 's|^tidemark-web: \(http.*\)|\1|p' "$dir/web.log")
	done
}
[ ! -x "$B/tidemark-web" ] || start_page
keep_pids

snapshot()
{
	echo
	tidemark status
}

# A name for all of that, short enough for a line.
cat >"$dir/tidemark" <<END
#!/bin/sh
exec "$(cd "$B" && pwd)/tidemark" -c "$conf" "\$@"
END
chmod 755 "$dir/tidemark"

# The shortest way to name a file from here.
near()
{
	case $1 in
	"$PWD"/*) echo "${1#"$PWD"/}" ;;
	*) echo "$1" ;;
	esac
}

try_these()
{
	me=$(near "$dir/tidemark")
	cat <<-END
	$1
	  $me why sales@example.org
	  $me unban sales@example.org
	  $me query --text 'your account will be limited
	    within 12 hours unless you confirm your details'
	END
}

# Where it is, and that it goes when we do.
show_page()
{
	[ -z "$page" ] || echo "In a browser, while this runs: $page"
}

if [ -n "$terminal" ]; then
	tidemark top --note "$(show_page
		try_these 'Try in another shell, in this folder:')"
	exit
fi
show_page

sleep 1
snapshot
sleep 1
snapshot
sleep 1
snapshot
# shellcheck disable=SC2086 # words, by intent
kill $traffic 2>/dev/null
traffic=
echo
try_these "On a terminal it goes on until q, and in another shell, in this folder:"
