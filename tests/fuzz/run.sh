#!/bin/sh
# run.sh BUILD SECONDS - each fuzz target for that long, from its seeds and
# what earlier runs found (BUILD/corpus).  Ends with the first crash, whose
# input lies in BUILD/crash.
set -u
build=$1 seconds=$2
mkdir -p "$build/crash"
for program in "$build"/tests/fuzz/fuzz_*; do
	name=${program##*/fuzz_}
	corpus=$build/corpus/$name
	mkdir -p "$corpus"
	echo "== $name, ${seconds} s"
	"$program" -max_len=4096 -timeout=20 -rss_limit_mb=1024 \
		-max_total_time="$seconds" -print_final_stats=1 \
		-artifact_prefix="$build/crash/$name-" \
		"$corpus" "tests/fuzz/seeds/$name" >"$build/$name.log" 2>&1 || {
		tail -n 40 "$build/$name.log"
		exit 1
	}
	grep -E 'number_of_executed_units|peak_rss|average_exec' \
		"$build/$name.log"
done
