/*
 * sizing - the formulas behind limits, in both directions.  Pure functions:
 * no map, no clock.
 *
 *   tokens  burst beta, refill rho:  at most beta + rho T in any time T
 *   leaky   depth K, a drop each dt: at most K + T / dt in any time T, so
 *           "at most M in T" wants K = M - T / dt
 *
 * T / dt counts whole drops, rounded so that the limit holds.
 */
#ifndef TIDEMARK_SIZING_H
#define TIDEMARK_SIZING_H

#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/base/units.h"

/* What a bucket lets through. */
struct tide_envelope {
	uint64_t burst;		    /* at once, after a rest */
	struct tide_rate sustained; /* for ever */
	uint64_t window_ms;
	uint64_t most; /* in any stretch of window_ms */
};

/* beta, rho -> envelope.  UINT64_MAX if most is beyond counting. */
struct tide_envelope
tide_size_tokens_envelope(uint64_t burst, struct tide_rate, uint64_t window_ms);

/*
 * Envelope -> beta, rho: "never more than most, sustained no more than this"
 * (200/d and 100/d give beta 100, rho 100/d).  -1 with the arithmetic if that
 * leaves no token.
 */
int tide_size_tokens(struct tide_rate most, struct tide_rate sustained,
    uint64_t *burst, struct tide_err *);

/* K, dt -> envelope. */
struct tide_envelope
tide_size_leaky_envelope(uint64_t depth, uint64_t leak_ms, uint64_t window_ms);

/* M per T, dt -> K = M - T / dt.  -1 with the arithmetic if K < 1. */
int tide_size_leaky(struct tide_rate limit, uint64_t leak_ms, uint64_t *depth,
    struct tide_err *);

/* M per T, K -> dt = T / (M - K).  -1 with the arithmetic if K >= M. */
int tide_size_leaky_leak(struct tide_rate limit, uint64_t depth,
    uint64_t *leak_ms, struct tide_err *);

#endif
