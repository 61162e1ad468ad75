/*
 * sketch - the smallest hashes of a text's shingles (bottom-k MinHash).
 *
 * A shingle is SHINGLE bytes of normalised text, which has no spaces: about
 * three English words.  Changing one word of twenty spoils one shingle in
 * five, so that about four fifths of the samples stay; shorter ones
 * stand in everybody's mail ("ifyouhaveany"), longer ones suffer more from
 * each change.  tests/corpus/t_spam.sh measures it.
 */
#ifndef REPUTATION_SKETCH_H
#define REPUTATION_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/signature.h"

#define SHINGLE 16u

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
