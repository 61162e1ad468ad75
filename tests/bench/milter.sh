#!/bin/sh
# milter.sh - Tidemark beside filters that do nothing, in one run.
#
# The same load client replays the same messages over unix sockets against
#   tidemark       the product
#   null forked    the same way of serving, same flags, nothing done: it is
#                  sent headers and bodies, as Tidemark is, and reads neither
#   null threaded  stock libmilter, one process
# in turns; medians of the rounds.  CPU is that of the filter's processes.
set -eu
B=${B:-build}
FEED=${FEED:-$B/tests/load/feed}
ROUNDS=${ROUNDS:-5}
MESSAGES=${MESSAGES:-4000}
MAIL=${MAIL:-tests/demo/sample.mbox}
dir=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-bench.XXXXXX")
pids=
finish()
{
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# As in earnest: a line a message, to a file.
"$B/tidemarkd" --root "$dir/tidemark" 2>/dev/null &
tidemarkd=$!
"$B/tests/bench/nullforked" "$dir/forked.sock" &
forked=$!
"$B/tests/bench/nullthreaded" "local:$dir/threaded.sock" &
threaded=$!
pids="$tidemarkd $forked $threaded"
until "$B/tidemark" --root "$dir/tidemark" status >/dev/null 2>&1; do
	sleep 0.1
done
acceptor=$("$B/tidemark" --root "$dir/tidemark" status --json |
	sed 's/.*"acceptor_pid":\([0-9]*\).*/\1/')

# ticks PID - CPU of the process and of its children that have ended.
ticks()
{
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 + $14 + $15 }'
}

# round NAME SOCKET PID CONNECTIONS MESSAGES_PER_CONNECTION
round()
{
	t0=$(ticks "$3")
	out=$("$FEED" -s "$2" -c "$4" -m "$5" -n "$MESSAGES" --quiet "$MAIL")
	sleep 0.2 # the last workers are reaped
	t1=$(ticks "$3")
	echo "$out" | sed 's/.*seconds=\([0-9.]*\) sessions\/s=\([0-9.]*\) messages\/s=\([0-9.]*\).*/\2 \3/' |
		awk -v name="$1" -v t=$((t1 - t0)) -v n="$MESSAGES" \
			'{ printf "%s %s %s %.3f\n", name, $1, $2, t / 100 / n * 1000 }'
}

median()
{
	awk -v name="$1" -v col="$2" '$1 == name { print $col }' "$dir/rounds" |
		sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

show()
{
	echo "== $1: $MESSAGES messages, $2 connections, $3 messages each, medians of $ROUNDS"
	printf '%-14s %12s %12s %18s\n' '' sessions/s messages/s 'CPU s/1000 msgs'
	for name in tidemark forked threaded; do
		printf '%-14s %12.0f %12.0f %18.3f\n' "$name" \
			"$(median $name 2)" "$(median $name 3)" "$(median $name 4)"
	done
	awk -v a="$(median tidemark 3)" -v b="$(median forked 3)" \
		-v c="$(median threaded 3)" 'BEGIN {
		printf "tidemark / null forked   %.2f of its messages/s (aim: 0.70)\n", a / b
		printf "tidemark / null threaded %.2f\n", a / c }'
}

measure()
{
	: >"$dir/rounds"
	i=0
	while [ "$i" -lt "$ROUNDS" ]; do
		round tidemark "local:$dir/tidemark/run/external.sock" "$acceptor" "$2" "$3"
		round forked "local:$dir/forked.sock" "$forked" "$2" "$3"
		round threaded "local:$dir/threaded.sock" "$threaded" "$2" "$3"
		i=$((i + 1))
	done >"$dir/rounds"
	show "$1" "$2" "$3"
}

measure "one message a connection" 8 1
measure "many messages a connection" 8 50
measure "one connection at a time" 1 50
