/*
 * t_counting - the counting filter, one inserter at a time: exactly the
 * sequential algorithm, cells that stay at their most, sums of arrays.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"

#define SLOTS 200u

static struct tide_counting f;
static tide_counting_word *cells;
static void *books;

static uint64_t
draw(void)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s * 0x2545F4914F6CDD1Dull;
}

static struct tide_hash
hash_of(uint64_t x)
{
	uint64_t a = (x + 1) * 0x9e3779b97f4a7c15ull;
	uint64_t b = (x + 7) * 0xc4ceb9fe1a85ec53ull;

	return (struct tide_hash){ .low = (a ^ a >> 29) * 0xbf58476d1ce4e5b9ull,
		.high = (b ^ b >> 31) * 0x94d049bb133111ebull };
}

static void
make(uint64_t m, uint32_t k, uint32_t bits)
{
	const struct tide_counting_shape shape = {
		.cells = m, .capacity = m, .positions = k, .bits = bits
	};
	size_t size = (tide_counting_books_bytes(SLOTS) + 63) / 64 * 64;

	free(books);
	free(cells);
	CHECK(tide_counting_sane(&shape));
	books = aligned_alloc(64, size);
	cells = calloc(1, tide_counting_bytes(&shape));
	CHECK(books != NULL && cells != NULL);
	memset(books, 0, size);
	tide_counting_attach(&f, &shape, SLOTS, books);
}

/* ---- the oracle -------------------------------------------------------- */

static uint8_t plain[1u << 16];

/* The cell's number again. */
static uint64_t
cell_of(uint64_t at)
{
	return (at >> 6) * (64 / f.shape.bits) + (at & 63) / f.shape.bits;
}

static uint32_t
plain_insert(const struct tide_counting_key *key, uint32_t most)
{
	uint32_t i, least = most;

	for (i = 0; i < key->cells; i++)
		if (plain[cell_of(key->at[i])] < least)
			least = plain[cell_of(key->at[i])];
	for (i = 0; i < key->cells; i++)
		if (plain[cell_of(key->at[i])] == least && least < most)
			plain[cell_of(key->at[i])]++;
	return least < most ? least + 1 : most;
}

static uint64_t
differences(void)
{
	uint64_t i, n = 0;

	for (i = 0; i < f.shape.cells; i++)
		n += tide_counting_cell(&f, cells, i) != plain[i];
	return n;
}

static void
compare(uint64_t m, uint32_t k, uint32_t bits, unsigned inserts, unsigned keys)
{
	struct tide_counting_key key;
	uint32_t n, c, want = 0;
	unsigned i;

	make(m, k, bits);
	memset(plain, 0, sizeof plain);
	for (i = 0; i < inserts; i++) {
		tide_counting_find(&f, hash_of(draw() % keys), &key);
		n = draw() % 8 == 0 ? (uint32_t)(draw() % 5) : 1;
		for (c = 0; c < n; c++)
			want = plain_insert(&key, f.most);
		c = tide_counting_insert(
		    &f, cells, &key, (uint32_t)(draw() % SLOTS), n);
		if (n > 0)
			CHECK_INT(c, want);
		if (i % 1000 == 0)
			CHECK_INT(differences(), 0);
	}
	CHECK_INT(differences(), 0);
}

static void
test_sequential(void)
{
	compare(4096, 5, 5, 50000, 3000);
	compare(4096, 8, 5, 50000, 100);
	compare(1000, 4, 6, 30000, 500);
	compare(999, 3, 8, 30000, 200);
	compare(64, 16, 2, 5000, 40);
	compare(31, 16, 3, 5000, 40); /* positions often meet */
	compare(65521, 6, 7, 50000, 20000);
}

/* ---- the rest ---------------------------------------------------------- */

static void
test_saturates(void)
{
	struct tide_counting_key key;
	unsigned i;

	make(1000, 4, 5);
	tide_counting_find(&f, hash_of(1), &key);
	for (i = 1; i <= 40; i++) {
		CHECK_INT(tide_counting_insert(&f, cells, &key, 3, 1),
		    i < 31 ? i : 31);
		CHECK_INT(
		    tide_counting_count(&f, cells, &key), i < 31 ? i : 31);
	}
	CHECK_INT(tide_counting_insert(&f, cells, &key, 3, 4000000000u), 31);
	for (i = 0; i < 1000; i++)
		if (tide_counting_cell(&f, cells, i) != 0)
			CHECK_INT(tide_counting_cell(&f, cells, i), 31);
	CHECK_INT(tide_counting_used(&f.shape, cells), key.cells);
}

