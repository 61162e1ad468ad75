/*
 * Sizing: limits to settings and settings to what they let through.
 */
#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/settings/sizing.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define MIN 60000ull
#define HOUR 3600000ull
#define DAY 86400000ull

/* says NULL: depth is the answer. */
static const struct leaky_case {
	struct tide_rate limit;
	uint64_t leak_ms, depth;
	const char *says;
} leaky[] = {
	{ { 100, HOUR }, MIN, 40, NULL },
	{ { 61, HOUR }, MIN, 1, NULL },
	{ { 100, HOUR }, 7 * MIN, 91, NULL }, /* 8.57 drops count as 9 */
	{ { 10, HOUR }, 2 * HOUR, 9, NULL },
	{ { 60, HOUR }, MIN, 0,
	    "a limit of 60/h with a leak of 1min leaves no bucket: K = M - T/dt"
	    " = 60 - 1h/1min = 60 - 60 = 0, and must be at least 1 (let it"
	    " leak more slowly, or allow more)" },
	{ { 50, HOUR }, MIN, 0,
	    "a limit of 50/h with a leak of 1min leaves no bucket: K = M - T/dt"
	    " = 50 - 1h/1min = 50 - 60 = -10, and must be at least 1 (let it"
	    " leak more slowly, or allow more)" },
	{ { 50, HOUR }, 0, 0,
	    "a leak of 0 has no depth: it must take some time, such as 60s" },
};

static void
test_leaky(void)
{
	const struct leaky_case *c;

	for (c = leaky; c < leaky + LENGTH(leaky); c++) {
		struct tide_err err = { "" };
		uint64_t depth = 0;
		int rc = tide_size_leaky(c->limit, c->leak_ms, &depth, &err);

		CHECK_STR(err.text, c->says != NULL ? c->says : "");
		CHECK_INT(rc, c->says != NULL ? -1 : 0);
		CHECK_INT(depth, c->depth);
	}
}

/* From limit and leak to depth, and from depth and leak to the limit. */
static void
test_leaky_both_ways(void)
{
	struct tide_rate limit = { 0, HOUR };
	struct tide_envelope e;
	struct tide_err err;
	uint64_t depth, leak;

	for (limit.count = 2; limit.count < 200; limit.count += 3)
		for (depth = 1; depth < limit.count; depth++) {
			CHECK(tide_size_leaky_leak(limit, depth, &leak, &err) ==
			    0);
			e = tide_size_leaky_envelope(depth, leak, HOUR);
			CHECK(e.most <= limit.count);
			CHECK(
			    tide_size_leaky(limit, leak, &e.burst, &err) == 0);
			CHECK(e.burst >= depth);
			e = tide_size_leaky_envelope(e.burst, leak, HOUR);
			CHECK_INT(e.most, limit.count);
			CHECK_INT(e.sustained.period_ms, leak);
		}
	CHECK_INT(tide_size_leaky_leak(limit, limit.count, &leak, &err), -1);
	limit.count = 100;
	CHECK_INT(tide_size_leaky_leak(limit, 100, &leak, &err), -1);
	CHECK_STR(err.text,
	    "a depth of 100 does not go with 100/h: dt = T/(M - K), and K must"
	    " be at least 1 and less than 100");
}

static const struct tokens_case {
	uint64_t burst;
	struct tide_rate rate;
	uint64_t window_ms, most;
} tokens[] = {
	{ 100, { 100, DAY }, DAY, 200 },
	{ 100, { 100, DAY }, 0, 100 },
	{ 100, { 100, DAY }, 30 * DAY, 3100 },
	{ 100, { 100, DAY }, 863999, 100 },
	{ 100, { 100, DAY }, 864000, 101 },
	{ 1000000, { UINT64_MAX, 1 }, UINT64_MAX, UINT64_MAX },
};

static void
test_tokens(void)
{
	const struct tokens_case *c;

	for (c = tokens; c < tokens + LENGTH(tokens); c++) {
		struct tide_envelope e =
		    tide_size_tokens_envelope(c->burst, c->rate, c->window_ms);

		CHECK(e.most == c->most);
		CHECK_INT(e.burst, c->burst);
		CHECK_INT(e.sustained.count, c->rate.count);
	}
}

static void
test_tokens_back(void)
{
	struct tide_rate most = { 200, DAY }, sustained = { 100, DAY };
	struct tide_err err;
	uint64_t burst = 0;

	CHECK_INT(tide_size_tokens(most, sustained, &burst, &err), 0);
	CHECK_INT(burst, 100);
	most = (struct tide_rate){ 50, HOUR }; /* 4.2 come back in an hour */
	CHECK_INT(tide_size_tokens(most, sustained, &burst, &err), 0);
	CHECK_INT(burst, 45);
	most = (struct tide_rate){ 100, DAY };
	CHECK_INT(tide_size_tokens(most, sustained, &burst, &err), -1);
	CHECK_STR(err.text,
	    "at most 100/d with 100/d sustained leaves no token: beta = most -"
	    " rho T = 100 - 100, and must be at least 1");
}

CHECK_CASES({ "leaky: depth from limit and leak", test_leaky },
    { "leaky: both ways agree", test_leaky_both_ways },
    { "tokens: the envelope", test_tokens },
    { "tokens: burst from the envelope", test_tokens_back })
