/*
 * simulate - see simulate.h.
 *
 * Experiments, each of 10,000 different keys drawn from 1 to p - 1:
 *   1  all in turn, 20 times over        4  c in [0,20] times, shuffled
 *   2  each 20 times, then the next      5  the same, not shuffled
 *   3  each 20 times, shuffled           6  Poisson with mean 10, shuffled
 *   7  Poisson with mean 20, shuffled    8  c in [0,40] times, shuffled
 * A key whose count is wrong weighs 1 of 10,000 in 1 to 3, and its c of all
 * insertions in 4 to 8.
 *
 * Copies of one key in a row (2 and 5) go into the filter in one step, which
 * t_counting.c shows to be the same.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"
#include "tidemark/reputation/counting.h"

#define P 2100000011u
#define KEYS 10000u
#define KS_MOST 8u
#define INSERTIONS (KEYS * 40u)
#define CELLS_MOST 640000u
#define AHEAD 8u
#define BITS 6u /* counts reach 40 */

/* ---- chance ------------------------------------------------------------ */

static uint64_t state;

static uint64_t
draw(void) /* splitmix64 */
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t
below(uint32_t n)
{
	return (uint32_t)((draw() >> 32) * n >> 32);
}

static uint32_t
poisson(double mean)
{
	double p = exp(-mean), sum = p, u = (double)(draw() >> 11) * 0x1p-53;
	uint32_t n = 0;

	while (u > sum && n < 200)
		sum += p *= mean / ++n;
	return n;
}

/* ---- keys and where they lie ------------------------------------------- */

static uint32_t keys[KEYS];

static void
draw_keys(void)
{
	static uint32_t taken[1u << 15]; /* open addressing; 0: free */
	uint32_t i, x, at;

	memset(taken, 0, sizeof taken);
	for (i = 0; i < KEYS;) {
		x = 1 + below(P - 1);
		at = x * 2654435761u >> 17;
		while (taken[at] != 0 && taken[at] != x)
			at = (at + 1) % (1u << 15);
		if (taken[at] == x)
			continue;
		taken[at] = keys[i++] = x;
	}
}

/* A key's cells, close together: many keys are looked at in turn. */
struct cells {
	uint32_t n;
	uint32_t at[KS_MOST]; /* in the filter */
};
static struct cells where[KEYS];
static uint32_t cell[KEYS][KS_MOST]; /* their numbers */

static struct tide_counting filter;
static tide_counting_word *cells;

/* h(x) = ((c x + d) mod p) mod m; no cell twice. */
static void
find_cells(unsigned m, unsigned k)
{
	uint64_t c[KS_MOST], d[KS_MOST], h;
	struct tide_counting_key key;
	uint32_t i, j;

	for (j = 0; j < k; j++) {
		c[j] = 1 + below(P - 1);
		d[j] = below(P);
	}
	for (i = 0; i < KEYS; i++) {
		key.cells = 0;
		for (j = 0; j < k; j++) {
			h = (c[j] * keys[i] + d[j]) % P % m;
			cell[i][key.cells] = (uint32_t)h;
			tide_counting_key_add(&filter, &key, h);
		}
		where[i].n = key.cells;
		for (j = 0; j < key.cells; j++)
			where[i].at[j] = (uint32_t)key.at[j];
	}
}

/* ---- what is inserted -------------------------------------------------- */

static uint32_t copies[KEYS];
static uint16_t order[INSERTIONS * 2];
static uint32_t insertions;

static uint32_t
draw_copies(unsigned experiment)
{
	switch (experiment) {
	case 4:
	case 5:
		return below(21);
	case 6:
		return poisson(10);
	case 7:
		return poisson(20);
	case 8:
		return below(41);
	default:
		return 20;
	}
}

static void
shuffle(void)
{
	uint32_t i, j;
	uint16_t t;

	for (i = insertions; i > 1; i--) {
		j = below(i);
		t = order[i - 1];
		order[i - 1] = order[j];
		order[j] = t;
	}
}

