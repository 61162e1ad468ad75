/*
 * spam - report a message, revoke it, see whether it would be met.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/ask.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "sign.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/line.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/spam.h"

struct wish {
	const char *what;
	const char *to[SIGN_RECIPIENTS]; /* that no header names */
	unsigned tos;
	bool no_files;
};

/* ---- test -------------------------------------------------------------- */

#define FILES_MOST 16u

struct trace {
	char name[40];
	uint64_t reported, began_ms, revoked;
};

/* What the daemon said. */
struct test {
	bool has_text;
	struct trace text, file[FILES_MOST];
	unsigned files;
	uint64_t samples, met, met_gone, needed, generation, began_ms;
	unsigned how;
};

static void
put_trace(const char *what, const struct trace *t)
{
	char since[SHOW_MAX];

	printf("%-10s  %s", what, t->name);
	if (t->reported != 0)
		printf("  reported in generation %llu, which began %s",
		    (unsigned long long)t->reported,
		    show_moment(t->began_ms, since, sizeof since));
	if (t->revoked != 0)
		printf("  revoked in generation %llu",
		    (unsigned long long)t->revoked);
	printf(
	    "%s\n", t->reported == 0 && t->revoked == 0 ? "  not known" : "");
}

static void
put_test(const struct test *m)
{
	char since[SHOW_MAX];
	unsigned i;

	if (!m->has_text)
		printf("text        too little of it to be signed\n");
	else
		put_trace("text", &m->text);
	for (i = 0; i < m->files; i++)
		put_trace("file", &m->file[i]);
	if (m->needed > 0)
		printf("near copy   %llu of %llu pairs of samples met, %llu of "
		       "them revoked; %llu make a near copy\n",
		    (unsigned long long)m->met,
		    (unsigned long long)m->samples - 1,
		    (unsigned long long)m->met_gone,
		    (unsigned long long)m->needed);
	if (m->how == TIDE_SPAM_NOT)
		printf("%sno spam%s\n", tone(TONE_GOOD), tone(TONE_PLAIN));
	else
		printf("%sspam%s: %s, of generation %llu, since %s\n",
		    tone(TONE_BAD), tone(TONE_PLAIN),
		    tide_spam_how_name[m->how],
		    (unsigned long long)m->generation,
		    show_moment(m->began_ms, since, sizeof since));
}

static void
put_test_json(const struct test *m)
{
	struct json j = json_record(stdout, "spam_test");
	char names[FILES_MOST * 40] = "";
	unsigned i;

	for (i = 0; i < m->files; i++)
		(void)strcat(names, m->file[i].name);
	json_text(&j, "text", m->text.name);
	json_text(&j, "files", names);
	json_number(&j, "samples", m->samples);
	json_number(&j, "text_reported", m->text.reported);
	json_number(&j, "text_revoked", m->text.revoked);
	json_number(&j, "pairs_met", m->met);
	json_number(&j, "pairs_revoked", m->met_gone);
	json_number(&j, "pairs_needed", m->needed);
	json_bool(&j, "spam", m->how != TIDE_SPAM_NOT);
	json_text(&j, "how", tide_spam_how_name[m->how]);
	json_number(&j, "generation", m->generation);
	json_time(&j, "since", m->began_ms);
	json_record_end(&j);
}

static struct trace
read_trace(const struct tide_line *l)
{
	struct trace t = { .reported = tide_line_number(l, "reported", 0),
		.began_ms = tide_line_number(l, "began_ms", 0),
		.revoked = tide_line_number(l, "revoked", 0) };
	const char *name = tide_line_get(l, "name");

	(void)snprintf(
	    t.name, sizeof t.name, "%.32s", name != NULL ? name : "?");
	return t;
}

static void
take_line(struct test *m, const struct tide_line *l)
{
	const char *of = tide_line_get(l, "of");

	if (strcmp(l->word, "match") == 0) {
		m->samples = tide_line_number(l, "samples", 0);
		m->met = tide_line_number(l, "met", 0);
		m->met_gone = tide_line_number(l, "met_gone", 0);
		m->needed = tide_line_number(l, "needed", 0);
		m->how =
		    (unsigned)tide_line_number(l, "how", 0) % TIDE_SPAM_HOWS;
		m->generation = tide_line_number(l, "generation", 0);
		m->began_ms = tide_line_number(l, "began_ms", 0);
	} else if (of != NULL && strcmp(of, "text") == 0) {
		m->has_text = true;
		m->text = read_trace(l);
	} else if (of != NULL && m->files < FILES_MOST) {
		m->file[m->files++] = read_trace(l);
	}
}

static int
test(const struct tool *t, struct ask *ask, const struct wish *w)
{
	struct tide_line_out request;
	struct test m = { .has_text = false };
	enum answer a;

	tide_line_start(&request, "spam-test");
	tide_line_add_number(&request, "no_files", w->no_files);
	a = ask_say(ask, &request);
	while (a != ANSWER_BROKEN && (a = ask_next(ask)) == ANSWER_LINE)
		take_line(&m, &ask->line);
	if (a != ANSWER_DONE)
		return TOOL_ERROR;
	if (t->json)
		put_test_json(&m);
	else
		put_test(&m);
	return m.how != TIDE_SPAM_NOT ? TOOL_OK : TOOL_NO;
}

