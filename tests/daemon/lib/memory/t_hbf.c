/*
 * t_hbf - what a text leaves in the filter: which elements, in which form,
 * and how often a filter errs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "content.h"
#include "fixture.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/text/text.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- shapes ------------------------------------------------------------ */

static void
classic_is_as_published(void)
{
	struct tide_bloom_shape s =
	    tide_hbf_shape(TIDE_MEMORY_CLASSIC, 1 << 20, 0.1);

	CHECK_INT(s.bits, 65536);
	CHECK_INT(s.positions, 4);
	CHECK_INT(s.capacity, 4369);
}

static void
default_fits_its_budget(void)
{
	static const struct {
		uint64_t bytes;
		double error;
		unsigned positions;
	} rows[] = { { 1 << 20, 0.0005, 11 }, { 4096, 0.01, 7 },
		{ 65536, 0.1, 3 }, { 1 << 16, 0.000001, 20 } };
	struct tide_bloom_shape s;
	double full;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = tide_hbf_shape(
		    TIDE_MEMORY_DEFAULT, rows[i].bytes, rows[i].error);
		CHECK(tide_bloom_sane(&s));
		CHECK_INT(s.bits, rows[i].bytes * 8);
		CHECK_INT(s.positions, rows[i].positions);
		full = 1 -
		    exp(-(double)s.positions * (double)s.capacity /
			(double)s.bits);
		CHECK(fabs(pow(full, s.positions) - rows[i].error) <
		    0.1 * rows[i].error);
	}
}

static void
off_takes_nothing(void)
{
	struct tide_bloom_shape s =
	    tide_hbf_shape(TIDE_MEMORY_OFF, 1 << 20, 0.01);

	CHECK(tide_bloom_sane(&s));
	CHECK_INT(tide_bloom_bytes(&s), 8);
}

/* ---- elements ---------------------------------------------------------- */

static bool
same(struct tide_hash a, struct tide_hash b)
{
	return a.low == b.low && a.high == b.high;
}

static void
places_are_told_apart(void)
{
	const struct tide_hash h = { 12345, 67890 };
	enum tide_memory d = TIDE_MEMORY_DEFAULT, c = TIDE_MEMORY_CLASSIC;

	CHECK(same(
	    tide_hbf_element(d, 1, h, 0, 3), tide_hbf_element(d, 1, h, 0, 11)));
	CHECK(!same(
	    tide_hbf_element(d, 1, h, 0, 3), tide_hbf_element(d, 1, h, 0, 4)));
	CHECK(!same(
	    tide_hbf_element(d, 1, h, 0, 2), tide_hbf_element(d, 1, h, 1, 2)));
	CHECK(!same(
	    tide_hbf_element(d, 1, h, 0, 3), tide_hbf_element(d, 2, h, 0, 3)));
	CHECK(!same(
	    tide_hbf_element(c, 0, h, 0, 3), tide_hbf_element(c, 0, h, 0, 11)));
	CHECK(same(
	    tide_hbf_element(c, 1, h, 0, 3), tide_hbf_element(c, 2, h, 0, 3)));
	CHECK(!same(tide_hbf_whole(d, 1, h), tide_hbf_file(d, 1, h)));
	CHECK(!same(tide_hbf_whole(d, 1, h), tide_hbf_element(d, 1, h, 0, 0)));
}

/* ---- samples ----------------------------------------------------------- */

static size_t
harvest_of(size_t length, bool *cut)
{
	static char text[1 << 20];
	struct content t;
	struct tide_harvest h;

	content_make(&t, TIDE_MEMORY_DEFAULT, 1 << 20, 0.01);
	content_babble(text, length, length);
	content_put(&t, 1, text, length);
	h = tide_samples_harvest(t.samples);
	CHECK_INT(h.text, length);
	CHECK_INT(h.longest, length / TIDE_BLOCK);
	if (cut != NULL)
		*cut = h.cut;
	content_free(&t);
	return h.elements;
}

