#!/bin/sh
# t_policy.sh - policy workers: hostile and slow clients get a line in the log
# and a closed connection; a kill, anywhere, charges nobody twice; the map
# stays whole.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

POLICY=${POLICY:-$B/tests/load/policy}
sock=local:$D/run/out-policy.sock

# conf POLICY - settings of [policy out], separated by semicolons.
conf()
{
	daemon_conf 'max_workers = 32' 'pulse_stale = 10min' \
	    '[profile external]' '[profile internal]' 'charged_by = policy' \
	    'tokens_mode = enforce' 'tokens_burst = 100' 'tokens_rate = 1/d' \
	    '[policy out]' "$(echo "$1" | tr ';' '\n')"
}

with()
{
	conf "$1"
	tidemark reload >"$D/reload" 2>&1 || cat "$D/reload"
}

ask()
{
	printf '%s\n' "$@" | "$POLICY" -s "$sock" >"$D/said" 2>&1
	cat "$D/said"
}

log_has() { grep -q -e "$1" "$D/log" || { tail -n 5 "$D/log"; return 1; }; }
nobody_serves() { same "$(field workers)" 0; }
more() { [ "$(counter "$1")" -gt "$2" ]; }

# left USER NUMBER - so many tokens are left, by a message that is given up.
left()
{
	i=0
	while [ "$i" -le "$2" ]; do
		i=$((i + 1))
		echo "RCPT left.$1 user=$1 to=left$i@to.test"
	done | "$POLICY" -s "$sock" >"$D/left"
	same "$(grep -c DUNNO "$D/left")" "$2"
}

# A client that we speak to step by step: open, say STEP..., heard NUMBER.
open()
{
	rm -f "$D/pipe" "$D/heard"
	mkfifo "$D/pipe"
	"$POLICY" -s "$sock" <"$D/pipe" >"$D/heard" 2>&1 &
	client=$!
	exec 9>"$D/pipe"
}
say() { printf '%s\n' "$@" >&9; }
heard() { same "$(grep -c . "$D/heard")" "$1"; }
hang_up()
{
	exec 9>&-
	wait "$client"
}

# the pid of the one worker that serves
worker() { workers | head -n 1; }

# ---- hostile ---------------------------------------------------------------

conf ''
check "starts" daemon_start

# closed SENTENCE STEPS... - the log says so, and the connection is closed.
closed()
{
	closed_why=$1
	shift
	ask "$@" hear
	same "$(tail -n 1 "$D/said")" closed &&
	    log_has "warning: policy out: $closed_why: connection closed"
}
head='request=smtpd_access_policy\n'
long=$(printf '%9000s' x | tr ' ' x)
check "no name=value" closed 'a line that is not name=value' 'send hello\n\n'
check "no request" closed 'an empty request' 'send \n'
check "a request of another kind" closed '«request» is not smtpd_access_policy' \
    'send request=junk\nprotocol_state=RCPT\ninstance=1\n\n'
check "no instance" closed 'no instance' "send ${head}protocol_state=RCPT\\n\\n"
check "a NUL byte" closed 'a NUL byte' \
    "send ${head}protocol_state=RCPT\\ninstance=1\\nsender=\\0\\n\\n"
check "a line that is too long" closed 'a line of more than 8192 bytes' \
    "send $long"
check "a request that never ends" \
    closed 'a request of more than 65535 bytes' 'flood 5000'
check "a request cut short" eval "ask 'send request=smtp' close >/dev/null
    within 20 log_has 'policy out: it ended within a request'"
check "each is counted" [ "$(counter policy_closed)" -ge 8 ]
check "SMTP is no policy request" \
    closed 'a line that is not name=value' 'send EHLO x\nMAIL FROM:<>\n\n'
check "two requests in one packet have two answers" eval "
    ask 'send ${head}protocol_state=RCPT\\ninstance=2\\n\\n${head}protocol_state=RCPT\\ninstance=3\\n\\n' hear >/dev/null
    grep -q DUNNO $D/said"
check "nobody serves on" within 30 nobody_serves
x=$(printf '%600s' x | tr ' ' x)
ask "RCPT x.1 user=xia to=$x@a.test" "RCPT x.1 user=xia to=$x@b.test" \
    "END-OF-MESSAGE x.1 user=xia to= count=2" >/dev/null
check "long recipients are not taken for the same" left xia 98

# ---- slow ------------------------------------------------------------------

