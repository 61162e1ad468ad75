/*
 * t_forget - keys are forgotten while workers fill their buckets, and anybody
 * may be killed (PROTOCOL forget in pool.h).
 *
 * Half of the keys are forgotten all the time.  When all stand still: of the
 * others every drop is accounted for; of these no more is held than was added;
 * and after a last forgetting no byte of them is left, in strings and
 * mailboxes, while the others' are there.
 *
 * In threads (no kills) the same runs under TSan; so does erasing decisions
 * while they are written and read, and forgetting an allowance and an estimate
 * while they are used: those of others come out exactly.
 *
 * alone: those who race want all cores
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "flow_fixture.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/ring.h"

#define WORKERS 4u
#define CLASSES 4u
#define KEYS 64u
#define FORGOTTEN(n) ((n) % 4 < 2) /* addresses and clients */
#define DEPTH 200u
#define BUCKETS (CLASSES * KEYS * 4)

struct shared {
	atomic_bool stop;
	_Atomic uint64_t added[CLASSES][KEYS];
	_Atomic uint64_t in_flight[CLASSES][KEYS]; /* at a kill */
	_Atomic uint64_t over[CLASSES][KEYS];
	_Atomic uint32_t now[WORKERS];
	_Atomic uint64_t forgotten;
	_Atomic uint64_t ready;
};

static struct shared *sh;
static struct flow_fixture x;

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	uint32_t n = flow_fixture_number(o->key, o->length);

	(void)arg;
	CHECK(n < KEYS && o->class < CLASSES);
	atomic_fetch_add(&sh->over[o->class][n], o->times);
	return true;
}

/* ---- workers ----------------------------------------------------------- */

static void
add_one(struct tide_adder *me, unsigned worker, uint64_t *seed)
{
	uint64_t r = fixture_random(seed);
	uint32_t n = (uint32_t)(r >> 8) % KEYS;
	unsigned class = (unsigned)(r >> 40) % CLASSES;
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);

	atomic_store(&sh->now[worker], class * KEYS + n + 1);
	if (tide_flow_add(&x.flow, me, class, &key, 1) != TIDE_DROP_LOST)
		atomic_fetch_add(&sh->added[class][n], 1);
	else
		(void)sched_yield();
	atomic_store(&sh->now[worker], 0);
}

static void
work(unsigned worker, uint64_t seed)
{
	struct tide_adder me = flow_fixture_adder(&x, worker);

	seed = seed * 0x9e3779b97f4a7c15ull | 1;
	while (!atomic_load(&sh->stop))
		add_one(&me, worker, &seed);
}

static void *
worker_thread(void *arg)
{
	work((unsigned)(uintptr_t)arg, (uintptr_t)arg + 77);
	return NULL;
}

static pid_t
start_worker(unsigned worker, uint64_t seed)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(worker, seed);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

/* Kill it, and bury it as the acceptor would. */
static void
kill_worker(pid_t *pid, unsigned worker, uint64_t seed)
{
	uint32_t now;

	(void)kill(*pid, SIGKILL);
	CHECK(waitpid(*pid, NULL, 0) == *pid);
	now = atomic_exchange(&sh->now[worker], 0);
	if (now != 0)
		atomic_fetch_add(
		    &sh->in_flight[(now - 1) / KEYS][(now - 1) % KEYS], 1);
	tide_flow_bury(&x.flow, worker);
	tide_epoch_bury(&x.slots[worker].epoch);
	*pid = start_worker(worker, seed);
}

/* ---- the collector ----------------------------------------------------- */

static bool
is_meant(void *arg, const char *key, size_t length)
{
	uint32_t n = flow_fixture_number(key, (unsigned)length);

	(void)arg;
	CHECK(n < KEYS);
	return FORGOTTEN(n);
}

static void
forget(void)
{
	bool busy;

	atomic_fetch_add(&sh->forgotten,
	    tide_pool_forget(&x.pool, is_meant, NULL, false, &busy));
}

static void
round_once(void)
{
	(void)tide_pool_drain(&x.pool);
	tide_pool_resolve(&x.pool);
	/* while a worker stands still inside, what is forgotten is not free:
	 * others would be given up for want of room */
	if (atomic_load(&x.flow.head->limbo_count) < BUCKETS / 4)
		forget();
	tide_pool_reclaim(&x.pool);
}

static void
audit(void)
{
	struct tide_err err;

	CHECK_MSG(tide_pool_audit(&x.pool, &err) == 0, "%s", err.text);
}

static uint64_t
level_of(unsigned class, uint32_t n)
{
	struct tide_adder me = flow_fixture_adder(&x, FIXTURE_WORKERS - 1);
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);

	return tide_flow_level(&x.flow, &me, class, &key);
}

