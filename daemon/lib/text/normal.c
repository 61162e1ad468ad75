/*
 * normal - NFKC, casefolded, nothing but letters and digits.
 *
 * In this order: a character is taken apart (compatibility decomposition and
 * case folding, libutf8proc), what is neither letter nor digit goes, and what
 * is left is composed again.  As the filter comes before the composing,
 * normalised text is its own normal form, wherever something was taken out of
 * it.  The order of UAX #15, compose and then filter, would not do: a space
 * between two Hangul letters would go and leave what composes the next time.
 *
 * Combining marks (Mn, Mc) stay with the letter they stand on.  In Latin,
 * Greek, Cyrillic or kana most of them melt into it, so that a reader that
 * decomposes what it copies (a Mac does) changes nothing; in Thai or
 * Devanagari they are the vowels, and without them many words would be one.
 * Enclosing marks (a key's cap, a circle) and everything ignorable go: soft
 * hyphens, zero-width characters, variation selectors.  Nobody writes more
 * than 30 marks on a letter; further ones go.
 *
 * Most text never meets libutf8proc: a run of ASCII is a table look-up.  Its
 * last letter is held back, as a mark may follow.
 */
#include <string.h>
#include <utf8proc.h>

#include "text_priv.h"

#define APART                                                       \
	(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | \
	    UTF8PROC_IGNORE)
#define APART_MOST 32 /* of one character; Unicode's longest are 18 */

/* What becomes of an ASCII character; 0: it goes. */
/* clang-format off */
static const unsigned char kept[128] = {
	['0'] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
	['A'] = 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm',
	'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
	['a'] = 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm',
	'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
};
/* clang-format on */

/* windows-1252 from 0x80 to 0x9f; above, it is ISO 8859-1. */
static const uint16_t windows[32] = { 0x20ac, 0, 0x201a, 0x192, 0x201e, 0x2026,
	0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0, 0x17d, 0, 0,
	0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122,
	0x161, 0x203a, 0x153, 0, 0x17e, 0x178 };

void
tide_normal_begin(struct tide_normal *n, struct tide_out out)
{
	n->out = out;
	n->taken = n->made = 0;
	n->cut = false;
	n->held = n->partial = 0;
	n->used = 0;
}

static void
hand_on(struct tide_normal *n)
{
	if (n->used > 0)
		n->out.put(n->out.arg, n->buffer, n->used);
	n->used = 0;
}

/* ---- composing --------------------------------------------------------- */

/* Canonical order: by class, those of one class as they came. */
static void
order_marks(int32_t *c, unsigned count)
{
	unsigned i, j;

	for (i = 1; i < count; i++) {
		int32_t one = c[i];
		int class = utf8proc_get_property(one)->combining_class;

		for (j = i; class != 0 && j > 0 &&
		     utf8proc_get_property(c[j - 1])->combining_class > class;
		     j--)
			c[j] = c[j - 1];
		c[j] = one;
	}
}

static void
write_one(struct tide_normal *n, int32_t c)
{
	size_t before;

	if (n->used + 4 > sizeof n->buffer)
		hand_on(n);
	before = n->used;
	if (c < 0x80)
		n->buffer[n->used++] = (char)c;
	else
		n->used += (size_t)utf8proc_encode_char(
		    c, (utf8proc_uint8_t *)n->buffer + n->used);
	n->made += n->used - before;
}

