#!/bin/sh
# t_replay - replay of mailboxes: mbox and maildir find the hijacked account,
# and junk does no harm.
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

box=tests/demo/sample.mbox
burst='sales@example.org  OKSENDER of profile external (limit 10/h, enforce): overflowed'

daemon_conf "[profile external]" "socket = local:$D/run/external.sock" \
	"oksender_mode = enforce" "oksender_limit = 10/1h" \
	"oksender_leak = 15min" "[profile internal]" \
	"socket = local:$D/run/internal.sock" "oksender_mode = enforce" \
	"oksender_limit = 100/1h" "oksender_leak = 1min"

replay()
{
	tidemark replay "$@" >"$D/replay" 2>"$D/talk"
}

# split FOLDER - the sample's messages, in no order, into a maildir.
split()
{
	mkdir -p "$1/cur" "$1/new" "$1/tmp"
	M=$1 perl -ne '
		if (/^From (\S+)/) {
			my $name = sprintf "%s/%s/%03d.x", $ENV{M},
			    ($n % 2 ? "cur" : "new"), (++$n * 37) % 101;
			open O, ">", $name or die;
		} else { print O }' "$box"
}

# ---- mbox --------------------------------------------------------------------

check "an mbox: something would overflow" exits 1 replay "$box"
check "all messages are seen" grep "^39 messages from" "$D/replay"
check "the hijacked account is found" grep -F "$burst" "$D/replay"
check "nobody else is" same "$(grep -c 'overflowed' "$D/replay")" 2
check "limits are recommended" \
	grep "oksender_limit = .*touches 0 of" "$D/replay"
check "nothing is said on stderr" same "$(cat "$D/talk")" ''
cp "$D/replay" "$D/replay.mbox"
check "another profile has other limits" exits 0 replay --profile internal \
	"$box"
check "one that is not there" exits 2 replay --profile nosuch "$box"
from_stdin()
{
	"$B/tidemark" -c "$conf" replay - <"$box" >"$D/replay"
	diff "$D/replay.mbox" "$D/replay"
}
check "from standard input" from_stdin
sed 's/$/\r/' "$box" >"$D/crlf"
check "with CR LF" exits 1 replay "$D/crlf"
check "just the same" diff "$D/replay.mbox" "$D/replay"
check "as JSON" sh -c "'$B/tidemark' -c '$conf' replay --json '$box' |
	perl -MJSON::PP -ne '\$r = decode_json(\$_);
	\$n++ if \$r->{type} eq \"overflow\" &&
	    \$r->{key} eq \"sales\\@example.org\"; END { exit(\$n != 1) }'"

# ---- who is never charged, and who rotates -------------------------------------

# line SECOND CLIENT FROM - of a log of ours.
line()
{
	echo "2026-01-02T10:00:${1}Z tidemark-milter[1]: Q$1: profile=external" \
	    "daemon=x client=$2 auth=- from=<$3> rcpts=1 unknown=0 refused=0"
}
for i in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
	line "$i" "2001:db8:5:6::$i" "friend@a.example"
done >"$D/friend.log"
check "a log: too many are an overflow" exits 1 replay "$D/friend.log"
check "judged as the milter does: the one that overflows, then the ban" \
	grep '^15 messages .*; 9 of them would have been refused, 8 by a ban' \
	"$D/replay"
for i in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
	line "$i" "192.0.2.$i" "l-bounce-100$i-u=x.example@lists.example"
done >"$D/verp.log"
check "too many bounce addresses are put off" exits 1 replay "$D/verp.log"
check "as many as did not fit, and without a ban" \
	grep '^15 messages .*; 9 of them would have been refused, 0 by a ban, 9 put off' \
	"$D/replay"
check "which is told of their key" \
	grep 'l-bounce-\*@lists.example|192.0.2.0/24  OKSENDER .*: 9 messages put off' \
	"$D/replay"
check "as JSON" sh -c "'$B/tidemark' -c '$conf' replay --json '$D/verp.log' |
	grep '\"type\":\"deferred\".*\"deferred\":9,'"
sed -i 's/^oksender_mode/allow = friend@a.example|2001:db8:5::\/48\n&/' "$conf"
check "who is allowed is not charged" exits 0 replay "$D/friend.log"
daemon_conf '[profile external]' "socket = local:$D/run/external.sock" \
	'oksender_mode = off' 'oksender_limit = 100/1h' 'oksender_leak = 1h' \
	'okip_limit = 4/1h' 'okip_leak = 1h' 'ipv6_64 = 3' 'ipv6_56 = 100'
check "who rotates through its prefix pays there" exits 1 \
	replay "$D/friend.log"
