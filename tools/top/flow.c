/*
 * top, flow - messages a second by profile and action, with the last minute
 * and hour as sparks; and how long the mail server waited for us.
 */
#include <math.h>
#include <stdio.h>

#include "../read/output.h"
#include "../read/pace.h"
#include "../read/view.h"
#include "top.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/slots.h"

#define ROWS_MOST (TIDE_PROFILES_MAX * TIDE_HISTORY_KINDS)

enum { PROFILE, ACTION, NOW, MINUTE, HOUR, TOTAL, SPARK60, SPARK1H };

static const struct column columns[] = {
	{ "profile", "PROFILE", 10, 0, true },
	{ "action", "ACTION", 12, 0, true },
	{ "now_per_s", "NOW", 7, 0, false },
	{ "minute_per_s", "1 MIN", 7, 0, false },
	{ "hour_per_s", "1 H", 7, 0, false },
	{ "total", "TOTAL", 10, 100, false },
	{ "sum_60s", "LAST 60 S", 0, 0, false },
	{ "sum_1h", "LAST HOUR", 0, 0, false },
};

static struct flow_row {
	unsigned profile;
	enum tide_history_kind kind;
	double unit[TIDE_HISTORY_UNITS][TIDE_HISTORY_SPANS];
	double total;
} rows[ROWS_MOST];
static size_t count;

/* ---- latency: since the map was made, or of late ------------------------ */

enum { L_PROFILE, L_STAGE, L_COUNT, L_P50, L_P90, L_P99, L_P999, L_MEAN };

static const struct column latency_columns[] = {
	{ "profile", "PROFILE", 10, 0, true },
	{ "stage", "STAGE", 12, 0, true },
	{ "count", "CALLS", 9, 0, false },
	{ "p50_us", "P50", 8, 0, false },
	{ "p90_us", "P90", 8, 0, false },
	{ "p99_us", "P99", 8, 0, false },
	{ "p999_us", "P99.9", 8, 0, false },
	{ "mean_us", "MEAN", 8, 0, false },
};

static struct pace_waits waits;

static const struct tide_times *
times_at(size_t row)
{
	return &waits.times[row / TIDE_LATENCY_STAGES]
			   [row % TIDE_LATENCY_STAGES];
}

static double
latency_number(const struct top *t, size_t row, unsigned column)
{
	static const double share[] = { 0.5, 0.9, 0.99, 0.999 };
	const struct tide_times *x = times_at(row);

	(void)t;
	if (column == L_COUNT)
		return (double)x->total;
	if (column == L_MEAN)
		return x->total > 0 ? (double)x->sum_us / (double)x->total : 0;
	return round(tide_latency_share(x, share[column - L_P50]));
}

static void
latency_show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	(void)width;
	out->tone = TONE_PLAIN;
	if (column == L_PROFILE)
		(void)snprintf(out->text, TOP_TEXT, "%s",
		    t->view.config.profile[row / TIDE_LATENCY_STAGES].name);
	else if (column == L_STAGE)
		(void)snprintf(out->text, TOP_TEXT, "%s",
		    tide_stage_name[1 + row % TIDE_LATENCY_STAGES]);
	else if (column == L_COUNT)
		(void)snprintf(out->text, TOP_TEXT, "%.0f",
		    latency_number(t, row, column));
	else
		draw_us(out->text, latency_number(t, row, column));
}

/* ---- rates ------------------------------------------------------------- */

static double
sum_of(const double *values)
{
	double sum = 0;
	unsigned i;

	for (i = 0; i < TIDE_HISTORY_SPANS; i++)
		sum += isnan(values[i]) ? 0 : values[i];
	return round(sum);
}

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct flow_row *r = &rows[row];

	(void)t;
	switch (column) {
	case NOW:
		return pace_mean(r->unit[TIDE_HISTORY_SECONDS], PACE_RECENT);
	case MINUTE:
		return pace_mean(
		    r->unit[TIDE_HISTORY_SECONDS], TIDE_HISTORY_SPANS);
	case HOUR:
		return pace_mean(
			   r->unit[TIDE_HISTORY_MINUTES], TIDE_HISTORY_SPANS) /
		    60;
	case TOTAL:
		return r->total;
	default:
		return sum_of(r->unit[column - SPARK60]);
	}
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	const struct flow_row *r = &rows[row];

	out->tone = r->kind == TIDE_HISTORY_REFUSED && number(t, row, NOW) > 0
	    ? TONE_BAD
	    : TONE_PLAIN;
	switch (column) {
	case PROFILE:
		(void)snprintf(out->text, TOP_TEXT, "%s",
		    t->view.config.profile[r->profile].name);
		return;
	case ACTION:
		(void)snprintf(out->text, TOP_TEXT, "%s", pace_action[r->kind]);
		return;
	case TOTAL:
		(void)snprintf(out->text, TOP_TEXT, "%.0f", r->total);
		return;
	case SPARK60:
	case SPARK1H:
		draw_spark(t, out->text, r->unit[column - SPARK60],
		    TIDE_HISTORY_SPANS, width);
		return;
	default:
		draw_rate(out->text, number(t, row, column));
	}
}

/* What never happened is left out, but for the two that everybody looks for. */
static void
add_row(const struct top *t, unsigned profile, enum tide_history_kind kind)
{
	struct flow_row *r = &rows[count];
	unsigned u;

	r->profile = profile;
	r->kind = kind;
	r->total = (double)tide_counter_get(t->view.map->counters,
	    1 + (int)profile, tide_history_counter[kind]);
	for (u = 0; u < TIDE_HISTORY_UNITS; u++)
		tide_history_series(t->view.map->history, u, profile, kind,
		    t->mono_ms, r->unit[u]);
	count += r->total > 0 || kind <= TIDE_HISTORY_REFUSED;
}

static int
gather(struct top *t)
{
	unsigned p, k;

	count = 0;
	for (p = 0; p < t->view.config.profiles; p++)
		for (k = 0; k < TIDE_HISTORY_KINDS; k++)
			add_row(t, p, k);
	pace_read(&waits, &t->view, t->mono_ms);
	t->table[0] = (struct table){ .record = "flow",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.rows = count,
		.cell = show,
		.number = number };
	t->table[1] = (struct table){ .record = "latency",
		.column = latency_columns,
		.columns = sizeof latency_columns / sizeof *latency_columns,
		.rows = t->view.config.profiles * TIDE_LATENCY_STAGES,
		.cell = latency_show,
		.number = latency_number };
	t->tables = 2;
	return 0;
}

const struct top_view top_flow = { .name = "Flow",
	.column = columns,
	.columns = sizeof columns / sizeof *columns,
	.sort = PROFILE,
	.descending = false,
	.gather = gather };
