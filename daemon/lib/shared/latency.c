/*
 * latency - read a histogram, and find a percentile in it.
 */
#include <math.h>

#include "tidemark/shared/latency.h"

void
tide_latency_read(const struct tide_histogram *h, struct tide_times *t)
{
	unsigned i;

	*t = (struct tide_times){ .sum_us = atomic_load_explicit(
				      &h->sum_us, memory_order_relaxed) };
	for (i = 0; i < TIDE_LATENCY_STEPS; i++) {
		t->count[i] =
		    atomic_load_explicit(&h->count[i], memory_order_relaxed);
		t->total += t->count[i];
	}
}

double
tide_latency_share(const struct tide_times *t, double share)
{
	double wanted = ceil(share * (double)t->total), from, to;
	uint64_t before = 0;
	unsigned i;

	for (i = 0; i < TIDE_LATENCY_STEPS; i++) {
		if (t->count[i] > 0 &&
		    (double)(before + t->count[i]) >= wanted) {
			from = (double)tide_latency_from(i);
			to = (double)tide_latency_from(i + 1);
			return from +
			    (to - from) * (wanted - (double)before) /
			    (double)t->count[i];
		}
		before += t->count[i];
	}
	return 0;
}
