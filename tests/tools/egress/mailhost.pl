#!/usr/bin/perl
# mailhost - both ends of a mail port, for tests of what lies between.
#
#   mailhost.pl serve LOG MANNER ADDRESS PORT...
#       listen; prints "ready".  MANNER: good refuses to relay, relay does
#       not, later says 450, shut says 554 at once, mute says nothing.  What
#       clients say goes to LOG.
#   mailhost.pl call FROM TO PORT
#       connect and print the greeting, or "refused", "cut", "no answer"; then
#       send each line of standard input and print the answer.
use strict;
use warnings;
use IO::Socket::IP;
use Socket qw(SOMAXCONN);

$| = 1;
$SIG{PIPE} = 'IGNORE';
my $how = shift // '';
my $wait = 20;

sub answer {
	my ($manner, $said) = @_;
	return '221 2.0.0 bye' if $said =~ /^QUIT/i;
	return '354 go on' if $said =~ /^DATA/i;
	return '250 2.1.5 ok' if $said !~ /^RCPT/i || $manner eq 'relay';
	return '450 4.2.0 later' if $manner eq 'later';
	return '550 5.7.1 relaying denied';
}

sub serve_one {
	my ($client, $log, $manner) = @_;
	alarm 120;	# whom the kernel cuts off never says good-bye
	open my $to, '>>', $log or die "$log: $!";
	$to->autoflush(1);
	if ($manner eq 'mute') {
		sleep 60;
		exit 0;
	}
	print $client $manner eq 'shut' ? "554 5.3.2 no\r\n" :
	    "220-mail.example\r\n220 ESMTP\r\n";
	while (defined(my $said = <$client>)) {
		$said =~ s/\r?\n//;
		print $to "$said\n";
		if ($said =~ /^EHLO/i) {
			print $client "250-mail.example\r\n250 8BITMIME\r\n";
			next;
		}
		print $client answer($manner, $said), "\r\n";
		last if $said =~ /^QUIT/i;
	}
	exit 0;
}

sub serve {
	my ($log, $manner, $address, @ports) = @_;
	my @at = map {
		IO::Socket::IP->new(LocalHost => $address, LocalPort => $_,
		    Listen => SOMAXCONN, ReuseAddr => 1) or
		    die "$address $_: $@";
	} @ports;
	print "ready\n";
	$SIG{CHLD} = 'IGNORE';
	while (1) {
		my $bits = '';
		vec($bits, fileno($_), 1) = 1 for @at;
		select($bits, undef, undef, undef) > 0 or next;
		for my $s (grep { vec($bits, fileno($_), 1) } @at) {
			my $client = $s->accept or next;
			$client->autoflush(1);
			serve_one($client, $log, $manner) if fork == 0;
		}
	}
}

sub hear {
	my ($server) = @_;
	my $line = eval {
		local $SIG{ALRM} = sub { die "late\n" };
		alarm $wait;
		my $l;
		do { $l = <$server> } while (defined $l && $l =~ /^\d\d\d-/);
		alarm 0;
		$l;
	};
	return 'no answer' if $@;
	return 'cut' unless defined $line;
	$line =~ s/\r?\n//;
	return $line;
}

sub call {
	my ($from, $to, $port) = @_;
	my $server = IO::Socket::IP->new(LocalHost => $from, PeerHost => $to,
	    PeerPort => $port, Timeout => $wait);
	unless ($server) {
		print "$!" =~ /refused/ ? "refused\n" : "no answer: $!\n";
		return;
	}
	$server->autoflush(1);
	print hear($server), "\n";
	while (defined(my $line = <STDIN>)) {
		$line =~ s/\n//;
		print $server "$line\r\n";
		print hear($server), "\n";
	}
}

if ($how eq 'serve') {
	serve(@ARGV);
} elsif ($how eq 'call') {
	call(@ARGV);
} else {
	die "serve or call?\n";
}
