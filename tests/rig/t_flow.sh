#!/bin/sh
# t_flow.sh - limits and bans behind a real sendmail with two daemons.
#
# Each case has settings, senders and client networks of its own, so that none
# meets a bucket or a ban of another.  A limit of 6/h that leaks one an hour is
# a bucket of 5 drops: five pass, the sixth overflows.
#
# $B is the build to test (build).
#
# takes: 35s
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "limits and bans behind sendmail" "$rig_why"
rig_start || exit 1
. tests/rig/tidemark.sh

# ---- words -----------------------------------------------------------------

patience=10min # a busy machine makes nobody stale

# with EXTERNAL [INTERNAL [GLOBAL]] - take other settings over.  The collector
# sizes its buckets in its next round.
with()
{
	settings "log_level = debug;pulse_stale = $patience;${3:-}" "$1" \
		"on_error = tempfail;${2:-}"
	tidemark reload >"$RIG/reload.out" 2>&1 || cat "$RIG/reload.out"
	a_round_later
}

# group NAME LIMIT BAN [MODE] - a group that leaks one drop an hour.
group()
{
	echo "$1_mode = ${4:-enforce};$1_limit = $2/h;$1_leak = 1h;$1_ban = $3"
}

replaced()
{
	now=$(pid_of "$1") && [ "$now" != "$2" ]
}

talk()
{
	"$rig_src/smtp.pl" "$@" >"$RIG/dialogue" 2>&1
	cat "$RIG/dialogue"
}

# tally ACCEPTED REFUSED PORT CLIENT STEP... - so many messages passed.
tally()
{
	tally_want="accepted=$1 refused=$2"
	shift 2
	talk "$@"
	same "$(tail -n 1 "$RIG/dialogue")" "$tally_want"
}

# passes|stopped CLIENT FROM [TO [PORT]] - one message; stopped at RCPT.
passes()
{
	tally 1 0 "${4:-$RIG_EXT}" "$1" "message $2 ${3:-alice@mx.rig.test}"
}

stopped()
{
	tally 0 1 "${4:-$RIG_EXT}" "$1" \
		"message $2 ${3:-alice@mx.rig.test}" &&
		grep '^< 550 5.7.1 .*Too much mail was sent or refused' \
			"$RIG/dialogue"
}

# banned KEY GROUP - the log says so.
banned()
{
	within 30 grep -F "ban: key=$1 group=$2 " "$log"
}

# no_ban TEXT - no ban has it in its line; a moment later neither.
no_ban()
{
	sleep 0.3
	lacks "ban: key=[^ ]*$1" "$log"
}

# ends KEY - when its last ban ends, as it is logged.
ends()
{
	grep -F "ban: key=$1 " "$log" | tail -n 1 |
		sed 's/.*until=\([^ ]*\).*/\1/'
}

ok=alice@mx.rig.test

# ---- OK: too much mail -----------------------------------------------------

oksender()
{
	with "$(group oksender 6 1h)"
	check "OKSENDER: five pass, the sixth is refused, the rest are banned" \
		tally 5 3 "$RIG_EXT" 127.0.1.1 "8xmessage flood@from.test $ok"
	check "the sixth is told why" \
		grep '^< 550 5.7.1 Too many messages .*OKSENDER' "$RIG/dialogue"
	check "it bans the address in its network" \
		banned 'flood@from.test|127.0.1.0/24' OKSENDER
	check "the next connection sees the ban" \
		stopped 127.0.1.1 flood@from.test
	check "so does a neighbour in its network" \
		stopped 127.0.1.77 flood@from.test
	check "a tag is no other sender" stopped 127.0.1.1 flood+x@from.test
	check "another sender notices nothing" passes 127.0.1.1 calm@from.test
	check "nor does the address elsewhere" passes 127.0.99.1 flood@from.test
	check "nor does the other daemon" \
		passes 127.0.1.1 flood@from.test "$ok" "$RIG_INT"
}

okip()
{
	with "$(group okip 6 1h)"
	check "OKIP: five senders pass, the sixth is refused" \
		tally 5 3 "$RIG_EXT" 127.0.2.1 "8xmessage ip%n@from.test $ok"
	check "it bans the client" banned 127.0.2.1 OKIP
	check "whoever it says it is" stopped 127.0.2.1 new@from.test
	check "not its neighbour" passes 127.0.2.2 ip1@from.test
	check "what was accepted is remembered" \
		tidemark query --from ip5@from.test
	check "what was refused at its end is not" \
		exits 1 tidemark query --from ip6@from.test
	check "nor at RCPT" exits 1 tidemark query --from ip7@from.test
}

