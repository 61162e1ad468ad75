#!/bin/sh
# t_forget.sh - what is known about an address goes: from the map, from the
# archive, from the bytes of their files; what is known about others stays.
# What cannot be removed is said.
#
# takes: 21s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

feed_pid=
trap '[ -z "$feed_pid" ] || kill "$feed_pid" 2>/dev/null; daemon_end' EXIT

# nowhere TEXT - no file of the daemon's holds these bytes, in either case.
nowhere()
{
	! grep -rlai -F -e "$1" "$D/run" "$D/state"
}

somewhere()
{
	grep -rla -F -e "$1" "$D/run" "$D/state"
}

knows_nothing()
{
	exits 1 tidemark why "$1" && exits 1 tidemark banned "$1" || return 1
	{
		tidemark bucket list
		tidemark tail -n 1000 --once
		tidemark except list
		tidemark dump
	} >"$D/known"
	[ -s "$D/known" ] && ! grep -F "$1" "$D/known" | grep -v "not$1"
}

# others FILE - what is known of everybody else, without what time changes.
others()
{
	tidemark dump --json | grep -v 'bob@\|u[0-9]*@x.example' |
	    perl -MJSON::PP -ne '$r = decode_json($_);
		next unless $r->{type} =~
			/^(bucket|ban|exception|window|lapse|class)$/;
		delete $r->{$_} for grep /empty|remain|age|ticked|live$/, keys %$r;
		print JSON::PP->new->canonical->encode($r), "\n"' |
	    grep -v '"state":"open"' >"$1"
	[ -s "$1" ]
}

settings='max_workers = 32
addresses_form = counting
[profile external]
oksender_mode = enforce
oksender_limit = 6/1h
oksender_leak = 1h
oksender_ban = 1h
okip_mode = enforce
okip_limit = 600/1h
okip_leak = 1h
allow = friend@x.example|192.0.2.0/24
[profile internal]
oksender_mode = enforce
oksender_limit = 100/1h
oksender_leak = 1h
tokens_mode = enforce
tokens_burst = 3
tokens_rate = 3/365d
distinct_mode = dry-run
distinct_limit = 100'
daemon_conf "$settings"
check "starts" daemon_start

# ---- known in many ways ------------------------------------------------------

bob=bob@home.example
echo "$bob" >"$D/addresses"
echo "bad@spam.example" >>"$D/addresses"
check "mail of his, from two networks" sends 2 2 external "$bob" 192.0.2.1
check "and the other" sends 3 3 external "$bob" 198.51.100.9
mail 8 external "$bob" 203.0.113.5 >/dev/null
check "too much of it, from a third" within 30 tidemark banned "$bob"
check "as an account" sends 3 3 internal "$bob" 192.0.2.1 "$bob"
check "which is then exhausted" sends 0 1 internal "$bob" 192.0.2.1 "$bob"
check "somebody else" sends 2 2 external eve@x.example 192.0.2.1
check "of a name that holds his" sends 1 1 external notbob@home.example 192.0.2.1
check "whose ban is for him" tidemark ban mallory@x.example --for 5h \
    --reason "asked for by $bob"
check "banned by hand, too" tidemark ban "$bob" --for 5h
check "the list of addresses" tidemark addresses load "$D/addresses"
check "an exception" tidemark except add "$bob" eve@x.example
i=0
while [ $i -lt 60 ]; do
	tidemark ban "$(printf 'u%02d@x.example' $i)" --for 5h
	tidemark except add "$(printf 'u%02d@x.example' $i)"
	i=$((i + 1))
done >/dev/null
check "a sealed window" tidemark seal
check "a checkpoint" tidemark checkpoint
check "and another" tidemark checkpoint
bucket_there() { tidemark bucket list | grep -q 'eve@'; }
check "the buckets are there" within 30 bucket_there
check "he is in the map" somewhere "$bob"
check "and in the archive" grep -qa "$bob" "$D/state/archive.mdb"
others "$D/others.before"

# ---- dry ---------------------------------------------------------------------

check "a dry run counts buckets" json '$r->{type} eq "would-forget" &&
	$r->{what} eq "buckets" && $r->{count} >= 3' forget --dry-run "$bob"
for what in bans allowances estimates decisions exceptions listed; do
	check "and $what" json '$r->{what} eq "'$what'" && $r->{count} >= 1' \
	    forget --dry-run "$bob"
done
check "and changes nothing" tidemark banned "$bob"

# ---- in earnest --------------------------------------------------------------

check "a ban made by hand is not lifted by the way" says \
    '^tidemark: 1 ban made by hand stands: ' tidemark forget --yes "$bob"
check "which is an error" exits 2 tidemark forget --yes "$bob"
check "and nothing was done" json '$r->{what} eq "buckets" &&
	$r->{count} >= 3' forget --dry-run "$bob"
