#!/bin/sh
# t_share.sh - servers that exchange bulk counts while mail passes: what one
# has seen the others know, once; files that do not fit are refused; what was
# merged outlives the collector and the map, and a merge that is killed has
# happened or has not.
#
# takes: 9s
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# daemon.sh knows one daemon: here it is the one whose turn it is.
top=$D
trap 'end_all' EXIT

end_all()
{
	for s in a b c d; do
		[ -d "$top/$s" ] && at "$s" && daemon_stop >/dev/null 2>&1
	done
	D=$top daemon_end
}

# at SERVER - the next words are for it.
at()
{
	eval "pid_${server:-none}=\$daemon_pid"
	server=$1
	D=$top/$server conf=$top/$server/tidemark.conf
	eval "daemon_pid=\${pid_$server:-}"
}

setup()
{
	mkdir -p "$D"
	daemon_conf "$@" '[profile external]' 'bulk_mode = enforce' \
	    'bulk_threshold = 31'
}

join_fleet()
{
	setup "$@"
	(umask 077 && cp "$top/key" "$D/state/hash.key")
}

# box N - a mailbox of one message with the text number N.
box()
{
	printf 'From x Mon Mar  3 07:52:10 2025\nReturn-Path: <s@sender.example>\nFrom: s@sender.example\nTo: r@rcpt.example\nSubject: x\n\n'
	printf 'Offer number %s%s%s is valid for a few days only, so make haste and\norder ten of them today, before your neighbours do, number %s.\n\n' \
	    "$1" "$1" "$1" "$1"
}

# mail N COPIES - to the server whose turn it is.
mail()
{
	box "$1" >"$D/box.$1"
	"$FEED" -s "local:$D/run/external.sock" -n "$2" --client 192.0.2.7 \
	    --quiet "$D/box.$1"
}

# count FIELD N - own or neighbours, of text N.
count()
{
	box "$2" | sed 1d | tidemark bulk test --json --to r@rcpt.example |
	    perl -MJSON::PP -ne '$r = decode_json($_);
		print $r->{$ARGV0} if $r->{type} eq "count";
		BEGIN { $ARGV0 = shift @ARGV }' "$1"
}

# knows OWN NEIGHBOURS N
knows()
{
	same "$(count own "$3") own, $(count neighbours "$3") elsewhere" \
	    "$1 own, $2 elsewhere"
}

says()
{
	pattern=$1
	shift
	"$@" >"$top/said" 2>&1
	code=$?
	cat "$top/said"
	grep -q -e "$pattern" "$top/said"
}

# refuses PATTERN FILE...
refuses()
{
	pattern=$1
	shift
	says "$pattern" tidemark merge "$@" && same "$code" 1
}

# export FROM FILE [OPTION...]
export_to()
{
	file=$1
	shift
	tidemark export "$@" >"$file"
}

# pass FROM TO [OPTION...] - what one has seen becomes known to the other.
pass()
{
	from=$1 to=$2
	shift 2
	at "$from" && export_to "$top/$from.share" "$@" || return 1
	at "$to" && tidemark merge "$top/$from.share"
}

sizes='bulk_keys = 2k'
span='bulk_span = 52w'

# ---- one key -------------------------------------------------------------

at a
setup "$sizes" "$span"
check "the first server starts" daemon_start || exit 1
check "and tells its key" export_to "$top/key" --key
at b
join_fleet "$sizes" "$span"
chmod 644 "$D/state/hash.key"
told_of_key()
{
	"$B/tidemarkd" -c "$conf" >>"$D/out" 2>&1 </dev/null &
	daemon_pid=$!
	within 30 grep -q 'hash.key: is a secret' "$D/log"
}
check "a key that all can read is refused" told_of_key
daemon_stop
chmod 600 "$D/state/hash.key"
check "the second one starts with it" daemon_start
check "and has it" sh -c "$B/tidemark -c $conf export --key | cmp - $top/key"
at c
join_fleet "$sizes" "$span"
check "the third" daemon_start

# ---- both ways, several times, while mail passes --------------------------

at a
mail 1 3 >/dev/null
at b
mail 1 4 >/dev/null
mail 2 2 >/dev/null
check "whole, from a to b" pass a b
check "whole, from b to a" pass b a
at b
check "b knows both" knows 4 3 1
at a
check "a knows both" knows 3 4 1
check "also what it has not seen" knows 0 2 2

# feeds in the background: copies of three texts on both servers
traffic()
{
	for n in 11 12 13; do
		for s in a b; do
			box $n >"$top/$s/box.$n"
			"$FEED" -s "local:$top/$s/run/external.sock" -n 10 \
			    --client 192.0.2.7 --quiet "$top/$s/box.$n"
		done
	done >"$top/traffic.out" 2>&1
}
traffic &
traffic_pid=$!
for round in 1 2 3 4; do
	check "delta $round from a to b" pass a b --delta last
	check "delta $round from b to a" pass b a --delta last
done
wait "$traffic_pid"
check "a last delta from a to b" pass a b --delta last
check "a last delta from b to a" pass b a --delta last
for n in 11 12 13; do
	at a
	check "a knows of all copies of $n" knows 10 10 $n
	at b
	check "and so does b" knows 10 10 $n
