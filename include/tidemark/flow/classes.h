/*
 * classes - which class of buckets (buckets.h) counts what.
 *
 * A class is a group in a profile and, for IPv6 clients in the IP groups, a
 * tier: one customer cannot rotate through its prefix if /64, /56 and /48 are
 * counted beside the address itself.  The numbers follow from the number of
 * profiles alone, so that collector, workers and tools agree without asking.
 * A map is made for profiles of given names in a given order; with others it
 * is made anew, and its classes are translated.
 *
 * Up to three profiles have all tiers; with more, IPv6 is counted at the
 * first tier only (there are 64 classes).
 */
#ifndef TIDEMARK_CLASSES_H
#define TIDEMARK_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "tidemark/flow/buckets.h"
#include "tidemark/settings/config.h"
#include "tidemark/keys/keys.h"

struct tide_class_id {
	unsigned profile;
	unsigned group; /* enum tide_group */
	unsigned tier;	/* into tide_key_tiers; 0 but for IPv6 */
};

/* Is it one of the groups whose payer is the client? */
bool tide_group_is_ip(unsigned group);

/* The class's number, or -1 if it has none. */
int tide_class_number(unsigned profiles, struct tide_class_id);

/* What a class counts; false if nothing. */
bool
tide_class_describe(unsigned profiles, unsigned class, struct tide_class_id *);

/* Where each class of `from' is in `to'; -1: nowhere. */
void tide_classes_translate(const struct tide_profile_names *from,
    const struct tide_profile_names *to, int class[TIDE_CLASSES]);

/* Depth and leak of a class by the configuration; 0 if it is off. */
uint32_t tide_class_depth(
    const struct tide_config *, struct tide_class_id, uint64_t *leak_ms);

#endif
