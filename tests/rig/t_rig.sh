#!/bin/sh
# t_rig.sh - the rig itself: what the tests against it take for granted.
#
# Stand-ins (tests/rig/other.c) sit on Tidemark's two sockets, so a failure
# here is the rig's, not the product's.
#
# alone: a storm of 200 connections
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "the sendmail rig" "$rig_why"
rig_start || exit 1

delivered()
{
	grep -q "^X-Rig-To:.* *$1" "$RIG/mbox/sink"
}

# first LOG LOG KEYS - when the first log has the line's mono_ns below the
# second's; each line is found by its KEYS, a basic regular expression.
first()
{
	a=$(grep -m1 -e "$3" "$1" | sed 's/.*mono_ns=\([0-9]*\).*/\1/')
	b=$(grep -m1 -e "$3" "$2" | sed 's/.*mono_ns=\([0-9]*\).*/\1/')
	echo "$1: $a; $2: $b"
	[ -n "$a" ] && [ -n "$b" ] && [ "$a" -lt "$b" ]
}

# replies COUNT PATTERN COMMAND... - the dialogue has so many such replies.
replies()
{
	count=$1 pattern=$2
	shift 2
	"$@" >"$RIG/dialogue"
	cat "$RIG/dialogue"
	same "$(grep -c "^<.. $pattern" "$RIG/dialogue")" "$count"
}

check "without Tidemark MTA-ext fails open" \
	rig_send "$RIG_EXT" early@from.test x@sink.test
check "without Tidemark MTA-int says 451" replies 1 451 \
	rig_send "$RIG_INT" early@from.test x@sink.test

rig_spawn ext "$rig_build/other" "$RIG/run/external.sock" "$RIG/ext.log"
rig_spawn int "$rig_build/other" "$RIG/run/internal.sock" "$RIG/int.log"
within 30 test -S "$RIG/run/external.sock"
within 30 test -S "$RIG/run/internal.sock"

check "mail is delivered" \
	rig_send "$RIG_EXT" one@from.test alice@mx.rig.test far@away.test
check "an alias ends in the sink" within 30 delivered alice@sink.test
check "so does another domain" within 30 delivered far@away.test
check "on MTA-ext the other filter is first" \
	first "$RIG/other.log" "$RIG/ext.log" 'stage=mail.*from=<one@'

check "an unknown user is refused, the others are not" \
	replies 1 '550 5.1.1' rig_send "$RIG_EXT" two@from.test \
	nosuchuser@mx.rig.test bob@mx.rig.test
check "filters see the unknown user as such" grep \
	'to=<nosuchuser@.*rcpt_mailer=error rcpt_host=5.1.1' "$RIG/ext.log"

for mech in PLAIN LOGIN CRAM-MD5; do
	check "AUTH $mech on MTA-int" replies 1 235 \
		rig_send "$RIG_INT" "$mech@from.test" x@sink.test -- \
		--auth "$mech" --auth-user carol --auth-password secret
	check "filters see who authenticated by $mech" \
		grep "from=<$mech@from.test> auth=carol" "$RIG/int.log"
done
check "a wrong password is refused" fails \
	rig_send "$RIG_INT" mallory@from.test x@sink.test -- \
	--auth PLAIN --auth-user carol --auth-password wrong
check "on MTA-ext there is no AUTH" fails \
	rig_send "$RIG_EXT" ext@from.test x@sink.test -- \
	--auth PLAIN --auth-user carol --auth-password secret
check "on MTA-int the other filter is last" \
	first "$RIG/int.log" "$RIG/other.log" 'stage=mail.*from=<PLAIN@'

check "the other filter refuses on MTA-ext" replies 1 550 rig_send \
	"$RIG_EXT" e@from.test other-refuses-ext@sink.test x@sink.test
check "before the next one sees it" lacks other-refuses-ext "$RIG/ext.log"
replies 1 550 rig_send "$RIG_INT" i@from.test other-refuses-int@sink.test \
	x@sink.test >/dev/null
check "on MTA-int Tidemark's place sees what the other refuses" \
	grep 'to=<other-refuses-int@' "$RIG/int.log"

for port in "$RIG_EXT" "$RIG_INT"; do
	check "200 connections at once on port $port" \
		"$rig_build/smtpstorm" -c 200 -m 2 -f "storm$port" "$port"
done

tap_end
