/*
 * t_buckets_hostile - a worker that was taken over writes whatever it likes
 * over every word that workers may write, before and while the collector
 * drains, leaks, rebuilds, reports, forgets and audits.  All of these come
 * back, and once it is gone a rebuild leaves a pool that counts.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "flow_fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/flow_state.h"
#include "tidemark/flow/pool.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define BUCKETS 256u
#define UNITS 1200u
#define RING 64u
#define KEYS 120u
#define HANG 60 /* seconds: a loop is a failure */

static struct flow_fixture x;
static uint64_t seed = 2711;

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	(void)arg;
	CHECK(o->length > 0 && o->length <= TIDE_BUCKET_KEY_MAX);
	CHECK(o->class < TIDE_CLASSES);
	return fixture_random(&seed) % 4 != 0;
}

static bool
every_fourth(void *arg, const char *key, size_t length)
{
	(void)arg;
	return length > 0 && key[length - 1] % 4 == 0;
}

static void
fill(uint32_t keys)
{
	char text[128];
	struct tide_flow_key key;
	uint32_t n;

	for (n = 0; n < keys; n++) {
		key = flow_fixture_key(&x.flow, n, text);
		(void)tide_pool_add(&x.pool, n % 3, &key, 1 + n % 4);
	}
}

static void
make(void)
{
	unsigned class;

	flow_fixture_make(&x, BUCKETS, UNITS, RING, on_overflow, NULL);
	for (class = 0; class < 3; class ++)
		tide_pool_set_class(&x.pool, class, 3 + class, 1000, 0);
	fill(KEYS);
}

static void
post_some(unsigned worker)
{
	struct tide_adder me = flow_fixture_adder(&x, worker);
	char text[128];
	struct tide_flow_key key = flow_fixture_key(
	    &x.flow, (uint32_t)fixture_random(&seed) % 200, text);

	(void)tide_flow_add(&x.flow, &me, worker % 3, &key, 2);
}

/* Everything that the collector does. */
static void
one_round(uint64_t now_ms)
{
	struct tide_err err;
	char *bytes;
	size_t size;
	bool busy;

	post_some((unsigned)(now_ms / 500 % FIXTURE_WORKERS));
	(void)tide_pool_drain(&x.pool);
	tide_pool_leak(&x.pool, now_ms);
	tide_pool_resolve(&x.pool);
	(void)tide_pool_audit(&x.pool, &err);
	(void)tide_pool_forget(&x.pool, every_fourth, NULL, false, &busy);
	CHECK_INT(tide_flow_save(&x.flow, &bytes, &size, &err), 0);
	free(bytes);
	if (now_ms % 2000 == 0)
		CHECK_INT(tide_pool_rebuild(&x.pool, &err), 0);
	fill(KEYS);
}

/* The worker is gone: buckets and strings are whole again, and count. */
static void
check_mended(void)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, 777, text);
	struct tide_adder me = flow_fixture_adder(&x, 0);
	struct tide_err err;
	unsigned i;

	for (i = 0; i < FIXTURE_WORKERS; i++) {
		atomic_store(&x.slots[i].epoch, 0);
		atomic_store(&x.slots[i].state, TIDE_SLOT_SERVING);
	}
	(void)tide_pool_drain(&x.pool);
	CHECK_INT(tide_pool_rebuild(&x.pool, &err), 0);
	(void)tide_pool_drain(&x.pool);
	CHECK_MSG(tide_pool_audit(&x.pool, &err) == 0, "%s", err.text);
	CHECK(tide_pool_add(&x.pool, 2, &key, 1));
	CHECK(tide_flow_level(&x.flow, &me, 2, &key) >= 1);
}

/* ---- one word ------------------------------------------------------------ */

static uint32_t
find(uint32_t n)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);
	uint32_t i = tide_flow_find(&x.flow, n % 3, &key);

	CHECK(i != 0);
	return i;
}

/* It overflows, and its string is said to be far outside. */
static void
test_overflow_of_no_string(void)
{
	uint32_t i;

	make();
	for (i = 0; i < 2; i++) {
		struct tide_bucket *b = &x.flow.bucket[find(6 + 3 * i)];

		b->class_string |= 0x3ffffff;
		atomic_store(&b->mark, tide_mark_over(1, 0));
	}
	atomic_store(&x.flow.mailbox[1].alarm, 1);
	(void)tide_pool_drain(&x.pool);
	check_mended();
	CHECK(atomic_load(&x.flow.head->malformed) > 0);
	flow_fixture_free(&x);
}

