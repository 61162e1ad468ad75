#!/bin/sh
# t_demo.sh - what `make run' shows, without a terminal and on one, and as
# somebody who is not root.
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
check "it says what to try" grep -q 'query --from' "$dir/out"
offline()
{
	"$B/tidemark" query --offline "$dir/a/state" \
	    --from security@acc0unt-check.test
}
check "what passed can be asked for afterwards" exits 0 offline
nothing_left()
{
	! grep -l "$dir/a" /proc/[0-9]*/cmdline 2>/dev/null
}
check "nothing of it is left running" nothing_left

if command -v script >/dev/null; then
	on_terminal()
	{
		(sleep 5; printf q) | timeout 60 script -qec \
		    "tests/demo/run.sh $dir/b" /dev/null >"$dir/tty" 2>&1
		grep -q 'q to stop' "$dir/tty" && grep -q '^stopped' "$dir/tty"
	}
	check "on a terminal it stays until q" on_terminal
else
	echo "ok - on a terminal it stays until q # SKIP no script(1)"
	tap_cases=$((tap_cases + 1))
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	as_nobody()
	{
		mkdir "$dir/c" && chmod 755 "$dir" && chown 65534 "$dir/c" &&
		    timeout 60 setpriv --reuid 65534 --regid 65534 \
			--clear-groups tests/demo/run.sh "$dir/c" \
			>"$dir/out" 2>&1 </dev/null
		status=$?
		cat "$dir/out"
		[ "$status" -eq 0 ]
	}
	check "it needs no root" as_nobody
else
	echo "ok - it needs no root # SKIP is not root to begin with"
	tap_cases=$((tap_cases + 1))
fi

tap_end
