#!/bin/sh
# t_policy.sh - the policy server, asked as Postfix asks it: what is charged
# and given back, what is answered, who charges, and what no client can do to
# a worker.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

POLICY=${POLICY:-$B/tests/load/policy}
sock=local:$D/run/out-policy.sock

# ---- words -----------------------------------------------------------------

port=$((20000 + $$ % 10000))

# conf PROFILE POLICY - settings of [profile internal] and [policy out],
# separated by semicolons.  A token comes back in a day: none does here.
conf()
{
	daemon_conf 'max_workers = 64' 'pulse_stale = 10min' \
	    '[profile external]' '[profile internal]' 'tokens_mode = enforce' \
	    'tokens_rate = 1/d' "$(echo "$1" | tr ';' '\n')" \
	    '[policy tcp]' "socket = inet:$port@127.0.0.1" \
	    '[policy out]' "$(echo "${2:-}" | tr ';' '\n')"
}

# with PROFILE POLICY - the same daemon takes other settings over.
with()
{
	conf "$@"
	tidemark reload >"$D/reload" 2>&1 || cat "$D/reload"
}

# ask STEP... - the answers, in $D/said.
ask()
{
	printf '%s\n' "$@" | "$POLICY" -s "$sock" >"$D/said" 2>&1
	cat "$D/said"
}

# answered PATTERN... - of the answers, line by line.
answered()
{
	answered_n=0
	for want; do
		answered_n=$((answered_n + 1))
		sed -n "${answered_n}p" "$D/said" | grep -q "^$want" || {
			echo "answer $answered_n is not $want:"
			cat "$D/said"
			return 1
		}
	done
	same "$(wc -l <"$D/said")" "$#"
}

dunno='action=DUNNO$'
short='action=554 5.7.1 Not enough tokens available'

# left USER NUMBER - so many recipients more are accepted, in a message that
# is then given up.
left()
{
	left_n=0
	while [ "$left_n" -le "$2" ]; do
		left_n=$((left_n + 1))
		echo "RCPT left.$1 user=$1 to=left$left_n@to.test"
	done | "$POLICY" -s "$sock" >"$D/left"
	cat "$D/left"
	same "$(grep -c DUNNO "$D/left")" "$2"
}

log_has() { grep -q -e "$1" "$D/log" || { tail -n 5 "$D/log"; return 1; }; }
at_least() { [ "$(counter "$1")" -ge "$2" ]; }
serves() { [ -n "$(workers)" ]; }
nobody_serves() { same "$(field workers)" 0; }

# ---- charged once, and given back ------------------------------------------

conf 'charged_by = policy;tokens_burst = 10'
check "starts with two policy servers" daemon_start

ask 'RCPT a.1 user=ann to=a@to.test' 'RCPT a.1 user=ann to=b@to.test' \
    'DATA a.1 user=ann to= count=2 qid=QA' \
    'END-OF-MESSAGE a.1 user=ann to= count=2 qid=QA' >/dev/null
check "a message of two recipients passes" \
    answered "$dunno" "$dunno" "$dunno" "$dunno"
check "it costs two tokens" left ann 8
check "its line in the log is like a milter's" log_has \
    'QA: profile=internal .*daemon=policy:out .*auth=ann .*rcpts=2 .*tokens=8'
check "it is remembered" tidemark query --to b@to.test

ask 'RCPT a.2 user=ann to=a@to.test' 'RCPT a.2 user=ann to=a@to.test' \
    'END-OF-MESSAGE a.2 user=ann to=a@to.test count=1' \
    'END-OF-MESSAGE a.2 user=ann to=a@to.test count=1' >/dev/null
check "what is asked twice is answered twice" \
    answered "$dunno" "$dunno" "$dunno" "$dunno"
check "and charged once" left ann 7
check "and counted once" same "$(counter messages)" 2

