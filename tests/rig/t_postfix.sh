#!/bin/sh
# t_postfix.sh - Tidemark beside a real Postfix with two services, each with a
# milter and a policy client.
#
# Each case has accounts and client networks of its own.  Tokens come back one
# a day: none does while we test.
#
# $B is the build to test (build).
#
# takes: 10s
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh
. tests/rig/postfix.sh

pf_can || tap_skip "Postfix with Tidemark" "$rig_why"
pf_start || exit 1
. tests/rig/tidemark.sh

# ---- words -----------------------------------------------------------------

# policies EXTERNAL INTERNAL OUT - settings of both profiles, and of the policy
# server of the second.
policies()
{
	settings "pulse_stale = 10min" "socket_mode = 0666;$(charged "$1")" \
		"socket_mode = 0666;tokens_rate = 1/d;$(charged "$2")" "
[policy ext]
socket_mode = 0666
profile = external
[policy out]
socket_mode = 0666
profile = internal
$(echo "$3" | tr ';' '\n')"
}

# Both are asked here: who charges has to be said.
charged()
{
	case $1 in
	*charged_by*) echo "$1" ;;
	*) echo "charged_by = milter;$1" ;;
	esac
}

with()
{
	policies "$1" "$2" "${3:-}"
	tidemark reload >"$RIG/reload.out" 2>&1 || cat "$RIG/reload.out"
}

# level ACCOUNT - tokens left, by the last line that says so.
level()
{
	grep "auth=$1 " "$log" | sed -n 's/.* tokens=\([0-9]*\).*/\1/p' |
		tail -n 1
}

# outside CLIENT STEP... and inside CLIENT USER STEP... - the dialogue.
outside()
{
	"$rig_src/smtp.pl" "$RIG_EXT" "$@" >"$RIG/dialogue" 2>&1
	cat "$RIG/dialogue"
}

inside()
{
	inside_client=$1 inside_user=$2
	shift 2
	"$rig_src/smtp.pl" "$RIG_INT" "$inside_client" \
		"XCLIENT LOGIN=$inside_user" 'EHLO client.test' "$@" \
		>"$RIG/dialogue" 2>&1
	cat "$RIG/dialogue"
}

tally()
{
	same "$(tail -n 1 "$RIG/dialogue")" "accepted=$1 refused=$2"
}

replies() { same "$(grep -c "^< $1" "$RIG/dialogue")" "$2"; }
log_has() { grep -e "$1" "$log" || { tail -n 5 "$log"; return 1; }; }
mail_log_has() { grep -e "$1" "$RIG/mail.log"; }

given_back() { [ "$(counter tokens_given_back)" -ge "$1" ]; }

# pays ACCOUNT NUMBER - what is left, asked by a message of one recipient.
pays()
{
	inside 127.0.9.9 "$1" 'MAIL FROM:<x@from.test>' \
		'RCPT TO:<pays@out.test>' 'DATA' '.' >"$RIG/pays"
	same "$(level "$1")" "$(($2 - 1))"
}

# ---- outgoing: the policy server charges -----------------------------------

mine='charged_by = policy;tokens_mode = enforce'

hijacked()
{
	with "" "$mine;tokens_burst = 30"
	pids=
	for n in 1 2 3 4; do
		"$rig_src/smtp.pl" "$RIG_INT" "127.0.1.$n" \
			'XCLIENT LOGIN=hans' 'EHLO client.test' \
			"20xmessage h%n@from.test r$n.%n@out.test" \
			>"$RIG/flood.$n" 2>&1 &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086
	wait $pids
	check "a hijacked account, 80 messages over 4 connections: the burst" \
		same "$(cat "$RIG"/flood.? | awk -F '[= ]' '
			/^accepted=/ { n += $2 } END { print n }')" 30
	check "the rest are told why" grep -h \
		'^< 554 5.7.1 .*Recipient address rejected: Not enough tokens' \
		"$RIG"/flood.1 "$RIG"/flood.2 "$RIG"/flood.3 "$RIG"/flood.4
	check "and so is the postmaster" eval \
		'tidemark why auth:hans | grep -i "reject.*tokens"'
	check "Postfix keeps its connections" [ "$(counter policy_requests)" -ge 120 ]
	check "which nobody had to close" same "$(counter policy_closed)" 0
	inside 127.0.1.9 ida 'message i@from.test i@out.test' >/dev/null
	check "another account notices nothing" tally 1 0
}

