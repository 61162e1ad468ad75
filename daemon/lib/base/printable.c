/*
 * printable - characters that do nothing but look like themselves.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tidemark/base/printable.h"

#define ESCAPE_MAX 16 /* of one character, with its NUL */

/* The controls, and what reverses, hides or breaks a line of text. */
static bool
is_harmful(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
	    c == 0x180e || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	    c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	    (c >= 0xe0000 && c <= 0xe007f);
}

/* How long the lead byte says it is, and the bits it carries. */
static size_t
lead(unsigned char b, uint32_t *bits)
{
	static const struct {
		unsigned char mask, is;
	} leads[] = { { 0xe0, 0xc0 }, { 0xf0, 0xe0 }, { 0xf8, 0xf0 } };
	size_t i;

	for (i = 0; i < 3; i++) {
		if ((b & leads[i].mask) == leads[i].is) {
			*bits = b & (unsigned char)~leads[i].mask;
			return i + 2;
		}
	}
	return 0;
}

size_t
tide_printable_decode(const char *s, size_t n, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = (unsigned char)*s;
	size_t i, length = c < 0x80 ? 1 : lead((unsigned char)c, &c);

	if (length == 0 || length > n)
		return 0;
	for (i = 1; i < length; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*out = c;
	return length;
}

size_t
tide_printable_character(const char *s, size_t n)
{
	uint32_t c;
	size_t length = n > 0 ? tide_printable_decode(s, n, &c) : 0;

	return length > 0 && is_harmful(c) ? 0 : length;
}

size_t
tide_printable_stumble(const char *s, size_t n)
{
	uint32_t c;
	size_t length = tide_printable_decode(s, n, &c);

	return length > 0 ? length : 1;
}

void
tide_printable_disarm(char *s)
{
	size_t n = strlen(s), step;

	for (; n > 0; s += step, n -= step) {
		step = tide_printable_character(s, n);
		if (step > 0)
			continue;
		step = tide_printable_stumble(s, n);
		memset(s, '?', step);
	}
}

/* What is not printable at s, as text; how many bytes of s it stands for. */
static size_t
spell(const char *s, size_t n, char out[ESCAPE_MAX])
{
	uint32_t c;
	size_t length = tide_printable_decode(s, n, &c);

	if (length > 1)
		(void)snprintf(out, ESCAPE_MAX, "\\u%04x", (unsigned)c);
	else
		(void)snprintf(out, ESCAPE_MAX, "\\x%02x", (unsigned char)*s);
	return length > 0 ? length : 1;
}

const char *
tide_printable_escape(char *to, size_t size, const char *from)
{
	size_t n = strlen(from), used = 0, step, length;
	char escape[ESCAPE_MAX];
	const char *piece;

	for (; n > 0; from += step, n -= step) {
		step = *from == '\t' ? 1 : tide_printable_character(from, n);
		piece = from;
		length = step;
		if (step == 0) {
			step = spell(from, n, escape);
			piece = escape;
			length = strlen(escape);
		}
		if (length >= size - used)
			break;
		memcpy(to + used, piece, length);
		used += length;
	}
	to[used] = '\0';
	return to;
}
