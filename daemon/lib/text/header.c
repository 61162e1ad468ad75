/*
 * header - one part's header, line by line, a field at a time.
 *
 * A line that is no field ends the header: mail without the empty line
 * between header and body exists, and its readers see the text.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "text_priv.h"
#include "tidemark/text/text.h"

void
tide_header_begin(struct tide_text *t, bool of_message)
{
	t->where = TIDE_IN_HEADER;
	t->in_message = of_message;
	t->header_first = true;
	t->header_full = t->field_open = t->field_line = false;
	t->header_bytes = t->field_used = 0;
	memset(&t->content, 0, sizeof t->content);
}

/* Does the line in the buffer begin with the name of a field? */
static bool
is_field(const struct tide_text *t)
{
	size_t i;

	for (i = 0; i < t->field_used && t->field[i] > ' ' &&
	     t->field[i] < 0x7f && t->field[i] != ':';)
		i++;
	if (i == 0)
		return false;
	while (i < t->field_used && (t->field[i] == ' ' || t->field[i] == '\t'))
		i++;
	return i < t->field_used && t->field[i] == ':';
}

static bool
is_chosen(const struct tide_text *t, const char *name)
{
	size_t n = strlen(name);
	const char *p = t->headers;

	while (*p != '\0') {
		size_t length = strcspn(p, " ");

		if (length == n && strncasecmp(p, name, n) == 0)
			return true;
		p += length;
		p += strspn(p, " ");
	}
	return false;
}

static void
take_field(struct tide_text *t)
{
	char *name = t->field, *value, *end = name + t->field_used;

	t->field_open = false;
	if (t->field_used == 0)
		return;
	*end = '\0';
	t->field_used = 0;
	value = strchr(name, ':');
	if (value == NULL)
		return;
	for (end = value; end > name && (end[-1] == ' ' || end[-1] == '\t');)
		end--;
	*end = '\0';
	value++;
	value += strspn(value, " \t");
	if (strncasecmp(name, "content-", 8) == 0)
		tide_content_field(&t->content, &t->word_charset, name, value);
	if (t->in_message && is_chosen(t, name))
		tide_leaf_header(t, name, value);
}

static void
add(struct tide_text *t, const char *p, size_t n)
{
	size_t room = t->caps.header_bytes - t->header_bytes;
	char *to = t->field + t->field_used, *nul;

	if (n > room) {
		n = room;
		t->cut |= TIDE_CUT_HEADER;
		t->header_full = true;
	}
	t->header_bytes += n;
	memcpy(to, p, n);
	t->field_used += n;
	while ((nul = memchr(to, '\0', n)) != NULL) {
		n -= (size_t)(nul - to);
		to = nul;
		*to = ' '; /* fields are strings from here on */
	}
}

void
tide_header_put(struct tide_text *t, const char *p, size_t n)
{
	if (n == 0)
		return;
	if (!t->field_line) { /* a new line: of this field, or of the next? */
		if (t->field_open && *p != ' ' && *p != '\t')
			take_field(t);
		t->field_line = true;
	}
	if (!t->header_full)
		add(t, p, n);
}

/* The line in the buffer is no field: the header is over, this is text. */
static void
not_a_field(struct tide_text *t)
{
	size_t n = t->field_used;

	t->field_used = 0;
	tide_mime_body(t);
	if (t->where ==
	    TIDE_IN_LEAF) /* the buffer is free, but for preambles */
		tide_mime_content(t, t->field, n);
}

/* The line "From sender date" of mailboxes, quoted or not. */
static bool
is_mailbox_line(const struct tide_text *t)
{
	const char *p = t->field;
	size_t n = t->field_used;

	if (n > 0 && *p == '>') {
		p++;
		n--;
	}
	return t->header_first && n >= 5 && memcmp(p, "From ", 5) == 0;
}

/* A line has ended: is it a field, or the first line of one? */
static bool
line_ended(struct tide_text *t)
{
	if (t->field_open || t->header_full)
		return true;
	if (is_mailbox_line(t)) {
		t->field_used = 0;
	} else if (!is_field(t)) {
		return false;
	} else {
		t->field_open = true;
	}
	t->header_first = false;
	return true;
}

void
tide_header_eol(struct tide_text *t)
{
	if (!t->field_line) { /* an empty one */
		take_field(t);
		tide_mime_body(t);
		return;
	}
	t->field_line = false;
	if (line_ended(t))
		return;
	not_a_field(t);
	if (t->where == TIDE_IN_LEAF)
		tide_mime_content(t, "\n", 1);
}

/* Header and part end at once. */
void
tide_header_end(struct tide_text *t)
{
	if (t->field_line && !line_ended(t)) {
		not_a_field(t);
		return;
	}
	take_field(t);
	tide_mime_body(t);
}
