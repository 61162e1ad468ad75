/*
 * sample_json - the state of things, as the page's script reads it.
 */
#include <math.h>
#include <string.h>

#include "../read/json.h"
#include "../read/levels.h"
#include "../read/pace.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../read/water.h"
#include "health.h"
#include "mask.h"
#include "sample.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/map/control.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/slots.h"

#define BINS 48u /* of the picture of the water */

/* ---- water ------------------------------------------------------------- */

static const char *const modes[] = { "off", "dry-run", "enforce" };

/* Of each profile: one picture shows them all. */
static void
put_modes(struct json *j, const struct sample *s, unsigned group)
{
	const struct tide_profile *p = s->view.config.profile;
	unsigned i;

	json_array(j, "modes");
	for (i = 0; i < s->view.config.profiles; i++) {
		json_object(j, NULL);
		json_text(j, "profile", p[i].name);
		json_text(j, "mode",
		    p[i].group[group].mode < 3 ? modes[p[i].group[group].mode]
					       : "?");
		json_object_end(j);
	}
	json_array_end(j);
}

static bool
is_on(const struct sample *s, unsigned group)
{
	unsigned i;

	for (i = 0; i < s->view.config.profiles; i++)
		if (s->view.config.profile[i].group[group].mode !=
		    TIDE_MODE_OFF)
			return true;
	return false;
}

static void
put_fullest(struct json *j, const struct sample *s, unsigned group)
{
	const struct water_item *item = s->water.item, *most = NULL;
	struct tide_class_id id;
	size_t i;

	for (i = 0; i < s->water.count; i++)
		if (tide_class_describe(
			s->view.config.profiles, item[i].class, &id) &&
		    id.group == group &&
		    (most == NULL || water_fill(&item[i]) > water_fill(most)))
			most = &item[i];
	if (most == NULL)
		return;
	json_object(j, "fullest");
	json_number(j, "level", most->level);
	json_number(j, "depth", most->depth);
	json_object_end(j);
}

static void
put_group(struct json *j, const struct sample *s, unsigned group, uint32_t all,
    const uint32_t bins[BINS])
{
	unsigned i;

	json_object(j, NULL);
	json_text(j, "group", tide_group_name[group]);
	json_text(j, "drop", drop_name(group, 1));
	put_modes(j, s, group);
	json_number(j, "buckets", all);
	put_fullest(j, s, group);
	json_array(j, "bins");
	for (i = 0; i < BINS; i++)
		json_number(j, NULL, bins[i]);
	json_array_end(j);
	json_object_end(j);
}

static void
put_groups(struct json *j, const struct sample *s)
{
	uint32_t bins[BINS], all;
	unsigned g;

	json_array(j, "groups");
	for (g = 0; g < TIDE_GROUPS; g++) {
		all = water_bins(&s->water, &s->view, (int)g, bins, BINS);
		if (all > 0 || is_on(s, g))
			put_group(j, s, g, all, bins);
	}
	json_array_end(j);
}

static void
put_nearest_one(
    struct json *j, const struct sample *s, const struct water_item *i)
{
	char key[TIDE_BUCKET_KEY_MAX + 1], masked[MASK_MAX];
	struct tide_class_id id = { 0 };

	if (water_limit(&s->view, i, &id) == NULL ||
	    !water_key(&s->view, i, key))
		return;
	json_object(j, NULL);
	json_text(j, "profile", s->view.config.profile[id.profile].name);
	json_text(j, "group", tide_group_name[id.group]);
	json_text(j, "key", mask_key(s->mask, key, masked));
	json_number(j, "level", i->level);
	json_number(j, "depth", i->depth);
	json_real(j, "rate_per_s", (double)i->rate);
	json_number(j, "leak_ms", i->leak_ms);
	json_text(j, "state", water_state(&s->view, i));
	json_text(j, "heads_for", water_end(&s->view, i));
	json_real(j, "time_ms", water_time(i));
	json_object_end(j);
}

