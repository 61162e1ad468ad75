#!/bin/sh
# t_allowance.sh - outgoing allowances, through the milter: the burst is exact
# over many connections, others notice nothing, what came to nothing is given
# back, 2,000 strangers are told from 40 regulars, and 60 clients from 3.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# one recipient a message; 40 different ones
i=0
while [ "$i" -lt 40 ]; do
	i=$((i + 1))
	printf 'From ann@example.org Mon Mar  3 08:31:55 2025\n'
	printf 'From: ann@example.org\nTo: r%d@example.net\n\nHello.\n\n' "$i"
done >"$D/box"

post()
{
	"$FEED" -s "local:$D/run/external.sock" "$@" --quiet "$D/box" \
	    >"$D/feed.out" 2>"$D/replies"
}

# acks NUMBER FEED-OPTIONS... - so many messages are acknowledged.
acks()
{
	acks_want=$1
	shift
	post "$@"
	cat "$D/feed.out"
	sed 5q "$D/replies"
	same "acked $(of acked "$D/feed.out")" "acked $acks_want"
}

nobody_serves() { same "$(field workers)" 0; }
log_has() { grep -q -e "$1" "$D/log" || { tail -n 5 "$D/log"; return 1; }; }

workers=64 accounts=8192

# A token comes back in three hours: none does while we test.
tokens_conf()
{
	daemon_conf "max_workers = $workers" "max_accounts = $accounts" \
	    '[profile external]' \
	    'tokens_rate = 8/1d' 'allow = 198.51.100.0/24' \
	    "tokens_overrides = $D/overrides" "$@"
}

# ---- the first burst -------------------------------------------------------

echo '# nobody yet' >"$D/overrides"
tokens_conf 'tokens_mode = enforce'
check "starts" daemon_start
check "a first burst over 8 connections is exactly beta" \
    acks 100 -c 8 -n 400 -m 50 --together --auth ann
check "all others were refused" same "$(of rejected "$D/feed.out")" 300
check "what was taken is what was sent" same "$(counter tokens_taken)" 100
check "another account notices nothing" acks 10 -n 10 --auth bob
check "the log line says what is left" log_has 'auth=bob .* tokens=90 '
check "a refusal has a line of its own" \
    log_has 'stage=rcpt .*auth=ann .* reason=tokens tokens=0'
check "another sender of hers does not help" acks 0 -n 5 --unique --auth ann
reply_is() { post -n 1 --replies --auth "$2"; grep -F "$1" "$D/replies"; }
check "the reply is that of the paper" \
    reply_is '554 5.7.1 Not enough tokens available' ann
check "whoever is on the allow list is not charged" \
    acks 10 -n 10 --auth ann --client 198.51.100.7

bypassed()
{
	tidemark bypass on --for 1h && acks 3 -n 3 --auth ann &&
	    tidemark bypass off && acks 0 -n 3 --auth ann
}
check "the bypass lets pass and takes nothing" bypassed

# ---- given back ------------------------------------------------------------

check "aborted messages, one after the other" \
    post -n 150 -m 100 --abort --auth carol
check "take nothing in the end" acks 100 -n 120 -m 20 --auth carol
check "500 aborted messages, many at once" \
    post -c 8 -n 500 -m 100 --abort --auth cora
a_moment_less()
{
	post -n 120 -m 20 --auth cora
	echo "acked $(of acked "$D/feed.out")"
	[ "$(of acked "$D/feed.out")" -ge 99 ]
}
check "take no more than the moments that they overlapped" a_moment_less

balanced()
{
	nobody_serves || return 1
	same "$(($(counter tokens_taken) - $(counter tokens_given_back)))" \
	    "$1"
}
lost_in_the_middle()
{
	before=$(($(counter tokens_taken) - $(counter tokens_given_back)))
	accepted=$(counter recipients)
	echo 'auth:dora 100k 1/1s' >"$D/overrides"
	tidemark reload || return 1
	for _ in 1 2 3 4 5; do
		"$FEED" -s "local:$D/run/external.sock" -c 16 -n 0 -m 1000 \
		    --auth dora --quiet "$D/box" >/dev/null 2>&1 &
		sleep 0.3
		kill -9 $!
		wait $! 2>/dev/null
	done
	within 10 nobody_serves || return 1
	accepted=$(($(counter recipients) - accepted))
	echo "# accepted $accepted, given back $(counter tokens_given_back)"
	[ "$accepted" -gt 0 ] && balanced $((before + accepted))
}
check "a client that vanishes pays for what was accepted, no more" \
    lost_in_the_middle

# ---- several limits ---------------------------------------------------------