ask 'RCPT a.3 user=ann to=a@to.test' 'RCPT a.3 user=ann to=b@to.test' \
    'RCPT a.3 user=ann to=c@to.test' 'DATA a.3 user=ann to= count=1' \
    'END-OF-MESSAGE a.3 user=ann to= count=1' >/dev/null
check "one of three recipients stands at DATA: two are given back" left ann 6
ask 'RCPT a.4 user=ann to=a@to.test' 'RCPT a.4 user=ann to=b@to.test' \
    'END-OF-MESSAGE a.4 user=ann to= count=1' >/dev/null
check "at the end of message, too" left ann 5
ask 'RCPT a.5 user=ann to=a@to.test' 'RCPT a.6 user=ann to=b@to.test' \
    'DATA a.6 user=ann to= count=1' 'RCPT a.7 user=ann to=b@to.test' \
    'END-OF-MESSAGE a.7 user=ann to= count=1' >/dev/null
check "a new instance gives back what came before it" left ann 4
check "so does a closed connection" left ann 4
before=$(counter tokens_given_back)
check "it is counted" [ "$before" -ge 8 ]

ask 'MAIL b.1 user=bob' 'VRFY b.1 user=bob' 'ETRN b.1' \
    'DATA b.2 user=bob to= count=3' \
    'END-OF-MESSAGE b.2 user=bob to= count=3' >/dev/null
check "other states are none of our business" \
    answered "$dunno" "$dunno" "$dunno" "$dunno" "$dunno"
check "a message first met at its end is not charged again" left bob 10
check "but its recipients have passed unseen" log_has \
    'auth=bob .*rcpts=3 .*forgotten=some'

printf 'RCPT c.1 user=tcp\nEND-OF-MESSAGE c.1 user=tcp count=1\n' |
    "$POLICY" -s "inet:$port" >"$D/said"
check "the TCP socket answers" answered "$dunno" "$dunno"
check "from the same accounts" left tcp 9

# ---- the hijacked account --------------------------------------------------

"$POLICY" -s "$sock" -n 200 -c 8 -u 1 >"$D/load"
check "200 messages over 8 connections: exactly the burst passes" \
    same "$(of refused "$D/load")" 190
check "no connection is lost over it" same "$(of lost "$D/load")" 0
check "the refusal says why" eval "ask 'RCPT h.1 user=user0' >/dev/null &&
    answered '$short \\[[0-9A-Z]*\\]\$'"
check "and has a line of its own" \
    log_has 'stage=rcpt .*auth=user0 .* verdict=reject reason=tokens tokens=0'
check "why knows of it" eval "tidemark why auth:user0 | grep -i 'reject.*tokens'"

# ---- other answers ---------------------------------------------------------

mine='charged_by = policy'
with "$mine;tokens_burst = 1;tokens_action = delay"
ask 'RCPT d.1 user=dan to=a@to.test' 'RCPT d.1 user=dan to=b@to.test' \
    'DATA d.1 user=dan to= count=1' 'END-OF-MESSAGE d.1 user=dan to= count=1' \
    >/dev/null
check "delay: the time to come back" answered "$dunno" \
    'action=DEFER_IF_PERMIT 4.7.1 Not enough tokens available; come back in 1d' \
    "$dunno" "$dunno"

ask 'RCPT q.1 user=quin to=a@to.test' 'RCPT q.1 user=quin to=a@to.test' \
    'RCPT q.1 user=quin to=b@to.test' >/dev/null
check "a recipient asked for twice needs one token" answered "$dunno" "$dunno" \
    'action=DEFER_IF_PERMIT'

# softly ACTION - two recipients, a token for one.
softly()
{
	with "$mine;tokens_burst = 1" "action = $1;prepend_header = X-Flow"
	ask "RCPT $1.1 user=$1 to=a@to.test" "RCPT $1.1 user=$1 to=b@to.test" \
	    "DATA $1.1 user=$1 to= count=2" \
	    "END-OF-MESSAGE $1.1 user=$1 to= count=2" >/dev/null
}
softly hold
check "hold instead" answered "$dunno" \
    'action=HOLD tokens: Not enough tokens available \[' "$dunno" "$dunno"
