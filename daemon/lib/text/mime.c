/*
 * mime - lines, boundaries, and parts in parts.
 *
 * A boundary is looked for in every line that begins with two dashes, the
 * innermost multipart's first.  One of an outer multipart ends all that was
 * left open inside.  The line end before a boundary belongs to it, so each
 * line end is held back until the next line is known.
 *
 * What stands before a multipart's first boundary is not shown by readers,
 * and dropped; but if no boundary ever comes, it is all there is, and text.
 * It is kept in the header's buffer until that is known (or it is full).  A
 * multipart that names no boundary takes the first line that looks like one.
 */
#include <string.h>

#include "text_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

void
tide_mime_begin(struct tide_text *t)
{
	t->line_start = true;
	t->cr = false;
	t->eol = 0;
	t->dash_used = 0;
	t->depth = t->boundaries = 0;
	t->uu.state = TIDE_UU_NONE;
	t->forwarded.level = 0;
	t->top_header = true;
	tide_header_begin(t, true);
}

/* ---- messages that are files ------------------------------------------- */

/*
 * A forwarded message with a file name is read like any other, and leaves a
 * digest of its lines as well: of one at a time, the outermost.
 */
static void
open_file(struct tide_text *t)
{
	struct tide_forwarded *f = &t->forwarded;
	unsigned number = t->part.number;

	if (f->level > 0 || t->content.name[0] == '\0' || !tide_part_number(t))
		return;
	f->level = t->depth;
	f->part = (struct tide_part){ TIDE_PART_FILE, t->part.number,
		t->depth - 1, f->name, f->type };
	memcpy(f->name, t->content.name, sizeof f->name);
	memcpy(f->type, t->content.type, sizeof f->type);
	tide_digest_reset(t->forwarded_digest, true);
	t->part.number = number;
}

/* Bytes of a line, boundaries and line ends included, as they pass. */
static void
note(struct tide_text *t, const char *p, size_t n)
{
	if (t->forwarded.level > 0 && n > 0)
		tide_digest_add(t->forwarded_digest, p, n);
}

static void
close_file(struct tide_text *t)
{
	struct tide_hash hash;
	uint64_t bytes;

	t->forwarded.level = 0;
	if (t->sink.file == NULL || (t->cut & TIDE_CUT_TOTAL) != 0)
		return;
	hash = tide_digest_value(t->forwarded_digest, &bytes);
	t->sink.file(t->sink.arg, &t->forwarded.part, hash, bytes);
}

/* ---- levels ------------------------------------------------------------ */

static struct tide_level *
push(struct tide_text *t)
{
	struct tide_level *l;

	if (t->depth >= t->caps.depth) {
		t->cut |= TIDE_CUT_DEPTH;
		t->where = TIDE_IN_NOTHING;
		return NULL;
	}
	l = &t->level[t->depth++];
	l->guess = l->digest = false;
	l->length = 0;
	return l;
}

static void
pop_to(struct tide_text *t, unsigned depth)
{
	while (t->depth > depth) {
		const struct tide_level *l = &t->level[--t->depth];

		t->boundaries -= l->guess || l->length > 0;
	}
	if (t->forwarded.level > depth)
		close_file(t);
}

static void
open_multipart(struct tide_text *t)
{
	struct tide_level *l = push(t);

	if (l == NULL)
		return;
	l->length = (unsigned)strlen(t->content.boundary);
	while (l->length > 0 && t->content.boundary[l->length - 1] == ' ')
		l->length--;
	memcpy(l->boundary, t->content.boundary, l->length);
	l->guess = l->length == 0;
	l->digest = strcmp(t->content.type, "multipart/digest") == 0;
	t->boundaries++;
	t->where = TIDE_IN_PREAMBLE;
	t->field_used = 0;
}

static bool
is_message(const char *type)
{
	return strcmp(type, "message/rfc822") == 0 ||
	    strcmp(type, "message/global") == 0 ||
	    strcmp(type, "message/news") == 0;
}

