# words.sh - what make.sh and t_upgrade.sh have in common: another time to live
# in, letters, and facts: what Tidemark says of what it knows, without what
# changes by itself.  Source it after daemon.sh.
# shellcheck shell=sh disable=SC2034,SC2154 # of those who source, or sourced

POLICY=${POLICY:-$B/tests/load/policy}

# ---- another time ------------------------------------------------------------

# then_programs - from here on, our programs run with then.c in front.
then_programs()
{
	then_so=$D/then.so then_bin=$(realpath "$B")
	${CC:-cc} -D_GNU_SOURCE -O1 -shared -fPIC -o "$then_so" \
	    tests/upgrade/then.c && mkdir "$D/bin" || return 1
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$then_so" \
	    "$then_bin/tidemarkd" >"$D/bin/tidemarkd"
	chmod +x "$D/bin/tidemarkd"
	B=$D/bin
}

tidemark()
{
	LD_PRELOAD=$then_so "$then_bin/tidemark" -c "$conf" "$@"
}

# clocks - wall and monotonic, in ms, as they are or would be then.
clocks()
{
	perl -MTime::HiRes=clock_gettime,CLOCK_REALTIME,CLOCK_MONOTONIC -e '
		printf "%d %d\n", clock_gettime(CLOCK_REALTIME) * 1000 + $ARGV[0],
		    clock_gettime(CLOCK_MONOTONIC) * 1000 + $ARGV[1]' \
	    -- "${THEN_WALL_MS:-0}" "${THEN_MONO_MS:-0}"
}

# then_is WALL MONO BOOT_ID - it is that time now, and goes on from there.
then_is()
{
	THEN_WALL_MS=0 THEN_MONO_MS=0
	# shellcheck disable=SC2046 # two numbers
	set -- "$@" $(clocks)
	THEN_WALL_MS=$(($1 - $4)) THEN_MONO_MS=$(($2 - $5)) THEN_BOOT_ID=$3
	export THEN_WALL_MS THEN_MONO_MS THEN_BOOT_ID
}

# ---- letters -----------------------------------------------------------------

alpha='The harbour master has counted forty herring boats and two lighters
this morning, and wishes to know who moored the grey one at the coal pier.'
beta='Die Bücherei am Wörthersee öffnet übermorgen später, weil der Schlüssel
in Łódź geblieben ist; Grüße an alle, auch an пользователь und Ελένη.'
bulk='Our unbeatable offer of seed trays is valid for a few days only, so make
haste and order ten of them today, before your neighbours on the hill do.'
late='Only now, after everything was written down, the last ferry came in with
eleven passengers, a crate of oranges and one very old bicycle on deck.'
never='Nobody has ever written that the seventeen purple giraffes of Aunt
Marguerite were seen dancing on the roof of the municipal observatory.'
spam1='Dear customer, the parcel that you ordered last week could not be
delivered to your address because nobody was at home when our driver rang.
Please confirm your payment details within three days at the usual place, or
we will have to send it back to the sender at your own expense. If you have
already paid the fee, ignore this notice and wait for the courier, who will
come between eight and noon on the next working day. We regret any delay that
the weather of the past days may have caused and thank you for your patience.'
spam1_near='Dear customer, the packet that you ordered last week could not be
delivered to your address because nobody was at home when our driver rang.
Please confirm your payment details within three days at the usual place, or
we will have to send it back to the sender at your own cost. If you have
already paid the fee, ignore this notice and wait for the courier, who will
come between eight and one on the next working day. We regret any delay that
the weather of the past days may have caused and thank you for your patience.'
spam2='Congratulations! Your number was drawn from a drum of nine hundred
thousand, and the sum of two million is waiting in a vault for you alone. Send
us a copy of your passport and a small fee for the notary, and speak to nobody
about it until the papers have arrived, since jealous neighbours may object.'
spam3='Make your garden the envy of the street with our miracle fertiliser, as
seen on television. One spoon makes a turnip grow to the size of a barrel; two
spoons are forbidden in four countries. Reply today and get a second jar free.'
revoked='Minutes of the meeting of the gardening club, held on the first of May
at the town hall. Present were eleven members and two guests from abroad. The
treasurer reported that the fund for the new greenhouse has grown to nine
hundred, of which four hundred came from the spring sale of tomato plants.'

# letter FROM TO TEXT [HEADER] - a mailbox of one message.
letter()
{
	printf 'From x Mon Mar  3 07:52:10 2025\nX-Envelope-From: <%s>\n' "$1"
	printf 'X-Envelope-To: %s\n' "$2"
	message "$@"
	echo
}

# message FROM TO TEXT [HEADER]
message()
{
	printf 'From: %s\nTo: %s\nSubject: x\nMIME-Version: 1.0\n' "$1" "$2"
	printf 'Content-Type: text/plain; charset=utf-8\n%s\n%s\n' \
	    "${4:+$4
}" "$3"
}

# the_file - what is attached to a letter.
the_file()
{
	perl -e 'srand 7; print chr(rand 256) for 1..3000'
}

