/*
 * From a message to its parts: each row is a message and its transcript.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "transcript.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

struct row {
	const char *name, *message, *want;
};

/* Messages are written with LF; each is tried with CR LF as well. */
static char *
with_crlf(const char *text)
{
	char *out = malloc(2 * strlen(text) + 1), *p = out;

	for (; *text != '\0'; text++) {
		if (*text == '\n')
			*p++ = '\r';
		*p++ = *text;
	}
	*p = '\0';
	return out;
}

static void
try_rows(const struct row *row, size_t rows)
{
	size_t i;

	for (i = 0; i < rows; i++) {
		char *crlf = with_crlf(row[i].message);
		char *got = transcript_of(row[i].message);
		char *again = transcript_of(crlf);

		CHECK_MSG(check_same(got, row[i].want),
		    "%s:\n#   «%s», not\n#   «%s»", row[i].name, got,
		    row[i].want);
		CHECK_MSG(check_same(again, got),
		    "%s, with CR LF:\n#   «%s», not\n#   «%s»", row[i].name,
		    again, got);
		free(crlf);
		free(got);
		free(again);
	}
}

#define TRY(rows) try_rows(rows, sizeof rows / sizeof *rows)

#define MIX "Content-Type: multipart/mixed; boundary=B\n\n"

static void
parts_are_split(void)
{
	static const struct row rows[] = {
		{ "plain", "Subject: Hello\n\nSome text.\n",
		    "header 0 0 Subject: hello\n"
		    "text 1 0 text/plain: sometext\n" },
		{ "nothing", "", "" },
		{ "no body", "Subject: x",
		    "header 0 0 Subject: x\n"
		    "text 1 0 text/plain: \n" },
		{ "two parts, never joined",
		    MIX "--B\n\none\n--B\n\ntwo\n--B--\n",
		    "text 0 1 text/plain: one\ntext 1 1 text/plain: two\n" },
		{ "preamble and epilogue are not shown",
		    MIX "before\n--B\n\none\n--B--\nafter\n",
		    "text 0 1 text/plain: one\n" },
		{ "the last boundary may lack its line end",
		    MIX "--B\n\none\n--B--", "text 0 1 text/plain: one\n" },
		{ "or be missing", MIX "--B\n\none\n",
		    "text 0 1 text/plain: one\n" },
		{ "boundaries may be followed by blanks",
		    MIX "--B \t\n\none\n--B-- \n",
		    "text 0 1 text/plain: one\n" },
		{ "what only begins like one is text",
		    MIX "--B\n\none\n--BB\n-- \n--B-\n--B--\n",
		    "text 0 1 text/plain: onebbb\n" },
		{ "nested, the inner one not closed",
		    MIX "--B\nContent-Type: multipart/alternative; "
			"boundary=\"i n\"\n\n--i n\n\none\n--B\n\ntwo\n--B--\n",
		    "text 0 2 text/plain: one\ntext 1 1 text/plain: two\n" },
		{ "a boundary that never comes: all is text",
		    MIX "Dear reader\nhow are you\n",
		    "text 0 1 text/plain: dearreaderhowareyou\n" },
		{ "a boundary that was not named",
		    "Content-Type: multipart/mixed\n\n--x1\n\none\n--x1\n\ntwo\n"
		    "--x1--\n",
		    "text 0 1 text/plain: one\ntext 1 1 text/plain: two\n" },
		{ "a part without an empty line before its text",
		    MIX "--B\nHello there\n--B--\n",
		    "text 0 1 text/plain: hellothere\n" },
		{ "a header that runs into a boundary",
		    MIX "--B\nContent-Type: text/html\n--B\n\ntwo\n--B--\n",
		    "text 0 1 text/html: \ntext 1 1 text/plain: two\n" },
		{ "the first of two fields counts",
		    "Content-Type: text/html\nContent-Type: text/plain\n\n"
		    "<b>x</b>\n",
		    "text 0 0 text/html: x\n" },
		{ "a type that is none is text", "Content-Type: text\n\nabc\n",
		    "text 0 0 text/plain: abc\n" },
		{ "a parameter without its semicolon",
		    "Content-Type: text/plain charset=koi8-r\n\n\xc4\xc1\n",
		    "text 0 0 text/plain: да\n" },
		{ "the mailbox line is no text",
		    "From a@example.org Thu Aug 22 13:17:22 2002\n"
		    "Subject: x\n\ny\n",
		    "header 0 0 Subject: x\ntext 1 0 text/plain: y\n" },
	};

	TRY(rows);
}