check "it stands" tidemark banned "$bob"
tidemark forget --unban "$bob" >"$D/forgot" 2>&1
check "forgotten" same "$?" 0
sed 's/^/# /' "$D/forgot"
check "it says what went" grep -q '^gone: [0-9]* buckets' "$D/forgot"
check "that windows have it, and until when" \
    grep -q '^left: .*windows .*until 20.* at the latest' "$D/forgot"
check "that the log has, and how to find it" \
    grep -q "^left: .*grep -F '$bob' $D/log" "$D/forgot"
check "that backups have" grep -q '^left: backups' "$D/forgot"
check "that a reason names him" grep -q '^left: reasons' "$D/forgot"
tidemark unban mallory@x.example >/dev/null
check "a second time, for what that reason left" \
    exits 1 tidemark forget "$bob"
check "no tool knows him" knows_nothing "$bob"
check "nor does a file" nowhere "|$bob"
for f in "$D"/run/live.mdb "$D"/state/archive.mdb; do
	check "not even as bytes: ${f##*/}" same \
	    "$(grep -aoF -e "$bob" -e "not$bob" "$f" | grep -cv "^not")" 0
done
check "his allowance is a new one" sends 3 3 internal "$bob" 192.0.2.1 "$bob"
check "and he is known again, which is right" somewhere "$bob"
check "so once more" tidemark forget "$bob"
check "the list no longer has him" exits 1 tidemark addresses test "$bob"
check "but others" tidemark addresses test bad@spam.example
check "the name that holds his is known still" somewhere "not$bob"
check "a window remembers, as it said" tidemark query --from "$bob"
others "$D/others.after"
grep -v 'mallory' "$D/others.before" >"$D/others.1"
grep -v 'mallory' "$D/others.after" >"$D/others.2"
check "all about others is as it was" diff "$D/others.1" "$D/others.2"
check "the log says that it was done" grep -q 'forget: by request: ' "$D/log"
check "and not about whom" lacks "forget.*$bob" "$D/log"
check "the books are right" tidemark audit

# ---- keys in the archive's branches ------------------------------------------

many_gone()
{
	for i in 05 10 11 12 13 20 24 25 26 30 36 37 38 39 48 49 50; do
		tidemark forget --unban "u$i@x.example" >/dev/null || return 1
		nowhere "u$i@x.example" || return 1
	done
}
check "many, one after the other, to the last byte" many_gone
check "the others stand" tidemark banned u06@x.example

# ---- it stays so -------------------------------------------------------------

gone_for_good()
{
	nowhere "u25@x.example" &&
	    same "$(grep -rhaoF -e "$bob" -e "not$bob" "$D/run" "$D/state" |
		grep -cv '^not')" 0 && knows_nothing "u25@x.example"
}
check "after the death of the collector" kill_collector
check "he is unknown" gone_for_good
daemon_stop
check "after a restart" daemon_start
check "he is unknown still" gone_for_good
check "without the live map" lose_map
check "he is unknown even so" gone_for_good
check "the archive is whole" tidemark restore --check \
    "$(tidemark backup "$D/b" >/dev/null && echo "$D/b")"

# ---- others than addresses ---------------------------------------------------

mail 2 external carl@far.example 192.0.2.77 >/dev/null
mail 2 external dora@far.example 192.0.2.78 >/dev/null
mail 1 internal x@far.example 192.0.2.78 erna >/dev/null
known() { tidemark bucket list | grep -q "$1"; }
check "some more mail" within 30 known dora@
check "a domain" tidemark forget @far.example
check "is gone" nowhere @far.example
check "a client" tidemark forget 192.0.2.77
check "is gone, too" knows_nothing 192.0.2.77
check "its neighbour is not" known '192.0.2.78'
check "an account" tidemark forget auth:erna
check "is gone as well" nowhere auth:erna
check "whoever is not known" exits 1 tidemark forget stranger@nowhere.example
check "allowances it may have from some network are said" \
    says '^left: allowances under' tidemark forget stranger@nowhere.example
check "nonsense" exits 2 tidemark forget nonsense
check "nobody in particular" exits 2 tidemark forget '<>'
check "everybody" exits 2 tidemark forget 0.0.0.0/0
check "one that the settings name" says '^left: .*configuration' \
    tidemark forget friend@x.example
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$D"
	chmod 666 "$D/run/control.sock"
	check "others may not" says 'may ask, but not change' exits 2 \
	    setpriv --reuid=65534 --regid=65534 --clear-groups \
	    "$B/tidemark" -c "$conf" forget eve@x.example
fi

# ---- a network, many bans, egress, long names --------------------------------

mail 2 external gus@near.example 198.18.7.20 >/dev/null
mail 2 external gus@near.example 198.18.7.21 >/dev/null
i=0
while [ $i -lt 70 ]; do
	tidemark ban "$(printf '198.18.7.1%02d' $i)" --for 5h
	i=$((i + 1))
