/*
 * t_buckets - workers add to leaky buckets while the collector drains, leaks
 * and frees, and anybody may be killed.
 *
 *   exact    without leaks: every so often all stand still, and for every key
 *            what was added is what the bucket holds and what overflowed;
 *            a kill may have left the drop in flight, and no other
 *   leaking  with leaks and kills: nothing is lost of pool and strings
 *   rebuilt  the collector is killed, too; its successors rebuild
 *
 * In threads (no kills) the same runs under TSan.
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
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/shared/epoch.h"

#define WORKERS 4u
#define CLASSES 8u
#define KEYS 200u
#define DEPTH 10u
#define BUCKETS (CLASSES * KEYS + 400)

struct shared {
	atomic_bool stop, pause;
	atomic_uint paused;
	_Atomic uint64_t added[CLASSES][KEYS];
	_Atomic uint64_t in_flight[CLASSES][KEYS]; /* at a kill */
	_Atomic uint64_t over[CLASSES][KEYS];	   /* reported */
	_Atomic uint64_t claimed[CLASSES][KEYS];   /* seen by workers */
	_Atomic uint32_t now[WORKERS];		   /* key in flight + 1 */
	_Atomic uint64_t lost;
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
wait_while_paused(void)
{
	atomic_fetch_add(&sh->paused, 1);
	while (atomic_load(&sh->pause) && !atomic_load(&sh->stop))
		(void)sched_yield();
	atomic_fetch_sub(&sh->paused, 1);
}

static void
add_one(struct tide_adder *me, unsigned worker, uint64_t *seed)
{
	uint64_t r = fixture_random(seed);
	uint32_t n = (uint32_t)(r % 16 != 0 ? r >> 8 & 31 : (r >> 8) % KEYS);
	unsigned class = (unsigned)(r >> 40) % CLASSES;
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);
	enum tide_drop d;

	atomic_store(&sh->now[worker], class * KEYS + n + 1);
	d = tide_flow_add(&x.flow, me, class, &key, 1);
	if (d == TIDE_DROP_LOST)
		atomic_fetch_add(&sh->lost, 1);
	else
		atomic_fetch_add(&sh->added[class][n], 1);
	if (d == TIDE_DROP_OVERFLOW)
		atomic_fetch_add(&sh->claimed[class][n], 1);
	atomic_store(&sh->now[worker], 0);
	if (d == TIDE_DROP_LOST)
		(void)sched_yield();
}