check "the log says so" log_has 'auth=hold .*reason=tokens .*softened=yes'
check "what is held has passed us" \
    log_has 'auth=hold .*rcpts=2 .*verdict=accept'
softly prepend
check "prepend instead" answered "$dunno" \
    'action=PREPEND X-Flow: tokens; Not enough tokens available \[' \
    "$dunno" "$dunno"

with "$mine;tokens_burst = 2" 'last_request = rcpt'
ask 'RCPT l.1 user=lea to=a@to.test' 'RCPT l.2 user=lea to=b@to.test' \
    'RCPT l.3 user=lea to=c@to.test' >/dev/null
check "last_request = rcpt: nothing is given back" \
    answered "$dunno" "$dunno" "$short"
check "the message is remembered when the next one begins" \
    within 10 log_has 'auth=lea .*rcpts=1 .*verdict=accept'
with "$mine;tokens_burst = 2" 'last_request = data'
ask 'RCPT l.4 user=lou to=a@to.test' 'DATA l.4 user=lou count=1' \
    'RCPT l.5 user=lou to=a@to.test' 'RCPT l.6 user=lou to=a@to.test' \
    'DATA l.6 user=lou count=1' 'RCPT l.7 user=lou to=a@to.test' >/dev/null
check "last_request = data: what does not get there is given back" \
    answered "$dunno" "$dunno" "$dunno" "$dunno" "$dunno" "$short"
with "$mine;tokens_burst = 2"
i=0
while [ "$i" -lt 52 ]; do
	i=$((i + 1))
	echo "RCPT forgot.$i user=fay"
done | "$POLICY" -s "$sock" >"$D/said"
check "a Postfix that never asks at the end is told of" \
    log_has 'warning: policy out: 50 messages in a row were given back'

# ---- leaky buckets and bans ------------------------------------------------

# group NAME LIMIT - leaks one drop an hour.
group() { echo "$1_mode = enforce;$1_limit = $2/h;$1_leak = 1h;$1_ban = 1h"; }

# messages CLIENT USER FROM FIRST LAST - the answers at their ends.
messages()
{
	i=$4
	while [ "$i" -le "$5" ]; do
		echo "RCPT m.$2.$1.$i client=$1 user=$2 from=$3"
		echo "END-OF-MESSAGE m.$2.$1.$i client=$1 user=$2 from=$3 count=1"
		i=$((i + 1))
	done | "$POLICY" -s "$sock" >"$D/all"
	sed -n 'n;p' "$D/all" >"$D/said"
}

has_bucket() { tidemark bucket list | grep -F "$1"; }
is_banned() { tidemark banned | grep -F "$1"; }
# is_sized CLIENT USER FROM KEY - the collector sizes the buckets in its next
# round: until a drop shows, none of the counts below would hold.
is_sized()
{
	messages "$1" "$2" "$3" 1 1
	within 1 has_bucket "$4"
}

with "$mine;tokens_burst = 100;$(group oksender 4)"
check "a group is switched on" \
    within 30 is_sized 192.0.2.9 warm warm@from.test auth:warm
messages 192.0.2.1 eve eve@from.test 1 1
check "a message is a drop for its account" within 10 has_bucket auth:eve
messages 192.0.2.1 eve eve@from.test 2 4
check "OKSENDER: three messages pass, the fourth overflows at its end" \
    answered "$dunno" "$dunno" \
    'action=550 5.7.1 Too many messages in too short a time (OKSENDER)'
check "the account is banned" within 10 is_banned eve
ask 'RCPT e.9 client=192.0.2.1 user=eve to=a@to.test' \
    'RCPT e.9 client=192.0.2.1 user=eve to=postmaster@to.test' >/dev/null
check "at RCPT, but for postmaster" answered \
    'action=550 5.7.1 Too much mail was sent or refused' "$dunno"
