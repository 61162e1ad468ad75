# daemon.sh - Tidemark in a folder of the test's own, without a mail server.
# Source it after tap.sh.  What it starts, it ends, by pid.
# shellcheck shell=sh

B=${B:-build}
FEED=${FEED:-$B/tests/load/feed}
D=$(mktemp -d "${TMPDIR:-/tmp}/tidemark.XXXXXX") || exit 2
conf=$D/tidemark.conf
daemon_pid=
trap 'daemon_end' EXIT
trap 'exit 1' INT TERM

# daemon_conf [LINE...] - the configuration, with these settings added.
daemon_conf()
{
	mkdir -p "$D/run" "$D/state"
	{
		echo "runtime_dir = $D/run"
		echo "state_dir = $D/state"
		echo "log = $D/log"
		for line; do
			echo "$line"
		done
	} >"$conf"
}

tidemark()
{
	"$B/tidemark" -c "$conf" "$@"
}

daemon_up()
{
	tidemark status
}

daemon_start()
{
	"$B/tidemarkd" -c "$conf" >>"$D/out" 2>&1 </dev/null &
	daemon_pid=$!
	within 15 daemon_up || {
		cat "$D/out" "$D/log"
		return 1
	}
}

# alive PID - is it there, and no zombie?
alive()
{
	[ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"
}

gone()
{
	! alive "$1"
}

daemon_stop()
{
	[ -n "$daemon_pid" ] || return 0
	kill "$daemon_pid" 2>/dev/null
	within 60 gone "$daemon_pid" || kill -9 "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	daemon_pid=
}

daemon_end()
{
	daemon_stop >/dev/null 2>&1
	if [ -n "${KEEP:-}" ]; then
		echo "# kept: $D"
	else
		rm -rf "$D"
	fi
}

# json EXPRESSION COMMAND... - true if it holds for some record, $r.
json()
{
	want=$1
	shift
	tidemark "$@" --json >"$D/json" 2>&1
	cat "$D/json"
	# shellcheck disable=SC2016 # perl, by intent
	WANT=$want perl -MJSON::PP -ne '
		$r = decode_json($_);
		die "no version" unless $r->{version} == 1;
		$ok = 1 if eval $ENV{WANT};
		die $@ if $@;
		END { exit($ok ? 0 : 1) }' "$D/json"
}

# mail COUNT PROFILE FROM [CLIENT [AUTH]] - so many messages, of $letter_text;
# how many passed is in $passed.
letter_text=x
mail()
{
	printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\nFrom: %s\nTo: ann@example.org\nSubject: x\n\n%s\n\n' \
	    "$3" "$3" "$3" "$letter_text" >"$D/box"
	"$FEED" -s "local:$D/run/$2.sock" -n "$1" --client "${4:-192.0.2.1}" \
	    ${5:+--auth "$5"} --daemon X --quiet "$D/box" >"$D/mail.out" 2>&1
	cat "$D/mail.out"
	passed=$(of acked "$D/mail.out")
}

# sends PASSED COUNT PROFILE FROM [CLIENT [AUTH]]
sends()
{
	wanted=$1
	shift
	mail "$@"
	[ "$passed" -eq "$wanted" ]
}

# field NAME - of `status --json'; of a list, how many.
field()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		$v = decode_json(<STDIN>)->{$ARGV[0]};
		print ref $v eq "ARRAY" ? scalar @$v : $v' "$1"
}

# counter NAME - its total.
counter()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		print decode_json(<STDIN>)->{counters}{$ARGV[0]}{total}' "$1"
}

# workers - the pids of the workers that serve now.
workers()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		print "$_->{pid}\n" for @{decode_json(<STDIN>)->{workers}}'
}

# children PID - of a process, as the kernel knows them.
children()
{
	tr ' ' '\n' <"/proc/$1/task/$1/children"
}

# collector - its pid, as a child of the supervisor.
collector()
{
	for p in $(children "$daemon_pid"); do
		tr '\0' ' ' <"/proc/$p/cmdline" | grep -q -- --collector &&
		    echo "$p"
	done
}

collector_is_new()
{
	c=$(collector)
	[ -n "$c" ] && [ "$c" != "$1" ] && daemon_up
}

kill_collector()
{
	old=$(collector)
	kill -9 "$old" && within 30 collector_is_new "$old"
}

# lose_map - as after a reboot: the live file is gone.
lose_map()
{
	daemon_stop && rm -f "$D/run/live.mdb" && daemon_start
}

# says PATTERN COMMAND... - whatever its exit status.
says()
{
	pattern=$1
	shift
	"$@" >"$D/said" 2>&1
	cat "$D/said"
	grep -q -e "$pattern" "$D/said"
}

feed()
{
	"$FEED" -s "local:$D/run/external.sock" "$@" tests/demo/sample.mbox
}

# of WORD FILE - the number behind WORD= in the last line of feed's output.
of()
{
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" "$2" | tail -n 1
}

remembered()
{
	"$B/tests/load/remembered" "$D/run" "$1"
}

# no slot is announced in an epoch when nobody serves
no_epoch_stuck()
{
	[ "$(field workers)" -eq 0 ] || return 1
	tidemark dump --live --json | perl -MJSON::PP -ne '
		$r = decode_json($_);
		$stuck++ if $r->{type} eq "slot" && $r->{epoch};
		END { exit($stuck ? 1 : 0) }'
}
