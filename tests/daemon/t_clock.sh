#!/bin/sh
# t_clock.sh - the clock is set while mail flows: nobody oversleeps, nothing is
# deleted, and what passed is found under the time that the log showed.
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

hour=3600000
export STEPCLOCK="$D/clock" LD_PRELOAD="$PWD/$B/tests/load/stepclock.so"

# clock SET PASSED - milliseconds by which the clock stands wrong, and that
# have gone by.
clock()
{
	perl -e 'open(F, "+>>", $ARGV[0]); close(F); open(F, "+<", $ARGV[0]);
		syswrite(F, pack("q2", @ARGV[1, 2]))' "$D/clock" "$1" "${2:-0}"
}

# rises COUNTER - it does, and more than once, while nobody asks for anything.
rises()
{
	was=$(counter "$1")
	rose() { [ "$(counter "$1")" -gt $((was + 2)) ]; }
	within 15 rose "$1"
}

# polled - a wait of a second for news that do not come is over after a while.
polled()
{
	perl -MIO::Socket::UNIX -e '
		alarm 15;
		my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!;
		print $s "egress-poll\n";
		my $known = <$s>;
		<$s>;
		chomp $known;
		$known =~ s/^egress/egress-poll/;
		print $s "$known wait_ms=1000\n";
		exit(<$s> =~ /^egress / ? 0 : 1)' "$D/run/control.sock"
}

clock 0
daemon_conf 'checkpoint_every = 1s' '[profile external]' '[profile internal]'
check "starts" daemon_start

# ---- waits -------------------------------------------------------------------

clock $hour
check "an hour ahead, the archivist goes on" rises checkpoints
check "and who waits for news of egress waits no longer than wanted" polled
check "nor does who waits for the pool" tidemark audit

# ---- windows -----------------------------------------------------------------

# passes NAME - mail from it does, and $D/NAME has the time that a log shows.
passes()
{
	date -u +%s >"$D/$1"
	mail 1 external "$1@x.example"
	[ "$passed" -eq 1 ]
}

# asked NAME [SENDER] - around that time.
asked()
{
	at=$(cat "$D/$1")
	tidemark query --from "${2:-$1}@x.example" --since "@$((at - 1))" \
	    --until "@$((at + 5))"
}

# steps MS NAME - the clock is set; mail passes at once (NAME0), and when that
# was noticed.
steps()
{
	was=$(counter clock_steps)
	clock "$1"
	passes "${2}0" || return 1
	seen() { [ "$(counter clock_steps)" -gt "$was" ]; }
	within 15 seen && passes "$2"
}

# found NAME...
found()
{
	for name; do
		asked "$name" && continue
		echo "$name is not found"
		return 1
	done
}

# known NAME... - found, or not wholly covered.
known()
{
	for name; do
		asked "$name"
		case $? in
		0 | 3) ;;
		*)
			echo "$name is certainly not"
			return 1
			;;
		esac
	done
}

year=$((365 * 24 * hour))
check "mail passes" steps 0 right
check "and an hour ahead" steps $hour ahead
check "and with the clock right again" steps 0 again
check "and an hour back" steps -$hour back
check "and ten years ahead" steps $((10 * year)) far
check "and right" steps 0 home
check "each is found under the time that the log showed" \
    found right ahead again back far home
check "what came at the very moment, or that is not covered" \
    known ahead0 again0 back0 far0 home0
check "whose reason is the clock" \
    json '$r->{kind} eq "clock"' query --from no@x.example --since 1h
check "without a time, all is asked" tidemark query --from far@x.example
check "sealed, it is the same" tidemark seal
check "and found" found right ahead again back far home

# ---- what expires ------------------------------------------------------------

# collector_anew - killed and started again; its first round expires.
collector_anew()
{
	was=$(counter collector_starts)
	pid=$(tidemark status | sed -n 's/^collector .*pid \([0-9]*\).*/\1/p')
	kill -9 "$pid" || return 1
	back() { [ "$(counter collector_starts)" -gt "$was" ]; }
	within 30 back && within 30 daemon_up && rises checkpoints
}

banned() { sends 0 1 external bad@x.example; }

check "a ban of half an hour" tidemark ban bad@x.example --for 30min
check "a bypass of half an hour, of which nobody is told here" \
    tidemark bypass on --for 30min
check "a denied network of half an hour" \
    tidemark egress deny add 198.51.100.0/24 --for 30min
clock $((10 * year))
doubted() { tidemark status | grep -q '^clock .* ahead of what was expected'; }
check "ten years ahead, the clock is doubted" within 15 doubted
check "which is logged" within 15 grep -q \
    'the clock is 315360000 s ahead of what was expected' "$D/log"
denies() { tidemark egress show | grep -q 198.51.100.0-; }
check "a denied network stays denied" denies
check "a bypass stands" tidemark bypass status
check "and ends by hand" tidemark bypass off
check "a ban stands" banned
check "and is shown" tidemark banned bad@x.example
check "also after a collector has begun anew" collector_anew
check "when it stands" banned
check "and the network is denied" denies
check "no window is gone" found right ahead again back far home
check "starts without its map" eval \
    'daemon_stop; rm -f "$D/state/live.mdb" "$D"/run/*; daemon_start'
check "the clock is still doubted" within 15 doubted
check "the ban stands" banned
check "no window is gone then" found right ahead again back far home
clock 0
right() { ! tidemark status | grep -q '^clock '; }
check "with the clock right, it is believed at once" within 15 right
check "and the ban stands still" banned
check "until its half hour is over" eval 'clock 0 1900000; within 15 passes bad'
behind() { tidemark status | grep -q "^clock .* behind"; }
check "an hour back, it is doubted" eval \
    'clock -$hour 1900000; within 15 behind && rises checkpoints'
check "until it has stood for an hour" eval 'clock -$hour 5600000;
    within 15 grep -q "it is taken for right" "$D/log"'