tidemark unban auth:eve >"$D/unban" 2>&1
check "the refused message has cost no token" within 10 left eve 97

with "$mine;tokens_burst = 100;$(group oksender 3);$(group okip 5)"
check "and another" within 30 is_sized 192.0.2.8 "" "" 192.0.2.8
messages 192.0.2.2 "" "" 1 1
within 10 has_bucket 192.0.2.2 >/dev/null
messages 192.0.2.2 "" "" 2 5
check "the null sender is charged to its client alone" \
    answered "$dunno" "$dunno" "$dunno" \
    'action=550 5.7.1 Too many messages in too short a time (OKIP)'
check "which is banned" within 10 is_banned 192.0.2.2

# ---- milter and policy server for the same mail ----------------------------

internal="local:$D/run/internal.sock"
both()
{
	ask "RCPT b.$1 user=$1 to=a@to.test" \
	    "END-OF-MESSAGE b.$1 user=$1 to=a@to.test count=1" >/dev/null
	"$FEED" -s "$internal" --auth "$1" --daemon MTA-int -n 1 --quiet \
	    tests/demo/sample.mbox >"$D/feed.out"
	answered "$dunno" "$dunno" && same "$(of acked "$D/feed.out")" 1
}
was=$(counter messages)
with "charged_by = policy;tokens_burst = 10"
check "both are asked, the policy server charges" both pat
check "once" left pat 9
check "and counts one message" same "$(counter messages)" $((was + 1))
with "charged_by = milter;tokens_burst = 10"
check "both are asked, the milter charges" both mia
check "and counts one message" same "$(counter messages)" $((was + 2))
with "charged_by = policy;tokens_burst = 10"
check "once" left mia 9
with "charged_by = milter;tokens_burst = 1"
ask 'RCPT y.1 user=yan to=a@to.test' 'RCPT y.1 user=yan to=b@to.test' \
    'RCPT y.1 client=192.0.2.2 user= from= to=c@to.test' \
    'RCPT y.2 client=192.0.2.2 user= from= to=c@to.test' >/dev/null
check "who does not charge has no shortage to tell of, but bans" \
    answered "$dunno" "$dunno" "$dunno" \
    'action=550 5.7.1 Too much mail was sent or refused'

# ---- without a map ---------------------------------------------------------

mkfifo "$D/idle"
"$POLICY" -s "$sock" <"$D/idle" >"$D/idle.said" &
idle=$!
exec 9>"$D/idle"
printf 'RCPT idle.1\nEND-OF-MESSAGE idle.1 count=1\n' >&9
both_answered() { same "$(grep -c DUNNO "$D/idle.said")" 2; }
check "a connection stays open between messages" within 20 both_answered
kill "$daemon_pid"
check "and does not keep the daemon from stopping at once" \
    within 20 gone "$daemon_pid"
exec 9>&-
wait "$idle"
wait "$daemon_pid"
daemon_pid=

cp "$D/state/archive.mdb" "$D/whole"
unable()
{
	rm -f "$D/log" "$D/run/map"
	echo "these are somebody's notes" >"$D/state/archive.mdb"
	conf "$1"
	"$B/tidemarkd" -c "$conf" >>"$D/out" 2>&1 </dev/null &
	daemon_pid=$!
	within 20 log_has 'no map' && ask 'RCPT n.1 user=ned' \
	    'END-OF-MESSAGE n.1 user=ned count=1'
}
check "a daemon without a map answers" unable "$mine;tokens_burst = 0"
check "DUNNO" answered "$dunno" "$dunno"
daemon_stop
check "on_error = tempfail" unable "$mine;on_error = tempfail"
check "DEFER_IF_PERMIT" answered \
    'action=DEFER_IF_PERMIT 4.3.0 Mail filter is unable to work' \
    'action=DEFER_IF_PERMIT 4.3.0 Mail filter is unable to work'
daemon_stop
tap_end