refused_feeds_nothing()
{
	with "$(group oksender 3 1h);$(group okip 6 1h)"
	tally 2 4 "$RIG_EXT" 127.0.6.1 "6xmessage greedy@from.test $ok" \
		>"$RIG/greedy"
	check "what the sender got refused is not charged to its client" \
		tally 3 1 "$RIG_EXT" 127.0.6.1 "4xmessage meek%n@from.test $ok"
}

aborted()
{
	with "$(group oksender 6 1h)"
	talk "$RIG_EXT" 127.0.7.1 '8xMAIL FROM:<coy@from.test>' >/dev/null
	for _ in 1 2 3; do
		talk "$RIG_EXT" 127.0.7.1 'MAIL FROM:<coy@from.test>' \
			"RCPT TO:<$ok>" RSET 'MAIL FROM:<coy@from.test>' \
			"RCPT TO:<$ok>" RSET 'MAIL FROM:<coy@from.test>' \
			"RCPT TO:<$ok>" DATA drop >/dev/null
	done
	check "nine messages given up leave no charge" \
		tally 5 1 "$RIG_EXT" 127.0.7.1 "6xmessage coy@from.test $ok"
}

expiry()
{
	with "$(group oksender 3 2s)"
	tally 2 1 "$RIG_EXT" 127.0.8.1 "3xmessage brief@from.test $ok" \
		>/dev/null
	banned 'brief@from.test|127.0.8.0/24' OKSENDER >/dev/null
	check "a ban of two seconds stands" stopped 127.0.8.1 brief@from.test
	check "and ends" within 5 passes 127.0.8.1 brief@from.test
}

# ---- UN: guessing ----------------------------------------------------------

guessing()
{
	with "$(group unsender 6 1h)"
	talk "$RIG_EXT" 127.0.3.1 'MAIL FROM:<guess@from.test>' \
		'6xRCPT TO:<nosuch%n@mx.rig.test>' >/dev/null
	check "UNSENDER: guessing recipients bans the sender" \
		banned 'guess@from.test|127.0.3.0/24' UNSENDER
	check "who cannot write to those that exist" \
		stopped 127.0.3.1 guess@from.test
	talk "$RIG_EXT" 127.0.3.1 'MAIL FROM:<relay@from.test>' \
		'8xRCPT TO:<x%n@away.test>' >/dev/null
	check "being denied to relay happens" \
		grep '^< 550 5.7.1 .*Relaying denied' "$RIG/dialogue"
	check "and is no guessing" no_ban relay@

	with "$(group unip 6 1h)"
	for n in 1 2 3; do
		talk "$RIG_EXT" 127.0.4.1 "MAIL FROM:<un$n@from.test>" \
			'2xRCPT TO:<nosuch%n@mx.rig.test>' >/dev/null
	done
	check "UNIP: guessing as many senders bans the client" \
		banned 127.0.4.1 UNIP
	check "whoever it says it is next" stopped 127.0.4.1 new@from.test
}

# Who is banned learns nothing more, with ban_at = mail.
harvesting()
{
	with "$(group unsender 3 1h)"
	talk "$RIG_EXT" 127.0.21.1 'MAIL FROM:<reap@from.test>' \
		'3xRCPT TO:<nosuch%n@mx.rig.test>' >/dev/null
	banned 'reap@from.test|127.0.21.0/24' UNSENDER >/dev/null
	set -- 'MAIL FROM:<reap@from.test>' 'RCPT TO:<nosuch9@mx.rig.test>' \
		"RCPT TO:<$ok>" 'RCPT TO:<postmaster@mx.rig.test>'
	talk "$RIG_EXT" 127.0.21.1 "$@" >/dev/null
	check "at RCPT a banned guesser still learns who is there" \
		grep '^< 550 5.1.1' "$RIG/dialogue"
	check "and can write to postmaster" grep '^< 250 2.1.5' "$RIG/dialogue"
	with "ban_at = mail;$(group unsender 3 1h)"
	was=$(counter senders_banned)
	talk "$RIG_EXT" 127.0.21.1 "$@" >/dev/null
	check "ban_at = mail: refused at MAIL" \
		grep '^< 550 5.7.1 .*Too much mail' "$RIG/dialogue"
	check "without a word about any recipient" \
		lacks '^< \(550 5.1.1\|250 2.1.5\)' "$RIG/dialogue"
	check "counted" same "$(counter senders_banned)" $((was + 1))
	check "and logged" grep 'stage=mail .*from=<reap@.*reason=banned' "$log"
	tidemark why reap@from.test >"$RIG/why"
	check "why says that it shuts out postmaster, too" \
		grep 'postmaster and abuse (not where ban_at = mail)' "$RIG/why"
	check "who is not banned notices nothing" passes 127.0.21.1 \
		sower@from.test
	check "on the same connection neither" tally 1 1 "$RIG_EXT" 127.0.21.1 \
		"message reap@from.test $ok" "message sower@from.test $ok"
}

