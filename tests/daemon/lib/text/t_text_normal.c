/*
 * Normal form: each row a text and what is kept of it.  And what holds for
 * any text: it is its own normal form, wherever it is cut.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

static const struct tide_hash_key key;

struct kept {
	size_t length;
	char text[65536];
};

static void
keep(void *arg, const char *text, size_t n)
{
	struct kept *k = *(struct kept **)arg;

	CHECK(k->length + n < sizeof k->text);
	memcpy(k->text + k->length, text, n);
	k->length += n;
	k->text[k->length] = '\0';
}

static void
normalise(struct kept *k, const char *text, size_t n)
{
	static const struct tide_text_caps caps = { 1, 1, 16, 1 };
	static struct kept *to;
	static const struct tide_text_sink sink = { .arg = &to, .text = keep };
	static struct tide_text *t;

	if (t == NULL)
		t = tide_text_new(&key, &caps, "", &sink);
	CHECK(t != NULL);
	to = k;
	k->length = 0;
	k->text[0] = '\0';
	tide_text_excerpt(t, text, n);
}

static const struct {
	const char *name, *text, *want;
} rows[] = {
	{ "ASCII", "Hello, World 42!", "helloworld42" },
	{ "wrapped and quoted", "> > a line\r\n> that\tgoes on",
	    "alinethatgoeson" },
	{ "smart quotes and dashes", "“it’s” — «so»…", "itsso" },
	{ "composed and decomposed", "caf\u00e9 cafe\u0301", "cafécafé" },
	{ "case of other scripts", "ПРИВЕТ Ωμέγα ΣΊΣΥΦΟΣ",
	    "приветωμέγασίσυφοσ" },
	{ "sharp s", "Straße STRASSE", "strassestrasse" },
	{ "Turkish dotted I", "\u0130", "i\u0307" },
	{ "ligatures, width, circles", "ﬁ Ａｂ ① ² ½ ™", "fiab1212tm" },
	{ "half-width kana with its mark", "ｶﾞ", "ガ" },
	{ "kana with a mark of its own", "か\u3099", "が" },
	{ "Hangul letters compose", "\u1112\u1161\u11ab", "한" },
	{ "also around what goes", "\u1112 \u1161\u00ad\u11ab", "한" },
	{ "soft hyphen, zero width, joiners",
	    "in\u00advisi\u200bble\u200d \ufeffx", "invisiblex" },
	{ "a mark that does not compose stays", "x\u0302", "x\u0302" },
	{ "marks in canonical order", "a\u0302\u0323 a\u0323\u0302", "ậậ" },
	{ "vowels of Devanagari and Thai", "हिन्दी ที่", "हिन्दीที่" },
	{ "emoji, keycaps, variation selectors", "1\ufe0f\u20e3 \u2764\ufe0f a",
	    "1a" },
	{ "no UTF-8: windows-1252", "caf\xe9 \x93q\x94 \x9cuvre",
	    "caféqœuvre" },
	{ "a character broken off", "a\xe2\x82 b\xc3", "aâbã" },
	{ "too long, surrogates, beyond",
	    "\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", "àíô" },
	{ "an accent for an apostrophe", "don´t", "dont" },
	{ "nothing", "", "" },
};

static void
rows_hold(void)
{
	static struct kept k;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		normalise(&k, rows[i].text, strlen(rows[i].text));
		CHECK_MSG(strcmp(k.text, rows[i].want) == 0,
		    "%s: «%s», not «%s»", rows[i].name, k.text, rows[i].want);
	}
}

/* ---- any text ---------------------------------------------------------- */

