/*
 * cells - bits, or counts of four bits.
 *
 * A word has 64 cells, or 16 that count.  One writer: it loads, changes and
 * stores; readers find a cell as it was or as it is.
 */
#include <math.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/addresses.h"

#define CELLS 16u /* in a word */
#define LOW 0x1111111111111111ull

size_t
tide_list_bytes(const struct tide_list_shape *s)
{
	return tide_bloom_bytes(&s->bloom) * (s->counting ? 4 : 1);
}

bool
tide_list_sane(const struct tide_list_shape *s)
{
	return tide_bloom_sane(&s->bloom) && s->counting <= 1;
}

bool
tide_list_same(const struct tide_list_shape *a, const struct tide_list_shape *b)
{
	return a->bloom.bits == b->bloom.bits &&
	    a->bloom.positions == b->bloom.positions &&
	    a->counting == b->counting;
}

/* ---- counting cells ---------------------------------------------------- */

/* An element's cells, each once: how many. */
static uint32_t
cells_of(const struct tide_list_shape *s, struct tide_hash h,
    uint64_t at[TIDE_BLOOM_POSITIONS])
{
	uint32_t n = tide_bloom_positions(&s->bloom, h, at), i, j, kept = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < kept && at[j] != at[i]; j++)
			;
		if (j == kept)
			at[kept++] = at[i];
	}
	return kept;
}

static unsigned
cell(const tide_bloom_word *words, uint64_t at)
{
	uint64_t word =
	    atomic_load_explicit(&words[at / CELLS], memory_order_acquire);

	return (unsigned)(word >> (at % CELLS * 4)) & TIDE_CELL_MOST;
}

static void
set_cell(tide_bloom_word *words, uint64_t at, unsigned value)
{
	unsigned shift = (unsigned)(at % CELLS) * 4;
	uint64_t word =
	    atomic_load_explicit(&words[at / CELLS], memory_order_relaxed);

	word &= ~((uint64_t)TIDE_CELL_MOST << shift);
	word |= (uint64_t)value << shift;
	atomic_store_explicit(&words[at / CELLS], word, memory_order_relaxed);
}

static bool
count_up(
    const struct tide_list_shape *s, tide_bloom_word *words, struct tide_hash h)
{
	uint64_t at[TIDE_BLOOM_POSITIONS];
	uint32_t i, n = cells_of(s, h, at);
	bool fresh = false;
	unsigned value;

	for (i = 0; i < n; i++) {
		value = cell(words, at[i]);
		fresh |= value == 0;
		if (value < TIDE_CELL_MOST)
			set_cell(words, at[i], value + 1);
	}
	return fresh;
}

static bool
counts(const struct tide_list_shape *s, const tide_bloom_word *words,
    struct tide_hash h)
{
	uint64_t at[TIDE_BLOOM_POSITIONS];
	uint32_t i, n = tide_bloom_positions(&s->bloom, h, at);

	for (i = 0; i < n; i++)
		if (cell(words, at[i]) == 0)
			return false;
	return true;
}

bool
tide_list_del(
    const struct tide_list_shape *s, tide_bloom_word *words, struct tide_hash h)
{
	uint64_t at[TIDE_BLOOM_POSITIONS];
	uint32_t i, n;
	unsigned value;

	if (!s->counting || !counts(s, words, h))
		return false;
	n = cells_of(s, h, at);
	for (i = 0; i < n; i++) {
		value = cell(words, at[i]);
		if (value < TIDE_CELL_MOST) /* a full one stays so */
			set_cell(words, at[i], value - 1);
	}
	return true;
}

/* ---- either form ------------------------------------------------------- */

bool
tide_list_add(
    const struct tide_list_shape *s, tide_bloom_word *words, struct tide_hash h)
{
	return s->counting ? count_up(s, words, h)
			   : tide_bloom_add(&s->bloom, words, h);
}

bool
tide_list_has(const struct tide_list_shape *s, const tide_bloom_word *words,
    struct tide_hash h)
{
	return s->counting ? counts(s, words, h)
			   : tide_bloom_has(&s->bloom, words, h);
}

/* A bit for each cell of the word that is not 0. */
static uint64_t
occupied(uint64_t word)
{
	word |= word >> 2;
	return (word | word >> 1) & LOW;
}

uint64_t
tide_list_filled(const struct tide_list_shape *s, const tide_bloom_word *words)
{
	uint64_t i, n = tide_list_bytes(s) / 8, filled = 0, word;

	if (!s->counting)
		return tide_bloom_ones(&s->bloom, words);
	for (i = 0; i < n; i++) {
		word = atomic_load_explicit(&words[i], memory_order_relaxed);
		filled += (uint64_t)__builtin_popcountll(occupied(word));
	}
	return filled;
}

uint64_t
tide_list_estimate(const struct tide_list_shape *s, uint64_t filled)
{
	double m = (double)s->bloom.bits, k = s->bloom.positions;

	if (filled >= s->bloom.bits)
		return UINT64_MAX;
	return (uint64_t)(-m / k * log1p(-(double)filled / m) + 0.5);
}

static uint64_t
sum(uint64_t a, uint64_t b)
{
	uint64_t out = 0, cells;
	unsigned shift;

	for (shift = 0; shift < 64; shift += 4) {
		cells = (a >> shift & TIDE_CELL_MOST) +
		    (b >> shift & TIDE_CELL_MOST);
		if (cells > TIDE_CELL_MOST)
			cells = TIDE_CELL_MOST;
		out |= cells << shift;
	}
	return out;
}

void
tide_list_unite(const struct tide_list_shape *s, tide_bloom_word *into,
    const tide_bloom_word *from)
{
	uint64_t i, n = tide_list_bytes(s) / 8, a, b;

	for (i = 0; i < n; i++) {
		b = atomic_load_explicit(&from[i], memory_order_relaxed);
		if (b == 0)
			continue;
		a = atomic_load_explicit(&into[i], memory_order_relaxed);
		atomic_store_explicit(&into[i], s->counting ? sum(a, b) : a | b,
		    memory_order_relaxed);
	}
}
