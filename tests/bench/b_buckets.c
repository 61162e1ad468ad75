/*
 * b_buckets - what a drop costs, as ratios within one run.
 *
 * An add is all of it: from the key's text (SipHash) to the verdict.  Beside
 * it, in the same memory sizes and with the same keys in the same order:
 *   mutex  the published form: every drop moves its bucket from one level
 *          list to the next, all under one robust process-shared mutex
 *   lines  dependent random accesses to cache lines: head, bucket, string is
 *          three of them, and no table of this size can do with less than two
 * The parent is the collector meanwhile: it drains, leaks and frees.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow_fixture.h"
#include "tidemark/base/clock.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

#define KEY 24u		 /* bytes of a key */
#define TURNS (1u << 20) /* keys in the order in which they are added */
#define DEPTH 60000u
#define ROUNDS 40u
#define QUIET 5u /* rounds at least to be believed */
#define ATTEMPTS 2
#define PROCESSES 2

static char (*turn)[KEY]; /* shared, TURNS of them */
static struct flow_fixture x;

static void
key_text(char text[KEY + 1], uint32_t n)
{
	(void)snprintf(text, KEY + 1, "u%08u@ab.example.org", n % 100000000);
}

static struct tide_flow_key
key_of(const char *text)
{
	struct tide_flow_key key;

	(void)tide_flow_key(&x.flow, text, KEY, &key);
	return key;
}

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	(void)arg;
	(void)o;
	return true;
}

/* ---- the published form under a mutex ---------------------------------- */

struct node {
	uint32_t chain, before, after, hash, level, string;
};

static struct {
	pthread_mutex_t *mutex;
	uint32_t *floor, *heads, *lists; /* shared, all of it */
	struct node *node;
	char (*text)[48]; /* room as in our strings, header included */
	uint32_t mask, ring, used, buckets;
} eager;

static void
eager_lock(void)
{
	if (pthread_mutex_lock(eager.mutex) == EOWNERDEAD)
		(void)pthread_mutex_consistent(eager.mutex);
}

static void
eager_make(uint32_t buckets, uint32_t heads, uint32_t ring)
{
	pthread_mutexattr_t a;

	eager.mutex = fixture_shared(4096);
	(void)pthread_mutexattr_init(&a);
	(void)pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	(void)pthread_mutex_init(eager.mutex, &a);
	eager.floor = fixture_shared(4096);
	eager.heads = fixture_shared(heads * 4ul);
	eager.lists = fixture_shared(ring * 4ul);
	eager.node = fixture_shared((buckets + 1ul) * sizeof *eager.node);
	eager.text = fixture_shared((buckets + 1ul) * sizeof *eager.text);
	eager.mask = heads - 1;
	eager.ring = ring;
	eager.used = 0;
	eager.buckets = buckets;
}

static void
eager_each(void (*each)(void *, size_t))
{
	each(eager.mutex, 4096);
	each(eager.floor, 4096);
	each(eager.heads, (eager.mask + 1ul) * 4);
	each(eager.lists, eager.ring * 4ul);
	each(eager.node, (eager.buckets + 1ul) * sizeof *eager.node);
	each(eager.text, (eager.buckets + 1ul) * sizeof *eager.text);
}

static void
unmap_part(void *p, size_t bytes)
{
	(void)munmap(p, bytes);
}

static void
map_part(void *p, size_t bytes)
{
	(void)madvise(p, bytes, MADV_POPULATE_WRITE);
}

static void
eager_unlink(uint32_t i)
{
	struct node *n = &eager.node[i];

	if (n->before != 0)
		eager.node[n->before].after = n->after;
	else
		eager.lists[n->level & (eager.ring - 1)] = n->after;
	if (n->after != 0)
		eager.node[n->after].before = n->before;
}

static void
eager_link(uint32_t i, uint32_t level)
{
	uint32_t *list = &eager.lists[level & (eager.ring - 1)];
	struct node *n = &eager.node[i];

	n->level = level;
	n->before = 0;
	n->after = *list;
	if (*list != 0)
		eager.node[*list].before = i;
	*list = i;
}

