/*
 * oracle - a message as we read it, and as GMime does.
 */
#include <assert.h>
#include <gmime/gmime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

static const struct tide_hash_key key = { { 7 } };
static const struct tide_text_caps caps = { 30, 1000, 1 << 20, 1 << 30 };

static void
add_line(struct reading *r, char *line)
{
	assert(line != NULL);
	if (r->lines == r->room) {
		r->room = 2 * r->room + 16;
		r->line = realloc(r->line, r->room * sizeof *r->line);
		assert(r->line != NULL);
	}
	r->line[r->lines++] = line;
}

__attribute__((format(printf, 2, 3))) static void
add(struct reading *r, const char *fmt, ...)
{
	char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	assert(vasprintf(&line, fmt, ap) >= 0);
	va_end(ap);
	add_line(r, line);
}

void
reading_free(struct reading *r)
{
	size_t i;

	for (i = 0; i < r->lines; i++)
		free(r->line[i]);
	free(r->line);
	memset(r, 0, sizeof *r);
}

/* ---- ours -------------------------------------------------------------- */

struct ours {
	struct reading *reading;
	char *text;
	size_t length;
};

static void
on_begin(void *arg, const struct tide_part *p)
{
	(void)p;
	((struct ours *)arg)->length = 0;
}

static void
on_text(void *arg, const char *text, size_t n)
{
	struct ours *o = arg;

	o->text = realloc(o->text, o->length + n + 1);
	assert(o->text != NULL);
	memcpy(o->text + o->length, text, n);
	o->length += n;
}

/* Empty texts are left out on both sides: whether there are is taste. */
static void
on_end(void *arg, const struct tide_part *p)
{
	struct ours *o = arg;

	if (o->length > 0)
		add(o->reading, "%s %s: %.*s", tide_part_kind_name[p->kind],
		    p->kind == TIDE_PART_HEADER ? "Subject" : p->type,
		    (int)o->length, o->text);
}

static void
on_file(void *arg, const struct tide_part *p, struct tide_hash h, uint64_t n)
{
	add(((struct ours *)arg)->reading, "file %s %s: %llu %016llx", p->type,
	    p->name, (unsigned long long)n, (unsigned long long)h.low);
}

static void
run(struct reading *r, void (*feed)(struct tide_text *, const char *, size_t),
    const char *bytes, size_t n)
{
	struct ours o = { r, NULL, 0 };
	struct tide_text_sink sink = { &o, on_begin, on_text, on_end, NULL,
		on_file };
	struct tide_text *t = tide_text_new(&key, &caps, "Subject", &sink);

	assert(t != NULL);
	feed(t, bytes, n);
	tide_text_free(t);
	free(o.text);
}

static void
feed_message(struct tide_text *t, const char *bytes, size_t n)
{
	tide_text_message(t, bytes, n);
	assert(tide_text_end(t) == 0);
}

void
read_ours(struct reading *r, const char *message, size_t n)
{
	run(r, feed_message, message, n);
}

/* ---- GMime's ----------------------------------------------------------- */

/* Text that GMime decoded, through our normal form alone. */
static void
feed_excerpt(struct tide_text *t, const char *bytes, size_t n)
{
	tide_text_excerpt(t, bytes, n);
}

static void
feed_html(struct tide_text *t, const char *bytes, size_t n)
{
	static const char header[] =
	    "Content-Type: text/html; charset=utf-8\n\n";

	tide_text_message(t, header, sizeof header - 1);
	feed_message(t, bytes, n);
}

static void
add_text(struct reading *r, const char *head, const char *utf8, bool html)
{
	struct reading one = { NULL, 0, 0 };

	run(&one, html ? feed_html : feed_excerpt, utf8, strlen(utf8));
	if (one.lines > 0)
		add(r, "%s: %s", head, strchr(one.line[0], ':') + 2);
	reading_free(&one);
}

