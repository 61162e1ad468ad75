/*
 * b_tokens - nanoseconds per take, one process and two, over 1,000, 100,000
 * and 4 million accounts, beside a robust process-shared mutex around the
 * same table without atomics.  Ratios in one run are what counts.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define OPERATIONS 20000u /* a round */
#define ROUNDS 400u
#define T0 1000000u

static struct tide_tokens table;
static struct tide_allowance allowance;
static uint64_t accounts;

static inline struct tide_hash
account(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	i ^= i >> 29;
	i *= 0xbf58476d1ce4e5b9ull;
	return (struct tide_hash){ .low = i ^ i >> 32,
		.high = (i ^ 0x94d049bb133111ebull) * 0xff51afd7ed558ccdull };
}

/* ---- the same table under a mutex --------------------------------------- */

struct plain_slot {
	uint64_t print, full;
};

static struct plain_slot *plain;
static pthread_mutex_t *mutex;

static void
make_mutex(void)
{
	pthread_mutexattr_t a;

	mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mutex == MAP_FAILED || pthread_mutexattr_init(&a) != 0 ||
	    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) != 0 ||
	    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) != 0 ||
	    pthread_mutex_init(mutex, &a) != 0)
		exit(1);
}

static struct plain_slot *
plain_find(struct tide_hash key)
{
	uint64_t blocks = table.capacity / TIDE_TOKENS_BLOCK, i;
	struct plain_slot *block, *s;

	block = plain + (key.low & (blocks - 1)) * TIDE_TOKENS_BLOCK;
	for (i = 0; i < TIDE_TOKENS_BLOCK; i++) {
		s = block + ((i + (key.low >> 60 << 2)) & 63);
		if (s->print == key.high || s->print == 0)
			return s;
	}
	return NULL;
}

static bool
plain_take(struct tide_hash key, uint64_t cost, uint64_t now_ms)
{
	uint64_t now = now_ms << 10, full;
	struct plain_slot *s;
	bool taken = false;

	if (pthread_mutex_lock(mutex) == EOWNERDEAD)
		(void)pthread_mutex_consistent(mutex);
	s = plain_find(key);
	if (s != NULL) {
		s->print = key.high;
		full = (s->full > now ? s->full : now) +
		    (cost * allowance.token + 999) / 1000;
		taken = full - now <= allowance.depth;
		if (taken)
			s->full = full;
	}
	(void)pthread_mutex_unlock(mutex);
	return taken;
}

/* ---- measuring ---------------------------------------------------------- */

/*
 * Short rounds that all processes begin together; a round lasts from the
 * first start to the last end, and counts if both were at it for most of that
 * time.  The best one is told: on a busy machine it is the one that had the
 * processors to itself.
 */
static struct {
	_Atomic uint64_t ready;
	_Atomic uint64_t start[2 * ROUNDS][2], end[2 * ROUNDS][2];
} * rounds;

static uint64_t
run(bool locked, uint64_t *x)
{
	uint64_t i, n = 0;

	for (i = 0; i < OPERATIONS; i++) {
		struct tide_take t = { .allowance = allowance, .cost = 1000 };

		*x ^= *x << 13;
		*x ^= *x >> 7;
		*x ^= *x << 17;
		t.key =
		    account((uint64_t)((unsigned __int128)*x * accounts >> 64));
		if (locked)
			n += plain_take(t.key, t.cost, T0);
		else
			n += tide_tokens_take(&table, &t, T0) ==
			    TIDE_TOKENS_TAKEN;
	}
	return n;
}

/* Map every page, so that no round pays for it. */
static void
touch(void)
{
	uint64_t i;

	for (i = 0; i < table.capacity; i += 4096 / sizeof *table.slots) {
		atomic_fetch_add(&table.slots[i].tag, 0);
		*(volatile uint64_t *)&plain[i].full += 0;
	}
}

static void
take_part(unsigned me, unsigned processes)
{
	uint64_t r, x = (me + 1) * 88172645463325252ull;
	cpu_set_t mine;

	CPU_ZERO(&mine);
	CPU_SET(me, &mine);
	(void)sched_setaffinity(0, sizeof mine, &mine);
	touch();
	for (r = 0; r < 2 * ROUNDS; r++) {
		atomic_fetch_add(&rounds->ready, 1);
		while (atomic_load(&rounds->ready) < (r + 1) * processes)
			(void)sched_yield();
		atomic_store(&rounds->start[r][me], tide_clock_mono_ns());
		(void)run(r % 2 == 0, &x);
		atomic_store(&rounds->end[r][me], tide_clock_mono_ns());
	}
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* From the first start to the last end; no round if they hardly met. */
static uint64_t
length_of(unsigned r, unsigned processes)
{
	unsigned last = processes - 1;
	uint64_t s0 = rounds->start[r][0], s1 = rounds->start[r][last];
	uint64_t e0 = rounds->end[r][0], e1 = rounds->end[r][last];
	uint64_t length = most(e0, e1) - least(s0, s1);
	uint64_t apart =
	    most(s0, s1) - least(s0, s1) + most(e0, e1) - least(e0, e1);

	return apart * 5 < length ? length : UINT64_MAX;
}

/* Mutex and atomics take turns, round by round. */
static void
measure(unsigned processes, double best[2])
{
	double ns;
	unsigned i;

	atomic_store(&rounds->ready, 0);
	for (i = 0; i < processes; i++)
		if (fork() == 0) {
			take_part(i, processes);
			_exit(0);
		}
	for (; i > 0; i--)
		(void)wait(NULL);
	best[0] = best[1] = 1e9;
	for (i = 0; i < 2 * ROUNDS; i++) {
		ns = (double)length_of(i, processes) / OPERATIONS / processes;
		if (ns < best[i % 2])
			best[i % 2] = ns;
	}
}

static void *
region(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static void
fill(void)
{
	uint64_t i, missed = 0;

	for (i = 0; i < accounts; i++) {
		struct tide_take t = { .allowance = allowance, .cost = 1000 };

		t.key = account(i);
		missed += tide_tokens_take(&table, &t, T0) != TIDE_TOKENS_TAKEN;
		missed += !plain_take(t.key, t.cost, T0);
	}
	if (missed > 0)
		printf("# %llu found no slot\n", (unsigned long long)missed);
}

static void
compare(uint64_t n)
{
	double one[2], two[2];
	size_t size;

	accounts = n;
	for (table.capacity = 64; table.capacity < 3 * n / 2;)
		table.capacity *= 2;
	size = tide_tokens_bytes(table.capacity);
	table.slots = region(size);
	plain = region(size);
	fill();
	measure(1, one);
	measure(2, two);
	printf("%9llu %8zu | %6.1f %6.1f  x%.2f | %6.1f %6.1f  x%.2f\n",
	    (unsigned long long)n, size / 1024, one[0], one[1], one[0] / one[1],
	    two[0], two[1], two[0] / two[1]);
	(void)munmap(table.slots, size);
	(void)munmap(plain, size);
}

int
main(void)
{
	struct tide_rate rate = { 100, 86400000 };
	struct tide_err err;

	if (tide_allowance_make(&allowance, 100000, rate, &err) < 0)
		return 1;
	make_mutex();
	rounds = region(sizeof *rounds);
	printf("== tokens, ns a take (all processes together)\n"
	       " accounts      KiB |  mutex  take1  ratio |  mutex  take2  "
	       "ratio\n");
	compare(1000);
	compare(100000);
	compare(4000000);
	return 0;
}
