/*
 * metrics_put - the counters from their table, gauges, and how long the mail
 * server waited.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "metrics.h"
#include "view.h"
#include "view_flow.h"
#include "tidemark/base/bloom.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"

#define LABELS 3

struct label {
	const char *name, *value;
};

struct metrics {
	FILE *out;
	const struct view *view;
	bool json;
	uint64_t now_ms;
	char family[64]; /* the one being written */
	const char *type;
};

/* ---- writing ----------------------------------------------------------- */

static void
put_escaped(FILE *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\\' || *s == '"')
			(void)fputc('\\', out);
		if (*s == '\n')
			(void)fputs("\\n", out);
		else
			(void)fputc(*s, out);
	}
}

static void
begin_family(
    struct metrics *m, const char *name, const char *type, const char *help)
{
	(void)snprintf(m->family, sizeof m->family, "%s", name);
	m->type = type;
	if (!m->json)
		fprintf(m->out,
		    "# HELP tidemark_%s %s\n# TYPE tidemark_%s %s\n", name,
		    help, name, type);
}

static void
put_json(const struct metrics *m, const char *suffix,
    const struct label label[LABELS], double value)
{
	struct json j = json_record(m->out, "metric");
	char name[128];
	unsigned i;

	(void)snprintf(name, sizeof name, "tidemark_%s%s", m->family, suffix);
	json_text(&j, "name", name);
	json_text(&j, "kind", m->type);
	json_object(&j, "labels");
	for (i = 0; i < LABELS && label[i].name != NULL; i++)
		json_text(&j, label[i].name, label[i].value);
	json_object_end(&j);
	if (value >= 0 && value < 9e15 && floor(value) == value)
		json_number(&j, "value", (uint64_t)value);
	else
		json_real(&j, "value", value);
	json_record_end(&j);
}

