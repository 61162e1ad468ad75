#!/bin/sh
# t_spam.sh - reported spam, on a daemon at work: met again in another
# encoding and for another recipient, met when a few words differ, revoked;
# generations fade; what is acknowledged survives kill -9 and the loss of the
# map.
#
# takes: 19s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

story='Dear customer, the parcel that you ordered last week could not be
delivered to your address because nobody was at home when our driver rang.
Please confirm your payment details within three days at the usual place, or
we will have to send it back to the sender at your own expense. If you have
already paid the fee, ignore this notice and wait for the courier, who will
come between eight and noon on the next working day. We regret any delay that
the weather of the past days may have caused and thank you for your patience.
Kind regards from everybody in the delivery team of the northern district.'
other='Minutes of the meeting of the gardening club, held on the first of May
at the town hall. Present were eleven members and two guests from abroad. The
treasurer reported that the fund for the new greenhouse has grown to nine
hundred, of which four hundred came from the spring sale of tomato plants. It
was decided to buy seeds for the autumn together and to meet again in July.'

# message FILE FROM TO TEXT [ENCODING]
message()
{
	{
		printf 'From: %s\nTo: %s\nSubject: hello\nMIME-Version: 1.0\n' \
		    "$2" "$3"
		printf 'Content-Type: text/plain; charset=utf-8\n'
		case ${5:-} in
		base64*)
			printf 'Content-Transfer-Encoding: base64\n\n'
			printf '%s\n' "$4" | base64 -w "${5#base64:}"
			;;
		*) printf '\n%s\n' "$4" ;;
		esac
	} >"$1"
}

# mail FILE FROM TO - it goes through the milter.
mail()
{
	{
		printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\n' \
		    "$2" "$2"
		cat "$1"
		echo
	} >"$D/box"
	"$FEED" -s "local:$D/run/external.sock" -n 1 --client 192.0.2.7 \
	    --quiet "$D/box" >"$D/mail.out" 2>&1
	cat "$D/mail.out"
}

passes()
{
	mail "$@" && [ "$(of rejected "$D/mail.out")" -eq 0 ] &&
	    [ "$(of acked "$D/mail.out")" -eq 1 ]
}

refused()
{
	mail "$@"
	[ "$(of rejected "$D/mail.out")" -eq 1 ]
}

is_spam()
{
	exits 0 tidemark spam test "$@"
}

no_spam()
{
	exits 1 tidemark spam test "$@"
}

on='spam_mode = enforce'
daemon_conf 'spam_reports = 500' '[profile external]' "$on" \
    'protected_to = postmaster@closed.example'
check "starts" daemon_start

# ---- report, met, revoke -------------------------------------------------

message "$D/m1" x@spam.example ann@example.org "$story
This was sent to ann@example.org."
message "$D/m2" y@spam.example bob.jones@example.net "$story
This was sent to Bob.Jones@example.net." base64:40
message "$D/m3" y@spam.example bob@example.net "$(echo "$story" |
    sed 's/parcel/packet/; s/driver/boy/; s/expense/cost/; s/noon/one/')"
message "$D/ham" z@club.example ann@example.org "$other"
message "$D/short" z@club.example ann@example.org "thanks!"

check "not known yet" no_spam "$D/m1"
check "passes" passes "$D/m1" x@spam.example
check "reported" says 'reported, in generation 1' tidemark spam report "$D/m1"
check "is spam now, by its text" says '^spam: text, of generation 1' \
    tidemark spam test "$D/m1"
check "from standard input, too" sh -c "$B/tidemark -c $conf spam test <$D/m1"
check "what was hashed is shown" says '^text  *[0-9a-f]\{32\}  reported' \
    tidemark spam test "$D/m1"
check "another wrapping, another recipient: the same text" \
    says '^spam: text' tidemark spam test "$D/m2"
check "a few words changed: a near copy" says '^spam: near copy' \
    tidemark spam test "$D/m3"
check "other mail is none" no_spam "$D/ham"
check "is refused" refused "$D/m1" x@spam.example
check "so is the other wrapping" refused "$D/m2" y@spam.example
check "and the near copy" refused "$D/m3" y@spam.example
check "the log says which" says 'reason=spam.*spam=near generation=1' \
    tail -n 1 "$D/log"
check "other mail passes" passes "$D/ham" z@club.example
check "why knows" says 'reason=spam' tidemark why x@spam.example
check "counted" test "$(counter spam_met)" -eq 3
check "as near copies, too" test "$(counter spam_met_near)" -eq 1
check "blocked for its content" test "$(counter content_blocked)" -eq 3
message "$D/m4" y@spam.example \
    'postmaster@closed.example, ann@example.org' "$story"
check "a postmaster who was refused lets it through to nobody" \
    refused "$D/m4" y@spam.example
check "too little text is not reported" exits 1 tidemark spam report \
    "$D/short"
check "nor met" no_spam "$D/short"
check "an exception" tidemark except add y@spam.example
check "lets it pass" passes "$D/m2" y@spam.example
tidemark except del y@spam.example >/dev/null
check "revoked" tidemark spam revoke "$D/m1"
check "is no spam" says 'revoked in generation 1' tidemark spam test "$D/m1"
check "passes again" passes "$D/m1" x@spam.example
check "in the other wrapping, too" passes "$D/m2" y@spam.example
check "and its near copies" passes "$D/m3" y@spam.example
check "statistics" says '1 reported, 1 revoked, of 500' tidemark spam stats
check "statistics for programs" says '"reported":1,"revoked":1' \
    tidemark spam stats --json