# ---- RB, SB ----------------------------------------------------------------

protected()
{
	with "protected_to = bob@mx.rig.test;$(group rbsender 3 1h);
		protected_from = boss@from.test @friends.test"
	talk "$RIG_EXT" 127.0.5.1 'MAIL FROM:<rb@from.test>' \
		'RCPT TO:<bob@mx.rig.test>' "RCPT TO:<$ok>" >/dev/null
	check "RBSENDER: a protected mailbox is closed" \
		grep '^< 550 5.7.1 .*does not take mail from you' \
		"$RIG/dialogue"
	check "only that one" grep '^< 250 2.1.5' "$RIG/dialogue"
	check "but to who may write to it" \
		passes 127.0.5.1 boss@from.test bob@mx.rig.test
	check "or to a domain that may" \
		passes 127.0.5.1 pal@friends.test bob@mx.rig.test
	talk "$RIG_EXT" 127.0.5.1 'MAIL FROM:<rb@from.test>' \
		'2xRCPT TO:<bob@mx.rig.test>' >/dev/null
	check "who goes on trying is banned" \
		banned 'rb@from.test|127.0.5.0/24' RBSENDER
	check "for every mailbox" stopped 127.0.5.1 rb@from.test
}

lengthened()
{
	with "$(group oksender 3 1h);$(group sbsender 3 2h)"
	key='keen@from.test|127.0.9.0/24'
	talk "$RIG_EXT" 127.0.9.1 "3xmessage keen@from.test $ok" >/dev/null
	banned "$key" OKSENDER >/dev/null
	first=$(ends "$key")
	talk "$RIG_EXT" 127.0.9.1 "2xmessage keen@from.test $ok" >/dev/null
	sleep 0.3
	check "SBSENDER: a few attempts leave a ban as it is" \
		same "$(ends "$key")" "$first"
	talk "$RIG_EXT" 127.0.9.1 "message keen@from.test $ok" >/dev/null
	check "one too many lengthens it" within 30 longer "$key" "$first" 7200
	check "it still says why it was made" banned "$key" OKSENDER
}

# longer KEY THEN SECONDS - it ends that much later now.
longer()
{
	echo "then $2, now $(ends "$1")"
	[ $(($(date -d "$(ends "$1")" +%s) - $(date -d "$2" +%s))) -eq "$3" ]
}

# ---- MTA-int: an account ---------------------------------------------------

account()
{
	login='AUTH PLAIN AGNhcm9sAHNlY3JldA=='
	with "" "$(group oksender 6 1h);allow_forgeable = @from.test;
		allow = alias1@from.test|127.0.10.0/24"
	check "an account is stopped within its burst, whatever it writes" \
		tally 5 3 "$RIG_INT" 127.0.10.1 "$login" \
		"8xmessage alias%n@from.test x@sink.test"
	check "it is the account that is banned" banned auth:carol OKSENDER
	check "from any network" tally 0 1 "$RIG_INT" 127.0.98.1 "$login" \
		"message alias99@from.test $ok"
	check "without a sender, too" tally 0 1 "$RIG_INT" 127.0.98.1 \
		"$login" "message <> $ok"
	check "others send on, also under its addresses" passes 127.0.10.1 \
		alias1@from.test "$ok" "$RIG_INT"
	check "and on the other daemon" passes 127.0.10.1 alias1@from.test
	with "" "$(group oksender 6 1h);allow = auth:carol"
	check "an account that is allowed is banned no more" tally 8 0 \
		"$RIG_INT" 127.0.10.1 "$login" "8xmessage a%n@from.test $ok"
}

# ---- allowances ------------------------------------------------------------

