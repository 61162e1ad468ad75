/*
 * carried - what is known of senders and accounts, and the counts, on their way
 * from one map to the next: by a checkpoint, or directly when a map is
 * replaced.  As records, since a raw copy of what workers change would be
 * inconsistent, and of no use in a map of other sizes, profiles or clocks.
 *
 * Each kind of record has a format word.  Whoever changes one gives it another
 * and lets its reader take the old one as well.
 */
#ifndef TIDEMARK_CARRIED_H
#define TIDEMARK_CARRIED_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"

struct tide_map;

enum tide_carried_id {
	TIDE_CARRIED_BUCKETS,  /* flow_state.h */
	TIDE_CARRIED_TOKENS,   /* tokens.h */
	TIDE_CARRIED_DISTINCT, /* distinct.h */
	TIDE_CARRIED_COUNTERS, /* counters.h */
	TIDE_CARRIED_PARTS
};

struct tide_carried_kind {
	const char *name;
	uint32_t format; /* that is written; older ones are read */
};

extern const struct tide_carried_kind tide_carried_kind[TIDE_CARRIED_PARTS];

struct tide_carried {
	struct {
		char *bytes;	   /* NULL: nothing is known */
		size_t size;	   /* whole words */
		uint64_t taken_ms; /* wall */
	} part[TIDE_CARRIED_PARTS];
	uint64_t taken_ms; /* wall: the newest of it */
	struct tide_profile_names profiles;
};

/* Take it from the map while workers go on; to be freed. */
int tide_carried_take(struct tide_carried *, const struct tide_map *,
    uint64_t now_ms, struct tide_err *);
void tide_carried_free(struct tide_carried *);

/* Take the parts that are lacking from another one, of the same profiles. */
void tide_carried_complete(struct tide_carried *, struct tide_carried *from);

/*
 * The counts are there as soon as there is a map; the rest waits for a pool.
 * Added, not stored: workers may have counted in the new map already.  How many
 * were of counters that this version does not have.
 */
unsigned tide_carried_count(const struct tide_carried *, struct tide_map *);

#endif
