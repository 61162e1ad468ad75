#!/bin/sh
# t_egress_net - the lists at work in a kernel: a customer, a router with our
# table, two mail servers outside, each in a network namespace of its own.
#
#   customer 10.0.0.2 10.0.0.3   router   outside 192.0.2.1 192.0.2.2 192.0.2.3
#   2001:db8:a::2 ::3                     2001:db8:b::1 ::2
#
# takes: 18s
set -u
. tests/lib/tap.sh

B=${B:-build}
what="egress lists in a kernel"

[ "$(id -u)" -eq 0 ] || tap_skip "$what" "needs root, for network namespaces"
for program in unshare ip nft perl setpriv; do
	command -v "$program" >/dev/null ||
		tap_skip "$what" "$program is not installed"
done
if [ -z "${EGRESS_INSIDE:-}" ]; then
	unshare -n -m true 2>/dev/null ||
		tap_skip "$what" "the kernel gives no network namespaces"
	unshare -n nft add table inet t 2>/dev/null ||
		tap_skip "$what" "the kernel gives no nftables"
	unshare -n ip link add wire0 type veth peer name wire1 2>/dev/null ||
		tap_skip "$what" "the kernel gives no veth"
	for family in ipv4 ipv6; do
		[ -w "/proc/sys/net/$family/conf/all/forwarding" ] ||
			tap_skip "$what" "this machine may not route $family"
	done
	EGRESS_INSIDE=1 exec unshare -n -m "$0" "$@"
fi

. tests/lib/daemon.sh

peers=

# A folder of our own for the names of namespaces: none outlives us.
own_world()
{
	mount --make-rprivate / && mount -t tmpfs tmpfs /run &&
		mkdir -p /run/netns
}

# link NAME NET4 NET6 - a namespace and a wire to it; we are .254 and ::fe.
link()
{
	ip netns add "$1" && ip link add "to_$1" type veth peer name wire netns "$1" &&
		ip addr add "$2.254/24" dev "to_$1" &&
		ip addr add "$3::fe/64" dev "to_$1" nodad &&
		ip link set "to_$1" up && ip -n "$1" link set wire up &&
		ip -n "$1" link set lo up
}

# hosts NAME NET4 NET6 LAST... - the addresses there, and the way back.
hosts()
{
	ns=$1 net4=$2 net6=$3
	shift 3
	for last; do
		ip -n "$ns" addr add "$net4.$last/24" dev wire &&
			ip -n "$ns" addr add "$net6::$last/64" dev wire nodad ||
			return 1
	done
	ip -n "$ns" route add default via "$net4.254" &&
		ip -n "$ns" -6 route add default via "$net6::fe"
}

wires()
{
	ip link set lo up &&
		link customer 10.0.0 2001:db8:a && link outside 192.0.2 2001:db8:b &&
		hosts customer 10.0.0 2001:db8:a 2 3 &&
		hosts outside 192.0.2 2001:db8:b 1 2 3 &&
		echo 1 >/proc/sys/net/ipv4/ip_forward &&
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
}

# serve MANNER ADDRESS PORT... - a mail server outside.
serve()
{
	manner=$1 at=$2
	shift 2
	ip netns exec outside perl tests/tools/egress/mailhost.pl serve \
		"$D/said.$at" "$manner" "$at" "$@" >"$D/served.$at" 2>&1 &
	peers="$peers $!"
	within 30 grep -q ready "$D/served.$at" || cat "$D/served.$at"
}

tidy()
{
	for pid in $peers; do
		kill "$pid" 2>/dev/null
	done
	daemon_end
}
trap tidy EXIT

# call FROM TO PORT - what a customer hears there.
call()
{
	ip netns exec customer perl tests/tools/egress/mailhost.pl call "$@" </dev/null
}

hears()
{
	want=$1
	shift
	same "$(call "$@")" "$want"
}

reaches() { hears "220 ESMTP" "$@"; }
refused() { hears refused "$@"; }

