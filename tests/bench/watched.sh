#!/bin/sh
# watched.sh - what looking on costs those who are looked at: CPU of the
# workers per message with and without `tidemark top' (each second, on a
# terminal) and `tidemark tail', over a map with 100,000 buckets.  Pairs in
# turns, the median of their ratios.
set -eu
B=${B:-build}
FEED=${FEED:-$B/tests/load/feed}
PAIRS=${PAIRS:-9}
MESSAGES=${MESSAGES:-10000}
BUCKETS=${BUCKETS:-100000}
MAIL=${MAIL:-tests/demo/sample.mbox}
MOST=1.05
dir=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-bench.XXXXXX")
pids='' watcher=''
finish()
{
	# shellcheck disable=SC2086
	kill $watcher $pids 2>/dev/null || :
	wait 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

mkdir "$dir/run" "$dir/state"
cat >"$dir/conf" <<END
runtime_dir = $dir/run
state_dir = $dir/state
log = $dir/log
max_buckets = $((BUCKETS * 2))
window_senders = $((BUCKETS * 10))
window_recipients = $((BUCKETS * 10))
[profile external]
socket = local:$dir/run/external.sock
oksender_mode = dry-run
oksender_limit = 4000/1d
oksender_leak = 1h
END
"$B/tidemarkd" -c "$dir/conf" 2>/dev/null &
pids=$!

tidemark()
{
	"$B/tidemark" -c "$dir/conf" "$@"
}
until tidemark status >/dev/null 2>&1; do
	sleep 0.1
done
# what NAME - a number of `status --json'.
what()
{
	tidemark status --json | sed "s/.*\"$1\":\\([0-9]*\\).*/\\1/"
}
acceptor=$(what acceptor_pid)

feed()
{
	"$FEED" -s "local:$dir/run/external.sock" -c 4 -m 500 --quiet "$@" "$MAIL"
}
feed -n "$BUCKETS" --unique >/dev/null
while [ "$(what buckets)" -lt $((BUCKETS * 99 / 100)) ]; do
	feed -n $((BUCKETS / 20)) --unique >/dev/null
done
echo "== looking on, $(what buckets) buckets, $MESSAGES messages a round, $PAIRS pairs in turns"

# ticks PID - CPU of the process and of its children that have ended.
ticks()
{
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 + $14 + $15 }'
}

# The CPU that a round took.
round()
{
	t0=$(ticks "$acceptor")
	feed -n "$MESSAGES" >/dev/null
	until [ "$(tidemark metrics |
		sed -n 's/^tidemark_workers //p')" -eq 0 ]; do
		sleep 0.05
	done
	sleep 0.2 # the last workers are reaped
	echo $(($(ticks "$acceptor") - t0))
}

# A terminal of 80x24 that nobody types on.
mkfifo "$dir/typed"
watch_top()
{
	TERM=xterm LINES=24 COLUMNS=80 script -qfec \
		"exec $B/tidemark -c $dir/conf top -d 1" /dev/null \
		<"$dir/typed" >"$dir/shown" 2>&1 &
	watcher=$!
	exec 9>"$dir/typed"
	until grep -q OKSENDER "$dir/shown"; do
		sleep 0.1
	done
}
stop_top()
{
	printf q >&9
	exec 9>&-
	wait "$watcher" 2>/dev/null || :
	watcher=
}
watch_tail()
{
	"$B/tidemark" -c "$dir/conf" tail >/dev/null &
	watcher=$!
}
stop_tail()
{
	kill "$watcher"
	wait "$watcher" 2>/dev/null || :
	watcher=
}

measure()
{
	i=0
	: >"$dir/pairs"
	while [ "$i" -lt "$PAIRS" ]; do
		if [ $((i % 2)) -eq 0 ]; then
			alone=$(round)
		fi
		"watch_$1"
		watched=$(round)
		"stop_$1"
		if [ $((i % 2)) -eq 1 ]; then
			alone=$(round)
		fi
		echo "$alone $watched" >>"$dir/pairs"
		i=$((i + 1))
	done
	awk '{ print $2 / $1 }' "$dir/pairs" | sort -n |
		awk -v name="$1" -v most="$MOST" '{ v[NR] = $1 } END {
			m = v[int((NR + 1) / 2)]
			printf "%-5s CPU of a message with it / without: %.3f (%.2f to %.2f; aim: at most %.2f)\n",
				name, m, v[1], v[NR], most }'
	awk -v n="$MESSAGES" '{ a += $1; w += $2 } END {
		printf "      %.1f us without, %.1f us with it\n",
			a / NR * 1e4 / n, w / NR * 1e4 / n }' "$dir/pairs"
}

for who in ${LOOKERS:-top tail}; do
	measure "$who"
done
