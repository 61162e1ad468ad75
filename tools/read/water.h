/*
 * water - how full the leaky buckets are, all of them at a glance, and how
 * fast each fills.
 *
 * There may be millions: a sample looks at marks alone, and a key is copied
 * and proved (levels.h) only for a bucket that is shown.  Rates are known from
 * the second sample on: averages that forget, of at least a few seconds, and
 * no more than so long a silence allows.  Of a bucket that has run dry meanwhile
 * we see less than came.
 */
#ifndef TOOLS_READ_WATER_H
#define TOOLS_READ_WATER_H

#include "view.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"

struct water_item {
	uint32_t bucket;
	uint32_t level, depth;
	uint8_t class;
	bool over;
	float rate; /* drops a second; NAN: not known yet */
	float sure; /* of that, what is more than chance */
	uint64_t leak_ms;
	uint64_t empty_ms; /* from now */
};

/* What we knew of a bucket at the last sample. */
struct water_memo {
	uint32_t held, mark;
	float sum, weight; /* of rates, the later the more; rate: sum/weight */
	float silent;	   /* seconds since the last drop */
	uint32_t round;
};

/* Begins as all zeroes. */
struct water {
	struct water_item *item;
	size_t count, room;
	struct water_memo *memo;
	uint32_t memos, round;
	uint64_t maps, sampled_ms;
	double seconds, keep; /* since the last; what a rate keeps over them */
};

/* Take a sample.  -1: no memory. */
int water_sample(struct water *, const struct view *, uint64_t mono_ms);
void water_free(struct water *);

/* More comes than leaks, and not by chance. */
bool water_rises(const struct water_item *);

/* Its level, as a share of what it can hold. */
double water_fill(const struct water_item *);

/* In milliseconds to the ban, or until it is empty; NAN if there is none. */
double water_time(const struct water_item *);

/* Whose limit it is, and which; NULL: of no profile that we know. */
const struct tide_limit *water_limit(
    const struct view *, const struct water_item *, struct tide_class_id *);

/* off, over, full, rising, leaking */
const char *water_state(const struct view *, const struct water_item *);

/* What its time is the time of: "ban", "over" where none follows, "dry". */
const char *water_end(const struct view *, const struct water_item *);

/* Its key; false if it is not there any more. */
bool water_key(const struct view *, const struct water_item *,
    char out[TIDE_BUCKET_KEY_MAX + 1]);

/*
 * How many buckets of the group (-1: of all) are how full, in n bins of equal
 * width, empty to full.  Returns how many there are.
 */
uint32_t water_bins(const struct water *, const struct view *, int group,
    uint32_t *bins, unsigned n);

#endif
