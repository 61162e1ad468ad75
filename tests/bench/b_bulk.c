/*
 * b_bulk - what a bulk insert costs, beside the naive form (raise what one
 * reads as least, nobody registers: it undercounts), the intuitive one (raise
 * every cell) and one cache miss, in turns; what a signature takes; and the
 * counts in two parts that the paper proposes, beside uniform cells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "split.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"

#define KEYS 4000000u
#define OPERATIONS 500000u
#define ROUNDS 5u
#define SLOTS 256u

static struct tide_counting filter;
static tide_counting_word *cells;

static inline struct tide_hash
element(uint64_t i)
{
	i = (i + 1) * 0x9e3779b97f4a7c15ull;
	i ^= i >> 29;
	return (struct tide_hash){ .low = i * 0xbf58476d1ce4e5b9ull,
		.high = (i ^ 0x94d049bb133111ebull) * 0xff51afd7ed558ccdull };
}

static void *
memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Of the processor alone: others may be at work beside us. */
static uint64_t
spent_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- four ways --------------------------------------------------------- */

static inline uint32_t
cell_at(uint64_t at)
{
	return (uint32_t)(atomic_load_explicit(
			      &cells[at >> 6], memory_order_relaxed) >>
		   (at & 63)) &
	    filter.most;
}

static inline void
raise_at(uint64_t at)
{
	uint64_t old =
	    atomic_load_explicit(&cells[at >> 6], memory_order_relaxed);

	while (((old >> (at & 63)) & filter.most) < filter.most &&
	    !atomic_compare_exchange_weak_explicit(&cells[at >> 6], &old,
		old + (1ull << (at & 63)), memory_order_relaxed,
		memory_order_relaxed))
		;
}

static void
insert_naive(const struct tide_counting_key *key)
{
	uint32_t v[TIDE_COUNTING_POSITIONS], i, least = UINT32_MAX;

	for (i = 0; i < key->cells; i++)
		__builtin_prefetch((const void *)&cells[key->at[i] >> 6], 1);
	for (i = 0; i < key->cells; i++) {
		v[i] = cell_at(key->at[i]);
		least = v[i] < least ? v[i] : least;
	}
	for (i = 0; i < key->cells; i++)
		if (v[i] == least)
			raise_at(key->at[i]);
}

static void
insert_intuitive(const struct tide_counting_key *key)
{
	uint32_t i;

	for (i = 0; i < key->cells; i++)
		__builtin_prefetch((const void *)&cells[key->at[i] >> 6], 1);
	for (i = 0; i < key->cells; i++)
		raise_at(key->at[i]);
}

/* A walk from line to line, each of which says where the next one is. */
static uint32_t *lines;
static uint32_t line_count;

