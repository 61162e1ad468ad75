/*
 * spam - report a message, revoke it, see whether it would be met.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../order.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "sign.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/signature_text.h"
#include "tidemark/reputation/spam.h"

struct wish {
	const char *what;
	const char *to[SIGN_RECIPIENTS]; /* that no header names */
	unsigned tos;
	bool no_files;
};

/* ---- test -------------------------------------------------------------- */

static void
put_trace(const struct view *v, const char *what, struct tide_hash h,
    const struct tide_spam_trace *t)
{
	char since[SHOW_MAX];
	uint64_t g = t->reported;

	printf("%-10s  %016llx%016llx", what, (unsigned long long)h.low,
	    (unsigned long long)h.high);
	if (g != 0)
		printf("  reported in generation %llu, which began %s",
		    (unsigned long long)g,
		    show_moment(
			atomic_load(
			    &tide_spam_generation(v->map->spam, g)->began_ms),
			since, sizeof since));
	if (t->revoked != 0)
		printf("  revoked in generation %llu",
		    (unsigned long long)t->revoked);
	printf("%s\n", g == 0 && t->revoked == 0 ? "  not known" : "");
}

static void
put_test(const struct view *v, const struct tide_signatures *s,
    const struct tide_spam_match *m)
{
	char since[SHOW_MAX];
	size_t i;

	if (!s->has_text)
		printf("text        too little of it to be signed\n");
	else
		put_trace(v, "text", s->text, &m->text);
	for (i = 0; i < s->files; i++)
		put_trace(v, "file", s->file[i], &m->file[i]);
	if (m->needed > 0)
		printf("near copy   %u of %zu pairs of samples met, %u of them "
		       "revoked; %u make a near copy\n",
		    m->met, s->samples - 1, m->met_gone, m->needed);
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
put_test_json(const struct tide_signatures *s, const struct tide_spam_match *m)
{
	struct tide_signature_words w;
	struct json j = json_record(stdout, "spam_test");

	tide_signatures_show(s, &w);
	json_text(&j, "text", w.text);
	json_text(&j, "files", w.files);
	json_number(&j, "samples", s->samples);
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

static int
test(
    const struct tool *t, const struct view *v, const struct tide_signatures *s)
{
	struct tide_spam_match m;
	bool spam = tide_spam_test(v->map->spam, NULL, NULL, s, &m);

	if (t->json)
		put_test_json(s, &m);
	else
		put_test(v, s, &m);
	return spam ? TOOL_OK : TOOL_NO;
}

/* ---- report, revoke ---------------------------------------------------- */

static int
report(const struct tool *t, const struct tide_signatures *s, bool revoke)
{
	static struct order o;
	struct tide_signature_words w;
	struct tide_line_out request;
	struct json j;
	int code;

	if (!s->has_text && s->files == 0) {
		complain("the message has too little text to be known by, and "
			 "no attachment");
		return TOOL_NO;
	}
	tide_signatures_show(s, &w);
	tide_line_start(&request, "spam");
	tide_line_add(&request, "kind", revoke ? "revoke" : "report");
	tide_line_add(&request, "text", w.text);
	tide_line_add(&request, "files", w.files);
	tide_line_add(&request, "samples", w.samples);
	code = order_give(t, &o, &request);
	if (code != TOOL_OK)
		return code;
	if (t->json) {
		j = json_record(stdout, revoke ? "revoked" : "reported");
		json_text(&j, "text", w.text);
		json_number(&j, "files", s->files);
		json_number(&j, "generation",
		    tide_line_number(&o.said, "generation", 0));
		json_record_end(&j);
	} else {
		printf("%s, in generation %llu: %s%zu file%s\n",
		    revoke ? "revoked" : "reported",
		    (unsigned long long)tide_line_number(
			&o.said, "generation", 0),
		    s->has_text ? "its text, " : "", s->files,
		    plural(s->files));
	}
	return TOOL_OK;
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
	struct tide_signatures s;

	if (strcmp(w->what, "stats") == 0)
		return stats(t, v);
	if (sign_message(v, optind + 1 < t->argc ? t->argv[optind + 1] : NULL,
		w->to, w->tos, &s) < 0)
		return TOOL_ERROR;
	if (w->no_files)
		s.files = 0;
	return strcmp(w->what, "test") == 0
	    ? test(t, v, &s)
	    : report(t, &s, strcmp(w->what, "revoke") == 0);
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