# said COUNT PATTERN - so many lines of the last dialogue.
said()
{
	same "$(grep -c "$2" "$RIG/dialogue")" "$1"
}

# Ten tokens, of which none comes back meanwhile; one a recipient, and one for
# each KiB that sendmail passes on as SIZE=.
allowances()
{
	with "" "tokens_mode = enforce;tokens_burst = 10;tokens_rate = 10/365d;tokens_per_data = 1024"
	rcpt="RCPT TO:<$ok>"
	talk "$RIG_INT" 127.0.19.1 'MAIL FROM:<data@from.test> SIZE=4096' \
		"3x$rcpt" RSET >/dev/null
	check "two recipients of 4 KiB take ten tokens" said 2 '^< 250 2.1.5 '
	check "a third is refused, with the reason" \
		said 1 '^< 554 5.7.1 .*Not enough tokens available'
	talk "$RIG_INT" 127.0.19.1 'MAIL FROM:<data@from.test>' "12x$rcpt" \
		drop >/dev/null
	check "given up, nothing was charged; without a size one each" \
		said 10 '^< 250 2.1.5 '
	check "past them none" said 2 '^< 554 5.7.1 '
	check "a lost connection gives back, too" within 10 \
		tally 10 1 "$RIG_INT" 127.0.19.1 \
		"11xmessage data@from.test $ok"
	check "others have their own" tally 10 0 "$RIG_INT" 127.0.19.1 \
		"10xmessage more@from.test $ok"
	check "the other daemon asks for none" tally 11 0 "$RIG_EXT" 127.0.19.1 \
		"11xmessage data@from.test $ok"
}

# ---- what stays open -------------------------------------------------------

dry_run()
{
	with "$(group oksender 6 1h dry-run)"
	was=$(counter bans_dry)
	check "dry-run refuses nothing" tally 8 0 "$RIG_EXT" 127.0.11.1 \
		"8xmessage dry@from.test $ok"
	check "it counts" within 30 more bans_dry "$was"
	check "and bans nobody" no_ban dry@
}

more()
{
	[ "$(counter "$1")" -gt "$2" ]
}

always_open()
{
	with "$(group oksender 3 1h)"
	talk "$RIG_EXT" 127.0.12.1 "3xmessage open@from.test $ok" >/dev/null
	banned 'open@from.test|127.0.12.0/24' OKSENDER >/dev/null
	check "one who is banned" stopped 127.0.12.1 open@from.test
	check "can write to postmaster" \
		passes 127.0.12.1 open@from.test postmaster@mx.rig.test
	check "in any letters" \
		passes 127.0.12.1 open@from.test PostMaster@mx.rig.test
	with "$(group oksender 3 1h);
		allow = open@from.test|127.0.12.0/24 127.0.13.0/24"
	check "and to all when on the allow list" \
		passes 127.0.12.1 open@from.test
	check "its address is no pass for others" tally 2 1 "$RIG_EXT" \
		127.0.20.1 "3xmessage open@from.test $ok"
	check "an allowed network is not charged" tally 6 0 "$RIG_EXT" \
		127.0.13.1 "6xmessage friend@from.test $ok"
	check "nor banned" no_ban friend@
}

null_sender()
{
	with "$(group oksender 3 1h);$(group okip 6 1h)"
	check "the null sender is charged to its client alone" \
		tally 5 1 "$RIG_EXT" 127.0.14.1 "6xmessage <> $ok"
	check "which is banned" banned 127.0.14.1 OKIP
	check "no sender is" no_ban '|127.0.14'
}

forgery()
{
	with "$(group oksender 3 1h)"
	forged=0
	for net in 1 2 3 4 5 6 7 8 9 10; do
		tally 2 2 "$RIG_EXT" "127.0.$((100 + net)).1" \
			"4xmessage victim@from.test $ok" >/dev/null &&
			banned "victim@from.test|127.0.$((100 + net)).0/24" \
				OKSENDER >/dev/null &&
			forged=$((forged + 1))
	done
	check "an address forged in ten networks is banned in all ten" \
		same "$forged" 10
	check "its owner's mail passes" passes 127.0.120.1 victim@from.test
}

# ---- the collector is away; bypass -----------------------------------------