static void
draw_order(unsigned experiment)
{
	uint32_t i, c;

	insertions = 0;
	for (i = 0; i < KEYS; i++)
		copies[i] = draw_copies(experiment);
	if (experiment == 1) {
		for (c = 0; c < 20; c++)
			for (i = 0; i < KEYS; i++)
				order[insertions++] = (uint16_t)i;
		return;
	}
	for (i = 0; i < KEYS; i++)
		for (c = 0; c < copies[i] && insertions < INSERTIONS * 2; c++)
			order[insertions++] = (uint16_t)i;
	if (experiment != 2 && experiment != 5)
		shuffle();
}

/* ---- the two filters --------------------------------------------------- */

static uint16_t every[CELLS_MOST];

static void
fill_intuitive(void)
{
	uint32_t i, j;

	memset(every, 0, sizeof every);
	for (i = 0; i < KEYS; i++)
		for (j = 0; j < where[i].n; j++)
			every[cell[i][j]] =
			    (uint16_t)(every[cell[i][j]] + copies[i]);
}

static uint32_t
count_intuitive(uint32_t i)
{
	uint32_t j, least = UINT32_MAX;

	for (j = 0; j < where[i].n; j++)
		if (every[cell[i][j]] < least)
			least = every[cell[i][j]];
	return least;
}

static void
open_filter(unsigned m, unsigned k)
{
	static _Alignas(
	    64) char books[64 + TIDE_COUNTING_STRIPES * sizeof(uint64_t)];
	const struct tide_counting_shape shape = {
		.cells = m, .capacity = KEYS, .positions = k, .bits = BITS
	};

	if (cells == NULL)
		cells = malloc(CELLS_MOST * sizeof *cells);
	if (cells == NULL)
		abort();
	memset(cells, 0, tide_counting_bytes(&shape));
	tide_counting_attach(&filter, &shape, 1, books);
}

static inline void
find_key(struct tide_counting_key *key, uint32_t i)
{
	uint32_t j;

	key->cells = where[i].n;
	key->stripe = i % 64;
	for (j = 0; j < KS_MOST; j++)
		key->at[j] = where[i].at[j];
}

static void
fill_refined(bool in_a_row)
{
	const struct cells *ahead;
	struct tide_counting_key key;
	uint32_t i;

	if (in_a_row) {
		for (i = 0; i < KEYS; i++) {
			find_key(&key, i);
			(void)tide_counting_insert(
			    &filter, cells, &key, 0, copies[i]);
		}
		return;
	}
	for (i = 0; i < insertions; i++) {
		if (i + AHEAD < insertions) {
			ahead = &where[order[i + AHEAD]];
			__builtin_prefetch(&ahead->n);
			__builtin_prefetch(&ahead->at[KS_MOST - 1]);
		}
		find_key(&key, order[i]);
		(void)tide_counting_insert(&filter, cells, &key, 0, 1);
	}
}

struct wrong
simulate(
    unsigned experiment, unsigned m, unsigned k, uint64_t seed, unsigned round)
{
	bool weighed = experiment >= 4;
	double all = weighed ? 0 : KEYS, intuitive = 0, refined = 0;
	struct tide_counting_key key;
	uint32_t i, weight;

	state = seed * 1000003 + round;
	state = draw() ^ (uint64_t)experiment << 40 ^ (uint64_t)m << 8 ^ k;
	open_filter(m, k);
	draw_keys();
	find_cells(m, k);
	draw_order(experiment);
	fill_intuitive();
	fill_refined(experiment == 2 || experiment == 5);
	for (i = 0; i < KEYS; i++) {
		if (copies[i] == 0)
			continue;
		weight = weighed ? copies[i] : 1;
		all += weighed ? copies[i] : 0;
		find_key(&key, i);
		intuitive += count_intuitive(i) != copies[i] ? weight : 0;
		refined +=
		    tide_counting_count(&filter, cells, &key) != copies[i]
		    ? weight
		    : 0;
	}
	return (struct wrong){ .intuitive = intuitive / all,
		.refined = refined / all };
}
