/*
 * entities - named characters of HTML.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text_priv.h"

#include "entities_table.h"

static int
compare(const void *name, const void *entry)
{
	return strcmp(name, ((const struct entity *)entry)->name);
}

static uint32_t
find(const char *name)
{
	const struct entity *e = bsearch(name, entities,
	    sizeof entities / sizeof *entities, sizeof *entities, compare);

	return e != NULL ? e->code : 0;
}

/* &eacute and &amp are old enough to do without their semicolon. */
static bool
is_old(uint32_t code)
{
	return (code >= 0xa0 && code <= 0xff) || code == '&' || code == '<' ||
	    code == '>' || code == '"';
}

/*
 * A named character: its code point, 0 if there is none of that name.  With
 * prefix, the longest beginning that may stand without a semicolon is taken,
 * and *used says how long it is.
 */
static uint32_t
find_named(const char *name, size_t length, bool prefix, size_t *used)
{
	char text[ENTITY_MAX + 1];
	uint32_t code;

	if (length > ENTITY_MAX)
		return 0;
	memcpy(text, name, length);
	text[length] = '\0';
	code = find(text);
	*used = length;
	if (!prefix)
		return code;
	while (length > 1 && !is_old(code)) {
		text[--length] = '\0';
		code = find(text);
	}
	*used = length;
	return is_old(code) ? code : 0;
}

void
tide_html_target(struct tide_html *h, const char *bytes, size_t n)
{
	if (n > LINK_MAX - h->target_length)
		n = LINK_MAX - h->target_length;
	memcpy(h->target + h->target_length, bytes, n);
	h->target_length += n;
}

/* ---- in HTML ----------------------------------------------------------- */

static void
put(struct tide_html *h, const char *bytes, size_t n)
{
	if (n == 0)
		return;
	if (h->entity_in_value)
		tide_html_target(h, bytes, n);
	else
		h->out.put(h->out.arg, bytes, n);
}

static void
put_code(struct tide_html *h, uint32_t c)
{
	char b[4];
	size_t n = 0;

	if (c < 0x80) {
		b[n++] = (char)c;
	} else if (c < 0x800) {
		b[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		b[n++] = (char)(0xe0 | c >> 12);
		b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		b[n++] = (char)(0xf0 | c >> 18);
		b[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		b[n++] = (char)(0x80 | (c & 0x3f));
	put(h, b, n);
}

/* &#233; &#xe9;  From 128 to 159 people mean windows-1252. */
static bool
put_numeric(struct tide_html *h)
{
	const char *p = h->entity + 1;
	bool hex = *p == 'x' || *p == 'X';
	uint32_t code = 0;
	char byte;

	if (hex)
		p++;
	if (!isxdigit((unsigned char)*p))
		return false;
	for (; *p != '\0'; p++) {
		uint32_t digit =
		    (uint32_t)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);

		code = code * (hex ? 16 : 10) + digit;
		if (code > 0x10ffff)
			return true; /* no character, nothing to be seen */
	}
	if (code >= 0x80 && code < 0xa0) {
		byte = (char)code; /* by itself no UTF-8: see normal.c */
		put(h, &byte, 1);
	} else if (code < 0xd800 || code > 0xdfff) {
		put_code(h, code);
	}
	return true;
}

/* What was gathered after &, once it has ended. */
void
tide_html_entity_end(struct tide_html *h, bool semicolon)
{
	size_t used = 0, length = h->entity_length;
	uint32_t code = 0;

	h->entity[length] = '\0';
	h->entity_length = 0;
	if (h->entity[0] == '#') {
		if (put_numeric(h))
			return;
	} else if (length > 0 && (semicolon || !h->entity_in_value)) {
		code = find_named(h->entity, length, false, &used);
		if (!semicolon || (code == 0 && !h->entity_in_value))
			code = find_named(h->entity, length, true, &used);
	}
	if (code != 0) {
		put_code(h, code);
		put(h, h->entity + used, length - used);
		return;
	}
	put(h, "&", 1);
	put(h, h->entity, length);
	if (semicolon)
		put(h, ";", 1);
}

static bool
belongs_to_entity(const struct tide_html *h, unsigned char c)
{
	if (h->entity_length == 0)
		return c == '#' || isalpha(c);
	if (h->entity[0] != '#')
		return isalnum(c);
	if (h->entity_length == 1 && (c == 'x' || c == 'X'))
		return true;
	return h->entity_length > 1 && (h->entity[1] | 32) == 'x' ? isxdigit(c)
								  : isdigit(c);
}

/* Zeros that lead may be many, and mean nothing. */
static bool
is_leading_zero(const struct tide_html *h, unsigned char c)
{
	const char *e = h->entity;
	unsigned n = h->entity_length;

	return c == '0' && n > 1 && e[0] == '#' && e[n - 1] == '0' &&
	    (n == 2 || (n == 3 && (e[1] | 32) == 'x'));
}

bool
tide_html_entity(struct tide_html *h, unsigned char c)
{
	if (c == ';') {
		tide_html_entity_end(h, true);
		return true;
	}
	if (!belongs_to_entity(h, c) || h->entity_length == ENTITY_MAX) {
		tide_html_entity_end(h, false);
		return true;
	}
	if (!is_leading_zero(h, c))
		h->entity[h->entity_length++] = (char)c;
	return false;
}