per_recipient()
{
	with "" "$mine;tokens_burst = 50"
	inside 127.0.2.1 rita 'MAIL FROM:<r@from.test>' \
		'25xRCPT TO:<r%n@out.test>' 'DATA' '.' >/dev/null
	check "smtpd_recipient_limit refuses five of 25 recipients" \
		replies '452 4.5.3' 5
	check "twenty are charged" same "$(level rita)" 30
	inside 127.0.2.1 rob 'MAIL FROM:<r@from.test>' \
		'2xRCPT TO:<r%n@out.test>' '3xRCPT TO:<nobody%n@mx.rig.test>' \
		'DATA' '.' >/dev/null
	check "three unknown users among five recipients" replies '550 5.1.1' 3
	check "are given back at DATA" same "$(level rob)" 48
	check "and the message counts two recipients" \
		log_has 'auth=rob .*rcpts=2 .*verdict=accept'
}

# Of Postfix's smtpd processes only one at a time waits for clients, and the
# others for it: their timers stand still.  So have each of them come round.
nudged()
{
	for nudge in 1 2 3 4 5 6; do
		"$rig_src/smtp.pl" "$RIG_INT" "127.0.3.1$nudge" \
			'XCLIENT LOGIN=neil' 'EHLO client.test' \
			'message n@from.test n@out.test' >/dev/null 2>&1 &
		eval "nudge$nudge=$!"
	done
	# shellcheck disable=SC2154 # set above
	wait "$nudge1" "$nudge2" "$nudge3" "$nudge4" "$nudge5" "$nudge6"
	given_back "$1"
}

refunds()
{
	with "" "$mine;tokens_burst = 20"
	inside 127.0.3.1 rosa 'MAIL FROM:<r@from.test>' \
		'5xRCPT TO:<r%n@out.test>' RSET 'MAIL FROM:<r@from.test>' \
		'5xRCPT TO:<r%n@out.test>' RSET \
		'message r@from.test one@out.test' >/dev/null
	check "RSET gives back" same "$(level rosa)" 19
	was=$(counter tokens_given_back)
	inside 127.0.3.1 rosa 'MAIL FROM:<r@from.test>' \
		'5xRCPT TO:<r%n@out.test>' drop >/dev/null
	check "so does a connection that drops, with its next message or end" \
		within 60 nudged $((was + 5))
	inside 127.0.3.1 rosa '3xmessage r@from.test two@out.test' >/dev/null
	check "each message of a session is one of its own" \
		same "$(grep -c 'policy:out .*auth=rosa .*rcpts=1 .*verdict=accept' "$log")" 4
	check "and costs one" same "$(level rosa)" 16
}

answers()
{
	with "" "$mine;tokens_burst = 1;tokens_action = delay"
	inside 127.0.4.1 della 'message d@from.test a@out.test' \
		'message d@from.test b@out.test' >/dev/null
	check "delay becomes a 450 with the time to come back" grep \
		'^< 450 4.7.1 .*Not enough tokens available; come back in 1d' \
		"$RIG/dialogue"
	with "" "$mine;tokens_burst = 1" "action = hold"
	inside 127.0.4.1 holly 'message h@from.test a@out.test' \
		'message h@from.test b@out.test' >/dev/null
	check "hold: both messages are taken" tally 2 0
	check "the second is on hold" same "$(find "$RIG/spool/hold" -type f | wc -l)" 1
	check "and Postfix says why" mail_log_has 'hold: RCPT .*Not enough tokens'
	with "" "$mine;tokens_burst = 1" "action = prepend"
	inside 127.0.4.1 pia 'message p@from.test a@out.test' \
		'message p@from.test b@keep.test' >/dev/null
	check "prepend: both messages are taken" tally 2 0
	check "the second with a header" within 30 grep -rqa \
		'X-Tidemark: tokens; Not enough tokens' "$RIG/spool/deferred"
}

# ---- incoming --------------------------------------------------------------

# group NAME LIMIT - leaks one drop an hour.
group() { echo "$1_mode = enforce;$1_limit = $2/h;$1_leak = 1h;$1_ban = 1h"; }

ok=alice@mx.rig.test
has_bucket() { tidemark bucket list | grep -F "$1"; }
is_banned() { tidemark banned | grep -F "$1"; }

# first CLIENT FROM KEY - its first drop shows.
first()
{
	outside "$1" "message $2 $ok" >/dev/null
	within 30 has_bucket "$3" >/dev/null
}

