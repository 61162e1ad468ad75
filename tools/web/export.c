/*
 * export - the sheets, and reading them piece by piece.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../read/pace.h"
#include "../read/torn.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "export.h"
#include "health.h"
#include "mask.h"
#include "sheet.h"
#include "tidemark/base/bloom.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/slots.h"

#define PIECE 16384 /* bytes that are made at once, about */

struct kind {
	const char *name, *record;
	const char *const *column;
	uint64_t (*rows)(const struct sample *);
	/* put row i, unless there is none now */
	void (*row)(struct sheet *, const struct sample *, uint64_t i);
};

struct export
{
	struct sample *sample;
	const struct kind *kind;
	bool csv, begun;
	uint64_t maps; /* of the map it is from */
	uint64_t next;
	char *piece; /* that was made and not yet read whole */
	size_t length, at;
};

/* ---- levels ------------------------------------------------------------ */

static const char *const level_columns[] = { "profile", "group", "key", "level",
	"depth", "overflowed", "empty_in_ms", NULL };

static uint64_t
level_rows(const struct sample *s)
{
	return s->view.flow.buckets;
}

static void
level_row(struct sheet *sheet, const struct sample *s, uint64_t i)
{
	struct view_bucket b;
	char masked[MASK_MAX];

	if (!view_bucket(&s->view, (uint32_t)i + 1, &b))
		return;
	sheet_row(sheet);
	sheet_text(sheet, b.profile);
	sheet_text(sheet, b.group);
	sheet_text(sheet, mask_key(s->mask, b.key, masked));
	sheet_number(sheet, b.level);
	sheet_number(sheet, b.depth);
	sheet_number(sheet, b.overflowed);
	sheet_number(sheet, b.empty_ms);
	sheet_end(sheet);
}

/* ---- bans -------------------------------------------------------------- */

static const char *const ban_columns[] = { "key", "cause", "reason", "profile",
	"since_ms", "until_ms", "remaining_ms", "times", NULL };

static uint64_t
ban_rows(const struct sample *s)
{
	return s->view.bans;
}

static void
ban_row(struct sheet *sheet, const struct sample *s, uint64_t i)
{
	char masked[MASK_MAX];
	struct tide_ban b;

	if (!view_ban(&s->view, (uint32_t)i, s->now_ms, &b))
		return;
	sheet_row(sheet);
	sheet_text(sheet, mask_key(s->mask, b.key, masked));
	sheet_text(sheet, view_ban_group(&b));
	sheet_text(sheet, mask_words(s->mask, view_ban_reason(&b), masked));
	sheet_text(sheet, b.profile);
	sheet_number(sheet, b.since_ms);
	sheet_number(sheet, b.until_ms);
	sheet_number(sheet, b.until_ms - s->now_ms);
	sheet_number(sheet, b.times);
	sheet_end(sheet);
}

/* ---- windows ----------------------------------------------------------- */

static const char *const window_columns[] = { "window", "state", "filter",
	"holds", "capacity", "fill", "error", "opened_ms", "messages", NULL };

static uint64_t
window_rows(const struct sample *s)
{
	(void)s;
	return 2 * TIDE_FILTERS;
}

static void
window_row(struct sheet *sheet, const struct sample *s, uint64_t i)
{
	const struct view_window *w = &s->health.window[i / TIDE_FILTERS];
	const struct view_filter *f = &w->filter[i % TIDE_FILTERS];

	if (w->number == 0)
		return;
	sheet_row(sheet);
	sheet_number(sheet, w->number);
	sheet_text(sheet, w->state);
	sheet_text(sheet, view_filter_name[i % TIDE_FILTERS]);
	sheet_number(sheet, f->elements);
	sheet_number(sheet, s->view.shape[i % TIDE_FILTERS].capacity);
	sheet_real(sheet, f->fill);
	sheet_real(sheet, f->ones == 0 ? 0 : f->error);
	sheet_number(sheet, w->opened_ms);
	sheet_number(sheet, w->messages);
	sheet_end(sheet);
}

/* ---- flow -------------------------------------------------------------- */

static const char *const flow_columns[] = { "profile", "action", "total",
	"now_per_s", "minute_per_s", "hour_per_s", NULL };

static uint64_t
flow_rows(const struct sample *s)
{
	return (uint64_t)s->view.config.profiles * TIDE_HISTORY_KINDS;
}

