/*
 * transcript - write down what the text pipeline says.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "transcript.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

const struct tide_text_caps transcript_caps = { .depth = 16,
	.parts = 100,
	.header_bytes = 65536,
	.total_bytes = 1u << 30 };

static const struct tide_hash_key key = { { 1, 2, 3 } };

static void
append(char **to, size_t *length, size_t *room, const char *text, size_t n)
{
	if (*length + n + 1 > *room) {
		*room = 2 * (*length + n + 512);
		*to = realloc(*to, *room);
		assert(*to != NULL);
	}
	memcpy(*to + *length, text, n);
	*length += n;
	(*to)[*length] = '\0';
}

static void
write_text(struct transcript *s, const char *text, size_t n)
{
	append(&s->text, &s->length, &s->room, text, n);
}

__attribute__((format(printf, 2, 3))) static void
say(struct transcript *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < sizeof line);
	write_text(s, line, (size_t)n);
}

static void
heading(struct transcript *s, const struct tide_part *p)
{
	say(s, "%s %u %u", tide_part_kind_name[p->kind], p->number, p->depth);
	if (p->type[0] != '\0')
		say(s, " %s", p->type);
	if (p->name[0] != '\0')
		say(s, " %s", p->name);
	say(s, ": ");
}

static void
on_begin(void *arg, const struct tide_part *p)
{
	struct transcript *s = arg;

	assert(!s->open);
	s->open = true;
	heading(s, p);
}

static void
on_text(void *arg, const char *text, size_t n)
{
	struct transcript *s = arg;

	assert(s->open && n > 0);
	assert(((unsigned char)text[0] & 0xc0) != 0x80); /* whole characters */
	write_text(s, text, n);
}

static void
on_link(void *arg, const struct tide_part *p, const char *text, size_t n)
{
	struct transcript *s = arg;
	char head[64];

	assert(s->open && p->kind == TIDE_PART_LINK);
	(void)snprintf(head, sizeof head, "link %u %u: ", p->number, p->depth);
	append(&s->links, &s->links_length, &s->links_room, head, strlen(head));
	append(&s->links, &s->links_length, &s->links_room, text, n);
	append(&s->links, &s->links_length, &s->links_room, "\n", 1);
}

static void
on_end(void *arg, const struct tide_part *p)
{
	struct transcript *s = arg;

	(void)p;
	assert(s->open);
	s->open = false;
	write_text(s, "\n", 1);
	if (s->links_length > 0)
		write_text(s, s->links, s->links_length);
	s->links_length = 0;
}

static void
on_file(
    void *arg, const struct tide_part *p, struct tide_hash hash, uint64_t bytes)
{
	struct transcript *s = arg;

	/* one in the midst of a text waits like a link */
	if (s->open) {
		char line[600];
		int n = snprintf(line, sizeof line, "inline %u %s: %llu %llx\n",
		    p->number, p->name, (unsigned long long)bytes,
		    s->hashes ? (unsigned long long)hash.low : 0ull);

		append(&s->links, &s->links_length, &s->links_room, line,
		    (size_t)n);
		return;
	}
	heading(s, p);
	say(s, "%llu bytes", (unsigned long long)bytes);
	if (s->hashes)
		say(s, " %016llx%016llx", (unsigned long long)hash.high,
		    (unsigned long long)hash.low);
	say(s, "\n");
}

struct tide_text_sink
transcript_sink(struct transcript *s)
{
	return (struct tide_text_sink){ s, on_begin, on_text, on_end, on_link,
		on_file };
}

void
transcript_free(struct transcript *s)
{
	free(s->text);
	free(s->links);
	memset(s, 0, sizeof *s);
}

/* ---- running ----------------------------------------------------------- */

/* Hand the header's fields over one by one; where the body begins. */
static const char *
hand_header(struct tide_text *t, const char *p, const char *end)
{
	char *copy, *line, *colon, *lf;

	copy = line = strndup(p, (size_t)(end - p));
	assert(copy != NULL);
	while ((lf = strchr(line, '\n')) != NULL && lf != line) {
		while (lf[1] == ' ' || lf[1] == '\t') {
			char *next = strchr(lf + 1, '\n');

			if (next == NULL)
				break;
			lf = next;
		}
		*lf = '\0';
		colon = strchr(line, ':');
		if (colon == NULL) { /* no field: the body, for a file */
			*lf = '\n';
			break;
		}
		*colon = '\0';
		tide_text_header(t, line, colon + 1 + strspn(colon + 1, " "));
		line = lf + 1;
	}
	p += line - copy;
	free(copy);
	return p < end && *p == '\n' ? p + 1 : p;
}

void
transcript_run(struct transcript *s, const struct tide_text_caps *caps,
    const char *message, size_t size, size_t most, uint64_t seed, bool milter)
{
	struct tide_text_sink sink = transcript_sink(s);
	struct tide_text *t =
	    tide_text_new(&key, caps, "Subject X-Note", &sink);
	const char *p = message, *end = message + size;
	char cut[TIDE_CUT_MAX];
	unsigned flags;

	assert(t != NULL);
	if (milter)
		p = hand_header(t, p, end);
	while (p < end) {
		size_t n = most == 0 ? (size_t)(end - p)
				     : 1 + fixture_random(&seed) % most;
		char *chunk;

		if (n > (size_t)(end - p))
			n = (size_t)(end - p);
		chunk = malloc(n); /* so that a sanitizer sees its edges */
		assert(chunk != NULL);
		memcpy(chunk, p, n);
		if (milter)
			tide_text_body(t, chunk, n);
		else
			tide_text_message(t, chunk, n);
		free(chunk);
		p += n;
	}
	flags = tide_text_end(t);
	if (flags != 0)
		say(s, "cut: %s\n", tide_text_cut_show(flags, cut));
	assert(!s->open);
	if (s->text == NULL)
		write_text(s, "", 0);
	tide_text_free(t);
}

char *
transcript_of(const char *message)
{
	struct transcript s = { .hashes = false };

	transcript_run(
	    &s, &transcript_caps, message, strlen(message), 0, 0, false);
	free(s.links);
	return s.text;
}
