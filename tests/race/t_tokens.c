/*
 * t_tokens - many take from a small table at once, are stopped between any
 * two steps and killed there: no account gets more than beta + rho t, none
 * ever stands in two open slots, and what the killed leave blocks nobody.
 *
 * The table's code is compiled in with a hook between its steps, which gives
 * way to others now and then, or dies.
 *
 * alone: those who race want all cores
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "noise.h"

#define TIDE_TOKENS_STEP() noise_step(100)
#include "../../daemon/lib/flow/tokens.c"
#include "../../daemon/lib/flow/tokens_table.c"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define TAKERS 4u
#define ACCOUNTS 160u
#define SLOTS 64u
#define T0 5000000u
#define BURST 5u

static struct shared {
	_Alignas(64) struct tide_tokens_slot slots[SLOTS];
	_Alignas(64) _Atomic uint64_t now; /* the clock everybody reads */
	_Alignas(64) _Atomic uint64_t reading[TAKERS]; /* 0: outside */
	_Atomic uint64_t taken[ACCOUNTS];
	_Atomic uint64_t uncounted, twice;
	atomic_bool stop;
} * shared;

static struct tide_tokens table;
static struct tide_allowance allowance;

/* ---- the table ---------------------------------------------------------- */

static struct tide_hash
account(uint64_t i)
{
	i = (i + 1) * 0x9e3779b97f4a7c15ull;
	return (struct tide_hash){ .low = i, .high = i * 31 >> 2 };
}

static void
set_up(uint64_t count, uint64_t period_ms)
{
	struct tide_rate rate = { count, period_ms };
	struct tide_err err;

	if (shared == NULL)
		shared = check_shared(sizeof *shared);
	memset((void *)shared, 0, sizeof *shared);
	atomic_store(&shared->now, T0);
	table = (struct tide_tokens){ shared->slots, SLOTS };
	CHECK(tide_allowance_make(&allowance, BURST, rate, &err) == 0);
	noise = 0;
	die_in = 0;
}

static enum tide_tokens_result
take_one(uint64_t who, uint64_t now)
{
	struct tide_take t = {
		.key = account(who), .allowance = allowance, .cost = TIDE_TOKEN
	};
	enum tide_tokens_result r = tide_tokens_take(&table, &t, now);

	if (r == TIDE_TOKENS_TAKEN)
		atomic_fetch_add(&shared->taken[who], 1);
	else if (r == TIDE_TOKENS_UNCOUNTED)
		atomic_fetch_add(&shared->uncounted, 1);
	return r;
}

/* ---- the auditor -------------------------------------------------------- */

static bool
is_open(struct tide_tokens_slot *s, uint64_t *tag)
{
	uint64_t word;
	enum condition c;

	*tag = atomic_load(&s->tag);
	word = atomic_load(&s->word);
	c = condition_of(*tag, word);
	return state_of(*tag) == LIVE && (c == OPEN || c == FRESH);
}

/* Open before and after another slot of the same account was seen open. */
static bool
open_twice(unsigned i, unsigned j)
{
	uint64_t first, other, again;

	return is_open(&shared->slots[i], &first) &&
	    is_open(&shared->slots[j], &other) &&
	    ((first ^ other) & PRINT_MASK) == 0 &&
	    is_open(&shared->slots[i], &again) && first == again;
}

static void
audit(void)
{
	unsigned i, j;

	for (i = 0; i < SLOTS; i++)
		for (j = 0; j < SLOTS; j++)
			if (i != j && open_twice(i, j))
				atomic_fetch_add(&shared->twice, 1);
}

static void *
auditor(void *arg)
{
	(void)arg;
	while (!atomic_load(&shared->stop))
		audit();
	return NULL;
}

/* ---- the clock ---------------------------------------------------------- */

/* Ahead by a step, but never so far that a taker's time is stale. */
static void
advance(uint64_t by)
{
	uint64_t now = atomic_load(&shared->now) + by, r;
	unsigned i;

	for (i = 0; i < TAKERS; i++) {
		r = atomic_load(&shared->reading[i]);
		if (r != 0 && now - r >= TIDE_TOKENS_STALE_MS)
			return;
	}
	atomic_store(&shared->now, now);
}

