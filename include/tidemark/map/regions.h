/*
 * regions - what the map is made of: one row each, by name.
 *
 * A region has a format word, which is written into the map's head.  Whoever
 * changes what lies in a region gives it a new one; a map with another word is
 * not resumed, but replaced by one that takes over what can be read of it, or,
 * if that is not even its control words, slots and windows, what the last
 * checkpoint has (live.h).
 * tests/daemon/lib/map/t_formats.c fails where the word was forgotten.
 */
#ifndef TIDEMARK_REGIONS_H
#define TIDEMARK_REGIONS_H

#include <stdint.h>

enum tide_region_id {
	TIDE_REGION_CONTROL,
	TIDE_REGION_ACCEPTOR,
	TIDE_REGION_SLOTS,
	TIDE_REGION_COUNTERS,
	TIDE_REGION_WINDOW0,
	TIDE_REGION_WINDOW1,
	TIDE_REGION_FLOW,
	TIDE_REGION_BUCKETS,
	TIDE_REGION_MAILBOXES,
	TIDE_REGION_BANS,
	TIDE_REGION_TOKENS,
	TIDE_REGION_DISTINCT,
	TIDE_REGION_DECISIONS,
	TIDE_REGION_ADDRESSES,
	TIDE_REGION_BULK,
	TIDE_REGION_NEIGHBOURS,
	TIDE_REGION_LATENCY,
	TIDE_REGION_HISTORY,
	TIDE_REGION_SPAM,
	TIDE_REGIONS
};

#define TIDE_REGION_NAME_MAX 16

struct tide_region {
	const char *name;
	uint32_t format; /* 0: made from a table, see below */
};

extern const struct tide_region tide_region[TIDE_REGIONS];

/* The format word that this build writes; that of counters follows from their
 * names. */
uint32_t tide_region_format(enum tide_region_id);

#endif
