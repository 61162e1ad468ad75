/*
 * sizing - the formulas behind limits.  See sizing.h.
 */
#include <stdbool.h>

#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/settings/sizing.h"

typedef unsigned __int128 wide;
typedef unsigned long long ull;

static uint64_t
narrow(wide w)
{
	return w > UINT64_MAX ? UINT64_MAX : (uint64_t)w;
}

/* rho T, in whole events; up or down. */
static wide
events(struct tide_rate rate, uint64_t ms, bool up)
{
	wide product = (wide)rate.count * ms;

	return (product + (up ? rate.period_ms - 1 : 0)) / rate.period_ms;
}

struct tide_envelope
tide_size_tokens_envelope(
    uint64_t burst, struct tide_rate rate, uint64_t window_ms)
{
	return (struct tide_envelope){ .burst = burst,
		.sustained = rate,
		.window_ms = window_ms,
		.most = narrow(burst + events(rate, window_ms, false)) };
}

int
tide_size_tokens(struct tide_rate most, struct tide_rate sustained,
    uint64_t *burst, struct tide_err *err)
{
	char m[TIDE_UNITS_MAX], s[TIDE_UNITS_MAX];
	uint64_t refill = narrow(events(sustained, most.period_ms, true));

	if (most.count <= refill)
		return tide_err_set(err,
		    "at most %s with %s sustained leaves no token: "
		    "beta = most - rho T = %llu - %llu, and must be at "
		    "least 1",
		    tide_rate_show(most, m, sizeof m),
		    tide_rate_show(sustained, s, sizeof s), (ull)most.count,
		    (ull)refill);
	*burst = most.count - refill;
	return 0;
}

struct tide_envelope
tide_size_leaky_envelope(uint64_t depth, uint64_t leak_ms, uint64_t window_ms)
{
	struct tide_rate rate = { 1, leak_ms };
	struct tide_envelope e =
	    tide_size_tokens_envelope(depth, rate, window_ms);

	e.most = narrow(depth + events(rate, window_ms, true));
	return e;
}

static int
refuse_leaky(struct tide_rate limit, uint64_t leak_ms, uint64_t drops,
    struct tide_err *err)
{
	char m[TIDE_UNITS_MAX], t[TIDE_UNITS_MAX], d[TIDE_UNITS_MAX];

	(void)tide_rate_show(limit, m, sizeof m);
	(void)tide_time_show(limit.period_ms, t, sizeof t);
	(void)tide_time_show(leak_ms, d, sizeof d);
	return tide_err_set(err,
	    "a limit of %s with a leak of %s leaves no bucket: "
	    "K = M - T/dt = %llu - %s/%s = %llu - %llu = %s%llu, and must "
	    "be at least 1 (let it leak more slowly, or allow more)",
	    m, d, (ull)limit.count, t, d, (ull)limit.count, (ull)drops,
	    drops > limit.count ? "-" : "",
	    (ull)(drops > limit.count ? drops - limit.count
				      : limit.count - drops));
}

int
tide_size_leaky(struct tide_rate limit, uint64_t leak_ms, uint64_t *depth,
    struct tide_err *err)
{
	struct tide_rate leak = { 1, leak_ms };
	uint64_t drops;

	if (leak_ms == 0)
		return tide_err_set(err,
		    "a leak of 0 has no depth: it must "
		    "take some time, such as 60s");
	drops = narrow(events(leak, limit.period_ms, true));
	if (limit.count <= drops)
		return refuse_leaky(limit, leak_ms, drops, err);
	*depth = limit.count - drops;
	return 0;
}

int
tide_size_leaky_leak(struct tide_rate limit, uint64_t depth, uint64_t *leak_ms,
    struct tide_err *err)
{
	char m[TIDE_UNITS_MAX];
	uint64_t drops = limit.count - depth;

	if (depth == 0 || depth >= limit.count)
		return tide_err_set(err,
		    "a depth of %llu does not go with %s: dt = T/(M - K), "
		    "and K must be at least 1 and less than %llu",
		    (ull)depth, tide_rate_show(limit, m, sizeof m),
		    (ull)limit.count);
	*leak_ms = limit.period_ms / drops + (limit.period_ms % drops != 0);
	return 0;
}
