/*
 * top, workers - one forked worker a connection: whom it serves, how long,
 * and what it is doing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../read/output.h"
#include "../read/view.h"
#include "top.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/counters.h"

enum { PID, AGE, CLIENT, PROFILE, STAGE, BUSY, QUIET, MESSAGES, NOTE };

static const struct column columns[] = {
	{ "pid", "PID", 8, 0, false },
	{ "age_ms", "AGE", 10, 0, false },
	{ "client", "CLIENT", 0, 0, true },
	{ "profile", "PROFILE", 10, 0, true },
	{ "stage", "STAGE", 8, 0, true },
	{ "busy", "DOES", 5, 0, true },
	{ "quiet_ms", "FOR", 10, 0, false },
	{ "messages", "MESSAGES", 8, 0, false },
	{ "note", "NOTE", 6, 90, true },
};

static struct view_worker *workers;
static size_t count;
static uint32_t room;

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct view_worker *w = &workers[row];

	switch (column) {
	case PID:
		return w->pid;
	case AGE:
		return t->now_ms > w->since_ms
		    ? (double)(t->now_ms - w->since_ms)
		    : 0;
	case QUIET:
		return (double)w->quiet_ms;
	default:
		return w->messages;
	}
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	const struct view_worker *w = &workers[row];
	char text[SHOW_MAX] = "";
	const char *s = text;

	(void)width;
	out->tone = w->lapsed ? TONE_BAD : TONE_PLAIN;
	switch (column) {
	case CLIENT:
		s = w->client;
		break;
	case PROFILE:
		s = w->profile;
		break;
	case STAGE:
		s = w->stage;
		break;
	case BUSY:
		s = w->busy ? "work" : "wait";
		break;
	case NOTE:
		s = w->lapsed ? "lapsed" : "";
		break;
	case AGE:
	case QUIET:
		(void)show_span(
		    (uint64_t)number(t, row, column), text, sizeof text);
		break;
	default:
		(void)snprintf(
		    text, sizeof text, "%.0f", number(t, row, column));
	}
	(void)snprintf(out->text, TOP_TEXT, "%s", s);
}

/* Asking about a worker is asking about its client. */
static bool
key(const struct top *t, size_t row, char out[TIDE_BUCKET_KEY_MAX + 1])
{
	(void)t;
	(void)snprintf(out, TIDE_BUCKET_KEY_MAX + 1, "%s", workers[row].client);
	return true;
}

static uint64_t
id(size_t row)
{
	return workers[row].pid;
}

static int
gather(struct top *t)
{
	struct view_worker *more;
	uint32_t i;

	if (room < t->view.slots) {
		more = realloc(workers, t->view.slots * sizeof *more);
		if (more == NULL)
			return -1;
		workers = more;
		room = t->view.slots;
	}
	for (count = 0, i = 0; i < t->view.slots; i++)
		count += view_worker(&t->view, i, &workers[count]) &&
		    workers[count].serving;
	t->table[0] = (struct table){ .record = "worker",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.rows = count,
		.cell = show,
		.number = number,
		.id = id,
		.key = key };
	t->tables = 1;
	return 0;
}

static void
banner(const struct top *t, struct banner *b, int width, int height)
{
	const struct tide_counters *c = t->view.map->counters;

	(void)width;
	if (height < 2)
		return;
	b->line[0].tone = TONE_PLAIN;
	(void)snprintf(b->line[0].text, TOP_TEXT,
	    "%zu of %u at work; forked %llu, crashed %llu, stuck %llu, waits "
	    "for a free one %llu",
	    count, t->view.slots,
	    (unsigned long long)tide_counter_get(
		c, 0, TIDE_COUNT_WORKERS_FORKED),
	    (unsigned long long)tide_counter_get(
		c, 0, TIDE_COUNT_WORKERS_CRASHED),
	    (unsigned long long)tide_counter_get(
		c, 0, TIDE_COUNT_WORKERS_STUCK),
	    (unsigned long long)tide_counter_get(
		c, 0, TIDE_COUNT_BACKLOG_WAITS));
	b->lines = 1;
}

const struct top_view top_workers = { .name = "Workers",
	.column = columns,
	.columns = sizeof columns / sizeof *columns,
	.sort = AGE,
	.descending = true,
	.gather = gather,
	.banner = banner };