void
tide_mime_body(struct tide_text *t)
{
	struct tide_content_fields *c = &t->content;
	const struct tide_level *around =
	    t->depth > 0 ? &t->level[t->depth - 1] : NULL;

	t->top_header = false;
	if (c->type[0] == '\0')
		strcpy(c->type,
		    !t->in_message && around != NULL && around->digest
			? "message/rfc822"
			: "text/plain");
	if (strncmp(c->type, "multipart/", 10) == 0)
		open_multipart(t);
	else if (!is_message(c->type) || c->encoding != TIDE_ENCODING_NONE)
		tide_leaf_begin(t);
	else if (push(t) != NULL) {
		open_file(t);
		tide_header_begin(t, true);
	}
}

/* ---- what is open ------------------------------------------------------ */

/* The multipart has no boundary in sight: this is text. */
static void
preamble_to_text(struct tide_text *t)
{
	size_t held = t->field_used;

	memset(&t->content, 0, sizeof t->content);
	strcpy(t->content.type, "text/plain");
	t->field_used = 0;
	tide_leaf_begin(t);
	t->leaf_uu = false; /* what was held is not in lines any more */
	if (held > 0 && t->where == TIDE_IN_LEAF)
		tide_leaf_put(t, t->field, held);
}

static void
put_preamble(struct tide_text *t, const char *p, size_t n)
{
	if (n <= t->caps.header_bytes - t->field_used) {
		memcpy(t->field + t->field_used, p, n);
		t->field_used += n;
		return;
	}
	preamble_to_text(t);
	tide_mime_content(t, p, n);
}

void
tide_mime_content(struct tide_text *t, const char *p, size_t n)
{
	if (n == 0)
		return;
	switch (t->where) {
	case TIDE_IN_HEADER:
		tide_header_put(t, p, n);
		return;
	case TIDE_IN_PREAMBLE:
		put_preamble(t, p, n);
		return;
	case TIDE_IN_LEAF:
		if (t->uu.state != TIDE_UU_NONE)
			tide_uu_put(t, p, n);
		else
			tide_leaf_put(t, p, n);
		return;
	case TIDE_IN_NOTHING:
		return;
	}
}

/* Nothing is held back: the line end before belongs to what is open. */
static void
settle(struct tide_text *t)
{
	unsigned n = t->eol;
	const char *bytes = n == 2 ? "\r\n" : "\n";

	t->eol = 0;
	if (n == 0)
		return;
	note(t, bytes, n);
	if (t->where == TIDE_IN_HEADER)
		tide_header_eol(t);
	else if (t->where == TIDE_IN_LEAF && t->uu.state != TIDE_UU_NONE)
		tide_uu_eol(t, bytes, n);
	else
		tide_mime_content(t, bytes, n);
}

static bool
has_text(const char *p, size_t n)
{
	while (n > 0 && (unsigned char)*p <= ' ') {
		p++;
		n--;
	}
	return n > 0;
}

/* The part that is open ends here, in whatever state it is. */
static void
end_part(struct tide_text *t, bool drop_preamble)
{
	while (t->where == TIDE_IN_HEADER)
		tide_header_end(t); /* a message in it is a header again */
	if (t->where == TIDE_IN_PREAMBLE && !drop_preamble &&
	    has_text(t->field, t->field_used))
		preamble_to_text(t);
	if (t->where == TIDE_IN_LEAF)
		tide_leaf_end(t);
	t->where = TIDE_IN_NOTHING;
}

static void
at_boundary(struct tide_text *t, unsigned level, bool closing)
{
	end_part(t, level + 1 == t->depth);
	pop_to(t, closing ? level : level + 1);
	if (!closing)
		tide_header_begin(t, false);
}

/* ---- boundaries -------------------------------------------------------- */

/* The multipart that did not name its boundary: is it this? */
static bool
guess(struct tide_level *l, const char *line, size_t n)
{
	size_t i;

	if (!l->guess || n == 0 || n >= BOUNDARY_MAX)
		return false;
	for (i = 0; i < n; i++)
		if (line[i] <= ' ' || line[i] >= 0x7f)
			return false;
	memcpy(l->boundary, line, n);
	l->length = (unsigned)n;
	l->guess = false;
	return true;
}