egress() { tidemark egress "$@"; }
apply() { egress apply; }

# count NAME - of `egress stats'.
count()
{
	egress stats --json | perl -MJSON::PP -0777 -e '
		print decode_json(<STDIN>)->{$ARGV[0]}{packets}' "$1"
}

at_least()
{
	echo "$1, to be at least $2"
	[ "$1" -ge "$2" ]
}

# ---- a world ---------------------------------------------------------------

servers()
{
	serve good 192.0.2.1 25 587 2525 && serve relay 192.0.2.2 25 2525 &&
		serve good 192.0.2.3 25 && serve good 2001:db8:b::1 25 &&
		serve good 2001:db8:b::2 25
}

# Somebody else's rules; ours must leave them, and their counts, alone.
other_table()
{
	cat >"$D/other.nft" <<-'END'
		table inet other {
			set s {
				type ipv4_addr; flags interval
				elements = { 203.0.113.0/24 }
			}
			counter c { packets 7 bytes 700; }
			chain forward {
				type filter hook forward priority 0
				tcp dport 1 counter name c drop
			}
		}
		table ip tidemark {
			chain x {
				ip daddr 1.2.3.4 drop
			}
		}
	END
	nft -f "$D/other.nft" && nft list ruleset >"$D/before" &&
		grep -q 'packets 7' "$D/before"
}

unharmed()
{
	nft list table inet other >"$D/other" &&
		nft list table ip tidemark >>"$D/other" &&
		diff "$D/before" "$D/other"
}

check "a customer, a router, an outside" own_world || { tap_end; exit; }
check "with wires between them" wires || { tap_end; exit; }
check "and mail servers" servers || { tap_end; exit; }
daemon_conf
check "the daemon starts" daemon_start || { tap_end; exit; }
check "another table is there" other_table

passes_before()
{
	reaches 10.0.0.2 192.0.2.2 25 && reaches 2001:db8:a::2 2001:db8:b::2 25
}
check "before anything is applied everything passes" passes_before

# ---- filter-out ------------------------------------------------------------

denies()
{
	egress deny add 192.0.2.2 2001:db8:b::2 --reason "open relay" && apply &&
		refused 10.0.0.2 192.0.2.2 25 &&
		refused 2001:db8:a::2 2001:db8:b::2 25
}
check "what is denied is refused, IPv4 and IPv6" denies
check "what is not, is not" reaches 10.0.0.2 192.0.2.1 25
check "nor over IPv6" reaches 2001:db8:a::2 2001:db8:b::1 25
check "another port of a denied server passes" reaches 10.0.0.2 192.0.2.2 2525
check "somebody else's tables are as they were" unharmed

# ---- filter-in -------------------------------------------------------------

permits()
{
	egress permit add 10.0.0.2 192.0.2.1 &&
		egress permit add 2001:db8:a::2 2001:db8:b::2 --reason mine &&
		apply && reaches 10.0.0.2 192.0.2.1 25 &&
		refused 10.0.0.2 192.0.2.3 25 &&
		refused 2001:db8:a::2 2001:db8:b::1 25
}
check "a customer reaches what is registered for it, and nothing else" permits
check "another customer is not concerned" reaches 10.0.0.3 192.0.2.3 25
check "a registered server that is denied stays denied" \
	refused 2001:db8:a::2 2001:db8:b::2 25

networks()
{
	egress permit add 10.0.0.0/24 192.0.2.3 &&
		egress permit add 10.0.0.0/30 192.0.2.0/30 --for 1h &&
		egress permit add 10.0.0.0/30 192.0.2.1 &&
		egress deny add 203.0.113.0/24 --for 1h &&
		egress deny add 203.0.113.0/25 &&
		egress deny add 203.0.113.64/26 --for 2h && apply &&
		reaches 10.0.0.2 192.0.2.3 25 && refused 10.0.0.3 192.0.2.2 25 &&
		egress permit del 10.0.0.0/24 192.0.2.3 &&
		egress permit del 10.0.0.0/30 192.0.2.0/30 192.0.2.1 && apply &&
		refused 10.0.0.2 192.0.2.3 25 && reaches 10.0.0.3 192.0.2.3 25
}
check "networks that overlap load, and mean what they say" networks

