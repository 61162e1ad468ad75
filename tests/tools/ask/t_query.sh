#!/bin/sh
# t_query.sh - questions about content against a running daemon: mail in odd
# encodings, files, messages, gaps and guesses, and what was not remembered.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# ---- messages made for the test ------------------------------------------------

make_mail()
{
	perl -CA -Mutf8 -MEncode -MMIME::Base64 -MMIME::QuotedPrint - "$D" <<-'END'
	use strict; use warnings;
	my $d = shift;
	sub mail {
		my ($name, $from, $text) = @_;
		open my $f, ">", "$d/$name.eml" or die; binmode $f;
		print $f $text; close $f;
		open $f, ">", "$d/$name.mbox" or die; binmode $f;
		print $f "From $from Mon Mar  3 08:15:42 2025\n$text\n"; close $f;
	}
	my $head = "Return-Path: <ann\@harbour.example>\n" .
	    "X-Envelope-To: tomas\@example.org\nMIME-Version: 1.0\n";
	# base64, HTML, ISO-2022-JP
	my $ja = "<html><body><p>お客様のアカウントは一時的に制限されました。" .
	    "<b>二十四時間以内に</b>下記のリンクから本人確認を行ってください。</p>" .
	    "<style>p { color: red }</style>" .
	    "<a href=\"https://login.bank.example/verify/account?id=4711\">確認</a>" .
	    "</body></html>\n";
	mail("ja", "ann\@harbour.example", $head .
	    "Subject: =?ISO-2022-JP?B?" .
	    encode_base64(encode("iso-2022-jp", "重要なお知らせ"), "") . "?=\n" .
	    "Content-Type: text/html; charset=iso-2022-jp\n" .
	    "Content-Transfer-Encoding: base64\n\n" .
	    encode_base64(encode("iso-2022-jp", $ja)));
	# quoted-printable, windows-1252
	my $fr = "Madame, Monsieur, \x{201c}votre boîte aux lettres\x{201d} a " .
	    "dépassé la limite autorisée\x{2026} Pour continuer à recevoir vos " .
	    "messages, veuillez vérifier l\x{2019}accès à votre compte dès " .
	    "aujourd\x{2019}hui, faute de quoi il sera fermé.\n";
	mail("fr", "ann\@harbour.example", $head . "Subject: Votre compte\n" .
	    "Content-Type: text/plain; charset=windows-1252\n" .
	    "Content-Transfer-Encoding: quoted-printable\n\n" .
	    encode_qp(encode("cp1252", $fr)));
	# a message inside a message inside a multipart, with a file
	my $inner = "From: eve\@shop.example\nSubject: Invoice overdue\n" .
	    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=in\n\n" .
	    "--in\nContent-Type: text/plain\n\n" .
	    "> The invoice of last month is still open. We will hand the\n" .
	    "> matter over to a debt collector unless it is paid within three\n" .
	    "> days; the account number is in the file attached below. Our\n" .
	    "> reference for it is 88 A 10344 C. Do ask for Eve Miller.\n\n" .
	    "--in\nContent-Type: application/octet-stream; name=invoice.bin\n" .
	    "Content-Transfer-Encoding: base64\n\n" .
	    encode_base64(join "", map { chr($_ * 7 % 251) } 0 .. 5000) .
	    "--in--\n";
	open my $f, ">", "$d/invoice.bin"; binmode $f;
	print $f join "", map { chr($_ * 7 % 251) } 0 .. 5000; close $f;
	open $f, ">", "$d/other.bin"; binmode $f;
	print $f join "", map { chr($_ * 7 % 241) } 0 .. 5000; close $f;
	mail("nested", "ann\@harbour.example", $head . "Subject: Fwd\n" .
	    "Content-Type: multipart/mixed; boundary=out\n\n" .
	    "--out\nContent-Type: text/plain\n\nSee what I got.\n\n" .
	    "--out\nContent-Type: message/rfc822\n\n$inner\n--out--\n");
	(my $near = $inner) =~ s/debt collector/very patient debt collector/;
	mail("near", "ann\@harbour.example", $near);
	mail("far", "ann\@harbour.example", $head . "Subject: Elsewhere\n\n" .
	    "Nothing of what is written in here has ever been seen before by " .
	    "anybody, and it goes on for a while so that it can be asked.\n");
	END
}

pass()
{
	"$FEED" -s "local:$D/run/${2:-external}.sock" \
		--daemon "${3:-MTA-ext}" --quiet "$D/$1.mbox" >>"$D/feed.out"
}

