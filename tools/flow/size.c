/*
 * size - the formulas behind limits, in both directions; and of the map.
 */
#include <stdio.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "tidemark/archive/live.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/map/head.h"
#include "tidemark/map/regions.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/sizing.h"

/* What was given; NULL where it was not. */
struct given {
	const char *limit, *leak, *depth;
	const char *burst, *rate, *most, *sustained;
};

/* ---- reading ----------------------------------------------------------- */

static struct tide_rate
read_rate(const struct tool *t, const char *option, const char *text)
{
	struct tide_rate rate = { 0, 0 };
	struct tide_err err;

	if (text == NULL)
		tool_misused(t, "%s is missing", option);
	if (tide_rate_parse(text, &rate, &err) < 0)
		tool_misused(t, "%s: %s", option, err.text);
	return rate;
}

static uint64_t
read_count(const struct tool *t, const char *option, const char *text)
{
	struct tide_err err;
	uint64_t n = 0;

	if (tide_count_parse(text, &n, &err) < 0)
		tool_misused(t, "%s: %s", option, err.text);
	return n;
}

/* ---- printing ---------------------------------------------------------- */

static void
put_envelope_json(struct json *j, const struct tide_envelope *e)
{
	char text[TIDE_UNITS_MAX];

	json_number(j, "burst", e->burst);
	json_text(
	    j, "sustained", tide_rate_show(e->sustained, text, sizeof text));
	json_number(j, "window_ms", e->window_ms);
	json_number(j, "most", e->most);
	json_record_end(j);
}

static void
put_envelope(const struct tide_envelope *e)
{
	char text[TIDE_UNITS_MAX];

	printf("at once     %llu\n", (unsigned long long)e->burst);
	printf("sustained   %s\n",
	    tide_rate_show(e->sustained, text, sizeof text));
	printf("at most     %llu in any %s\n", (unsigned long long)e->most,
	    tide_time_show(e->window_ms, text, sizeof text));
}

/* ---- leaky buckets ----------------------------------------------------- */

static void
show_leaky(
    const struct tool *t, struct tide_rate limit, uint64_t depth, uint64_t leak)
{
	struct tide_envelope e =
	    tide_size_leaky_envelope(depth, leak, limit.period_ms);
	char m[TIDE_UNITS_MAX], d[TIDE_UNITS_MAX];
	struct json j;

	(void)tide_rate_show(limit, m, sizeof m);
	(void)tide_time_show(leak, d, sizeof d);
	if (t->json) {
		j = json_record(stdout, "size");
		json_text(&j, "kind", "leaky");
		json_text(&j, "limit", m);
		json_text(&j, "leak", d);
		json_number(&j, "depth", depth);
		put_envelope_json(&j, &e);
		return;
	}
	printf("limit = %s, leak = %s: a bucket of depth %llu\n", m, d,
	    (unsigned long long)depth);
	put_envelope(&e);
	if (depth > TIDE_DEPTH_MAX)
		complain("a bucket is at most %u deep", TIDE_DEPTH_MAX);
}

static int
size_leaky(const struct tool *t, const struct given *g)
{
	struct tide_rate limit = read_rate(t, "--limit", g->limit);
	struct tide_err err;
	uint64_t leak, depth;
	int rc;

	if (g->leak != NULL && g->depth != NULL)
		tool_misused(t, "--leak and --depth exclude each other");
	if (g->leak != NULL) {
		if (tide_time_parse(g->leak, &leak, &err) < 0)
			tool_misused(t, "--leak: %s", err.text);
		rc = tide_size_leaky(limit, leak, &depth, &err);
	} else {
		depth = g->depth != NULL ? read_count(t, "--depth", g->depth)
					 : limit.count / 2;
		rc = tide_size_leaky_leak(limit, depth, &leak, &err);
	}
	if (rc < 0) {
		complain("%s", err.text);
		return TOOL_NO;
	}
	show_leaky(t, limit, depth, leak);
	return TOOL_OK;
}

/* ---- token buckets ----------------------------------------------------- */

static void
show_tokens(const struct tool *t, uint64_t burst, struct tide_rate rate,
    uint64_t window_ms)
{
	struct tide_envelope e =
	    tide_size_tokens_envelope(burst, rate, window_ms);
	char r[TIDE_UNITS_MAX];
	struct json j;

	(void)tide_rate_show(rate, r, sizeof r);
	if (t->json) {
		j = json_record(stdout, "size");
		json_text(&j, "kind", "tokens");
		json_text(&j, "rate", r);
		put_envelope_json(&j, &e);
		return;
	}
	printf("burst = %llu, rate = %s\n", (unsigned long long)burst, r);
	put_envelope(&e);
}

static int
size_tokens(const struct tool *t, const struct given *g)
{
	struct tide_rate rate, most;
	struct tide_err err;
	uint64_t burst;

	if ((g->burst != NULL || g->rate != NULL) &&
	    (g->most != NULL || g->sustained != NULL))
		tool_misused(t,
		    "either --burst and --rate, or --most and "
		    "--sustained");
	if (g->burst != NULL || g->rate != NULL) {
		if (g->burst == NULL)
			tool_misused(t, "--burst is missing");
		rate = read_rate(t, "--rate", g->rate);
		burst = read_count(t, "--burst", g->burst);
		show_tokens(t, burst, rate, rate.period_ms);
		return TOOL_OK;
	}
	most = read_rate(t, "--most", g->most);
	rate = read_rate(t, "--sustained", g->sustained);
	if (tide_size_tokens(most, rate, &burst, &err) < 0) {
		complain("%s", err.text);
		return TOOL_NO;
	}
	show_tokens(t, burst, rate, most.period_ms);
	return TOOL_OK;
}

