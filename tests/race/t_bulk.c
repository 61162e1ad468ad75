/*
 * t_bulk - workers count copies of the same messages while generations turn
 * under them and some are killed: whatever was seen in this generation or the
 * one before is counted.
 *
 * Each message is a stretch of time: workers count copies of number n for a
 * while, then of n + 1.  Its copies fall into at most two generations when a
 * turn takes longer than a message, which the turner sees to.
 *
 *   STORM=1   more messages, more kills
 *
 * alone: those who race want all cores
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define WORKERS 4u
#define SLOTS 80u
#define COPIES 25u /* of a message, by each: at most 100 of 255 */

static const uint32_t slot_of[WORKERS] = { 0, 5, 63, 64 };
static const struct tide_counting_shape shape = {
	.cells = 4000, .capacity = 400, .positions = 5, .bits = 8
};

static struct {
	_Atomic uint32_t message, stop;
	_Atomic uint32_t done[WORKERS]; /* the message it has finished */
	_Atomic uint32_t seen;		/* copies of this message */
	_Atomic uint32_t short_of;	/* counts that fell short */
	struct tide_control control;
	struct tide_slot slots[SLOTS];
	_Alignas(64) char own[400000];
	_Alignas(64) char neighbours[20000];
} * shared;

static struct tide_bulk bulk;
static struct tide_map map = { .bulk = &bulk };

static void
set_up(void)
{
	if (shared == NULL)
		shared = check_shared(sizeof *shared);
	CHECK(tide_bulk_own_bytes(&shape, SLOTS) <= sizeof shared->own);
	CHECK(tide_bulk_neighbours_bytes(&shape) <= sizeof shared->neighbours);
	memset(shared, 0, sizeof *shared);
	map.control = &shared->control;
	map.slots = shared->slots;
	map.workers = (struct tide_workers){ shared->slots, SLOTS,
		&shared->control.epoch };
	fixture_serve(&map.workers);
	atomic_store(&shared->control.epoch, 1);
	tide_bulk_attach(
	    map.bulk, &shape, SLOTS, shared->own, shared->neighbours);
	tide_bulk_open(map.bulk, 1);
	srand(1);
}

static struct tide_hash
hash_of(uint64_t message)
{
	return (struct tide_hash){ .low = (message + 1) * 0x9e3779b97f4a7c15ull,
		.high = (message + 9) * 0xc4ceb9fe1a85ec53ull };
}

/* One more copy; the count has to reach what was there before it, and it. */
static void
see(uint32_t message, unsigned me)
{
	uint32_t before = atomic_load(&shared->seen);
	struct tide_bulk_count c;

	if (!tide_bulk_insert(map.bulk, &map.slots[slot_of[me]].epoch,
		&map.control->epoch, slot_of[me], hash_of(message), 1, &c) ||
	    (tide_bulk_total(&c) < before + 1 &&
		atomic_load(&shared->message) == message))
		atomic_fetch_add(&shared->short_of, 1);
	atomic_fetch_add(&shared->seen, 1);
}

static void
work(unsigned me)
{
	uint32_t message = atomic_load(&shared->done[me]);
	unsigned i;

	for (;;) {
		while (atomic_load(&shared->message) == message) {
			if (atomic_load(&shared->stop) != 0)
				return;
			(void)sched_yield();
		}
		message = atomic_load(&shared->message);
		for (i = 0; i < COPIES; i++) {
			see(message, me);
			if (i % 4 == me % 4)
				(void)sched_yield();
		}
		atomic_store(&shared->done[me], message);
	}
}

/* ---- the turner -------------------------------------------------------- */

static pid_t pids[WORKERS];

static void
start(unsigned me)
{
	pids[me] = fork();
	if (pids[me] == 0) {
		work(me);
		_exit(0);
	}
	CHECK(pids[me] > 0);
}

static void
kill_one(unsigned victim, uint32_t message)
{
	struct tide_slot *s = &map.slots[slot_of[victim]];

	(void)kill(pids[victim], SIGKILL);
	CHECK(waitpid(pids[victim], NULL, 0) == pids[victim]);
	tide_epoch_bury(&s->epoch);
	tide_counting_bury(&map.bulk->filter, slot_of[victim]);
	atomic_store(&shared->done[victim], message);
	start(victim);
}

/* At most one turn a message, so that its copies lie in two generations. */
static void
run(unsigned messages, bool with_kills)
{
	struct tide_bulk_turn turn = { 0 };
	unsigned turns = 0, i, looks, kill_at, turn_at;
	struct tide_bulk_count c;
	bool turned;
	uint32_t m;

	for (m = 1; m <= messages; m++) {
		atomic_store(&shared->seen, 0);
		atomic_store(&shared->message, m);
		turned = false;
		kill_at = with_kills ? (unsigned)rand() % 20 : UINT_MAX;
		turn_at = (unsigned)rand() % 10;
		for (i = 0, looks = 0; i < WORKERS;
		     i += atomic_load(&shared->done[i]) == m, looks++) {
			if (looks >= turn_at && !turned)
				turned = tide_bulk_round(
				    map.bulk, &map.workers, &turn, m, 0);
			if (looks == kill_at)
				kill_one((unsigned)rand() % WORKERS, m);
			(void)sched_yield();
		}
		turns += turned;
		CHECK(tide_bulk_look(map.bulk, hash_of(m), &c));
		CHECK_MSG(tide_bulk_total(&c) >= atomic_load(&shared->seen),
		    "%u of %u", tide_bulk_total(&c),
		    atomic_load(&shared->seen));
	}
	atomic_store(&shared->stop, 1);
	CHECK_MSG(turns > messages / 4, "%u turns", turns);
	CHECK_INT(atomic_load(&shared->short_of), 0);
}

static unsigned
rounds(unsigned n)
{
	return getenv("STORM") != NULL ? n * 20 : n;
}

static void
run_processes(bool with_kills)
{
	unsigned i;

	set_up();
	for (i = 0; i < WORKERS; i++)
		start(i);
	run(rounds(1000), with_kills);
	for (i = 0; i < WORKERS; i++)
		CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
}

static void
test_processes(void)
{
	run_processes(false);
}

static void
test_killed(void)
{
	run_processes(true);
}

static void *
work_as_thread(void *me)
{
	work((unsigned)(uintptr_t)me);
	return NULL;
}

static void
test_threads(void)
{
	pthread_t t[WORKERS];
	unsigned i;

	set_up();
	for (i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&t[i], NULL, work_as_thread,
			  (void *)(uintptr_t)i) == 0);
	run(rounds(300), false);
	for (i = 0; i < WORKERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

CHECK_CASES(
    { "generations turn under processes, nothing is lost", test_processes },
    { "nor when some are killed", test_killed },
    { "nor under threads", test_threads })
