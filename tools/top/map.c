/*
 * top, map - the shared map itself: its regions and how much of each is in
 * use, the collector's books, and the files behind it.
 */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../read/output.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "top.h"
#include "tidemark/base/files.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/ring.h"

enum { NAME, BYTES, SHARE, USED, CAPACITY, WHAT };

static const struct column columns[] = {
	{ "region", "REGION", 10, 0, true },
	{ "bytes", "SIZE", 10, 0, false },
	{ "share", "IN USE", 8, 0, false },
	{ "used", "USED", 10, 0, false },
	{ "capacity", "OF", 10, 0, false },
	{ "what", "WHAT", 0, 0, true },
};

/* What is counted in a region, where something is. */
static struct use {
	double used, capacity;
	const char *what;
} uses[TIDE_REGIONS];

static void
note(unsigned region, double used, double capacity, const char *what)
{
	uses[region] = (struct use){ used, capacity, what };
}

static void
measure(const struct top *t)
{
	const struct tide_map *m = t->view.map;
	const struct tide_flow_head *h = m->flow->head;
	struct view_flow f = view_flow(&t->view, t->now_ms);
	uint64_t next = tide_ring_next(m->ring);
	uint32_t units = atomic_load(&h->string_used);
	uint32_t idle = atomic_load(&h->string_free);
	unsigned i;

	for (i = 0; i < TIDE_REGIONS; i++)
		note(i, NAN, NAN, "");
	note(TIDE_REGION_CONTROL, NAN, NAN, "shapes, pulse, generation");
	note(TIDE_REGION_ACCEPTOR, NAN, NAN, "its pulse, and what was missed");
	note(TIDE_REGION_COUNTERS, NAN, NAN, "see tidemark counters");
	note(TIDE_REGION_MAILBOXES, NAN, NAN, "first drops, on their way");
	note(TIDE_REGION_SLOTS, view_serving(&t->view), t->view.slots,
	    "workers");
	note(TIDE_REGION_BUCKETS, f.buckets, t->view.flow.buckets, "buckets");
	note(TIDE_REGION_FLOW, units > idle ? units - idle : 0,
	    t->view.flow.string_units, "units of 16 bytes for keys");
	note(TIDE_REGION_BANS, f.bans, t->view.bans, "bans");
	note(TIDE_REGION_DECISIONS, (double)(next - tide_ring_oldest(m->ring)),
	    m->ring->capacity, "last decisions");
	note(TIDE_REGION_TOKENS, NAN, (double)m->tokens->capacity,
	    "accounts with an allowance");
	note(TIDE_REGION_LATENCY, NAN, NAN, "how long the mail server waited");
	note(TIDE_REGION_HISTORY, NAN, NAN, "the last minute and hour");
	note(TIDE_REGION_WINDOW0, NAN, NAN, "what passed: see Memory");
	note(TIDE_REGION_WINDOW1, NAN, NAN, "what passed: see Memory");
	note(TIDE_REGION_ADDRESSES, NAN, NAN, "the list of spam addresses");
	note(TIDE_REGION_BULK, NAN, NAN, "how often a content came");
	note(TIDE_REGION_NEIGHBOURS, NAN, NAN, "and how often at others");
	note(TIDE_REGION_SPAM, NAN, NAN, "reported spam");
	note(TIDE_REGION_DISTINCT, NAN, (double)m->distinct->capacity,
	    "accounts with estimates");
}

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct use *u = &uses[row];

	switch (column) {
	case BYTES:
		return (double)t->view.map->length[row];
	case SHARE:
		return u->capacity > 0 ? u->used / u->capacity : NAN;
	case USED:
		return u->used;
	default:
		return u->capacity;
	}
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	double n =
	    column == NAME || column == WHAT ? 0 : number(t, row, column);

	out->tone = TONE_PLAIN;
	out->text[0] = '\0';
	if (column == NAME)
		(void)snprintf(
		    out->text, TOP_TEXT, "%s", tide_region[row].name);
	else if (column == WHAT)
		(void)snprintf(out->text, TOP_TEXT, "%s", uses[row].what);
	else if (column == BYTES)
		(void)show_bytes((uint64_t)n, out->text, TOP_TEXT);
	else if (isnan(n))
		return;
	else if (column == SHARE)
		draw_bar(t, out, n, width);
	else
		(void)snprintf(out->text, TOP_TEXT, "%.0f", n);
}

