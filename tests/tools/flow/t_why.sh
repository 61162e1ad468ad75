#!/bin/sh
# t_why - why, tail and replay, over a daemon that has just refused somebody.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

sender=hanna.bjork@harbour.example
key="$sender|192.0.2.0/24"

daemon_conf "max_decisions = 64" \
	"[profile external]" "socket = local:$D/run/external.sock" \
	"oksender_mode = enforce" "oksender_limit = 10/1h" \
	"oksender_leak = 15min" "okip_mode = dry-run"
sed -n '1,/^Hanna$/p' tests/demo/sample.mbox >"$D/one.mbox"

# one N - so many messages of that sender.
one()
{
	"$FEED" -s "local:$D/run/external.sock" -n "$@" "$D/one.mbox"
}

# why WORD... - to $D/why; its exit status.
why()
{
	tidemark why "$@" >"$D/why"
}

# says WORD TEXT - the answer about the word holds the text.
says()
{
	why "$1"
	grep -F -- "$2" "$D/why" >/dev/null || {
		cat "$D/why"
		return 1
	}
}

# of_type TYPE - how many records of it are in $D/why.
of_type()
{
	grep -c "^{\"version\":1,\"type\":\"$1\"," "$D/why"
}

json_holds()
{
	why "$1" --json &&
		perl -MJSON::PP -ne 'decode_json($_)' "$D/why" || return
	shift
	for pair; do
		same "$pair: $(of_type "${pair%=*}")" "$pair: ${pair#*=}" ||
			return
	done
}

check "a daemon starts" daemon_start || exit 1

# ---- nothing yet -------------------------------------------------------------

check "nothing is known at first" exits 1 why "$sender"
check "and that is said" grep "Nothing is known of $sender" "$D/why"
check "no decision yet, says the ring" grep "No decision" "$D/why"
check "tail --once of nothing" exits 0 tidemark tail --once
check "why wants one word" exits 2 tidemark why
check "a full disk is noticed" fails sh -c \
	"'$B/tidemark' -c '$conf' why x >/dev/full"

# ---- filling -----------------------------------------------------------------

one 1 >/dev/null
check "an address is found with its network" within 30 says "$sender" \
	"$key in OKSENDER of profile external: 1 of 6"
one 4 >/dev/null
check "the level rises" within 30 says "$sender" "external: 5 of 6"
check "when it is empty" grep "each 15min; empty in 1 h 1[45] min" "$D/why"
check "what the next message meets" grep "1 more message would" "$D/why"
check "no ban stands" grep "No ban stands against" "$D/why"
check "the client has a bucket of its own" says 192.0.2.25 \
	"192.0.2.25 in OKIP of profile external"
check "dry-run is told" grep "dry-run: only counted" "$D/why"
check "exits 0 if something is known" exits 0 why 192.0.2.25
check "letter case and tags do not matter" says \
	Hanna.Bjork+x@HARBOUR.example "$key in OKSENDER"
check "the whole domain" says @harbour.example "$key in OKSENDER"
check "the key as it stands in a log" says "$key" "$key in OKSENDER"
check "another sender is another matter" exits 1 why anna@harbour.example
one 1 >/dev/null
check "full: the next one overflows" within 30 says "$sender" \
	"full: the next message overflows it"

# ---- refused -----------------------------------------------------------------

one 1 --qid-prefix OVER >"$D/feed"
check "the seventh is refused" same "$(of rejected "$D/feed")" 1
check "the ban and its cause" within 30 says "$sender" "$key is banned"
check "with its group" grep "OKSENDER overflowed: too many messages" "$D/why"
one 1 --qid-prefix BANNED >/dev/null
check "refusals at RCPT are in the ring" within 30 says "$sender" \
	"stage=rcpt client=192.0.2.25 sender=$key rcpts=0 verdict=reject reason=banned"

qid=$(sed -n 's/.*: \(OVER[^:]*\): .*reason=OKSENDER.*/\1/p' "$D/log")
sid=$(sed -n 's/.*: BANNED.* session=\([^ ]*\) .*/\1/p' "$D/log")
check "the log has queue id and session" test -n "$qid" -a -n "$sid"
check "a queue id explains its message" says "$qid" \
	"$qid: profile=external stage=eom"
check "and its sender's ban" grep "$key is banned" "$D/why"
check "a session id does" says "$sid" "$sid BANNED"
check "how far back the ring reaches" grep "known since .*the last 8 of 8" \
	"$D/why"
check "as JSON" json_holds "$sender" ban=1 bucket=1 decision=8 ring=1

