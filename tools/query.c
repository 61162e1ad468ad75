/*
 * query - did mail from X, or to Y, pass here, and when?  Asked of the daemon
 * or, offline, of the archive of one that does not run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "output.h"
#include "query.h"
#include "tidemark/clock.h"
#include "tool.h"
#include "view.h"

struct inquiry {
	struct tide_question q;
	const char *since, *until; /* as they were written */
	const char *offline;
};

/* ---- online ------------------------------------------------------------ */

/* Room for one more at the end, or NULL. */
static void *
grow(void *array, size_t n, size_t size)
{
	return (n & (n - 1)) == 0 ? realloc(array, (n == 0 ? 1 : 2 * n) * size)
				  : array;
}

static int
take_hit(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_hit *hit = grow(a->hit, a->hits, sizeof *hit);

	if (hit == NULL)
		return -1;
	a->hit = hit;
	hit[a->hits++] =
	    (struct tide_hit){ .number = tide_line_number(l, "number", 0),
		    .from_ms = tide_line_number(l, "from_ms", 0),
		    .until_ms = tide_line_number(l, "until_ms", 0),
		    .error = tide_line_real(l, "error"),
		    .sealed = tide_line_number(l, "sealed", 0) != 0 };
	return 0;
}

static int
take_gap(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_gap *gap = grow(a->gap, a->gaps, sizeof *gap);

	if (gap == NULL)
		return -1;
	a->gap = gap;
	gap[a->gaps++] =
	    (struct tide_gap){ .from_ms = tide_line_number(l, "from_ms", 0),
		    .until_ms = tide_line_number(l, "until_ms", 0),
		    .kind = (uint32_t)tide_line_number(l, "kind", 0) };
	return 0;
}

/* Words we do not know are a newer daemon's: let them pass. */
static int
take_line(struct tide_answer *a, const struct tide_line *l, bool *ranged)
{
	if (strcmp(l->word, "hit") == 0)
		return take_hit(a, l);
	if (strcmp(l->word, "gap") == 0)
		return take_gap(a, l);
	if (strcmp(l->word, "range") != 0)
		return 0;
	a->since_ms = tide_line_number(l, "since_ms", 0);
	a->until_ms = tide_line_number(l, "until_ms", 0);
	a->windows = tide_line_number(l, "windows", 0);
	a->error = tide_line_real(l, "error");
	*ranged = true;
	return 0;
}

static int
take_answer(struct ask *ask, struct tide_answer *a)
{
	enum answer next;
	bool ranged = false;

	memset(a, 0, sizeof *a);
	while ((next = ask_next(ask)) == ANSWER_LINE) {
		if (take_line(a, &ask->line, &ranged) < 0) {
			complain("no memory left for the answer");
			return -1;
		}
	}
	if (next == ANSWER_DONE && !ranged)
		complain("the daemon's answer makes no sense");
	return next == ANSWER_DONE && ranged ? 0 : -1;
}

static int
ask_daemon(const struct tool *t, const struct inquiry *i, struct tide_answer *a)
{
	static struct ask ask;
	struct tide_config config;
	struct tide_line_out request;
	int rc;

	if (tool_places(t, &config) < 0)
		return -1;
	tide_line_start(&request, "query");
	if (i->q.from != NULL)
		tide_line_add(&request, "from", i->q.from);
	if (i->q.to != NULL)
		tide_line_add(&request, "to", i->q.to);
	if (i->q.has_since)
		tide_line_add_number(&request, "since_ms", i->q.since_ms);
	if (i->until != NULL)
		tide_line_add_number(&request, "until_ms", i->q.until_ms);
	if (ask_send(&ask, &config, &request) == ANSWER_BROKEN)
		return -1;
	rc = take_answer(&ask, a);
	ask_close(&ask);
	if (rc < 0)
		tide_answer_free(a);
	return rc;
}

/* ---- offline ----------------------------------------------------------- */

static int
ask_archive(const struct inquiry *i, struct tide_answer *a)
{
	struct tide_archive archive;
	struct tide_err err;
	int rc;

	if (view_archive(&archive, i->offline, &err) < 0) {
		complain("there is no archive to ask: %s", err.text);
		return -1;
	}
	rc = tide_query(&archive, NULL, &i->q, a, &err);
	tide_archive_close(&archive);
	if (rc < 0)
		complain("%s", err.text);
	return rc;
}

/* ---- the question ------------------------------------------------------ */

static uint64_t
read_moment(
    const struct tool *t, const char *option, const char *text, uint64_t now)
{
	struct tide_err err;
	uint64_t ms;

	if (tide_clock_parse(text, now, &ms, &err) < 0)
		tool_misused(t, "%s: %s", option, err.text);
	return ms;
}

static void
complete(const struct tool *t, struct inquiry *i)
{
	struct tide_question *q = &i->q;

	if (q->from == NULL && q->to == NULL)
		tool_misused(t, "give --from or --to");
	q->now_ms = tide_clock_wall_ms();
	q->until_ms = q->now_ms;
	if (i->until != NULL)
		q->until_ms = read_moment(t, "--until", i->until, q->now_ms);
	q->has_since = i->since != NULL;
	if (q->has_since)
		q->since_ms = read_moment(t, "--since", i->since, q->now_ms);
}

enum { FROM = OPT_OWN, TO, SINCE, UNTIL, OFFLINE };

static void
read_options(struct tool *t, struct inquiry *i)
{
	static const struct option longs[] = {
		{ "from", required_argument, NULL, FROM },
		{ "to", required_argument, NULL, TO },
		{ "since", required_argument, NULL, SINCE },
		{ "until", required_argument, NULL, UNTIL },
		{ "offline", required_argument, NULL, OFFLINE },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == FROM)
			i->q.from = optarg;
		else if (c == TO)
			i->q.to = optarg;
		else if (c == SINCE)
			i->since = optarg;
		else if (c == UNTIL)
			i->until = optarg;
		else
			i->offline = optarg;
	}
	(void)tool_arguments(t, 0);
	complete(t, i);
}

int
run_query(struct tool *t)
{
	struct inquiry i = { .since = NULL };
	struct tide_answer answer;
	int rc;

	read_options(t, &i);
	rc = i.offline != NULL ? ask_archive(&i, &answer)
			       : ask_daemon(t, &i, &answer);
	if (rc < 0)
		return TIDE_UNANSWERED;
	if (t->json)
		query_json(&i.q, &answer);
	else
		query_text(&i.q, &answer);
	rc = (int)tide_answer_verdict(&answer);
	tide_answer_free(&answer);
	return rc;
}