static void
every_level_leaves_its_nodes(void)
{
	CHECK_INT(harvest_of(0, NULL), 0);
	CHECK_INT(harvest_of(1, NULL), 1);	 /* as a whole */
	CHECK_INT(harvest_of(31, NULL), 1);	 /* as a whole */
	CHECK_INT(harvest_of(32, NULL), 2);	 /* and a block */
	CHECK_INT(harvest_of(63, NULL), 2);	 /* the most */
	CHECK_INT(harvest_of(64, NULL), 2 + 1);	 /* no whole any more */
	CHECK_INT(harvest_of(127, NULL), 3 + 1); /* blocks, pairs */
	CHECK_INT(harvest_of(128, NULL), 4 + 2 + 1);
	CHECK_INT(harvest_of(32 * 100, NULL), 100 + 50 + 25 + 12 + 6 + 3 + 1);
}

/* Two parts leave what two messages would: nothing joins them. */
static void
parts_are_never_joined(void)
{
	static const char text[] = "0123456789abcdef0123456789abcdef"
				   "fedcba9876543210fedcba9876543210";
	const struct tide_part part = { .kind = TIDE_PART_TEXT };
	struct tide_text_sink sink;
	struct content t;

	content_make(&t, TIDE_MEMORY_DEFAULT, 1 << 16, 0.001);
	sink = tide_samples_sink(t.samples);
	tide_samples_begin(t.samples, 1);
	t.c.profile[0] = 1;
	sink.begin(sink.arg, &part);
	sink.text(sink.arg, text, 40); /* a block and 8 bytes */
	sink.link(sink.arg, &part, "httpsshopexample", 16);
	sink.end(sink.arg, &part);
	sink.begin(sink.arg, &part);
	sink.text(sink.arg, text + 40, 24);
	sink.end(sink.arg, &part);
	content_burst(&t);
	CHECK_INT(tide_samples_harvest(t.samples).elements, 1 + 1 + 1 + 1);
	CHECK(!content_ask(&t, text).found);
	CHECK(content_ask(&t, "httpsshopexample").whole);
	CHECK(!content_ask(&t, "httpsshopexampl").found);
	content_free(&t);
}

static void
a_full_buffer_is_said(void)
{
	bool cut;

	CHECK(harvest_of(900000, &cut) < TIDE_SAMPLES_MOST && !cut);
	CHECK_INT(harvest_of((1 << 20) - 1, &cut), TIDE_SAMPLES_MOST - 17);
	CHECK(!cut);
}

static void
a_small_buffer_cuts(void)
{
	struct tide_hash_key key = { { 1 } };
	struct tide_samples *s = tide_samples_new(&key, TIDE_MEMORY_DEFAULT, 5);
	struct tide_text_sink sink = tide_samples_sink(s);
	const struct tide_part part = { .kind = TIDE_PART_TEXT };
	char text[256];

	content_babble(text, 255, 1);
	tide_samples_begin(s, 1);
	sink.begin(sink.arg, &part);
	sink.text(sink.arg, text, 255);
	sink.end(sink.arg, &part);
	CHECK_INT(tide_samples_harvest(s).elements, 5);
	CHECK(tide_samples_harvest(s).cut);
	tide_samples_begin(s, 1); /* the next one starts anew */
	CHECK_INT(tide_samples_harvest(s).elements, 0);
	CHECK(!tide_samples_harvest(s).cut);
	tide_samples_free(s);
}

static void
an_empty_file_is_none(void)
{
	const struct tide_part part = { .kind = TIDE_PART_FILE };
	const struct tide_hash digest = { 1, 2 };
	struct tide_text_sink sink;
	struct content t;

	content_make(&t, TIDE_MEMORY_DEFAULT, 1 << 16, 0.001);
	sink = tide_samples_sink(t.samples);
	tide_samples_begin(t.samples, 1);
	sink.file(sink.arg, &part, digest, 0);
	CHECK_INT(tide_samples_harvest(t.samples).elements, 0);
	sink.file(sink.arg, &part, digest, 1);
	CHECK_INT(tide_samples_harvest(t.samples).elements, 1);
	content_free(&t);
}

/* ---- how often it errs ------------------------------------------------- */

/* The published table, by its formula: k positions, m/n bits an element. */
static double
predicted(double ratio, unsigned k)
{
	return pow(1 - exp(-(double)k / ratio), k);
}

