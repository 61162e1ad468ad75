/*
 * quiet - wait until no worker can still read what the collector is about to
 * fill (epoch.h, C2 and C3).
 */
#ifndef REPUTATION_QUIET_H
#define REPUTATION_QUIET_H

#include "tidemark/shared/epoch.h"
#include "tidemark/base/err.h"
#include "tidemark/map/map.h"

/* -1 with a sentence if it takes longer than wait_ms. */
int tide_wait_for_quiet(struct tide_slot *, uint32_t n, tide_epoch *now,
    uint64_t wait_ms, struct tide_err *);

#endif
