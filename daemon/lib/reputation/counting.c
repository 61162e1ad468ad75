/*
 * counting - find, raise, count.  The protocol stands in counting.h.
 */
#include <assert.h>
#include <math.h>

#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"

#define BEYOND UINT32_MAX

/* For the test that stops, yields or dies between two steps; it alone. */
#ifndef TIDE_COUNTING_AT
#define TIDE_COUNTING_AT(step) (void)0
#endif

/* ---- sizes ------------------------------------------------------------- */

static uint32_t
cells_a_word(uint32_t bits)
{
	return 64 / bits;
}

struct tide_counting_shape
tide_counting_size(uint64_t n, double p, uint32_t bits)
{
	const double ln2 = 0.69314718055994530942;
	double m = ceil(-(double)n * log(p) / (ln2 * ln2));
	double k = round(m / (double)n * ln2);

	assert(n > 0 && p > 0 && p < 1);
	assert(bits >= 2 && bits <= TIDE_COUNTING_BITS);
	return (struct tide_counting_shape){ .cells = (uint64_t)m,
		.capacity = n,
		.positions = k < 1		  ? 1
		    : k > TIDE_COUNTING_POSITIONS ? TIDE_COUNTING_POSITIONS
						  : (uint32_t)k,
		.bits = bits };
}

bool
tide_counting_sane(const struct tide_counting_shape *s)
{
	return s->cells >= 1 && s->cells <= TIDE_COUNTING_CELLS &&
	    s->capacity >= 1 && s->positions >= 1 &&
	    s->positions <= TIDE_COUNTING_POSITIONS && s->bits >= 2 &&
	    s->bits <= TIDE_COUNTING_BITS;
}

static uint64_t
words(const struct tide_counting_shape *s)
{
	uint32_t per = cells_a_word(s->bits);

	return (s->cells + per - 1) / per;
}

size_t
tide_counting_bytes(const struct tide_counting_shape *s)
{
	return (size_t)words(s) * sizeof(tide_counting_word);
}

static uint32_t
words_a_stripe(uint32_t slots)
{
	return (slots + 63) / 64;
}

size_t
tide_counting_books_bytes(uint32_t slots)
{
	return slots * sizeof(struct tide_counting_desk) +
	    (size_t)TIDE_COUNTING_STRIPES * words_a_stripe(slots) *
	    sizeof(uint64_t);
}

void
tide_counting_attach(struct tide_counting *f,
    const struct tide_counting_shape *shape, uint32_t slots, void *books)
{
	*f = (struct tide_counting){ .shape = *shape,
		.slots = slots,
		.cells_a_word = cells_a_word(shape->bits),
		.most = (1u << shape->bits) - 1,
		.words_a_stripe = words_a_stripe(slots),
		.inverse = UINT64_MAX / cells_a_word(shape->bits) + 1,
		.desk = books };
	f->stripe = (_Atomic uint64_t *)(void *)(f->desk + slots);
}

/* ---- where a key lies -------------------------------------------------- */

/* Positions h1 + i h2 + (i^3 - i)/6 mod m, as in bloom.c; the stripe from
 * bits that decide little there. */
void
tide_counting_find(const struct tide_counting *f, struct tide_hash h,
    struct tide_counting_key *key)
{
	uint64_t m = f->shape.cells, at = h.low % m, step = h.high % m;
	uint32_t i;

	key->cells = 0;
	key->stripe =
	    (uint32_t)((h.low ^ h.high) >> 40) % TIDE_COUNTING_STRIPES;
	for (i = 0; i < f->shape.positions; i++) {
		tide_counting_key_add(f, key, at);
		at = (at + step) % m;
		step = (step + i + 1) % m;
	}
}

/* ---- registering ------------------------------------------------------- */

static inline _Atomic uint64_t *
stripe_words(const struct tide_counting *f, uint32_t stripe)
{
	return f->stripe + (size_t)stripe * f->words_a_stripe;
}