/* ---- the live map ------------------------------------------------------ */

/* What each region is for, and the settings that make it larger. */
static const struct room {
	const char *what, *settings;
} rooms[TIDE_REGIONS] = {
	[TIDE_REGION_CONTROL] = { "who is at work", "" },
	[TIDE_REGION_ACCEPTOR] = { "connections, lapses", "" },
	[TIDE_REGION_SLOTS] = { "workers", "max_workers" },
	[TIDE_REGION_COUNTERS] = { "counters", "" },
	[TIDE_REGION_WINDOW0] = { "what passes now",
	    "window_senders window_recipients window_error memory_size" },
	[TIDE_REGION_WINDOW1] = { "what is being sealed", "the same" },
	[TIDE_REGION_FLOW] = { "leaky buckets: books", "max_buckets" },
	[TIDE_REGION_BUCKETS] = { "leaky buckets", "max_buckets" },
	[TIDE_REGION_MAILBOXES] = { "new buckets on their way", "max_workers" },
	[TIDE_REGION_BANS] = { "bans", "max_bans" },
	[TIDE_REGION_TOKENS] = { "allowances", "max_accounts" },
	[TIDE_REGION_DISTINCT] = { "different recipients, clients",
	    "max_accounts" },
	[TIDE_REGION_DECISIONS] = { "the last decisions", "max_decisions" },
	[TIDE_REGION_ADDRESSES] = { "spam addresses",
	    "addresses_capacity addresses_error addresses_form" },
	[TIDE_REGION_BULK] = { "copies, counted here",
	    "bulk_keys bulk_error bulk_bits" },
	[TIDE_REGION_NEIGHBOURS] = { "copies, counted elsewhere", "the same" },
	[TIDE_REGION_LATENCY] = { "latencies", "" },
	[TIDE_REGION_HISTORY] = { "the last hour", "" },
	[TIDE_REGION_SPAM] = { "reported spam",
	    "spam_reports spam_error spam_generations" },
};

static void
put_region(const struct tool *t, unsigned i, uint64_t bytes)
{
	char text[SHOW_MAX];
	struct json j;

	if (t->json) {
		j = json_record(stdout, "region");
		json_text(&j, "name", tide_region[i].name);
		json_number(&j, "bytes", bytes);
		json_text(&j, "settings", rooms[i].settings);
		json_record_end(&j);
		return;
	}
	printf("%10s  %-10s %-*s%s\n", show_bytes(bytes, text, sizeof text),
	    tide_region[i].name, rooms[i].settings[0] != '\0' ? 30 : 0,
	    rooms[i].what, rooms[i].settings);
}

static int
size_map(const struct tool *t)
{
	static struct tide_config config;
	struct tide_map_head head;
	uint64_t bytes, sum = 0;
	char text[SHOW_MAX];
	struct json j;
	unsigned i;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	tide_live_plan(&config, &head);
	for (i = 0; i < TIDE_REGIONS; i++) {
		bytes = tide_map_region_length(i, &head);
		sum += bytes;
		put_region(t, i, bytes);
	}
	if (t->json) {
		j = json_record(stdout, "size");
		json_text(&j, "kind", "map");
		json_number(&j, "bytes", sum);
		json_record_end(&j);
	} else {
		printf("%10s  in all, in memory that all processes share\n",
		    show_bytes(sum, text, sizeof text));
	}
	return TOOL_OK;
}

/* ---- from here --------------------------------------------------------- */

static void
read_options(struct tool *t, struct given *g)
{
	enum { LIMIT = OPT_OWN, LEAK, DEPTH, BURST, RATE, MOST, SUSTAINED };
	static const struct option longs[] = {
		{ "limit", required_argument, NULL, LIMIT },
		{ "leak", required_argument, NULL, LEAK },
		{ "depth", required_argument, NULL, DEPTH },
		{ "burst", required_argument, NULL, BURST },
		{ "rate", required_argument, NULL, RATE },
		{ "most", required_argument, NULL, MOST },
		{ "sustained", required_argument, NULL, SUSTAINED },
		{ NULL, 0, NULL, 0 },
	};
	const char **where[] = { &g->limit, &g->leak, &g->depth, &g->burst,
		&g->rate, &g->most, &g->sustained };
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1)
		*where[c - LIMIT] = optarg;
}

int
run_size(struct tool *t)
{
	enum { LEAKY, TOKENS, MAP };
	static const char *const names[] = { "leaky", "tokens", "map", NULL };
	struct given g = { 0 };
	const char *what;
	bool leaky, tokens;
	size_t which;

	read_options(t, &g);
	what = t->argc > optind ? tool_arguments(t, 1)[0] : "map";
	which = tool_choice(t, NULL, what, names);
	leaky = g.limit || g.leak || g.depth;
	tokens = g.burst || g.rate || g.most || g.sustained;
	if ((leaky && which != LEAKY) || (tokens && which != TOKENS))
		tool_misused(t, "that option is not for %s", what);
	return which == LEAKY ? size_leaky(t, &g)
	    : which == TOKENS ? size_tokens(t, &g)
			      : size_map(t);
}
