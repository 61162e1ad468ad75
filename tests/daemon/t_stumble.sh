#!/bin/sh
# t_stumble.sh - a collector that is killed while it fills a new map costs
# nothing, at whatever step: what the checkpoint knew, or the map that is
# replaced, the next one knows.
#
# takes: 20s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh
. tests/daemon/stumble.sh

profiles='[profile external]
oksender_mode = enforce
oksender_limit = 20/1h
oksender_leak = 1h
[profile internal]
tokens_mode = enforce
tokens_burst = 3
tokens_rate = 3/365d
bulk_mode = dry-run
bulk_threshold = 20'

# No last checkpoint, no sealing.
daemon_kill()
{
	kill -9 "$(collector)" "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	daemon_pid=
}

# lies_as FOLDER - state and live map as they were kept there.
lies_as()
{
	rm -rf "$D/state" "$D/run"
	cp -a "$1" "$D/state"
	mkdir "$D/run"
	[ ! -e "$1/live.mdb" ] || mv "$D/state/live.mdb" "$D/state/map" "$D/run"
}

# knows LEVEL MESSAGES - of busy@: in its bucket, and counted in all.
knows()
{
	json '$r->{level} == '"$1"' && $r->{key} =~ /^busy@/' bucket list &&
	    json '$r->{counters}{messages}{total} == '"$2"' &&
		!$r->{counters}{failed_open}{total}' status &&
	    tidemark query --from busy@x.example
}

# at_each_step WHAT FOLDER LEVEL MESSAGES - started, and killed there; there
# are some.
at_each_step()
{
	step=0 lost=
	while [ ! -e "$STUMBLE.ready" ] && [ "$step" -lt 60 ]; do
		step=$((step + 1))
		lies_as "$2"
		echo "$step" >"$STUMBLE"
		B=$D/bin daemon_start || lost="$lost $step (no start)"
		knows "$3" "$4" >"$D/known" || {
			lost="$lost $step"
			cat "$D/known"
		}
		daemon_kill
	done
	rm -f "$STUMBLE.ready"
	echo "# $1: $step steps; lost at:${lost:- none}"
	[ "$step" -gt 4 ] && [ "$step" -lt 60 ] && [ -z "$lost" ]
}

check "a collector that can be made to stumble" stumbling
daemon_conf "$profiles"
check "starts" daemon_start
check "mail" sends 4 4 external busy@x.example
there() { knows 4 4; }
check "is known" within 10 there
check "a checkpoint" tidemark checkpoint
cp -a "$D/state" "$D/after_checkpoint"
check "more mail" sends 2 2 external busy@x.example
more() { knows 6 6; }
check "is known, too" within 10 more
daemon_kill
cp -a "$D/state" "$D/as_killed"
cp -a "$D/run/live.mdb" "$D/run/map" "$D/as_killed"

check "without a map: killed at any step, the checkpoint is known" \
    at_each_step "without a map" "$D/after_checkpoint" 4 4
daemon_conf "max_workers = 20" "$profiles"
check "another size: killed at any step, what the old map knew is known" \
    at_each_step "another size" "$D/as_killed" 6 6
tap_end
