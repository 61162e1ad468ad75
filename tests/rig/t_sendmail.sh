#!/bin/sh
# t_sendmail.sh - Tidemark behind a real sendmail with two daemons.
#
# What passes is remembered and can be asked for; each connection has a
# process of its own; killing any of Tidemark's processes harms nobody else.
#
# $B is the build to test (build).
#
# alone: a storm of 200 connections, with kills
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "sendmail with Tidemark" "$rig_why"
rig_start || exit 1
. tests/rig/tidemark.sh

# ---- words -----------------------------------------------------------------

# json FILE [KEY VALUE] - each line of the file is an object, in which the key
# has that value; there is at least one.
json()
{
	perl -MJSON::PP -e '
		($file, $key, $value) = @ARGV;
		open F, "<", $file or die "$file: $!";
		while (<F>) {
			$record = eval { decode_json($_) };
			ref $record eq "HASH" or die "not an object: $_";
			!defined $key || $record->{$key} eq $value
			    or die "$key is not $value: $_";
		}
		$. > 0 or die "$file is empty\n"' "$@"
}

# children PID
children()
{
	grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status | cut -d/ -f3
}

# Connections are served by the acceptor's children.
count_workers()
{
	parent=$(pid_of acceptor) && children "$parent" | wc -l
}

no_workers()
{
	same "$(count_workers)" 0
}

# line FROM - the log line of the message from this sender.
line()
{
	grep -e " from=<$1> .*verdict=" "$log"
}

# said FROM KEY=VALUE... - the message's log line has all of these.
said()
{
	from=$1
	shift
	within 30 line "$from" || {
		echo "no line for $from"
		return 1
	}
	got=$(line "$from")
	for pair; do
		case " $got " in
		*" $pair "*) ;;
		*)	echo "no $pair in: $got"
			return 1
			;;
		esac
	done
}

# queue_id - sendmail's, from the last dialogue.
queue_id()
{
	sed -n 's/^<.  250 2.0.0 \([^ ]*\) Message accepted.*/\1/p' \
		"$RIG/dialogue"
}

# mail PORT FROM TO... - one message; its queue id is in $qid.
mail()
{
	rig_send "$@" >"$RIG/dialogue" 2>&1
	mail_status=$?
	qid=$(queue_id)
	cat "$RIG/dialogue"
	return "$mail_status"
}

# when FILE PATTERN - the clock of the first such line, in ns.  The one place
# that knows how a stage is logged.
when()
{
	grep -m1 -e "$2" "$1" | sed -n 's/.*mono_ns=\([0-9]*\).*/\1/p'
}

# earlier A B - two clocks, both there and in this order.
earlier()
{
	echo "first ${1:-never}, then ${2:-never}"
	[ -n "$1" ] && [ -n "$2" ] && [ "$1" -lt "$2" ]
}

# asked_first QID FILTER FILTER - sendmail's own log: who answered MAIL first.
asked_first()
{
	earlier "$(when "$RIG/mail.log" " $1: milter=$2, action=mail")" \
		"$(when "$RIG/mail.log" " $1: milter=$3, action=mail")"
}

stage()
{
	when "$1" "stage=mail .*qid=$2\\b"
}

# remembered FILE - every sender listed there is found.
remembered()
{
	[ -s "$1" ] || return 1
	while read -r sender; do
		tidemark query --from "$sender" >/dev/null || {
			echo "$sender was acknowledged, and is not found"
			return 1
		}
	done <"$1"
}

storm()
{
	"$rig_build/smtpstorm" "$@"
}

# ---- which filter, which profile, which order ------------------------------

profiles()
{
	check "a message through MTA-ext" mail "$RIG_EXT" ext@from.test \
		alice@mx.rig.test far@away.test
	qid_ext=$qid
	check "is the external profile's" said ext@from.test \
		profile=external daemon=MTA-ext client=127.0.0.1 auth=- \
		rcpts=2 unknown=0 refused=0 verdict=accept
	check "its log line begins with the queue id" \
		grep "\\b$qid_ext: profile=external .*from=<ext@from.test>" "$log"

	mail "$RIG_INT" int@from.test bob@mx.rig.test -- --auth PLAIN \
		--auth-user carol --auth-password secret >/dev/null
	qid_int=$qid
	check "a message through MTA-int is the internal profile's" \
		said int@from.test profile=internal daemon=MTA-int rcpts=1
	check "and tells who authenticated" said int@from.test auth=carol
}

