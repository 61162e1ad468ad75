/*
 * Signer: copies are copies, whoever they are for and in whatever pieces they
 * come; what differs differs; what has too little text is not signed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/text/text.h"

static const char story[] =
    "theparcelthatyouorderedlastweekcouldnotbedeliveredtoyouraddressbecause"
    "nobodywasathomepleaseconfirmyourpaymentdetailswithinthreedaysorwewill"
    "havetosenditbacktothesenderatyourownexpensekindregardsthedeliveryteam";

static struct tide_hash_key key;

static void
fill_key(struct tide_hash_key *k, unsigned seed)
{
	size_t i;

	for (i = 0; i < sizeof k->secret; i++) {
		seed = seed * 1103515245 + 12345;
		k->secret[i] = (uint8_t)(seed >> 16);
	}
}

static struct tide_signer *
new_signer(void)
{
	struct tide_signer *s;

	fill_key(&key, 33);
	s = tide_signer_new(&key);
	CHECK(s != NULL);
	return s;
}

/* One part of that kind, handed over in pieces. */
static void
give(struct tide_signer *s, enum tide_part_kind kind, const char *text,
    size_t piece)
{
	const struct tide_part part = { .kind = kind, .name = "", .type = "" };
	struct tide_text_sink sink = tide_signer_sink(s);
	size_t n = strlen(text), step;

	sink.begin(sink.arg, &part);
	for (; n > 0; text += step, n -= step) {
		step = n < piece ? n : piece;
		sink.text(sink.arg, text, step);
	}
	sink.end(sink.arg, &part);
}

static struct tide_signatures
sign_to(const char *recipient, const char *text, size_t piece)
{
	struct tide_signer *s = new_signer();
	struct tide_signatures out;

	tide_signer_begin(s);
	if (recipient != NULL)
		tide_signer_recipient(s, recipient);
	give(s, TIDE_PART_TEXT, text, piece);
	tide_signer_end(s, &out);
	tide_signer_free(s);
	return out;
}

