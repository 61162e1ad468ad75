/*
 * query_ask - put a question to the daemon, take its answer line by line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "output.h"
#include "query.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/address.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

/* ---- the answer -------------------------------------------------------- */

/* Room for one more at the end, or NULL. */
static void *
grow(void *array, size_t n, size_t size)
{
	return (n & (n - 1)) == 0 ? realloc(array, (n == 0 ? 1 : 2 * n) * size)
				  : array;
}

static struct tide_recollection
read_content(const struct tide_line *l)
{
	return (struct tide_recollection){ .found = true,
		.levels = (unsigned)tide_line_number(l, "levels", 0),
		.blocks = (unsigned)tide_line_number(l, "blocks", 0),
		.whole = tide_line_number(l, "whole", 0) != 0,
		.chance = tide_line_real(l, "chance"),
		.share = tide_line_real(l, "share"),
		.files = (unsigned)tide_line_number(l, "files", 0),
		.files_asked = (unsigned)tide_line_number(l, "files_asked", 0),
		.distance = tide_line_get(l, "distance") == NULL
		    ? -1
		    : (int64_t)tide_line_number(l, "distance", 0) };
}

static int
take_hit(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_hit *hit = grow(a->hit, a->hits, sizeof *hit);
	const char *profiles = tide_line_get(l, "profiles");

	if (hit == NULL)
		return -1;
	a->hit = hit;
	hit += a->hits++;
	*hit = (struct tide_hit){ .number = tide_line_number(l, "number", 0),
		.from_ms = tide_line_number(l, "from_ms", 0),
		.until_ms = tide_line_number(l, "until_ms", 0),
		.error = tide_line_real(l, "error"),
		.sealed = tide_line_number(l, "sealed", 0) != 0,
		.content = read_content(l),
		.certain = tide_line_number(l, "certain", 0) != 0 };
	if (profiles != NULL)
		(void)snprintf(
		    hit->profiles, sizeof hit->profiles, "%s", profiles);
	return 0;
}

static int
take_fit(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_fit *fit = grow(a->fit, a->fits, sizeof *fit);

	if (fit == NULL)
		return -1;
	a->fit = fit;
	fit[a->fits++] =
	    (struct tide_fit){ .guess = tide_line_number(l, "guess", 0),
		    .window = tide_line_number(l, "window", 0),
		    .levels = (unsigned)tide_line_number(l, "levels", 0),
		    .error = tide_line_real(l, "error") };
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
	if (strcmp(l->word, "fit") == 0)
		return take_fit(a, l);
	if (strcmp(l->word, "range") != 0)
		return 0;
	a->since_ms = tide_line_number(l, "since_ms", 0);
	a->until_ms = tide_line_number(l, "until_ms", 0);
	a->windows = tide_line_number(l, "windows", 0);
	a->error = tide_line_real(l, "error");
	a->lookups = tide_line_number(l, "lookups", 0);
	a->stopped = tide_line_number(l, "stopped", 0) != 0;
	query_say_cut((unsigned)tide_line_number(l, "cut", 0));
	*ranged = true;
	return 0;
}

/* How far it is; the daemon stops at any word. */
static void
progress(struct ask *ask, const struct query_wait *wait)
{
	if (strcmp(ask->line.word, "progress") == 0 &&
	    !wait->progress(wait->arg, tide_line_number(&ask->line, "done", 0),
		tide_line_number(&ask->line, "all", 0)))
		(void)tide_line_send_bytes(ask->in.fd, "stop\n", 5);
}

static enum answer
take_answer(
    struct ask *ask, const struct query_wait *wait, struct tide_answer *a)
{
	enum answer next;
	bool ranged = false;

	memset(a, 0, sizeof *a);
	while ((next = ask_next(ask)) == ANSWER_LINE) {
		progress(ask, wait);
		if (take_line(a, &ask->line, &ranged) < 0) {
			complain("no memory left for the answer");
			return ANSWER_BROKEN;
		}
	}
	if (next == ANSWER_DONE && !ranged) {
		complain("the daemon's answer makes no sense");
		next = ANSWER_BROKEN;
	}
	return next;
}

/* ---- the question ------------------------------------------------------ */

static int
tell_daemon(
    struct ask *ask, const struct tide_config *config, struct inquiry *i)
{
	struct telling t = { .ask = ask, .config = config };

	return query_tell(&t, i);
}

static void
word(const struct inquiry *i, struct tide_line_out *request)
{
	tide_line_start(request, "query");
	if (i->q.from != NULL)
		tide_line_add(request, "from", i->q.from);
	if (i->q.to != NULL)
		tide_line_add(request, "to", i->q.to);
	if (i->q.has_since)
		tide_line_add_number(request, "since_ms", i->q.since_ms);
	if (i->until != NULL)
		tide_line_add_number(request, "until_ms", i->q.until_ms);
	if (query_has_content(i))
		tide_line_add(request, "content", "1");
}

static enum answer
put(struct ask *ask, const struct tide_config *config, struct inquiry *i,
    const struct query_wait *wait, struct tide_answer *a)
{
	struct tide_line_out request;
	enum answer next;

	if (ask_open(ask, config) == ANSWER_BROKEN)
		return ANSWER_BROKEN;
	if (query_has_content(i) && tell_daemon(ask, config, i) < 0) {
		ask_close(ask);
		return ANSWER_BROKEN;
	}
	word(i, &request);
	if (ask_say(ask, &request) == ANSWER_BROKEN)
		return ANSWER_BROKEN;
	wait->begin(wait->arg, ask->in.fd);
	next = take_answer(ask, wait, a);
	wait->end(wait->arg);
	ask_close(ask);
	return next;
}

int
query_times(struct inquiry *i, struct tide_err *err)
{
	struct tide_question *q = &i->q;
	struct tide_err why;

	q->now_ms = tide_clock_wall_ms();
	q->until_ms = UINT64_MAX; /* or as far as anything is known */
	q->has_since = i->since != NULL;
	if (i->until != NULL &&
	    tide_clock_parse(i->until, q->now_ms, &q->until_ms, &why) < 0)
		return tide_err_set(err, "until: %s", why.text);
	if (q->has_since &&
	    tide_clock_parse(i->since, q->now_ms, &q->since_ms, &why) < 0)
		return tide_err_set(err, "since: %s", why.text);
	return 0;
}

int
query_addresses(struct inquiry *i, struct tide_err *err)
{
	const char **const field[] = { &i->q.from, &i->q.to };
	bool domain;
	unsigned k;

	for (k = 0; k < 2; k++) {
		if (*field[k] == NULL)
			continue;
		if (tide_address_typed(*field[k], i->address[k], &domain, err) <
		    0)
			return -1;
		if (domain)
			i->bare[k] = *field[k];
		*field[k] = i->address[k];
	}
	return 0;
}

enum answer
query_ask(const struct tide_config *config, struct inquiry *i,
    const struct query_wait *wait, struct tide_answer *a)
{
	struct ask *ask = calloc(1, sizeof *ask);
	enum answer next = ANSWER_BROKEN;

	memset(a, 0, sizeof *a);
	if (ask == NULL)
		complain("no memory left for the question");
	else
		next = put(ask, config, i, wait, a);
	free(ask);
	if (next != ANSWER_DONE)
		tide_answer_free(a);
	return next;
}
