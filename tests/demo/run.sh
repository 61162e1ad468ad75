#!/bin/sh
# run.sh DIR - the product at work: everything below DIR, no root, no mail
# server, no port.  A sample mailbox of ours is replayed through the milter
# protocol, as a mail server would speak it.
#
# On a terminal it stays until q or Ctrl-C; without one it shows three
# snapshots and ends.
set -u
dir=$1
B=${B:-build}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
here=$(pwd)
sample=tests/demo/sample.mbox
terminal=
[ -t 0 ] && [ -t 1 ] && terminal=yes
daemon=''
traffic=''

tidemark()
{
	"$B/tidemark" --root "$dir" "$@"
}

finish()
{
	trap - EXIT
	[ -z "$terminal" ] || stty "$tty_was" 2>/dev/null
	[ -z "$traffic" ] || kill "$traffic" 2>/dev/null
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null
		wait "$daemon" 2>/dev/null
	fi
	echo "stopped; everything it wrote is in $dir"
}

[ -z "$terminal" ] || tty_was=$(stty -g)
trap finish EXIT
trap 'exit 0' INT TERM

"$B/tidemarkd" --root "$dir" &
daemon=$!
tries=0
until tidemark status >/dev/null 2>&1; do
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
	    --daemon "${daemon_name#*:}" -c 2 -m 3 -r 20 -n 0 --retry --quiet \
	    "$sample" >/dev/null 2>&1 &
	traffic="$traffic $!"
done
traffic=${traffic# }

snapshot()
{
	echo
	tidemark status
}

try_these()
{
	cat <<-END

	Mail flows.  Try in another shell, in $here:

	  $B/tidemark --root $dir status -v
	  $B/tidemark --root $dir query --from security@acc0unt-check.test
	  $B/tidemark --root $dir query --to nobody@nowhere.example
	  $B/tidemark --root $dir bypass on --for 10min
	  $B/tidemark --root $dir dump | less
	  tail -f $dir/log

	END
}

finish_traffic()
{
	# shellcheck disable=SC2086
	kill $traffic 2>/dev/null
	traffic=
}

if [ -z "$terminal" ]; then
	sleep 1
	snapshot
	sleep 1
	snapshot
	sleep 1
	snapshot
	finish_traffic
	try_these
	exit 0
fi

stty -icanon -echo min 0 time 20
try_these
while :; do
	snapshot
	echo "q to stop"
	key=$(dd bs=1 count=1 2>/dev/null)
	[ "$key" != q ] || break
done
finish_traffic
