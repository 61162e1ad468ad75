#!/bin/sh
# t_peers.sh - who may speak to an inet: socket that others reach: in a network
# namespace of our own, which has 192.0.2.1, .2 and 2001:db8::1 on loopback.
#
# takes: 3s
set -u
. tests/lib/tap.sh

B=${B:-build}
what="peers of an inet: socket"

[ "$(id -u)" -eq 0 ] || tap_skip "$what" "needs root, for a network namespace"
for program in unshare ip perl; do
	command -v "$program" >/dev/null ||
		tap_skip "$what" "$program is not installed"
done
if [ -z "${PEERS_INSIDE:-}" ]; then
	unshare -n true 2>/dev/null ||
		tap_skip "$what" "the kernel gives no network namespaces"
	PEERS_INSIDE=1 exec unshare -n "$0" "$@"
fi

. tests/lib/daemon.sh

# conf PEERS... - settings of the profile, and of the policy server.
conf()
{
	daemon_conf '[profile external]' 'socket = inet:8891@::' \
	    "${1:+peers = $1}" 'charged_by = policy' \
	    '[policy out]' 'profile = external' 'socket = inet:8892@0.0.0.0' \
	    "${2:+peers = $2}"
}

# served PORT FROM [TO] - is a policy request from that address answered?  A
# milter's connection is, if it is not closed: nobody speaks before the client.
served()
{
	# shellcheck disable=SC2016 # perl, by intent
	perl -MIO::Socket::IP -MIO::Select -e '
		my ($port, $from, $to) = @ARGV;
		my $s = IO::Socket::IP->new(LocalHost => $from,
		    PeerHost => $to, PeerPort => $port) or die "$from: $@\n";
		$SIG{PIPE} = "IGNORE";
		$s->syswrite($port == 8892
		    ? "request=smtpd_access_policy\nprotocol_state=RCPT\n" .
			"protocol_name=ESMTP\nclient_address=203.0.113.9\n" .
			"sender=a\@b.example\nrecipient=c\@d.example\n" .
			"instance=1.2\n\n"
		    : pack("N a N3", 13, "O", 6, 0x1ff, 0x1fffff));
		IO::Select->new($s)->can_read(30) or die "no answer\n";
		my $n = $s->sysread(my $got, 100);
		print defined $n ? "$n bytes\n" : "$!\n";
		exit($n ? 0 : 1)' "$1" "$2" "${3:-192.0.2.1}"
}
closed() { ! served "$@"; }
log_has() { grep -q -e "$1" "$D/log"; }
# told COUNT - so many lines of strangers.
told() { [ "$(grep -c 'is not one of peers' "$D/log")" -eq "$1" ]; }
network_up()
{
	ip link set lo up && ip addr add 192.0.2.1/32 dev lo &&
		ip addr add 192.0.2.2/32 dev lo &&
		ip addr add 2001:db8::1/128 dev lo
}

check "a network" network_up

# ---- as it was before there were lists --------------------------------------

conf '' ''
check "configtest refuses sockets for everybody" \
    says 'socket: whoever reaches inet:8891@:: can get anybody banned' \
    tidemark configtest
check "and says so by its exit status" fails tidemark configtest
check "a start goes on" daemon_start
check "with a warning" log_has 'whoever reaches inet:8892@0.0.0.0'
check "whoever comes is served" served 8892 192.0.2.2
check "at the milter's socket, too" served 8891 192.0.2.2
check "a reload is refused" fails tidemark reload
check "nobody was turned away" same "$(counter peers_refused)" 0

# ---- with lists ---------------------------------------------------------------

conf '192.0.2.2 2001:db8::/64' '192.0.2.1'
check "with peers it is taken over" tidemark reload
check "a stranger is closed" within 15 closed 8892 192.0.2.2
check "a peer is served" served 8892 192.0.2.1
check "loopback always is" served 8892 127.0.0.1 127.0.0.1
check "a milter's stranger is closed" within 15 closed 8891 192.0.2.1
check "its peer is served" served 8891 192.0.2.2
check "by IPv6, too" served 8891 2001:db8::1 2001:db8::1
check "and loopback" served 8891 ::1 ::1
before=$(counter peers_refused)
check "each one is counted" [ "$before" -ge 2 ]
check "a stranger once more" closed 8892 192.0.2.2
check "and once more" closed 8891 192.0.2.1
check "exactly" same "$(counter peers_refused)" $((before + 2))
check "the log names one for each socket" log_has \
    'policy out: a connection from 192.0.2.2 is closed'
check "and no more of them in a minute" told 2
check "audit" tidemark audit
tap_end