/* The paper's table II, and a cell that two positions share. */
static void
test_growth(void)
{
	struct tide_counting_key x = { .stripe = 5 }, y = { .stripe = 6 };
	unsigned i;

	make(100, 3, 5);
	tide_counting_key_add(&f, &y, 10);
	tide_counting_key_add(&f, &y, 20);
	tide_counting_key_add(&f, &y, 10);
	CHECK_INT(y.cells, 2);
	CHECK_INT(tide_counting_insert(&f, cells, &y, 0, 1), 1);
	CHECK_INT(tide_counting_cell(&f, cells, 10), 1);
	tide_counting_key_add(&f, &x, 10);
	tide_counting_key_add(&f, &x, 20);
	tide_counting_key_add(&f, &x, 30);
	CHECK_INT(tide_counting_count(&f, cells, &x), 0);
	for (i = 1; i <= 4; i++) {
		CHECK_INT(tide_counting_insert(&f, cells, &x, 0, 1), i);
		CHECK_INT(tide_counting_cell(&f, cells, 10), i);
		CHECK_INT(tide_counting_cell(&f, cells, 20), i);
		CHECK_INT(tide_counting_cell(&f, cells, 30), i);
	}
}

static void
test_sum(void)
{
	uint64_t a, b, s, want, x;
	uint32_t bits, i, most;
	unsigned n;

	for (bits = 2; bits <= 8; bits++) {
		most = (1u << bits) - 1;
		for (n = 0; n < 5000; n++) {
			a = b = want = 0;
			for (i = 0; i < 64 / bits; i++) {
				uint64_t u = draw() >> 20 & most;
				uint64_t v = draw() >> 20 & most;

				v = n % 3 == 0 ? v % 2 : v;
				x = u + v > most ? most : u + v;
				a |= u << i * bits;
				b |= v << i * bits;
				want |= x << i * bits;
			}
			s = tide_counting_sum_word(bits, a, b);
			CHECK_MSG(s == want, "%u bits: %llx + %llx is %llx",
			    bits, (unsigned long long)a, (unsigned long long)b,
			    (unsigned long long)s);
		}
	}
}

static void
test_sum_arrays(void)
{
	struct tide_counting_key key;
	tide_counting_word *other;
	unsigned i;

	make(5000, 4, 5);
	other = calloc(1, tide_counting_bytes(&f.shape));
	CHECK(other != NULL);
	for (i = 0; i < 300; i++) {
		tide_counting_find(&f, hash_of(i), &key);
		(void)tide_counting_insert(&f, cells, &key, 0, i % 20);
		(void)tide_counting_insert(&f, other, &key, 0, i % 30);
	}
	tide_counting_sum(&f.shape, other, cells);
	for (i = 0; i < 300; i++) {
		unsigned truth = i % 20 + i % 30;

		tide_counting_find(&f, hash_of(i), &key);
		CHECK(tide_counting_count(&f, other, &key) >=
		    (truth < 31 ? truth : 31));
	}
	free(other);
}

static void
test_size(void)
{
	struct tide_counting_shape s = tide_counting_size(1000, 0.001, 5);
	struct tide_counting_key key;
	unsigned i, wrong = 0;

	CHECK_INT(s.cells, 14378);
	CHECK_INT(s.positions, 10);
	CHECK(tide_counting_sane(&s));
	CHECK_INT(tide_counting_bytes(&s), (14378 + 11) / 12 * 8);
	make(s.cells, s.positions, 5);
	for (i = 0; i < 1000; i++) {
		tide_counting_find(&f, hash_of(i), &key);
		(void)tide_counting_insert(&f, cells, &key, 0, 1);
	}
	for (i = 1000; i < 101000; i++) {
		tide_counting_find(&f, hash_of(i), &key);
		wrong += tide_counting_count(&f, cells, &key) > 0;
	}
	CHECK_MSG(
	    wrong > 40 && wrong < 250, "%u of 100,000 at p = 0.001", wrong);
	CHECK(tide_counting_error(&s, tide_counting_used(&f.shape, cells)) <
	    0.0015);
	s.bits = 9;
	CHECK(!tide_counting_sane(&s));
}

CHECK_CASES({ "alone, it is the sequential algorithm", test_sequential },
    { "a cell stays at its most", test_saturates },
    { "only the least cells grow, and each once", test_growth },
    { "cells of a word are added apart, saturating", test_sum },
    { "the sum of two arrays counts both", test_sum_arrays },
    { "sized from n and p", test_size })