letter_with_file()
{
	printf 'From x Mon Mar  3 07:52:10 2025\nX-Envelope-From: <%s>\n' "$1"
	printf 'From: %s\nTo: %s\nSubject: x\nMIME-Version: 1.0\n' "$1" "$2"
	printf 'Content-Type: multipart/mixed; boundary=xx\n\n--xx\n'
	printf 'Content-Type: text/plain\n\n%s\n--xx\n' "$3"
	printf 'Content-Type: application/pdf; name=a.pdf\n'
	printf 'Content-Transfer-Encoding: base64\n\n'
	the_file | base64
	printf -- '--xx--\n\n'
}

# post COUNT PROFILE CLIENT [FEED-OPTION...] - of the mailbox $D/box; how many
# passed is in $passed.
post()
{
	post_n=$1 post_to=$2 post_client=$3
	shift 3
	"$FEED" -s "local:$D/run/$post_to.sock" -n "$post_n" \
	    --client "$post_client" --daemon X --quiet "$@" "$D/box" \
	    >"$D/post.out" 2>"$D/replies"
	cat "$D/post.out" "$D/replies"
	passed=$(of acked "$D/post.out")
}

# sends COUNT PROFILE CLIENT FROM TO TEXT [FEED-OPTION...] - likewise; true if
# all of them passed.
sends()
{
	letter "$4" "$5" "$6" "${header:-}" >"$D/box"
	sends_n=$1 sends_to=$2 sends_client=$3
	shift 6
	post "$sends_n" "$sends_to" "$sends_client" "$@"
	same "$passed passed" "$sends_n passed"
}

# left_of PROFILE USER - so many recipients of twelve would be accepted, of a
# message that is then given up: nothing is taken.
left_of()
{
	letter "$2@example.org" "$(seq -s, -f 'left%g@example.net' 12)" x \
	    >"$D/box"
	post 1 "$1" 192.0.2.33 --auth "$2" --abort --replies >/dev/null
	echo $((12 - $(wc -l <"$D/replies")))
}

# policy_left_of USER - likewise, by the policy server.
policy_left_of()
{
	seq -f "RCPT left.$1 user=$1 to=left%g@example.net" 12 |
	    "$POLICY" -s "local:$D/run/out-policy.sock" >"$D/replies"
	grep -c DUNNO "$D/replies"
}

# ---- facts -------------------------------------------------------------------

# pick TYPE FIELD... - of records of a type, those fields; sorted, unless lines
# "= LABEL" stand between them, and "! STATUS" behind.
pick()
{
	# shellcheck disable=SC2016 # perl, by intent
	perl -MJSON::PP -e '
		$type = shift;
		$json = JSON::PP->new->utf8->canonical;
		while (<STDIN>) {
			$label = "$1 ", next if /^= (.*)/;
			push(@all, "${label}exit $1\n"), next if /^! (.*)/;
			$r = $json->decode($_);
			die "no version" unless $r->{version} == 1;
			next unless $r->{type} eq $type;
			push @all, $label . $json->encode(
			    { map { $_ => $r->{$_} } @ARGV }) . "\n";
		}
		print defined $label ? @all : sort @all' "$@"
}

# of_status EXPRESSION - of `status --json', $r.
of_status()
{
	tidemark status --json | perl -MJSON::PP -e '
		$json = JSON::PP->new->utf8->canonical->allow_nonref;
		$r = $json->decode(join "", <STDIN>);
		print $json->encode(eval $ARGV[0]), "\n"' "$1"
}

# Of the hash key, a digest.
fact_key()
{
	tidemark export --key | sha256sum | cut -d' ' -f1
}

fact_profiles()
{
	tidemark dump --archive --json | pick profile name tag
}

fact_windows()
{
	tidemark dump --archive --json | pick window number from_ms until_ms \
	    messages senders recipients content cut unread wire text profiles \
	    overfilled
}

# Times of which nothing is known: those that were noted, and those without
# a window.
fact_gaps()
{
	tidemark dump --archive --json | pick lapse from_ms until_ms kind
}

fact_off()
{
	tidemark query --since "@$first" --until "@$second_end" --json \
	    --from nobody@never.example | pick gap from_ms until_ms kind
}

# The window that was open, number $open: wherever it is now.
fact_open()
{
	open_is=$(tidemark dump --archive --json |
	    pick window number from_ms messages | grep "\"number\":$open}")
	# shellcheck disable=SC2016 # perl, by intent
	echo "${open_is:-$(of_status '({ number => $r->{window}{number},
		from_ms => $r->{window}{opened_ms},
		messages => $r->{window}{messages} })')}"
}

# ask NAME OPTION... - a query, and how it ended; for answers().
ask()
{
	echo "= $1"
	shift
	tidemark query --json "$@"
	echo "! $?"
}

# answers - of those, a line each.
answers()
{
	# shellcheck disable=SC2016 # perl, by intent
	perl -MJSON::PP -ne '
		if (/^= (.*)/) {
			print "$1 ";
			@windows = ();
		} elsif (/^! (.*)/) {
			print "exit $1, $verdict, in (@windows)\n";
		} else {
			$r = decode_json($_);
			$verdict = $r->{verdict} if $r->{type} eq "answer";
			push @windows, join " ", $r->{number},
			    $r->{profiles} // () if $r->{type} eq "window";
		}'
}