static void
compose(struct tide_normal *n)
{
	unsigned i, count = n->held;

	if (count > 1) {
		order_marks(n->segment, count);
		count = (unsigned)utf8proc_normalize_utf32(
		    n->segment, count, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
	}
	for (i = 0; i < count; i++)
		write_one(n, n->segment[i]);
	n->held = 0;
}

static bool
is_mark(utf8proc_propval_t category)
{
	return category == UTF8PROC_CATEGORY_MN ||
	    category == UTF8PROC_CATEGORY_MC;
}

static bool
is_letter_or_digit(utf8proc_propval_t category)
{
	return (category >= UTF8PROC_CATEGORY_LU &&
		   category <= UTF8PROC_CATEGORY_LO) ||
	    (category >= UTF8PROC_CATEGORY_ND &&
		category <= UTF8PROC_CATEGORY_NO);
}

/* Vowels and final consonants of Hangul join the letter before them. */
static bool
joins(int32_t c)
{
	return c >= 0x1160 && c <= 0x11ff;
}

/* A code point that decomposes no further. */
static void
take_piece(struct tide_normal *n, int32_t c, bool marks)
{
	utf8proc_propval_t category = utf8proc_get_property(c)->category;

	if (is_mark(category)) {
		if (marks && n->held <= NORMAL_MARKS)
			n->segment[n->held++] = c;
		return;
	}
	if (!is_letter_or_digit(category))
		return;
	if (n->held > 0 && (!joins(c) || n->held > NORMAL_MARKS))
		compose(n);
	n->segment[n->held++] = c;
}

/* An accent that stands by itself, don´t, is a sign, not a mark. */
static void
take_character(struct tide_normal *n, int32_t c)
{
	utf8proc_int32_t pieces[APART_MOST];
	utf8proc_propval_t category = utf8proc_get_property(c)->category;
	utf8proc_ssize_t i, count;
	int class = 0;

	if (n->made > n->taken * NORMAL_GROWTH + NORMAL_SLACK) {
		n->cut = true; /* unseen: to take it apart is the work */
		return;
	}
	count = utf8proc_decompose_char(c, pieces, APART_MOST, APART, &class);
	for (i = 0; i < count && i < APART_MOST; i++)
		take_piece(n, pieces[i],
		    is_mark(category) || is_letter_or_digit(category));
}

/* ---- bytes ------------------------------------------------------------- */

/* How long the character is that begins with it; 0: none does. */
static unsigned
length_by(unsigned char c)
{
	if (c >= 0xc2 && c < 0xe0)
		return 2;
	if (c >= 0xe0 && c < 0xf0)
		return 3;
	return c >= 0xf0 && c < 0xf5 ? 4 : 0;
}

static bool
may_follow(unsigned char first, unsigned at, unsigned char c)
{
	if ((c & 0xc0) != 0x80)
		return false;
	if (at > 1)
		return true;
	return !((first == 0xe0 && c < 0xa0) || (first == 0xed && c > 0x9f) ||
	    (first == 0xf0 && c < 0x90) || (first == 0xf4 && c > 0x8f));
}

unsigned
tide_windows_1252(unsigned char c)
{
	return c < 0xa0 ? windows[c - 0x80] : c;
}

static void
take_stray(struct tide_normal *n, unsigned char c)
{
	unsigned code = tide_windows_1252(c);

	if (code != 0)
		take_character(n, (int32_t)code);
}

static int32_t
decode(const unsigned char *b, unsigned length)
{
	if (length == 2)
		return (b[0] & 0x1f) << 6 | (b[1] & 0x3f);
	if (length == 3)
		return (b[0] & 0x0f) << 12 | (b[1] & 0x3f) << 6 | (b[2] & 0x3f);
	return (b[0] & 0x07) << 18 | (b[1] & 0x3f) << 12 | (b[2] & 0x3f) << 6 |
	    (b[3] & 0x3f);
}

/* What was begun will not be completed: its bytes stand for themselves. */
static void
give_up_partial(struct tide_normal *n)
{
	unsigned i, count = n->partial;

	n->partial = 0;
	for (i = 0; i < count; i++)
		take_stray(n, n->bytes[i]);
}

static void
take_byte(struct tide_normal *n, unsigned char c)
{
	n->taken++;
	if (n->partial > 0 && !may_follow(n->bytes[0], n->partial, c))
		give_up_partial(n);
	if (n->partial == 0 && length_by(c) == 0) {
		take_stray(n, c);
		return;
	}
	n->bytes[n->partial++] = c;
	if (n->partial == length_by(n->bytes[0])) {
		unsigned length = n->partial;

		n->partial = 0;
		take_character(n, decode(n->bytes, length));
	}
}

static const unsigned char *
take_others(
    struct tide_normal *n, const unsigned char *p, const unsigned char *end)
{
	while (p < end && *p >= 0x80)
		take_byte(n, *p++);
	return p;
}

static bool
is_ascii_word(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return (word & 0x8080808080808080ull) == 0;
}

/* As much of a run of ASCII as there is room for; the last letter is held. */
static const unsigned char *
take_ascii(
    struct tide_normal *n, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *from = p;
	size_t used, before;
	char *out = n->buffer;

	while (n->held > 0 && p < end && *p < 0x80 && kept[*p] == 0)
		p++; /* what goes does not part a letter from its mark */
	n->taken += (uint64_t)(p - from);
	if (p == end || *p >= 0x80)
		return p;
	from = p;
	compose(n);
	if (sizeof n->buffer - n->used < 64)
		hand_on(n);
	used = before = n->used;
	if ((size_t)(end - p) > sizeof n->buffer - used)
		end = p + (sizeof n->buffer - used);
	for (; end - p >= 8 && is_ascii_word(p); p += 8)
		for (unsigned i = 0; i < 8; i++) {
			out[used] = (char)kept[p[i]];
			used += kept[p[i]] != 0;
		}
	for (; p < end && *p < 0x80; p++) {
		out[used] = (char)kept[*p];
		used += kept[*p] != 0;
	}
	if (used > before)
		n->segment[n->held++] = (unsigned char)out[--used];
	n->used = used;
	n->made += used - before;
	n->taken += (uint64_t)(p - from);
	return p;
}

void
tide_normal_put(struct tide_normal *n, const char *bytes, size_t length)
{
	const unsigned char *p = (const unsigned char *)bytes, *end;

	if (length == 0)
		return; /* of nothing there may be no pointer */
	end = p + length;
	while (p < end) {
		if (*p >= 0x80) {
			p = take_others(n, p, end);
		} else {
			if (n->partial > 0)
				give_up_partial(n);
			p = take_ascii(n, p, end);
		}
	}
}

void
tide_normal_end(struct tide_normal *n)
{
	give_up_partial(n);
	compose(n);
	hand_on(n);
}