check "a test for programs" says '"spam":false,"how":"no"' \
    tidemark spam test --json "$D/m1"

# ---- attachments ---------------------------------------------------------

perl -e 'srand 7; print chr(rand 256) for 1..5000' >"$D/file"
# with_file FILE TEXT WIDTH
with_file()
{
	{
		printf 'From: a@b.example\nTo: c@d.example\nMIME-Version: 1.0\n'
		printf 'Content-Type: multipart/mixed; boundary=xx\n\n--xx\n'
		printf 'Content-Type: text/plain\n\n%s\n--xx\n' "$2"
		printf 'Content-Type: application/pdf; name=a.pdf\n'
		printf 'Content-Transfer-Encoding: base64\n\n'
		base64 -w "$3" "$D/file"
		printf -- '--xx--\n'
	} >"$1"
}
with_file "$D/f1" "$other" 76
with_file "$D/f2" "an entirely different text around the same attachment, of more than sixty letters" 60
check "a message with a file is reported" says 'its text, 1 file' \
    tidemark spam report "$D/f1"
check "the file is met elsewhere" says '^spam: file' tidemark spam test "$D/f2"
check "revoked with it" tidemark spam revoke "$D/f1"
check "no more" no_spam "$D/f2"

# ---- what survives -------------------------------------------------------

message "$D/m4" x@spam.example ann@example.org "$(echo "$story" | rev)"
check "reported once more" tidemark spam report "$D/m4"
check "the collector is killed at once" kill_collector
check "it is there" is_spam "$D/m4"
check "the map is lost" lose_map
check "it is there, still" is_spam "$D/m4"
check "what was revoked is" no_spam "$D/m1"
check "counts are right" says '3 reported, 2 revoked' tidemark spam stats

# many COUNT - reports of made-up signatures, over the control socket.
many()
{
	perl -MIO::Socket::UNIX -e '
		srand 5;
		sub word { join "", map { sprintf "%04x", rand 65536 } 1..4 }
		my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!;
		for (1 .. $ARGV[1]) {
			my $m = join " ", "Subject: x\n\n", map { word() } 1..99;
			print $s "message begin=1\nmessage raw=", length $m,
			    "\n${m}spam kind=report\n";
			my $said = <$s>;
			$said =~ /^spam generation=1/ or die $said;
			<$s> eq "ok\n" or die;
		}' "$D/run/control.sock" "$1"
}
message "$D/m5" x@spam.example ann@example.org "$(echo "$other" | rev)"
check "many reports, so that filters are stored in between" many 280
check "one more" tidemark spam report "$D/m5"
check "the map is lost again" lose_map
check "the last one is there" is_spam "$D/m5"
check "the first one is there" is_spam "$D/m4"
check "all are counted" says '284 reported, 2 revoked' tidemark spam stats
check "a report without a message is refused" says '^err' perl \
    -MIO::Socket::UNIX -e '
	my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!;
	print $s "spam kind=report\n"; print scalar <$s>' \
    "$D/run/control.sock"

# ---- actions -------------------------------------------------------------

sed -i 's/^spam_mode.*/&\nspam_action = tag/' "$conf"
check "tag, by reload" tidemark reload
check "passes" passes "$D/m4" x@spam.example
check "and says so" says 'verdict=accept reason=spam' tail -n 1 "$D/log"
sed -i 's/^spam_action.*/spam_action = tempfail/' "$conf"
check "tempfail, by reload" tidemark reload
mail "$D/m4" x@spam.example >/dev/null
check "is put off" says 'verdict=tempfail reason=spam' tail -n 1 "$D/log"
sed -i 's/^spam_mode.*/spam_mode = dry-run/' "$conf"
check "dry-run, by reload" tidemark reload
check "lets it pass" passes "$D/m4" x@spam.example
check "and says so" says 'verdict=accept reason=- .*spam=text' \
    tail -n 1 "$D/log"

# ---- generations fade ----------------------------------------------------

generation_is()
{
	tidemark spam stats | grep -q "^generation $1 "
}
daemon_stop
daemon_conf 'spam_reports = 500' 'spam_generation = 3s' '[profile external]' \
    "$on"
check "starts with short generations" daemon_start
message "$D/m6" x@spam.example ann@example.org "$(echo "$story" | tac)"
check "reported" tidemark spam report "$D/m6"
check "met" is_spam "$D/m6"
check "generations begin" within 60 generation_is 7
check "and the report fades" within 60 no_spam "$D/m6"
check "the old ones, too" no_spam "$D/m4"
daemon_stop
daemon_conf 'spam_reports = 600' '[profile external]' "$on"
check "starts with other sizes" daemon_start
check "what was reported is forgotten, and that is said" says \
    'spam: .*are forgotten' grep 'spam:' "$D/log"
check "a report" tidemark spam report "$D/ham"
check "is met" is_spam "$D/ham"
tap_end
