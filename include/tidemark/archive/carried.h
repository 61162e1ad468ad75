/*
 * carried - what is known of senders and accounts, on its way from one map to
 * the next: by a checkpoint, or directly when a map is replaced.  As records,
 * since a raw copy of what workers change would be inconsistent, and of no
 * use in a map of other sizes, profiles or clocks.
 */
#ifndef TIDEMARK_CARRIED_H
#define TIDEMARK_CARRIED_H

#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

enum tide_carried_part {
	TIDE_CARRIED_BUCKETS,  /* flow_state.h */
	TIDE_CARRIED_TOKENS,   /* tokens.h */
	TIDE_CARRIED_DISTINCT, /* distinct.h */
	TIDE_CARRIED_PARTS
};

struct tide_carried {
	struct {
		char *bytes; /* NULL: nothing is known */
		size_t size; /* whole words */
	} part[TIDE_CARRIED_PARTS];
	uint64_t taken_ms; /* wall */
	struct tide_profile_names profiles;
};

/* Take it from the map while workers go on; to be freed. */
int tide_carried_take(struct tide_carried *, const struct tide_map *,
    uint64_t now_ms, struct tide_err *);
void tide_carried_free(struct tide_carried *);

#endif