stale()
{
	patience=500ms
	with "$(group oksender 6 1h)"
	patience=10min
	talk "$RIG_EXT" 127.0.15.1 "4xmessage stale@from.test $ok" >/dev/null
	sleep 0.2
	collector=$(pid_of collector) || return
	was=$(counter pulse_stale)
	kill -STOP "$collector"
	sleep 0.8
	check "while the collector is stopped nothing is refused" tally 4 0 \
		"$RIG_EXT" 127.0.15.1 "4xmessage stale@from.test $ok"
	check "the log says why" \
		grep 'from=<stale@.*verdict=accept reason=stale' "$log"
	kill -CONT "$collector"
	check "and it is counted" within 30 more pulse_stale "$was"
}

bypass()
{
	with "$(group oksender 3 1h);$(group sbsender 3 2h)"
	key='by@from.test|127.0.16.0/24'
	talk "$RIG_EXT" 127.0.16.1 "3xmessage by@from.test $ok" >/dev/null
	banned "$key" OKSENDER >/dev/null
	first=$(ends "$key")
	check "bypass" tidemark bypass on --for 1h
	check "lets the banned pass" tally 8 0 "$RIG_EXT" 127.0.16.1 \
		"8xmessage by@from.test $ok"
	check "and everybody else" tally 8 0 "$RIG_EXT" 127.0.16.1 \
		"8xmessage free@from.test $ok"
	check "bypass off" tidemark bypass off
	check "the ban stands again" stopped 127.0.16.1 by@from.test
	check "no longer than before" same "$(ends "$key")" "$first"
	check "nothing was charged meanwhile" passes 127.0.16.1 free@from.test
}

# ---- CB: blocked content ---------------------------------------------------

# flags COUNT FROM - so many messages with a forged header of a filter pass.
flags()
{
	n=$1
	while [ "$n" -gt 0 ]; do
		rig_send "$RIG_EXT" "$2" "$ok" -- \
			--add-header 'X-Spam-Flag: YES' >"$RIG/flags" ||
			return
		n=$((n - 1))
	done
	cat "$RIG/flags"
}

# The other filter marks what goes to spam-ANYTHING; it asks for relaying, so
# the client is 127.0.0.1 here.
content()
{
	with "$(group cbsender 3 1h)"
	check "without a rule nobody looks at headers" tally 4 0 "$RIG_EXT" \
		127.0.0.1 "4xmessage cb0@from.test spam-x@sink.test"
	rule="content_blocked_header = X-Virus:Found x-spam-flag:yes;content_blocked_mark = k7Qf2mP9"
	with "$rule;$(group cbsender 3 1h)"
	check "CBSENDER: two blocked messages pass, the third is refused" \
		tally 2 2 "$RIG_EXT" 127.0.0.1 \
		"4xmessage cb@from.test spam-x@sink.test"
	check "and told why" grep '^< 550 5.7.1 .*CBSENDER' "$RIG/dialogue"
	check "the sender is banned" banned 'cb@from.test|127.0.0.0/24' CBSENDER
	check "the log says what was blocked" \
		grep 'from=<cb@.*verdict=accept .*content=blocked' "$log"
	check "clean mail is none" tally 4 0 "$RIG_EXT" 127.0.0.1 \
		"4xmessage clean@from.test x@sink.test"
	check "nor is what comes after a blocked one" tally 5 0 "$RIG_EXT" \
		127.0.0.1 "2xmessage both@from.test spam-x@sink.test" \
		"3xmessage both@from.test x@sink.test"

	check "who forges the header is not blocked" flags 4 cbf@from.test
	check "nor banned" no_ban cbf@

	with "$rule;$(group oksender 3 1h)"
	check "blocked messages are drops for the OK groups, too" tally 2 2 \
		"$RIG_EXT" 127.0.0.1 \
		"1xmessage ok@from.test spam-x@sink.test" \
		"3xmessage ok@from.test x@sink.test"
	check "a forged header is no way round them" fails flags 3 okf@from.test
	check "it bans as any mail" banned 'okf@from.test|127.0.0.0/24' OKSENDER

	with "$rule;$(group cbip 3 1s)"
	check "CBIP: blocked messages of many senders" tally 2 1 "$RIG_EXT" \
		127.0.0.1 "3xmessage cbip%n@from.test spam-x@sink.test"
	check "ban the client" banned 127.0.0.1 CBIP
	sleep 1.2
}

# ---- the hook --------------------------------------------------------------