static void
set_up(void)
{
	unsigned class;

	if (sh == NULL)
		sh = fixture_shared(sizeof *sh);
	memset((void *)sh, 0, sizeof *sh);
	flow_fixture_make(&x, BUCKETS, KEYS * 60, DEPTH + 2, on_overflow, NULL);
	for (class = 0; class < CLASSES; class ++)
		tide_pool_set_class(&x.pool, class, DEPTH, 1000, 0);
}

/* Nobody is at work: the others' drops, each of them. */
static void
check_accounts(void)
{
	unsigned class;
	uint32_t n;

	for (class = 0; class < CLASSES; class ++) {
		for (n = 0; n < KEYS; n++) {
			uint64_t held = level_of(class, n) +
			    (DEPTH + 1) * atomic_load(&sh->over[class][n]);
			uint64_t added = atomic_load(&sh->added[class][n]);
			uint64_t maybe = atomic_load(&sh->in_flight[class][n]);

			CHECK_MSG(held <= added + maybe &&
				(FORGOTTEN(n) || held >= added),
			    "class %u key %u: %llu held, %llu added", class, n,
			    (unsigned long long)held,
			    (unsigned long long)added);
		}
	}
}

static bool
is_in(const void *region, size_t size, uint32_t n)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);

	return memmem(region, size, key.text, key.length) != NULL;
}

/* 10.0.0.1 is in 10.0.0.12: only the addresses' names are no part of others. */
static void
check_bytes(void)
{
	uint32_t n;

	for (n = 0; n < KEYS; n += 2) {
		CHECK_INT(is_in(x.flow.strings,
			      (size_t)x.flow.head->shape.string_units *
				  TIDE_STRING_UNIT,
			      n),
		    !FORGOTTEN(n));
		CHECK(!is_in(x.region[2], x.bytes[2], n));
	}
}

static void
check_end(void)
{
	unsigned i;

	(void)tide_pool_drain(&x.pool);
	tide_pool_resolve(&x.pool);
	CHECK_INT(atomic_load(&x.flow.head->evicted), 0);
	check_accounts();
	forget();
	for (i = 0; i < 4; i++)
		tide_pool_reclaim(&x.pool);
	audit();
	check_bytes();
	CHECK_INT(atomic_load(&x.flow.head->strings), KEYS / 2);
	CHECK_INT(atomic_load(&x.flow.head->malformed), 0);
	CHECK(atomic_load(&sh->forgotten) > 100);
	printf("# %llu buckets forgotten\n",
	    (unsigned long long)atomic_load(&sh->forgotten));
	flow_fixture_free(&x);
}

