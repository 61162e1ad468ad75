#!/bin/sh
# t_addresses.sh - the list of spam addresses and its exceptions by the
# postmaster's commands, on a daemon at work: load, add, del, test, merge,
# check-against; what is acknowledged survives kill -9 and the loss of the map.
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# mail FROM [TO] - one message; feed's tally is in $D/mail.out.
mail()
{
	printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\nFrom: %s\nTo: %s\nSubject: x\n\nx\n\n' \
	    "$1" "$1" "$1" "${2:-ann@example.org}" >"$D/box"
	"$FEED" -s "local:$D/run/external.sock" -n 1 --client 192.0.2.7 \
	    --quiet "$D/box" >"$D/mail.out" 2>&1
	cat "$D/mail.out"
}

passes()
{
	mail "$@" && [ "$(of rejected "$D/mail.out")" -eq 0 ] &&
	    [ "$(of acked "$D/mail.out")" -eq 1 ]
}

refused()
{
	mail "$@"
	[ "$(of rejected "$D/mail.out")" -eq 1 ]
}

is_listed()
{
	exits 0 tidemark addresses test "$@"
}

not_listed()
{
	exits 1 tidemark addresses test "$@"
}

plain='addresses_capacity = 20000'
on='addresses_mode = enforce'

daemon_conf "$plain" '[profile external]' "$on"
check "starts" daemon_start

# ---- loading -------------------------------------------------------------

cat >"$D/list" <<EOF
# spam addresses
spam@bad.example
  Spam.Two@BAD.example	# with a comment
<brackets@bad.example>
tagged+one@bad.example

@wholly.example
SRS0=abcd=TT=orig.example=bob@forwarder.example
not an address
bare.example
EOF
check "nothing is listed yet" not_listed spam@bad.example
check "a list is loaded" says "6 addresses" tidemark addresses load "$D/list"
check "lines that are none are named" says "list:9: .*no address" \
    tidemark addresses load "$D/list"
check "an address is listed" is_listed spam@bad.example
check "in any spelling" is_listed '<SPAM+x@Bad.Example>'
check "the tag of an entry does not matter" is_listed tagged@bad.example
check "a domain is listed" says 'as @wholly.example' \
    tidemark addresses test anyone@wholly.example
check "a rewritten entry lists who it was" is_listed bob@orig.example
check "not the forwarder" not_listed srs@forwarder.example
check "nor anybody else" not_listed ann@example.org
check "nor the bare word" not_listed x@bare.example
check "one load replaces the list" sh -c "echo other@bad.example |
    $B/tidemark -c $conf addresses load -"
check "the new one is there" is_listed other@bad.example
check "the old one is not" not_listed spam@bad.example
perl -e 'print "user$_\@many.example\n" for 1..21000' >"$D/many"
check "a list that is too large is refused by the setting's name" \
    says 'addresses_capacity' tidemark addresses load "$D/many"
check "and changes nothing" is_listed other@bad.example
check "a file that is not there" exits 2 tidemark addresses load "$D/none"
check "statistics" says '1 of 20000' tidemark addresses stats
check "statistics for programs" says '"addresses":1,' \
    tidemark addresses stats --json
tidemark addresses load "$D/list" >/dev/null 2>&1

# ---- in the way of mail --------------------------------------------------

check "listed mail is refused" refused spam@bad.example
check "the reply says why" says 'reason=listed listed=spam@bad.example' \
    grep listed "$D/log"
check "postmaster can be written to" passes spam@bad.example \
    postmaster@example.org
check "others pass" passes ann@example.net
check "counted" test "$(counter addresses_listed)" -ge 2
check "why knows" says 'reason=listed' tidemark why spam@bad.example

check "why says that it is listed" says 'on the list of spam addresses' \
    tidemark why spam@bad.example

# ---- exceptions ----------------------------------------------------------

check "an exception" tidemark except add spam@bad.example --reason "a friend"
check "lets it pass" passes spam@bad.example
check "and shows" says 'spam@bad.example .*a friend' tidemark except list
check "the list still has it, and says so" says 'but an exception' \
    tidemark addresses test spam@bad.example
check "a domain is excepted" tidemark except add wholly.example
check "for everybody in it" passes any@wholly.example
check "no control characters get in" tidemark except add x@y.example \
    --reason "$(printf 'a\033[2Jb')"
check "nor out" sh -c "! $B/tidemark -c $conf except list | grep -q '\[2J' ||
    $B/tidemark -c $conf except list | grep -q '?\[2J'"
check "what is no address is refused" exits 1 tidemark except add 'a b'
check "an exception ends" tidemark except del spam@bad.example
check "and is refused again" refused spam@bad.example
check "an exception that is not there" exits 1 tidemark except del no@no.example

# ---- check-against -------------------------------------------------------

printf 'good@example.org\nspam@bad.example\n' >"$D/good"
check "check-against finds them" exits 1 tidemark addresses check-against \
    "$D/good"