/* ---- the collector's books --------------------------------------------- */

static const struct column book_columns[] = {
	{ "book", "BOOK", 18, 0, true },
	{ "value", "COUNT", 12, 0, false },
	{ "what", "WHAT", 0, 0, true },
};

static const struct book {
	const char *name, *what;
	size_t offset;
} books[] = {
	{ "buckets_created", "for a key that had none",
	    offsetof(struct tide_flow_head, created) },
	{ "buckets_retired", "run dry and given back",
	    offsetof(struct tide_flow_head, retired) },
	{ "buckets_evicted", "pushed out for want of room",
	    offsetof(struct tide_flow_head, evicted) },
	{ "buckets_refused", "not made for want of room",
	    offsetof(struct tide_flow_head, refused) },
	{ "posts_drained", "taken from the workers' mailboxes",
	    offsetof(struct tide_flow_head, drained) },
	{ "posts_malformed", "that made no sense",
	    offsetof(struct tide_flow_head, malformed) },
};

static double
book_number(const struct top *t, size_t row, unsigned column)
{
	const char *head = (const char *)t->view.map->flow->head;

	(void)column;
	return (double)atomic_load(
	    (const _Atomic uint64_t *)(const void *)(head + books[row].offset));
}

static void
book_show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	(void)width;
	out->tone = TONE_PLAIN;
	if (column == 0)
		(void)snprintf(out->text, TOP_TEXT, "%s", books[row].name);
	else if (column == 1)
		(void)snprintf(
		    out->text, TOP_TEXT, "%.0f", book_number(t, row, column));
	else
		(void)snprintf(out->text, TOP_TEXT, "%s", books[row].what);
}

static int
gather(struct top *t)
{
	measure(t);
	t->table[0] = (struct table){ .record = "region",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.rows = TIDE_REGIONS,
		.cell = show,
		.number = number };
	t->table[1] = (struct table){ .record = "book",
		.column = book_columns,
		.columns = sizeof book_columns / sizeof *book_columns,
		.rows = sizeof books / sizeof *books,
		.cell = book_show,
		.number = book_number };
	t->tables = 2;
	return 0;
}

/* ---- files ------------------------------------------------------------- */

static const char *
file_size(const char *path, char *buf, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0)
		(void)snprintf(buf, size, "not readable");
	else
		(void)show_bytes((uint64_t)st.st_size, buf, size);
	return buf;
}

static void
banner(const struct top *t, struct banner *b, int width, int height)
{
	const struct tide_config *c = &t->view.config;
	uint64_t saved = atomic_load(&t->view.map->control->checkpoint_ms);
	char live[TIDE_PATH_MAX], archive[TIDE_PATH_MAX + 16];
	char size[2][SHOW_MAX], age[SHOW_MAX] = "never";

	(void)width;
	if (height < 3)
		return;
	(void)tide_config_live(c, live, sizeof live);
	(void)snprintf(archive, sizeof archive, "%s/archive.mdb", c->state_dir);
	if (saved != 0 && t->now_ms >= saved)
		(void)show_span(t->now_ms - saved, age, sizeof age);
	b->line[0].tone = b->line[1].tone = TONE_PLAIN;
	(void)snprintf(b->line[0].text, TOP_TEXT, "live.mdb %s, archive.mdb %s",
	    file_size(live, size[0], sizeof size[0]),
	    file_size(archive, size[1], sizeof size[1]));
	(void)snprintf(b->line[1].text, TOP_TEXT,
	    "checkpoints %llu, the last %s%s; window %llu, epoch %llu",
	    (unsigned long long)tide_counter_get(
		t->view.map->counters, 0, TIDE_COUNT_CHECKPOINTS),
	    age, saved != 0 ? " ago" : "",
	    (unsigned long long)atomic_load(&t->view.map->control->current),
	    (unsigned long long)atomic_load(&t->view.map->control->epoch));
	b->lines = 2;
}

const struct top_view top_map = { .name = "Map",
	.column = columns,
	.columns = sizeof columns / sizeof *columns,
	.sort = BYTES,
	.descending = true,
	.gather = gather,
	.banner = banner };