static void
work(unsigned worker, uint64_t seed)
{
	struct tide_adder me = flow_fixture_adder(&x, worker);

	seed = seed * 0x9e3779b97f4a7c15ull | 1;
	while (!atomic_load(&sh->stop)) {
		if (atomic_load(&sh->pause))
			wait_while_paused();
		else
			add_one(&me, worker, &seed);
	}
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

static void *
worker_thread(void *arg)
{
	work((unsigned)(uintptr_t)arg, (uintptr_t)arg + 77);
	return NULL;
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
	atomic_store(&x.flow.mailbox[worker].alarm, 1);
	tide_epoch_bury(&x.slots[worker].epoch);
	*pid = start_worker(worker, seed);
}

/* ---- the collector's rounds -------------------------------------------- */

static void
round_once(bool leak)
{
	unsigned class;

	(void)tide_pool_drain(&x.pool);
	tide_pool_resolve(&x.pool);
	if (leak)
		for (class = 0; class < CLASSES; class ++)
			tide_pool_tick(&x.pool, class);
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

/* All stand still: does every drop show, once? */
static void
check_accounts(void)
{
	unsigned class;
	uint32_t n;

	audit();
	for (class = 0; class < CLASSES; class ++) {
		for (n = 0; n < KEYS; n++) {
			uint64_t held = level_of(class, n) +
			    (DEPTH + 1) * atomic_load(&sh->over[class][n]);
			uint64_t added = atomic_load(&sh->added[class][n]);
			uint64_t maybe = atomic_load(&sh->in_flight[class][n]);

			CHECK_MSG(held >= added && held <= added + maybe,
			    "class %u key %u: %llu held, %llu added, %llu in "
			    "flight",
			    class, n, (unsigned long long)held,
			    (unsigned long long)added,
			    (unsigned long long)maybe);
			CHECK(atomic_load(&sh->claimed[class][n]) <=
			    atomic_load(&sh->over[class][n]));
		}
	}
}

static void
pause_all(unsigned workers)
{
	atomic_store(&sh->pause, true);
	while (atomic_load(&sh->paused) < workers)
		round_once(false);
	round_once(false);
	round_once(false);
}

static void
go_on(void)
{
	atomic_store(&sh->pause, false);
	while (atomic_load(&sh->paused) > 0)
		(void)sched_yield();
}

static void
set_up(void)
{
	unsigned class;

	if (sh == NULL)
		sh = fixture_shared(sizeof *sh);
	memset((void *)sh, 0, sizeof *sh);
	flow_fixture_make(&x, BUCKETS, KEYS * 20, DEPTH + 2, on_overflow, NULL);
	for (class = 0; class < CLASSES; class ++)
		tide_pool_set_class(&x.pool, class, DEPTH, 1000, 0);
}

/* Everything leaks away: the pool must be whole again. */
static void
check_whole(void)
{
	unsigned i;

	for (i = 0; i < 3 * DEPTH + 10; i++)
		round_once(true);
	for (i = 0; i < 4; i++)
		tide_pool_reclaim(&x.pool);
	audit();
	CHECK_INT(atomic_load(&x.flow.head->free_count), BUCKETS);
	CHECK_INT(atomic_load(&x.flow.head->strings), 0);
	CHECK_INT(atomic_load(&x.flow.head->malformed), 0);
}

static uint64_t
all_added(void)
{
	uint64_t sum = 0;
	unsigned class;
	uint32_t n;

	for (class = 0; class < CLASSES; class ++)
		for (n = 0; n < KEYS; n++)
			sum += atomic_load(&sh->added[class][n]);
	return sum;
}

/* ---- processes and kills ----------------------------------------------- */

static void
storm(unsigned kills, bool leak)
{
	pid_t pid[WORKERS];
	uint64_t seed = 4711;
	unsigned w, k;

	set_up();
	for (w = 0; w < WORKERS; w++)
		pid[w] = start_worker(w, w + 1);
	for (k = 1; k <= kills; k++) {
		uint64_t until =
		    tide_clock_mono_ns() + fixture_random(&seed) % 1500000;

		do
			round_once(leak);
		while (tide_clock_mono_ns() < until);
		w = (unsigned)(fixture_random(&seed) % WORKERS);
		kill_worker(&pid[w], w, k * 31 + w);
		if (!leak && k % 50 == 0) {
			/* one that was paused when killed counts no more */
			atomic_store(&sh->paused, 0);
			pause_all(WORKERS);
			check_accounts();
			go_on();
		}
	}
	atomic_store(&sh->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(waitpid(pid[w], NULL, 0) == pid[w]);
	round_once(false);
	if (!leak)
		check_accounts();
	printf("# %u kills, %llu drops added, %llu refused by full mailboxes, "
	       "%llu buckets made, %llu retired\n",
	    kills, (unsigned long long)all_added(),
	    (unsigned long long)atomic_load(&sh->lost),
	    (unsigned long long)atomic_load(&x.flow.head->created),
	    (unsigned long long)atomic_load(&x.flow.head->retired));
	check_whole();
	flow_fixture_free(&x);
}

static void
test_exact(void)
{
	storm(1000, false);
}

static void
test_leaking(void)
{
	storm(1000, true);
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
		round_once(true);
}

static void
test_collector_killed(void)
{
	pid_t pid[WORKERS], collector;
	struct tide_err err;
	uint64_t seed = 17;
	unsigned w, k;

	set_up();
	for (w = 0; w < WORKERS; w++)
		pid[w] = start_worker(w, w + 1);
	for (k = 0; k < 300; k++) {
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
		if (k % 10 == 0) {
			w = (unsigned)(fixture_random(&seed) % WORKERS);
			kill_worker(&pid[w], w, k * 31 + w);
		}
	}
	atomic_store(&sh->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(waitpid(pid[w], NULL, 0) == pid[w]);
	CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
	round_once(false);
	audit();
	printf("# 300 collectors killed over %llu drops\n",
	    (unsigned long long)all_added());
	check_whole();
	flow_fixture_free(&x);
}

/* ---- threads ----------------------------------------------------------- */

static void
threads(bool leak)
{
	pthread_t t[WORKERS];
	uintptr_t w;
	unsigned phase;

	set_up();
	for (w = 0; w < WORKERS; w++)
		CHECK(
		    pthread_create(&t[w], NULL, worker_thread, (void *)w) == 0);
	for (phase = 0; phase < 20; phase++) {
		uint64_t until = tide_clock_mono_ms() + 50;

		while (tide_clock_mono_ms() < until)
			round_once(leak);
		if (!leak) {
			pause_all(WORKERS);
			check_accounts();
			go_on();
		}
	}
	atomic_store(&sh->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(pthread_join(t[w], NULL) == 0);
	round_once(false);
	check_whole();
	flow_fixture_free(&x);
}

static void
test_threads(void)
{
	threads(false);
}

static void
test_threads_leaking(void)
{
	threads(true);
}

CHECK_CASES({ "threads: every drop accounted for", test_threads },
    { "threads, leaking: pool and strings are whole", test_threads_leaking },
    { "1,000 workers killed: every drop accounted for", test_exact },
    { "1,000 workers killed, leaking: pool and strings are whole",
	test_leaking },
    { "300 collectors killed: each successor rebuilds", test_collector_killed })