# ---- tail --------------------------------------------------------------------

check "tail shows the last" same \
	"$(tidemark tail --once -n 3 | wc -l)" 3
check "tail filters" same \
	"$(tidemark tail --once -n 64 --filter reason=banned | wc -l)" 1
"$B/tidemark" -c "$conf" tail --json -n 1 >"$D/tail" 2>&1 &
tail_pid=$!
followed()
{
	same "$(grep -c '"type":"decision"' "$D/tail")" "$1"
}
check "tail begins with the last" within 30 followed 1
one 20 >/dev/null
check "tail follows" within 30 followed 21

# Stopped, it is lapped: 64 are kept of 200.
kill -STOP "$tail_pid"
one 200 -c 4 >/dev/null
kill -CONT "$tail_pid"
missed()
{
	perl -MJSON::PP -ne '$r = decode_json($_);
		$r->{type} eq "missed" ? ($n += $r->{count}) : $n++;
		END { exit($n == 221 ? 0 : 1) }' "$D/tail" &&
		grep -q '"type":"missed"' "$D/tail"
}
check "lapped, it says how many it missed" within 30 missed
kill "$tail_pid"
check "a signal ends it in good order" wait "$tail_pid"
check "the ring holds 64" says "$sender" "the last 64 of 228"

# ---- one message, many recipients --------------------------------------------

sed 's/^To: .*/To: a@example.org, b@example.org, c@example.org/' \
	"$D/one.mbox" >"$D/three.mbox"
"$FEED" -s "local:$D/run/external.sock" -n 1 --qid-prefix THREE \
	"$D/three.mbox" >/dev/null
once()
{
	why "$sender" &&
		same "$(grep -c THREE "$D/why")" 1 &&
		grep 'THREE.* reason=banned .*(3 times)$' "$D/why" &&
		same "$(grep -c verdict= "$D/why")" 20
}
check "what was refused thrice is told once" within 30 once
check "to programs, each by itself" json_holds "$sender" decision=20

# ---- replay ------------------------------------------------------------------

daemon_stop
i=0
while [ $i -lt 60 ]; do
	for n in 1 2 3 4 5 6 7 8 9; do
		echo "2026-11-16T10:$((i / 10))$((i % 10)):0${n}Z" \
			"tidemark-milter[1]: Q$i$n: profile=external" \
			"daemon=x client=198.51.100.$n auth=-" \
			"from=<u$n@example.net> rcpts=$((i % (n * 6) == 0))" \
			"unknown=0 refused=0"
	done
	echo "2026-11-16T10:$((i / 10))$((i % 10)):30Z tidemark-milter[1]:" \
		"R$i: profile=external daemon=x client=203.0.113.1 auth=-" \
		"from=<loud@example.com> rcpts=1 unknown=0 refused=0"
	echo "2026-11-16T10:$((i / 10))$((i % 10)):40Z tidemark-milter[1]:" \
		"S$i: profile=external daemon=x client=203.0.113.2 auth=-" \
		"from=<guess@example.com> rcpts=0 unknown=2 refused=0"
	i=$((i + 1))
done >"$D/replayed"

replay()
{
	tidemark replay "$@" >"$D/replay"
}
check "replay: something would overflow" exits 1 replay "$D/replayed"
check "how much there was" grep "^660 messages from" "$D/replay"
check "who" grep "loud@example.com|203.0.113.0/24  OKSENDER of profile external (limit 10/h, enforce): overflowed" \
	"$D/replay"
check "and for guessing" \
	grep "guess@example.com|203.0.113.0/24  UNSENDER of" "$D/replay"
check "a limit that touches nobody: 57 deep" \
	grep "oksender_limit = 61/h .*touches 0 of 10" "$D/replay"
replay --share 10% "$D/replayed"
check "one that touches one in ten" \
	grep "oksender_limit = .*touches 1 of 10" "$D/replay"
limit=$(sed -n 's/.*oksender_limit = \([^ ]*\) .*/\1/p' "$D/replay")
sed -i "s|^oksender_limit.*|oksender_limit = $limit|" "$conf"
replay "$D/replayed"
check "the configuration so changed stops that one alone" same \
	"$(grep -c ' OKSENDER of' "$D/replay")" 1
check "our own log can be replayed" sh -c \
	"'$B/tidemark' -c '$conf' replay - <'$D/log' >/dev/null; [ \$? -le 1 ]"
check "a log without messages is an error" exits 2 replay "$conf"
check "so is one that is not there" exits 2 replay "$D/nowhere"

tap_end
