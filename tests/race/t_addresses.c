/*
 * t_addresses - lists are replaced while workers look into them: each meets
 * the old list or the new one, never half, also if workers are killed in the
 * middle of it.
 *
 * Two lists take turns, each twice, so that every copy gets both.  Each has one element of every pair; so of a pair one
 * is found, whatever the list - unless a copy is read while it is filled.
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
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define READERS 4u
#define PAIRS 512u
#define ABSENT 1000u
#define INSTALLS 1200u
#define KILLS 60u

static struct tide_list_shape shape;
static struct tide_hash_key key;
static tide_bloom_word *list[2];

static struct world {
	struct tide_slot slot[READERS];
	tide_epoch epoch;
	_Atomic uint64_t looked[READERS], missed;
	_Atomic uint32_t stop;
} * world;

static struct tide_addresses addresses;

static struct tide_hash
element(uint64_t which, uint64_t i)
{
	uint64_t name[2] = { which, i };

	return tide_hash(&key, name, sizeof name);
}

static void
set_up(bool counting)
{
	struct tide_err err;
	unsigned which, i;

	CHECK(tide_hash_key_draw(&key, &err) == 0);
	/* small, so that a reader may see two lists come and go */
	shape = (struct tide_list_shape){ .bloom = tide_bloom_size(5000, 1e-6),
		.counting = counting };
	world = check_shared(sizeof *world);
	atomic_store(&world->epoch, 1);
	fixture_serve(
	    &(struct tide_workers){ .slot = world->slot, .count = READERS });
	tide_addresses_attach(
	    &addresses, check_shared(tide_addresses_size(&shape)), &shape);
	for (which = 0; which < 2; which++) {
		free(list[which]);
		list[which] = calloc(1, tide_list_bytes(&shape));
		CHECK(list[which] != NULL);
		for (i = 0; i < PAIRS; i++)
			(void)tide_list_add(
			    &shape, list[which], element(which, i));
	}
}

static void
install(unsigned which)
{
	struct tide_err err;
	struct tide_workers workers = { world->slot, READERS, &world->epoch };
	struct tide_addresses_fresh fresh = { .words = list[which],
		.version = which + 1 };

	CHECK_MSG(tide_addresses_install(
		      &addresses, &workers, &fresh, 30000, &err) == 0,
	    "%s", err.text);
}

static void
look_around(unsigned me)
{
	struct tide_hash some[ABSENT + 2];
	uint64_t i;

	/* many that are in neither list keep us inside for a while */
	for (i = 0; i < ABSENT; i++)
		some[i] = element(2, i);

	for (i = 0; !atomic_load(&world->stop); i++) {
		some[ABSENT] = element(0, i % PAIRS);
		some[ABSENT + 1] = element(1, i % PAIRS);
		if (tide_addresses_find(&addresses, &world->slot[me].epoch,
			&world->epoch, some, ABSENT + 2) < 0)
			atomic_fetch_add(&world->missed, 1);
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

/* ---- threads ----------------------------------------------------------- */

static void *
reader(void *arg)
{
	look_around((unsigned)(uintptr_t)arg);
	return NULL;
}

static void
in_threads(bool counting)
{
	pthread_t t[READERS];
	uintptr_t i;

	set_up(counting);
	install(0);
	for (i = 0; i < READERS; i++)
		CHECK(pthread_create(&t[i], NULL, reader, (void *)i) == 0);
	wait_until_all_look();
	for (i = 0; i < INSTALLS / 4; i++)
		install((unsigned)i / 2 % 2);
	atomic_store(&world->stop, 1);
	for (i = 0; i < READERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK_INT(atomic_load(&world->missed), 0);
}

static void
plain_threads(void)
{
	in_threads(false);
}

static void
counting_threads(void)
{
	in_threads(true);
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

/* As the acceptor does: the slot is buried once the process is reaped. */
static void
kill_one(pid_t *pid, unsigned me)
{
	CHECK(kill(*pid, SIGKILL) == 0);
	CHECK(waitpid(*pid, NULL, 0) == *pid);
	tide_epoch_bury(&world->slot[me].epoch);
	*pid = start(me);
}

static void *
kill_some(void *arg)
{
	pid_t *pid = arg;
	unsigned i, me, seed = 7;

	for (i = 0; i < KILLS; i++) {
		me = (unsigned)rand_r(&seed) % READERS;
		(void)usleep((useconds_t)rand_r(&seed) % 2000);
		kill_one(&pid[me], me);
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

	set_up(false);
	install(0);
	for (i = 0; i < READERS; i++)
		pid[i] = start(i);
	wait_until_all_look();
	CHECK(pthread_create(&killer, NULL, kill_some, pid) == 0);
	for (i = 0; i < INSTALLS || !atomic_load(&world->stop); i++)
		install(i / 2 % 2);
	CHECK(pthread_join(killer, NULL) == 0);
	for (i = 0; i < READERS; i++) {
		CHECK(waitpid(pid[i], &status, 0) == pid[i]);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	CHECK_INT(atomic_load(&world->missed), 0);
}

/* Who stays inside keeps its copy; installing says so and changes nothing. */
static void
stopped_reader(void)
{
	struct tide_workers workers;
	struct tide_addresses_fresh fresh = { .words = list[1] };
	struct tide_hash h;
	struct tide_err err;

	set_up(false);
	workers = (struct tide_workers){ world->slot, READERS, &world->epoch };
	fresh.words = list[1];
	install(0);
	tide_epoch_enter(&world->slot[2].epoch, &world->epoch);
	CHECK(
	    tide_addresses_install(&addresses, &workers, &fresh, 20, &err) < 0);
	h = element(0, 5);
	CHECK_INT(tide_addresses_find(&addresses, NULL, NULL, &h, 1), 0);
	tide_epoch_leave(&world->slot[2].epoch);
	install(1);
	CHECK_INT(tide_addresses_find(&addresses, NULL, NULL, &h, 1), -1);
}

CHECK_CASES({ "threads look while lists are replaced", plain_threads },
    { "the same with cells that count", counting_threads },
    { "processes look and are killed", killed },
    { "a stopped reader keeps its list", stopped_reader })