static uint32_t
eager_find(const struct tide_flow_key *key)
{
	uint32_t i = eager.heads[key->hash & eager.mask];

	while (i != 0 &&
	    (eager.node[i].hash != key->hash ||
		memcmp(eager.text[eager.node[i].string] + 13, key->text, KEY) !=
		    0))
		i = eager.node[i].chain;
	return i;
}

static uint32_t
eager_create(const struct tide_flow_key *key)
{
	uint32_t i = ++eager.used;

	memcpy(eager.text[i] + 13, key->text, KEY);
	eager.node[i].string = i;
	eager.node[i].hash = key->hash;
	eager.node[i].chain = eager.heads[key->hash & eager.mask];
	eager.heads[key->hash & eager.mask] = i;
	eager_link(i, *eager.floor);
	return i;
}

static void
eager_add(const struct tide_flow_key *key, uint32_t drops)
{
	uint32_t i, level;

	eager_lock();
	i = eager_find(key);
	if (i == 0)
		i = eager_create(key);
	eager_unlink(i);
	level = eager.node[i].level + drops;
	if (level - *eager.floor > DEPTH)
		level = *eager.floor;
	eager_link(i, level);
	(void)pthread_mutex_unlock(eager.mutex);
}

/* ---- cache lines --------------------------------------------------------- */

struct cache_line {
	_Alignas(64) uint32_t next;
};

static struct cache_line *lines;
static uint32_t line_count;

/* One cycle through all of them (Sattolo). */
static void
lines_make(size_t bytes)
{
	uint64_t seed = 99;
	uint32_t i, j, swap;

	line_count = (uint32_t)(bytes / 64);
	lines = fixture_shared((size_t)line_count * 64);
	for (i = 0; i < line_count; i++)
		lines[i].next = i;
	for (i = line_count - 1; i > 0; i--) {
		j = (uint32_t)(fixture_random(&seed) % i);
		swap = lines[i].next;
		lines[i].next = lines[j].next;
		lines[j].next = swap;
	}
}

/* ---- measuring ------------------------------------------------------------ */

enum what { OURS, MUTEX, LINES, WHATS };

static uint32_t adds; /* a round, so that it takes some milliseconds */

/*
 * A forked process maps shared pages only when it touches them, which would
 * cost more than what is to be measured.
 */
static void
map_pages(void)
{
	int i;

	for (i = 0; i < 3; i++)
		map_part(x.region[i], x.bytes[i]);
	eager_each(map_part);
	map_part(lines, line_count * 64ul);
	map_part(turn, (size_t)TURNS * KEY);
}

static uint32_t
follow_lines(uint32_t t)
{
	uint32_t i, at = t % line_count;

	for (i = 0; i < adds; i++)
		at = lines[at].next;
	return at;
}

static uint32_t
work(enum what what, unsigned worker, uint32_t t)
{
	struct tide_adder me = flow_fixture_adder(&x, worker);
	uint32_t i, held = 0;

	if (what == LINES)
		return follow_lines(t);
	for (i = 0; i < adds; i++, t++) {
		struct tide_flow_key key = key_of(turn[t % TURNS]);

		if (what == OURS)
			held += tide_flow_add(&x.flow, &me, 0, &key, 1);
		else
			eager_add(&key, 1);
	}
	return held;
}

/* What the collector does meanwhile, every 2 ms. */
static void
collect(unsigned round)
{
	(void)usleep(2000);
	(void)tide_pool_drain(&x.pool);
	tide_pool_reclaim(&x.pool);
	if (round % 5 != 0)
		return;
	tide_pool_tick(&x.pool, 0);
	eager_lock();
	++*eager.floor;
	(void)pthread_mutex_unlock(eager.mutex);
}

struct round {
	_Atomic unsigned ready;
	uint64_t ns[PROCESSES];
	uint64_t waited[PROCESSES]; /* for a processor, not for a mutex */
	uint32_t sum[PROCESSES];
};

/* How long this process has been ready to run, and did not. */
static uint64_t
waited_ns(void)
{
	unsigned long long run, wait = 0;
	FILE *f = fopen("/proc/self/schedstat", "r");

	if (f != NULL) {
		(void)!fscanf(f, "%llu %llu", &run, &wait);
		(void)fclose(f);
	}
	return wait;
}

