#!/bin/sh
# t_flow.sh - buckets and bans by the postmaster's commands, on a daemon at
# work: overflow to ban to unban, bans by hand and what they refuse, a ban
# outlives everything but its time, levels, reset, audit, reports, sizes.
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# mbox FILE FROM TO - one mail.
mbox()
{
	printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\nFrom: %s\nTo: %s\nSubject: x\n\nx\n\n' \
	    "$2" "$2" "$2" "$3" >"$1"
}

# mail COUNT CLIENT FROM [TO] - all in one connection after the other.
mail()
{
	mbox "$D/box" "$3" "${4:-ann@example.org}"
	"$FEED" -s "local:$D/run/external.sock" -n "$1" --client "$2" --quiet \
	    "$D/box" >"$D/mail.out" 2>&1
	cat "$D/mail.out"
}

passes()
{
	mail 1 "$@" && [ "$(of rejected "$D/mail.out")" -eq 0 ] &&
	    [ "$(of acked "$D/mail.out")" -eq 1 ]
}

refused()
{
	mail 1 "$@"
	[ "$(of rejected "$D/mail.out")" -eq 1 ]
}

# The acceptor and the collector outlive a killed supervisor for a moment.
kill_all()
{
	pids="$(children "$daemon_pid") $daemon_pid"
	for pid in $(children "$daemon_pid"); do
		pids="$pids $(children "$pid")"
	done
	# shellcheck disable=SC2086 # words, by intent
	kill -9 $pids 2>/dev/null
	wait "$daemon_pid" 2>/dev/null
	for pid in $pids; do
		within 10 gone "$pid" || return 1
	done
	daemon_pid=
}

flow_conf()
{
	daemon_conf '[profile external]' \
	    'oksender_mode = enforce' 'oksender_limit = 10/1min' \
	    'oksender_leak = 10s' 'oksender_ban = 10min' \
	    'cbsender_mode = enforce' 'cbsender_limit = 10/1min' \
	    'cbsender_leak = 10s' 'cbsender_ban = 10min' \
	    'okip_mode = enforce' 'okip_limit = 100/1h' 'okip_leak = 1h' \
	    'allow = friend@bulk.example|203.0.113.0/24 198.51.100.64/26 auth:lists' \
	    'allow_forgeable = @friendly.example' "$@"
}

# ---- an overflow makes a ban -------------------------------------------------

flow_conf '[profile internal]'
check "starts" daemon_start
check "nobody is banned" exits 1 tidemark banned
check "nothing is in a bucket" exits 1 tidemark bucket list
check "a few mails pass" passes 192.0.2.1 few@busy.example
level_is_1()
{
	json '$r->{level} == 1 && $r->{depth} == 4 && !$r->{overflowed} &&
	    $r->{group} eq "OKSENDER" && $r->{profile} eq "external" &&
	    $r->{empty_in_ms} > 0 && $r->{empty_in_ms} <= 10000 &&
	    $r->{key} eq "few\@busy.example|192.0.2.0/24"' bucket list
}
check "and are in a bucket, with its level" within 30 level_is_1
check "as text, too" says 'external .*OKSENDER .*1/4 .*few@busy.example.*empty in' \
    tidemark bucket list