static void
messages_are_entered(void)
{
	static const struct row rows[] = {
		{ "forwarded",
		    MIX "--B\nContent-Type: message/rfc822\n\nSubject: In\n"
			"Content-Type: text/html\n\n<p>yes\n--B--\n",
		    "header 0 2 Subject: in\ntext 1 2 text/html: yes\n" },
		{ "a part's own Subject is none of a message",
		    MIX "--B\nSubject: no\n\nyes\n--B--\n",
		    "text 0 1 text/plain: yes\n" },
		{ "a digest's parts are messages",
		    "Content-Type: multipart/digest; boundary=B\n\n--B\n\n"
		    "Subject: one\n\n1\n--B\n\nSubject: two\n\n2\n--B--\n",
		    "header 0 2 Subject: one\ntext 1 2 text/plain: 1\n"
		    "header 2 2 Subject: two\ntext 3 2 text/plain: 2\n" },
		{ "a multipart in a message in a multipart",
		    MIX
		    "--B\nContent-Type: message/rfc822\n\nContent-Type: "
		    "multipart/mixed; boundary=C\n\n--C\n\none\n--C--\n--B\n"
		    "\ntwo\n--B--\n",
		    "text 0 3 text/plain: one\ntext 1 1 text/plain: two\n" },
		{ "an encoded message is a file",
		    "Content-Type: message/rfc822\n"
		    "Content-Transfer-Encoding: base64\n\nYWJj\n",
		    "file 0 0 message/rfc822: 3 bytes\n" },
		{ "a report is text",
		    "Content-Type: message/delivery-status\n\n"
		    "Status: 5.1.1\n",
		    "text 0 0 message/delivery-status: status511\n" },
	};

	TRY(rows);
}

static void
encodings_are_undone(void)
{
	static const struct row rows[] = {
		{ "base64", "Content-Transfer-Encoding: BASE64\n\nSGVs\nbG8=\n",
		    "text 0 0 text/plain: hello\n" },
		{ "base64 in two runs, with noise",
		    "Content-Transfer-Encoding: base64\n\nSG V!sbA==bw\n",
		    "text 0 0 text/plain: hello\n" },
		{ "base64 with a list's footer in plain text",
		    "Content-Transfer-Encoding: base64\n\nSGVsbG8=\n\n"
		    "-- \nLeave the list\n",
		    "text 0 0 text/plain: hello\n" },
		{ "base64 without its padding",
		    "Content-Transfer-Encoding: base64\n\nSGVsbG8\n",
		    "text 0 0 text/plain: hello\n" },
		{ "quoted-printable",
		    "Content-Type: text/plain; charset=utf-8\n"
		    "Content-Transfer-Encoding: quoted-printable\n\n"
		    "caf=C3=A9 wr=\napped 1=2B1 =ZZ =  \nend=",
		    "text 0 0 text/plain: caféwrapped11zzend\n" },
		{ "uuencode",
		    "Content-Type: text/plain\nContent-Transfer-Encoding: "
		    "x-uuencode\n\nbegin 644 a\n%:&5L;&\\ \n \nend\n",
		    "text 0 0 text/plain: hello\n" },
		{ "a uuencoded file in the midst of text",
		    "\nbefore\nbegin 644 a.txt\n%:&5L;&\\ \n`\nend\nafter\n",
		    "text 0 0 text/plain: beforeafter\n"
		    "inline 1 a.txt: 5 0\n" },
		{ "what only looks like its beginning",
		    "\nbegin 644 things\nbegin 10 minutes early\n",
		    "text 0 0 text/plain: "
		    "begin644thingsbegin10minutesearly\n" },
	};

	TRY(rows);
}

static void
charsets_are_read(void)
{
	static const struct row rows[] = {
		{ "ISO 8859-1 as windows-1252",
		    "Content-Type: text/plain; charset=ISO-8859-1\n\n"
		    "na\xefve \x8cuvre\n",
		    "text 0 0 text/plain: naïveœuvre\n" },
		{ "a charset nobody knows",
		    "Content-Type: text/plain; charset=x-martian\n\n"
		    "caf\xe9 caf\xc3\xa9\n",
		    "text 0 0 text/plain: cafécafé\n" },
		{ "ISO-2022-JP",
		    "Content-Type: text/plain; charset=iso-2022-jp\n\n"
		    "\x1b$BF|K\\\x1b(B abc\n",
		    "text 0 0 text/plain: 日本abc\n" },
		{ "Shift_JIS",
		    "Content-Type: text/plain; charset=Shift_JIS\n\n"
		    "\x93\xfa\x96\x7b\n",
		    "text 0 0 text/plain: 日本\n" },
		{ "GB 2312 as GB 18030",
		    "Content-Type: text/plain; charset=gb2312\n\n"
		    "\xd6\xd0\xce\xc4\n",
		    "text 0 0 text/plain: 中文\n" },
		{ "HTML may name it itself",
		    "Content-Type: text/html\n\n<meta http-equiv=Content-Type "
		    "content=\"text/html; charset=koi8-r\">\xc4\xc1\n",
		    "text 0 0 text/html: да\n" },
	};

	TRY(rows);
}

