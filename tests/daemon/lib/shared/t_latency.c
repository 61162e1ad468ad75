/*
 * t_latency - steps without gaps, and percentiles that a sorted list would
 * give, to within a step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/shared/latency.h"

static struct tide_histogram h;
static struct tide_times t;

static void
steps_follow_each_other(void)
{
	unsigned i;

	for (i = 0; i + 1 < TIDE_LATENCY_STEPS; i++) {
		CHECK(tide_latency_from(i) < tide_latency_from(i + 1));
		CHECK_INT(tide_latency_step(tide_latency_from(i)), i);
		CHECK_INT(tide_latency_step(tide_latency_from(i + 1) - 1), i);
		CHECK(i < 4 ||
		    (double)tide_latency_from(i + 1) <=
			1.25 * (double)tide_latency_from(i));
	}
	CHECK_INT(tide_latency_step(0), 0);
	CHECK_INT(tide_latency_step(UINT64_MAX), TIDE_LATENCY_STEPS - 1);
}

static void
nothing_has_no_percentile(void)
{
	memset((void *)&h, 0, sizeof h);
	tide_latency_read(&h, &t);
	CHECK_INT(t.total, 0);
	CHECK(tide_latency_share(&t, 0.5) == 0);
}

static void
sums_are_exact(void)
{
	memset((void *)&h, 0, sizeof h);
	tide_latency_add(&h, 0);
	tide_latency_add(&h, 3);
	tide_latency_add(&h, 1000000);
	tide_latency_read(&h, &t);
	CHECK_INT(t.total, 3);
	CHECK_INT(t.sum_us, 1000003);
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
percentiles_are_near(void)
{
	static const double shares[] = { 0.01, 0.5, 0.9, 0.99, 0.999, 1 };
	static uint64_t all[20000];
	const size_t n = sizeof all / sizeof *all;
	uint64_t state = 7;
	size_t i;

	memset((void *)&h, 0, sizeof h);
	for (i = 0; i < n; i++) {
		uint64_t r = fixture_random(&state);

		all[i] = (r >> 8) % (1ull << (4 + r % 20));
		tide_latency_add(&h, all[i]);
	}
	qsort(all, n, sizeof *all, by_size);
	tide_latency_read(&h, &t);
	for (i = 0; i < sizeof shares / sizeof *shares; i++) {
		size_t k = (size_t)ceil(shares[i] * (double)n) - 1;
		double want = (double)all[k];
		double got = tide_latency_share(&t, shares[i]);

		CHECK_MSG(got >= want * 0.8 - 1 && got <= want * 1.25 + 1,
		    "%g%%: is %g, not %g", shares[i] * 100, got, want);
	}
}

CHECK_CASES({ "steps follow each other without a gap, none too wide",
		steps_follow_each_other },
    { "without a time there is no percentile", nothing_has_no_percentile },
    { "count and sum are exact", sums_are_exact },
    { "percentiles are off by less than a step", percentiles_are_near })
