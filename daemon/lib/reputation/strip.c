/*
 * strip - the recipients' own addresses, taken out.
 *
 * The leftmost address goes, the longest of those that begin there; so what
 * comes out does not depend on the pieces in which the text came in.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "strip.h"

_Static_assert(STRIP_BUFFER > 2 * STRIP_LONGEST, "a buffer moves on");

/* ---- forms of an address ----------------------------------------------- */

static unsigned
start_of(const char *at)
{
	uint32_t three = (uint32_t)(unsigned char)at[0] << 16 |
	    (uint32_t)(unsigned char)at[1] << 8 | (unsigned char)at[2];

	return (three * 2654435761u) >> 20; /* of 4096 */
}

static bool
is_kept(utf8proc_int32_t c)
{
	switch (utf8proc_category(c)) {
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_LO:
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NL:
	case UTF8PROC_CATEGORY_NO:
		return true;
	default:
		return false;
	}
}

/* As the text pipeline would show it: letters and digits, folded. */
static void
normalise(struct strip_form *f, const char *text, size_t length)
{
	const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE |
	    UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
	utf8proc_ssize_t n, i, step;
	utf8proc_uint8_t *folded = NULL;
	utf8proc_int32_t c;

	n = utf8proc_map((const utf8proc_uint8_t *)text,
	    (utf8proc_ssize_t)length, &folded, how);
	for (i = 0; i < n; i += step) {
		step = utf8proc_iterate(folded + i, n - i, &c);
		if (step <= 0)
			break;
		if (!is_kept(c) || f->length + (size_t)step > STRIP_LONGEST)
			continue;
		memcpy(f->text + f->length, folded + i, (size_t)step);
		f->length += (size_t)step;
	}
	free(folded);
}

static bool
is_known(const struct strip *s, const struct strip_form *f)
{
	unsigned i;

	for (i = 0; i < s->forms; i++)
		if (s->form[i].length == f->length &&
		    memcmp(s->form[i].text, f->text, f->length) == 0)
			return true;
	return false;
}

static void
add_form(struct strip *s, const char *local, size_t local_length,
    const char *domain, size_t domain_length)
{
	struct strip_form *f = &s->form[s->forms];
	unsigned start;

	if (s->forms == STRIP_FORMS)
		return;
	f->length = 0;
	normalise(f, local, local_length);
	normalise(f, domain, domain_length);
	if (f->length < STRIP_SHORTEST || is_known(s, f))
		return;
	start = start_of(f->text);
	s->starts[start / 64] |= 1ull << (start % 64);
	if (f->length > s->longest)
		s->longest = f->length;
	s->forms++;
}

void
tide_strip_recipient(struct strip *s, const char *address)
{
	const char *at, *end;
	size_t local, tag;

	address += *address == '<';
	at = strrchr(address, '@');
	if (at == NULL || s->recipients == STRIP_RECIPIENTS)
		return;
	s->recipients++;
	end = at + 1 + strcspn(at + 1, ">");
	local = (size_t)(at - address);
	add_form(s, address, local, at + 1, (size_t)(end - at - 1));
	tag = strcspn(address, "+");
	if (tag > 0 && tag < local)
		add_form(s, address, tag, at + 1, (size_t)(end - at - 1));
}

/* ---- the stream -------------------------------------------------------- */

void
tide_strip_begin(struct strip *s)
{
	s->recipients = s->forms = 0;
	s->longest = s->have = 0;
	memset(s->starts, 0, sizeof s->starts);
}

/* The length of the longest address that begins here, 0 for none. */
static size_t
address_at(const struct strip *s, const char *at, size_t left)
{
	size_t longest = 0;
	unsigned i, start;

	if (left < STRIP_SHORTEST)
		return 0;
	start = start_of(at);
	if ((s->starts[start / 64] >> (start % 64) & 1) == 0)
		return 0;
	for (i = 0; i < s->forms; i++) {
		const struct strip_form *f = &s->form[i];

		if (f->length <= left && f->length > longest &&
		    memcmp(f->text, at, f->length) == 0)
			longest = f->length;
	}
	return longest;
}

/* Pass on what can be judged: all that has `ahead` bytes from it onwards. */
static void
pass(struct strip *s, size_t ahead)
{
	size_t from = 0, i = 0, found;

	while (i < s->have && s->have - i >= ahead) {
		found = address_at(s, s->buffer + i, s->have - i);
		if (found == 0) {
			i++;
			continue;
		}
		if (i > from)
			s->emit(s->arg, s->buffer + from, i - from);
		i += found;
		from = i;
	}
	if (i > from)
		s->emit(s->arg, s->buffer + from, i - from);
	s->have -= i;
	memmove(s->buffer, s->buffer + i, s->have);
}

void
tide_strip_text(struct strip *s, const char *text, size_t length)
{
	size_t n;

	if (s->forms == 0) {
		if (length > 0)
			s->emit(s->arg, text, length);
		return;
	}
	for (; length > 0; text += n, length -= n) {
		n = sizeof s->buffer - s->have;
		if (n > length)
			n = length;
		memcpy(s->buffer + s->have, text, n);
		s->have += n;
		pass(s, s->longest);
	}
}

void
tide_strip_end(struct strip *s)
{
	pass(s, 1);
}