static void
put_nearest(struct json *j, const struct sample *s)
{
	size_t i;

	json_array(j, "nearest");
	for (i = 0; i < s->nearest_count; i++)
		put_nearest_one(j, s, &s->water.item[s->nearest[i]]);
	json_array_end(j);
}

/* ---- flow -------------------------------------------------------------- */

/* All profiles together; what none of them knows is not known. */
static void
add_up(const struct sample *s, enum tide_history_unit unit,
    enum tide_history_kind kind, double sum[TIDE_HISTORY_SPANS])
{
	double one[TIDE_HISTORY_SPANS];
	unsigned p, i;

	for (i = 0; i < TIDE_HISTORY_SPANS; i++)
		sum[i] = NAN;
	for (p = 0; p < s->view.config.profiles; p++) {
		tide_history_series(
		    s->view.map->history, unit, p, kind, s->mono_ms, one);
		for (i = 0; i < TIDE_HISTORY_SPANS; i++)
			if (!isnan(one[i]))
				sum[i] = (isnan(sum[i]) ? 0 : sum[i]) + one[i];
	}
}

static void
put_series(
    struct json *j, const char *key, const double values[TIDE_HISTORY_SPANS])
{
	unsigned i;

	json_array(j, key);
	for (i = 0; i < TIDE_HISTORY_SPANS; i++)
		json_real(j, NULL, values[i]);
	json_array_end(j);
}

static void
put_action(struct json *j, const struct sample *s, enum tide_history_kind kind)
{
	double seconds[TIDE_HISTORY_SPANS], minutes[TIDE_HISTORY_SPANS];

	add_up(s, TIDE_HISTORY_SECONDS, kind, seconds);
	add_up(s, TIDE_HISTORY_MINUTES, kind, minutes);
	json_object(j, NULL);
	json_text(j, "action", pace_action[kind]);
	json_number(j, "total",
	    tide_counter_get(
		s->view.map->counters, -1, tide_history_counter[kind]));
	json_real(j, "now_per_s", pace_mean(seconds, PACE_RECENT));
	json_real(j, "minute_per_s", pace_mean(seconds, TIDE_HISTORY_SPANS));
	json_real(j, "hour_per_s", pace_mean(minutes, TIDE_HISTORY_SPANS) / 60);
	put_series(j, "seconds", seconds);
	put_series(j, "minutes", minutes);
	json_object_end(j);
}

static void
put_flow(struct json *j, const struct sample *s)
{
	unsigned k;

	json_array(j, "flow");
	for (k = 0; k < TIDE_HISTORY_KINDS; k++)
		put_action(j, s, k);
	json_array_end(j);
}

static void
put_latency(struct json *j, const struct sample *s)
{
	const struct tide_times *t;
	unsigned p, i;

	json_array(j, "latency");
	for (p = 0; p < s->view.config.profiles; p++)
		for (i = 0; i < TIDE_LATENCY_STAGES; i++) {
			t = &s->waits.times[p][i];
			if (t->total == 0)
				continue;
			json_object(j, NULL);
			json_text(j, "profile", s->view.config.profile[p].name);
			json_text(j, "stage", tide_stage_name[1 + i]);
			json_number(j, "calls", t->total);
			json_real(j, "p50_us", tide_latency_share(t, 0.5));
			json_real(j, "p90_us", tide_latency_share(t, 0.9));
			json_real(j, "p99_us", tide_latency_share(t, 0.99));
			json_real(j, "p999_us", tide_latency_share(t, 0.999));
			json_object_end(j);
		}
	json_array_end(j);
}

/* ---- bans -------------------------------------------------------------- */

static void
put_bans(struct json *j, const struct sample *s)
{
	char masked[MASK_MAX];
	size_t i;

	json_array(j, "banned");
	for (i = 0; i < s->bans; i++) {
		const struct tide_ban *b = &s->ban[i];

		json_object(j, NULL);
		json_text(j, "key", mask_key(s->mask, b->key, masked));
		json_text(j, "cause", view_ban_group(b));
		json_text(j, "reason",
		    mask_words(s->mask, view_ban_reason(b), masked));
		json_text(j, "profile", b->profile);
		json_number(j, "remaining_ms", b->until_ms - s->now_ms);
		json_time(j, "since", b->since_ms);
		json_number(j, "times", b->times);
		json_object_end(j);
	}
	json_array_end(j);
}

