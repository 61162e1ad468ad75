/*
 * t_counting - many insert the same messages at once and are killed midway:
 * no count is ever below the copies inserted.  The naive form, in the same
 * harness, is.
 *
 * The filter is compiled in with a hook between its steps, where inserters
 * yield now and then (two processors alone seldom meet) or die.
 *
 *   STORM=1   more rounds, more kills, other messages
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

static void at_step(void);
#define TIDE_COUNTING_AT(step) at_step()
#include "../../daemon/lib/reputation/counting.c"

#include "check.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"

#define WORKERS 4u
#define SLOTS 192u
#define KEYS 8u

/* Different words of a stripe, and both ends of one. */
static const uint32_t slot_of[WORKERS] = { 0, 63, 64, 190 };

static struct {
	_Atomic uint32_t round, stop;
	_Atomic uint32_t done[WORKERS]; /* the round it has finished */
	_Atomic uint32_t inserted[KEYS];
	_Alignas(64) char books[SLOTS * 64 + TIDE_COUNTING_STRIPES * 3 * 8];
	tide_counting_word cells[1024];
} * shared;

static struct tide_counting f;
static bool naive;
static unsigned keys, each;
static unsigned long undercounts, inserts;

/* ---- between two steps ------------------------------------------------- */

static _Thread_local uint64_t seed = 1;
static _Thread_local int die_in = -1; /* steps left to live */

static uint64_t
draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545F4914F6CDD1Dull >> 11;
}

static void
at_step(void)
{
	if (die_in >= 0 && die_in-- == 0)
		(void)kill(getpid(), SIGKILL);
	if (draw() % 16 == 0)
		(void)sched_yield();
}

/* ---- what they do ------------------------------------------------------ */

static struct tide_counting_key
key_of(unsigned x)
{
	struct tide_hash h = { .low = (x + 1) * 0x9e3779b97f4a7c15ull,
		.high = (x + 3) * 0xc4ceb9fe1a85ec53ull };
	struct tide_counting_key key;

	tide_counting_find(&f, h, &key);
	return key;
}

/* Raise, one after the other, the cells that were read as the least. */
static void
insert_naively(const struct tide_counting_key *key, uint32_t n)
{
	uint32_t v[TIDE_COUNTING_POSITIONS], i, least = BEYOND;

	for (i = 0; i < key->cells; i++) {
		v[i] = read_cell(shared->cells, key->at[i], f.most);
		least = v[i] < least ? v[i] : least;
		at_step();
	}
	for (i = 0; i < key->cells; i++) {
		if (v[i] < least + n)
			(void)raise_cell(&shared->cells[key->at[i] >> 6],
			    key->at[i], f.most, least + n - v[i]);
		at_step();
	}
}

static void
insert(unsigned x, uint32_t slot, uint32_t n)
{
	struct tide_counting_key key = key_of(x);

	if (naive)
		insert_naively(&key, n);
	else
		(void)tide_counting_insert(&f, shared->cells, &key, slot, n);
	atomic_fetch_add(&shared->inserted[x], n);
}

static void
work(unsigned me, uint32_t round)
{
	unsigned i;

	seed = (me + 1) * 7919u + (uint64_t)getpid();
	for (;;) {
		while (atomic_load(&shared->round) == round) {
			if (atomic_load(&shared->stop) != 0)
				return;
			(void)sched_yield();
		}
		round = atomic_load(&shared->round);
		for (i = 0; i < each; i++)
			insert((unsigned)(draw() % keys), slot_of[me],
			    draw() % 4 == 0 ? 2 : 1);
		atomic_store(&shared->done[me], round);
	}
}

/* ---- the one who checks ------------------------------------------------ */

static void
look(void)
{
	struct tide_counting_key key;
	uint32_t truth, x;

	for (x = 0; x < keys; x++) {
		truth = atomic_load(&shared->inserted[x]);
		truth = truth < f.most ? truth : f.most;
		key = key_of(x);
		if (tide_counting_count(&f, shared->cells, &key) < truth)
			undercounts++;
	}
}

static void
next_round(void)
{
	unsigned i;

	for (i = 0; i < KEYS; i++)
		inserts += atomic_exchange(&shared->inserted[i], 0);
	for (i = 0; i < 1024; i++)
		atomic_store(&shared->cells[i], 0);
	atomic_fetch_add(&shared->round, 1);
}

static bool
is_done(unsigned worker)
{
	return atomic_load(&shared->done[worker]) ==
	    atomic_load(&shared->round);
}

static void
set_up(uint64_t m, unsigned how_many, bool naively)
{
	struct tide_counting_shape shape = {
		.cells = m, .capacity = m, .positions = 4, .bits = 8
	};

	if (shared == NULL)
		shared = check_shared(sizeof *shared);
	CHECK(tide_counting_books_bytes(SLOTS) <= sizeof shared->books);
	CHECK(tide_counting_bytes(&shape) <= sizeof shared->cells);
	memset(shared, 0, sizeof *shared);
	tide_counting_attach(&f, &shape, SLOTS, shared->books);
	keys = how_many;
	each = 80 * keys / WORKERS;
	naive = naively;
	undercounts = inserts = 0;
	srand(1);
}

static unsigned
rounds(unsigned n)
{
	return getenv("STORM") != NULL ? n * 20 : n;
}

