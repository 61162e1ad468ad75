/*
 * levels - the leaky buckets as a tool sees them: read-only, while workers
 * fill and the collector leaks, frees and reuses.
 *
 * A bucket's key is copied and then proved: its hash must be the bucket's,
 * and the bucket must still be alive and of that key.
 */
#ifndef TOOLS_READ_LEVELS_H
#define TOOLS_READ_LEVELS_H

#include "view.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/settings/config.h"

struct level {
	unsigned profile;
	enum tide_group group;
	char key[TIDE_BUCKET_KEY_MAX + 1];
	bool over;	     /* it has overflowed */
	uint32_t since;	     /* then: drops that came after */
	uint32_t level;	     /* drops it holds; depth + 1 if over */
	uint32_t depth;	     /* that it can hold; 0: not used any more */
	uint64_t leak_ms;    /* it loses a drop each */
	uint64_t empties_ms; /* in so long, if nothing comes */
	const struct tide_limit *limit; /* NULL: of no profile that we know */
};

/* Buckets are 1 to levels_count(). */
uint32_t levels_count(const struct view *);

/* False if the bucket is free, or has changed hands meanwhile. */
bool level_at(const struct view *, uint32_t bucket, struct level *);

/* "message", "unknown recipients": what so many drops of the group are. */
const char *drop_name(enum tide_group, uint64_t count);

#endif
