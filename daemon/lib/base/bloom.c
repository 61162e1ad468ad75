/*
 * bloom - set bits, read bits, fold.
 *
 * PROTOCOL bloom: any number of workers add to one filter.
 *  A1 load the word                    relaxed
 *  A2 bit not there: fetch_or          relaxed
 * Why:   bits are only ever set while a window is open, and each stands for
 *        itself: no order between two bits, or between a bit and anything
 *        else, is ever relied on.  Who must see them all (the sealer) gets
 *        that from the epoch protocol (epoch.h), which orders the whole burst.
 *        A1 before A2 keeps lines shared that hold nothing new.
 * Crash: between two positions of one element: an element not acknowledged
 *        is partly there.  It may be found or not; others are not touched.
 * Test:  tests/race/t_bloom.c
 */
#include <assert.h>
#include <math.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"

struct tide_bloom_shape
tide_bloom_size(uint64_t n, double p)
{
	const double ln2 = 0.69314718055994530942;
	struct tide_bloom_shape s = { .capacity = n };
	double m, k;

	assert(n > 0 && p > 0 && p < 1);
	m = ceil(-(double)n * log(p) / (ln2 * ln2));
	s.bits = ((uint64_t)m + TIDE_BLOOM_GRAIN - 1) / TIDE_BLOOM_GRAIN *
	    TIDE_BLOOM_GRAIN;
	k = round(m / (double)n * ln2);
	s.positions = k < 1	       ? 1
	    : k > TIDE_BLOOM_POSITIONS ? TIDE_BLOOM_POSITIONS
				       : (uint32_t)k;
	return s;
}

bool
tide_bloom_sane(const struct tide_bloom_shape *s)
{
	return s->bits >= 64 && s->bits % 64 == 0 &&
	    s->bits <= TIDE_BLOOM_MAX && s->positions >= 1 &&
	    s->positions <= TIDE_BLOOM_POSITIONS && s->capacity >= 1;
}

/*
 * Positions h1 + i h2 + (i^3 - i)/6 mod m, by additions alone: p += step,
 * step += i.  Both are kept below m, so one subtraction does for "mod".
 */
struct walk {
	uint64_t m, at, step;
};

static inline struct walk
walk_start(const struct tide_bloom_shape *s, struct tide_hash h)
{
	return (struct walk){
		.m = s->bits, .at = h.low % s->bits, .step = h.high % s->bits
	};
}

static inline void
walk_next(struct walk *w, uint32_t i)
{
	w->at += w->step;
	if (w->at >= w->m)
		w->at -= w->m;
	w->step += i;
	if (w->step >= w->m)
		w->step -= w->m;
}

bool
tide_bloom_add(const struct tide_bloom_shape *s, tide_bloom_word *words,
    struct tide_hash h)
{
	struct walk w = walk_start(s, h);
	uint64_t bit, old;
	bool fresh = false;
	uint32_t i;

	for (i = 0; i < s->positions; walk_next(&w, ++i)) {
		tide_bloom_word *word = &words[w.at / 64];

		bit = 1ull << (w.at % 64);
		old = atomic_load_explicit(word, memory_order_relaxed); /* A1 */
		if ((old & bit) == 0) {
			old = atomic_fetch_or_explicit(
			    word, bit, memory_order_relaxed); /* A2 */
			fresh |= (old & bit) == 0;
		}
	}
	return fresh;
}

/* Acquire: who asks a window that may be cleared meanwhile (query.c) looks at
 * its state again afterwards, and must not be shown an older one. */
bool
tide_bloom_has(const struct tide_bloom_shape *s, const tide_bloom_word *words,
    struct tide_hash h)
{
	struct walk w = walk_start(s, h);
	uint64_t word;
	uint32_t i;

	for (i = 0; i < s->positions; walk_next(&w, ++i)) {
		word = atomic_load_explicit(
		    &words[w.at / 64], memory_order_acquire);
		if ((word >> (w.at % 64) & 1) == 0)
			return false;
	}
	return true;
}

uint32_t
tide_bloom_positions(const struct tide_bloom_shape *s, struct tide_hash h,
    uint64_t at[TIDE_BLOOM_POSITIONS])
{
	struct walk w = walk_start(s, h);
	uint32_t i;

	for (i = 0; i < s->positions; walk_next(&w, ++i))
		at[i] = w.at;
	return i;
}

uint64_t
tide_bloom_ones(const struct tide_bloom_shape *s, const tide_bloom_word *words)
{
	uint64_t i, ones = 0;

	for (i = 0; i < s->bits / 64; i++)
		ones += (uint64_t)__builtin_popcountll(
		    atomic_load_explicit(&words[i], memory_order_relaxed));
	return ones;
}

/*
 * Either all k bits are set by chance, or one of the n elements has the same
 * pattern: double hashing makes m * m of them.  n is about ones / k.
 */
double
tide_bloom_error(const struct tide_bloom_shape *s, uint64_t ones)
{
	double m = (double)s->bits, k = s->positions;
	double error = pow((double)ones / m, k) + (double)ones / k / m / m;

	return error < 1 ? error : 1;
}

void
tide_bloom_copy(
    const struct tide_bloom_shape *s, uint64_t *to, const tide_bloom_word *from)
{
	uint64_t i;

	for (i = 0; i < s->bits / 64; i++)
		to[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
}

static uint64_t
ones_if_folded(const uint64_t *words, uint64_t half)
{
	uint64_t i, ones = 0;

	for (i = 0; i < half; i++)
		ones +=
		    (uint64_t)__builtin_popcountll(words[i] | words[half + i]);
	return ones;
}

void
tide_bloom_fold(struct tide_bloom_shape *s, uint64_t *words, double p)
{
	struct tide_bloom_shape folded;
	uint64_t i, half;

	while (s->bits % 128 == 0 && s->bits / 2 >= TIDE_BLOOM_GRAIN) {
		folded = *s;
		folded.bits /= 2;
		half = folded.bits / 64;
		if (tide_bloom_error(&folded, ones_if_folded(words, half)) > p)
			return;
		for (i = 0; i < half; i++)
			words[i] |= words[half + i];
		*s = folded;
	}
}
