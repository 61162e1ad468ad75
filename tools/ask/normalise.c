/*
 * normalise - what of a message can be found later, as the daemon reads it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "tidemark/base/hash.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

/* What is shown of one part once it has ended. */
struct shown {
	bool json;
	FILE *text, *links; /* in memory */
	char *text_bytes, *link_bytes;
	size_t text_size, link_size;
};

/* ---- printing ---------------------------------------------------------- */

static struct json
part_json(const struct tide_part *p)
{
	struct json j = json_record(stdout, "part");

	json_number(&j, "number", p->number);
	json_number(&j, "depth", p->depth);
	json_text(&j, "kind", tide_part_kind_name[p->kind]);
	json_text(&j, "content_type", p->type);
	json_text(&j, "name", p->name);
	return j;
}

static void
put_phrase(const char *before, const char *phrase, const char *after)
{
	(void)fputs(before, stdout);
	put_foreign(stdout, phrase);
	(void)fputs(after, stdout);
}

static void
put_heading(const struct tide_part *p)
{
	printf("%s%u %s%s", tone(TONE_STRONG), p->number,
	    tide_part_kind_name[p->kind], tone(TONE_PLAIN));
	if (p->type[0] != '\0')
		put_phrase(" ", p->type, "");
	if (p->name[0] != '\0')
		put_phrase(" «", p->name, "»");
	if (p->depth > 0)
		printf(", depth %u", p->depth);
}

static void
put_text(const struct shown *s, const struct tide_part *p, const char *text)
{
	struct json j;

	if (s->json) {
		j = part_json(p);
		json_text(&j, "text", text);
		json_record_end(&j);
		return;
	}
	put_heading(p);
	put_phrase("\n", text, text[0] != '\0' ? "\n" : "");
}

/* ---- the sink ---------------------------------------------------------- */

static _Noreturn void
no_memory(void)
{
	complain("no memory for the text");
	exit(TOOL_ERROR);
}

static void
on_begin(void *arg, const struct tide_part *p)
{
	struct shown *s = arg;

	(void)p;
	s->text = open_memstream(&s->text_bytes, &s->text_size);
	s->links = open_memstream(&s->link_bytes, &s->link_size);
	if (s->text == NULL || s->links == NULL)
		no_memory();
}

static void
on_text(void *arg, const char *text, size_t n)
{
	if (fwrite(text, 1, n, ((struct shown *)arg)->text) != n)
		no_memory();
}

/* They come in the midst of a text, and are shown after it. */
static void
on_link(void *arg, const struct tide_part *p, const char *text, size_t n)
{
	(void)p;
	if (fwrite(text, 1, n, ((struct shown *)arg)->links) != n ||
	    fputc('\0', ((struct shown *)arg)->links) == EOF)
		no_memory();
}

static void
on_end(void *arg, const struct tide_part *p)
{
	struct shown *s = arg;
	struct tide_part part = *p;
	const char *link;

	if (fclose(s->text) != 0 || fclose(s->links) != 0)
		no_memory();
	put_text(s, p, s->text_bytes);
	part.kind = TIDE_PART_LINK;
	part.name = "";
	for (link = s->link_bytes; link < s->link_bytes + s->link_size;
	     link += strlen(link) + 1)
		put_text(s, &part, link);
	free(s->text_bytes);
	free(s->link_bytes);
}

static void
on_file(
    void *arg, const struct tide_part *p, struct tide_hash hash, uint64_t bytes)
{
	struct json j;
	char size[SHOW_MAX];

	(void)hash; /* under a key of our own it means nothing to anybody */
	if (!((struct shown *)arg)->json) {
		put_heading(p);
		printf(", %s, kept as a digest\n",
		    show_bytes(bytes, size, sizeof size));
		return;
	}
	j = part_json(p);
	json_number(&j, "bytes", bytes);
	json_record_end(&j);
}

static void
put_cut(const struct shown *s, unsigned cut)
{
	char names[TIDE_CUT_MAX];
	struct json j;

	(void)tide_text_cut_show(cut, names);
	if (s->json) {
		j = json_record(stdout, "end");
		json_text(&j, "cut", names);
		json_record_end(&j);
	} else if (cut != 0) {
		printf("%snot all of it was read%s, past the caps of: %s\n",
		    tone(TONE_BAD), tone(TONE_PLAIN), names);
	}
}

/* ---- reading ----------------------------------------------------------- */

/* False if it cannot be read; what is wrong was said. */
static bool
feed(struct tide_text *t, const char *path)
{
	bool std = path == NULL || strcmp(path, "-") == 0;
	FILE *f = std ? stdin : fopen(path, "r");
	char chunk[65536];
	bool good;
	size_t n;

	if (f == NULL) {
		complain("%s: %s", path, strerror(errno));
		return false;
	}
	while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
		tide_text_message(t, chunk, n);
	good = ferror(f) == 0;
	if (!good)
		complain(
		    "%s: %s", std ? "standard input" : path, strerror(errno));
	if (!std)
		(void)fclose(f);
	return good;
}

int
run_normalise(struct tool *t)
{
	enum { OPT_TEXT = OPT_OWN };
	static const struct option longs[] = { { "text", required_argument,
						   NULL, OPT_TEXT },
		{ NULL, 0, NULL, 0 } };
	static const struct tide_hash_key key; /* digests are not shown */
	static struct tide_config config;
	struct shown shown = { .json = false };
	const struct tide_text_sink sink = { &shown, on_begin, on_text, on_end,
		on_link, on_file };
	const char *text = NULL;
	struct tide_text_caps caps;
	struct tide_text *pipeline;
	unsigned cut = 0;
	bool good = true;

	while (tool_getopt(t, "", longs) != -1)
		text = optarg;
	if (optind + (text == NULL) < t->argc)
		tool_misused(t, "one message at a time");
	if (tool_config(t, &config) == -1)
		return TOOL_ERROR;
	shown.json = t->json;
	caps = tide_text_caps(&config);
	pipeline = tide_text_new(&key, &caps, config.text_headers, &sink);
	if (pipeline == NULL)
		no_memory();
	if (text != NULL) {
		tide_text_excerpt(pipeline, text, strlen(text));
	} else {
		good = feed(pipeline, t->argv[optind]);
		cut = tide_text_end(pipeline);
		put_cut(&shown, cut);
	}
	tide_text_free(pipeline);
	return !good ? TOOL_ERROR : cut != 0 ? TOOL_NO : TOOL_OK;
}
