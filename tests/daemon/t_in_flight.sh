#!/bin/sh
# t_in_flight.sh - bans on their way to a slow disk while their group leaves
# enforce: none of them is made, none is there later, and the places they had
# on the way are free for others.  And a reload that waits for the disk: drops
# fall and buckets leak meanwhile.
#
# takes: 4s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh
. tests/daemon/stumble.sh

# is MODE
is()
{
	daemon_conf '[profile external]' "oksender_mode = $1" \
	    'oksender_limit = 2/1h' 'oksender_leak = 1h' 'oksender_ban = 1h'
}

# flood NAME - more senders than there are places, each too fast.
flood()
{
	perl -e 'for $i (1 .. 80) {
		print "From a Mon Mar  3 07:52:10 2025\nReturn-Path: " .
		    "<$ARGV[0]$i\@x.example>\nTo: ann\@example.org\n\nx\n\n"
		    for 1 .. 3 }' "$1" >"$D/flood"
	"$FEED" -s "local:$D/run/external.sock" -n 240 --client 192.0.2.1 \
	    --daemon X --quiet "$D/flood" >/dev/null 2>&1
	return 0
}

no_bans() { ! tidemark banned | grep early; }
waits() { [ -e "$STUMBLE.waits" ]; }
dry_is() { json '$r->{counters}{bans_dry}{total} >= '"$1" status; }

stumbling
is enforce
check "starts" eval 'B=$D/bin daemon_start'
: >"$STUMBLE.slow"
check "a flood" flood early
check "its bans wait for the disk" within 30 waits
is dry-run
check "dry-run, meanwhile" tidemark reload
check "is counted as such" within 30 dry_is 70
rm "$STUMBLE.slow"
check "the disk is back" tidemark checkpoint
check "nobody is banned" no_bans
is enforce
check "enforce again" tidemark reload
flood late
all_banned() { [ "$(tidemark banned | grep -c late)" -eq 80 ]; }
check "all of another flood are banned" within 30 all_banned
check "and after the next start" eval 'kill_collector && all_banned'
check "but nobody else" no_bans

# ---- a reload that waits for the disk ----------------------------------------

# reloads COMMAND... - and waits; a new sender has a bucket nevertheless.
reloads()
{
	rm -f "$STUMBLE.waits"
	: >"$STUMBLE.stuck"
	"$@" &
	reload=$!
	within 30 waits && sends 1 1 external "$new@x.example" &&
	    within 30 has_bucket
	flows=$?
	rm -f "$STUMBLE.stuck"
	wait "$reload" && return "$flows"
}
has_bucket() { tidemark bucket list | grep -q "$new@"; }
taken_over() { [ "$(grep -c 'configuration taken over' "$D/log")" -eq "$1" ]; }
hang_up() { kill -HUP "$(collector)"; }

new=asked
check "while a reload waits for the disk, mail is counted" \
    reloads tidemark reload
check "and it is done" within 30 taken_over 3
new=signal
check "the same by a signal" reloads hang_up
check "and it is done, too" within 30 taken_over 4
tap_end
