#!/bin/sh
# t_spam.sh - reputation behind a real sendmail: listed senders and
# exceptions; a message that was reported is met again in another encoding,
# for another recipient, and with a few words changed; revoked, it passes;
# tags are put on, and forged ones taken off.
#
# $B is the build to test (build).
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "reputation behind sendmail" "$rig_why"
rig_start || exit 1
. tests/rig/tidemark.sh

# The dialogue of one message; FILE has its headers and body.
send()
{
	rig_send "$RIG_EXT" "$1" "$2" -- --data "@$3" >"$RIG/dialogue" 2>&1
}

passes()
{
	send "$@" || {
		cat "$RIG/dialogue"
		return 1
	}
}

# refused PATTERN FROM TO FILE
refused()
{
	pattern=$1
	shift
	send "$@"
	cat "$RIG/dialogue"
	grep -q "^<\*\* $pattern" "$RIG/dialogue"
}

# delivered TO - what the sink has of the last message to that address.
delivered()
{
	perl -00 -e '
		local $/;
		my @m = split /^(?=From )/m, <STDIN>;
		print((grep { /^X-Rig-To:.*\Q$ARGV[0]\E/m } @m)[-1]);
	' "$1" <"$RIG/mbox/sink"
}

has_header()
{
	delivered "$1" | grep -i "^$2"
}

lacks_header()
{
	delivered "$1" | grep -q '^X-Rig-To' &&
		! delivered "$1" | grep -i "^$2"
}

story='Dear customer, the parcel that you ordered last week could not be
delivered to your address because nobody was at home when our driver rang.
Please confirm your payment details within three days at the usual place, or
we will have to send it back to the sender at your own expense. If you have
already paid the fee, ignore this notice and wait for the courier, who will
come between eight and noon on the next working day. We regret any delay that
the weather of the past days may have caused and thank you for your patience.
Kind regards from everybody in the delivery team of the northern district.'

# message FILE TO TEXT [base64 WIDTH]
message()
{
	{
		printf 'From: x@from.test\nTo: %s\nSubject: parcel\n' "$2"
		printf 'X-Tidemark-Spam: forged\nMIME-Version: 1.0\n'
		printf 'Content-Type: text/plain; charset=utf-8\n'
		if [ "${4:-}" = base64 ]; then
			printf 'Content-Transfer-Encoding: base64\n\n'
			printf '%s\n' "$3" | base64 -w "$5"
		else
			printf '\n%s\n' "$3"
		fi
	} >"$1"
}

message "$RIG/plain" alice@mx.rig.test "$story
This was sent to alice@mx.rig.test."
message "$RIG/wide" alice@mx.rig.test "$story
This was sent to alice@mx.rig.test." base64 76
message "$RIG/narrow" bob@mx.rig.test "$story
This was sent to BOB@MX.rig.test." base64 32
message "$RIG/near" bob@mx.rig.test "$(printf '%s' "$story" | sed \
	's/parcel/packet/; s/driver/boy/; s/expense/cost/; s/noon/one/')"
message "$RIG/other" alice@mx.rig.test "The gardening club meets on the first
of May at the town hall, as every year; bring cake, seeds and good weather,
and tell the treasurer whether you can lend a hand with the new greenhouse."

settings "spam_reports = 500" "spam_mode = enforce;addresses_mode = enforce" ""
check "starts" launch

# ---- addresses -------------------------------------------------------------

printf '# a list\nlisted@from.test\n@bad.test\n' >"$RIG/list"
check "before there is a list it passes" passes listed@from.test \
	alice@mx.rig.test "$RIG/other"
check "a list is loaded" tidemark addresses load "$RIG/list"
check "a listed address is refused" refused \
	'550 5.7.1 .*Your address is on a list of spam senders' \
	listed@from.test alice@mx.rig.test "$RIG/other"
check "in any spelling" refused 550 Listed+x@FROM.test alice@mx.rig.test \
	"$RIG/other"
check "so is a listed domain" refused 550 any@bad.test alice@mx.rig.test \
	"$RIG/other"
check "postmaster can be written to" passes listed@from.test \
	postmaster@mx.rig.test "$RIG/other"
check "others pass" passes good@from.test alice@mx.rig.test "$RIG/other"
check "an exception" tidemark except add listed@from.test --reason known
check "lets it pass" passes listed@from.test alice@mx.rig.test "$RIG/other"
check "for that address alone" refused 550 any@bad.test alice@mx.rig.test \
	"$RIG/other"
check "a domain is excepted" tidemark except add @bad.test
check "and passes" passes any@bad.test alice@mx.rig.test "$RIG/other"
check "the exception ends" tidemark except del listed@from.test
check "refused again" refused 550 listed@from.test alice@mx.rig.test \
	"$RIG/other"
check "the other daemon has its own settings" rig_send "$RIG_INT" \
	listed@from.test alice@mx.rig.test

# ---- spam ------------------------------------------------------------------

check "before it is reported it passes" passes a@from.test \
	alice@mx.rig.test "$RIG/wide"
check "and is delivered" within 20 has_header alice@sink.test \
	'From a@from.test'
delivered alice@sink.test >"$RIG/as-delivered"
check "reported as it was delivered" sh -c \
	"$B/tidemark -c $conf spam report <$RIG/as-delivered"
check "it is refused" refused '550 5.7.1 This message was reported as spam' \
	a@from.test alice@mx.rig.test "$RIG/wide"
check "not encoded, too" refused '550 5.7.1 This' a@from.test \
	alice@mx.rig.test "$RIG/plain"
check "with another wrapping and another recipient, too" \
	refused '550 5.7.1 This' b@from.test bob@mx.rig.test "$RIG/narrow"
check "as the same text" grep 'from=<b@from.test>.*reason=spam.*spam=text' \
	"$log"
check "and with a few words changed" refused '550 5.7.1 This' \
	c@from.test bob@mx.rig.test "$RIG/near"
check "as a near copy" grep 'from=<c@from.test>.*reason=spam.*spam=near' \
	"$log"
check "other mail passes" passes a@from.test alice@mx.rig.test "$RIG/other"
check "and loses a forged tag, though nobody tags" within 20 \
	lacks_header alice@sink.test 'X-Tidemark-Spam: forged'

settings "spam_reports = 500" "spam_mode = enforce;spam_action = tag" ""
check "tag instead" tidemark reload
check "it passes" passes d@from.test bob@mx.rig.test "$RIG/narrow"
check "with a header" within 10 has_header bob@sink.test \
	'X-Tidemark-Spam: text'
check "and without the forged one" lacks_header bob@sink.test \
	'X-Tidemark-Spam: forged'
check "other mail passes" passes d@from.test alice@mx.rig.test "$RIG/other"
check "and loses its forged header" within 10 lacks_header alice@sink.test \
	'X-Tidemark-Spam'

settings "spam_reports = 500" "spam_mode = enforce" ""
check "refuse again" tidemark reload
check "so it is" refused '550 5.7.1 This' b@from.test bob@mx.rig.test \
	"$RIG/narrow"
check "revoked" tidemark spam revoke "$RIG/narrow"
check "it passes" passes e@from.test bob@mx.rig.test "$RIG/narrow"
check "to the first recipient, too" passes e@from.test alice@mx.rig.test \
	"$RIG/wide"
check "and its near copies" passes e@from.test bob@mx.rig.test "$RIG/near"
tap_end
