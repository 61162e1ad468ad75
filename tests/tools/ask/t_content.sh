#!/bin/sh
# t_content - headers and bodies reach the worker's text pipeline, if a profile
# reads them, and what a cap cut off is said and counted.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

cat >"$D/box" <<'MBOX'
From ann@example.org Mon Nov 16 12:00:00 2026
From: ann@example.org
To: bob@example.net
Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=
Content-Type: multipart/mixed;
	boundary="two parts"

--two parts
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<a href=3D"https://x.example/">caf=C3=A9</a>
--two parts
Content-Type: application/pdf; name="a b.pdf"
Content-Transfer-Encoding: base64

JVBERg==
--two parts--
MBOX

# large LINES - the same to a larger text, 64 bytes a line
large()
{
	cat <<-'END'
		From ann@example.org Mon Nov 16 12:00:00 2026
		From: ann@example.org
		To: bob@example.net
		Subject: large

	END
	yes 'sixty-two letters and blanks in a line so that sizes come out!' |
		head -n "$1"
}

send()
{
	"$FEED" -s "local:$D/run/external.sock" "$@" >"$D/feed.out" 2>&1 ||
		{ cat "$D/feed.out"; return 1; }
}

logged()
{
	grep -q -e "$1" "$D/log" || { tail -n 20 "$D/log"; return 1; }
}

# what memory holds has caps of its own
profile='memory = off
[profile external]'
sock="socket = local:$D/run/external.sock"

# ---- nobody reads ------------------------------------------------------------

daemon_conf "$profile" "$sock"
check "starts" daemon_start
check "a message passes" send "$D/box"
check "nobody reads it" lacks 'part=' "$D/log"

# ---- a profile that reads ----------------------------------------------------

daemon_conf "$profile" "$sock" 'text_log = yes'
check "text_log is taken over" tidemark reload
check "the next message passes" send "$D/box"
check "its Subject was read" within 30 logged \
	': part=0 kind=header depth=0 type=- name=Subject letters=7 links=0'
check "its text was read" logged \
	': part=1 kind=text depth=1 type=text/html name=- letters=5 links=1'
check "its file was read" logged \
	': part=2 kind=file depth=1 type=application/pdf name=a?b.pdf bytes=4'
check "nothing was cut" lacks 'cut=' "$D/log"
check "nor counted" same "$(counter messages_cut)" 0

# ---- caps --------------------------------------------------------------------

# 300 KB, in chunks; the mail server is asked to stop after the first.
large 5000 >"$D/large"
daemon_conf 'text_total_bytes = 1K' 'text_parts = 2' "$profile" "$sock" \
	'text_log = yes'
check "caps are taken over" tidemark reload
check "a larger message passes" send "$D/large"
check "the log says what was cut" within 30 logged 'verdict=accept.* cut=total$'
check "just that much was read" logged \
	'part=1 kind=text .* letters=[78][0-9][0-9] '
check "the next, with too many parts, passes" send "$D/box"
check "and is told from it" within 30 logged 'cut=parts$'
check "both are counted" within 30 same "$(counter messages_cut)" 2
check "no worker died" same "$(counter workers_crashed)" 0

# Without replies to chunks: all of it comes, and passes.
daemon_conf 'text_total_bytes = 5M' "$profile" "$sock" 'text_log = yes'
check "a higher cap is taken over" tidemark reload
large 100000 >"$D/large"
check "more than that passes" send "$D/large"
check "and says so" within 30 logged 'part=1 kind=text .* letters=40[0-9]*'
check "it is counted, too" within 30 same "$(counter messages_cut)" 3
tap_end