# Two of them, of which the second is the closer one at first.
tokens_conf 'tokens_mode = enforce' 'tokens_also = 40:40/365d 1000:1k/1d'
check "reload: a further limit" tidemark reload
was=$(counter tokens_taken)
check "the closest of several limits holds, to many at once" \
    acks 40 -c 8 -n 100 -m 20 --auth two
check "nothing was taken for those refused" \
    same "$(($(counter tokens_taken) - was))" 40
tokens_conf 'tokens_mode = enforce'
check "reload: without it" tidemark reload
check "the first limit was charged as much, no more" \
    acks 60 -c 8 -n 100 -m 20 --auth two
bad_limit()
{
	tokens_conf 'tokens_mode = enforce' "tokens_also = $1"
	tidemark reload >"$D/reload.out" 2>&1 && return 1
	cat "$D/reload.out"
	grep -q "$2" "$D/reload.out"
}
check "a word that is no limit" bad_limit 20/1h 'is no limit such as'
check "too many of them" bad_limit '1:1/h 2:1/h 3:1/h 4:1/h 5:1/h' 'at most 4'
tokens_conf 'tokens_mode = enforce' 'tokens_also = 3:3/365d'
check "reload: another" tidemark reload
aborted()
{
	"$FEED" -s "local:$D/run/external.sock" -n 20 --auth gone --abort \
	    --quiet tests/demo/sample.mbox >"$D/feed.out" 2>&1
	cat "$D/feed.out"
}
check "messages that are given up" aborted
check "are given back to every limit" acks 3 -n 9 --auth gone

# ---- delay, and overrides --------------------------------------------------

tokens_conf 'tokens_mode = enforce' 'tokens_action = delay'
check "reload: delay" tidemark reload
check "a delay names the time" reply_is \
    '451 4.7.1 Not enough tokens available; come back in 3h' ann

printf 'auth:ann 150 8/1d\n@example.com 7 8/1d\n203.0.113.0/24 5 8/1d\n' \
    >"$D/overrides"
check "reload: overrides" tidemark reload
check "an account of more has more" acks 50 -c 8 -n 100 -m 20 --auth ann
check "a domain" acks 7 -n 20 --auth joe@example.com
check "a network" acks 5 -n 20 --auth eve --client 203.0.113.9
check "others have what they had" acks 90 -n 100 -m 100 --auth bob

refused_overrides()
{
	echo 'ann 500 500/1d' >"$D/overrides"
	tidemark reload >"$D/reload.out" 2>&1 && return 1
	cat "$D/reload.out"
	grep -q "$D/overrides:1: «ann» is no key" "$D/reload.out" &&
	    acks 0 -n 5 --auth ann
}
check "bad overrides are refused by name, the old ones stay" refused_overrides

# ---- kills -----------------------------------------------------------------

another_collector()
{
	[ "$(field collector_pid)" != "$1" ] && [ "$(field collector_pid)" != 0 ]
}
collector_killed()
{
	old=$(field collector_pid)
	kill -9 "$old"
	acks 0 -n 5 --auth ann || return 1
	within 15 another_collector "$old" && acks 0 -n 5 --auth ann &&
	    acks 100 -c 8 -n 200 -m 25 --auth frank
}
check "what is spent stays spent when the collector is killed" \
    collector_killed
rm -f "$D/overrides"
echo '# none' >"$D/overrides"
restarted() { daemon_stop; daemon_start && acks 0 -n 5 --auth frank; }
check "and over a restart" restarted

resized()
{
	workers=$1 accounts=$2
	daemon_stop
	tokens_conf 'tokens_mode = enforce'
	daemon_start && log_has 'made anew (.*: has other sizes' &&
	    log_has 'carried over: .* [1-9][0-9]* allowances' &&
	    acks 0 -n 5 --auth frank
}
check "and over a map of another size" resized 80 8192
check "and one with more accounts" resized 80 65536
check "and one with fewer" resized 80 16384

# ---- dry-run ---------------------------------------------------------------

tokens_conf 'tokens_mode = dry-run'
check "reload: dry-run" tidemark reload
short=$(counter recipients_short)
check "dry-run refuses nobody" acks 30 -n 30 -m 10 --auth frank
check "but counts" same "$(counter recipients_short)" $((short + 30))

# ---- cost by amount of data ------------------------------------------------

tokens_conf 'tokens_mode = enforce' 'tokens_action = delay' \
    'tokens_per_data = 10K'
check "reload: data costs" tidemark reload
check "unknown size: a recipient costs one token" acks 4 -n 4 --auth ivan
check "twice the amount: two tokens more" \
    acks 32 -c 4 -n 60 -m 15 --size 20480 --auth ivan
check "which the log line shows" log_has 'auth=ivan .* tokens=0 '
check "half the amount: half a token more" \
    acks 66 -n 80 -m 20 --size 5120 --auth judy
check "the token that is left still serves a mail of no size" \
    acks 1 -n 3 --size 0 --auth judy