static void
make_lines(size_t bytes)
{
	uint32_t i, j, t, *order;

	line_count = (uint32_t)(bytes / 64);
	lines = memory(bytes);
	order = malloc(line_count * sizeof *order);
	if (order == NULL)
		abort();
	for (i = 0; i < line_count; i++)
		order[i] = i;
	for (i = line_count - 1; i > 0; i--) {
		j = (uint32_t)(element(i).low % i);
		t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	for (i = 0; i < line_count; i++)
		lines[order[i] * 16] = order[(i + 1) % line_count];
	free(order);
}

enum what { PRODUCT, NAIVE, INTUITIVE, MISS, WAYS };
static const char *const name[WAYS] = { "bulk insert", "naive (undercounts)",
	"intuitive (every cell)", "one cache miss" };

static void
run(enum what what, uint32_t slot, uint64_t first)
{
	static volatile uint32_t sink;
	struct tide_counting_key key;
	uint32_t at = (uint32_t)first % line_count;
	uint64_t i;

	for (i = first; i < first + OPERATIONS; i++) {
		if (what == MISS) {
			at = lines[at * 16];
			continue;
		}
		tide_counting_find(
		    &filter, element(i * 2654435761u % KEYS), &key);
		if (what == PRODUCT)
			(void)tide_counting_insert(
			    &filter, cells, &key, slot, 1);
		else if (what == NAIVE)
			insert_naive(&key);
		else
			insert_intuitive(&key);
	}
	sink = at;
	(void)sink;
}

static double
measure(enum what what, unsigned processes, uint64_t first)
{
	uint64_t start;
	unsigned i;

	for (i = 0; i + 1 < processes; i++)
		if (fork() == 0) {
			run(what, i + 100, first + i + 7919);
			_exit(0);
		}
	start = spent_ns();
	run(what, 0, first);
	start = spent_ns() - start;
	while (wait(NULL) > 0)
		;
	return (double)start / OPERATIONS;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
compare_ways(unsigned processes)
{
	double ns[WAYS][ROUNDS];
	unsigned r, w;

	for (r = 0; r < ROUNDS; r++)
		for (w = 0; w < WAYS; w++)
			ns[w][r] =
			    measure(w, processes, (uint64_t)r * OPERATIONS);
	for (w = 0; w < WAYS; w++)
		qsort(ns[w], ROUNDS, sizeof **ns, by_value);
	printf("%u process%s, medians of %u rounds in turns:\n", processes,
	    processes > 1 ? "es" : "", ROUNDS);
	for (w = 0; w < WAYS; w++)
		printf("  %-24s %7.1f ns  x%.2f\n", name[w], ns[w][ROUNDS / 2],
		    ns[w][ROUNDS / 2] / ns[PRODUCT][ROUNDS / 2]);
}

/* ---- in two parts ------------------------------------------------------ */

#define MESSAGES 200000u

/* Nine of ten are seen once; the rest more and more rarely more often. */
static uint32_t
copies_of(uint32_t i, unsigned bulky)
{
	uint32_t x = (uint32_t)(element(i).high >> 32) % 1000;

	if (x >= 100 * bulky)
		return 1;
	if (x >= 30 * bulky)
		return 2 + x % 4;
	return x >= 5 * bulky ? 6 + x % 15 : 21 + x;
}

static uint32_t *order;
static uint32_t insertions;

static void
make_order(unsigned bulky)
{
	uint32_t i, j, c, t;

	free(order);
	order = malloc(sizeof *order * MESSAGES * 80);
	if (order == NULL)
		abort();
	insertions = 0;
	for (i = 0; i < MESSAGES; i++)
		for (c = copies_of(i, bulky); c > 0; c--)
			order[insertions++] = i;
	for (i = insertions - 1; i > 0; i--) {
		j = (uint32_t)(element(i + 77).low % i);
		t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
}

static void
cells_of(uint32_t i, struct tide_counting_key *key, uint64_t *cell)
{
	uint32_t k;

	tide_counting_find(&filter, element(i), key);
	for (k = 0; k < key->cells; k++)
		cell[k] = (key->at[k] >> 6) * filter.cells_a_word +
		    (key->at[k] & 63) / filter.shape.bits;
}

static void
print_form(const char *form, double bits, double ns, uint32_t wrong)
{
	printf("  %-26s %5.2f bits a cell %8.2f MB %7.1f ns %7.3f%% wrong\n",
	    form, bits, bits * (double)filter.shape.cells / 8e6, ns,
	    100.0 * wrong / MESSAGES);
}

static void
run_uniform(unsigned bulky)
{
	uint32_t i, c, wrong = 0;
	uint64_t cell[16], start;
	struct tide_counting_key key;

	memset(cells, 0, tide_counting_bytes(&filter.shape));
	start = spent_ns();
	for (i = 0; i < insertions; i++) {
		cells_of(order[i], &key, cell);
		(void)tide_counting_insert(&filter, cells, &key, 0, 1);
	}
	start = spent_ns() - start;
	for (i = 0; i < MESSAGES; i++) {
		c = copies_of(i, bulky);
		tide_counting_find(&filter, element(i), &key);
		wrong += tide_counting_count(&filter, cells, &key) !=
		    (c < filter.most ? c : filter.most);
	}
	print_form("uniform, 12 of 5 a word", 64.0 / filter.cells_a_word,
	    (double)start / insertions, wrong);
}

static void
run_split(unsigned bulky, uint32_t s, uint32_t room)
{
	uint32_t i, k, c, v, least, wrong = 0;
	struct tide_counting_key key;
	uint64_t cell[16], start;
	struct split f;
	char form[64];

	if (!split_open(&f, filter.shape.cells, s, 5, room))
		abort();
	start = spent_ns();
	for (i = 0; i < insertions; i++) {
		cells_of(order[i], &key, cell);
		(void)split_insert(&f, cell, key.cells);
	}
	start = spent_ns() - start;
	for (i = 0; i < MESSAGES; i++) {
		cells_of(i, &key, cell);
		for (k = 0, least = f.most; k < key.cells; k++) {
			v = split_get(&f, cell[k]);
			least = v < least ? v : least;
		}
		c = copies_of(i, bulky);
		wrong += least != (c < f.most ? c : f.most);
	}
	(void)snprintf(form, sizeof form, "split, s=%u, tables %2.0f%% full", s,
	    100.0 * (double)f.entries * SPLIT_CHUNK / ((double)f.cells * room));
	print_form(
	    form, split_bits_a_cell(&f), (double)start / insertions, wrong);
	if (f.refused > 0)
		printf("    %llu raises found no room\n",
		    (unsigned long long)f.refused);
	split_close(&f);
}

/* Tables large enough for the fullest chunk, a quarter of it spare. */
static void
compare_forms(unsigned bulky)
{
	uint32_t s, c, worst, i, full[1024];
	uint64_t chunks = filter.shape.cells / SPLIT_CHUNK + 1;

	make_order(bulky);
	printf("%u messages, %u%% of them seen more than once, %u copies:\n",
	    MESSAGES, 10 * bulky, insertions);
	run_uniform(bulky);
	for (s = 1; s <= 3; s++) {
		memset(full, 0, sizeof full);
		for (i = 0; i < filter.shape.cells; i++)
			full[i / SPLIT_CHUNK] +=
			    tide_counting_cell(&filter, cells, i) >> s != 0;
		for (c = 0, worst = 0; c < chunks; c++)
			worst = full[c] > worst ? full[c] : worst;
		run_split(bulky, s, worst + worst / 4);
	}
}

/* ------------------------------------------------------------------------ */

static void
open_filter(uint64_t n)
{
	struct tide_counting_shape shape = tide_counting_size(n, 0.001, 5);

	cells = memory(tide_counting_bytes(&shape));
	tide_counting_attach(
	    &filter, &shape, SLOTS, memory(tide_counting_books_bytes(SLOTS)));
}

int
main(void)
{
	open_filter(KEYS);
	printf("bulk: %u keys, %.1f MB, k = %u, %u slots\n", KEYS,
	    (double)tide_counting_bytes(&filter.shape) / 1e6,
	    filter.shape.positions, SLOTS);
	printf("  %.1f bits a signature and its count, against 160 of a "
	       "SHA-1, 5 of a count\n  and an index (32 at half load: 64): "
	       "x%.2f\n",
	    8.0 * (double)tide_counting_bytes(&filter.shape) / KEYS,
	    8.0 * (double)tide_counting_bytes(&filter.shape) / KEYS /
		(160 + 5 + 64));
	make_lines(64u << 20);
	compare_ways(1);
	compare_ways(2);
	open_filter(MESSAGES);
	compare_forms(1);
	compare_forms(3);
	return 0;
}