/* A list leads out of the pool behind a bucket that is forgotten. */
static void
test_forgotten_before_nowhere(void)
{
	struct tide_err err;
	unsigned round;
	bool busy;
	uint32_t i;

	(void)alarm(HANG);
	for (round = 0; round < 3; round++) {
		make();
		for (i = 1; i <= BUCKETS; i++)
			x.flow.bucket[i].level_next = round == 0 ? 0x7fffffff
			    : round == 1			 ? i
								 : BUCKETS + 1;
		(void)tide_pool_forget(
		    &x.pool, every_fourth, NULL, false, &busy);
		(void)tide_pool_audit(&x.pool, &err);
		tide_pool_leak(&x.pool, 100000);
		check_mended();
		flow_fixture_free(&x);
	}
	(void)alarm(0);
}

static void
test_epoch_of_nobody(void)
{
	make();
	atomic_store(&x.slots[5].epoch, 1);
	CHECK(!tide_workers_passed(&x.pool.workers, 1));
	atomic_store(&x.slots[5].state, TIDE_SLOT_RESERVED);
	CHECK(!tide_workers_passed(&x.pool.workers, 1));
	atomic_store(&x.slots[5].state, TIDE_SLOT_FREE);
	CHECK(tide_workers_passed(&x.pool.workers, 1));
	atomic_store(&x.slots[4].epoch, 1); /* that one lives */
	CHECK(!tide_workers_passed(&x.pool.workers, 1));
	flow_fixture_free(&x);
}

/* ---- every word ---------------------------------------------------------- */

/* Noise, small numbers, all ones, or what stood there but for a bit. */
static uint32_t
garbage(uint32_t was, unsigned kind)
{
	uint32_t r = (uint32_t)fixture_random(&seed);

	switch (kind % 5) {
	case 0:
		return r;
	case 1:
		return r % (BUCKETS + 2);
	case 2:
		return UINT32_MAX;
	case 3:
		return was ^ 1u << r % 32;
	default:
		return r % 8 == 0 ? r % (BUCKETS + 2) : was;
	}
}

/* Of buckets, mailboxes or slots: the regions that workers may write. */
static void
spoil(void *region, size_t bytes, unsigned kind, unsigned of)
{
	uint32_t *word = region;
	size_t i;

	for (i = 0; i < bytes / sizeof *word; i++)
		if (fixture_random(&seed) % of == 0)
			*(volatile uint32_t *)&word[i] = garbage(word[i], kind);
}

static void
spoil_all(unsigned kind, unsigned of)
{
	spoil(x.region[1], x.bytes[1], kind, of);
	spoil(x.region[2], x.bytes[2], kind, of);
	spoil(x.slots, FIXTURE_WORKERS * sizeof *x.slots, kind, of);
}

static void
test_garbage(void)
{
	static const unsigned of[] = { 1, 2, 20, 400 };
	unsigned round, k;

	(void)alarm(HANG);
	for (round = 0; round < 60; round++) {
		make();
		for (k = 1; k < 8; k++) {
			spoil_all(round, of[round / 5 % 4]);
			one_round(k * 500ull);
		}
		check_mended();
		flow_fixture_free(&x);
	}
	(void)alarm(0);
}

/* ---- at every moment ------------------------------------------------------ */

/* A loop of one, a string far outside, then as it was: over and over. */
static void
flicker(uint32_t i)
{
	struct tide_bucket *b = &x.flow.bucket[i];
	volatile uint32_t *held = &b->class_string;
	uint32_t was = *held, next = atomic_load(&b->next);
	uint32_t mark = atomic_load(&b->mark);

	*held = was | 0x3ffffff;
	atomic_store(&b->next, i);
	atomic_store(&b->mark, mark ^ (i % 3 + 1));
	*held = was;
	atomic_store(&b->mark, mark);
	if (i % 2 == 0)
		atomic_store(&b->next, next);
}

static _Noreturn void
be_hostile(void)
{
	uint32_t i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		for (i = 1; i <= BUCKETS; i++)
			flicker(i);
}

static void
test_while_it_writes(void)
{
	unsigned round, k;
	pid_t pid;

	(void)alarm(HANG);
	for (round = 0; round < 8; round++) {
		make();
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			be_hostile();
		for (k = 1; k < 1000; k++)
			one_round(k * 500ull);
		CHECK(kill(pid, SIGKILL) == 0);
		CHECK(waitpid(pid, NULL, 0) == pid);
		check_mended();
		flow_fixture_free(&x);
	}
	(void)alarm(0);
}

CHECK_CASES(
    { "an overflowed bucket with no string", test_overflow_of_no_string },
    { "lists that lead nowhere, or in circles", test_forgotten_before_nowhere },
    { "an epoch in a slot that is free holds nothing up",
	test_epoch_of_nobody },
    { "garbage over every word that a worker may write", test_garbage },
    { "while the collector works", test_while_it_writes })