static void
headers_are_decoded(void)
{
	static const struct row rows[] = {
		{ "words",
		    "Subject: =?iso-8859-1?Q?Caf=E9_au?= =?UTF-8?B?bGFpdA==?= "
		    "!\n\n",
		    "header 0 0 Subject: caféaulait\n"
		    "text 1 0 text/plain: \n" },
		{ "a character split over two words, and a fold",
		    "Subject: =?utf-8?B?ww==?=\n =?UTF-8?B?qQ==?= x\n\n",
		    "header 0 0 Subject: éx\ntext 1 0 text/plain: \n" },
		{ "the same in a charset of two bytes",
		    "Subject: =?shift_jis?B?kw==?= =?Shift_JIS?Q?=FA?=\n\n",
		    "header 0 0 Subject: 日\ntext 1 0 text/plain: \n" },
		{ "raw bytes", "Subject: caf\xe9 caf\xc3\xa9\n\n",
		    "header 0 0 Subject: cafécafé\n"
		    "text 1 0 text/plain: \n" },
		{ "a language",
		    "Subject: =?us-ascii*en?q?a=62c?= =?broken?x?y?= =?no\n\n",
		    "header 0 0 Subject: abcbrokenxyno\n"
		    "text 1 0 text/plain: \n" },
		{ "each Subject, and others that were chosen",
		    "Subject: one\nSUBJECT: two\nX-Note: three\nFrom: f\n\n",
		    "header 0 0 Subject: one\nheader 1 0 SUBJECT: two\n"
		    "header 2 0 X-Note: three\ntext 3 0 text/plain: \n" },
	};

	TRY(rows);
}

#define NAMED(field) "Content-Type: image/png" field "\n\nabc"

static void
files_have_names(void)
{
	static const struct row rows[] = {
		{ "none", NAMED(""), "file 0 0 image/png: 3 bytes\n" },
		{ "plain", NAMED("; name=\"a \\\"b\\\".png\""),
		    "file 0 0 image/png a \"b\".png: 3 bytes\n" },
		{ "not quoted, although it must be",
		    NAMED("; name=my own.png; x=y"),
		    "file 0 0 image/png my own.png: 3 bytes\n" },
		{ "and without its semicolon", NAMED("; name=my.png x=y"),
		    "file 0 0 image/png my.png: 3 bytes\n" },
		{ "the disposition's counts more",
		    NAMED("; name=a\nContent-Disposition: inline; filename=b"),
		    "file 0 0 image/png b: 3 bytes\n" },
		{ "RFC 2231",
		    NAMED("; name=x;\n name*=iso-8859-1'fr'caf%E9.png"),
		    "file 0 0 image/png café.png: 3 bytes\n" },
		{ "RFC 2231 in sections, in any order",
		    NAMED("; name*1=\"b \"; name*0*=utf-8''%e2%82%ac; "
			  "name*2*=%63"),
		    "file 0 0 image/png €b c: 3 bytes\n" },
		{ "RFC 2047, although it must not be",
		    NAMED("; name=\"=?utf-8?q?caf=C3=A9?=.png\""),
		    "file 0 0 image/png café.png: 3 bytes\n" },
		{ "text with a name is both",
		    "Content-Disposition: attachment; filename=a.txt\n\nabc",
		    "text 0 0 text/plain a.txt: abc\n"
		    "file 0 0 text/plain a.txt: 3 bytes\n" },
	};
	TRY(rows);
}

/* ---- files and their digests ------------------------------------------- */

static const struct tide_hash_key secret = { { 1, 2, 3 } };

struct seen {
	struct tide_hash hash;
	uint64_t bytes;
	unsigned files;
};

static void
note_file(void *arg, const struct tide_part *p, struct tide_hash h, uint64_t n)
{
	struct seen *s = arg;

	(void)p;
	s->hash = h;
	s->bytes = n;
	s->files++;
}