done >/dev/null
check "clients of a network" within 30 known 198.18.7.21
check "its neighbour, too" tidemark ban 198.18.70.1 --for 5h
check "a denied server in it" tidemark egress deny add 198.18.7.200
check "whoever wrote from there, first" tidemark forget @near.example
check "a dry run counts each ban once" json '$r->{what} eq "bans" &&
	$r->{count} == 70' forget --dry-run 198.18.7.0/24
check "the network" json '$r->{what} eq "bans" && $r->{count} == 70' \
    forget --unban 198.18.7.0/24
check "nobody within it is in a file" nowhere 198.18.7.
check "its neighbour is" tidemark banned 198.18.70.1
check "what egress has is said" says '^left: .*egress deny del' \
    tidemark forget 198.18.7.200
long=$(printf '%088d@long.example' 0 | tr 0 w)
mail 1 external "$long" 192.0.2.1 >/dev/null
check "a name that was cut" within 30 known wwwwwwww
check "cannot be told from others, and that is said" \
    says '^left: .*too long' tidemark forget "$long"
check "by its key it goes" tidemark forget "$(tidemark bucket list --json |
	sed -n 's/.*"key":"\(wwww[^"]*\)".*/\1/p' | head -n 1)"

# ---- on a terminal -----------------------------------------------------------

# typed ANSWER COMMAND... - on a terminal, with that typed.
typed()
{
	answer=$1
	shift
	(sleep 0.7; echo "$answer"; sleep 1) |
	    script -qec "$B/tidemark -c $conf $*" /dev/null
}
if command -v script >/dev/null; then
	tidemark ban hal@x.example --for 5h >/dev/null
	check "a person is asked" says 'for good, and lift 1 ban made by hand?' \
	    typed n forget hal@x.example
	check "who was shown what goes" grep -q 'would go: 1 ban' "$D/said"
	check "and has said no" tidemark banned hal@x.example
	check "or yes" says 'gone: 1 ban' typed y forget hal@x.example
	check "then it is done" nowhere hal@x.example
	tidemark ban hal@x.example --for 5h >/dev/null
	check "or is not asked" exits 0 typed '' forget --yes --unban hal@x.example
fi

# ---- the collector killed on the way -----------------------------------------

# killed_after SECONDS - whatever it had done by then, asking again ends it.
killed_after()
{
	tidemark ban kim@x.example --for 5h --reason "kim@x.example" &&
	    tidemark except add kim@x.example || return 1
	mail 2 external kim@x.example 192.0.2.44
	tidemark checkpoint
	old=$(collector)
	(sleep "$1"; kill -9 "$old") &
	tidemark forget --unban kim@x.example
	rc=$?
	wait $!
	echo "exit status $rc"
	[ $rc -ne 2 ] || broken=$((broken + 1))
	within 30 collector_is_new "$old" || return 1
	tidemark forget --unban kim@x.example
	[ $? -le 1 ] && nowhere kim@x.example && tidemark audit
}
broken=0
for after in 0 0.03 0.06 0.1 0.15 0.25 0.4; do
	check "killed after $after s, and asked again" killed_after $after
done
echo "# $broken of 7 were cut short"
check "some were cut short" test "$broken" -ge 1

# ---- while mail of the same sender comes in ----------------------------------

printf 'From f Mon Mar  3 07:52:10 2025\nReturn-Path: <fast@x.example>\nTo: ann@example.org\nSubject: x\n\nx\n\n' \
	>"$D/fast"
"$FEED" -s "local:$D/run/internal.sock" -c 4 -n 0 --quiet --retry \
	--client 192.0.2.99 "$D/fast" >"$D/feed.out" 2>&1 &
feed_pid=$!
# Its bucket is soon one ban: whoever looks late meets that.
flows() { known fast@ || tidemark banned fast@x.example; }
check "mail flows" within 30 flows
again_and_again()
{
	n=0
	while [ $n -lt 10 ]; do
		tidemark forget fast@x.example
		[ $? -le 1 ] || return 1
		n=$((n + 1))
	done
}
check "forgotten while it flows, ten times" again_and_again
kill "$feed_pid" && wait "$feed_pid"
feed_pid=
idle() { [ "$(field workers)" -eq 0 ]; }
check "the last worker is gone" within 30 idle
tidemark forget fast@x.example >/dev/null
check "then once more, and it is gone" nowhere fast@x.example
check "nobody is stuck" no_epoch_stuck
check "the books are right" tidemark audit

daemon_stop
nobody_there()
{
	exits 2 tidemark forget fast@x.example 2>"$D/err" &&
		grep 'is tidemarkd running' "$D/err" &&
		lacks 'again' "$D/err"
}
check "without a daemon nothing is half done, and none is said to be" \
	nobody_there
tap_end