done
check "what was before has not changed" knows 4 3 1
size()
{
	wc -c <"$1"
}
at a
check "a whole export" export_to "$top/whole"
check "a delta to it" export_to "$top/delta" --delta last
check "which is smaller" \
    [ "$(size "$top/delta")" -lt "$(size "$top/whole")" ]

# ---- refusals ------------------------------------------------------------

at b
check "merged before" refuses 'was merged before' "$top/a.share"
check "our own" refuses 'is our own' "$top/b.share"
check "a delta to what never came" refuses 'is a delta to export' "$top/delta"
head -c 100 "$top/whole" >"$top/short"
check "truncated" refuses 'truncated' "$top/short"
check "no export" refuses 'no export' "$top/key"
check "nothing there" refuses 'No such file' "$top/none"
check "no number" exits 2 tidemark export --delta x
check "an export that is not kept" exits 1 tidemark export --delta 77
check "nothing has changed" knows 10 10 11
check "refusals are counted" [ "$(counter shares_refused)" -eq 3 ]
at d
setup "$sizes" "$span"
check "a stranger starts" daemon_start
check "another key" refuses 'another hash key' "$top/whole"
daemon_stop
rm -rf "$D/run" "$D/state"
join_fleet 'bulk_keys = 3k' "$span"
check "a server of other sizes" daemon_start
check "other sizes" refuses 'bulk_keys' "$top/whole"
daemon_stop
rm -rf "$D/run" "$D/state"
join_fleet "$sizes" 'bulk_span = 100d'
check "a server of another span" daemon_start
check "another span" refuses 'bulk_span' "$top/whole"
daemon_stop

# ---- nothing comes back by way of a third ---------------------------------

check "from a to c" pass a c
check "from b to c" pass b c
check "c has the sum" knows 0 20 11
mail 11 1 >/dev/null
check "from c to a" pass c a
check "a has one copy more" knows 10 11 11
check "from c to b" pass c b
check "so has b" knows 10 11 11
check "and once more from a to b" pass a b
check "as before" knows 10 11 11

# ---- reports of spam -------------------------------------------------------

# spam VERB N - report, revoke or test text N
spam()
{
	box "$2" | sed 1d | tidemark spam "$1" --to r@rcpt.example
}
# reports FILE - how many are in it
reports()
{
	od -An -tu8 -j104 -N8 "$1" | tr -d ' '
}
at a
check "a reports spam" spam report 31
at b
check "b does not know it" exits 1 spam test 31
check "from a to b" pass a b --delta last
check "there is one report in it" same "$(reports "$top/a.share")" 1
check "b knows it" spam test 31
check "a delta more" pass a b --delta last
check "has none" same "$(reports "$top/a.share")" 0
check "from b to c" pass b c
check "has none of b's own" same "$(reports "$top/b.share")" 0
check "so c knows nothing of it" exits 1 spam test 31
check "from a to c" pass a c
check "now it does" spam test 31
at b
check "b revokes it" spam revoke 31
check "from b to a" pass b a
check "a lets it pass" exits 1 spam test 31
at b
check "b reports another" spam report 32
check "a tells b all" pass a b
check "and tells c" pass b c

# ---- what survives --------------------------------------------------------

kill_collector()
{
	old=$(collector)
	kill -9 "$old" && within 60 collector_is_new "$old"
}
lose_map()
{
	daemon_stop && rm -f "$D/run/live.mdb" && daemon_start
}
lose_power()
{
	# no checkpoint comes between: what is known is in the archive
	kill -STOP "$daemon_pid"
	for p in $(children "$daemon_pid"); do
		kill -9 "$p"
	done
	kill -9 "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	daemon_pid=
	rm -f "$D/run/live.mdb"
	daemon_start
}
check "the collector is killed" kill_collector
check "what was reported is known" spam test 32
at b
check "of b, too" kill_collector
check "all is there" knows 10 11 11
check "the map is lost" lose_map
check "all is there again" knows 10 11 11
check "merged is merged" refuses 'was merged before' "$top/a.share"

# Killed at any moment of a merge: all of the file is in, or nothing.
killed_merging()
{
	at a
	mail 21 1 >/dev/null
	mail 22 1 >/dev/null
	export_to "$top/a.share" --delta last 2>/dev/null || return 1
	at b
	before=$(count neighbours 21)
	old=$(collector)
	tidemark merge "$top/a.share" &
	merging=$!
	sleep "0.0$1"
	kill -9 "$old"
	wait "$merging"
	answer=$?
	within 60 collector_is_new "$old" || return 1
	after=$(count neighbours 21)
	same "$(count neighbours 22)" "$after" || return 1
	[ "$answer" -ne 0 ] || same "$after" "$((before + 1))" || return 1
	[ "$after" -eq "$before" ] || [ "$after" -eq "$((before + 1))" ] ||
	    return 1
	tidemark merge "$top/a.share" || refuses 'was merged before' \
	    "$top/a.share" || return 1
	knows 0 "$((before + 1))" 21 && knows 0 "$((before + 1))" 22
}
for moment in 0 1 2 4 7; do
	check "killed while merging, moment $moment" killed_merging $moment
done
known=$(count neighbours 21)
check "all of it is lost at once" lose_power
check "but not what was merged" knows 0 "$known" 21

tap_end