static double
measured(unsigned ratio, unsigned k, uint64_t n, uint64_t tries, uint64_t seed)
{
	struct tide_bloom_shape s = { .bits = (n * ratio + 63) / 64 * 64,
		.positions = k,
		.capacity = n };
	tide_bloom_word *words = calloc(1, tide_bloom_bytes(&s));
	uint64_t i, hits = 0;
	struct tide_hash h;

	CHECK(words != NULL);
	for (i = 0; i < n + tries; i++) {
		h.low = fixture_random(&seed);
		h.high = fixture_random(&seed);
		h = tide_hbf_element(TIDE_MEMORY_DEFAULT, 1, h, 0, i);
		if (i < n)
			(void)tide_bloom_add(&s, words, h);
		else
			hits += tide_bloom_has(&s, words, h);
	}
	free(words);
	return (double)hits / (double)tries;
}

/* Within five standard deviations of the binomial, and 2% for the formula. */
static bool
agrees(double seen, double want, uint64_t tries)
{
	return fabs(seen - want) <=
	    5 * sqrt(want * (1 - want) / (double)tries) + 0.02 * want;
}

static void
table(bool shown, uint64_t n, uint64_t tries)
{
	unsigned ratio, k, cells = 0, wrong = 0;
	double seen, want;

	for (ratio = 2; ratio <= 17; ratio++) {
		for (k = 1; k <= 8; k++) {
			seen = measured(ratio, k, n, tries, ratio * 100 + k);
			want = predicted(ratio, k);
			cells++;
			if (shown)
				printf("# m/n %2u k %u: predicted %.6f, "
				       "measured %.6f\n",
				    ratio, k, want, seen);
			if (!agrees(seen, want, tries)) {
				wrong++;
				printf("# m/n %u, k %u: %.6f, not %.6f\n",
				    ratio, k, seen, want);
			}
		}
	}
	printf("# %u cells of the table, %u off\n", cells, wrong);
	CHECK_INT(wrong, 0);
}

static void
false_positives_are_as_predicted(void)
{
	if (getenv("REPRODUCE") != NULL)
		table(true, 65536, 4000000);
	else
		table(false, 8192, 100000);
}

/* At 4,369 elements the classic filter errs 3 times in a thousand. */
static void
classic_saturation(void)
{
	struct content t;
	char text[4096];
	uint64_t seed = 0, i, hits = 0, tries = 400000;
	struct tide_hash h;
	double error;

	content_make(&t, TIDE_MEMORY_CLASSIC, 0, 0);
	while (t.elements < TIDE_CLASSIC_SATURATION) {
		content_babble(text, 32 * 16, ++seed);
		content_put(&t, 1, text, 32 * 16);
	}
	for (i = 0; i < tries; i++) {
		h.low = fixture_random(&seed);
		h.high = fixture_random(&seed);
		hits += tide_bloom_has(&t.c.shape, t.words, h);
	}
	error = tide_bloom_error(&t.c.shape, t.c.ones);
	printf("# classic: %llu elements, %.4f of the bits, predicted %.5f, "
	       "measured %.5f\n",
	    (unsigned long long)t.elements,
	    (double)t.c.ones / (double)t.c.shape.bits, error,
	    (double)hits / (double)tries);
	CHECK(error > 0.0029 && error < 0.0032);
	CHECK(agrees((double)hits / (double)tries, error, tries));
	content_free(&t);
}

CHECK_CASES({ "classic is as published", classic_is_as_published },
    { "default fits its budget", default_fits_its_budget },
    { "off takes nothing", off_takes_nothing },
    { "places, levels, profiles and kinds are told apart",
	places_are_told_apart },
    { "every level leaves its nodes", every_level_leaves_its_nodes },
    { "parts and links are never joined", parts_are_never_joined },
    { "a megabyte fits", a_full_buffer_is_said },
    { "a full buffer cuts, and says so", a_small_buffer_cuts },
    { "an empty file is none", an_empty_file_is_none },
    { "false positives are as predicted", false_positives_are_as_predicted },
    { "classic saturation point", classic_saturation })
