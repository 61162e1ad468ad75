/*
 * size - the formulas behind limits, in both directions.
 */
#include <stdio.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
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
	static const char *const names[] = { "leaky", "tokens", NULL };
	struct given g = { 0 };
	const char *what;
	bool leaky;

	read_options(t, &g);
	what = tool_arguments(t, 1)[0];
	leaky = tool_choice(t, NULL, what, names) == 0;
	if (leaky ? g.burst || g.rate || g.most || g.sustained
		  : g.limit || g.leak || g.depth)
		tool_misused(t, "that option is not for %s", what);
	return leaky ? size_leaky(t, &g) : size_tokens(t, &g);
}