/* True if nobody else is there. */
static inline bool
enter(const struct tide_counting *f, uint32_t stripe, uint32_t slot)
{
	_Atomic uint64_t *words_ = stripe_words(f, stripe);
	uint64_t mine = 1ull << (slot % 64), others;
	uint32_t i;

	others = atomic_fetch_or_explicit(
		     &words_[slot / 64], mine, memory_order_seq_cst) &
	    ~mine; /* I2 */
	for (i = 0; i < f->words_a_stripe; i++)
		if (i != slot / 64)
			others |= atomic_load_explicit(
			    &words_[i], memory_order_seq_cst); /* I2 */
	return others == 0;
}

static inline void
leave(const struct tide_counting *f, uint32_t stripe, uint32_t slot)
{
	atomic_fetch_and_explicit(&stripe_words(f, stripe)[slot / 64],
	    ~(1ull << (slot % 64)), memory_order_release); /* I5 */
}

void
tide_counting_bury(const struct tide_counting *f, uint32_t slot)
{
	uint32_t at = atomic_load(&f->desk[slot].stripe);

	if (at == 0)
		return;
	/* bytes that another process wrote */
	leave(f, (at - 1) % TIDE_COUNTING_STRIPES, slot); /* B1 */
	atomic_store(&f->desk[slot].stripe, 0);		  /* B2 */
}

/* ---- counting ---------------------------------------------------------- */

static inline uint32_t
value(uint64_t word, uint64_t at, uint32_t most)
{
	return (uint32_t)(word >> (at & 63)) & most;
}

static inline uint32_t
read_cell(const tide_counting_word *cells, uint64_t at, uint32_t most)
{
	return value(
	    atomic_load_explicit(&cells[at >> 6], memory_order_acquire), at,
	    most);
}

/* The cell's new value. */
static inline uint32_t
raise_cell(tide_counting_word *word, uint64_t at, uint32_t most, uint32_t by)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
	uint32_t v, more;

	do {
		v = value(old, at, most);
		more = by < most - v ? by : most - v;
		if (more == 0)
			return v;
	} while (!atomic_compare_exchange_weak_explicit(word, &old,
	    old + ((uint64_t)more << (at & 63)), memory_order_acq_rel,
	    memory_order_relaxed)); /* I4 */
	return v + more;
}

/* How much of n is missing in a cell that held v when the least was this. */
static inline uint32_t
missing(uint32_t v, uint32_t least, uint32_t n)
{
	uint32_t there = v > least ? v - least : 0;

	return there < n ? n - there : 0;
}

uint32_t
tide_counting_insert(const struct tide_counting *f, tide_counting_word *cells,
    const struct tide_counting_key *key, uint32_t slot, uint32_t n)
{
	const uint32_t k = key->cells, most = f->most; /* kept in registers */
	uint32_t before[TIDE_COUNTING_POSITIONS];
	uint32_t i, v, by, least = BEYOND, count = most;

	for (i = 0; i < k; i++)
		__builtin_prefetch((const void *)&cells[key->at[i] >> 6], 1);
	atomic_store_explicit(&f->desk[slot].stripe, key->stripe + 1,
	    memory_order_relaxed); /* I0 */
	for (i = 0; i < k; i++) {
		before[i] = read_cell(cells, key->at[i], most); /* I1 */
		TIDE_COUNTING_AT("read");
	}
	if (enter(f, key->stripe, slot)) { /* I2 */
		for (i = 0; i < k; i++) {
			TIDE_COUNTING_AT("alone");
			v = read_cell(cells, key->at[i], most); /* I3 */
			least = v < least ? v : least;
		}
	}
	for (i = 0; i < k; i++) {
		TIDE_COUNTING_AT("raise");
		by = missing(before[i], least, n);
		v = by == 0 ? before[i]
			    : raise_cell(&cells[key->at[i] >> 6], key->at[i],
				  most, by); /* I4 */
		count = v < count ? v : count;
	}
	TIDE_COUNTING_AT("raised");
	leave(f, key->stripe, slot); /* I5 */
	TIDE_COUNTING_AT("left");
	atomic_store_explicit(
	    &f->desk[slot].stripe, 0, memory_order_release); /* I6 */
	return count;
}

