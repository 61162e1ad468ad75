/*
 * leaf - one part's body: decoded, its digest taken, its text read.
 */
#include <string.h>

#include "text_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

bool
tide_part_number(struct tide_text *t)
{
	if (t->parts >= t->caps.parts) {
		t->cut |= TIDE_CUT_PARTS;
		return false;
	}
	t->part.number = t->parts++;
	return true;
}

/* ---- between the stages ------------------------------------------------ */

static void
to_sink(void *arg, const char *text, size_t n)
{
	struct tide_text *t = arg;

	if (t->sink.text != NULL)
		t->sink.text(t->sink.arg, text, n);
}

static void
to_normal(void *arg, const char *bytes, size_t n)
{
	tide_normal_put(&((struct tide_text *)arg)->normal, bytes, n);
}

static void
to_html(void *arg, const char *bytes, size_t n)
{
	tide_html_put(&((struct tide_text *)arg)->html, bytes, n);
}

/* A part's bytes, decoded. */
static void
to_readers(void *arg, const char *bytes, size_t n)
{
	struct tide_text *t = arg;

	if (t->leaf_file)
		tide_digest_add(t->digest, bytes, n);
	if (t->leaf_text)
		tide_charset_put(&t->charset, bytes, n);
}

static void
note_cut(struct tide_text *t, const struct tide_normal *n)
{
	if (n->cut)
		t->cut |= TIDE_CUT_GROWTH;
}

static void
to_link(void *arg, const char *target, size_t n)
{
	struct tide_text *t = arg;
	struct tide_part part = t->part;
	struct tide_copy copy = { t->link, sizeof t->link, 0, false };

	tide_normal_begin(
	    &t->link_normal, (struct tide_out){ tide_copy_put, &copy });
	tide_normal_put(&t->link_normal, target, n);
	tide_normal_end(&t->link_normal);
	note_cut(t, &t->link_normal);
	part.kind = TIDE_PART_LINK;
	part.name = "";
	if (copy.length > 0)
		t->sink.link(t->sink.arg, &part, t->link, copy.length);
}

static void
begin_text(struct tide_text *t)
{
	tide_normal_begin(&t->normal, (struct tide_out){ to_sink, t });
	if (t->sink.begin != NULL)
		t->sink.begin(t->sink.arg, &t->part);
}

static void
end_text(struct tide_text *t)
{
	tide_normal_end(&t->normal);
	note_cut(t, &t->normal);
	if (t->sink.end != NULL)
		t->sink.end(t->sink.arg, &t->part);
}

/* ---- parts of their own ------------------------------------------------ */

void
tide_leaf_header(struct tide_text *t, const char *name, const char *value)
{
	if (!tide_part_number(t))
		return;
	t->part.kind = TIDE_PART_HEADER;
	t->part.depth = t->depth;
	t->part.name = name;
	t->part.type = "";
	begin_text(t);
	tide_words_decode(&t->word_charset, value, strlen(value),
	    (struct tide_out){ to_normal, t });
	end_text(t);
}

void
tide_leaf_plain(struct tide_text *t, const char *utf8, size_t n)
{
	if (!tide_part_number(t))
		return;
	t->part.kind = TIDE_PART_TEXT;
	t->part.depth = 0;
	t->part.name = "";
	t->part.type = "text/plain";
	begin_text(t);
	tide_normal_put(&t->normal, utf8, n);
	end_text(t);
}

/* ---- a part's body ----------------------------------------------------- */

/* Text of any type, and the reports that readers show as text. */
static bool
is_text(const char *type)
{
	return strncmp(type, "text/", 5) == 0 ||
	    strcmp(type, "application/xhtml+xml") == 0 ||
	    strcmp(type, "message/delivery-status") == 0 ||
	    strcmp(type, "message/disposition-notification") == 0 ||
	    strcmp(type, "message/feedback-report") == 0;
}

static bool
is_html(const char *type)
{
	return strcmp(type, "text/html") == 0 ||
	    strcmp(type, "application/xhtml+xml") == 0;
}

static void
begin_stages(struct tide_text *t)
{
	const struct tide_content_fields *c = &t->content;

	tide_transfer_begin(
	    &t->transfer, c->encoding, (struct tide_out){ to_readers, t });
	if (t->leaf_file)
		tide_digest_reset(t->digest,
		    t->leaf_text || c->encoding == TIDE_ENCODING_NONE ||
			c->encoding == TIDE_ENCODING_QP);
	if (!t->leaf_text)
		return;
	t->charset.out =
	    (struct tide_out){ t->leaf_html ? to_html : to_normal, t };
	tide_charset_begin(&t->charset, c->charset, t->leaf_html);
	if (t->leaf_html) {
		t->html.out = (struct tide_out){ to_normal, t };
		t->html.link = t->sink.link != NULL ? to_link : NULL;
		t->html.arg = t;
		tide_html_begin(&t->html);
	}
	begin_text(t);
}

void
tide_leaf_begin(struct tide_text *t)
{
	const struct tide_content_fields *c = &t->content;

	if (!tide_part_number(t)) {
		t->where = TIDE_IN_NOTHING;
		return;
	}
	t->where = TIDE_IN_LEAF;
	t->leaf_text = is_text(c->type);
	t->leaf_html = is_html(c->type);
	t->leaf_file = !t->leaf_text || c->name[0] != '\0';
	t->leaf_uu = strcmp(c->type, "text/plain") == 0 && !t->leaf_file &&
	    c->encoding == TIDE_ENCODING_NONE;
	t->uu.state = TIDE_UU_NONE;
	memcpy(t->part_type, c->type, sizeof t->part_type);
	memcpy(t->part_name, c->name, sizeof t->part_name);
	t->part.kind = t->leaf_text ? TIDE_PART_TEXT : TIDE_PART_FILE;
	t->part.depth = t->depth;
	t->part.type = t->part_type;
	t->part.name = t->part_name;
	begin_stages(t);
}

void
tide_leaf_put(struct tide_text *t, const char *bytes, size_t n)
{
	tide_transfer_put(&t->transfer, bytes, n);
}

/* What was not read to its end has no digest that anybody could ask for. */
static void
end_file(struct tide_text *t)
{
	struct tide_hash hash;
	uint64_t bytes;

	if (t->sink.file == NULL || (t->cut & TIDE_CUT_TOTAL) != 0)
		return;
	hash = tide_digest_value(t->digest, &bytes);
	t->part.kind = TIDE_PART_FILE;
	t->sink.file(t->sink.arg, &t->part, hash, bytes);
}

void
tide_leaf_end(struct tide_text *t)
{
	if (t->uu.state != TIDE_UU_NONE)
		tide_uu_end(t);
	tide_transfer_end(&t->transfer);
	if (t->leaf_text) {
		tide_charset_end(&t->charset);
		if (t->leaf_html)
			tide_html_end(&t->html);
		end_text(t);
	}
	if (t->leaf_file)
		end_file(t);
	if (t->charset.starved)
		t->cut |= TIDE_CUT_MEMORY;
	t->charset.starved = false;
}