static void
add_subjects(struct reading *r, GMimeMessage *message)
{
	GMimeHeaderList *list =
	    g_mime_object_get_header_list((GMimeObject *)message);
	int i, n = g_mime_header_list_get_count(list);

	for (i = 0; i < n; i++) {
		GMimeHeader *h = g_mime_header_list_get_header_at(list, i);

		if (g_ascii_strcasecmp(g_mime_header_get_name(h), "subject") ==
		    0)
			add_text(r, "header Subject",
			    g_mime_header_get_value(h), false);
	}
}

static void
add_file(struct reading *r, GMimePart *part, const char *type)
{
	GMimeDataWrapper *content = g_mime_part_get_content(part);
	GMimeStream *mem = g_mime_stream_mem_new();
	GMimeContentEncoding how = g_mime_part_get_content_encoding(part);
	const char *name = g_mime_part_get_filename(part);
	struct tide_digest *d;
	GByteArray *bytes;

	if (content != NULL)
		(void)g_mime_data_wrapper_write_to_stream(content, mem);
	bytes = g_mime_stream_mem_get_byte_array((GMimeStreamMem *)mem);
	d = GMIME_IS_TEXT_PART(part) ||
		(how != GMIME_CONTENT_ENCODING_BASE64 &&
		    how != GMIME_CONTENT_ENCODING_UUENCODE)
	    ? tide_digest_new_lines(&key)
	    : tide_digest_new(&key);
	tide_digest_add(d, bytes->data, bytes->len);
	add(r, "file %s %s: %u %016llx", type, name != NULL ? name : "",
	    bytes->len, (unsigned long long)tide_digest_end(d).low);
	g_object_unref(mem);
}

static void
add_part(struct reading *r, GMimeObject *object)
{
	GMimeContentType *ct = g_mime_object_get_content_type(object);
	char *mixed = g_mime_content_type_get_mime_type(ct);
	char *type = g_ascii_strdown(mixed, -1), *text, *head;

	if (GMIME_IS_TEXT_PART(object)) {
		text = g_mime_text_part_get_text((GMimeTextPart *)object);
		head = g_strdup_printf("text %s", type);
		if (text != NULL)
			add_text(r, head, text, strcmp(type, "text/html") == 0);
		g_free(head);
		g_free(text);
	}
	if (!GMIME_IS_TEXT_PART(object) ||
	    g_mime_part_get_filename((GMimePart *)object) != NULL)
		add_file(r, (GMimePart *)object, type);
	g_free(type);
	g_free(mixed);
}

static void add_message(struct reading *, GMimeMessage *);

static void
add_object(struct reading *r, GMimeObject *object)
{
	int i;

	if (object == NULL)
		return;
	if (GMIME_IS_MULTIPART(object)) {
		for (i = 0;
		     i < g_mime_multipart_get_count((GMimeMultipart *)object);
		     i++)
			add_object(r,
			    g_mime_multipart_get_part(
				(GMimeMultipart *)object, i));
	} else if (GMIME_IS_MESSAGE_PART(object)) {
		add_message(r,
		    g_mime_message_part_get_message(
			(GMimeMessagePart *)object));
	} else if (GMIME_IS_PART(object)) {
		add_part(r, object);
	}
}

static void
add_message(struct reading *r, GMimeMessage *message)
{
	if (message == NULL)
		return;
	add_subjects(r, message);
	add_object(r, g_mime_message_get_mime_part(message));
}

void
oracle_begin(void)
{
	g_mime_init();
}

void
read_gmime(struct reading *r, const char *message, size_t n)
{
	GMimeStream *stream = g_mime_stream_mem_new_with_buffer(message, n);
	GMimeParser *parser = g_mime_parser_new_with_stream(stream);
	GMimeMessage *m = g_mime_parser_construct_message(parser, NULL);

	add_message(r, m);
	if (m != NULL)
		g_object_unref(m);
	g_object_unref(parser);
	g_object_unref(stream);
}
