/*
 * b_merge - how fast neighbours' counts are merged, against memcpy over the
 * same bytes: the sum, the larger of two, the OR of a list; and the whole way
 * from a file.  In turns, medians of the rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"

#define ROUNDS 7u
#define KEYS 4000000u

static struct tide_counting_shape shape;
static size_t bytes;
static uint64_t *from, *to;
static void *file;
static size_t file_size;
static const struct tide_hash_key key;
static struct tide_share_ours ours;

static double
now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t
draw(void)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s * 0x2545F4914F6CDD1Dull;
}

/* A cell in so many is not 0, and small, as most are. */
static void
fill(uint64_t *words, unsigned one_in)
{
	uint32_t a_word = 64 / shape.bits, c;
	size_t i;

	memset(words, 0, bytes);
	for (i = 0; i < bytes / 8; i++)
		for (c = 0; c < a_word; c++)
			if (draw() % one_in == 0)
				words[i] |= (1 + draw() % 3)
				    << (c * shape.bits);
}

static void
do_memcpy(void)
{
	memcpy(to, from, bytes);
}

static void
do_sum(void)
{
	tide_counting_sum(
	    &shape, (tide_counting_word *)to, (const tide_counting_word *)from);
}

static void
do_raise(void)
{
	tide_counting_raise(
	    &shape, (tide_counting_word *)to, (const tide_counting_word *)from);
}

static void
do_or(void)
{
	struct tide_list_shape list = { .bloom = { .bits = bytes * 8,
					    .capacity = KEYS,
					    .positions = 10 } };

	tide_list_unite(
	    &list, (tide_bloom_word *)to, (const tide_bloom_word *)from);
}

static void
do_file(void)
{
	struct tide_share s;
	struct tide_err err;

	if (tide_share_unpack(&s, file, file_size, &ours, &err) < 0) {
		(void)fprintf(stderr, "b_merge: %s\n", err.text);
		exit(1);
	}
	tide_counting_raise(&shape, (tide_counting_word *)to,
	    (const tide_counting_word *)s.words[0]);
	tide_share_free(&s);
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = { { "memcpy", do_memcpy }, { "counts, saturating sum", do_sum },
	{ "counts, the larger", do_raise }, { "list, OR", do_or },
	{ "counts, from a file", do_file } };
#define WAYS (sizeof ways / sizeof *ways)

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void
compare(const char *what)
{
	double s[WAYS][ROUNDS], start;
	unsigned w, r;

	for (r = 0; r < ROUNDS; r++)
		for (w = 0; w < WAYS; w++) {
			start = now_s();
			ways[w].run();
			s[w][r] = now_s() - start;
		}
	printf("%s, file %.1f MB:\n", what, (double)file_size / 1e6);
	for (w = 0; w < WAYS; w++) {
		qsort(s[w], ROUNDS, sizeof s[w][0], by_value);
		printf("  %-24s %6.2f GB/s  x%.2f of memcpy\n", ways[w].name,
		    (double)bytes / 1e9 / s[w][ROUNDS / 2],
		    s[0][ROUNDS / 2] / s[w][ROUNDS / 2]);
	}
}

static void
make_file(void)
{
	struct tide_share s;
	struct tide_err err;

	free(file);
	if (tide_share_alloc(&s, &shape, &err) < 0)
		exit(1);
	s.head.origin = s.head.sequence = 1;
	s.head.parts = 1;
	memcpy(s.words[0], from, bytes);
	file = tide_share_pack(&s, &key, &file_size, &err);
	tide_share_free(&s);
	if (file == NULL)
		exit(1);
}

int
main(void)
{
	shape = tide_counting_size(KEYS, 0.001, 5);
	bytes = tide_counting_bytes(&shape);
	ours = (struct tide_share_ours){
		.key = &key, .origin = 2, .shape = shape
	};
	from = malloc(bytes);
	to = malloc(bytes);
	if (from == NULL || to == NULL)
		return 1;
	printf(
	    "merge: counts of %u keys, %.1f MB\n", KEYS, (double)bytes / 1e6);
	fill(to, 2);
	fill(from, 2);
	make_file();
	compare("  whole, half of the cells used");
	fill(from, 1000);
	make_file();
	compare("  a delta, a cell in 1,000");
	free(file);
	free(from);
	free(to);
	return 0;
}
