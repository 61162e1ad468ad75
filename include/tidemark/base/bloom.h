/*
 * bloom - an atomic Bloom filter, sized from n and p.
 *
 * The shape (m bits, k positions) and the words are apart: words live in the
 * map, where many workers set bits at once, or in an archived record, where
 * nobody does.  Insert and lookup never block.
 *
 * m = -n ln p / (ln 2)^2, rounded up to a multiple of TIDE_BLOOM_GRAIN;
 * k = m/n ln 2.  Positions come from one 128-bit hash by enhanced double
 * hashing, all modulo m.  Because everything is modulo m, a filter that got
 * fewer elements than it was sized for can be folded: the two halves united
 * by OR are exactly the filter of m/2 bits.  Sealed windows are folded until
 * they are as full as they were meant to be, but not below the grain: what a
 * quiet window would save is little, and it would err more for it.
 */
#ifndef TIDEMARK_BLOOM_H
#define TIDEMARK_BLOOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/hash.h"

#define TIDE_BLOOM_GRAIN 4096u	    /* bits; none is smaller */
#define TIDE_BLOOM_MAX (1ull << 38) /* bits: 32 GiB, beyond any use */

struct tide_bloom_shape {
	uint64_t bits;	    /* m */
	uint32_t positions; /* k */
	uint32_t pad;
	uint64_t capacity; /* n: elements at which p is reached */
};

typedef _Atomic uint64_t tide_bloom_word;

struct tide_bloom_shape tide_bloom_size(uint64_t n, double p);

static inline size_t
tide_bloom_bytes(const struct tide_bloom_shape *s)
{
	return (size_t)(s->bits / 8);
}

/* Bytes another process wrote: is this a shape we could have made? */
bool tide_bloom_sane(const struct tide_bloom_shape *);

/* Add; true if at least one bit was new, so the element certainly was. */
bool tide_bloom_add(
    const struct tide_bloom_shape *, tide_bloom_word *, struct tide_hash);

/* False: certainly not added.  True: probably. */
bool tide_bloom_has(
    const struct tide_bloom_shape *, const tide_bloom_word *, struct tide_hash);

/* The bit positions themselves, for words kept in pieces.  How many: k. */
#define TIDE_BLOOM_POSITIONS 32u
uint32_t tide_bloom_positions(const struct tide_bloom_shape *, struct tide_hash,
    uint64_t at[TIDE_BLOOM_POSITIONS]);

/* How many bits are set. */
uint64_t
tide_bloom_ones(const struct tide_bloom_shape *, const tide_bloom_word *);

/* The probability that an absent element is found, from the bits set. */
double tide_bloom_error(const struct tide_bloom_shape *, uint64_t ones);

/* Copy words that workers may be setting bits in. */
void tide_bloom_copy(
    const struct tide_bloom_shape *, uint64_t *to, const tide_bloom_word *from);

/*
 * Halve the filter in place as often as its error stays at or below p;
 * shape->bits shrinks accordingly.
 */
void tide_bloom_fold(struct tide_bloom_shape *, uint64_t *words, double p);

#endif