/* Code points that are apt to make trouble, and any others. */
static size_t
any_character(uint64_t *seed, char out[4])
{
	static const uint32_t apt[] = { 'a', 'E', '1', ' ', '-', 0xad, 0x300,
		0x301, 0x323, 0x327, 0x345, 0x3b1, 0x3a3, 0x130, 0x1100, 0x1161,
		0x11a8, 0xac00, 0xac01, 0x200b, 0x3099, 0x304b, 0x9c7, 0x9be,
		0xd46, 0xd3e, 0xd57, 0xfb01, 0xfdfa, 0x212b, 0x1e9e, 0x1d15e,
		0x20e3, 0xfe0f, 0xf73, 0x344, 0x1f80, 0x1b06, 0x1b35 };
	uint64_t r = fixture_random(seed);
	uint32_t c = r & 1 ? apt[(r >> 8) % (sizeof apt / sizeof *apt)]
			   : (uint32_t)(r >> 8) % 0x110000;

	if (r % 7 == 0)
		c %= 0x3000;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) { /* surrogates too: they are none */
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static void
normal_form_is_its_own(void)
{
	static struct kept once, twice;
	uint64_t seed = 4711;
	unsigned round, i;
	char text[400];

	for (round = 0; round < 20000; round++) {
		size_t n = 0;

		for (i = 0; i < 1 + round % 90; i++)
			n += any_character(&seed, text + n);
		normalise(&once, text, n);
		normalise(&twice, once.text, once.length);
		CHECK_MSG(strcmp(once.text, twice.text) == 0,
		    "round %u: «%s» becomes «%s»", round, once.text,
		    twice.text);
	}
}

/* Every single code point, for one of them is the exception. */
static void
each_character_alone(void)
{
	static struct kept once, twice;
	char text[4];
	uint32_t c;

	for (c = 0x80; c < 0x30000; c += 1) {
		size_t n = 0;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		if (c >= 0x10000)
			text[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			text[n++] =
			    (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f)
						: 0xe0 | c >> 12);
		text[n++] =
		    (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
		text[n++] = (char)(0x80 | (c & 0x3f));
		normalise(&once, text, n);
		normalise(&twice, once.text, once.length);
		CHECK_MSG(strcmp(once.text, twice.text) == 0,
		    "U+%04X: «%s» becomes «%s»", c, once.text, twice.text);
	}
}

static void
marks_without_end_are_cut(void)
{
	static struct kept k;
	static char text[30000];
	size_t i, n = 0;

	text[n++] = 'a';
	for (i = 0; i < 9000; i++) {
		memcpy(text + n, "\u0316", 2);
		n += 2;
	}
	text[n++] = 'b';
	normalise(&k, text, n);
	CHECK_INT(k.length, 1 + 2 * 30 + 1);
	CHECK(k.text[k.length - 1] == 'b');
}

/* As long as the stages' buffers, and one more or less. */
static void
long_runs_are_whole(void)
{
	static struct kept k;
	static char text[20000];
	size_t n, i;

	for (i = 0; i < sizeof text; i++)
		text[i] = i % 5 == 4 ? ' ' : (char)('A' + i % 26);
	for (n = 4000; n < 6000; n++) {
		normalise(&k, text, n);
		CHECK_INT(k.length, n - n / 5);
	}
}

/* ---- characters that stand for many letters ----------------------------- */

/* What came out, and its hash, of whatever length. */
struct sum {
	uint64_t bytes;
	uint64_t hash;
};

static void
add_up(void *arg, const char *text, size_t n)
{
	struct sum *s = arg;
	size_t i;

	for (i = 0; i < n; i++)
		s->hash = (s->hash ^ (unsigned char)text[i]) * 1099511628211u;
	s->bytes += n;
}

/* A message of that text, again and again, in pieces; what was cut. */
static unsigned
read_many(const char *text, unsigned times, size_t piece, struct sum *sum)
{
	static const struct tide_text_caps caps = { 4, 4, 4096, 1u << 30 };
	static const char head[] =
	    "Content-Type: text/plain; charset=UTF-8\n\n";
	const struct tide_text_sink sink = { .arg = sum, .text = add_up };
	struct tide_text *t = tide_text_new(&key, &caps, "", &sink);
	size_t n = strlen(text), all = n * times, i;
	char *body = malloc(all);
	unsigned cut;

	CHECK(t != NULL && body != NULL);
	for (i = 0; i < times; i++)
		memcpy(body + i * n, text, n);
	*sum = (struct sum){ 0, 0 };
	tide_text_message(t, head, strlen(head));
	for (i = 0; i < all; i += piece)
		tide_text_message(
		    t, body + i, piece < all - i ? piece : all - i);
	cut = tide_text_end(t);
	tide_text_free(t);
	free(body);
	return cut;
}

static const struct growth_case {
	const char *name, *text;
	bool cut;
} growths[] = {
	{ "English", "The quick brown fox. ", false },
	{ "Arabic, with a blessing now and then",
	    "قال رسول الله ﷺ إنما الأعمال بالنيات وإنما لكل امرئ ما نوى ",
	    false },
	{ "Arabic as it lies in files", "ﺍﻟﺴﻼﻡ ﻋﻠﻴﻜﻢ ", false },
	{ "Thai that is nothing but this vowel", "ทำคำนำ", false },
	{ "Japanese units", "㎏が㌔の㎜ ", false },
	{ "Korean", "한국어 텍스트 ", false },
	{ "capitals that grow", "ẞİ", false },
	{ "nothing but blessings", "\ufdfa", true },
	{ "and letters between", "a\ufdfab", true },
};

static void
growth_has_an_end(void)
{
	static const size_t pieces[] = { 1, 7, 60000 };
	const unsigned times = 20000;
	const struct growth_case *g;
	struct sum sum, first;
	unsigned cut;
	size_t i, k;

	for (i = 0; i < sizeof growths / sizeof *growths; i++) {
		g = &growths[i];
		for (k = 0; k < sizeof pieces / sizeof *pieces; k++) {
			cut = read_many(g->text, times, pieces[k], &sum);
			if (k == 0)
				first = sum;
			CHECK_MSG(cut == (g->cut ? TIDE_CUT_GROWTH : 0u),
			    "%s: cut %u", g->name, cut);
			CHECK_MSG(sum.bytes <
				2 * times * strlen(g->text) + 4096 + 100,
			    "%s: %llu bytes", g->name,
			    (unsigned long long)sum.bytes);
			CHECK_MSG(
			    sum.bytes == first.bytes && sum.hash == first.hash,
			    "%s: not the same in pieces of %zu", g->name,
			    pieces[k]);
		}
	}
	CHECK_INT(read_many("\ufdfa", 100, 60000, &sum), 0); /* a page of it */
	CHECK_INT(sum.bytes, 100 * 33 - 3 * 100);
}

CHECK_CASES({ "what grows without end is cut", growth_has_an_end },
    { "what is kept of a text", rows_hold },
    { "normal form is its own normal form", normal_form_is_its_own },
    { "of each character alone, too", each_character_alone },
    { "marks without end are cut", marks_without_end_are_cut },
    { "long runs are whole", long_runs_are_whole })