# An address is asked for as it was spelled.  The times that were covered, in
# seconds, are from $first to $first_end and from $second to $second_end.
questions()
{
	the_file >"$D/file"
	whole="--since @$first --until @$second_end"
	# shellcheck disable=SC2086 # words, by intent
	for who in anna@alpha.example Anna@ALPHA.example @alpha.example \
	    bücher@bücher.example @bücher.example \
	    kunde@xn--bcher-kva.example @xn--bcher-kva.example \
	    пользователь@example.org '<>' carla@gamma.example; do
		ask "from $who:" $whole --from "$who"
	done
	# shellcheck disable=SC2086
	for who in bob@example.org пользователь@example.org \
	    leser@bücher.example @example.org a4@to.example; do
		ask "to $who:" $whole --to "$who"
	done
	# shellcheck disable=SC2086
	{
		ask "text alpha:" $whole --text "$alpha"
		ask "a part of it:" $whole --text "$(echo "$alpha" |
		    tr -d ',\n' | cut -c12-120)"
		ask "text beta:" $whole --text "$beta"
		ask "text bulk:" $whole --text "$bulk"
		ask "file:" $whole --file "$D/file"
		ask "never sender:" $whole --from nobody@never.example
	}
	n=0
	for day in "$first $first_end" "$second $second_end"; do
		n=$((n + 1))
		day="--since @${day% *} --until @${day#* }"
		# shellcheck disable=SC2086
		{
			ask "day $n, never sender:" $day \
			    --from nobody@never.example
			ask "day $n, never recipient:" $day \
			    --to nobody@never.example
			ask "day $n, never text:" $day --text "$never"
			ask "day $n, anna:" $day --from anna@alpha.example
		}
	done
	ask "off:" --since "@$first_end" --until "@$second" \
	    --from nobody@never.example
}

fact_answers()
{
	questions | answers
}

fact_bans()
{
	tidemark banned --json | pick ban key by_hand group profile reason \
	    since_ms until_ms times
}

fact_buckets()
{
	tidemark bucket list --json | pick bucket profile group key level \
	    depth overflowed
}

# Those that a start, or a question, does not move.
fact_counters()
{
	# shellcheck disable=SC2016 # perl, by intent
	tidemark status --json | perl -MJSON::PP -e '
		$json = JSON::PP->new->utf8->canonical;
		$all = $json->decode(join "", <STDIN>)->{counters};
		for (sort keys %$all) {
			next if /^(audits|(acceptor|collector)_starts|control_.*
			    |checkpoints|windows_sealed|lapses|workers_.*
			    |reloads|pulse_stale|archive_failures)$/x;
			next unless $all->{$_}{total};
			$by = $all->{$_}{profiles} || {};
			delete @$by{grep { !$by->{$_} } keys %$by};
			print "$_ ", $json->encode($all->{$_}), "\n";
		}'
}

# What is left to whom, of twelve recipients.
fact_allowances()
{
	for user in ann bob vip fresh; do
		echo "internal $user $(left_of internal $user)"
	done
	for user in pia fresh; do
		echo "submission $user $(policy_left_of $user)"
	done
}

fact_bulk()
{
	for what in bulk alpha never; do
		eval "text=\$$what"
		echo "= $what"
		# shellcheck disable=SC2154 # just set
		message s@sender.example r@rcpt.example "$text" |
		    tidemark bulk test --json
		echo "! $?"
	done | pick count own neighbours more since_ms
	tidemark bulk stats --json | pick generation current since_ms cells \
	    bits used neighbours_used
}

fact_addresses()
{
	tidemark addresses stats --json | pick addresses form capacity \
	    addresses list change loaded_ms
	tidemark addresses test --json bad@spam.example any@worse.example \
	    später@spam.example added@spam.example gone@spam.example \
	    ann@example.org | pick address key listed excepted spam
}

fact_exceptions()
{
	tidemark except list --json | pick exception key reason since_ms
}

fact_spam()
{
	for what in spam1 spam1_near spam2 spam3 revoked never; do
		eval "text=\$$what"
		echo "= $what"
		message x@spam.example who@example.org "$text" |
		    tidemark spam test --json
		echo "! $?"
	done | pick spam_test spam how generation since_ms
	tidemark spam stats --json | pick spam_generation generation began_ms \
	    reported revoked
}

fact_egress()
{
	for list in deny permit; do
		tidemark egress $list list --json | pick egress list net \
		    customer server reason origin since_ms until_ms
	done
	tidemark egress deny check 203.0.113.77 >/dev/null
	echo "denied $?"
	tidemark egress permit check 10.1.2.3 198.51.100.7 >/dev/null
	echo "permitted $?"
	tidemark egress permit check 10.1.2.3 198.51.100.8 >/dev/null
	echo "not permitted $?"
}

fact_bypass()
{
	# shellcheck disable=SC2016 # perl, by intent
	of_status '$r->{bypass_until_ms}'
}
