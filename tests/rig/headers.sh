# headers.sh - where do a filter's headers arrive, and an outsider's?  Source it
# when a rig runs whose MTA-ext has other.sock first, then external.sock, on
# which nobody listens yet.
#
# The answer is the reason for content_blocked_mark: what a filter adds stands
# last, or, in sendmail, before all others of its name; what it inserts stands
# first; the mail server's own Received: is not shown.  An outsider can write
# any of these places, so places prove nothing.
# shellcheck shell=sh

# shellcheck disable=SC2034 # for those who source it
marked='content_blocked_header = X-Spam-Flag:YES X-Tidemark-Verdict:blocked'
marked="$marked;content_blocked_mark = k7Qf2mP9"

cat >"$RIG/forged" <<'MAIL'
X-Spam-Flag: YES forged
Received: from far.example by relay.example; Wed, 18 Nov 2026 06:00:00 +0000
Date: Wed, 18 Nov 2026 06:00:00 +0000
From: x@from.test
To: alice@mx.rig.test
Message-ID: <1@from.test>
Subject: whatever
X-Spam-Flag: YES forged

Text.
MAIL

# forge FROM - as an outsider, with headers that a filter might have written.
forge()
{
	rig_send "$RIG_EXT" "$1" alice@mx.rig.test -- --data "@$RIG/forged"
}

# seen FROM - names of the headers of its message, as the second filter got
# them, and F for a forged flag, M for a marked one.
seen()
{
	awk -v from="from=<$1>" '
		/ stage=mail / { mine = index($0, from) > 0 }
		mine && / stage=header / {
			sub(/.* name=/, ""); name = $1
			if (name == "X-Spam-Flag")
				name = /forged/ ? "F" : "M"
			printf "%s%s", sep, name; sep = " "
		}' "$RIG/second.log"
}

# headers_arrive sendmail | Postfix
headers_arrive()
{
	head='F Received Date From To Message-ID Subject F'
	added="$head X-Other M X-Tidemark-Verdict"
	[ "$1" != sendmail ] || added="M $head X-Other X-Tidemark-Verdict"
	# shellcheck disable=SC2154 # rig.sh has it
	rig_spawn second "$rig_build/other" "$RIG/run/external.sock" \
		"$RIG/second.log" headers
	within 30 test -S "$RIG/run/external.sock"
	chmod 666 "$RIG/run/external.sock"
	check "a second filter stands in Tidemark's place" \
		forge marks-1@from.test
	check "where $1 has what a filter adds" \
		same "$(seen marks-1@from.test)" "$added"
	check "another message" forge inserts-1@from.test
	check "what it inserts stands first" \
		same "$(seen inserts-1@from.test)" \
		"X-Tidemark-Verdict M $head X-Other"
	check "the mail server's own Received: is not shown" \
		lacks 'name=Received .*mx.rig.test' "$RIG/second.log"
	rig_end second
	rm -f "$RIG/run/external.sock"
}