order()
{
	check "MTA-ext asks the other filter first (sendmail's log)" \
		asked_first "$qid_ext" other tidemark-ext
	check "MTA-int asks Tidemark first (sendmail's log)" \
		asked_first "$qid_int" tidemark-int other
	check "MTA-ext asks the other filter first (the filters' clocks)" \
		earlier "$(stage "$RIG/other.log" "$qid_ext")" \
		"$(stage "$log" "$qid_ext")"
	check "MTA-int asks Tidemark first (the filters' clocks)" \
		earlier "$(stage "$log" "$qid_int")" \
		"$(stage "$RIG/other.log" "$qid_int")"

	for side in ext int; do
		port=$RIG_EXT
		[ "$side" = ext ] || port=$RIG_INT
		mail "$port" "refused-$side@from.test" x@sink.test \
			"other-refuses-$side@sink.test" >/dev/null
	done
	check "on MTA-ext Tidemark is not shown what the other refused" \
		said refused-ext@from.test rcpts=1
	check "on MTA-int it is, since the other comes after it" \
		said refused-int@from.test rcpts=2
}

# ---- what is remembered ----------------------------------------------------

memory()
{
	mail "$RIG_EXT" unknown@from.test nosuchuser@mx.rig.test \
		alice@mx.rig.test >/dev/null
	check "an unknown user is seen as such" said unknown@from.test unknown=1
	check "and counted by sendmail" said unknown@from.test nbadrcpts=1
	mail "$RIG_EXT" lonely@from.test nosuchuser@mx.rig.test >/dev/null
	mail "$RIG_EXT" quitter@from.test unsent@sink.test -- \
		--quit-after RCPT >/dev/null

	while read -r status what address why; do
		check "query --$what $address: $why" exits "$status" \
			tidemark query "--$what" "$address"
	done <<-END
		0 from ext@from.test it passed
		0 from int@from.test it passed, authenticated
		0 from unknown@from.test one of its recipients was known
		1 from nobody@from.test it never came
		1 from lonely@from.test it had no valid recipient
		1 from quitter@from.test it left before DATA
		0 to alice@mx.rig.test mail passed to it
		0 to far@away.test mail passed to it
		1 to nosuchuser@mx.rig.test it is unknown
		1 to unsent@sink.test its message was never sent
		1 to other-refuses-ext@sink.test the other filter refused first
	END

	tidemark query --from ext@from.test --json >"$RIG/found.json"
	check "query --json is JSON" json "$RIG/found.json"
	check "a miss with --json exits 1, too" exits 1 \
		tidemark query --from nobody@from.test --json
	tidemark dump --json >"$RIG/dump.json"
	check "dump has records, each of version 1" \
		json "$RIG/dump.json" version 1
}

# ---- one process for each connection ---------------------------------------

crowd()
{
	storm -c 200 -m 2 -f crowd -a "$RIG/crowd" -g "$RIG/gate" \
		"$RIG_INT" >"$RIG/crowd.out" 2>&1 &
	crowd_pid=$!
	check "200 connections are greeted" \
		within 60 grep '^ready=200$' "$RIG/crowd.out"
	check "each is served by a process of its own" \
		same "$(count_workers)" 200
	check "status knows them all" \
		same "$(status workers)" 200
	touch "$RIG/gate"
	wait "$crowd_pid"
	check "all their messages are accepted" grep \
		'ok=200 failed=0 accepted=400 refused=0' "$RIG/crowd.out"
	check "the processes are gone when the connections are" \
		within 10 no_workers
	check "all their senders are remembered" remembered "$RIG/crowd"
}

# ---- killed workers --------------------------------------------------------

# Each kill takes one session: MTA-int has F=T, which then says 451 to the end
# of it.  More failures than kills would be somebody else's.  Storms follow each
# other until hundreds were killed, however slow the machine.
victims()
{
	killed=0 failed=0 round=0
	: >"$RIG/victims"
	while [ "$killed" -lt 200 ] && [ "$round" -lt 10 ]; do
		round=$((round + 1))
		storm -c 150 -m 6 -d 200 -f "victim-$round" \
			-a "$RIG/victims-$round" "$RIG_INT" \
			>"$RIG/victims.out" 2>&1 &
		kill_during $! 120
		lost=$(sed -n 's/.* failed=\([0-9]*\) .*/\1/p' \
			"$RIG/victims.out")
		echo "# $killed killed; $(cat "$RIG/victims.out")"
		failed=$((failed + ${lost:-1000000}))
		cat "$RIG/victims-$round" >>"$RIG/victims"
	done
	check "200 workers are killed under load" test "$killed" -ge 200
	check "a killed worker harms no other session" \
		test "$failed" -le "$killed"
	check "everything acknowledged is remembered" \
		remembered "$RIG/victims"
	check "the killed ones leave nothing behind" within 10 no_workers
}