uint32_t
tide_counting_cell(const struct tide_counting *f,
    const tide_counting_word *cells, uint64_t cell)
{
	return read_cell(cells, tide_counting_at(f, cell), f->most);
}

uint32_t
tide_counting_count(const struct tide_counting *f,
    const tide_counting_word *cells, const struct tide_counting_key *key)
{
	uint32_t i, v, count = f->most;

	for (i = 0; i < key->cells; i++) {
		v = read_cell(cells, key->at[i], f->most);
		count = v < count ? v : count;
	}
	return count;
}

/* ---- whole arrays ------------------------------------------------------ */

/* The lowest bit of every cell of a word. */
static uint64_t
low_bits(uint32_t bits)
{
	uint64_t mask = 0;
	uint32_t i;

	for (i = 0; i < cells_a_word(bits); i++)
		mask |= 1ull << (i * bits);
	return mask;
}

/*
 * All cells at once: add all but the top bits, then these without a carry
 * into the next cell; where the top bit carries, fill the cell.
 */
static inline uint64_t
sum(uint64_t a, uint64_t b, uint64_t low, uint32_t bits)
{
	uint64_t top = low << (bits - 1), full = (1ull << bits) - 1;
	uint64_t s = ((a & ~top) + (b & ~top)) ^ ((a ^ b) & top);
	uint64_t over = ((a & b) | ((a | b) & ~s)) & top;

	return s | (over >> (bits - 1)) * full;
}

uint64_t
tide_counting_sum_word(uint32_t bits, uint64_t a, uint64_t b)
{
	return sum(a, b, low_bits(bits), bits);
}

void
tide_counting_sum(const struct tide_counting_shape *s, tide_counting_word *to,
    const tide_counting_word *from)
{
	uint64_t i, a, b, n = words(s), low = low_bits(s->bits);

	for (i = 0; i < n; i++) {
		b = atomic_load_explicit(&from[i], memory_order_relaxed);
		if (b == 0)
			continue;
		a = atomic_load_explicit(&to[i], memory_order_relaxed);
		atomic_store_explicit(
		    &to[i], sum(a, b, low, s->bits), memory_order_relaxed);
	}
}

/*
 * All cells at once: with its top bit set no cell borrows from the next, and
 * the top bit left over says which low part is not the smaller one.
 */
static inline uint64_t
larger(uint64_t a, uint64_t b, uint64_t low, uint32_t bits)
{
	uint64_t top = low << (bits - 1), full = (1ull << bits) - 1;
	uint64_t rest = ((a | top) - (b & ~top)) & top;
	uint64_t mine = ((a & ~b) | (~(a ^ b) & rest)) & top;
	uint64_t mask = (mine >> (bits - 1)) * full;

	return (a & mask) | (b & ~mask);
}

uint64_t
tide_counting_max_word(uint32_t bits, uint64_t a, uint64_t b)
{
	return larger(a, b, low_bits(bits), bits);
}

void
tide_counting_raise(const struct tide_counting_shape *s, tide_counting_word *to,
    const tide_counting_word *from)
{
	uint64_t i, a, b, n = words(s), low = low_bits(s->bits);

	for (i = 0; i < n; i++) {
		b = atomic_load_explicit(&from[i], memory_order_relaxed);
		if (b == 0)
			continue;
		a = atomic_load_explicit(&to[i], memory_order_relaxed);
		atomic_store_explicit(
		    &to[i], larger(a, b, low, s->bits), memory_order_relaxed);
	}
}

uint64_t
tide_counting_used(
    const struct tide_counting_shape *s, const tide_counting_word *cells)
{
	uint64_t i, w, used = 0, low = low_bits(s->bits);
	uint32_t bit;

	for (i = 0; i < words(s); i++) {
		uint64_t any = 0;

		w = atomic_load_explicit(&cells[i], memory_order_relaxed);
		for (bit = 0; bit < s->bits; bit++)
			any |= w >> bit;
		used += (uint64_t)__builtin_popcountll(any & low);
	}
	return used;
}

double
tide_counting_error(const struct tide_counting_shape *s, uint64_t used)
{
	return pow((double)used / (double)s->cells, s->positions);
}