static void
run_round(struct round *r, enum what what, unsigned me, unsigned processes,
    uint32_t t)
{
	uint64_t start, waited;

	(void)usleep(2000);
	r->sum[me] = work(what, me, t + adds); /* to warm the caches */
	waited = waited_ns();
	atomic_fetch_add(&r->ready, 1);
	while (atomic_load(&r->ready) < processes)
		;
	start = tide_clock_mono_ns();
	r->sum[me] += work(what, me, t);
	r->ns[me] = tide_clock_mono_ns() - start;
	r->waited[me] = waited_ns() - waited;
}

/* In turns, so that a noisy moment meets all. */
static void
run_rounds(struct round *r, unsigned me, unsigned processes)
{
	cpu_set_t cpu;
	unsigned i;

	CPU_ZERO(&cpu);
	CPU_SET(me, &cpu);
	(void)sched_setaffinity(0, sizeof cpu, &cpu);
	map_pages();
	for (i = 0; i < ROUNDS * WHATS; i++)
		run_round(&r[i], (enum what)(i % WHATS), me, processes,
		    i * adds + me * (TURNS / 2));
}

static int
compare_doubles(const void *a, const void *b)
{
	double x1 = *(const double *)a, x2 = *(const double *)b;

	return (x1 > x2) - (x1 < x2);
}

/* Has somebody else taken a processor away? */
static bool
is_disturbed(const struct round *r, unsigned processes, uint64_t ns)
{
	uint64_t waited = 0;
	unsigned k;

	for (k = 0; k < processes; k++)
		waited += r->waited[k];
	return waited >= ns / 20;
}

/*
 * ns an operation of the slower process: the median of the rounds in which
 * nobody was disturbed, or of all if those are few (never the best: that may
 * be one in which the processes did not meet).
 */
static double
judge(
    const struct round *r, enum what what, unsigned processes, unsigned *quiet)
{
	double ns[2][ROUNDS]; /* undisturbed, all */
	unsigned i, k, n = 0, all = 0;

	for (i = what; i < ROUNDS * WHATS; i += WHATS) {
		uint64_t most = 0;

		for (k = 0; k < processes; k++)
			if (r[i].ns[k] > most)
				most = r[i].ns[k];
		ns[1][all++] = (double)most / adds;
		if (!is_disturbed(&r[i], processes, most))
			ns[0][n++] = (double)most / adds;
	}
	if (n < *quiet)
		*quiet = n;
	qsort(ns[0], n, sizeof(double), compare_doubles);
	qsort(ns[1], all, sizeof(double), compare_doubles);
	return n >= QUIET ? ns[0][n / 2] : ns[1][all / 2];
}

static unsigned
measure(unsigned processes, double ns[WHATS])
{
	size_t bytes = ROUNDS * WHATS * sizeof(struct round);
	struct round *r = fixture_shared(bytes);
	unsigned i, n = 0, left = processes, quiet = ROUNDS;

	for (i = 0; i < processes; i++) {
		if (fork() == 0) {
			run_rounds(r, i, processes);
			_exit(0);
		}
	}
	while (left > 0) {
		collect(n++);
		while (left > 0 && waitpid(-1, NULL, WNOHANG) > 0)
			left--;
	}
	for (i = 0; i < WHATS; i++)
		ns[i] = judge(r, (enum what)i, processes, &quiet);
	(void)munmap(r, bytes);
	return quiet;
}

/* ---- keys in turn --------------------------------------------------------- */

static uint32_t
zipf(const double *sum, uint32_t n, double u)
{
	uint32_t low = 0, high = n - 1, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (sum[middle] < u)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)((uint64_t)low * 2654435761u % n);
}

static void
make_turns(uint32_t n, bool uniform)
{
	double *sum = calloc(n, sizeof *sum), s = 0;
	uint64_t seed = 4711;
	uint32_t i, k;
	char text[KEY + 1];

	for (i = 0; i < n; i++)
		sum[i] = s += 1.0 / (i + 1);
	for (i = 0; i < TURNS; i++) {
		uint64_t r = fixture_random(&seed);

		k = uniform
		    ? (uint32_t)(r % n)
		    : zipf(sum, n, (double)(r % (1ull << 40)) * s / 0x1p40);
		key_text(text, k);
		memcpy(turn[i], text, KEY);
	}
	free(sum);
}

