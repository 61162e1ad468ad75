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
