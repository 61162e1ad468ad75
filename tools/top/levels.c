/*
 * top, levels - the leaky buckets, the fullest first, and a picture of all of
 * them (water.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../read/water.h"
#include "top.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/settings/config.h"

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

static struct water water;

/* ---- rows -------------------------------------------------------------- */

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct water_item *i = &water.item[row];

	(void)t;
	switch (column) {
	case FILL:
		return water_fill(i);
	case LEVEL:
		return i->level;
	case DEPTH:
		return i->depth;
	case RATE:
		return (double)i->rate;
	case LEAK:
		return (double)i->leak_ms;
	default:
		return water_time(i);
	}
}

/* Red: it happens now, or within a minute.  Bold: within a quarter of an hour. */
static enum tone
tone_of(const struct water_item *i)
{
	double ms = water_rises(i) ? water_time(i) : INFINITY;

	if (i->depth == 0)
		return TONE_PLAIN; /* it is off */
	return i->over || i->level >= i->depth || ms < MINUTE ? TONE_BAD
	    : ms < 15 * MINUTE				      ? TONE_STRONG
							      : TONE_PLAIN;
}

static bool
key(const struct top *t, size_t row, char out[TIDE_BUCKET_KEY_MAX + 1])
{
	return water_key(&t->view, &water.item[row], out);
}

static void
show_key(const struct top *t, size_t row, char *out)
{
	char text[TIDE_BUCKET_KEY_MAX + 1];

	(void)snprintf(
	    out, TOP_TEXT, "%s", key(t, row, text) ? text : "(gone)");
}

static void
show_time(const struct top *t, const struct water_item *i, char *out)
{
	const char *end = water_end(&t->view, i);
	double ms = water_time(i);
	char span[SHOW_MAX];

	if (i->over)
		(void)snprintf(out, TOP_TEXT, "%s%s", end,
		    strcmp(end, "ban") == 0 ? " is due" : "");
	else if (isnan(ms))
		(void)snprintf(out, TOP_TEXT, "-");
	else
		(void)snprintf(
		    out, TOP_TEXT, "%s %s", end, draw_span(ms, span));
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	const struct water_item *i = &water.item[row];
	struct tide_class_id id = { 0 };
	bool known = water_limit(&t->view, i, &id) != NULL;

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
		(void)snprintf(
		    out->text, TOP_TEXT, "%s", water_state(&t->view, i));
	}
}

static uint64_t
id(size_t row)
{
	return (uint64_t)water.item[row].class << 32 | water.item[row].bucket;
}

static int
gather(struct top *t)
{
	if (water_sample(&water, &t->view, t->mono_ms) < 0)
		return -1;
	t->table[0] = (struct table){ .record = "level",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.bar = FILL,
		.rows = water.count,
		.cell = show,
		.number = number,
		.id = id,
		.key = key };
	t->tables = 1;
	return 0;
}

/* ---- the picture ------------------------------------------------------- */

static void
banner(const struct top *t, struct banner *b, int width, int height)
{
	static uint32_t bins[BINS_MOST];
	unsigned n = width > (int)BINS_MOST ? BINS_MOST : (unsigned)width;
	uint32_t all, most = 0;
	struct cell *line;
	unsigned i;

	if (!t->picture || height < 4)
		return;
	all = water_bins(&water, &t->view, t->group, bins, n);
	for (i = 0; i < n; i++)
		most = bins[i] > most ? bins[i] : most;
	line = &b->line[b->lines++];
	line->tone = TONE_PLAIN;
	(void)snprintf(line->text, TOP_TEXT,
	    "%u bucket%s of %s, by how full; the highest column is %u", all,
	    plural(all),
	    t->group < 0 ? "all groups" : tide_group_name[t->group], most);
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
		all = water_bins(&water, &t->view, g, bins, 10);
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
