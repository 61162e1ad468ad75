#!/bin/sh
# t_normalise - what tidemark normalise shows of a message and of an excerpt.
set -u
. tests/lib/tap.sh

B=${B:-build}
T=$B/tidemark

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

cat >"$dir/mail" <<'MAIL'
Subject: =?iso-8859-1?Q?Gr=FC=DFe?=
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: text/html; charset=iso-2022-jp
Content-Transfer-Encoding: base64

PGI+GyRCRnxLXBsoQjwvYj4gPGEgaHJlZj0iaHR0cHM6Ly94LmV4YW1wbGUvYSI+Z288L2E+
--B
Content-Type: message/rfc822

Subject: inner

Forwarded, with > quotes
--B
Content-Type: application/pdf; name=a.pdf
Content-Transfer-Encoding: base64

JVBERg==
--B--
MAIL

cat >"$dir/want" <<'WANT'
0 header «Subject»
grüsse
1 text text/html, depth 1
日本go
1 link text/html, depth 1
httpsxexamplea
2 header «Subject», depth 2
inner
3 text text/plain, depth 2
forwardedwithquotes
4 file application/pdf «a.pdf», depth 1, 4 bytes, kept as a digest
WANT

shows()
{
	"$T" normalise "$dir/mail" >"$dir/got" && diff "$dir/got" "$dir/want"
}

from_stdin()
{
	for arg in '' -; do
		# shellcheck disable=SC2086 # none or one
		"$T" normalise $arg <"$dir/mail" >"$dir/got" &&
			diff "$dir/got" "$dir/want" || return
	done
}

as_json()
{
	"$T" normalise --json "$dir/mail" >"$dir/json" &&
		same "$(grep -c '^{"version":1,.*}$' "$dir/json")" 7 &&
		grep -q '"kind":"text","content_type":"text/html","name":"","text":"日本go"' \
			"$dir/json" &&
		grep -q '"name":"a.pdf","bytes":4}' "$dir/json" &&
		same "$(tail -n 1 "$dir/json")" \
			'{"version":1,"type":"end","cut":""}'
}

excerpt()
{
	same "$("$T" normalise --text '> “Café”, FI­N')" '0 text text/plain
caféfin'
}

# A part past the cap: said, and the exit status 1.
cut_is_said()
{
	printf 'text_parts = 1\n' >"$dir/conf"
	exits 1 "$T" -c "$dir/conf" normalise "$dir/mail" >"$dir/got" &&
		grep -q 'not all of it was read, past the caps of: parts' \
			"$dir/got" &&
		exits 1 "$T" -c "$dir/conf" normalise --json "$dir/mail" \
			>"$dir/got" && grep -q '"cut":"parts"' "$dir/got"
}

misused()
{
	exits 2 "$T" normalise "$dir/nowhere" &&
		exits 2 "$T" normalise "$dir" &&
		exits 2 "$T" normalise "$dir/mail" "$dir/mail" &&
		exits 2 "$T" normalise --text x "$dir/mail" &&
		exits 2 "$T" normalise "$dir/mail" >/dev/full
}

# U+009B, U+202E and a raw 0x9b in the name of an attachment.
harmless()
{
	printf 'Content-Type: application/pdf; name="a\302\2332Jb\342\200\256c\233d"\n\nx\n' \
		>"$dir/evil"
	"$T" normalise "$dir/evil" >"$dir/got" &&
		! LC_ALL=C grep -q "$(printf '\302\233\|\342\200\256')" "$dir/got" &&
		grep -qF '2Jb?c' "$dir/got" &&
		"$T" normalise --json "$dir/evil" >"$dir/json" &&
		grep -qF '2Jb\u202ec' "$dir/json"
}

check "nothing that a terminal obeys" harmless
check "a message, part by part" shows
check "also from standard input" from_stdin
check "as JSON" as_json
check "an excerpt" excerpt
check "what a cap cut is said" cut_is_said
check "mistakes are errors" misused
tap_end