incoming()
{
	with "charged_by = policy;$(group oksender 6);$(group unsender 4)" ""
	a_round_later # in which the collector sizes the buckets
	first 127.0.5.1 flood@from.test flood@
	outside 127.0.5.1 "7xmessage flood@from.test $ok" >/dev/null
	check "OKSENDER: five pass, the sixth overflows at its end" tally 4 3
	check "and is told why" grep '^< 550 5.7.1 .*OKSENDER' "$RIG/dialogue"
	check "the address is banned in its network" \
		within 30 is_banned 'flood@from.test|127.0.5.0/24'
	outside 127.0.5.1 "message flood@from.test postmaster@mx.rig.test" \
		>/dev/null
	check "postmaster can be written to" tally 1 0
	outside 127.0.5.2 'MAIL FROM:<guess@from.test>' \
		'RCPT TO:<u0@mx.rig.test>' >/dev/null
	within 30 has_bucket guess@ >/dev/null
	outside 127.0.5.2 'MAIL FROM:<guess@from.test>' \
		'4xRCPT TO:<u%n@mx.rig.test>' >/dev/null
	check "unknown users are the milter's to charge, whoever charges else" \
		within 30 is_banned 'guess@from.test|127.0.5.0/24'

	with "charged_by = policy;$(group okip 4)" ""
	a_round_later
	first 127.0.6.1 '<>' 127.0.6.1
	outside 127.0.6.1 "3xmessage <> $ok" >/dev/null
	check "the null sender is charged to its client" tally 2 1
	check "which is banned" within 30 is_banned 127.0.6.1
	outside 127.0.6.1 "message new@from.test $ok" >/dev/null
	check "whoever it says it is" tally 0 1
}

both()
{
	with "charged_by = milter" "charged_by = milter;tokens_mode = enforce;tokens_burst = 10"
	was=$(counter messages)
	inside 127.0.7.1 mina '3xmessage m@from.test m%n@out.test' >/dev/null
	check "where the milter charges, three messages cost three tokens" \
		same "$(level mina)" 7
	check "and count three" same "$(counter messages)" $((was + 3))
	with "" "$mine;tokens_burst = 10"
	inside 127.0.7.1 mona '3xmessage m@from.test m%n@out.test' >/dev/null
	check "where the policy server charges, too" \
		same "$(level mona)" 7
	check "and count three" same "$(counter messages)" $((was + 6))
}

# ---- Tidemark's processes die ----------------------------------------------

policy_worker()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		print "$_->{pid}\n" for @{decode_json(<STDIN>)->{workers}}'
}

crashed() { [ "$(counter workers_crashed)" -gt "$1" ]; }

five_taken() { same "$(grep -c '^< 250 2.1.5' "$RIG/kurt")" 5; }

killed()
{
	with "" "$mine;tokens_burst = 20"
	was=$(counter workers_crashed)
	mkfifo "$RIG/steps"
	"$rig_src/smtp.pl" "$RIG_INT" 127.0.8.1 'XCLIENT LOGIN=kurt' \
		'EHLO client.test' 'MAIL FROM:<k@from.test>' \
		'5xRCPT TO:<k%n@out.test>' "wait $RIG/steps" \
		'5xRCPT TO:<l%n@out.test>' 'DATA' '.' >"$RIG/kurt" 2>&1 &
	kurt=$!
	within 30 five_taken
	for worker in $(policy_worker); do
		kill -KILL "$worker"
	done
	check "all workers are killed amid a message" within 30 crashed "$was"
	echo go >"$RIG/steps"
	wait "$kurt"
	check "Postfix asks the next one, and the message passes" \
		grep '^< 250 2.0.0 Ok: queued' "$RIG/kurt"
	check "ten recipients are charged, once" pays kurt 10

	rig_end tidemarkd
	inside 127.0.8.2 away 'message a@from.test b@out.test' >/dev/null
	check "without Tidemark mail flows" tally 1 0
	check "by Postfix's default action" \
		mail_log_has 'problem talking to server .*out-policy.sock'
	check "it starts again" launch
	inside 127.0.8.2 back 'message a@from.test b@out.test' >/dev/null
	check "and charges again" same "$(level back)" 19
}

# ---- the verdict of a filter before us ---------------------------------------

verdicts()
{
	with "charged_by = milter;$marked;$(group cbsender 3);$(group cbip 9)" ""
	a_round_later
	for how in marks inserts; do
		check "a message that the filter $how" forge "$how-2@from.test"
		check "is blocked by its mark" within 30 \
			log_has "from=<$how-2@.*content=blocked"
	done
	for _ in 1 2 3 4; do
		forge forger@from.test >"$RIG/forging"
	done
	check "a forged one is only flagged" \
		log_has 'from=<forger@.*verdict=accept .*content=flagged'
	check "and bans nobody" fails is_banned forger@
	check "a filter's bans, in the end" fails forge_often marks-2@from.test
	check "its sender" within 30 is_banned 'marks-2@from.test|127.0.0.0/24'
	with "ban_at = mail" ""
	outside 127.0.0.1 'MAIL FROM:<marks-2@from.test>' >/dev/null
	check "ban_at = mail: Postfix refuses at MAIL" \
		grep '^< 550 5.7.1 .*Too much mail' "$RIG/dialogue"
}

forge_often()
{
	for _ in 1 2 3; do
		forge "$1" >"$RIG/forging" || return
	done
}

# shellcheck source=tests/rig/headers.sh
. tests/rig/headers.sh
headers_arrive Postfix
policies "" "" ""
if check "Tidemark starts" launch; then
	hijacked
	per_recipient
	refunds
	answers
	incoming
	both
	verdicts
	killed
fi
tap_end