# verp COUNT CLIENT LIST - from so many bounce addresses of a list.
verp()
{
	for i in $(seq "$1"); do
		mbox "$D/box" "$3-bounce-1000$i-u$i=x.example@lists.example" \
		    "${4:-ann@example.org}"
		cat "$D/box"
	done >"$D/verp"
	"$FEED" -s "local:$D/run/external.sock" -n "$1" --client "$2" --replies \
	    "$D/verp" >"$D/mail.out" 2>&1
	cat "$D/mail.out"
}
list_level()
{
	says "OKSENDER .* $1/4 .*big-bounce-[*]@lists.example|192.0.2.0/24" \
	    tidemark bucket list
}
verp 1 192.0.2.30 big >/dev/null
check "bounce addresses are one key" within 30 list_level "[1-4]"
put_off()
{
	verp 8 192.0.2.30 big
	[ "$(of acked "$D/mail.out")" -ge 3 ] &&
	    [ "$(of rejected "$D/mail.out")" -ge 1 ] &&
	    ! grep -q '550\|554' "$D/mail.out" &&
	    grep -q '451 4.7.1 .*(OKSENDER); come back in 10s' "$D/mail.out"
}
check "twice the limit of them is put off" put_off
check "the bucket is full, no more" list_level "[2-4]"
check "the log says so" grep -q 'stage=rcpt .*from=<big-bounce.*verdict=tempfail reason=OKSENDER' "$D/log"
check "it is counted" test "$(counter deferred)" -ge 1
check "postmaster stays open" eval 'verp 1 192.0.2.30 big postmaster@example.org &&
	[ "$(of acked "$D/mail.out")" -eq 1 ]'
check "why says what that means" says 'a full bucket defers, it does not ban' \
    tidemark why 'big-bounce-*@lists.example'
check "another list passes" passes 192.0.2.30 small-bounce-1000-u=x.example@lists.example
check "emptied by hand" tidemark bucket reset 'big-bounce-*@lists.example'
mail 8 192.0.2.1 many@busy.example >/dev/null
is_banned() { tidemark banned "$@"; }
check "too many make a ban" within 30 is_banned many@busy.example
check "but none on the bounce addresses" exits 1 \
    tidemark banned 'big-bounce-*@lists.example'
check "nor on their client" exits 1 tidemark banned 192.0.2.30
check "it says all about itself" \
    json '$r->{group} eq "OKSENDER" && $r->{profile} eq "external" &&
	!$r->{by_hand} && $r->{times} >= 1 && $r->{remaining_ms} > 0 &&
	$r->{until_ms} - $r->{since_ms} == 600000 &&
	$r->{key} eq "many\@busy.example|192.0.2.0/24"' banned
check "the next mail is refused" refused 192.0.2.1 many@busy.example
check "not that of somebody else" passes 192.0.2.1 other@busy.example
check "nor the same name from elsewhere" passes 198.51.100.1 many@busy.example
check "status counts it" says 'flow .*1 ban standing, [1-9]' tidemark status
check "status --json, too" \
    json '$r->{flow}{bans} == 1 && $r->{flow}{overflows} >= 1 &&
	$r->{flow}{buckets} >= 2 &&
	$r->{flow}{max_buckets} > $r->{flow}{buckets}' status
check "unban lifts it, and says what it was" \
    says 'many@busy.example|192.0.2.0/24 is no longer banned; it was for another [0-9]* min (OKSENDER' \
    tidemark unban many@busy.example
check "at once" passes 192.0.2.1 many@busy.example
check "and is not there" exits 1 tidemark banned many@busy.example
check "nothing to lift is 1" exits 1 tidemark unban many@busy.example
check "a key that is none is an error" exits 2 tidemark unban example.org

# ---- buckets -----------------------------------------------------------------

check "an address's buckets at all networks are emptied" \
    says 'emptied 2 buckets ' tidemark bucket reset many@busy.example
check "three more mails" mail 3 192.0.2.1 slow@busy.example
fullest_first()
{
	tidemark bucket list -n 1 >"$D/said" && cat "$D/said" &&
	    [ "$(wc -l <"$D/said")" -eq 1 ] && grep -q slow@ "$D/said"
}
check "the fullest comes first, -n cuts" within 30 fullest_first
sorted()
{
	tidemark bucket list --sort key --json | perl -MJSON::PP -ne '
		$k = decode_json($_)->{key}; $bad++ if $k lt $last; $last = $k;
		$n++; END { exit($bad || $n < 3) }'
}
check "--sort key" sorted
check "--group tells apart" exits 1 tidemark bucket list --group cbsender
check "--profile, too" exits 1 tidemark bucket list --profile internal
check "no such group" exits 2 tidemark bucket list --group nosuch
check "reset by address" says 'emptied 1 bucket ' \
    tidemark bucket reset Slow+tag@Busy.example
