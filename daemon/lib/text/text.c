/*
 * text - the pipeline as a whole.  See text_priv.h for its stages.
 */
#include <stdlib.h>
#include <string.h>

#include "text_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

const char *const tide_part_kind_name[TIDE_PART_KINDS] = { "header", "text",
	"link", "file" };

struct tide_text_caps
tide_text_caps(const struct tide_config *c)
{
	return (struct tide_text_caps){ .depth = c->text_depth,
		.parts = c->text_parts,
		.header_bytes = (size_t)c->text_header_bytes,
		.total_bytes = c->text_total_bytes };
}

const char *
tide_text_cut_show(unsigned cut, char buf[TIDE_CUT_MAX])
{
	static const char *const name[] = { "depth", "parts", "header", "total",
		"memory", "blocks", "growth" };
	size_t i, n = 0;

	buf[0] = '\0';
	for (i = 0; i < sizeof name / sizeof *name; i++) {
		if ((cut & 1u << i) == 0)
			continue;
		if (n > 0)
			buf[n++] = ',';
		strcpy(buf + n, name[i]);
		n += strlen(name[i]);
	}
	return buf;
}

struct tide_text *
tide_text_new(const struct tide_hash_key *key,
    const struct tide_text_caps *caps, const char *headers,
    const struct tide_text_sink *sink)
{
	struct tide_text *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->key = *key;
	t->caps = *caps;
	t->sink = *sink;
	t->headers = strdup(headers);
	t->level = calloc((size_t)caps->depth + 1, sizeof *t->level);
	t->field = malloc(caps->header_bytes + 1);
	t->digest = tide_digest_make(key);
	t->uu_digest = tide_digest_make(key);
	t->forwarded_digest = tide_digest_make(key);
	if (t->headers == NULL || t->level == NULL || t->field == NULL ||
	    t->digest == NULL || t->uu_digest == NULL ||
	    t->forwarded_digest == NULL) {
		tide_text_free(t);
		return NULL;
	}
	return t;
}

void
tide_text_free(struct tide_text *t)
{
	if (t == NULL)
		return;
	tide_charset_close(&t->charset);
	tide_charset_close(&t->word_charset);
	tide_digest_free(t->digest);
	tide_digest_free(t->uu_digest);
	tide_digest_free(t->forwarded_digest);
	free(t->headers);
	free(t->level);
	free(t->field);
	free(t);
}

static void
begin(struct tide_text *t)
{
	if (t->begun)
		return;
	t->begun = true;
	t->cut = 0;
	t->parts = 0;
	t->body_bytes = 0;
	tide_mime_begin(t);
}

/* ---- a message --------------------------------------------------------- */

/* In a file a line without such a name would end the header. */
static bool
is_name(const char *name)
{
	const char *p = name;

	while (*p > ' ' && *p < 0x7f && *p != ':')
		p++;
	return p > name && p[strspn(p, " \t")] == '\0';
}

void
tide_text_header(struct tide_text *t, const char *name, const char *value)
{
	begin(t);
	if (!t->top_header || !is_name(name))
		return;
	tide_header_put(t, name, strlen(name));
	tide_header_put(t, ": ", 2);
	for (;;) {
		size_t n = strcspn(value, "\n");

		tide_header_put(t, value, n - (n > 0 && value[n - 1] == '\r'));
		tide_header_eol(t);
		if (value[n] == '\0' || !t->top_header)
			return;
		value += n + 1;
		if (*value != ' ' && *value != '\t')
			tide_header_put(t, " ", 1); /* of this field, it said */
	}
}

void
tide_text_body(struct tide_text *t, const void *bytes, size_t length)
{
	uint64_t room;

	begin(t);
	if (t->top_header)
		tide_header_eol(t);
	room = t->caps.total_bytes - t->body_bytes;
	if (room > length)
		room = length;
	t->body_bytes += room;
	if (room > 0)
		tide_mime_put(t, bytes, (size_t)room);
	if (room < length) /* only now: files that ended before are whole */
		t->cut |= TIDE_CUT_TOTAL;
}

void
tide_text_message(struct tide_text *t, const void *bytes, size_t length)
{
	const char *p = bytes, *lf;
	size_t n;

	begin(t);
	while (length > 0 && t->top_header) {
		lf = memchr(p, '\n', length);
		n = lf != NULL ? (size_t)(lf - p) + 1 : length;
		tide_mime_put(t, p, n);
		p += n;
		length -= n;
	}
	if (length > 0)
		tide_text_body(t, p, length);
}

bool
tide_text_full(const struct tide_text *t)
{
	return t->begun && (t->cut & TIDE_CUT_TOTAL) != 0;
}

unsigned
tide_text_end(struct tide_text *t)
{
	if (!t->begun)
		return 0;
	tide_mime_end(t);
	t->begun = false;
	return t->cut;
}

void
tide_text_abort(struct tide_text *t)
{
	t->begun = false;
}

void
tide_text_excerpt(struct tide_text *t, const char *utf8, size_t length)
{
	t->begun = false;
	t->parts = 0;
	t->cut = 0;
	tide_leaf_plain(t, utf8, length);
}
