/*
 * sketch - the smallest hashes of a text's shingles (bottom-k MinHash).
 *
 * A shingle is SHINGLE bytes of normalised text, which has no spaces: one or
 * two English words.  Changing one word of twenty spoils one shingle in
 * eight.  Short ones stand in everybody's mail, but what is looked for are
 * pairs of neighbours among the smallest (spam.h), and those do not.
 */
#ifndef REPUTATION_SKETCH_H
#define REPUTATION_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"

#define SHINGLE 8u

struct sketch {
	uint64_t factor, last; /* of the rolling hash; factor^(SHINGLE - 1) */
	uint64_t seed;
	uint64_t roll;
	unsigned filled, at;
	uint8_t window[SHINGLE];
	size_t samples;
	uint64_t sample[TIDE_SKETCH]; /* ascending, all different */
};

/* Once. */
void tide_sketch_key(struct sketch *, const struct tide_hash_key *);

void tide_sketch_begin(struct sketch *); /* a message */
void tide_sketch_part(struct sketch *);	 /* no shingle reaches across parts */
void tide_sketch_text(struct sketch *, const char *text, size_t length);

#endif
