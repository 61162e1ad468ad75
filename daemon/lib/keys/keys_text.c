/*
 * keys_text - the bytes of a key: bounded, printable.
 *
 * Only ASCII letters change case, whatever the locale says.
 */
#include "keys_priv.h"
#include "tidemark/keys/keys.h"

void
tide_keytext_add(struct keytext *t, const char *s, size_t n)
{
	if (n > TEXT_MAX - 1 - t->length)
		n = TEXT_MAX - 1 - t->length;
	memcpy(t->bytes + t->length, s, n);
	t->length += n;
}

void
tide_keytext_add_text(struct keytext *t, const char *s)
{
	tide_keytext_add(t, s, strlen(s));
}

void
tide_keytext_cut(struct keytext *t, size_t at, size_t n)
{
	memmove(t->bytes + at, t->bytes + at + n, t->length - at - n);
	t->length -= n;
}

/* The C1 controls, and what reverses, hides or breaks a line of text. */
static bool
is_harmful(uint32_t c)
{
	return (c >= 0x80 && c <= 0x9f) || c == 0xad || c == 0x61c ||
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

/* A whole, shortest-form character: its length, or 0. */
static size_t
decode(const char *s, size_t n, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = 0;
	size_t i, length = lead((unsigned char)*s, &c);

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
tide_keytext_character(const char *s, size_t n)
{
	uint32_t c;
	size_t length;

	if (n == 0)
		return 0;
	if ((unsigned char)*s < 0x80)
		return *s >= ' ' && *s != 0x7f;
	length = decode(s, n, &c);
	return length > 0 && is_harmful(c) ? 0 : length;
}

/* Bytes to step over at something that is no printable character. */
static size_t
stumble(const char *s, size_t n)
{
	uint32_t c;
	size_t length;

	length = (unsigned char)*s < 0x80 ? 1 : decode(s, n, &c);
	return length > 0 ? length : 1;
}

void
tide_keytext_clean(struct keytext *t, const char *s, size_t n)
{
	size_t good;

	while (n > 0) {
		good = tide_keytext_character(s, n);
		if (good > 0) {
			tide_keytext_add(t, s, good);
		} else {
			good = stumble(s, n);
			tide_keytext_add(t, "?", 1);
		}
		s += good;
		n -= good;
	}
}

void
tide_key_disarm(char *s)
{
	size_t n = strlen(s), step;

	for (; n > 0; s += step, n -= step) {
		step = tide_keytext_character(s, n);
		if (step > 0)
			continue;
		step = stumble(s, n);
		memset(s, '?', step);
	}
}

bool
tide_keytext_is_atom(const struct keytext *t)
{
	size_t i;

	for (i = 0; i < t->length; i++)
		if (strchr("\"(),:;<>@[\\] ", t->bytes[i]) != NULL)
			return false;
	return t->length > 0;
}

char
tide_key_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

void
tide_key_fold(char *s, size_t n)
{
	for (; n > 0; n--, s++)
		*s = tide_key_lower(*s);
}

bool
tide_key_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
tide_key_is_hex(const char *s, size_t n)
{
	for (; n > 0; n--, s++)
		if (!tide_key_is_digit(*s) &&
		    (tide_key_lower(*s) < 'a' || tide_key_lower(*s) > 'f'))
			return false;
	return true;
}
