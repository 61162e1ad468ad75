/*
 * Bloom: sizes, no false negatives, false positives as predicted, folding.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static struct tide_hash
element(uint64_t i)
{
	uint64_t state = i * 2654435761u;
	uint64_t low = fixture_random(&state);

	return (struct tide_hash){ .low = low, .high = fixture_random(&state) };
}

/* A filter of elements first .. first + n - 1; to be freed. */
static uint64_t *
filled(const struct tide_bloom_shape *s, uint64_t first, uint64_t n)
{
	uint64_t i, *words = calloc(1, tide_bloom_bytes(s));

	CHECK(words != NULL);
	for (i = first; i < first + n; i++)
		(void)tide_bloom_add(s, (tide_bloom_word *)words, element(i));
	return words;
}

static bool
has(const struct tide_bloom_shape *s, const uint64_t *words, uint64_t i)
{
	return tide_bloom_has(s, (const tide_bloom_word *)words, element(i));
}

/* ---- sizes ------------------------------------------------------------- */

/* m = -n ln p / (ln 2)^2 up to a multiple of 4096; k = m/n ln 2. */
static void
sizes(void)
{
	static const struct size_case {
		uint64_t n;
		double p;
		uint64_t bits;
		uint32_t positions;
	} cases[] = {
		{ 1, 0.5, 4096, 1 },		 /* m 2 */
		{ 1, 0.01, 4096, 7 },		 /* m 10 */
		{ 100, 0.01, 4096, 7 },		 /* m 959 */
		{ 1000, 0.01, 12288, 7 },	 /* m 9586 */
		{ 100000, 0.001, 1441792, 10 },	 /* m 1437759 */
		{ 1000000, 1e-4, 19173376, 13 }, /* m 19170117 */
		{ 100000000, 1e-6, 2875518976, 20 },
		{ 10, 1e-12, 4096, 32 }, /* k 40, at most 32 */
		{ 1000, 0.9, 4096, 1 },	 /* k 0, at least 1 */
	};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		const struct size_case *c = &cases[i];
		struct tide_bloom_shape s = tide_bloom_size(c->n, c->p);

		CHECK_INT(s.bits, c->bits);
		CHECK_INT(s.positions, c->positions);
		CHECK_INT(s.capacity, c->n);
		CHECK(tide_bloom_sane(&s));
	}
}

static void
hostile_shapes(void)
{
	static const struct shape_case {
		const char *name;
		struct tide_bloom_shape s;
		bool sane;
	} cases[] = {
		{ "the smallest", { 64, 1, 0, 1 }, true },
		{ "the largest", { TIDE_BLOOM_MAX, 32, 0, 1 }, true },
		{ "no bits", { 0, 1, 0, 1 }, false },
		{ "less than a word", { 32, 1, 0, 1 }, false },
		{ "half a word over", { 4096 + 32, 7, 0, 1 }, false },
		{ "too many bits", { TIDE_BLOOM_MAX + 64, 7, 0, 1 }, false },
		{ "all bits set", { UINT64_MAX, 7, 0, 1 }, false },
		{ "no positions", { 4096, 0, 0, 1 }, false },
		{ "too many positions", { 4096, 33, 0, 1 }, false },
		{ "absurd positions", { 4096, UINT32_MAX, 0, 1 }, false },
		{ "no capacity", { 4096, 7, 0, 0 }, false },
	};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		CHECK_MSG(tide_bloom_sane(&cases[i].s) == cases[i].sane, "%s",
		    cases[i].name);
}

/* ---- membership -------------------------------------------------------- */

static void
positions_in_range(void)
{
	static const struct tide_bloom_shape shapes[] = { { 64, 32, 0, 1 },
		{ 64 * 3, 32, 0, 1 }, { 4096, 7, 0, 1 },
		{ 1ull << 37, 32, 0, 1 } };
	uint64_t at[TIDE_BLOOM_POSITIONS], i;
	struct tide_hash h;
	size_t k, j;

	for (k = 0; k < LENGTH(shapes); k++) {
		for (i = 0; i < 1000; i++) {
			h = i == 0
			    ? (struct tide_hash){ UINT64_MAX, UINT64_MAX }
			    : element(i);
			CHECK_INT(tide_bloom_positions(&shapes[k], h, at),
			    shapes[k].positions);
			for (j = 0; j < shapes[k].positions; j++)
				CHECK(at[j] < shapes[k].bits);
		}
	}
}