gone_from_list()
{
	tidemark bucket list >"$D/said"
	lacks "$1" "$D/said"
}
check "and no longer listed" gone_from_list slow@
check "one from an IPv6 address" passes 2001:db8:5:6::7 six@busy.example
tiers_there()
{
	for tier in '2001:db8:5:6::7 ' 2001:db8:5:6::/64 2001:db8:5::/56 \
	    2001:db8:5::/48; do
		tidemark bucket list --group okip | grep -F "$tier" || return 1
	done
}
check "is in a bucket at each tier" within 30 tiers_there
check "which are all emptied with it" says 'emptied 4 buckets ' \
    tidemark bucket reset --group OKIP 2001:db8:5:6::7
check "and no longer listed" gone_from_list ' 2001:db8'
check "a reset of nothing is 1" exits 1 tidemark bucket reset nobody@nowhere.example

# ---- reports -----------------------------------------------------------------

check "a report" says 'CBSENDER of external' tidemark report content-blocked \
    --sender spam@bulk.example --ip 203.0.113.5
check "is a drop" json '$r->{group} eq "CBSENDER" && $r->{level} == 1 &&
	$r->{key} eq "spam\@bulk.example|203.0.113.0/24"' \
    bucket list --group CBSENDER
report_five()
{
	for _ in 1 2 3 4 5; do
		tidemark report content-blocked --sender spam@bulk.example \
		    --ip 203.0.113.5 >/dev/null
	done
}
report_five
check "many are a ban" within 30 is_banned spam@bulk.example
check "that refuses" refused 203.0.113.5 spam@bulk.example
banned_until=$(tidemark banned --json spam@bulk.example |
    perl -MJSON::PP -ne 'print decode_json($_)->{until_ms}')
report_five # nothing has leaked since: the same level
made_twice()
{
	json "\$r->{times} == 2 && \$r->{until_ms} > $banned_until" \
	    banned spam@bulk.example
}
check "as many again are a second overflow" within 30 made_twice
check "without an address of a client" exits 2 \
    tidemark report content-blocked --sender spam@bulk.example
check "with one that is none" exits 1 \
    tidemark report content-blocked --sender a@b.example --ip there
check "where it is off" exits 1 tidemark report content-blocked \
    --sender a@b.example --ip 192.0.2.1 --profile internal
check "lifted" tidemark unban spam@bulk.example
for who in '--sender friend@bulk.example --ip 203.0.113.5' \
    '--sender any@friendly.example --ip 203.0.113.5' \
    '--sender auth:lists --ip 203.0.113.5' \
    '--sender a@b.example --ip 198.51.100.77'; do
	# shellcheck disable=SC2086 # words, by intent
	check "on the allow list: $who" says 'on the list allow' \
	    tidemark report content-blocked $who
done