/* Read it, and say so first: what is announced is never newer. */
static uint64_t
read_clock(unsigned me)
{
	uint64_t now;

	do {
		now = atomic_load(&shared->now);
		atomic_store(&shared->reading[me], now);
	} while (now != atomic_load(&shared->now));
	return now;
}

static void
take_on(unsigned me, unsigned accounts, uint64_t rounds)
{
	uint64_t i, who;

	noise = me * 7919 + 12345 + rounds % 65536;
	for (i = 0; i < rounds && !atomic_load(&shared->stop); i++) {
		who = draw(accounts);
		(void)take_one(who, read_clock(me));
		(void)take_one(who, read_clock(me));
		atomic_store(&shared->reading[me], 0);
	}
}

/* So many that slots must have been inherited many times. */
static uint64_t
enough(unsigned accounts)
{
	return 2 * BURST * (uint64_t)accounts;
}

static uint64_t
sum_taken(void)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < ACCOUNTS; i++)
		sum += atomic_load(&shared->taken[i]);
	return sum;
}

/* Nobody above beta + rho t; and the table was really shared. */
static void
check_envelope(unsigned accounts)
{
	uint64_t passed = atomic_load(&shared->now) - T0, most;
	unsigned i;

	most = BURST + (passed << TICK_BITS) / allowance.token;
	for (i = 0; i < accounts; i++) {
		CHECK_MSG(atomic_load(&shared->taken[i]) <= most,
		    "account %u took %llu, %llu at most", i,
		    (unsigned long long)atomic_load(&shared->taken[i]),
		    (unsigned long long)most);
	}
	CHECK_INT(atomic_load(&shared->twice), 0);
	CHECK_MSG(sum_taken() > enough(accounts), "only %llu taken",
	    (unsigned long long)sum_taken());
}

/* ---- threads ------------------------------------------------------------ */

#ifdef __SANITIZE_THREAD__
#define SLOWER 10
#else
#define SLOWER 1
#endif

static void *
first_burst(void *arg)
{
	uint64_t who = (uintptr_t)arg >> 8;

	noise = ((uintptr_t)arg & 255) * 7919 + who + 1;
	while (take_one(who % ACCOUNTS, atomic_load(&shared->now)) ==
	    TIDE_TOKENS_TAKEN)
		;
	return NULL;
}

/* All at once on an account that nobody knows, among slots to inherit. */
static void
test_first_burst(void)
{
	pthread_t t[TAKERS];
	uintptr_t i, who;

	set_up(1, 1000);
	for (who = 0; who < 3000 / SLOWER; who++) {
		atomic_store(&shared->taken[who % ACCOUNTS], 0);
		for (i = 0; i < TAKERS; i++)
			CHECK(pthread_create(&t[i], NULL, first_burst,
				  (void *)(who << 8 | i)) == 0);
		for (i = 0; i < TAKERS; i++)
			CHECK(pthread_join(t[i], NULL) == 0);
		CHECK_INT(atomic_load(&shared->taken[who % ACCOUNTS]), BURST);
		audit();
		CHECK_INT(atomic_load(&shared->twice), 0);
		atomic_fetch_add(&shared->now, 2000);
	}
	CHECK_INT(atomic_load(&shared->uncounted), 0);
}

static unsigned accounts_now;

static void *
taker(void *arg)
{
	take_on((unsigned)(uintptr_t)arg, accounts_now, UINT64_MAX);
	return NULL;
}

static void
run_threads(unsigned accounts, uint64_t clock_step)
{
	pthread_t t[TAKERS], a;
	uintptr_t i;
	unsigned n;

	accounts_now = accounts;
	for (i = 0; i < TAKERS; i++)
		CHECK(pthread_create(&t[i], NULL, taker, (void *)i) == 0);
	CHECK(pthread_create(&a, NULL, auditor, NULL) == 0);
	for (n = 0; n < 2000 || (sum_taken() <= enough(accounts) && n < 200000);
	     n++) {
		advance(clock_step);
		(void)usleep(100);
	}
	atomic_store(&shared->stop, true);
	for (i = 0; i < TAKERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(pthread_join(a, NULL) == 0);
}

static void
test_one_account(void)
{
	set_up(1, 1000);
	run_threads(1, 100);
	check_envelope(1);
	CHECK_INT(atomic_load(&shared->uncounted), 0);
}

static void
test_threads(void)
{
	set_up(1, 1000);
	run_threads(ACCOUNTS, 20000);
	check_envelope(ACCOUNTS);
}

/* With a collector that sweeps all the while. */
static void *
sweeper(void *arg)
{
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };

	(void)arg;
	noise = 4711;
	while (!atomic_load(&shared->stop))
		tide_tokens_sweep(&table, draw(SLOTS), 8,
		    atomic_load(&shared->now), 5000, &sum);
	return NULL;
}

