/*
 * t_spam - generations begin while workers look: a report is met as long as
 * its generation is, and one that was revoked in the same generation is never
 * met, also if workers are killed in the middle of it.
 *
 * Every generation gets one report that stands (the same in all) and one that
 * is revoked before it is reported.  Without the wait at C1 a worker finds
 * the second in a place that is half zeroed, or misses the first.
 *
 * alone: those who race want all cores
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define READERS 4u
#define GENERATIONS 2u
#define TURNS 500u
#define KILLS 60u

static struct tide_hash_key key;
static struct tide_signatures standing, gone;
static struct tide_spam spam;

static struct world {
	struct tide_slot slot[READERS];
	tide_epoch epoch;
	_Atomic uint64_t looked[READERS], missed, wrong;
	_Atomic uint32_t stop;
} * world;

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct tide_signatures
message(uint64_t which)
{
	struct tide_signatures s;
	uint64_t name[2] = { which, 0 };

	memset(&s, 0, sizeof s);
	s.has_text = true;
	s.text = tide_hash(&key, name, sizeof name);
	s.samples = TIDE_SKETCH;
	for (name[1] = 1; name[1] <= TIDE_SKETCH; name[1]++)
		s.sample[name[1] - 1] = tide_hash(&key, name, sizeof name).low;
	qsort(s.sample, TIDE_SKETCH, sizeof *s.sample, by_value);
	return s;
}

/* Revoked first: whoever finds the report must find the revocation. */
static void
begin(uint64_t number)
{
	struct tide_workers workers = { world->slot, READERS, &world->epoch };
	struct tide_err err;

	CHECK_MSG(tide_spam_begin_generation(
		      &spam, &workers, number, number, 30000, &err) == 0,
	    "%s", err.text);
	tide_spam_put(&spam, number, TIDE_SPAM_REPORTED, &standing);
	tide_spam_put(&spam, number, TIDE_SPAM_REVOKED, &gone);
	tide_spam_put(&spam, number, TIDE_SPAM_REPORTED, &gone);
}

static void
set_up(void)
{
	struct tide_spam_shape s = tide_spam_size(100, 1e-6, GENERATIONS);
	struct tide_err err;

	CHECK(tide_hash_key_draw(&key, &err) == 0);
	standing = message(1);
	gone = message(2);
	world = check_shared(sizeof *world);
	atomic_store(&world->epoch, 1);
	fixture_serve(
	    &(struct tide_workers){ .slot = world->slot, .count = READERS });
	tide_spam_attach(&spam, check_shared(tide_spam_bytes(&s)), &s);
	begin(1);
	begin(2);
}

static void
look_around(unsigned me)
{
	struct tide_spam_match match;

	while (!atomic_load(&world->stop)) {
		if (!tide_spam_test(&spam, &world->slot[me].epoch,
			&world->epoch, &standing, &match))
			atomic_fetch_add(&world->missed, 1);
		if (tide_spam_test(&spam, &world->slot[me].epoch, &world->epoch,
			&gone, &match))
			atomic_fetch_add(&world->wrong, 1);
		atomic_fetch_add_explicit(
		    &world->looked[me], 1, memory_order_relaxed);
	}
}

static void
wait_until_all_look(void)
{
	unsigned i;

	for (i = 0; i < READERS; i++)
		while (atomic_load(&world->looked[i]) == 0)
			(void)usleep(100);
}

static void
check_all(void)
{
	CHECK_INT(atomic_load(&world->missed), 0);
	CHECK_INT(atomic_load(&world->wrong), 0);
}

/* ---- threads ----------------------------------------------------------- */

static void *
reader(void *arg)
{
	look_around((unsigned)(uintptr_t)arg);
	return NULL;
}

static void
in_threads(void)
{
	pthread_t t[READERS];
	uintptr_t i;

	set_up();
	for (i = 0; i < READERS; i++)
		CHECK(pthread_create(&t[i], NULL, reader, (void *)i) == 0);
	wait_until_all_look();
	for (i = 0; i < TURNS / 4; i++)
		begin(3 + i);
	atomic_store(&world->stop, 1);
	for (i = 0; i < READERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	check_all();
}

/* ---- processes that die ------------------------------------------------ */

static pid_t
start(unsigned me)
{
	pid_t pid = fork();

	if (pid == 0) {
		look_around(me);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

static void *
kill_some(void *arg)
{
	pid_t *pid = arg;
	unsigned i, me, seed = 7;

	for (i = 0; i < KILLS; i++) {
		me = (unsigned)rand_r(&seed) % READERS;
		(void)usleep((useconds_t)rand_r(&seed) % 2000);
		CHECK(kill(pid[me], SIGKILL) == 0);
		CHECK(waitpid(pid[me], NULL, 0) == pid[me]);
		tide_epoch_bury(&world->slot[me].epoch);
		pid[me] = start(me);
	}
	atomic_store(&world->stop, 1);
	return NULL;
}

static void
killed(void)
{
	pid_t pid[READERS];
	pthread_t killer;
	unsigned i;
	int status;

	set_up();
	for (i = 0; i < READERS; i++)
		pid[i] = start(i);
	wait_until_all_look();
	CHECK(pthread_create(&killer, NULL, kill_some, pid) == 0);
	for (i = 0; i < TURNS || !atomic_load(&world->stop); i++)
		begin(3 + i);
	CHECK(pthread_join(killer, NULL) == 0);
	for (i = 0; i < READERS; i++) {
		CHECK(waitpid(pid[i], &status, 0) == pid[i]);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	check_all();
}

CHECK_CASES({ "threads look while generations begin", in_threads },
    { "processes look and are killed", killed })
