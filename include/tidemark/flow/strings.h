/*
 * strings - key strings of the buckets, each kept once, with a count of
 * references, freed at 0.  In the map; the collector's alone to write.
 *
 * Units of 16 bytes; a string takes as many as its header of 13 bytes and its
 * text need.  Free ones are kept by their number of units; neighbours are
 * joined when no list has room.
 */
#ifndef TIDEMARK_STRINGS_H
#define TIDEMARK_STRINGS_H

#include "tidemark/flow/buckets.h"

#define TIDE_STRING_UNIT 16u

struct tide_string {
	uint32_t refs;
	uint32_t next; /* in its hash chain, or in a free list */
	uint32_t hash;
	uint8_t length;
	char text[];
};

static inline struct tide_string *
tide_string_at(const struct tide_flow *f, uint32_t unit)
{
	return (struct tide_string *)(void *)(f->strings +
	    (size_t)unit * TIDE_STRING_UNIT);
}

static inline uint32_t
tide_string_units(unsigned length)
{
	return (uint32_t)(offsetof(struct tide_string, text) + length +
		   TIDE_STRING_UNIT - 1) /
	    TIDE_STRING_UNIT;
}

/* The string's unit, with one more reference; 0 if there is no room. */
uint32_t tide_string_take(struct tide_flow *, const struct tide_flow_key *);

/*
 * One reference less; at 0 it is freed.  Nobody may be reading it.  False if
 * there is no such string.
 */
bool tide_string_drop(struct tide_flow *, uint32_t unit);

/* Can a string begin there?  (Buckets say so, and they may be damaged.) */
bool tide_string_is(const struct tide_flow *, uint32_t unit);

/*
 * Join free units that have become neighbours: strings of many lengths come
 * and go, and what short ones leave is no room for a long one.  No string
 * moves: workers hold unit numbers.  False if there is no memory for it.
 */
bool tide_string_join(struct tide_flow *);

/* Wipe a run of unused units and give it to the free lists (rebuild). */
void tide_string_free_run(struct tide_flow *, uint32_t unit, uint32_t units);

#endif