/* Is the line of dashes a boundary?  Then see to it. */
static bool
is_boundary(struct tide_text *t)
{
	const char *line = t->dash + 2;
	size_t n = t->dash_used;
	unsigned i;

	while (n > 0 && strchr(" \t\r\n", t->dash[n - 1]) != NULL &&
	    t->dash[n - 1] != '\0')
		n--;
	if (n < 2)
		return false;
	n -= 2;
	for (i = t->depth; i-- > 0;) {
		struct tide_level *l = &t->level[i];
		bool closing = n == (size_t)l->length + 2 &&
		    memcmp(line + n - 2, "--", 2) == 0;

		if (i + 1 == t->depth && t->where == TIDE_IN_PREAMBLE)
			(void)guess(l, line, n);
		if (l->length == 0 || (!closing && n != l->length) ||
		    memcmp(line, l->boundary, l->length) != 0)
			continue;
		if (i >= t->forwarded.level) { /* inside */
			note(t, t->eol == 2 ? "\r\n" : "\n", t->eol);
			note(t, t->dash, t->dash_used);
		}
		t->eol = 0; /* it belonged to the boundary */
		at_boundary(t, i, closing);
		return true;
	}
	return false;
}

/* ---- lines ------------------------------------------------------------- */

/* A header's is none of a boundary's, and may make the next line one. */
static void
line_ended(struct tide_text *t, unsigned eol)
{
	t->cr = false;
	t->eol = eol;
	t->line_start = true;
	if (t->where == TIDE_IN_HEADER)
		settle(t);
}

/* Can the next line be nothing but more of the same? */
static bool
passes(const struct tide_text *t, char c)
{
	if (t->where == TIDE_IN_HEADER || t->uu.state != TIDE_UU_NONE ||
	    (t->boundaries > 0 && c == '-'))
		return false;
	return t->where != TIDE_IN_LEAF || !t->leaf_uu || c != 'b';
}

/* Lines up to one that has to be looked at. */
static const char *
in_lines(struct tide_text *t, const char *from, const char *end)
{
	const char *p = from, *stop;

	for (;;) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		stop = lf != NULL ? lf : end;
		if (lf != NULL && lf + 1 < end && passes(t, lf[1])) {
			p = lf + 1;
			continue;
		}
		if (stop > from && stop[-1] == '\r') {
			stop--;
			t->cr = true;
		}
		note(t, from, (size_t)(stop - from));
		tide_mime_content(t, from, (size_t)(stop - from));
		if (lf == NULL)
			return end;
		line_ended(t, t->cr ? 2 : 1);
		return lf + 1;
	}
}

/* The line that begins is no boundary. */
static void
enter_line(struct tide_text *t, char c)
{
	settle(t);
	t->line_start = false;
	if (c == 'b' && t->where == TIDE_IN_LEAF && t->leaf_uu &&
	    t->uu.state == TIDE_UU_NONE) {
		t->uu.state = TIDE_UU_MAYBE;
		t->uu.used = 0;
	}
}

/* What was taken for a boundary is content; its line end may be in it. */
static void
release_dashes(struct tide_text *t)
{
	size_t n = t->dash_used;

	t->dash_used = 0;
	enter_line(t, t->dash[0]);
	(void)in_lines(t, t->dash, t->dash + n);
}

static const char *
at_line_start(struct tide_text *t, const char *p, const char *end)
{
	if (t->dash_used == 0 && (t->boundaries == 0 || *p != '-')) {
		enter_line(t, *p);
		return p;
	}
	while (p < end) {
		char c = *p++;

		t->dash[t->dash_used++] = c;
		if (c == '\n' && is_boundary(t)) {
			t->dash_used = 0;
			return p;
		}
		if (c == '\n' || (t->dash_used == 2 && c != '-') ||
		    t->dash_used == sizeof t->dash) {
			release_dashes(t);
			return p;
		}
	}
	return p;
}

void
tide_mime_put(struct tide_text *t, const char *p, size_t n)
{
	const char *end = p + n;

	while (p < end) {
		if (t->cr && *p == '\n') {
			line_ended(t, 2);
			p++;
		} else if (t->cr) {
			t->cr = false;
			note(t, "\r", 1);
			tide_mime_content(t, "\r", 1);
		} else if (t->line_start) {
			p = at_line_start(t, p, end);
		} else {
			p = in_lines(t, p, end);
		}
	}
}

void
tide_mime_end(struct tide_text *t)
{
	if (t->dash_used > 0 && !is_boundary(t))
		release_dashes(t);
	t->dash_used = 0;
	if (t->cr) {
		note(t, "\r", 1);
		tide_mime_content(t, "\r", 1);
	}
	settle(t);
	end_part(t, false);
	pop_to(t, 0);
}