# The slow one goes with the rig, should nobody kill it.
hook()
{
	install -d -o daemon "$RIG/hooked"
	cat >"$RIG/bin/hook" <<-END
		#!/bin/sh
		case \$TIDEMARK_KEY in
		slow*)	echo \$\$ >$RIG/hooked/slow
			while [ -d $RIG/hooked ]; do sleep 1; done ;;
		bad*)	exit 3 ;;
		esac
		ls -l /proc/self/fd/ >$RIG/hooked/fds
		env | grep ^TIDEMARK_ | sort >$RIG/hooked/new
		mv $RIG/hooked/new $RIG/hooked/\${TIDEMARK_KEY%%@*}
	END
	chmod 755 "$RIG/bin/hook"
	with "$(group oksender 3 1h);$(group sbsender 2 2h)" "" \
		"ban_hook = $RIG/bin/hook"
	for who in slow bad hooked; do
		talk "$RIG_EXT" 127.0.17.1 \
			"3xmessage $who@from.test $ok" >/dev/null
	done
	slow_since=$(date +%s)
	key='hooked@from.test|127.0.17.0/24'
	check "a ban runs the hook, though another one takes its time" \
		within 30 test -s "$RIG/hooked/hooked"
	sort >"$RIG/want" <<-END
		TIDEMARK_GROUP=OKSENDER
		TIDEMARK_KEY=$key
		TIDEMARK_PROFILE=external
		TIDEMARK_TIMES=1
		TIDEMARK_UNTIL=$(ends "$key")
	END
	check "with the facts in its environment" \
		diff "$RIG/want" "$RIG/hooked/hooked"
	check "and no descriptor of ours" \
		lacks 'mdb\|socket\|tidemark.log' "$RIG/hooked/fds"
	check "a hook that fails is told of" \
		within 30 grep 'ban_hook: exit status 3' "$log"
	rm "$RIG/hooked/hooked"
	first=$(ends "$key")
	talk "$RIG_EXT" 127.0.17.1 "2xmessage hooked@from.test $ok" >/dev/null
	within 30 longer "$key" "$first" 7200 >/dev/null
	sleep 0.3
	check "a ban that is lengthened does not run it again" \
		test ! -e "$RIG/hooked/hooked"
	check "the slow one runs meanwhile" \
		kill -0 "$(cat "$RIG/hooked/slow")"
	with "" "" ""
}

hook_ends()
{
	while [ $(($(date +%s) - slow_since)) -lt 29 ]; do
		sleep 1
	done
	check "a hook is killed after 30 s" within 10 \
		fails kill -0 "$(cat "$RIG/hooked/slow")"
	check "and told of" within 30 grep 'ban_hook: took too long' "$log"
}

# ---- bans are durable ------------------------------------------------------

survival()
{
	key='tough@from.test|127.0.18.0/24'
	with "$(group oksender 3 1h)"
	talk "$RIG_EXT" 127.0.18.1 "3xmessage tough@from.test $ok" >/dev/null
	banned "$key" OKSENDER >/dev/null
	for which in collector acceptor; do
		was=$(pid_of "$which") && kill -KILL "$was"
		check "the $which is killed as soon as a ban is logged" \
			within 20 replaced "$which" "$was"
		check "and the ban stands" stopped 127.0.18.1 tough@from.test
	done

	for who in tougher toughest; do
		talk "$RIG_EXT" 127.0.18.1 "3xmessage $who@from.test $ok" \
			>/dev/null
		banned "$who@from.test|127.0.18.0/24" OKSENDER >/dev/null
		collector=$(pid_of collector)
		acceptor=$(pid_of acceptor)
		kill -KILL "$(rig_pid tidemarkd)" "$collector" "$acceptor"
		rig_end tidemarkd KILL
		rm -f "$RIG/run/live.mdb"
		check "everything is killed and the live map lost" launch
		check "the ban of $who stands" \
			stopped 127.0.18.1 "$who@from.test"
	done
	check "so does the first one" stopped 127.0.18.1 tough@from.test
	check "others write on" passes 127.0.18.1 soft@from.test
}

settings "log_level = debug;pulse_stale = $patience" "" "on_error = tempfail"
if check "Tidemark starts" launch; then
	oksender
	okip
	hook
	refused_feeds_nothing
	aborted
	expiry
	guessing
	harvesting
	protected
	lengthened
	account
	allowances
	dry_run
	always_open
	null_sender
	forgery
	stale
	bypass
	content
	hook_ends
	survival
fi
tap_end