static void
test_swept(void)
{
	pthread_t s;

	set_up(1, 1000);
	CHECK(pthread_create(&s, NULL, sweeper, NULL) == 0);
	run_threads(ACCOUNTS, 20000);
	CHECK(pthread_join(s, NULL) == 0);
	check_envelope(ACCOUNTS);
}

/* ---- killed ------------------------------------------------------------- */

/* Crowd the block, so that the next must inherit. */
static void
crowd(uint64_t now)
{
	unsigned i;

	for (i = 0; i < SLOTS; i++)
		CHECK(take_one(1 + i, now) == TIDE_TOKENS_TAKEN);
}

static bool
die_at(uint32_t n, uint64_t now)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		die_in = n;
		(void)take_one(0, now);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status);
}

/* Killed at its n-th step, for every n: the account has lost one at most. */
static void
test_each_step(void)
{
	struct tide_tokens_sweep sum;
	uint64_t later = T0 + 100000, got;
	uint32_t n, swept;
	bool died = true;

	for (n = 1; died; n++) {
		for (swept = 0; swept < 2; swept++) {
			set_up(1, 1000);
			crowd(T0);
			died = die_at(n, later);
			memset(&sum, 0, sizeof sum);
			if (swept)
				tide_tokens_sweep(
				    &table, 0, SLOTS, later, 5000, &sum);
			CHECK(sum.cleared <= 1);
			atomic_store(&shared->taken[0], 0);
			while (take_one(0, later) == TIDE_TOKENS_TAKEN)
				;
			got = atomic_load(&shared->taken[0]);
			CHECK(got == BURST || got == BURST - 1);
			CHECK(!died || n < 60 || got == BURST);
			audit();
			CHECK_INT(atomic_load(&shared->twice), 0);
			CHECK_INT(atomic_load(&shared->uncounted), 0);
		}
	}
	CHECK(n > 100); /* two looks at 64 slots, and the steps between */
}

static pid_t
start_process(unsigned me, unsigned n)
{
	pid_t pid = fork();

	if (pid == 0) {
		die_in = n % 3 == 0 ? 1 + (uint32_t)rand() % 4000 : 0;
		take_on(me, ACCOUNTS, 1000000 + n);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

static void
replace(pid_t *pid, unsigned me, unsigned n)
{
	(void)kill(*pid, SIGKILL);
	CHECK(waitpid(*pid, NULL, 0) == *pid);
	atomic_store(&shared->reading[me], 0);
	*pid = start_process(me, n);
}

static void
test_killed(void)
{
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };
	pid_t pid[TAKERS];
	unsigned i, n;

	set_up(1, 1000);
	for (i = 0; i < TAKERS; i++)
		pid[i] = start_process(i, i + 1);
	for (n = 0; n < 1500 / SLOWER ||
	     (sum_taken() <= enough(ACCOUNTS) && n < 20000);
	     n++) {
		(void)usleep((useconds_t)rand() % 1000);
		replace(&pid[n % TAKERS], n % TAKERS, n);
		advance(20000);
		audit();
		if (n % 50 == 0)
			tide_tokens_sweep(&table, 0, SLOTS,
			    atomic_load(&shared->now), 5000, &sum);
	}
	atomic_store(&shared->stop, true);
	for (i = 0; i < TAKERS; i++)
		CHECK(waitpid(pid[i], NULL, 0) == pid[i]);
	check_envelope(ACCOUNTS);
	/* a new day: whatever was left, all is to be had */
	atomic_fetch_add(&shared->now, 86400000);
	tide_tokens_sweep(
	    &table, 0, SLOTS, atomic_load(&shared->now), 5000, &sum);
	crowd(atomic_load(&shared->now));
}

CHECK_CASES({ "a new account's first burst is exact", test_first_burst },
    { "one account, many takers", test_one_account },
    { "many accounts inherit few slots", test_threads },
    { "the same, swept all the while", test_swept },
    { "killed at each step", test_each_step },
    { "processes are killed", test_killed })
