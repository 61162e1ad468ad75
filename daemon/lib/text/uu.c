/*
 * uu - uuencoded files in the midst of plain text.
 *
 *   begin 644 name
 *   M...
 *   end
 *
 * A line that only looks like a beginning ("begin 10 minutes early") stays
 * text: the line after it must be data.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "text_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

/* "begin 644 name", whose name is taken. */
static bool
read_begin(struct tide_uu *u)
{
	char line[UU_LINE + 1];
	unsigned digits = 0;
	size_t n = u->used, i;

	while (n > 0 && isspace((unsigned char)u->line[n - 1]))
		n--;
	memcpy(line, u->line, n);
	line[n] = '\0';
	if (strncmp(line, "begin ", 6) != 0)
		return false;
	for (i = 6; line[i] >= '0' && line[i] <= '7'; i++)
		digits++;
	if (digits < 3 || digits > 4 || line[i] != ' ' || line[i + 1] == '\0')
		return false;
	for (i++, n = 0; line[i] != '\0'; i++)
		u->name[n++] = line[i] > ' ' && line[i] < 0x7f ? line[i] : '?';
	u->name[n] = '\0';
	return true;
}

static void
finish_file(struct tide_text *t)
{
	struct tide_part part = { TIDE_PART_FILE, 0, t->depth, t->uu.name,
		"application/octet-stream" };
	unsigned number = t->part.number;
	struct tide_hash hash;
	uint64_t bytes;

	t->uu.state = TIDE_UU_NONE;
	if (t->sink.file == NULL || (t->cut & TIDE_CUT_TOTAL) != 0)
		return;
	if (tide_part_number(t)) {
		part.number = t->part.number;
		hash = tide_digest_value(t->uu_digest, &bytes);
		t->sink.file(t->sink.arg, &part, hash, bytes);
	}
	t->part.number = number; /* the text goes on */
}

/* The lines that were held were text after all. */
static void
release(struct tide_text *t)
{
	struct tide_uu *u = &t->uu;

	if (u->state == TIDE_UU_FIRST) {
		tide_leaf_put(t, u->begin, u->begin_used);
		tide_leaf_put(t, "\n", 1);
	} else if (u->state == TIDE_UU_DATA) {
		finish_file(t);
	}
	u->state = TIDE_UU_NONE;
	tide_leaf_put(t, u->line, u->used);
	u->used = 0;
}

void
tide_uu_put(struct tide_text *t, const char *p, size_t n)
{
	struct tide_uu *u = &t->uu;
	size_t room = sizeof u->line - u->used;

	if (n <= room) {
		memcpy(u->line + u->used, p, n);
		u->used += n;
		return;
	}
	memcpy(u->line + u->used, p, room);
	u->used += room;
	release(t); /* no line is that long */
	tide_leaf_put(t, p + room, n - room);
}

/* A whole line is in the buffer; false if it does not belong to the file. */
static bool
take_line(struct tide_text *t)
{
	struct tide_uu *u = &t->uu;
	char bytes[64];
	int n;

	if (u->state == TIDE_UU_MAYBE) {
		if (!read_begin(u))
			return false;
		memcpy(u->begin, u->line, u->used);
		u->begin_used = u->used;
		u->state = TIDE_UU_FIRST;
		return true;
	}
	if (u->state == TIDE_UU_DATA && u->used >= 3 &&
	    memcmp(u->line, "end", 3) == 0) {
		finish_file(t);
		return true;
	}
	n = tide_uu_line(u->line, u->used, bytes);
	if (n < 0 || (n == 0 && u->state == TIDE_UU_FIRST))
		return false;
	if (u->state == TIDE_UU_FIRST)
		tide_digest_reset(t->uu_digest, false);
	u->state = TIDE_UU_DATA;
	tide_digest_add(t->uu_digest, bytes, (size_t)n);
	return true;
}

void
tide_uu_eol(struct tide_text *t, const char *eol, size_t n)
{
	if (take_line(t)) {
		t->uu.used = 0;
		return;
	}
	release(t);
	tide_leaf_put(t, eol, n);
}

/* The part ends: so does the line. */
void
tide_uu_end(struct tide_text *t)
{
	struct tide_uu *u = &t->uu;

	if (u->used > 0 && take_line(t))
		u->used = 0;
	if (u->state != TIDE_UU_NONE)
		release(t);
}