data_given_back()
{
	post -c 4 -n 100 -m 25 --abort --size 20480 --auth kim &&
	    acks 33 -n 40 -m 40 --size 20480 --auth kim
}
check "aborted, all of it is given back" data_given_back
never_fits()
{
	post -n 1 --replies --size "$1" --auth "$2"
	cat "$D/replies"
	grep -q '554 5.7.1 Not enough tokens available \[' "$D/replies"
}
check "what no full allowance pays for is not put off" never_fits 1048576 leo
check "nor is a size beyond all numbers" \
    never_fits 99999999999999999999999 leo
check "a size that is no number is none" \
    acks 100 -n 101 -m 101 --size -1 --auth leo

# ---- different recipients --------------------------------------------------

tokens_conf 'distinct_mode = enforce' 'distinct_limit = 200'
check "reload: a limit on different recipients" tidemark reload
check "2,000 mails to 40 regulars pass" \
    acks 2000 -c 4 -n 2000 -m 500 --auth grace
strangers()
{
	post -c 4 -n 2000 -m 500 --unique --auth heidi
	cat "$D/feed.out"
	[ "$(of acked "$D/feed.out")" -ge 140 ] &&
	    [ "$(of acked "$D/feed.out")" -le 260 ]
}
check "of 2,000 mails to strangers about 200 do" strangers
check "the others are counted" [ "$(counter recipients_many)" -gt 1700 ]
check "the reply says why" \
    reply_is '554 5.7.1 Too many different recipients in a day' heidi
check "and grace still writes to hers" acks 40 -n 40 -m 40 --auth grace

# ---- different clients -----------------------------------------------------

# from USER FORMAT NUMBER - three mails from each of so many addresses; the sum
# of those acknowledged is left in $acked.
from()
{
	i=0
	acked=0
	while [ "$i" -lt "$3" ]; do
		i=$((i + 1))
		# shellcheck disable=SC2059 # the address is a format
		post -n 3 -m 3 --auth "$1" --client "$(printf "$2" "$i")"
		acked=$((acked + $(of acked "$D/feed.out")))
	done
	echo "# $acked acked"
}
all_from() { from "$@"; same "$acked" $((3 * $3)); }
some_from()
{
	from "$@"
	[ "$acked" -ge 45 ] && [ "$acked" -le 90 ]
}
tokens_conf 'clients_mode = enforce' 'clients_limit = 20'
check "reload: a limit on different clients" tidemark reload
check "grace's 40 recipients are no clients" acks 5 -n 5 --auth grace
check "an account of 3 addresses passes" all_from mona 192.0.2.%d 3
check "one of 60 is stopped after about 20" some_from nick 192.0.2.%d 60
check "the others are counted" [ "$(counter recipients_clients)" -ge 90 ]
check "the reply says why" reply_is \
    '554 5.7.1 Too many different client addresses in a day' nick
check "and the log" log_has 'stage=rcpt .*auth=nick .* reason=clients'
check "whoever is on the allow list still passes" \
    acks 3 -n 3 --auth nick --client 198.51.100.7
check "mona notices nothing" all_from mona 192.0.2.%d 3
check "60 addresses of one IPv6 network are one" \
    all_from olga 2001:db8:1:2::%x 60
check "60 networks are not" some_from pete 2001:db8:2:%x::1 60

tokens_conf 'clients_mode = dry-run' 'clients_limit = 20'
check "reload: dry-run" tidemark reload
seen=$(counter recipients_clients)
check "dry-run lets nick pass" acks 5 -n 5 --auth nick
check "but counts him" same "$(counter recipients_clients)" $((seen + 5))
tokens_conf 'clients_mode = enforce'
check "reload: no limit" tidemark reload
check "which lets him pass, too" acks 5 -n 5 --auth nick

# ---- made-up senders -------------------------------------------------------

# 128 places, of which made-up senders may have 48; then their client pays.
check "a small table" resized 80 128
made_up()
{
	post -c 4 -n 600 -m 150 --unique --client 203.0.113.66
	cat "$D/feed.out"
	[ "$(of acked "$D/feed.out")" -ge 100 ] &&
	    [ "$(of acked "$D/feed.out")" -le 148 ]
}
check "who makes up senders has one allowance, once the places are taken" \
    made_up
check "which is counted" [ "$(counter tokens_by_client)" -ge 400 ]
check "nobody passed uncounted" same "$(counter tokens_uncounted)" 0
check "accounts have their allowance as ever" \
    acks 100 -c 4 -n 140 -m 35 --auth rita
full() { tidemark status | grep 'accounts .*full: .* charged to their client'; }
check "status says that the table is full" full
check "and the log" within 30 log_has 'the places for accounts are taken'

tap_end
