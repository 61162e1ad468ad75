/*
 * top, levels - the leaky buckets, the fullest first, and a picture of all of
 * them.
 *
 * There may be millions: a sample looks at marks alone, and a key is copied
 * and proved (levels.h) only for a row that is shown, searched or sorted by
 * its key.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "levels.h"
#include "tidemark/classes.h"
#include "tidemark/clock.h"
#include "top.h"

#define SMOOTH_S 15.0 /* a rate is an average that forgets at this speed */
#define BINS_MOST 128u
#define MINUTE 60000.0

enum { PROFILE, GROUP, KEY, FILL, LEVEL, DEPTH, RATE, LEAK, TIME, STATE };

static const struct column columns[] = {
	{ "profile", "PROFILE", 9, 100, true },
	{ "group", "GROUP", 8, 0, true },
	{ "key", "KEY", 0, 0, true },
	{ "fill", "FULL", 6, 0, false },
	{ "level", "LEVEL", 9, 0, false },
	{ "depth", "", 0, TOP_HIDDEN, false },
	{ "rate", "RATE", 7, 0, false },
	{ "leak_ms", "", 0, TOP_HIDDEN, false },
	{ "due_ms", "TIME", 11, 0, false },
	{ "state", "STATE", 7, 0, true },
};

struct item {
	uint32_t bucket;
	uint32_t level, depth;
	uint8_t class;
	bool over;
	float rate; /* drops a second; NAN: not known yet */
	uint64_t leak_ms;
	uint64_t empty_ms; /* from now */
};

/* What we knew of a bucket at the last sample. */
struct memo {
	uint32_t held, mark;
	float rate;
	uint32_t round;
};

static struct item *items;
static size_t count, room;
static struct memo *memos;
static uint32_t memos_count, round_number;
static uint64_t memos_of, sampled_ms, before_ms;

/* ---- sampling ---------------------------------------------------------- */

static struct item *
new_item(void)
{
	size_t more = room == 0 ? 1024 : room * 2;
	struct item *p;

	if (count == room) {
		p = realloc(items, more * sizeof *p);
		if (p == NULL)
			return NULL;
		items = p;
		room = more;
	}
	return &items[count++];
}

/* Another map: nothing that we remember is of it. */
static int
make_memos(const struct top *t)
{
	uint32_t n = t->view.flow.buckets + 1;

	if (memos != NULL && memos_count == n && memos_of == t->map_count)
		return 0;
	free(memos);
	memos = calloc(n, sizeof *memos);
	memos_count = memos != NULL ? n : 0;
	memos_of = t->map_count;
	round_number = 0;
	return memos != NULL ? 0 : -1;
}

/* Drops since the last sample, from the marks: a level also leaks. */
static float
rate_of(struct memo *m, uint32_t held, uint32_t mark, uint32_t floor)
{
	double seconds = (double)(sampled_ms - before_ms) / 1000;
	bool known = m->held == held && m->round + 1 == round_number;
	bool over = ((mark | (known ? m->mark : 0)) & TIDE_MARK_OVF) != 0;
	uint32_t from =
	    known && tide_mark_above(m->mark, floor) ? m->mark : floor;
	double drops =
	    over || !tide_mark_above(mark, from) ? 0 : (mark - from) >> 2;
	double rate;

	if (round_number <= 1 || seconds <= 0)
		rate = NAN;
	else if (known && over)
		rate = m->rate;
	else if (!known || isnan(m->rate))
		rate = drops / (seconds > SMOOTH_S ? seconds : SMOOTH_S);
	else
		rate = m->rate +
		    (drops / seconds - m->rate) *
			(1 - exp(-seconds / SMOOTH_S));
	*m = (struct memo){ .held = held,
		.mark = mark,
		.rate = (float)rate,
		.round = round_number };
	return (float)rate;
}

static void
work_out(struct item *i, const struct tide_class *c, uint32_t mark)
{
	uint32_t floor = atomic_load_explicit(&c->floor, memory_order_acquire);
	uint64_t ticked = atomic_load(&c->ticked_ms), gone;

	i->depth = atomic_load(&c->depth);
	i->leak_ms = atomic_load(&c->leak_ms);
	i->over = (mark & TIDE_MARK_OVF) != 0;
	i->level = i->over		   ? i->depth + 1
	    : tide_mark_above(mark, floor) ? (mark - floor) >> 2
					   : 0;
	gone = sampled_ms > ticked ? sampled_ms - ticked : 0;
	i->empty_ms = i->level * i->leak_ms;
	i->empty_ms -= gone < i->empty_ms ? gone : i->empty_ms;
}