check "and nowhere else" sh -c "grep overflowed '$D/replay' |
	grep -v 'These' | grep -v '2001:db8:5:6::/64  OKIP' | grep -c . |
	grep -x 0"
daemon_conf "[profile external]" "socket = local:$D/run/external.sock" \
	"oksender_mode = enforce" "oksender_limit = 10/1h" \
	"oksender_leak = 15min" "[profile internal]" \
	"socket = local:$D/run/internal.sock" "oksender_mode = enforce" \
	"oksender_limit = 100/1h" "oksender_leak = 1min"

# ---- maildir -----------------------------------------------------------------

split "$D/box"
check "a maildir: something would overflow" exits 1 replay "$D/box"
check "all messages are seen" grep "^39 messages from" "$D/replay"
check "the hijacked account is found" grep -F "$burst" "$D/replay"
mkfifo "$D/box/new/fifo"
mkdir "$D/box/cur/folder"
: >"$D/box/cur/empty"
check "a pipe, a folder and an empty file in it" exits 1 replay "$D/box"
check "are left out" grep "^39 messages from" "$D/replay"
check "and what has no time is told" grep "1 message without a time" "$D/talk"
mkdir "$D/plain"
check "a folder that is no maildir" exits 2 replay "$D/plain"
check "is named" grep "plain/new" "$D/talk"
mkdir "$D/plain/cur" "$D/plain/new"
check "an empty maildir has no message" exits 2 replay "$D/plain"

# ---- one message -------------------------------------------------------------

# one CLIENTS HEADER... - a message so made is taken for so many clients'.
one()
{
	clients=$1
	shift
	printf '%s\n' "$@" '' x >"$D/plain/new/1"
	replay "$D/plain"
	cat "$D/replay" "$D/talk"
	grep -q '^1 message from' "$D/replay" &&
		same "$(sed -n 's/.*okip_limit.*touches 0 of \([0-9]*\).*/\1/p' \
			"$D/replay")" "$clients"
}
when='Mon, 3 Mar 2025 13:05:00 +0100'
check "a client by its address" one 1 \
	"Received: from x (x [192.0.2.1]) by y; $when"
check "over folded lines" one 1 "Received: from x" "	(x" " [IPv6:2001:db8::1])" \
	"	by y; $when"
check "the receiver's own is none" one '' \
	"Received: from x by y [192.0.2.2]; $when"
check "Date serves without Received" one '' "Date: $when" "From: a@b.example"
check "a time to come is not believed" fails one 1 \
	"Received: from x (x [192.0.2.1]) by y; Mon, 3 Mar 2999 13:05:00 +0100"
check "and that is told" grep "1 message without a time" "$D/talk"
check "fifty years between two messages" sh -c "
	{ printf 'From a@b.example Mon Mar  3 13:05:00 1975\n\nx\n\n'
	  cat '$box'; } >'$D/old'; '$B/tidemark' -c '$conf' replay '$D/old' |
	grep '^40 messages'"

# ---- junk --------------------------------------------------------------------

# junk SEED - random bytes, in each of the kinds.
junk()
{
	SEED=$1 perl -e 'srand($ENV{SEED}); binmode STDOUT;
		my @w = ("From ", "\n", "\nReceived:", "[", "]", ";", "\0", "\n\n",
		    "\nFrom a Mon Mar  3 13:05:00 2025\n", " ", "\nTo: ", "<",
		    ">", "@", ",", "(", "\"", "\\", "Mon, 3 Mar 2025 1:1 -9",
		    "\nDate:", "\nReturn-Path:", "x" x 20000);
		print rand() < 0.6 ? $w[rand @w] : chr(rand 256) for 1 .. 3000' \
		>"$D/junk"
	{ printf 'From '; cat "$D/junk"; } >"$D/junk.mbox"
	cp "$D/junk" "$D/plain/new/1"
	for file in "$D/junk" "$D/junk.mbox" "$D/plain"; do
		replay "$file"
		rc=$?
		if [ "$rc" -gt 2 ] ||
			grep 'Sanitizer\|runtime error' "$D/talk"; then
			echo "seed $1, $file: $rc"
			return 1
		fi
	done
}
much_junk()
{
	seed=0
	while [ "$seed" -lt 30 ]; do
		junk "$seed" || return
		seed=$((seed + 1))
	done
}
check "random bytes do no harm" much_junk
echo "2025-03-03T13:05:00Z tidemark-milter[1]: Q: profile=external daemon=x" \
	"client=192.0.2.1 auth=- from=<a@b.example> rcpts=1 unknown=0" >"$D/log1"
check "a log is still a log" exits 0 replay "$D/log1"
check "logs and mailboxes do not mix" exits 2 replay "$D/log1" "$box"

tap_end