/* Nobody is registered once all is over. */
static unsigned
left_registered(void)
{
	unsigned i, n = 0;

	for (i = 0; i < TIDE_COUNTING_STRIPES * f.words_a_stripe; i++)
		n += atomic_load(&f.stripe[i]) != 0;
	return n;
}

/* ---- processes --------------------------------------------------------- */

static pid_t pids[WORKERS];

static void
start(unsigned me)
{
	uint32_t round = atomic_load(&shared->round);

	pids[me] = fork();
	if (pids[me] == 0) {
		work(me, round);
		_exit(0);
	}
	CHECK(pids[me] > 0);
}

static void
kill_one(unsigned victim)
{
	(void)kill(pids[victim], SIGKILL);
	CHECK(waitpid(pids[victim], NULL, 0) == pids[victim]);
	if (rand() % 2 == 0) /* at once, or when all others are done */
		tide_counting_bury(&f, slot_of[victim]);
	atomic_store(&shared->done[victim], atomic_load(&shared->round));
}

static void
run_processes(unsigned how_many, bool with_kills)
{
	unsigned i, r, victim, looks;

	for (i = 0; i < WORKERS; i++)
		start(i);
	for (r = 0; r < how_many; r++) {
		next_round();
		victim = with_kills ? (unsigned)rand() % WORKERS : WORKERS;
		looks = (unsigned)rand() % 8;
		for (i = 0; i < WORKERS; i += is_done(i)) {
			look();
			if (victim < WORKERS && looks-- == 0)
				kill_one(victim);
			(void)sched_yield();
		}
		look();
		if (victim < WORKERS && looks > 8) { /* it was killed */
			tide_counting_bury(&f, slot_of[victim]);
			start(victim);
		}
	}
	atomic_store(&shared->stop, 1);
	for (i = 0; i < WORKERS; i++)
		CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
}

static void
test_naive(void)
{
	set_up(4096, KEYS, true);
	run_processes(rounds(300), false);
	CHECK_MSG(undercounts > 0, "none in %lu inserts", inserts);
}

static void
test_processes(void)
{
	set_up(4096, KEYS, false);
	run_processes(rounds(300), false);
	CHECK_MSG(undercounts == 0, "%lu in %lu inserts", undercounts, inserts);
	CHECK_INT(left_registered(), 0);
}

static void
test_shared_cells(void)
{
	set_up(40, KEYS, false);
	run_processes(rounds(300), false);
	CHECK_MSG(undercounts == 0, "%lu in %lu inserts", undercounts, inserts);
}

static void
test_one_message(void)
{
	set_up(4096, 1, false);
	run_processes(rounds(600), false);
	CHECK_MSG(undercounts == 0, "%lu in %lu inserts", undercounts, inserts);
}

static void
test_killed(void)
{
	set_up(200, KEYS, false);
	run_processes(rounds(300), true);
	CHECK_MSG(undercounts == 0, "%lu in %lu inserts", undercounts, inserts);
	CHECK_INT(left_registered(), 0);
}

/* Dead between any two steps, buried or not: others count on, and right. */
static void
killed_at_each_step(unsigned x)
{
	struct tide_counting_key key;
	unsigned step, i;
	int status;
	pid_t pid;

	set_up(4096, KEYS, false);
	for (step = 0; step < 40; step++) {
		next_round();
		insert(x, 0, 3);
		pid = fork();
		if (pid == 0) {
			die_in = (int)step;
			insert(x, 64, 1);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		for (i = 0; i < 5; i++) {
			insert(x, 0, 1);
			insert((x + 1) % KEYS, 0, 1);
			look();
		}
		tide_counting_bury(&f, 64);
		CHECK_INT(left_registered(), 0);
		key = key_of(x);
		CHECK(tide_counting_count(&f, shared->cells, &key) <=
		    atomic_load(&shared->inserted[x]) + 1);
		if (WIFEXITED(status))
			break;
	}
	CHECK_MSG(step > 8, "%u steps only", step);
	CHECK_INT(undercounts, 0);
}

static void
test_killed_at_each_step(void)
{
	unsigned x;

	if (getenv("STORM") == NULL)
		killed_at_each_step(0);
	else
		for (x = 1; x < KEYS; x++)
			killed_at_each_step(x);
}

/* ---- threads ----------------------------------------------------------- */

static void *
work_as_thread(void *me)
{
	work((unsigned)(uintptr_t)me, 0);
	return NULL;
}

static void
test_threads(void)
{
	pthread_t t[WORKERS];
	unsigned r, i;

	set_up(100, KEYS, false);
	for (i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&t[i], NULL, work_as_thread,
			  (void *)(uintptr_t)i) == 0);
	for (r = 0; r < rounds(100); r++) {
		next_round();
		for (i = 0; i < WORKERS; i += is_done(i)) {
			look();
			(void)sched_yield();
		}
		look();
	}
	atomic_store(&shared->stop, 1);
	for (i = 0; i < WORKERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK_MSG(undercounts == 0, "%lu in %lu inserts", undercounts, inserts);
}

CHECK_CASES({ "the naive form counts too little", test_naive },
    { "processes insert at once, none is lost", test_processes },
    { "nor where keys share their cells", test_shared_cells },
    { "nor of one message alone", test_one_message },
    { "killed anywhere, none is lost", test_killed },
    { "killed at each step, none is lost", test_killed_at_each_step },
    { "threads insert at once, none is lost", test_threads })