counted()
{
	at_least "$(count denied)" 3 && at_least "$(count unregistered)" 2 &&
		at_least "$(count permitted)" 1 && at_least "$(count other)" 1
}
check "all of it is counted" counted

carried()
{
	refused 10.0.0.2 192.0.2.2 25 && before=$(count denied) &&
		at_least "$before" 1 && apply && same "$(count denied)" "$before"
}
check "another apply goes on counting" carried

# ---- while connections run -------------------------------------------------

# A line to a server that stays open: say LINE, then heard N is the answer.
hang_on()
{
	mkfifo "$D/line" || return
	ip netns exec customer perl tests/tools/egress/mailhost.pl call "$@" \
		<"$D/line" >"$D/heard" &
	peers="$peers $!"
	exec 9>"$D/line"
	within 30 grep -q 220 "$D/heard"
}
# said N - that many answers are there.
said() { [ "$(wc -l <"$D/heard")" -ge "$1" ]; }
heard()
{
	echo NOOP >&9
	within 30 said "$1" && same "$(sed -n "$1p" "$D/heard")" "$2"
}

keeps_running()
{
	hang_on 10.0.0.2 192.0.2.1 25 && heard 2 "250 2.1.5 ok" &&
		apply && heard 3 "250 2.1.5 ok" &&
		egress deny add 198.51.100.7 && apply && apply &&
		heard 4 "250 2.1.5 ok"
}
check "a connection that stays permitted notices nothing" keeps_running

is_cut()
{
	egress deny add 192.0.2.1 --for 1h && apply && heard 5 cut
	rc=$?
	exec 9>&-
	egress deny del 192.0.2.1 && apply && return $rc
}
check "one that is denied meanwhile is cut" is_cut
check "and once it is not, a new one passes" reaches 10.0.0.2 192.0.2.1 25

# ---- time ------------------------------------------------------------------

expires()
{
	egress deny add 192.0.2.3 --for 2s && apply || return
	refused 10.0.0.3 192.0.2.3 25
	rc=$?
	within 30 reaches 10.0.0.3 192.0.2.3 25 && return $rc
}
check "a denial expires in the kernel, untouched" expires

permit_expires()
{
	egress permit add 10.0.0.3 192.0.2.1 --for 2s && apply || return
	reaches 10.0.0.3 192.0.2.1 25
	rc=$?
	within 30 refused 10.0.0.3 192.0.2.1 25 &&
		refused 10.0.0.3 192.0.2.3 25 && apply &&
		refused 10.0.0.3 192.0.2.3 25 && return $rc
}
check "so does a registration, and its customer gets no freer" permit_expires

released()
{
	egress permit del 10.0.0.3 192.0.2.1 && apply &&
		reaches 10.0.0.3 192.0.2.3 25
}
check "until the last one is deleted" released

# ---- probes ----------------------------------------------------------------

# verdict_is SERVER VERDICT - in the list.
verdict_is()
{
	egress permit list --json | SERVER=$1 VERDICT=$2 perl -MJSON::PP -ne '
		$r = decode_json($_);
		next unless $r->{server} eq $ENV{SERVER};
		$n++ if $r->{verdict} eq $ENV{VERDICT} && $r->{checked_ms} > 0;
		END { exit($n ? 0 : 1) }'
}