/* ---- adds ------------------------------------------------------------------ */

static void
fill_tables(uint32_t n)
{
	uint64_t seed = 17;
	char text[KEY + 1];
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct tide_flow_key key;
		uint32_t drops = 1000 + (uint32_t)(fixture_random(&seed) % 999);

		key_text(text, i);
		key = key_of(text);
		if (!tide_pool_add(&x.pool, 0, &key, drops))
			exit(1);
		eager_add(&key, drops);
	}
}

static void
print_adds(uint32_t n, bool uniform, unsigned processes)
{
	double ns[WHATS];
	unsigned quiet = 0, i;

	for (i = 0; i < ATTEMPTS && quiet < QUIET; i++)
		quiet = measure(processes, ns);
	printf("%9u %-7s %u %8.1f %8.1f %8.1f | x%5.1f  %5s | %5.2f  %s%s\n", n,
	    uniform ? "uniform" : "zipf", processes, ns[OURS], ns[MUTEX],
	    ns[LINES], ns[MUTEX] / ns[OURS],
	    processes < 2     ? ""
		: n > 1000000 ? ">= 3"
			      : ">= 4",
	    ns[OURS] / ns[LINES],
	    n > 1000000 && uniform ? "<= 3, better 2" : "",
	    quiet < QUIET ? " (disturbed)" : "");
	(void)fflush(stdout);
}

static uint32_t
with_reserve(uint32_t n)
{
	return n + n / 100 + 64;
}

static void
make_flow(uint32_t n)
{
	flow_fixture_make(&x, with_reserve(n), with_reserve(n) * 3 + 64,
	    DEPTH + 2, on_overflow, NULL);
	tide_pool_set_class(&x.pool, 0, DEPTH, 1000, 0);
}

static void
bench_adds(uint32_t n)
{
	const struct tide_flow_shape *s;

	make_flow(n);
	s = &x.flow.head->shape;
	eager_make(s->buckets, s->heads, s->ring);
	lines_make((size_t)n * 20 + (size_t)n * 48 + (size_t)s->heads * 4);
	fill_tables(n);
	adds = n > 1000000 ? 8000 : 40000;
	for (int uniform = 1; uniform >= 0; uniform--) {
		make_turns(n, uniform);
		for (unsigned p = 1; p <= PROCESSES; p++)
			print_adds(n, uniform, p);
	}
	(void)munmap(lines, (size_t)line_count * 64);
	eager_each(unmap_part);
	flow_fixture_free(&x);
}

/* ---- leaking ---------------------------------------------------------------- */

#define EXPIRING 500u
#define LARGE 4000000u

static void
add_keys(uint32_t first, uint32_t n, uint32_t drops)
{
	char text[KEY + 1];
	uint32_t i;

	for (i = first; i < first + n; i++) {
		struct tide_flow_key key;

		key_text(text, i);
		key = key_of(text);
		if (!tide_pool_add(&x.pool, 0, &key, drops))
			exit(1);
	}
}

/* The tables have long left the caches when a tick comes. */
static void
forget_caches(void)
{
	static unsigned char *junk;
	size_t i, n = 128ul << 20;

	if (junk == NULL)
		junk = fixture_shared(n);
	for (i = 0; i < n; i += 64)
		junk[i]++;
}

/* us a tick with so many live buckets, of which EXPIRING run empty. */
static double
tick_us(uint32_t live)
{
	double us, best = 1e9;
	uint64_t start;
	unsigned r;

	for (r = 0; r < 20; r++) {
		add_keys(LARGE + r * EXPIRING, EXPIRING, 1);
		forget_caches();
		start = tide_clock_mono_ns();
		tide_pool_tick(&x.pool, 0);
		us = (double)(tide_clock_mono_ns() - start) / 1000;
		if (us < best)
			best = us;
		tide_pool_reclaim(&x.pool);
		tide_pool_reclaim(&x.pool);
		if (atomic_load(&x.flow.class[0].live) != live)
			exit(1);
	}
	return best;
}