check "and names them" says '^spam@bad.example' tidemark addresses \
    check-against "$D/good"
check "--except makes exceptions" tidemark addresses check-against --except \
    "$D/good"
check "which hold" passes spam@bad.example
check "and are known the next time" says '1 excepted before' \
    tidemark addresses check-against "$D/good"
perl -e 'print "user$_\@many.example\n" for 1..60' >"$D/sixty"
tidemark addresses load "$D/sixty" >/dev/null
check "many at once" tidemark addresses check-against --except "$D/sixty"
check "all of them" test "$(tidemark except list | grep -c many.example)" -eq 60

# ---- single addresses, and what survives ---------------------------------

check "one more" says 'now on the list' tidemark addresses add late@bad.example
check "twice is once" says 'already' tidemark addresses add late@bad.example
check "is refused" refused late@bad.example
check "del is refused, by the setting's name" says 'addresses_form' \
    tidemark addresses del late@bad.example
check "del exits 1" exits 1 tidemark addresses del late@bad.example
check "the collector is killed" kill_collector
check "everything is there" is_listed late@bad.example user7@many.example
check "the map is lost" lose_map
check "the list is there" refused late@bad.example
check "so are the exceptions" passes user7@many.example
check "all of them, still" test "$(tidemark except list |
    grep -c many.example)" -eq 60

# ---- merge, export -------------------------------------------------------

check "export" sh -c "$B/tidemark -c $conf addresses export >$D/exported"
echo only@bad.example >"$D/only"
tidemark addresses load "$D/only" >/dev/null
check "the old ones are gone" not_listed late@bad.example
check "merge" says 'about 62 addresses' tidemark addresses merge "$D/exported"
check "unites them" is_listed late@bad.example
check "with those that were there" is_listed only@bad.example
head -c 5000 "$D/exported" >"$D/cut"
check "a truncated list is refused" says truncated \
    tidemark addresses merge "$D/cut"
perl -0777 -pe 's/(.{20000})./$1\x55/s' "$D/exported" >"$D/spoilt"
check "a damaged one is refused" says damaged tidemark addresses merge \
    "$D/spoilt"
check "what is no list is refused" says 'no list' tidemark addresses merge \
    "$D/many"
check "a full disk is noticed" sh -c "! $B/tidemark -c $conf addresses export \
    >/dev/full"

# ---- other sizes, the counting form --------------------------------------

daemon_stop
daemon_conf "$plain" 'addresses_form = counting' '[profile external]' "$on" \
    'addresses_action = tempfail'
check "starts with another form" daemon_start
check "the stored list does not fit, and that is said" says 'load it again' \
    grep addresses "$D/log"
check "nothing is listed" not_listed late@bad.example
check "a list of another form is refused" says 'addresses_form' \
    tidemark addresses merge "$D/exported"
cat "$D/sixty" "$D/sixty" >"$D/twice"
check "a list with duplicates" says '60 addresses' tidemark addresses load \
    "$D/twice"
tidemark except del user9@many.example >/dev/null
check "listed" is_listed user9@many.example
check "taken out" says 'taken out' tidemark addresses del user9@many.example
check "is out at once" not_listed user9@many.example
check "others stay" sh -c "$B/tidemark -c $conf addresses stats |
    grep -q '^addresses   59 of'"
check "what is not there cannot be taken out" exits 1 tidemark addresses del \
    user9@many.example
check "back again" tidemark addresses add user9@many.example
mail user9@many.example >/dev/null
check "for now" says 'verdict=tempfail reason=listed' tail -n 1 "$D/log"
check "out again" tidemark addresses del user9@many.example
check "passes" passes user9@many.example
check "the map is lost once more" lose_map
check "out is out" not_listed user9@many.example
check "in is in" says 'on the list' tidemark addresses test user8@many.example

# ---- dry-run, rights, reload ---------------------------------------------

tidemark except del user8@many.example >/dev/null
sed -i 's/^addresses_mode.*/addresses_mode = dry-run/' "$conf"
check "dry-run by reload" tidemark reload
check "lets it pass" passes user8@many.example
check "but says so" says 'verdict=accept .*listed=user8@many.example' \
    tail -n 1 "$D/log"

if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$D" "$D/run"
	chmod 666 "$D/run/control.sock"
	check "who may only ask may not change" sh -c "
	    setpriv --reuid 65534 --clear-groups perl -MIO::Socket::UNIX -e '
	    \$s = IO::Socket::UNIX->new(Peer => q($D/run/control.sock))
		or die \$!;
	    for my \$v (qw(addresses-install addresses-add addresses-del
		except-add except-del)) {
		print \$s qq(\$v key=a\@b.example bytes=1\n);
		my \$l = <\$s>; \$l =~ /^err text=you%20may/ or die \$l;
	    }'"
else
	skip "who may only ask may not change" "only root becomes another"
fi
tap_end