/* ---- report, revoke ---------------------------------------------------- */

static void
say_reported(const struct tool *t, const struct tide_line *l, bool revoke)
{
	uint64_t files = tide_line_number(l, "files", 0);
	const char *text = tide_line_get(l, "text");
	struct json j;

	if (!t->json) {
		printf("%s, in generation %llu: %s%llu file%s\n",
		    revoke ? "revoked" : "reported",
		    (unsigned long long)tide_line_number(l, "generation", 0),
		    tide_line_number(l, "has_text", 0) != 0 ? "its text, " : "",
		    (unsigned long long)files, plural(files));
		return;
	}
	j = json_record(stdout, revoke ? "revoked" : "reported");
	json_text(&j, "text", text != NULL ? text : "");
	json_number(&j, "files", files);
	json_number(&j, "generation", tide_line_number(l, "generation", 0));
	json_record_end(&j);
}

static int
report(const struct tool *t, struct ask *ask, const struct wish *w)
{
	bool revoke = strcmp(w->what, "revoke") == 0;
	struct tide_line_out request;
	enum answer a;

	tide_line_start(&request, "spam");
	tide_line_add(&request, "kind", revoke ? "revoke" : "report");
	tide_line_add_number(&request, "no_files", w->no_files);
	a = ask_say(ask, &request);
	while (a != ANSWER_BROKEN && (a = ask_next(ask)) == ANSWER_LINE)
		say_reported(t, &ask->line, revoke);
	return a == ANSWER_DONE	  ? TOOL_OK
	    : a == ANSWER_REFUSED ? TOOL_NO
				  : TOOL_ERROR;
}

/* ---- stats ------------------------------------------------------------- */

static void
put_generation(const struct tool *t, const struct tide_spam *m, uint64_t number)
{
	const struct tide_spam_generation *g = tide_spam_generation(m, number);
	uint64_t reported = atomic_load(&g->messages[TIDE_SPAM_REPORTED]);
	uint64_t revoked = atomic_load(&g->messages[TIDE_SPAM_REVOKED]);
	uint64_t ones = tide_bloom_ones(&m->shape.exact,
	    tide_spam_words(m, number, TIDE_SPAM_REPORTED, TIDE_SPAM_EXACT));
	double error = tide_bloom_error(&m->shape.exact, ones);
	char since[SHOW_MAX], chance[SHOW_MAX];
	struct json j;

	if (t->json) {
		j = json_record(stdout, "spam_generation");
		json_number(&j, "generation", number);
		json_time(&j, "began", atomic_load(&g->began_ms));
		json_number(&j, "reported", reported);
		json_number(&j, "revoked", revoked);
		json_number(
		    &j, "capacity", m->shape.pairs.capacity / TIDE_PAIRS);
		json_real(&j, "error", error);
		json_record_end(&j);
		return;
	}
	printf("generation %llu since %s: %llu reported, %llu revoked, of "
	       "%llu; chance of a false yes %s\n",
	    (unsigned long long)number,
	    show_moment(atomic_load(&g->began_ms), since, sizeof since),
	    (unsigned long long)reported, (unsigned long long)revoked,
	    (unsigned long long)m->shape.pairs.capacity / TIDE_PAIRS,
	    show_chance(error, chance, sizeof chance));
}

static int
stats(const struct tool *t, const struct view *v)
{
	const struct tide_spam *m = v->map->spam;
	uint64_t g, newest = atomic_load(&m->head->newest);

	for (g = newest; g > 0 && g >= tide_spam_oldest(&m->shape, newest); g--)
		if (atomic_load(&tide_spam_generation(m, g)->number) == g)
			put_generation(t, m, g);
	return TOOL_OK;
}

/* ---- from here --------------------------------------------------------- */

static int
act(const struct tool *t, const struct view *v, const struct wish *w)
{
	static struct ask ask;
	int code;

	if (strcmp(w->what, "stats") == 0)
		return stats(t, v);
	if (sign_message(&ask, &v->config,
		optind + 1 < t->argc ? t->argv[optind + 1] : NULL, w->to,
		w->tos) < 0)
		return TOOL_ERROR;
	code = strcmp(w->what, "test") == 0 ? test(t, &ask, w)
					    : report(t, &ask, w);
	ask_close(&ask);
	return code;
}

static void
read_options(struct tool *t, struct wish *w)
{
	enum { OPT_TO = OPT_OWN, OPT_NO_FILES };
	static const struct option longs[] = {
		{ "to", required_argument, NULL, OPT_TO },
		{ "no-files", no_argument, NULL, OPT_NO_FILES },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const names[] = { "report", "revoke", "test",
		"stats", NULL };
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == OPT_NO_FILES)
			w->no_files = true;
		else if (w->tos < sizeof w->to / sizeof *w->to)
			w->to[w->tos++] = optarg;
	}
	w->what = names[tool_choice(t, NULL, tool_word(t), names)];
	if (t->argc - optind > (strcmp(w->what, "stats") == 0 ? 1 : 2))
		tool_misused(t, "one message at a time");
}

int
run_spam(struct tool *t)
{
	struct wish w = { 0 };
	struct view v;
	int code;

	read_options(t, &w);
	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	code = act(t, &v, &w);
	view_close(&v);
	return code;
}