probes()
{
	egress permit add 10.9.0.1 192.0.2.2 192.0.2.9 &&
		exits 0 egress check 192.0.2.1 --timeout 5s &&
		exits 1 egress check 192.0.2.2 &&
		exits 1 egress check 192.0.2.9 --timeout 500ms &&
		verdict_is 192.0.2.1 good && verdict_is 192.0.2.2 relay &&
		verdict_is 192.0.2.9 unreachable &&
		egress permit add 10.9.0.2 192.0.2.2 &&
		egress permit del 10.9.0.1 192.0.2.9 &&
		same "$(egress check --timeout 5s | wc -l)" 3 &&
		same "$(egress check --json 192.0.2.2 | grep -o '"entries":.')" \
			'"entries":2'
}
check "a probe tells good servers, relays and dead ones apart" probes

probes_odd()
{
	serve mute 192.0.2.3 2526 && serve later 192.0.2.3 2527 &&
		serve shut 192.0.2.3 2528 &&
		egress check --json 192.0.2.3 --port 2526 --timeout 500ms |
		grep '"silent"' &&
		egress check --json 192.0.2.3 --port 2527 | grep '"unclear"' &&
		egress check --json 192.0.2.3 --port 2528 | grep '"unclear"'
}
check "and those that say nothing, or not now" probes_odd

harmless()
{
	cat "$D"/said.*
	grep -q '^RCPT TO:<postmaster@example.com>' "$D/said.192.0.2.2" &&
		grep -q '^RSET' "$D/said.192.0.2.2" &&
		grep -q '^QUIT' "$D/said.192.0.2.2" &&
		! grep -iq '^DATA' "$D"/said.*
}
check "it never sends DATA, and says good-bye" harmless
egress permit del 10.9.0.1 192.0.2.2 >/dev/null
egress permit del 10.9.0.2 192.0.2.2 >/dev/null

# ---- keeping in step -------------------------------------------------------

follow_start()
{
	"$B/tidemark" -c "$conf" egress apply --follow >"$D/follow" 2>&1 &
	follower=$!
	peers="$peers $follower"
	within 30 grep -q 'elements in one transaction' "$D/follow"
}

follows()
{
	follow_start && egress deny add 192.0.2.3 &&
		within 30 refused 10.0.0.3 192.0.2.3 25 &&
		egress deny del 192.0.2.3 &&
		within 30 reaches 10.0.0.3 192.0.2.3 25
}
check "who follows takes over changes" follows

only_differences()
{
	cat "$D/follow"
	same "$(grep -c ': 1 elements' "$D/follow")" 2
}
check "and sends only what differs" only_differences

comes_back()
{
	nft delete table inet tidemark && within 30 refused 10.0.0.2 192.0.2.2 25
}
check "a table that somebody deleted comes back" comes_back

settings()
{
	sed -i '/^egress_/d' "$conf" && for line; do
		echo "$line"
	done >>"$conf" && tidemark reload
}

new_ports()
{
	settings "egress_ports = 25 2525" &&
		within 30 refused 10.0.0.2 192.0.2.2 2525
}
check "new settings are taken over" new_ports

bans_feed()
{
	settings "egress_bans = on" && tidemark ban 10.0.0.3 --for 1h &&
		within 30 refused 10.0.0.3 192.0.2.3 25 &&
		at_least "$(count banned)" 1 && tidemark unban 10.0.0.3 &&
		within 30 reaches 10.0.0.3 192.0.2.3 25
}
check "a ban of a client feeds it, an unban ends that" bans_feed

bans_of_networks()
{
	tidemark ban 2001:db8:a::/64 --for 1h && tidemark ban 10.0.0.2/31 &&
		tidemark ban eve@example.org &&
		within 30 refused 2001:db8:a::3 2001:db8:b::1 25 &&
		within 30 refused 10.0.0.3 192.0.2.3 25 &&
		settings "egress_bans = off" &&
		within 30 reaches 2001:db8:a::3 2001:db8:b::1 25
}
check "so do bans of networks, while the setting says so" bans_of_networks

dry_run()
{
	settings "egress_mode = dry-run" &&
		within 30 reaches 10.0.0.2 192.0.2.2 25 || return
	before=$(count denied)
	reaches 10.0.0.2 192.0.2.2 25 && at_least "$(count denied)" $((before + 1))
}
check "dry-run counts and refuses nothing" dry_run