/* False if it holds nothing. */
static bool
look_at(const struct top *t, uint32_t bucket, struct item *i)
{
	const struct tide_flow *f = &t->view.map->flow;
	const struct tide_bucket *b = &f->bucket[bucket];
	uint32_t mark = atomic_load_explicit(&b->mark, memory_order_relaxed);
	uint32_t held = *(const volatile uint32_t *)&b->class_string;
	const struct tide_class *c = &f->class[held >> 26];

	if ((mark & TIDE_MARK_DEAD) != 0 || (held & 0x3ffffff) == 0)
		return false;
	*i = (struct item){ .bucket = bucket, .class = (uint8_t)(held >> 26) };
	work_out(i, c, mark);
	if (i->level == 0)
		return false;
	i->rate = rate_of(&memos[bucket], held, mark, atomic_load(&c->floor));
	return true;
}

/* ---- rows -------------------------------------------------------------- */

/* From filling to ban or to empty, whichever it is heading for. */
static double
net_of(const struct item *i)
{
	return isnan(i->rate) || i->leak_ms == 0
	    ? 0
	    : i->rate - 1000.0 / (double)i->leak_ms;
}

static bool
is_rising(const struct item *i)
{
	return !i->over && net_of(i) > 0;
}

static double
time_of(const struct item *i)
{
	if (i->over || i->leak_ms == 0)
		return NAN;
	if (is_rising(i))
		return (i->depth + 1.0 - i->level) / net_of(i) * 1000;
	return (double)i->empty_ms;
}

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct item *i = &items[row];

	(void)t;
	switch (column) {
	case FILL:
		return i->depth > 0 ? (double)i->level / i->depth : 0;
	case LEVEL:
		return i->level;
	case DEPTH:
		return i->depth;
	case RATE:
		return (double)i->rate;
	case LEAK:
		return (double)i->leak_ms;
	default:
		return time_of(i);
	}
}

static const struct tide_limit *
limit_of(const struct top *t, const struct item *i, struct tide_class_id *id)
{
	if (!tide_class_describe(t->view.config.profiles, i->class, id))
		return NULL;
	return &t->view.config.profile[id->profile].group[id->group];
}

static const char *
state_of(const struct top *t, const struct item *i)
{
	struct tide_class_id id;
	const struct tide_limit *l = limit_of(t, i, &id);

	return l == NULL || l->mode == TIDE_MODE_OFF || i->depth == 0 ? "off"
	    : i->over						      ? "over"
	    : i->level >= i->depth				      ? "full"
	    : is_rising(i)					      ? "rising"
			   : "leaking";
}

/* Red: it happens now, or within a minute.  Bold: within a quarter of an hour. */
static enum tone
tone_of(const struct item *i)
{
	double ms = is_rising(i) ? time_of(i) : INFINITY;

	return i->over || i->level >= i->depth || ms < MINUTE ? TONE_BAD
	    : ms < 15 * MINUTE				      ? TONE_STRONG
							      : TONE_PLAIN;
}

static bool
key(const struct top *t, size_t row, char out[TIDE_BUCKET_KEY_MAX + 1])
{
	struct view_bucket b;

	if (!view_bucket(&t->view, items[row].bucket, &b) ||
	    b.class != items[row].class)
		return false;
	memcpy(out, b.key, sizeof b.key);
	return true;
}

static void
show_key(const struct top *t, size_t row, char *out)
{
	char text[TIDE_BUCKET_KEY_MAX + 1];

	(void)snprintf(
	    out, TOP_TEXT, "%s", key(t, row, text) ? text : "(gone)");
}

/* What rising leads to: a ban, or in dry-run a count of it. */
static const char *
end_of(const struct top *t, const struct item *i)
{
	struct tide_class_id id;
	const struct tide_limit *l = limit_of(t, i, &id);

	return !is_rising(i)				? "dry"
	    : l != NULL && l->mode == TIDE_MODE_ENFORCE ? "ban"
							: "over";
}