with 'request_timeout = 200ms'
check "a request that stalls" \
    closed 'a request took longer than request_timeout' 'send request=smtp'
open
say 'RCPT s.1 user=sam to=a@to.test'
within 30 heard 1 >/dev/null
say "send ${head}proto"
say 'hear'
check "amid a message" within 30 heard 2
check "the connection is closed" same "$(tail -n 1 "$D/heard")" closed
hang_up
check "its client may go on elsewhere: nothing is given back" \
    within 30 left sam 99
ask 'DATA s.1 user=sam count=1' 'END-OF-MESSAGE s.1 user=sam count=1' \
    >/dev/null
check "nor charged again" left sam 99
with 'idle_timeout = 200ms'
open
say 'RCPT s.2 user=sue to=a@to.test'
within 30 heard 1 >/dev/null
say hear
check "a message that stalls" within 30 heard 2
hang_up
check "is told of" log_has 'no request for longer than idle_timeout, amid'
check "and pays" within 30 left sue 99
was=$(counter policy_closed)
open
say 'RCPT s.3 user=sid' 'END-OF-MESSAGE s.3 user=sid count=1' hear
check "between messages an idle connection is closed" within 30 heard 3
hang_up
check "without a word" same "$(counter policy_closed)" "$was"
check "nobody serves on" within 30 nobody_serves

# ---- killed ----------------------------------------------------------------

with ''
open
say 'RCPT k.1 user=kim to=a@to.test' 'RCPT k.1 user=kim to=b@to.test'
within 30 heard 2 >/dev/null
was=$(counter workers_crashed)
kill -KILL "$(worker)"
check "a worker is killed amid a message" within 30 more workers_crashed "$was"
say dial 'RCPT k.1 user=kim to=c@to.test' 'DATA k.1 user=kim to= count=3' \
    'END-OF-MESSAGE k.1 user=kim to= count=3'
check "the next one takes the message over" within 30 heard 5
check "and it passes" fails grep -v DUNNO "$D/heard"
hang_up
check "three recipients were charged, once" within 30 left kim 97

acceptor=$(field acceptor_pid)
open
say 'RCPT k.2 user=kai to=a@to.test'
within 30 heard 1 >/dev/null
kill -KILL "$acceptor"
say 'RCPT k.2 user=kai to=b@to.test' 'END-OF-MESSAGE k.2 user=kai to= count=1'
check "the acceptor is killed: the connection goes on" within 30 heard 3
replaced() { [ "$(field acceptor_pid)" != "$acceptor" ]; }
check "there is a new one" within 30 replaced
hang_up
check "which buries the worker" within 30 nobody_serves
check "one was charged, one given back" within 30 left kai 99

open
say 'RCPT k.3 user=koi to=a@to.test'
within 30 heard 1 >/dev/null
kill -STOP "$(worker)"
was=$(counter workers_stuck)
conf ''
sed -i 's/^max_workers.*/&\nworker_idle = 1s/' "$conf"
tidemark reload >/dev/null
check "a stopped worker is killed" within 30 more workers_stuck "$was"
hang_up
conf ''
sed -i 's/^max_workers.*/&\nworker_silent = 200ms/' "$conf"
tidemark reload >/dev/null
was=$(counter policy_closed)
open
check "a connection without any request is closed" \
    within 30 more policy_closed "$was"
check "and that is told" grep -q 'no request within worker_silent' "$D/log"
hang_up
with ''

# ---- many, and killed at random --------------------------------------------

spent() { echo $(($(counter tokens_taken) - $(counter tokens_given_back))); }
before=$(spent)
"$POLICY" -s "$sock" -n 20000 -c 8 -u 8 >"$D/load" &
load=$!
n=0
while kill -0 "$load" 2>/dev/null && [ "$n" -lt 12 ]; do
	w=$(worker)
	[ -z "$w" ] || kill -KILL "$w" 2>/dev/null && n=$((n + 1))
	sleep 0.05
done
wait "$load"
check "eight connections lose their workers, one after another" \
    [ "$(of lost "$D/load")" -ge 1 ]
check "nobody serves on" within 30 nobody_serves
check "no epoch is left standing" within 30 no_epoch_stuck
# a worker killed between giving back and counting it makes it look like more
check "no account got more than its burst" [ "$(($(spent) - before))" -le 812 ]
check "the books of the buckets are right" same "$(counter audit_faults)" 0
check "and it serves" eval "ask 'RCPT z.1 user=zoe' >/dev/null &&
    grep DUNNO $D/said"
tap_end