static bool
same(const struct tide_signatures *a, const struct tide_signatures *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* How many samples of the one the other has. */
static unsigned
shared(const struct tide_signatures *a, const struct tide_signatures *b)
{
	unsigned n = 0;
	size_t i, j;

	for (i = 0; i < a->samples; i++)
		for (j = 0; j < b->samples; j++)
			n += a->sample[i] == b->sample[j];
	return n;
}

static void
in_pieces(void)
{
	struct tide_signatures whole = sign_to(NULL, story, 1000), cut;
	size_t piece;

	CHECK(whole.has_text);
	CHECK_INT(whole.samples, TIDE_SKETCH);
	for (piece = 1; piece < 40; piece++) {
		cut = sign_to("<nobody@example.org>", story, piece);
		CHECK_MSG(same(&whole, &cut), "in pieces of %zu", piece);
	}
}

static void
too_little(void)
{
	struct tide_signatures s = sign_to(NULL, "", 1);
	char text[65];

	CHECK(!s.has_text && s.samples == 0 && s.files == 0);
	memcpy(text, story, 64);
	text[64] = '\0';
	s = sign_to(NULL, text, 7);
	CHECK(s.has_text);
	text[63] = '\0';
	s = sign_to(NULL, text, 7);
	CHECK(!s.has_text && s.samples == 0);
	/* a recipient's address is no text */
	s = sign_to("<ordered@lastweek>", text, 7);
	CHECK(!s.has_text);
}

/* ---- recipients -------------------------------------------------------- */

static const struct strip_case {
	const char *name, *to, *as;
} strips[] = {
	{ "plain", "<ann.smith@example.org>", "annsmithexampleorg" },
	{ "without brackets", "ann@example.org", "annexampleorg" },
	{ "upper case", "<Ann.Smith@EXAMPLE.org>", "annsmithexampleorg" },
	{ "with its tag", "<ann+shop@example.org>", "annshopexampleorg" },
	{ "without its tag", "<ann+shop@example.org>", "annexampleorg" },
	{ "other letters", "<Jörg@example.org>", "jörgexampleorg" },
	{ "decomposed", "<Jo\xcc\x88rg@example.org>", "jörgexampleorg" },
	{ "of the shortest", "<ab@c.org>", "abcorg" },
};

static void
recipients_go(void)
{
	struct tide_signatures want = sign_to(NULL, story, 1000), got;
	char text[1024];
	size_t i, piece;

	for (i = 0; i < sizeof strips / sizeof *strips; i++) {
		/* at the start, twice in the middle, at the end */
		(void)snprintf(text, sizeof text, "%s%.50s%s%s%s%s",
		    strips[i].as, story, strips[i].as, strips[i].as, story + 50,
		    strips[i].as);
		for (piece = 1; piece < 30; piece++) {
			got = sign_to(strips[i].to, text, piece);
			CHECK_MSG(same(&want, &got), "%s, in pieces of %zu",
			    strips[i].name, piece);
		}
		got = sign_to("<bob@example.org>", text, 100);
		CHECK_MSG(!same(&want, &got), "%s: not bob's", strips[i].name);
	}
}

/* The same text for everybody, whose addresses are in it or not. */
static void
many_recipients(void)
{
	struct tide_signatures want = sign_to(NULL, story, 1000), got;
	struct tide_signer *s = new_signer();
	char to[64];
	unsigned i;

	tide_signer_begin(s);
	for (i = 0; i < 5000; i++) {
		(void)snprintf(to, sizeof to, "<user%u@example.org>", i);
		tide_signer_recipient(s, to);
	}
	give(s, TIDE_PART_TEXT, story, 11);
	tide_signer_end(s, &got);
	CHECK(same(&want, &got));

	/* and nobody of an earlier message is left */
	tide_signer_begin(s);
	give(s, TIDE_PART_TEXT, "user1exampleorg", 100);
	give(s, TIDE_PART_TEXT, story, 100);
	tide_signer_end(s, &got);
	CHECK(!same(&want, &got));
	tide_signer_free(s);
}

static void
hostile_recipients(void)
{
	static const char *const bad[] = { "", "<>", "@", "<@>", "a@", "@b",
		"<a@b", "no at all", "\xff\xfe@\xff.org", "<\"a b\"@c>" };
	struct tide_signatures want = sign_to(NULL, story, 1000), got;
	struct tide_signer *s = new_signer();
	char *lengthy = malloc(100001);
	size_t i;

	CHECK(lengthy != NULL);
	memset(lengthy, 'x', 100000);
	lengthy[50000] = '@';
	lengthy[100000] = '\0';
	tide_signer_begin(s);
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		tide_signer_recipient(s, bad[i]);
	tide_signer_recipient(s, lengthy);
	give(s, TIDE_PART_TEXT, story, 3);
	tide_signer_end(s, &got);
	CHECK(same(&want, &got));
	tide_signer_free(s);
	free(lengthy);
}

/* ---- near copies, other parts, files ----------------------------------- */

static void
near_copies(void)
{
	struct tide_signatures a = sign_to(NULL, story, 1000), b;
	char text[sizeof story];

	memcpy(text, story, sizeof text);
	memcpy(text + 100, "grounds", 7);
	b = sign_to(NULL, text, 1000);
	CHECK(memcmp(&a.text, &b.text, sizeof a.text) != 0);
	CHECK_MSG(shared(&a, &b) >= 48, "%u shared", shared(&a, &b));
	b = sign_to(NULL,
	    "minutesofthemeetingofthegardeningclubheldonthefirstofmayatthe"
	    "townhalltherewereelevenmemberspresentandtwoguestsfromabroad",
	    1000);
	CHECK_INT(shared(&a, &b), 0);
}

/* Headers and links are not signed; shingles end with their part. */
static void
other_parts(void)
{
	struct tide_signatures want = sign_to(NULL, story, 1000), got;
	struct tide_signer *s = new_signer();

	tide_signer_begin(s);
	give(s, TIDE_PART_HEADER, "yourparcel", 3);
	give(s, TIDE_PART_TEXT, story, 1000);
	give(s, TIDE_PART_FILE, "textofanattachmentthatisread", 3);
	tide_signer_end(s, &got);
	CHECK(same(&want, &got));

	tide_signer_begin(s);
	give(s, TIDE_PART_TEXT, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    9);
	give(s, TIDE_PART_TEXT, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
	    9);
	tide_signer_end(s, &got);
	CHECK_INT(got.samples, 2);
	tide_signer_free(s);
}

static void
files(void)
{
	const struct tide_part part = { .kind = TIDE_PART_FILE };
	struct tide_signer *s = new_signer();
	struct tide_text_sink sink = tide_signer_sink(s);
	struct tide_signatures got;
	uint64_t i;

	tide_signer_begin(s);
	sink.file(sink.arg, &part, (struct tide_hash){ 1, 2 }, 43);
	tide_signer_end(s, &got);
	CHECK_INT(got.files, 0);
	tide_signer_begin(s);
	for (i = 0; i < 40; i++)
		sink.file(sink.arg, &part, (struct tide_hash){ i, 7 }, 5000);
	tide_signer_end(s, &got);
	CHECK_INT(got.files, TIDE_SIGNED_FILES);
	CHECK_INT(got.file[3].low, 3);
	CHECK(!got.has_text);
	tide_signer_free(s);
}

/* Another key is another signature. */
static void
keyed(void)
{
	struct tide_signatures a = sign_to(NULL, story, 1000), b;
	struct tide_hash_key other;
	struct tide_signer *s;

	fill_key(&other, 44);
	s = tide_signer_new(&other);
	CHECK(s != NULL);
	give(s, TIDE_PART_TEXT, story, 1000);
	tide_signer_end(s, &b);
	tide_signer_free(s);
	CHECK(memcmp(&a.text, &b.text, sizeof a.text) != 0);
	CHECK_INT(shared(&a, &b), 0);
}

CHECK_CASES({ "the pieces do not matter", in_pieces },
    { "too little text is not signed", too_little },
    { "the recipient's address goes, in all its forms", recipients_go },
    { "thousands of recipients", many_recipients },
    { "recipients that are none", hostile_recipients },
    { "near copies share samples, others none", near_copies },
    { "headers are not signed; shingles end with a part", other_parts },
    { "attachments, but small ones", files },
    { "another key, another signature", keyed })
