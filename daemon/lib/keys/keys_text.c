/*
 * keys_text - the bytes of a key: bounded, printable.
 *
 * Only ASCII letters change case, whatever the locale says.
 */
#include "keys_priv.h"
#include "tidemark/base/printable.h"
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

void
tide_keytext_clean(struct keytext *t, const char *s, size_t n)
{
	size_t good;

	while (n > 0) {
		good = tide_printable_character(s, n);
		if (good > 0) {
			tide_keytext_add(t, s, good);
		} else {
			good = tide_printable_stumble(s, n);
			tide_keytext_add(t, "?", 1);
		}
		s += good;
		n -= good;
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
