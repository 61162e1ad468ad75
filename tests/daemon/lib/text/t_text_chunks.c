/*
 * However a message is cut into chunks, and whether it comes as a file or
 * from a mail server, the same comes out.  Messages are made by chance from
 * pieces that are apt to be cut in the wrong place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "transcript.h"
#include "tidemark/text/text.h"

#define MESSAGE_MAX 16384

static const char *const pieces[] = { "\n", "\r\n", "\r", "--", "--B", "--B\n",
	"--B\r\n", "\r\n--B--\r\n", "\n--C\n", "\n--C--\n", "begin 644 x\n",
	"%:&5L;&\\ \n", "`\nend\n", "b", "text", " ", "=", "=\r\n", "=C3=A9",
	"=E", "SGVsbG8=", "SGVs\r\n", "<a href=\"http://x.example/", "\">", "<",
	"&eacute;", "&#x41", "<!--", "-->", "<script>", "</script>", "\x1b$B",
	"F|K\\", "\x1b(B", "\xc3", "\xa9", "\xe2\x82\xac", "\x93\xfa", "\xff",
	"e\xcc\x81", "\xe1\x84\x92", "\xe1\x85\xa1", "Subject: =?utf-8?Q?a",
	"=C3=A9?=", "Content-Type: text/html\n", "From x\n", ":",
	"Content-Type: multipart/mixed; boundary=C\n\n",
	"Content-Type: message/rfc822\n\n",
	"--B\nContent-Type: message/rfc822; name=m\n\n",
	"Content-Transfer-Encoding: base64\n\n",
	"Content-Type: image/png; name=a\n\n", "+AGE-", "<meta charset=koi8-r>",
	"Some words to be read, as most of mail is.\n" };

static const char *const beginnings[] = {
	"Subject: x\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\n",
	"Content-Type: multipart/mixed; boundary=B\n\n",
	"Content-Type: multipart/digest\n\n", "Subject: only\n",
	"Content-Type: text/html; charset=iso-2022-jp\n\n",
	"Content-Type: text/html\nContent-Transfer-Encoding: "
	"quoted-printable\n\n",
	"Content-Type: text/plain; charset=shift_jis\n\n",
	"Content-Type: text/plain; charset=utf-16\n\n",
	"Content-Type: text/plain; charset=utf-7\n\n",
	"Content-Type: text/plain; charset=iso-2022-kr\n\n",
	"Content-Type: text/plain; charset=gb2312\n"
	"Content-Transfer-Encoding: base64\n\n",
	"Content-Type: application/pdf\n\n",
	"Content-Type: text/plain; name=a.txt\n"
	"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n",
	"\n"
};

#define ONE_OF(list, r) ((list)[(r) % (sizeof(list) / sizeof *(list))])

static size_t
make_message(char *message, uint64_t *seed)
{
	const char *piece = ONE_OF(beginnings, fixture_random(seed));
	size_t n = strlen(piece), most = fixture_random(seed) % 9000;

	memcpy(message, piece, n);
	while (n < most) {
		piece = ONE_OF(pieces, fixture_random(seed));
		memcpy(message + n, piece, strlen(piece));
		n += strlen(piece);
		if (fixture_random(seed) % 200 == 0) { /* a longer run */
			memset(message + n, 'x', 700);
			n += 700;
		}
	}
	message[n] = '\0';
	return n;
}

static void
agree(const struct transcript *a, const struct transcript *b, unsigned round,
    const char *how)
{
	size_t i, from;

	for (i = 0; a->text[i] != '\0' && a->text[i] == b->text[i];)
		i++;
	from = i > 40 ? i - 40 : 0;
	CHECK_MSG(a->text[i] == b->text[i],
	    "round %u, %s: «%.80s», not «%.80s»", round, how, b->text + from,
	    a->text + from);
}

static void
any_cut_gives_the_same(void)
{
	static const struct tide_text_caps tight = { 2, 5, 200, 3000 };
	static char message[MESSAGE_MAX];
	uint64_t seed = 20021;
	unsigned round, k;

	for (round = 0; round < 300; round++) {
		const struct tide_text_caps *caps =
		    round % 3 == 0 ? &tight : &transcript_caps;
		struct transcript whole = { .hashes = true };
		size_t n = make_message(message, &seed);

		transcript_run(&whole, caps, message, n, 0, 0, false);
		for (k = 0; k < 4; k++) {
			static const size_t most[] = { 1, 3, 80, 4000 };
			struct transcript cut = { .hashes = true };

			transcript_run(
			    &cut, caps, message, n, most[k], seed, false);
			agree(&whole, &cut, round, "cut");
			transcript_free(&cut);
		}
		transcript_free(&whole);
	}
}

/* With a proper header a file and a mail server's calls say the same. */
static void
both_ways_give_the_same(void)
{
	static char message[MESSAGE_MAX];
	uint64_t seed = 99;
	unsigned round;

	for (round = 0; round < 300; round++) {
		struct transcript file = { .hashes = true };
		struct transcript milter = { .hashes = true };
		size_t n;

		do
			n = make_message(message, &seed);
		while (strstr(message, "\n\n") == NULL ||
		    strncmp(message, "Content-", 8) != 0);
		transcript_run(
		    &file, &transcript_caps, message, n, 0, 0, false);
		transcript_run(
		    &milter, &transcript_caps, message, n, 100, seed, true);
		agree(&file, &milter, round, "from a mail server");
		transcript_free(&file);
		transcript_free(&milter);
	}
}

CHECK_CASES({ "any cut gives the same", any_cut_gives_the_same },
    { "a file and a mail server give the same", both_ways_give_the_same })