static struct tide_hash
hash_of_file(const char *message)
{
	struct seen seen = { .files = 0 };
	struct tide_text_sink sink = { .arg = &seen, .file = note_file };
	struct tide_text *t =
	    tide_text_new(&secret, &transcript_caps, "", &sink);

	tide_text_message(t, message, strlen(message));
	CHECK_INT(tide_text_end(t), 0);
	CHECK_INT(seen.files, 1);
	tide_text_free(t);
	return seen.hash;
}

static struct tide_hash
hash_as(const char *text, bool lines)
{
	struct tide_digest *d =
	    lines ? tide_digest_new_lines(&secret) : tide_digest_new(&secret);
	size_t i;

	for (i = 0; text[i] != '\0'; i++) /* in pieces */
		tide_digest_add(d, text + i, 1);
	return tide_digest_end(d);
}

static bool
same_hash(struct tide_hash a, struct tide_hash b)
{
	return a.low == b.low && a.high == b.high;
}

#define FILE_AS(how, bytes)                                              \
	"Content-Type: application/pdf\nContent-Transfer-Encoding: " how \
	"\n\n" bytes

static void
a_file_is_found_however_it_was_sent(void)
{
	struct tide_hash raw = hash_as("one\ntwo\n", false);
	struct tide_hash lines = hash_as("one\ntwo\n", true);

	CHECK(same_hash(raw, tide_hash(&secret, "one\ntwo\n", 8)));
	CHECK(same_hash(lines, hash_as("one\r\ntwo\r\n\r\n", true)));
	CHECK(same_hash(lines, hash_as("one\ntwo", false)));
	CHECK(!same_hash(lines, hash_as("one\n\ntwo", true)));
	CHECK(
	    same_hash(raw, hash_of_file(FILE_AS("base64", "b25lCnR3bwo=\n"))));
	CHECK(
	    same_hash(lines, hash_of_file(FILE_AS("7bit", "one\r\ntwo\r\n"))));
	CHECK(same_hash(lines,
	    hash_of_file(
		FILE_AS("quoted-printable", "=6Fne\r\nt= \t\r\nwo\r\n"))));
	CHECK(same_hash(
	    raw, hash_of_file("\nbegin 644 a\n(;VYE\"G1W;PH \n \nend\n")));
	CHECK(same_hash(lines,
	    hash_of_file(MIX "--B\nContent-Type: text/plain; name=x\n\n"
			     "one\ntwo\n--B--\n")));
}

#define INNER                                                              \
	"Subject: in\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n" \
	"pre\r\n--C\r\n\r\n--\rone\r\n--D\r\n--C \r\n\r\ntwo\r\n--C--\r\nepi"

/* All of it, boundaries too, but for the line end before the outer one. */
static void
a_forwarded_message_is_a_file(void)
{
	struct tide_hash want = hash_as(INNER, true);
	char *got = transcript_of(
	    MIX "--B\nContent-Type: message/rfc822; name=a.eml\n\n"
		"Subject: In\n\nx\n--B--\n");

	CHECK_STR(got,
	    "header 1 2 Subject: in\ntext 2 2 text/plain: x\n"
	    "file 0 1 message/rfc822 a.eml: 14 bytes\n");
	free(got);
	CHECK(same_hash(want,
	    hash_of_file(
		MIX "--B\nContent-Type: message/rfc822; name=x\n\n" INNER
		    "\n--B\n\nafter\n--B--\n")));
	CHECK(same_hash(want,
	    hash_of_file("Content-Type: message/rfc822; name=x\n\n" INNER)));
}

/* ---- caps -------------------------------------------------------------- */

/* Valid until the next. */
static const char *
run_capped(const char *message, unsigned depth, unsigned parts,
    size_t header_bytes, uint64_t total)
{
	struct tide_text_caps caps = { depth, parts, header_bytes, total };
	static struct transcript s;

	transcript_free(&s);
	transcript_run(&s, &caps, message, strlen(message), 0, 0, false);
	return s.text;
}

