/*
 * flow_state - the buckets as records (class, level, key), to be carried over
 * to a map of other sizes or kept in a checkpoint: a raw copy of chains and
 * lists would be inconsistent, and of no use in another place.
 *
 * Saving may run beside the collector's other work and beside workers: every
 * record is checked against its hash, and one that changes under our eyes is
 * left out.
 */
#ifndef TIDEMARK_FLOW_STATE_H
#define TIDEMARK_FLOW_STATE_H

#include <stddef.h>

#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"

/* All buckets that hold anything; *bytes is to be freed. */
int tide_flow_save(
    const struct tide_flow *, char **bytes, size_t *size, struct tide_err *);

/*
 * Fill the pool from what was saved so long ago: each bucket has leaked since
 * as its class leaks.  A class may have another number by now, or none (-1):
 * classes.h.  How many were taken.
 */
unsigned tide_flow_load(struct tide_pool *, const char *bytes, size_t size,
    const int class[TIDE_CLASSES], uint64_t elapsed_ms);

#endif