/* ---- memory ------------------------------------------------------------ */

static void
put_window(struct json *j, const struct sample *s, const struct view_window *w)
{
	unsigned k;

	json_object(j, NULL);
	json_number(j, "number", w->number);
	json_text(j, "state", w->state);
	json_bool(j, "open", w->open);
	json_bool(j, "overfilled", w->overfilled);
	json_time(j, "opened", w->opened_ms);
	json_number(j, "messages", w->messages);
	json_array(j, "filters");
	for (k = 0; k < TIDE_FILTERS; k++) {
		const struct view_filter *f = &w->filter[k];

		if (k == TIDE_FILTER_CONTENT &&
		    s->view.memory == TIDE_MEMORY_OFF)
			continue;
		json_object(j, NULL);
		json_text(j, "name", view_filter_name[k]);
		json_number(j, "holds", f->elements);
		json_number(j, "capacity", s->view.shape[k].capacity);
		json_real(j, "fill", f->fill);
		json_real(j, "error", f->ones == 0 ? 0 : f->error);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void
put_filters(struct json *j, const struct health *h)
{
	unsigned i;

	json_array(j, "reputation");
	for (i = 0; i < h->filters; i++) {
		const struct health_filter *f = &h->filter[i];

		json_object(j, NULL);
		json_text(j, "name", f->name);
		json_number(j, "generation", f->number);
		json_time(j, "since", f->since_ms);
		if (f->holds != NO_COUNT)
			json_number(j, "holds", f->holds);
		if (f->capacity != NO_COUNT)
			json_number(j, "capacity", f->capacity);
		json_real(j, "fill", f->fill);
		json_real(j, "error", f->error);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
put_memory(struct json *j, const struct sample *s)
{
	const struct tide_control *c = s->view.map->control;
	const struct health *h = &s->health;
	unsigned i;

	json_array(j, "windows");
	for (i = 0; i < 2; i++)
		if (h->window[i].number != 0)
			put_window(j, s, &h->window[i]);
	json_array_end(j);
	json_object(j, "archive");
	json_number(j, "windows", atomic_load(&c->archive_windows));
	json_number(j, "bytes", atomic_load(&c->archive_bytes));
	json_time(j, "from", atomic_load(&c->archive_from_ms));
	json_number(j, "failing", atomic_load(&c->archive_failing));
	json_time(j, "checkpoint", atomic_load(&c->checkpoint_ms));
	json_object_end(j);
	put_filters(j, h);
}

/* ---- all of it --------------------------------------------------------- */

static void
put_headline(struct json *j, const struct sample *s)
{
	json_real(j, "mail_per_s", pace_mail(&s->view, s->mono_ms));
	json_number(j, "buckets", s->flow.buckets);
	json_number(j, "buckets_max", s->view.flow.buckets);
	json_number(j, "bans", s->flow.bans);
	json_number(j, "bans_max", s->view.bans);
	json_number(j, "overflows", s->flow.overflows);
	json_number(j, "workers", view_serving(&s->view));
	json_number(j, "workers_max", s->view.slots);
}

void
sample_json(FILE *out, const struct sample *s)
{
	struct json j = json_record(out, "state");
	const char *trouble = sample_trouble(s);

	json_time(&j, "time", s->now_ms);
	json_bool(&j, "at_work", trouble[0] == '\0');
	json_text(&j, "trouble", trouble);
	json_bool(&j, "attached", s->attached);
	json_bool(&j, "masked", s->mask);
	if (s->attached) {
		put_headline(&j, s);
		put_groups(&j, s);
		put_nearest(&j, s);
		put_flow(&j, s);
		put_bans(&j, s);
		put_memory(&j, s);
		put_latency(&j, s);
	} else {
		json_text(&j, "why", s->why.text);
	}
	json_record_end(&j);
}