# asks STATUS WORDS OPTION... - what is said has the words.
asks()
{
	want=$1 words=$2
	shift 2
	tidemark query "$@" >"$D/answer" 2>"$D/answer.err"
	got=$?
	cat "$D/answer" "$D/answer.err"
	same "exit status $got" "exit status $want" &&
		grep -qF -- "$words" "$D/answer" "$D/answer.err"
}

asks_stdin()
{
	want=$1 words=$2 file=$3
	shift 3
	tidemark query "$@" <"$file" >"$D/answer" 2>"$D/answer.err"
	got=$?
	cat "$D/answer" "$D/answer.err"
	same "exit status $got" "exit status $want" &&
		grep -qF -- "$words" "$D/answer" "$D/answer.err"
}

ja='アカウントは一時的に制限されました。 二十四時間以内に下記の
> リンクから本人確認を'
fr='boite: “VOTRE BOÎTE AUX LETTRES” a dépassé la limite autorisée... pour
> > continuer à recevoir vos messages, veuillez'
fr=${fr#boite: }
nested='hand the matter over to a DEBT COLLECTOR unless it is
paid within three days; the account'
absent='this text has never passed here, and nobody will ever find it in a filter that is not too full'

# ---- the default form ----------------------------------------------------------

daemon_conf
check "messages are made" make_mail
check "starts" daemon_start
check "base64 HTML in ISO-2022-JP passes" pass ja
check "quoted-printable windows-1252 passes" pass fr internal MTA-int
check "a forwarded message passes" pass nested

found_all()
{
	asks 0 "profile external" --text "$ja" &&
		asks 0 "profile internal" --text "$fr" &&
		asks 0 "profile external" --text "$nested"
}
check "excerpts of all three are found, with their profiles" found_all
check "what never passed is certainly absent" asks 1 "certainly not" --text "$absent"
check "a seal" tidemark seal
check "they are found in the sealed window" found_all
check "it says so" fails grep -q "not sealed" "$D/answer"
check "a link is found as a whole" asks 0 "as a whole" \
    --text 'https://login.bank.example/verify/account?id=4711'
check "a subject is found as a whole" asks 0 "as a whole" --text 'invoice overdue'
check "part of it is too short, and says what is not" asks 2 "63" --text 'invoice'
check "nothing at all is too short" asks 2 "no letters" --text '...!'
check "the style sheet was no text" asks 2 "63" --text 'color red'

# ---- with addresses and times ----------------------------------------------------

check "with its sender" asks 0 "yes" --text "$nested" --from ann@harbour.example
check "with another sender" asks 1 "certainly not" --text "$nested" --from bob@harbour.example
check "a display name is understood" asks 0 "mail from ann@harbour.example" \
    --from 'News <ann@harbour.example>'
check "and a dot at the end" asks 0 "yes" --from ann@harbour.example.
check "a bare domain is all of it" asks 0 "yes" --from harbour.example
check "which is said" grep -qF "harbour.example was asked as @harbour.example" "$D/answer"
check "also of one that never wrote" asks 1 "bookshop.example was asked as @bookshop.example" \
    --from bookshop.example
not_asked()
{
	for a in tomas '*@harbour.example' 'not an address' 'auth:ann' ''; do
		asks 2 "tidemark query --help" --to "$a" || return 1
		[ ! -s "$D/answer" ] || return 1
	done
}
check "what is no address has no answer" not_asked
no_answer_from_the_daemon()
{
	printf 'query from="%s"\n' "$1" | perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new($ARGV[0]) or die;
		print $s $_ while <STDIN>; $s->shutdown(1); print while <$s>;
		' "$D/run/control.sock" >"$D/said"
	cat "$D/said"
	grep -q "^err" "$D/said" && grep -q 'is%20no%20address' "$D/said"
}
check "nor of the daemon itself" no_answer_from_the_daemon tomas
check "before its time" asks 3 "not wholly covered" --text "$nested" --until 1d

# ---- pieces and guesses ------------------------------------------------------------

pieces='We will hand the matter over to a debt collector unless it is paid within three * is in the file attached below. Our reference for it is 88 A 10344 C. Do ask for Eve Miller.'
printf '%s\n' 'weeks; the number' 'days; the account number' 'days' '' >"$D/guesses"
check "pieces are found, and how far apart" asks 0 "gap is 20 long" --text "$pieces"
check "the right candidate fits" asks 0 "«days; the account number» fits" \
    --text "$pieces" --guess "$D/guesses"
check "and no other" same "$(grep -c fits "$D/answer")" 1
# Copied: a bullet, bold words, a product; each alone or not.
stars='* We will hand the *matter* over to a debt * collector unless it is paid
within three days; the account number is in the file attached below. **'
check "other stars are punctuation" asks 0 "yes" --text "$stars"
check "which is said" grep -q 'was asked as punctuation' "$D/answer"
check "as is one with a short piece at its side" asks 1 "was asked as punctuation" \
    --text 'over to a debt * unless it is paid within three days; the account number is in the file attached'
check "a guess needs a gap" asks 2 "one *" --text "$nested" --guess "$D/guesses"

# ---- files and messages --------------------------------------------------------------

check "a file is found" asks 0 "with this file" --file "$D/invoice.bin"
check "another is not" asks 1 "certainly not" --file "$D/other.bin"
check "a message on standard input" asks_stdin 0 "100% of the text" "$D/nested.eml"
check "with its file" grep -q "1 of 1 file" "$D/answer"
near_copy()
{
	tidemark query --json <"$D/near.eml" | perl -MJSON::PP -ne '
		$r = decode_json($_); print "$_";
		$share = $r->{share} if $r->{type} eq "window";
		END { exit($share > 0.5 && $share < 1 ? 0 : 1) }'
}
check "a near-copy shows, by its share" near_copy
check "a strange one is absent" asks_stdin 1 "certainly not" "$D/far.eml"
check "by name as well" asks 0 "of the text" --message "$D/nested.eml" --from ann@harbour.example

# ---- for programs, offline, unlogged -----------------------------------------------

json_is_whole()
{
	tidemark query --json --text "$fr" | perl -MJSON::PP -ne '
		$r = decode_json($_);
		print;
		$ok++ if $r->{type} eq "answer" && $r->{verdict} eq "found" &&
		    $r->{content} eq "text" && $r->{lookups} > 0;
		$ok++ if $r->{type} eq "window" && $r->{profiles} eq "internal" &&
		    $r->{levels} >= 1 && $r->{chance} < 0.01;
		END { exit($ok == 2 ? 0 : 1) }'
}
check "JSON" json_is_whole
status_shows_memory()
{
	tidemark status >"$D/status"
	cat "$D/status"
	grep -q 'content: ' "$D/status" && grep -q 'of text in it' "$D/status"
}
check "status shows what it costs" status_shows_memory

# The collector is held up until the question and the interrupt are both on
# their way, so the interrupt comes before the first sealed window.
interrupted()
{
	kill -STOP "$collector"
	"$B/tidemark" -c "$conf" query --text "$nested" >"$D/answer" 2>&1 &
	asker=$!
	within 30 catches_interrupts
	kill -INT "$asker"
	within 30 has_taken_it
	kill -CONT "$collector"
	wait "$asker"
	got=$?
	cat "$D/answer"
	same "exit status $got" "exit status 3" &&
		grep -q "the question was stopped" "$D/answer"
}
catches_interrupts()
{
	grep -q '^tidemark$' "/proc/$asker/comm" &&
		grep -q '^SigCgt:.*[2367abef]$' "/proc/$asker/status"
}
# it catches one only, and while it is at that no other
has_taken_it()
{
	! grep -q '^Sig[CB][gl][tk]:.*[2367abef]$' "/proc/$asker/status"
}
collector=$(field collector_pid)
check "Ctrl-C ends a question with what was found" interrupted
check "nothing of the questions is in the log" lacks 'debt' "$D/log"
check "stops" daemon_stop
check "offline: found" asks 0 "profile external" --text "$nested" --offline "$D/state"
check "offline: a file" asks 0 "with this file" --file "$D/invoice.bin" --offline "$D/state"
check "offline: a message" asks_stdin 0 "100%" "$D/nested.eml" --offline "$D/state"
check "offline: absent, but for the time since it was stopped" \
    asks 3 "nothing is stored of this time" --text "$absent" --offline "$D/state"

# ---- what is not remembered -----------------------------------------------------------

daemon_conf 'text_parts = 1' '[profile external]' '[profile internal]' \
    'remember_content = no'
check "starts again, with caps" daemon_start
check "a message past a cap passes" pass nested
check "one of a profile that remembers none" pass fr internal MTA-int
check "what is absent is then not covered" \
    asks 3 "not all of a message's text was remembered" --text "$absent"
check "nor by the other" grep -q "not to be remembered" "$D/answer"
check "stops" daemon_stop

# ---- the classic form ------------------------------------------------------------------

rm -rf "$D/state"
daemon_conf 'memory = classic'
check "the classic form" daemon_start
check "mail passes" pass nested
check "by both" pass ja internal MTA-int
check "found, by one of both" asks 0 "one of external internal" --text "$nested"
check "Japanese as well" asks 0 "yes" --text "$ja"
check "a file" asks 0 "yes" --file "$D/invoice.bin"
check "absent" asks 1 "certainly not" --text "$absent"
check "ends" daemon_stop
tap_end
