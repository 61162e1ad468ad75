/*
 * counters - every counter with its meaning; with its value where there is a
 * map to read.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "counters.h"
#include "read/output.h"
#include "tool.h"
#include "tidemark/base/err.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

static const char *
scope_name(enum tide_counter_scope scope)
{
	return scope == TIDE_SCOPE_PROFILE ? "profile" : "global";
}

void
counter_json(struct json *j, const struct view *v, enum tide_counter id)
{
	const struct tide_counters *c = v->map->counters;
	unsigned i;

	json_number(j, "total", tide_counter_get(c, -1, id));
	if (tide_counter_info[id].scope != TIDE_SCOPE_PROFILE)
		return;
	json_object(j, "profiles");
	for (i = 0; i < v->config.profiles; i++)
		json_number(j, v->config.profile[i].name,
		    tide_counter_get(c, 1 + (int)i, id));
	json_object_end(j);
}

static void
put_json(const struct view *v, enum tide_counter id)
{
	struct json j = json_record(stdout, "counter");

	json_text(&j, "name", tide_counter_info[id].name);
	json_text(&j, "scope", scope_name(tide_counter_info[id].scope));
	json_text(&j, "help", tide_counter_info[id].help);
	json_text(&j, "act", tide_counter_info[id].act);
	if (v->map != NULL)
		counter_json(&j, v, id);
	json_record_end(&j);
}

static void
put_text(const struct view *v, enum tide_counter id)
{
	const struct tide_counter_info *c = &tide_counter_info[id];
	char value[24] = "-";

	if (v->map != NULL)
		(void)snprintf(value, sizeof value, "%llu",
		    (unsigned long long)tide_counter_get(
			v->map->counters, -1, id));
	printf("%-21s %-7s %12s  %s%s%s\n", c->name, scope_name(c->scope),
	    value, tone(TONE_FAINT), c->help, tone(TONE_PLAIN));
}

/* ---- the manual -------------------------------------------------------- */

#define MAN_WIDTH 76

/* A word; dashes that can be copied.  Its width. */
static size_t
put_word(const char *word, size_t length)
{
	size_t i, width = length;

	for (i = 0; i < length; i++)
		if (word[i] == '-') {
			(void)fputs("\\-", stdout);
			width++;
		} else {
			(void)putchar(word[i]);
		}
	return width;
}

/* As mdoc(7) has it: each sentence begins a line, none is too long. */
static void
put_sentences(const char *text)
{
	size_t n, at = 0;

	while (*text != '\0') {
		n = strcspn(text, " ");
		if (at > 0 && at + 1 + n > MAN_WIDTH) {
			(void)putchar('\n');
			at = 0;
		}
		if (at > 0) {
			(void)putchar(' ');
			at++;
		}
		at += put_word(text, n);
		if (text[n] == ' ' && text[n - 1] == '.')
			at = MAN_WIDTH;
		text += n + (text[n] == ' ');
	}
	(void)fputs(".\n", stdout);
}

static void
put_man(enum tide_counter id)
{
	static const char *const by[] = { [TIDE_BY_WORKER] = "the workers",
		[TIDE_BY_ACCEPTOR] = "the acceptor",
		[TIDE_BY_COLLECTOR] = "the collector" };
	const struct tide_counter_info *c = &tide_counter_info[id];
	char help[160];

	(void)snprintf(help, sizeof help, "%c%s",
	    toupper((unsigned char)c->help[0]), c->help + 1);
	printf(".It Cm %s\n", c->name);
	put_sentences(help);
	printf("Counted by %s%s;\n.Li tidemark_%s_total .\n.Pp\n", by[c->by],
	    c->scope == TIDE_SCOPE_PROFILE ? ", for each profile" : "",
	    c->name);
	put_sentences(c->act);
}

/* ---- from here --------------------------------------------------------- */

/* Whether a daemon runs or not: without a map there are no values. */
static int
list(const struct tool *t)
{
	struct view view = { .map = NULL };
	struct tide_config config;
	struct tide_err err;
	unsigned i;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	if (view_open(&view, &config, &err) < 0)
		complain("there are no values to show: %s", err.text);
	for (i = 0; i < TIDE_COUNTER_COUNT; i++) {
		if (t->json)
			put_json(&view, i);
		else
			put_text(&view, i);
	}
	view_close(&view);
	return TOOL_OK;
}

int
run_counters(struct tool *t)
{
	static const struct option longs[] = {
		{ "man", no_argument, NULL, OPT_OWN },
		{ NULL, 0, NULL, 0 },
	};
	bool man = false;
	unsigned i;

	while (tool_getopt(t, "", longs) != -1)
		man = true;
	(void)tool_arguments(t, 0);
	if (man && t->json)
		tool_misused(t, "--man stands alone");
	if (!man)
		return list(t);
	for (i = 0; i < TIDE_COUNTER_COUNT; i++)
		put_man(i);
	return TOOL_OK;
}