static void
caps_cut_and_say_so(void)
{
	static const char nested[] = MIX
	    "--B\nContent-Type: multipart/mixed; boundary=C\n\n--C\n\ndeep\n"
	    "--C--\n--B\n\nflat\n--B--\n";
	static const char three[] =
	    MIX "--B\n\none\n--B\n\ntwo\n--B\n\nthree\n--B--\n";

	CHECK_STR(run_capped(nested, 1, 9, 999, 999),
	    "text 0 1 text/plain: flat\ncut: depth\n");
	CHECK_STR(run_capped(nested, 2, 9, 999, 999),
	    "text 0 2 text/plain: deep\ntext 1 1 text/plain: flat\n");
	CHECK_STR(run_capped(three, 9, 2, 999, 999),
	    "text 0 1 text/plain: one\ntext 1 1 text/plain: two\n"
	    "cut: parts\n");
	CHECK_STR(
	    run_capped("Subject: abcdef\nX-Note: x\n\nbody\n", 9, 9, 12, 999),
	    "header 0 0 Subject: abc\ntext 1 0 text/plain: body\n"
	    "cut: header\n");
	CHECK_STR(run_capped("Subject: x\n\nabcdef\n", 9, 9, 999, 3),
	    "header 0 0 Subject: x\ntext 1 0 text/plain: abc\n"
	    "cut: total\n");
	CHECK_STR(run_capped("Subject: x\n\nabc", 9, 9, 999, 3),
	    "header 0 0 Subject: x\ntext 1 0 text/plain: abc\n");
	/* half a file has no digest */
	CHECK_STR(run_capped(NAMED(""), 9, 9, 999, 2), "cut: total\n");
	CHECK_STR(run_capped(three, 0, 0, 0, 0), "cut: parts,header,total\n");
}

static void
a_long_preamble_is_text_at_once(void)
{
	CHECK_STR(run_capped(MIX "0123456789 0123456789 0123456789 0123456789 "
				 "0123456789\n--B\n\nx\n--B--\n",
		      9, 9, 42, 999),
	    "text 0 1 text/plain: "
	    "01234567890123456789012345678901234567890123456789\n"
	    "text 1 1 text/plain: x\n");
}

/* ---- one pipeline, many messages --------------------------------------- */

static void
one_message_after_the_other(void)
{
	struct transcript s = { .hashes = true };
	struct tide_text_sink sink = transcript_sink(&s);
	struct tide_text *t =
	    tide_text_new(&secret, &transcript_caps, "Subject", &sink);
	const char one[] = "Subject: a\n\nb", lost[] = MIX "--B\n\nlost";

	tide_text_message(t, lost, sizeof lost - 1);
	s.open = false;
	s.length = 0;
	tide_text_abort(t);
	tide_text_message(t, one, sizeof one - 1);
	CHECK_INT(tide_text_end(t), 0);
	tide_text_excerpt(t, "Ein »Zitat«", strlen("Ein »Zitat«"));
	CHECK_INT(tide_text_end(t), 0);
	tide_text_message(t, one, sizeof one - 1);
	CHECK_INT(tide_text_end(t), 0);
	CHECK_STR(s.text,
	    "header 0 0 Subject: a\ntext 1 0 text/plain: b\n"
	    "text 0 0 text/plain: einzitat\n"
	    "header 0 0 Subject: a\ntext 1 0 text/plain: b\n");
	tide_text_free(t);
	transcript_free(&s);
}

/* As a mail server has it: folded, with or without CR. */
static void
headers_come_one_by_one(void)
{
	struct transcript s = { .hashes = false };
	struct tide_text_sink sink = transcript_sink(&s);
	struct tide_text *t =
	    tide_text_new(&secret, &transcript_caps, "Subject", &sink);

	tide_text_header(t, "", "no name");
	tide_text_header(t, "No name", "either");
	tide_text_header(t, "Subject ", "one\r\n two");
	tide_text_header(
	    t, "Content-Type", "multipart/mixed;\n\tboundary=\"B\"");
	tide_text_body(t, "--B\r\n\r\nx\r\n--B--\r\n", 18);
	tide_text_header(t, "Subject", "too late");
	CHECK_INT(tide_text_end(t), 0);
	CHECK_STR(
	    s.text, "header 0 0 Subject: onetwo\ntext 1 1 text/plain: x\n");
	tide_text_free(t);
	transcript_free(&s);
}

CHECK_CASES({ "parts are split", parts_are_split },
    { "forwarded messages are entered", messages_are_entered },
    { "transfer encodings are undone", encodings_are_undone },
    { "charsets are read", charsets_are_read },
    { "headers are decoded", headers_are_decoded },
    { "files have names", files_have_names },
    { "a file is found however it was sent",
	a_file_is_found_however_it_was_sent },
    { "a forwarded message is found as a file", a_forwarded_message_is_a_file },
    { "caps cut, and say so", caps_cut_and_say_so },
    { "a preamble without end is text", a_long_preamble_is_text_at_once },
    { "one message after the other", one_message_after_the_other },
    { "headers come one by one", headers_come_one_by_one })
