#!/usr/bin/perl
# smtp.pl - say SMTP commands, one after another, from a client address of our
# choice (Linux has all of 127/8), and print the dialogue.
#
#	smtp.pl PORT CLIENT STEP...
#
# A step is a command, or one of these:
#	message FROM TO		a whole one; RSET where it is refused half-way
#	drop			close the connection without QUIT
#	wait FIFO		until a line comes through it
# %n in a step is the number of its repetition, COUNTxSTEP repeats it.  The
# last line is "accepted=N refused=N": whole messages.
use strict;
use warnings;
use IO::Socket::INET;

$| = 1;
my ($port, $client, @steps) = @ARGV;
my ($accepted, $refused) = (0, 0);
$SIG{ALRM} = sub { die "no reply within 60 s\n" };

my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port,
    LocalAddr => $client, Proto => 'tcp') or die "connecting: $!\n";

sub reply
{
	my $last = '';

	alarm 60;
	while (defined(my $line = <$s>)) {
		$line =~ s/\r?\n//;
		print "< $line\n";
		$last = $line;
		last if $line =~ /^\d{3}( |$)/;
	}
	return $last;
}

sub say
{
	my ($text) = @_;

	print "> $text\n";
	print $s "$text\r\n";
	return reply();
}

sub message
{
	my ($from, $to) = @_;

	for my $command ("MAIL FROM:<$from>", "RCPT TO:<$to>", 'DATA') {
		next if say($command) =~ /^[23]/;
		$refused++;
		say('RSET');
		return;
	}
	print $s "From: $from\r\nSubject: rig\r\n\r\nHello.\r\n";
	say('.') =~ /^2/ ? $accepted++ : $refused++;
}

reply();
say('EHLO client.test');
for my $step (@steps) {
	my ($count, $what) = $step =~ /^(\d+)x(.*)/s ? ($1, $2) : (1, $step);

	for my $n (1 .. $count) {
		(my $now = $what) =~ s/%n/$n/g;
		if ($now =~ /^message (\S*) (\S+)$/) {
			message($1 eq '<>' ? '' : $1, $2);
		} elsif ($now eq 'drop') {
			close $s;
			print "accepted=$accepted refused=$refused\n";
			exit 0;
		} elsif ($now =~ /^wait (\S+)$/) {
			open(my $f, '<', $1) or die "$1: $!\n";
			<$f>;
		} else {
			say($now);
		}
	}
}
say('QUIT');
print "accepted=$accepted refused=$refused\n";
