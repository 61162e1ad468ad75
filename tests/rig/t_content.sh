#!/bin/sh
# t_content.sh - headers and bodies through a real sendmail: read where a
# profile has a reader, cut where a cap is, and sendmail told to stop; where
# headers of another filter arrive.
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "sendmail with Tidemark" "$rig_why"
rig_start || exit 1
. tests/rig/tidemark.sh

# reads UP-TO - text_total_bytes; only the external profile reads.
reads()
{
	settings "log_level = debug;text_total_bytes = $1;memory = off" \
		"text_log = yes" ""
}

logged()
{
	grep -q -e "$1" "$log" || { tail -n 20 "$log"; return 1; }
}

# Nothing of it was left undelivered or spoilt on its way.
delivered()
{
	grep -q -e "$1" "$RIG/mbox/sink"
}

cat >"$RIG/mail" <<'MAIL'
From: ann@example.org
To: bob@mx.rig.test
Subject: =?iso-2022-jp?B?GyRCRnxLXBsoQg==?=
 folded
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_x"

--=_x
Content-Type: text/plain; charset=utf-8

Hello there, reader
--=_x
Content-Type: application/pdf; name=a.pdf
Content-Transfer-Encoding: base64

JVBERg==
--=_x--
MAIL
{
	printf 'From: ann@example.org\nSubject: large one\n\n'
	yes 'sixty-two letters and blanks in a line so that sizes come out!' |
		head -n 30000
	echo the very last line
} >"$RIG/large"

send()
{
	rig_send "$1" ann@example.org bob@mx.rig.test -- --data "@$2"
}

# shellcheck source=tests/rig/headers.sh
. tests/rig/headers.sh
headers_arrive sendmail

reads 64M
check "Tidemark starts" launch
check "a message passes" send "$RIG_EXT" "$RIG/mail"
check "its Subject was read" within 30 logged \
	'part=0 kind=header .* name=Subject letters=12 '
check "its text was read" logged \
	'part=1 kind=text depth=1 type=text/plain .* letters=16 '
check "its file was read" logged 'part=2 kind=file .* name=a.pdf bytes=4'
check "and it is delivered" within 60 delivered 'Hello there, reader'
check "a large one passes" send "$RIG_EXT" "$RIG/large"
check "all of it was read" within 30 logged 'kind=text .* letters=1470015 '
check "it is delivered whole" within 60 delivered 'the very last line'
check "nothing was cut" lacks 'cut=' "$log"
check "nor was sendmail told to stop" lacks 'no more of the body' "$log"

# Nobody reads what comes through the other daemon.
parts=$(grep -c part= "$log")
check "mail through the other daemon passes" send "$RIG_INT" "$RIG/mail"
check "and is seen" within 30 logged 'profile=internal .*verdict=accept'
check "but not read" same "$(grep -c part= "$log")" "$parts"

reads 100K
check "a low cap is taken over" tidemark reload
: >"$RIG/mbox/sink"
check "a large one passes again" send "$RIG_EXT" "$RIG/large"
check "the log says what was cut" within 30 logged 'verdict=accept .*cut=total'
check "that much was read" logged 'kind=text .* letters=78400 '
check "sendmail was told once to send no more, and did not" \
	same "$(grep -c 'no more of the body' "$log")" 1
check "it is delivered whole all the same" \
	within 60 delivered 'the very last line'
check "the next message on a fresh connection is not cut" \
	send "$RIG_EXT" "$RIG/mail"
check "none but one was cut" within 30 same "$(grep -c 'cut=total' "$log")" 1

# ---- the verdict of a filter before us ---------------------------------------

: >"$RIG/mbox/sink"
settings "memory = off" "$marked;cbsender_mode = dry-run" ""
check "a mark is taken over" tidemark reload
for how in marks inserts; do
	check "a message that the filter $how" forge "$how-2@from.test"
	check "is blocked by its mark" within 30 logged \
		"from=<$how-2@.*verdict=accept .*content=blocked"
done
check "a forged one passes" forge forger@from.test
check "and is only flagged" within 30 logged \
	'from=<forger@.*verdict=accept .*content=flagged'
check "they are delivered" within 60 delivered '^From forger@from.test'
check "a header of our name is taken off, with its mark" \
	lacks 'X-Tidemark-Verdict' "$RIG/mbox/sink"
tap_end
