/*
 * t_ring - many write a tiny ring at once, are stopped between any two steps
 * and killed there; readers never see a mixture, and what the killed leave
 * behind is taken over.
 *
 * Every word of a record tells who wrote it and when, so that a mixture shows.
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

#define TIDE_RING_STEP() noise_step(50)
#include "../../daemon/lib/shared/ring.c"
#include "tidemark/shared/ring.h"

#define WRITERS 4u
#define CAPACITY 4u /* lapped all the time */
#define ROUNDS 20000u

static struct tide_ring ring;
static struct shared {
	_Atomic uint64_t seen, torn, written;
	atomic_bool stop;
} * shared;

/* ---- writers and readers ----------------------------------------------- */

static void
set_up(void)
{
	size_t size = tide_ring_size(CAPACITY) + sizeof *shared + 64;
	char *p = check_shared(size);

	ring.region = (struct tide_ring_region *)(void *)p;
	ring.capacity = CAPACITY;
	shared = (struct shared *)(void *)(p + tide_ring_size(CAPACITY));
	noise = 0;
	die_in = 0;
}

static void
write_some(unsigned who, uint64_t rounds)
{
	uint64_t word[TIDE_DECISION_WORDS], i;
	struct tide_decision d;
	size_t k;

	noise = who * 7919 + 12345;
	for (i = 0; i < rounds && !atomic_load(&shared->stop); i++) {
		for (k = 0; k < TIDE_DECISION_WORDS; k++)
			word[k] = (uint64_t)who << 32 | (i & 0x7fffff);
		memcpy(&d, word, sizeof d);
		if (tide_ring_put(&ring, &d))
			atomic_fetch_add(&shared->written, 1);
	}
}

/* The last byte of each text is made a NUL: of a word's top, which is 0. */
static bool
is_whole(const struct tide_decision *d)
{
	uint64_t word[TIDE_DECISION_WORDS];
	size_t k;

	memcpy(word, d, sizeof word);
	for (k = 1; k < TIDE_DECISION_WORDS; k++)
		if (word[k] != word[0])
			return false;
	return true;
}

static void *
read_on(void *arg)
{
	struct tide_decision d;
	uint64_t n;

	(void)arg;
	noise = 4711;
	while (!atomic_load(&shared->stop)) {
		for (n = tide_ring_oldest(&ring); n < tide_ring_next(&ring);
		     n++) {
			if (tide_ring_get(&ring, n, &d) != TIDE_RING_HERE)
				continue;
			atomic_fetch_add(&shared->seen, 1);
			if (!is_whole(&d))
				atomic_fetch_add(&shared->torn, 1);
		}
		(void)sched_yield();
	}
	return NULL;
}

static pthread_t
start_reader(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, read_on, NULL) == 0);
	return t;
}

static void
end_reader(pthread_t t)
{
	atomic_store(&shared->stop, true);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK_INT(atomic_load(&shared->torn), 0);
	CHECK(atomic_load(&shared->seen) > 0);
}

/* ---- cases ------------------------------------------------------------- */

static void *
writer(void *arg)
{
	write_some((unsigned)(uintptr_t)arg, ROUNDS);
	return NULL;
}

static void
threads_tear_nothing(void)
{
	pthread_t reader, t[WRITERS];
	uintptr_t i;

	set_up();
	reader = start_reader();
	for (i = 0; i < WRITERS; i++)
		CHECK(pthread_create(&t[i], NULL, writer, (void *)i) == 0);
	for (i = 0; i < WRITERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	end_reader(reader);
	CHECK_INT(tide_ring_next(&ring), (uint64_t)WRITERS * ROUNDS);
	CHECK_INT(
	    atomic_load(&shared->written) + atomic_load(&ring.region->given_up),
	    (uint64_t)WRITERS * ROUNDS);
}

static pid_t
fork_writer(unsigned who, uint32_t dies_in)
{
	pid_t pid = fork();

	if (pid == 0) {
		die_in = dies_in;
		write_some(who, 500);
		_exit(0);
	}
	return pid;
}

static void
the_killed_harm_nobody(void)
{
	struct tide_decision d;
	pthread_t reader;
	unsigned round, i;
	pid_t pid[WRITERS];

	set_up();
	reader = start_reader();
	for (round = 0; round < 100; round++) {
		for (i = 0; i < WRITERS; i++)
			pid[i] = fork_writer(round * WRITERS + i,
			    1 + (round * 37 + i * 11) % 900);
		for (i = 0; i < WRITERS; i++)
			CHECK(waitpid(pid[i], NULL, 0) == pid[i]);
	}
	end_reader(reader);
	/* two laps by the living, and every entry is in use again */
	atomic_store(&shared->stop, false);
	write_some(1, 2 * CAPACITY);
	for (i = 1; i <= CAPACITY; i++)
		CHECK_INT(tide_ring_get(&ring, tide_ring_next(&ring) - i, &d),
		    TIDE_RING_HERE);
}

/* Dead at each step of one put in turn. */
static void
killed_at_every_step(void)
{
	struct tide_decision d;
	uint64_t n;
	uint32_t at;
	pid_t pid;

	for (at = 1; at < TIDE_DECISION_WORDS + 4; at++) {
		set_up();
		pid = fork_writer(3, at);
		CHECK(waitpid(pid, NULL, 0) == pid);
		CHECK_INT(tide_ring_next(&ring), 1);
		CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_NOT_YET);
		write_some(1, 3 * CAPACITY);
		for (n = 2 * CAPACITY + 1; n <= 3 * CAPACITY; n++)
			CHECK_INT(tide_ring_get(&ring, n, &d), TIDE_RING_HERE);
	}
}

CHECK_CASES({ "writers and a reader in threads: nothing is torn",
		threads_tear_nothing },
    { "killed writers: nothing is torn, every entry lives on",
	the_killed_harm_nobody },
    { "killed at every step: the next laps take over", killed_at_every_step })