static void
test_threads(void)
{
	uint64_t until = tide_clock_mono_ms() + 1000;
	pthread_t t[WORKERS];
	uintptr_t w;

	set_up();
	for (w = 0; w < WORKERS; w++)
		CHECK(
		    pthread_create(&t[w], NULL, worker_thread, (void *)w) == 0);
	while (
	    tide_clock_mono_ms() < until || atomic_load(&sh->forgotten) <= 100)
		round_once();
	atomic_store(&sh->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(pthread_join(t[w], NULL) == 0);
	check_end();
}

static void
test_workers_killed(void)
{
	pid_t pid[WORKERS];
	uint64_t seed = 4711, until;
	unsigned w, k;

	set_up();
	for (w = 0; w < WORKERS; w++)
		pid[w] = start_worker(w, w + 1);
	for (k = 1; k <= 500; k++) {
		until = tide_clock_mono_ns() + fixture_random(&seed) % 1500000;
		do
			round_once();
		while (tide_clock_mono_ns() < until);
		w = (unsigned)(fixture_random(&seed) % WORKERS);
		kill_worker(&pid[w], w, k * 31 + w);
	}
	atomic_store(&sh->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(waitpid(pid[w], NULL, 0) == pid[w]);
	check_end();
}

static void
collector_process(bool first)
{
	struct tide_err err;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!first)
		CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
	atomic_store(&sh->ready, (uint64_t)getpid());
	for (;;)
		round_once();
}

/* Drops may count twice then: only what must be gone, or whole, is checked. */
static void
test_collectors_killed(void)
{
	pid_t pid[WORKERS], collector;
	struct tide_err err;
	uint64_t seed = 17;
	unsigned w, k;

	set_up();
	for (w = 0; w < WORKERS; w++)
		pid[w] = start_worker(w, w + 1);
	for (k = 0; k < 200; k++) {
		collector = fork();
		if (collector == 0)
			collector_process(k == 0);
		while (atomic_load(&sh->ready) != (uint64_t)collector) {
			CHECK(waitpid(collector, NULL, WNOHANG) == 0);
			(void)sched_yield();
		}
		(void)usleep((useconds_t)(500 + fixture_random(&seed) % 3000));
		(void)kill(collector, SIGKILL);
		CHECK(waitpid(collector, NULL, 0) == collector);
	}
	atomic_store(&sh->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(waitpid(pid[w], NULL, 0) == pid[w]);
	CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
	round_once();
	for (k = 0; k < 4; k++)
		tide_pool_reclaim(&x.pool);
	audit();
	check_bytes();
	CHECK_INT(atomic_load(&x.flow.head->malformed), 0);
	flow_fixture_free(&x);
}

/* ---- decisions --------------------------------------------------------- */

#define RING 256u
#define WRITERS 3u

static struct tide_ring ring;
static atomic_bool ring_stop;
static _Atomic uint64_t written;

static void
decide(unsigned who, uint64_t number)
{
	struct tide_decision d = { .wall_ms = number + 1, .recipients = who };

	(void)snprintf(d.sender, sizeof d.sender, "%s%u@example.org",
	    number % 2 == 0 ? "bob" : "eve", who);
	(void)snprintf(
	    d.qid, sizeof d.qid, "%s", number % 2 == 0 ? "bob" : "eve");
	(void)tide_ring_put(&ring, &d);
	atomic_fetch_add(&written, 1);
}

static void *
writer(void *arg)
{
	uint64_t n = 0;

	while (!atomic_load(&ring_stop))
		decide((unsigned)(uintptr_t)arg, n++);
	return NULL;
}

/* Whole, or not there. */
static void *
reader(void *arg)
{
	struct tide_decision d;
	uint64_t n;

	(void)arg;
	while (!atomic_load(&ring_stop)) {
		for (n = tide_ring_oldest(&ring); n < tide_ring_next(&ring);
		     n++) {
			if (tide_ring_get(&ring, n, &d) != TIDE_RING_HERE)
				continue;
			CHECK(d.wall_ms != 0 && d.sender[0] == d.qid[0] &&
			    strcmp(d.sender + 4, "@example.org") == 0);
			CHECK_INT(d.sender[3] - '0', d.recipients);
		}
	}
	return NULL;
}

static bool
means_bob(void *arg, const struct tide_decision *d)
{
	(void)arg;
	return strncmp(d->sender, "bob", 3) == 0 ||
	    strncmp(d->qid, "bob", 3) == 0;
}

static void
test_ring(void)
{
	size_t size = tide_ring_size(RING);
	pthread_t t[WRITERS + 1];
	struct tide_decision d;
	uint64_t erased = 0, n;
	unsigned i, eves = 0;
	uintptr_t w;

	ring = (struct tide_ring){ fixture_shared(size), RING };
	for (w = 0; w < WRITERS; w++)
		CHECK(pthread_create(&t[w], NULL, writer, (void *)w) == 0);
	CHECK(pthread_create(&t[WRITERS], NULL, reader, NULL) == 0);
	for (i = 0; i < 300 || erased < 1000 || atomic_load(&written) < 10000;
	     i++)
		erased += tide_ring_erase(&ring, means_bob, NULL, false);
	atomic_store(&ring_stop, true);
	for (w = 0; w <= WRITERS; w++)
		CHECK(pthread_join(t[w], NULL) == 0);
	for (n = 1; n < 50; n += 2)
		decide(0, n);
	decide(1, 0);
	CHECK(tide_ring_erase(&ring, means_bob, NULL, true) >= 1);
	(void)tide_ring_erase(&ring, means_bob, NULL, false);
	CHECK_INT(tide_ring_erase(&ring, means_bob, NULL, true), 0);
	CHECK(memmem(ring.region, size, "bob", 3) == NULL);
	for (n = tide_ring_oldest(&ring); n < tide_ring_next(&ring); n++)
		eves += tide_ring_get(&ring, n, &d) == TIDE_RING_HERE;
	CHECK(eves >= 24);
	CHECK_INT(tide_ring_get(&ring, tide_ring_next(&ring) - 1, &d),
	    TIDE_RING_ERASED);
	printf("# %llu of %llu decisions erased\n", (unsigned long long)erased,
	    (unsigned long long)atomic_load(&written));
}

/* ---- allowances and estimates ------------------------------------------ */

#define TAKERS 4u
#define ACCOUNTS 6u /* 0 is forgotten all the time */
#define BURST 50u
#define ELEMENTS 300u
#define NOW_MS 100000000u

static struct {
	struct tide_tokens tokens;
	struct tide_distinct distinct;
	struct tide_allowance allowance;
	_Atomic uint64_t taken[ACCOUNTS], uncounted, rounds;
	atomic_bool stop;
} accounts;

static struct tide_hash
account(uint64_t i)
{
	static const struct tide_hash_key secret = { "secret" };

	return tide_hash(&secret, &i, sizeof i);
}

static void
use_account(unsigned who, uint64_t element)
{
	struct tide_take t = { .key = account(who),
		.allowance = accounts.allowance,
		.cost = TIDE_TOKEN };
	struct tide_hash e = account(1000 + element % ELEMENTS);

	switch (tide_tokens_take(&accounts.tokens, &t, NOW_MS)) {
	case TIDE_TOKENS_TAKEN:
		atomic_fetch_add(&accounts.taken[who], 1);
		break;
	case TIDE_TOKENS_UNCOUNTED:
		atomic_fetch_add(&accounts.uncounted, 1);
		break;
	case TIDE_TOKENS_SHORT:
		break;
	}
	if (!tide_distinct_add(&accounts.distinct, account(who), e, NOW_MS))
		atomic_fetch_add(&accounts.uncounted, 1);
}

static void *
taker(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 99, r;

	while (!atomic_load(&accounts.stop)) {
		r = fixture_random(&seed);
		use_account((unsigned)(r >> 8) % ACCOUNTS, r >> 16);
		atomic_fetch_add(&accounts.rounds, 1);
	}
	return NULL;
}

/* One block of slots, one set of sketches: all stand in each other's way. */
static void
set_up_accounts(void)
{
	const struct tide_rate slow = { BURST, 365ull * 86400000 };
	struct tide_err err;

	accounts.tokens = (struct tide_tokens){
		fixture_shared(tide_tokens_bytes(TIDE_TOKENS_BLOCK)),
		TIDE_TOKENS_BLOCK
	};
	accounts.distinct = (struct tide_distinct){
		fixture_shared(tide_distinct_bytes(TIDE_DISTINCT_SET)),
		TIDE_DISTINCT_SET, 86400000
	};
	CHECK(tide_allowance_make(&accounts.allowance, BURST, slow, &err) == 0);
}

static uint64_t
forget_account(void)
{
	uint64_t n = tide_tokens_forget(&accounts.tokens, account(0)) ? 1 : 0;

	(void)tide_distinct_forget(&accounts.distinct, account(0), NOW_MS);
	return n;
}

/* A forgetting may meet the account again before it ends: 256 at most. */
static void
check_accounts_end(uint64_t forgettings)
{
	struct tide_estimate e;
	unsigned i;

	CHECK_INT(atomic_load(&accounts.uncounted), 0);
	CHECK(
	    atomic_load(&accounts.taken[0]) <= BURST * (256 * forgettings + 1));
	for (i = 1; i < ACCOUNTS; i++) {
		CHECK_INT(atomic_load(&accounts.taken[i]), BURST);
		e = tide_distinct_estimate(
		    &accounts.distinct, account(i), NOW_MS);
		CHECK_MSG(e.both > ELEMENTS * 0.7 && e.both < ELEMENTS * 1.3,
		    "account %u: %g", i, e.both);
	}
	(void)forget_account();
	CHECK(!tide_tokens_known(&accounts.tokens, account(0)));
	CHECK(!tide_distinct_known(&accounts.distinct, account(0), NOW_MS));
	use_account(0, 1);
	e = tide_distinct_estimate(&accounts.distinct, account(0), NOW_MS);
	CHECK_MSG(e.both > 0.5 && e.both < 6, "as new: %g", e.both);
}

static void
test_accounts(void)
{
	uint64_t forgettings = 0;
	pthread_t t[TAKERS];
	uintptr_t w;

	set_up_accounts();
	for (w = 0; w < TAKERS; w++)
		CHECK(pthread_create(&t[w], NULL, taker, (void *)w) == 0);
	while (forgettings < 2000 || atomic_load(&accounts.rounds) < 100000)
		forgettings += forget_account();
	atomic_store(&accounts.stop, true);
	for (w = 0; w < TAKERS; w++)
		CHECK(pthread_join(t[w], NULL) == 0);
	check_accounts_end(forgettings);
	printf("# forgotten %llu times, %llu tokens taken in between\n",
	    (unsigned long long)forgettings,
	    (unsigned long long)atomic_load(&accounts.taken[0]));
}

CHECK_CASES({ "threads: forgotten while it is filled", test_threads },
    { "500 workers killed: the others' drops are all there",
	test_workers_killed },
    { "200 collectors killed: nothing is left of it", test_collectors_killed },
    { "decisions are erased while they are written and read", test_ring },
    { "allowances and estimates are forgotten while they are used",
	test_accounts })