static void
no_false_negatives(void)
{
	struct tide_bloom_shape s = tide_bloom_size(5000, 0.01);
	uint64_t i, *words = filled(&s, 0, 20000); /* well past its size */

	for (i = 0; i < 20000; i++)
		CHECK(has(&s, words, i));
	free(words);
}

static void
add_tells_what_is_new(void)
{
	struct tide_bloom_shape s = tide_bloom_size(5000, 0.001);
	uint64_t i, fresh = 0, *words = filled(&s, 0, 0);
	tide_bloom_word *w = (tide_bloom_word *)words;

	for (i = 0; i < 5000; i++)
		fresh += tide_bloom_add(&s, w, element(i));
	CHECK_MSG(
	    fresh > 4980, "%llu of 5000 were new", (unsigned long long)fresh);
	for (i = 0; i < 5000; i++)
		CHECK(!tide_bloom_add(&s, w, element(i)));
	free(words);
}

/* At n elements and tried with 200,000 absent ones. */
static void
false_positives_as_predicted(void)
{
	static const double wanted[] = { 0.1, 0.01, 0.001 };
	const uint64_t n = 20000, tries = 200000;
	size_t k;

	for (k = 0; k < LENGTH(wanted); k++) {
		struct tide_bloom_shape s = tide_bloom_size(n, wanted[k]);
		uint64_t i, found = 0, *words = filled(&s, 0, n);
		double p = tide_bloom_error(
		    &s, tide_bloom_ones(&s, (tide_bloom_word *)words));
		double sigma = sqrt(p * (1 - p) / (double)tries), rate;

		for (i = 0; i < tries; i++)
			found += has(&s, words, n + i);
		rate = (double)found / (double)tries;
		free(words);
		CHECK_MSG(fabs(rate - p) <= 3 * sigma,
		    "measured %g, predicted %g, sigma %g", rate, p, sigma);
		CHECK_MSG(p < wanted[k] * 1.1, "predicted %g, asked for %g", p,
		    wanted[k]);
	}
}

static void
ones_and_error(void)
{
	struct tide_bloom_shape s = { 4096, 3, 0, 1 };
	uint64_t words[64] = { 0 };

	CHECK_INT(tide_bloom_ones(&s, (tide_bloom_word *)words), 0);
	CHECK(tide_bloom_error(&s, 0) == 0);
	CHECK(tide_bloom_error(&s, 4096) == 1);
	CHECK(fabs(tide_bloom_error(&s, 2048) - 0.125 -
		  2048.0 / 3 / 4096 / 4096) < 1e-12);
	words[63] = 1ull << 63;
	words[0] = 5;
	CHECK_INT(tide_bloom_ones(&s, (tide_bloom_word *)words), 3);
}

static void
copy_is_the_same(void)
{
	struct tide_bloom_shape s = tide_bloom_size(1000, 0.01);
	uint64_t *words = filled(&s, 0, 1000), *copy = filled(&s, 0, 0);

	tide_bloom_copy(&s, copy, (const tide_bloom_word *)words);
	CHECK(memcmp(words, copy, tide_bloom_bytes(&s)) == 0);
	free(words);
	free(copy);
}

/* ---- folding ----------------------------------------------------------- */

/* Fold a filter of n of its 10,000 elements; compare with one built small. */
static void
check_fold(uint64_t n)
{
	struct tide_bloom_shape s = tide_bloom_size(10000, 0.01);
	uint64_t i, *words = filled(&s, 0, n), *built;
	double full = tide_bloom_error(&s, s.bits / 2);

	tide_bloom_fold(&s, words, full);
	CHECK(tide_bloom_sane(&s));
	built = filled(&s, 0, n);
	CHECK_MSG(memcmp(words, built, tide_bloom_bytes(&s)) == 0,
	    "%llu elements folded to %llu bits differ from those built so",
	    (unsigned long long)n, (unsigned long long)s.bits);
	for (i = 0; i < n; i++)
		CHECK(has(&s, words, i));
	CHECK(tide_bloom_error(
		  &s, tide_bloom_ones(&s, (tide_bloom_word *)words)) <= full ||
	    s.bits == tide_bloom_size(10000, 0.01).bits);
	free(words);
	free(built);
}

