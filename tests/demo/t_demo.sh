#!/bin/sh
# t_demo.sh - what `make run' shows, without a terminal and on one, and as
# somebody who is not root.
#
# takes: 8s
set -u
. tests/lib/tap.sh

B=${B:-build}
FEED=${FEED:-$B/tests/load/feed}
export B FEED
dir=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-demo.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT

without_terminal()
{
	timeout 60 tests/demo/run.sh "$dir/a" >"$dir/out" 2>&1 </dev/null
	status=$?
	cat "$dir/out"
	[ "$status" -eq 0 ]
}
check "without a terminal it ends by itself, with 0" without_terminal
check "after three snapshots" same "$(grep -c '^collector' "$dir/out")" 3
check "mail went through both profiles" sh -c \
    "grep -E '^ *external +[1-9]' $dir/out && grep -E '^ *internal +[1-9]' $dir/out"
check "it says what to try" grep -q 'query --text' "$dir/out"
check "it says where the page is" \
    grep -qE '^In a browser.*http://127\.0\.0\.1:[0-9]+/$' "$dir/out"
offline()
{
	"$B/tidemark" query --offline "$dir/a/state" \
	    --from security@acc0unt-check.test
}
check "what passed can be asked for afterwards" exits 0 offline
phrase()
{
	"$B/tidemark" query --offline "$dir/a/state" --text \
	    'Your account will be limited
> within 12 hours, unless you confirm your details.'
}
check "so can a phrase of it, as somebody quoted it" exits 0 phrase
nothing_left()
{
	! pgrep -af "$dir/a"
}
check "nothing of it is left running" nothing_left

tm()
{
	LC_ALL=C.UTF-8 tmux -u -S "$dir/tmux" -f /dev/null "$@"
}
trap 'tm kill-server 2>/dev/null; rm -rf "$dir"' EXIT

shows()
{
	words=$1
	shift
	tm capture-pane -p "$@" | grep -F -- "$words" || {
		tm capture-pane -p "$@"
		return 1
	}
}

if command -v tmux >/dev/null; then
	tm new-session -d -x 100 -y 30 "env LC_ALL=C.UTF-8 \
		tests/demo/run.sh '$dir/b'; exec sleep 600"
	check "on a terminal it is top" within 30 shows "1 Levels"
	check "it says what to try there, too" shows "why sales@example.org"
	check "who sends is seen" within 30 shows "sales@example.org"
	page_answers()
	{
		url=$(tm capture-pane -p | sed -n 's/^In a browser.*\(http[^ ]*\).*/\1/p')
		echo "$url"
		[ -n "$url" ] && curl -sS --max-time 30 "$url" | grep '<title>' &&
		    curl -sS --max-time 30 "${url}state.json" |
			grep -c '"at_work":true'
	}
	check "the page answers, where it says" within 30 page_answers
	tm send-keys q
	check "q stops it" within 60 shows "stopped; everything"
	nothing_left_there()
	{
		! pgrep -af "$dir/b/"
	}
	check "all of it" nothing_left_there

	# A window that is closed, a script that is killed.
	demo_in()
	{
		tm new-session -d -s "$1" -x 100 -y 30 "env LC_ALL=C.UTF-8 \
			tests/demo/run.sh '$dir/b'"
		within 30 shows "1 Levels" -t "$1"
	}
	check "again" demo_in closed
	tm kill-session -t closed
	has_ended() { nothing_left_there && ! [ -e "$dir/b/pids" ]; }
	check "closing the terminal stops all of it" within 60 has_ended
	check "and again" demo_in killed
	runner=$(cut -d' ' -f1 "$dir/b/pids")
	refused() { ! tests/demo/run.sh "$dir/b"; }
	check "a second one in that folder is refused" refused
	kill -9 "$runner"
	tm kill-session -t killed
	check "killed, it leaves its daemon" fails nothing_left_there
	ends_leftover()
	{
		timeout 60 tests/demo/run.sh "$dir/b" </dev/null
	}
	check "the next run takes its place" ends_leftover
	check "and leaves nothing" within 30 has_ended
else
	skip "on a terminal it is top" "no tmux"
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	# A tree below /root is nobody's to start programs from.
	as_nobody()
	{
		mkdir "$dir/c" "$dir/bin" && chmod 755 "$dir" "$dir/bin" &&
		    chown 65534 "$dir/c" &&
		    cp "$B/tidemarkd" "$B/tidemark-milter" "$B/tidemark" \
			"$B/tidemark-web" "$FEED" "$dir/bin" &&
		    B=$dir/bin FEED=$dir/bin/feed timeout 60 setpriv --reuid 65534 --regid 65534 \
			--clear-groups tests/demo/run.sh "$dir/c" \
			>"$dir/out" 2>&1 </dev/null
		status=$?
		cat "$dir/out"
		[ "$status" -eq 0 ]
	}
	check "it needs no root" as_nobody
else
	skip "it needs no root" "is not root to begin with"
fi

tap_end