# known FROM - its queue id is in the ring; to $qid.
known()
{
	qid=$(tidemark tail --once -n 64 --json --filter "$1" | perl -MJSON::PP -ne '
		$q = decode_json($_)->{queue_id}; END { print $q }')
	[ -n "$qid" ]
}
mail 1 203.0.113.6 tagged+1@bulk.example >/dev/null
check "a message is in the ring" within 30 known tagged@bulk.example
check "a report by its queue id" \
    says 'tagged@bulk.example|203.0.113.0/24 in CBSENDER of external' \
    tidemark report content-blocked --queue-id "$qid"
check "is a drop for its sender" json '$r->{level} == 1 &&
	$r->{key} eq "tagged\@bulk.example|203.0.113.0/24"' \
    bucket list --group CBSENDER
check "both buckets of it are emptied, and counted once" \
    says 'emptied 2 buckets ' tidemark bucket reset tagged@bulk.example
check "one that is not in the ring" exits 1 \
    tidemark report content-blocked --queue-id NOSUCHID
check "and how far it reaches" \
    says 'NOSUCHID is not among the last [0-9]* decisions, which reach back' \
    tidemark report content-blocked --queue-id NOSUCHID
check "a queue id stands alone" exits 2 tidemark report content-blocked \
    --queue-id "$qid" --ip 192.0.2.1

overflow_again()
{
	tidemark bucket reset spam@bulk.example
	report_five && within 30 is_banned spam@bulk.example
}

# ---- by hand -----------------------------------------------------------------

# by_hand KEY CLIENT FROM OTHER_CLIENT OTHER_FROM - the first one is refused.
by_hand()
{
	check "$1 is banned" says "is banned until .*(10 min): a test" \
	    tidemark ban "$1" --for 10min --reason 'a test'
	check "$1: banned says so" json '$r->{by_hand} && $r->{times} == 1 &&
		$r->{reason} eq "a test" && !defined $r->{group}' banned "$1"
	check "$1: refused" refused "$2" "$3"
	check "$1: postmaster stays open" passes "$2" "$3" postmaster@example.org
	check "$1: others pass" passes "$4" "$5"
	check "$1: lifted" tidemark unban "$1"
	check "$1: passes at once" passes "$2" "$3"
}
by_hand ban1@hand.example 192.0.2.9 ban1@hand.example 192.0.2.9 ok1@hand.example
by_hand @dom.example 192.0.2.9 any@dom.example 192.0.2.9 any@sub.dom.example
by_hand 198.51.100.7 198.51.100.7 ok2@hand.example 198.51.100.8 ok3@hand.example
by_hand 203.0.113.0/24 203.0.113.77 ok4@hand.example 203.0.112.77 ok5@hand.example
by_hand 2001:db8:7::/48 2001:db8:7:1::5 ok6@hand.example \
    2001:db8:8::5 ok7@hand.example
check "a network's ban" tidemark ban 203.0.113.0/24
check "is found by a client in it" exits 0 tidemark banned 203.0.113.9
check "not by one outside" exits 1 tidemark banned 203.0.114.9
check "a domain's ban" tidemark ban @dom.example
check "is found by an address in it" exits 0 tidemark banned a@dom.example
check "unban takes several" tidemark unban @dom.example 203.0.113.0/24
check "an overflow's ban" overflow_again
check "by hand for less: the later end stays, the reason is new" \
    says '([0-9]* min): enough' \
    tidemark ban spam@bulk.example'|203.0.113.0/24' --for 1min --reason enough
check "which is shown" json '$r->{by_hand} && $r->{reason} eq "enough" &&
	$r->{times} == 2 && $r->{remaining_ms} > 60000' \
    banned spam@bulk.example
check "lifted" tidemark unban spam@bulk.example
check "bits beyond the prefix are refused" \
    exits 1 tidemark ban 203.0.113.7/24
check "and so is everybody" exits 1 tidemark ban 0.0.0.0/0
check "and the null sender" exits 1 tidemark ban '<>'
check "a bare name is explained" says '@domain' tidemark ban example.org
for void in '*@b.example' 'a@b.example,c@d.example' 'a@b.example|foo' \
    'a@b.example|192.0.2.7' '@b.example|192.0.2.0/24' auth: @.; do
	check "a ban on $void would meet nobody" exits 1 tidemark ban "$void"
	check "and nobody asks for it" exits 2 tidemark why "$void"
done
check "a display name is none" says '^ban2@hand.example is banned' \
    tidemark ban 'News <ban2@hand.example>'
check "nor for why" says '^ban2@hand.example is banned' \
    tidemark why 'News <ban2@hand.example>'
check "lifted again" tidemark unban ban2@hand.example
check "nothing is known of what is no key: no answer" \
    exits 2 tidemark why 'not an address'
check "one sender at a time is asked for" \
    exits 2 tidemark query --from a@b.example --from c@d.example
check "a ban for 0" exits 2 tidemark ban a@b.example --for 0

# ---- a ban outlives all --------------------------------------------------------

check "a ban" tidemark ban keep@hand.example --for 1h --reason 'to stay'
mail 8 192.0.2.1 again@busy.example >/dev/null
check "and an overflow" within 30 is_banned again@busy.example
check "everything is killed" kill_all
rm -f "$D/run/live.mdb" "$D/run/map"
check "it starts without its live file" daemon_start
check "the ban stands" json '$r->{reason} eq "to stay"' \
    banned keep@hand.example
check "and refuses" refused 192.0.2.9 keep@hand.example
check "the overflow's, too" refused 192.0.2.1 again@busy.example
check "lifted" tidemark unban keep@hand.example again@busy.example
check "killed again" kill_all
check "it starts" daemon_start
check "lifted bans stay lifted" exits 1 tidemark banned
check "a short ban" tidemark ban short@hand.example --for 1s
check "refuses" refused 192.0.2.9 short@hand.example
check "and ends by itself" within 3 passes 192.0.2.9 short@hand.example

# ---- audit -------------------------------------------------------------------

audits=$(counter audits)
check "audit on a quiet map" says 'agree' tidemark audit
check "is counted" test "$(counter audits)" -gt "$audits"
audits_under_load()
{
	"$FEED" -s "local:$D/run/external.sock" -n 3000 -c 6 --unique --quiet \
	    tests/demo/sample.mbox >"$D/load.out" 2>&1 &
	load=$!
	rc=0 audits=0
	while alive "$load"; do
		tidemark audit || rc=1
		tidemark bucket list --json >/dev/null
		audits=$((audits + 1))
	done
	wait "$load"
	echo "$audits audits"
	[ "$rc" -eq 0 ] && [ "$audits" -ge 2 ]
}
check "audits under load are clean" audits_under_load
check "audit --json" json '$r->{faults} == 0 && !defined $r->{first}' audit

# ---- sizes -------------------------------------------------------------------

check "size leaky: the depth" says 'depth 40' \
    tidemark size leaky --limit 100/1h --leak 60s
check "size leaky: the leak" says 'leak = 1min' \
    tidemark size leaky --limit 100/1h --depth 40
check "the envelope" json '$r->{burst} == 40 && $r->{most} == 100 &&
	$r->{window_ms} == 3600000 && $r->{sustained} eq "1/min"' \
    size leaky --limit 100/1h --leak 60s
check "K < 1 is refused, with the arithmetic" \
    says 'K = M - T/dt = 10 - 1h/1min = 10 - 60 = -50' \
    tidemark size leaky --limit 10/1h --leak 60s
check "with 1" exits 1 tidemark size leaky --limit 10/1h --leak 60s
check "size tokens: forwards" json '$r->{most} == 200' \
    size tokens --burst 100 --rate 100/1d
check "size tokens: backwards" json '$r->{burst} == 100' \
    size tokens --most 200/1d --sustained 100/1d
check "no token left" exits 1 \
    tidemark size tokens --most 100/1d --sustained 100/1d
check "mixed is misuse" exits 2 tidemark size leaky --limit 1/1h --burst 3
check "output that cannot be written" exits 2 \
    sh -c "$B/tidemark size leaky --limit 100/1h --leak 60s >/dev/full"

# ---- the client of bounce addresses --------------------------------------------

sed -i 's|^okip_limit = .*|okip_limit = 9/1h|' "$conf"
check "fewer messages for a client" tidemark reload
client_is_banned()
{
	for list in a b c; do
		verp 4 192.0.2.77 "$list"
	done >/dev/null
	is_banned 192.0.2.77
}
check "a client is banned for the mail of many lists" within 30 client_is_banned
check "the lists are not" eval '! is_banned "a-bounce-*@lists.example" &&
	! is_banned "c-bounce-*@lists.example"'

# ---- without a daemon --------------------------------------------------------

check "a ban" tidemark ban stay@hand.example
daemon_stop
check "without a daemon, the bans that stand are still shown" \
    exits 0 tidemark banned stay@hand.example
check "but not made" exits 2 tidemark ban a@b.example
tap_end