static void
fold_equals_built_small(void)
{
	static const uint64_t counts[] = { 0, 1, 2, 10, 100, 400, 1000, 2500,
		4900, 5100, 10000, 20000 };
	size_t i;

	for (i = 0; i < LENGTH(counts); i++)
		check_fold(counts[i]);
}

static void
fold_stops_in_time(void)
{
	struct tide_bloom_shape s = tide_bloom_size(10000, 0.01), whole = s;
	uint64_t *words = filled(&s, 0, 10000);

	tide_bloom_fold(&s, words, 0.01);
	CHECK_INT(s.bits, whole.bits); /* full: nothing to fold */
	tide_bloom_fold(&s, words, 1);
	CHECK(s.bits >= TIDE_BLOOM_GRAIN && s.bits / 2 < TIDE_BLOOM_GRAIN);
	CHECK_INT(whole.bits % s.bits, 0); /* whatever it costs */
	free(words);
}

static void
empty_folds_to_the_grain(void)
{
	struct tide_bloom_shape s = { 1ull << 20, 7, 0, 1000 };
	uint64_t *words = filled(&s, 0, 0);

	tide_bloom_fold(&s, words, 0.01);
	CHECK_INT(s.bits, TIDE_BLOOM_GRAIN);
	CHECK(!has(&s, words, 1));
	free(words);
}

/* A filter of m bits and n elements: how often absent elements are found, in
 * the mean over many, and what the filters say of themselves. */
static void
measure(struct tide_bloom_shape s, uint64_t n, double *measured, double *said)
{
	const uint64_t filters = 200, tries = 5000;
	uint64_t f, i, found = 0;

	for (f = 0, *said = 0; f < filters; f++) {
		uint64_t *words = filled(&s, f * 1000000, n);
		uint64_t ones = tide_bloom_ones(&s, (tide_bloom_word *)words);

		*said += tide_bloom_error(&s, ones) / (double)filters;
		for (i = 0; i < tries; i++)
			found += has(&s, words, f * 1000000 + n + i);
		free(words);
	}
	*measured = (double)found / (double)(filters * tries);
}

/* Small filters, sparse and half full, where equal patterns count. */
static void
small_ones_are_honest(void)
{
	static const uint32_t positions[] = { 7, 10, 13 };
	double measured, said, sigma;
	uint64_t bits, n;
	size_t k;

	for (k = 0; k < LENGTH(positions); k++)
		for (bits = 64; bits <= 4096; bits *= 4)
			for (n = 1; n * positions[k] * 10 < bits * 7; n *= 3) {
				struct tide_bloom_shape s = { bits,
					positions[k], 0, n };

				measure(s, n, &measured, &said);
				sigma = sqrt(said / (200 * 5000));
				CHECK_MSG(measured <= 1.2 * said + 3 * sigma,
				    "m %llu, k %u, n %llu: measured %g, said %g",
				    (unsigned long long)bits, positions[k],
				    (unsigned long long)n, measured, said);
			}
}

CHECK_CASES({ "sizes from n and p", sizes },
    { "hostile shapes are told from sane ones", hostile_shapes },
    { "positions lie within the filter", positions_in_range },
    { "what was added is found", no_false_negatives },
    { "add tells what is new", add_tells_what_is_new },
    { "false positives within 3 sigma of the prediction",
	false_positives_as_predicted },
    { "bits set and error", ones_and_error },
    { "a copy is the same", copy_is_the_same },
    { "a folded filter equals one built at that size, bit for bit",
	fold_equals_built_small },
    { "folding stops at the error allowed", fold_stops_in_time },
    { "an empty filter folds to the grain", empty_folds_to_the_grain },
    { "small filters err as often as they say", small_ones_are_honest })
