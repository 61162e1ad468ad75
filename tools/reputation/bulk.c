/*
 * bulk - how many copies of a message were seen, and how full the counts are.
 */
#include <stdio.h>
#include <string.h>

#include "../read/ask.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "sign.h"
#include "tidemark/base/line.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/settings/config.h"

/* ---- test -------------------------------------------------------------- */

/* One signature: what it is of, its name, and its count. */
static void
put_count(const struct tool *t, const struct tide_line *line,
    const struct tide_bulk_count *c)
{
	const char *of = tide_line_get(line, "of");
	const char *name = tide_line_get(line, "name");
	char count[TIDE_BULK_TEXT], since[SHOW_MAX];
	struct json j;

	of = of != NULL ? of : "?";
	name = name != NULL ? name : "?";
	if (!t->json) {
		printf("%s %s: %s%s%s copies (%u here, %u at neighbours) "
		       "since %s\n",
		    of, name, tone(TONE_STRONG), tide_bulk_show(c, count),
		    tone(TONE_PLAIN), c->own, c->neighbours,
		    show_moment(c->since_ms, since, sizeof since));
		return;
	}
	j = json_record(stdout, "count");
	json_text(&j, "of", of);
	json_text(&j, "signature", name);
	json_number(&j, "own", c->own);
	json_number(&j, "neighbours", c->neighbours);
	json_bool(&j, "more", c->more);
	json_time(&j, "since", c->since_ms);
	json_record_end(&j);
}

static void
put_profiles(const struct tool *t, const struct view *v, uint32_t total)
{
	static const char *const actions[] = { [TIDE_ACTION_REJECT] = "refused",
		[TIDE_ACTION_TEMPFAIL] = "put off",
		[TIDE_ACTION_TAG] = "tagged",
		[TIDE_ACTION_BLOCK] = "counted as blocked" };
	unsigned i;

	for (i = 0; i < v->config.profiles && !t->json; i++) {
		const struct tide_profile *p = &v->config.profile[i];

		if (p->bulk_mode == TIDE_MODE_OFF)
			continue;
		if (total + 1 < p->bulk_threshold)
			printf("%s: %u more and it is bulk mail\n", p->name,
			    p->bulk_threshold - total);
		else
			printf("%s: bulk mail; the next copy is %s%s\n",
			    p->name, actions[p->bulk_action % 4],
			    p->bulk_mode == TIDE_MODE_DRY_RUN
				? " (dry-run: only counted)"
				: "");
	}
}

static struct tide_bulk_count
read_count(const struct tide_line *l)
{
	return (struct tide_bulk_count){ .own = (uint32_t)tide_line_number(
					     l, "own", 0),
		.neighbours = (uint32_t)tide_line_number(l, "neighbours", 0),
		.more = tide_line_number(l, "more", 0) != 0,
		.most = (uint32_t)tide_line_number(l, "most", 0),
		.since_ms = tide_line_number(l, "since_ms", 0) };
}

/* The highest of all counts; as the milter has it. */
static int
look(const struct tool *t, const struct view *v, struct ask *ask)
{
	struct tide_line_out request;
	struct tide_bulk_count c;
	uint32_t most = 0;
	unsigned n = 0;
	enum answer a;

	tide_line_start(&request, "bulk-test");
	a = ask_say(ask, &request);
	while (a != ANSWER_BROKEN && (a = ask_next(ask)) == ANSWER_LINE) {
		c = read_count(&ask->line);
		put_count(t, &ask->line, &c);
		if (tide_bulk_total(&c) > most)
			most = tide_bulk_total(&c);
		n++;
	}
	if (a != ANSWER_DONE)
		return TOOL_ERROR;
	if (n == 0 && !t->json)
		printf("too little text, and no attachment: not counted\n");
	if (n > 0)
		put_profiles(t, v, most);
	return most > 0 ? TOOL_OK : TOOL_NO;
}

static int
test(const struct tool *t, const char *path, const char *const *to,
    size_t recipients)
{
	static struct ask ask;
	struct view v;
	int code = TOOL_ERROR;

	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	if (sign_message(&ask, &v.config, path, to, recipients) == 0) {
		code = look(t, &v, &ask);
		ask_close(&ask);
	}
	view_close(&v);
	return code;
}

/* ---- stats ------------------------------------------------------------- */

static void
put_generation(const struct tool *t, const struct view *v, bool now,
    uint64_t since_ms, unsigned array)
{
	const struct tide_counting_shape *s = &v->map->bulk->filter.shape;
	uint64_t used = tide_counting_used(s, v->map->bulk->own[array]);
	uint64_t theirs =
	    tide_counting_used(s, v->map->bulk->neighbours[array]);
	const char *name = now ? "this generation" : "the one before";
	char since[SHOW_MAX], chance[SHOW_MAX];
	struct json j;

	if (!t->json) {
		printf("%s: since %s, %.1f%% of %llu cells used (%.1f%% by "
		       "neighbours); a new message is taken for a seen one "
		       "with a chance of %s\n",
		    name, show_moment(since_ms, since, sizeof since),
		    100.0 * (double)used / (double)s->cells,
		    (unsigned long long)s->cells,
		    100.0 * (double)theirs / (double)s->cells,
		    show_chance(
			tide_counting_error(s, used), chance, sizeof chance));
		return;
	}
	j = json_record(stdout, "generation");
	json_bool(&j, "current", now);
	json_time(&j, "since", since_ms);
	json_number(&j, "cells", s->cells);
	json_number(&j, "bits", s->bits);
	json_number(&j, "positions", s->positions);
	json_number(&j, "used", used);
	json_number(&j, "neighbours_used", theirs);
	json_real(&j, "error", tide_counting_error(s, used));
	json_record_end(&j);
}

static int
stats(const struct tool *t)
{
	const struct tide_bulk_head *h;
	uint64_t turn;
	struct view v;

	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	h = v.map->bulk->head;
	turn = atomic_load(&h->turn);
	if (turn != 0)
		put_generation(t, &v, true,
		    atomic_load(&h->since_ms[turn >> 1 & 1]), turn >> 1 & 1);
	if ((turn & 1) != 0 && atomic_load(&h->since_ms[~(turn >> 1) & 1]) != 0)
		put_generation(t, &v, false,
		    atomic_load(&h->since_ms[~(turn >> 1) & 1]),
		    ~(turn >> 1) & 1);
	view_close(&v);
	return TOOL_OK;
}

int
run_bulk(struct tool *t)
{
	enum { OPT_TO = OPT_OWN };
	static const struct option longs[] = {
		{ "to", required_argument, NULL, OPT_TO },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const names[] = { "test", "stats", NULL };
	const char *to[SIGN_RECIPIENTS];
	size_t recipients = 0;

	while (tool_getopt(t, "", longs) != -1) {
		if (recipients == SIGN_RECIPIENTS)
			tool_misused(
			    t, "at most %u recipients", SIGN_RECIPIENTS);
		to[recipients++] = optarg;
	}
	if (tool_choice(t, NULL, tool_word(t), names) == 0 &&
	    t->argc - optind <= 2)
		return test(t, t->argv[optind + 1], to, recipients);
	(void)tool_arguments(t, 1);
	return stats(t);
}
