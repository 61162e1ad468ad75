/*
 * latency - how long we kept the mail server waiting, in the map.
 *
 * For each profile and stage a histogram of microseconds: exact below 4, from
 * there on four steps to a doubling, so that a percentile is off by less than
 * a fifth.  Each worker adds to it as it leaves a callback, with two relaxed
 * additions; tools read it.  Never blocks, owns nothing: a worker killed
 * inside a callback has not been counted.
 */
#ifndef TIDEMARK_LATENCY_H
#define TIDEMARK_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#include "tidemark/settings/config.h"

#define TIDE_LATENCY_STEPS 104u /* the last one begins at 117 s */
#define TIDE_LATENCY_STAGES 5u	/* connect, mail, rcpt, eom, body: map.h */

struct tide_histogram {
	_Atomic uint64_t sum_us;
	_Atomic uint64_t count[TIDE_LATENCY_STEPS];
};

struct tide_latency {
	struct tide_histogram at[TIDE_PROFILES_MAX][TIDE_LATENCY_STAGES];
};

/* The step that a time belongs to, and the least time of a step. */
static inline unsigned
tide_latency_step(uint64_t us)
{
	unsigned log2 = us < 4 ? 0 : 63 - (unsigned)__builtin_clzll(us);
	unsigned step = us < 4
	    ? (unsigned)us
	    : (log2 - 1) * 4 + (unsigned)(us >> (log2 - 2) & 3);

	return step < TIDE_LATENCY_STEPS ? step : TIDE_LATENCY_STEPS - 1;
}

static inline uint64_t
tide_latency_from(unsigned step)
{
	return step < 4 ? step : (4 + (uint64_t)step % 4) << (step / 4 - 1);
}

static inline void
tide_latency_add(struct tide_histogram *h, uint64_t us)
{
	atomic_fetch_add_explicit(
	    &h->count[tide_latency_step(us)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_us, us, memory_order_relaxed);
}

/* A copy to reckon with. */
struct tide_times {
	uint64_t sum_us, total;
	uint64_t count[TIDE_LATENCY_STEPS];
};

void tide_latency_read(const struct tide_histogram *, struct tide_times *);

/*
 * Microseconds that the given share (0.5, 0.99) of them took at most, by
 * proportion within a step; 0 if there are none.
 */
double tide_latency_share(const struct tide_times *, double share);

#endif