# Out of this machine: the router's own connections.
from_here()
{
	perl tests/tools/egress/mailhost.pl call "192.0.2.254" "$1" 25 </dev/null
}
own_output()
{
	same "$(from_here 192.0.2.2)" "220 ESMTP" &&
		settings "egress_hooks = forward output" &&
		within 30 same_from_here 192.0.2.2 refused &&
		same "$(from_here 192.0.2.1)" "220 ESMTP"
}
same_from_here() { same "$(from_here "$1")" "$2"; }
check "this machine's own connections are free, unless output is set" own_output

renamed()
{
	settings "egress_table = mailwall" &&
		within 30 nft list table inet mailwall &&
		fails nft list table inet tidemark &&
		refused 10.0.0.2 192.0.2.2 25 &&
		settings && within 30 nft list table inet tidemark &&
		fails nft list table inet mailwall
}
check "with another name the old table goes" renamed

without_daemon()
{
	daemon_stop && refused 10.0.0.2 192.0.2.2 25 &&
		within 30 grep -q 'the kernel goes on' "$D/follow" &&
		daemon_start && egress deny add 192.0.2.3 &&
		within 60 refused 10.0.0.3 192.0.2.3 25 &&
		egress deny del 192.0.2.3
}
check "while the daemon is away the kernel goes on; then so do we" \
	without_daemon
check "somebody else's tables are still as they were" unharmed

kill "$follower"
within 30 gone "$follower"
check "the table stays when nobody follows" refused 10.0.0.2 192.0.2.2 25

# ---- many ------------------------------------------------------------------

many()
{
	perl -e 'for my $i (0 .. 99999) { printf "100.%d.%d.%d\n",
		64 + ($i >> 16), $i >> 8 & 255, $i & 255 }' >"$D/many" &&
		egress deny import "$D/many" --reason "open proxy" \
			--origin feed >"$D/imported" &&
		grep '100000 new' "$D/imported" &&
		apply >"$D/applied" && cat "$D/applied" &&
		refused 10.0.0.2 192.0.2.2 25 && reaches 10.0.0.2 192.0.2.1 25 &&
		grep -E ': 10000[0-9]+ elements in one transaction' "$D/applied"
}
check "100,000 entries load in one transaction" many
sed 's/^/# /' "$D/applied"

follows_many()
{
	follow_start && egress deny add 192.0.2.3 &&
		within 30 refused 10.0.0.3 192.0.2.3 25 &&
		egress deny del 192.0.2.3 && kill "$follower" &&
		within 30 gone "$follower"
}
check "and one more among them is soon in force" follows_many
sed 's/^/# /' "$D/follow"

replaced()
{
	head -n 10 "$D/many" >"$D/few" &&
		egress deny import "$D/few" --origin feed --replace \
			>"$D/imported" && cat "$D/imported" &&
		grep '99990 dropped' "$D/imported"
}
check "an import may replace what came from the same origin" replaced

# ---- rights, and the end ---------------------------------------------------

chmod 755 "$D" "$D/run" && chmod 666 "$D/run/control.sock"
unprivileged()
{
	exits 2 setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$B/tidemark" -c "$conf" egress apply 2>"$D/why"
	rc=$?
	cat "$D/why"
	[ "$rc" -eq 0 ] && grep -i 'permitted' "$D/why"
}
check "without CAP_NET_ADMIN it says so" unprivileged

capable()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=+net_admin --ambient-caps=+net_admin \
		"$B/tidemark" -c "$conf" egress apply
}
check "with that capability alone it works" capable

no_trace()
{
	egress remove && nft list ruleset >"$D/after" &&
		diff "$D/before" "$D/after" && egress remove
}
check "removal leaves no trace" no_trace
check "and everything passes" reaches 10.0.0.2 192.0.2.2 25
check "stats say that there is none" exits 1 egress stats
tap_end
