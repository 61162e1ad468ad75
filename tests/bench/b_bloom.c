/*
 * b_bloom - nanoseconds per insert and lookup, one process and two, beside a
 * plain blocked filter (all bits of an element in one cache line, nothing
 * atomic, one process).  Ratios in one run are what counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"

#define OPERATIONS 4000000u

static struct tide_bloom_shape shape;
static tide_bloom_word *words;
static struct tide_hash_key key;

static inline struct tide_hash
element(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	i ^= i >> 29;
	return (struct tide_hash){ .low = i * 0xbf58476d1ce4e5b9ull,
		.high = (i ^ 0x94d049bb133111ebull) * 0xff51afd7ed558ccdull };
}

/* ---- the plain blocked filter ------------------------------------------ */

static uint64_t *plain;

static inline uint64_t *
line_of(struct tide_hash h)
{
	uint64_t lines = shape.bits / 512;

	return plain + 8 * (uint64_t)((unsigned __int128)h.low * lines >> 64);
}

static void
plain_add(struct tide_hash h)
{
	uint64_t *line = line_of(h);
	uint32_t k;

	for (k = 0; k < shape.positions; k++, h.high = h.high * 25 + k)
		line[h.high >> 61] |= 1ull << (h.high >> 55 & 63);
}

static bool
plain_has(struct tide_hash h)
{
	const uint64_t *line = line_of(h);
	uint32_t k;

	for (k = 0; k < shape.positions; k++, h.high = h.high * 25 + k)
		if ((line[h.high >> 61] >> (h.high >> 55 & 63) & 1) == 0)
			return false;
	return true;
}

/* ---- measuring --------------------------------------------------------- */

enum what { ADD, HAS, PLAIN_ADD, PLAIN_HAS };

static uint64_t
run(enum what what, uint64_t first)
{
	uint64_t i, found = 0;

	for (i = first; i < first + OPERATIONS; i++) {
		struct tide_hash h = element(i % shape.capacity);

		switch (what) {
		case ADD:
			found += tide_bloom_add(&shape, words, h);
			break;
		case HAS:
			found += tide_bloom_has(&shape, words, h);
			break;
		case PLAIN_ADD:
			plain_add(h);
			break;
		case PLAIN_HAS:
			found += plain_has(h);
			break;
		}
	}
	return found;
}

static double
measure(enum what what, int processes)
{
	uint64_t start = tide_clock_mono_ns();
	volatile uint64_t sink;
	int i;

	if (processes == 1) {
		sink = run(what, 0);
		(void)sink;
	} else {
		for (i = 0; i < processes; i++) {
			if (fork() == 0) {
				sink = run(what, (uint64_t)i * 7919);
				_exit(0);
			}
		}
		while (wait(NULL) > 0)
			;
	}
	return (double)(tide_clock_mono_ns() - start) / OPERATIONS;
}

static void
empty(void)
{
	uint64_t i;

	for (i = 0; i < shape.bits / 64; i++)
		atomic_store_explicit(&words[i], 0, memory_order_relaxed);
	memset(plain, 0, tide_bloom_bytes(&shape));
}

static void
compare(uint64_t n)
{
	double add1, add2, has1, has2, padd, phas;

	shape = tide_bloom_size(n, 0.001);
	words = mmap(NULL, tide_bloom_bytes(&shape), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	plain = aligned_alloc(64, tide_bloom_bytes(&shape));
	if (words == MAP_FAILED || plain == NULL)
		exit(1);
	empty();
	padd = measure(PLAIN_ADD, 1);
	add1 = measure(ADD, 1);
	empty();
	(void)measure(PLAIN_ADD, 1);
	add2 = measure(ADD, 2);
	phas = measure(PLAIN_HAS, 1);
	has1 = measure(HAS, 1);
	has2 = measure(HAS, 2);
	printf("%9llu %8zu | %6.1f %6.1f %6.1f  x%.2f | %6.1f %6.1f %6.1f  "
	       "x%.2f\n",
	    (unsigned long long)n, tide_bloom_bytes(&shape) / 1024, padd, add1,
	    add2, add1 / padd, phas, has1, has2, has1 / phas);
	(void)munmap(words, tide_bloom_bytes(&shape));
	free(plain);
}

static void
measure_hash(void)
{
	const char address[] = "firstname.lastname@department.example.org";
	struct tide_err err;
	uint64_t start, sum = 0;
	unsigned i;

	if (tide_hash_key_draw(&key, &err) < 0)
		exit(1);
	start = tide_clock_mono_ns();
	for (i = 0; i < OPERATIONS; i++)
		sum += tide_hash(&key, address, sizeof address - i % 4).low;
	printf("keyed hash of an address: %.1f ns (%llx)\n",
	    (double)(tide_clock_mono_ns() - start) / OPERATIONS,
	    (unsigned long long)sum & 15);
}

int
main(void)
{
	printf("== Bloom filter, p = 0.001, k = 10, ns an operation (plain: "
	       "blocked, not atomic)\n"
	       "        n      KiB |  plain   add1   add2  ratio |  plain   "
	       "has1   has2  ratio\n");
	compare(10000);
	compare(100000);
	compare(10000000);
	measure_hash();
	return 0;
}