# kill_during PID MOST - random workers, until the process ends.
kill_during()
{
	most=$((killed + $2))
	acceptor=$(pid_of acceptor) || acceptor=none
	while kill -0 "$1" 2>/dev/null && [ "$killed" -lt "$most" ]; do
		for victim in $(children "$acceptor" | shuf -n 2); do
			kill -KILL "$victim" 2>/dev/null &&
				killed=$((killed + 1))
		done
		sleep 0.01
	done
	wait "$1"
}

# ---- killed processes of the daemon ----------------------------------------

# Sessions come and go until there is $RIG/enough.  F=T makes any message fail
# that Tidemark did not see.
load()
{
	round=0
	while [ ! -e "$RIG/enough" ] && [ "$round" -lt 100 ]; do
		round=$((round + 1))
		storm -c 25 -m 2 -d 50 -f "$1-$round" \
			-a "$RIG/load-$1-$round" "$RIG_INT"
	done
}

# no_more_failed MOST - messages of the load.
no_more_failed()
{
	sed -n 's/.* failed=\([0-9]*\).*/\1/p' "$RIG/load.out" | awk -v most="$1" '
		{ sum += $1 }
		END {
			print sum + 0, "failed, at most", most
			exit(NR == 0 || sum > most)
		}'
}

# kill_under_load WHICH - three times.  With the acceptor goes the connection
# that it has taken from the backlog and not yet handed over: one each time,
# of two messages.
kill_under_load()
{
	in_hand=0
	[ "$1" = collector ] || in_hand=6
	rm -f "$RIG/enough"
	load "$1" >"$RIG/load.out" 2>&1 &
	load_pid=$!
	kills=0
	for _ in 1 2 3; do
		sleep 0.4
		was=$(pid_of "$1") && kill -KILL "$was" &&
			within 20 replaced "$1" "$was" &&
			kills=$((kills + 1))
	done
	touch "$RIG/enough"
	wait "$load_pid"
	check "the $1 is killed three times and comes back" same "$kills" 3
	check "meanwhile all mail is accepted" no_more_failed "$in_hand"
	cat "$RIG/load-$1-"* >"$RIG/load-$1"
	check "and remembered" remembered "$RIG/load-$1"
}

# replaced WHICH PID - there is another one now.
replaced()
{
	now=$(pid_of "$1") && [ "$now" != "$2" ]
}

# Without the supervisor sendmail's flags decide, until the next start.
supervisor()
{
	check "before it dies, a message" mail "$RIG_INT" before@from.test \
		x@sink.test
	kill -KILL "$(rig_pid tidemarkd)"
	sleep 0.5
	check "without the supervisor MTA-ext accepts" \
		mail "$RIG_EXT" orphan@from.test x@sink.test
	mail "$RIG_INT" orphan@from.test x@sink.test >/dev/null
	check "MTA-int accepts or says try again, nothing else" \
		lacks '^<.. 5' "$RIG/dialogue"
	check "a new start takes over" launch
	check "and knows what the old one acknowledged" exits 0 \
		tidemark query --from before@from.test
	check "mail goes on" mail "$RIG_INT" after@from.test x@sink.test
	check "and is remembered" exits 0 tidemark query --from after@from.test
}

gone()
{
	for pid; do
		[ -n "$pid" ] && [ ! -e "/proc/$pid" ] || return 1
	done
}

farewell()
{
	collector=$(pid_of collector)
	acceptor=$(pid_of acceptor)
	daemon=$(rig_pid tidemarkd)
	kill -TERM "$daemon"
	wait "$daemon"
	check "SIGTERM ends it, with status 0" same "$?" 0
	check "and all of it" \
		gone "$collector" "$acceptor"
}

settings "log_level = debug;max_workers = 400" "" "on_error = tempfail"
if check "Tidemark starts" launch; then
	profiles
	order
	memory
	crowd
	victims
	kill_under_load collector
	kill_under_load acceptor
	supervisor
	farewell
fi
tap_end