/* The same map with few and with many in it. */
static void
bench_ticks(void)
{
	uint64_t start;
	double few, many, none;

	make_flow(LARGE);
	add_keys(0, 1000, 50000);
	tide_pool_tick(&x.pool, 0); /* to the lists where they belong */
	few = tick_us(1000);
	add_keys(1000, LARGE - 1000, 50000);
	tide_pool_tick(&x.pool, 0);
	many = tick_us(LARGE);
	start = tide_clock_mono_ns();
	for (int i = 0; i < 1000; i++)
		tide_pool_tick(&x.pool, 0);
	none = (double)(tide_clock_mono_ns() - start) / 1000;
	printf(
	    "\nleak tick, %u running empty: %.1f us of 1,000 live, %.1f us of "
	    "4 million: x%.2f (aim <= 1.5); none running empty: %.0f ns\n",
	    EXPIRING, few, many, many / few, none);
}

/* ---- memory ----------------------------------------------------------------- */

/* Of the map that bench_ticks() has left. */
static void
print_bucket_bytes(void)
{
	const struct tide_flow_head *h = x.flow.head;
	double live = atomic_load(&x.flow.class[0].live);
	double units =
	    atomic_load(&h->string_used) - atomic_load(&h->string_free);
	double heads = 4.0 * h->shape.heads / live;

	printf("bytes a bucket: %zu itself, %.1f hash head, %.1f string head, "
	       "%.1f string of %u (%.1f in all, shared by none)\n",
	    sizeof(struct tide_bucket), heads, heads, units * 16 / live, KEY,
	    (double)sizeof(struct tide_bucket) + 2 * heads + units * 16 / live);
}

/* Keys of so many bytes in the groups of that kind. */
static double
string_bytes(unsigned first, unsigned groups, uint32_t keys, const char *fmt,
    double *alone)
{
	const struct tide_flow_head *h = x.flow.head;
	uint32_t before = atomic_load(&h->string_used), i;
	struct tide_flow_key key;
	char text[128];
	unsigned g;
	int n;

	*alone = 0;
	for (i = 0; i < keys; i++) {
		n = snprintf(text, sizeof text, fmt, i >> 8 & 255, i & 255,
		    i >> 8 & 255);
		for (g = first; g < first + groups; g++) {
			(void)tide_flow_key(&x.flow, text, (size_t)n, &key);
			if (!tide_pool_add(&x.pool, g, &key, 1))
				exit(1);
			*alone += 16 * tide_string_units((unsigned)n);
		}
	}
	return 16.0 * (atomic_load(&h->string_used) - before);
}

static void
bench_strings(void)
{
	double senders, senders_alone, ips, ips_alone;
	unsigned g;

	flow_fixture_make(&x, 500000, 3000000, 64, on_overflow, NULL);
	for (g = 0; g < 8; g++)
		tide_pool_set_class(&x.pool, g, 50, 1000, 0);
	senders = string_bytes(0, 5, 50000,
	    "user%u.name%u@example.org/192.0.%u.0", &senders_alone);
	ips = string_bytes(5, 3, 50000, "10.%u.%u.%u", &ips_alone);
	printf("strings of 50,000 senders in 5 groups: %.1f MB, unshared %.1f "
	       "MB: %.0f%% saved (published: 80%%)\n"
	       "strings of 50,000 addresses in 3 groups: %.1f MB, unshared "
	       "%.1f MB: %.0f%% saved; all eight: %.0f%%\n",
	    senders / 1e6, senders_alone / 1e6,
	    100 * (1 - senders / senders_alone), ips / 1e6, ips_alone / 1e6,
	    100 * (1 - ips / ips_alone),
	    100 * (1 - (senders + ips) / (senders_alone + ips_alone)));
	flow_fixture_free(&x);
}

/* b_buckets [BUCKETS]: all of it, or the adds to so many (for a profiler) */
int
main(int argc, char **argv)
{
	turn = fixture_shared((size_t)TURNS * KEY);
	printf("== leaky buckets, ns an add, by 1 and 2 processes\n"
	       "  buckets keys    p     ours    mutex     line | faster  aim   "
	       "| lines  aim\n");
	if (argc > 1) {
		bench_adds((uint32_t)atol(argv[1]));
		return 0;
	}
	bench_adds(1000);
	bench_adds(100000);
	bench_adds(LARGE);
	bench_ticks();
	print_bucket_bytes();
	flow_fixture_free(&x);
	bench_strings();
	return 0;
}