/* The shortest decimal that is read back as the same number. */
static void
put_value(FILE *out, double value)
{
	char text[32] = "NaN";
	int digits;

	for (digits = 15; !isnan(value) && digits <= 17; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fprintf(out, " %s\n", text);
}

static void
put(const struct metrics *m, const char *suffix,
    const struct label label[LABELS], double value)
{
	unsigned i;

	if (m->json) {
		put_json(m, suffix, label, value);
		return;
	}
	fprintf(m->out, "tidemark_%s%s", m->family, suffix);
	for (i = 0; i < LABELS && label[i].name != NULL; i++) {
		fprintf(m->out, "%s%s=\"", i == 0 ? "{" : ",", label[i].name);
		put_escaped(m->out, label[i].value);
		(void)fputc('"', m->out);
	}
	if (i > 0)
		(void)fputc('}', m->out);
	put_value(m->out, value);
}

static void
put_plain(const struct metrics *m, double value)
{
	static const struct label none[LABELS] = { { NULL, NULL } };

	put(m, "", none, value);
}

/* ---- counters ---------------------------------------------------------- */

static void
put_counter(struct metrics *m, enum tide_counter id)
{
	const struct tide_counter_info *info = &tide_counter_info[id];
	const struct view *v = m->view;
	char name[64];
	unsigned i;

	(void)snprintf(name, sizeof name, "%s_total", info->name);
	begin_family(m, name, "counter", info->help);
	if (info->scope == TIDE_SCOPE_GLOBAL) {
		put_plain(m, (double)tide_counter_get(v->map->counters, 0, id));
		return;
	}
	for (i = 0; i < v->config.profiles; i++)
		put(m, "",
		    (const struct label[LABELS]){
			{ "profile", v->config.profile[i].name } },
		    (double)tide_counter_get(v->map->counters, 1 + (int)i, id));
}

/* Classes of one group differ in their tier: they are added up. */
static void
put_groups(struct metrics *m, bool overflows)
{
	double sum[TIDE_PROFILES_MAX][TIDE_GROUPS] = { { 0 } };
	const struct view *v = m->view;
	struct tide_class_id id;
	unsigned c, p, g;

	for (c = 0; c < TIDE_CLASSES; c++)
		if (tide_class_describe(v->config.profiles, c, &id))
			sum[id.profile][id.group] += overflows
			    ? (double)atomic_load(
				  &v->map->flow->class[c].overflows)
			    : (double)atomic_load(&v->map->flow->class[c].live);
	for (p = 0; p < v->config.profiles; p++)
		for (g = 0; g < TIDE_GROUPS; g++)
			put(m, "",
			    (const struct label[LABELS]){
				{ "profile", v->config.profile[p].name },
				{ "group", tide_group_name[g] } },
			    sum[p][g]);
}

/* ---- gauges ------------------------------------------------------------ */

enum gauge {
	COLLECTOR_UP,
	ACCEPTOR_UP,
	BYPASS,
	WORKERS,
	WORKERS_MAX,
	BUCKETS,
	BUCKETS_MAX,
	STRINGS,
	BANS,
	BANS_MAX,
	DECISIONS_MAX,
	MAP_BYTES,
	ARCHIVE_WINDOWS,
	ARCHIVE_BYTES,
	ARCHIVE_FAILING,
	CHECKPOINT,
	GENERATION,
	GAUGES
};

static const struct {
	const char *name, *help;
} gauges[GAUGES] = {
	[COLLECTOR_UP] = { "collector_up", "1 while the collector is at work" },
	[ACCEPTOR_UP] = { "acceptor_up", "1 while the acceptor listens" },
	[BYPASS] = { "bypass", "1 while every profile accepts all mail" },
	[WORKERS] = { "workers", "connections being served" },
	[WORKERS_MAX] = { "workers_max", "and at most so many" },
	[BUCKETS] = { "buckets", "leaky buckets in use" },
	[BUCKETS_MAX] = { "buckets_max", "in the pool" },
	[STRINGS] = { "bucket_strings", "keys of buckets kept" },
	[BANS] = { "bans", "bans that stand" },
	[BANS_MAX] = { "bans_max", "that there is room for" },
	[DECISIONS_MAX] = { "decisions_kept", "last decisions kept at most" },
	[MAP_BYTES] = { "map_bytes", "size of the live map's regions" },
	[ARCHIVE_WINDOWS] = { "archive_windows", "windows in the archive" },
	[ARCHIVE_BYTES] = { "archive_bytes", "that they take" },
	[ARCHIVE_FAILING] = { "archive_failing",
	    "writes to the archive that failed, in a row" },
	[CHECKPOINT] = { "checkpoint_timestamp_seconds",
	    "when the live map was last saved; 0: never" },
	[GENERATION] = { "config_generation",
	    "number of the configuration in force" },
};

static double
map_bytes(const struct view *v)
{
	double sum = 0;
	unsigned i;

	for (i = 0; i < TIDE_REGIONS; i++)
		sum += (double)v->map->length[i];
	return sum;
}

static void
measure(const struct metrics *m, double value[GAUGES])
{
	const struct view *v = m->view;
	const struct tide_control *c = v->map->control;
	struct view_flow f = view_flow(v, m->now_ms);

	value[COLLECTOR_UP] = view_collector(v).fresh;
	value[ACCEPTOR_UP] = view_acceptor(v).fresh &&
	    atomic_load(&v->map->acceptor->listening) != 0;
	value[BYPASS] = atomic_load(&c->bypass_until_ms) > m->now_ms;
	value[WORKERS] = view_serving(v);
	value[WORKERS_MAX] = v->slots;
	value[BUCKETS] = f.buckets;
	value[BUCKETS_MAX] = v->flow.buckets;
	value[STRINGS] = f.strings;
	value[BANS] = f.bans;
	value[BANS_MAX] = v->bans_most;
	value[DECISIONS_MAX] = v->map->ring->capacity;
	value[MAP_BYTES] = map_bytes(v);
	value[ARCHIVE_WINDOWS] = (double)atomic_load(&c->archive_windows);
	value[ARCHIVE_BYTES] = (double)atomic_load(&c->archive_bytes);
	value[ARCHIVE_FAILING] = (double)atomic_load(&c->archive_failing);
	value[CHECKPOINT] = (double)atomic_load(&c->checkpoint_ms) / 1000;
	value[GENERATION] = (double)atomic_load(&c->generation);
}

static void
put_gauges(struct metrics *m)
{
	double value[GAUGES];
	unsigned i;

	measure(m, value);
	for (i = 0; i < GAUGES; i++) {
		begin_family(m, gauges[i].name, "gauge", gauges[i].help);
		put_plain(m, value[i]);
	}
}

/* ---- the open window --------------------------------------------------- */

static void
put_filters(struct metrics *m, const char *name, const char *help,
    const double value[TIDE_FILTERS])
{
	unsigned k;

	begin_family(m, name, "gauge", help);
	for (k = 0; k < TIDE_FILTERS; k++)
		put(m, "",
		    (const struct label[LABELS]){
			{ "filter", view_filter_name[k] } },
		    value[k]);
}

static void
put_window(struct metrics *m)
{
	double elements[TIDE_FILTERS], capacity[TIDE_FILTERS];
	double fill[TIDE_FILTERS], error[TIDE_FILTERS];
	struct view_window w;
	unsigned k;

	if (!view_open_window(m->view, &w))
		return;
	for (k = 0; k < TIDE_FILTERS; k++) {
		elements[k] = (double)w.filter[k].elements;
		capacity[k] = (double)m->view->shape[k].capacity;
		fill[k] = w.filter[k].fill;
		error[k] = w.filter[k].ones == 0 ? 0 : w.filter[k].error;
	}
	put_filters(m, "window_elements",
	    "different elements in the open window", elements);
	put_filters(m, "window_capacity", "that it is sized for", capacity);
	put_filters(
	    m, "window_fill_ratio", "share of its bits that are set", fill);
	put_filters(m, "window_false_positive_ratio",
	    "chance that an absent element is found", error);
	begin_family(m, "window_opened_timestamp_seconds", "gauge",
	    "when the open window was opened");
	put_plain(m, (double)w.opened_ms / 1000);
}

/* ---- latency ----------------------------------------------------------- */

/* A bucket for each doubling: four steps of the histogram. */
static void
put_histogram(const struct metrics *m, const char *profile, const char *stage,
    const struct tide_times *t)
{
	struct label label[LABELS] = { { "profile", profile },
		{ "stage", stage } };
	uint64_t below = 0;
	char bound[32];
	unsigned i;

	label[2].name = "le";
	label[2].value = bound;
	for (i = 0; i < TIDE_LATENCY_STEPS; i++) {
		below += t->count[i];
		if (i < 11 || i % 4 != 3 || i + 1 == TIDE_LATENCY_STEPS)
			continue;
		(void)snprintf(bound, sizeof bound, "%.9g",
		    (double)tide_latency_from(i + 1) / 1e6);
		put(m, "_bucket", label, (double)below);
	}
	(void)snprintf(bound, sizeof bound, "+Inf");
	put(m, "_bucket", label, (double)t->total);
	label[2].name = NULL;
	put(m, "_sum", label, (double)t->sum_us / 1e6);
	put(m, "_count", label, (double)t->total);
}

static void
put_latency(struct metrics *m)
{
	const struct view *v = m->view;
	struct tide_times t;
	unsigned p, s;

	begin_family(m, "callback_seconds", "histogram",
	    "time from a call of the mail server to our answer");
	for (p = 0; p < v->config.profiles; p++)
		for (s = 0; s < TIDE_LATENCY_STAGES; s++) {
			tide_latency_read(&v->map->latency->at[p][s], &t);
			put_histogram(m, v->config.profile[p].name,
			    tide_stage_name[1 + s], &t);
		}
}

/* ---- all of it --------------------------------------------------------- */

static void
put_all(struct metrics *m)
{
	unsigned i;

	begin_family(m, "build_info", "gauge", "always 1; which version it is");
	put(m, "", (const struct label[LABELS]){ { "version", TIDE_VERSION } },
	    1);
	put_gauges(m);
	put_window(m);
	begin_family(m, "group_buckets", "gauge", "leaky buckets by group");
	put_groups(m, false);
	begin_family(
	    m, "group_overflows_total", "counter", "overflows by group");
	put_groups(m, true);
	begin_family(m, "decisions_total", "counter", "decisions made");
	put_plain(m, (double)tide_ring_next(m->view->map->ring));
	for (i = 0; i < TIDE_COUNTER_COUNT; i++)
		put_counter(m, i);
	put_latency(m);
}

void
metrics_put(FILE *out, const struct view *v, bool json)
{
	struct metrics m = { .out = out,
		.json = json,
		.view = v,
		.now_ms = tide_map_now_ms(v->map) };

	put_all(&m);
}