static void
show_time(const struct top *t, const struct item *i, char *out)
{
	double ms = time_of(i);
	char span[SHOW_MAX];

	if (i->over)
		(void)snprintf(out, TOP_TEXT, "ban is due");
	else if (isnan(ms))
		(void)snprintf(out, TOP_TEXT, "-");
	else
		(void)snprintf(
		    out, TOP_TEXT, "%s %s", end_of(t, i), draw_span(ms, span));
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	const struct item *i = &items[row];
	struct tide_class_id id = { 0 };
	bool known = limit_of(t, i, &id) != NULL;

	out->tone = tone_of(i);
	switch (column) {
	case PROFILE:
		(void)snprintf(out->text, TOP_TEXT, "%s",
		    known ? t->view.config.profile[id.profile].name : "?");
		return;
	case GROUP:
		(void)snprintf(out->text, TOP_TEXT, "%s",
		    known ? tide_group_name[id.group] : "?");
		return;
	case KEY:
		show_key(t, row, out->text);
		return;
	case FILL:
		draw_bar(t, out, number(t, row, FILL), width);
		return;
	case LEVEL:
		(void)snprintf(
		    out->text, TOP_TEXT, "%u/%u", i->level, i->depth);
		return;
	case RATE:
		draw_rate(out->text, (double)i->rate);
		return;
	case TIME:
		show_time(t, i, out->text);
		return;
	default:
		(void)snprintf(out->text, TOP_TEXT, "%s", state_of(t, i));
	}
}

static int
gather(struct top *t)
{
	struct item one, *i;
	uint32_t b;

	if (make_memos(t) < 0)
		return -1;
	before_ms = sampled_ms;
	sampled_ms = t->mono_ms;
	round_number++;
	count = 0;
	for (b = 1; b <= t->view.flow.buckets; b++) {
		if (!look_at(t, b, &one))
			continue;
		i = new_item();
		if (i == NULL)
			return -1;
		*i = one;
	}
	t->table[0] = (struct table){ .record = "level",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.rows = count,
		.cell = show,
		.number = number,
		.key = key };
	t->tables = 1;
	return 0;
}

/* ---- the picture ------------------------------------------------------- */

/* Where its water stands now: between two leaks it sinks, too. */
static double
stands_at(const struct item *i)
{
	double drops = i->leak_ms > 0 ? (double)i->empty_ms / (double)i->leak_ms
				      : i->level;

	return i->over || i->depth == 0 ? 1 : drops / i->depth;
}

/* Bins of equal width, empty to full. */
static uint32_t
fill_bins(const struct top *t, uint32_t *bins, unsigned n, int group)
{
	struct tide_class_id id;
	uint32_t all = 0;
	unsigned at;
	size_t i;

	memset(bins, 0, n * sizeof *bins);
	for (i = 0; i < count; i++) {
		if (!tide_class_describe(
			t->view.config.profiles, items[i].class, &id) ||
		    (group >= 0 && id.group != (unsigned)group))
			continue;
		at = (unsigned)(stands_at(&items[i]) * n);
		bins[at < n ? at : n - 1]++;
		all++;
	}
	return all;
}

static void
banner(const struct top *t, struct banner *b, int width, int height)
{
	static uint32_t bins[BINS_MOST];
	unsigned n = width > (int)BINS_MOST ? BINS_MOST : (unsigned)width;
	uint32_t all;
	struct cell *line;

	if (!t->picture || height < 4)
		return;
	all = fill_bins(t, bins, n, t->group);
	line = &b->line[b->lines++];
	line->tone = TONE_PLAIN;
	(void)snprintf(line->text, TOP_TEXT, "%u bucket%s of %s, by how full",
	    all, plural(all),
	    t->group < 0 ? "all groups" : tide_group_name[t->group]);
	draw_water(t, b, bins, n, height < 10 ? 3 : 4);
	line = &b->line[b->lines++];
	line->tone = TONE_FAINT;
	(void)snprintf(line->text, TOP_TEXT, "empty%*s", (int)n - 5, "full");
}

static void
json(const struct top *t)
{
	uint32_t bins[10];
	struct json j;
	uint32_t all;
	unsigned i;
	int g;

	for (g = 0; g < TIDE_GROUPS; g++) {
		all = fill_bins(t, bins, 10, g);
		if (all == 0)
			continue;
		j = json_record(stdout, "water");
		json_time(&j, "time", t->now_ms);
		json_text(&j, "group", tide_group_name[g]);
		json_number(&j, "buckets", all);
		json_array(&j, "tenths");
		for (i = 0; i < 10; i++)
			json_number(&j, NULL, bins[i]);
		json_array_end(&j);
		json_record_end(&j);
	}
}

const struct top_view top_levels = { .name = "Levels",
	.column = columns,
	.columns = sizeof columns / sizeof *columns,
	.sort = FILL,
	.descending = true,
	.gather = gather,
	.banner = banner,
	.json = json };