static void
flow_row(struct sheet *sheet, const struct sample *s, uint64_t i)
{
	unsigned p = (unsigned)(i / TIDE_HISTORY_KINDS);
	enum tide_history_kind kind =
	    (enum tide_history_kind)(i % TIDE_HISTORY_KINDS);
	const struct tide_history *h = s->view.map->history;
	double seconds[TIDE_HISTORY_SPANS], minutes[TIDE_HISTORY_SPANS];

	tide_history_series(
	    h, TIDE_HISTORY_SECONDS, p, kind, s->mono_ms, seconds);
	tide_history_series(
	    h, TIDE_HISTORY_MINUTES, p, kind, s->mono_ms, minutes);
	sheet_row(sheet);
	sheet_text(sheet, s->view.config.profile[p].name);
	sheet_text(sheet, pace_action[kind]);
	sheet_number(sheet,
	    tide_counter_get(
		s->view.map->counters, 1 + (int)p, tide_history_counter[kind]));
	sheet_real(sheet, pace_mean(seconds, PACE_RECENT));
	sheet_real(sheet, pace_mean(seconds, TIDE_HISTORY_SPANS));
	sheet_real(sheet, pace_mean(minutes, TIDE_HISTORY_SPANS) / 60);
	sheet_end(sheet);
}

/* ---- latency ----------------------------------------------------------- */

static const char *const latency_columns[] = { "profile", "stage", "calls",
	"p50_us", "p90_us", "p99_us", "p999_us", NULL };

static uint64_t
latency_rows(const struct sample *s)
{
	return (uint64_t)s->view.config.profiles * TIDE_LATENCY_STAGES;
}

static void
latency_row(struct sheet *sheet, const struct sample *s, uint64_t i)
{
	static const double share[] = { 0.5, 0.9, 0.99, 0.999 };
	unsigned p = (unsigned)(i / TIDE_LATENCY_STAGES);
	unsigned stage = (unsigned)(i % TIDE_LATENCY_STAGES), k;
	const struct tide_times *t = &s->waits.times[p][stage];

	sheet_row(sheet);
	sheet_text(sheet, s->view.config.profile[p].name);
	sheet_text(sheet, tide_stage_name[1 + stage]);
	sheet_number(sheet, t->total);
	for (k = 0; k < 4; k++)
		sheet_real(sheet,
		    t->total > 0 ? tide_latency_share(t, share[k]) : NAN);
	sheet_end(sheet);
}

/* ---- reading ----------------------------------------------------------- */

static const struct kind kinds[] = {
	{ "levels", "level", level_columns, level_rows, level_row },
	{ "bans", "ban", ban_columns, ban_rows, ban_row },
	{ "windows", "filter", window_columns, window_rows, window_row },
	{ "flow", "flow", flow_columns, flow_rows, flow_row },
	{ "latency", "latency", latency_columns, latency_rows, latency_row },
};

#define KINDS (sizeof kinds / sizeof *kinds)

static const struct kind *
find(const char *name, bool *csv)
{
	size_t i, n;

	for (i = 0; i < KINDS; i++) {
		n = strlen(kinds[i].name);
		if (strncmp(name, kinds[i].name, n) != 0)
			continue;
		*csv = strcmp(name + n, ".csv") == 0;
		if (*csv || strcmp(name + n, ".ndjson") == 0)
			return &kinds[i];
	}
	return NULL;
}

struct export *
export_begin(struct sample *s, const char *name, bool *known)
{
	bool csv;
	const struct kind *kind = find(name, &csv);
	struct export *e;

	*known = kind != NULL;
	if (kind == NULL || !s->attached)
		return NULL;
	e = calloc(1, sizeof *e);
	if (e == NULL)
		return NULL;
	e->sample = s;
	e->kind = kind;
	e->csv = csv;
	e->maps = s->view.maps;
	return e;
}

void
export_end(struct export *e)
{
	free(e->piece);
	free(e);
}

bool
export_is_csv(const struct export *e)
{
	return e->csv;
}

/* False without memory; empty where there is nothing left. */
static bool
make_piece(struct export *e)
{
	uint64_t rows = e->kind->rows(e->sample);
	struct sheet sheet = { .csv = e->csv,
		.record = e->kind->record,
		.column = e->kind->column };
	bool failed;

	free(e->piece);
	e->piece = NULL;
	e->length = e->at = 0;
	sheet.out = open_memstream(&e->piece, &e->length);
	if (sheet.out == NULL)
		return false;
	if (!e->begun)
		sheet_head(&sheet);
	e->begun = true;
	for (; e->next < rows && ftell(sheet.out) < PIECE; e->next++)
		e->kind->row(&sheet, e->sample, e->next);
	failed = ferror(sheet.out) != 0;
	return fclose(sheet.out) == 0 && !failed;
}

long
export_read(struct export *e, char *buf, size_t size)
{
	size_t n;

	if (e->maps != e->sample->view.maps || !e->sample->attached)
		return -1;
	/* half a file shall not look like a whole one */
	if (e->at == e->length && (!make_piece(e) || torn_seen()))
		return -1;
	n = e->length - e->at < size ? e->length - e->at : size;
	memcpy(buf, e->piece + e->at, n);
	e->at += n;
	return (long)n;
}
