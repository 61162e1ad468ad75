/*
 * t_bloom - many add to one filter: nothing that was added is missing, and
 * whoever is killed midway harms only its own last element.
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
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"

#define ADDERS 4
#define EACH 400000u
#define KILLS 40

static struct tide_bloom_shape shape;
static struct tide_hash_key key;

static struct {
	_Atomic uint64_t done[ADDERS]; /* added for certain */
	tide_bloom_word words[];
} * shared;

static struct tide_hash
element(uint64_t adder, uint64_t i)
{
	uint64_t name[2] = { adder, i };

	return tide_hash(&key, name, sizeof name);
}

static void
set_up(void)
{
	struct tide_err err;
	unsigned i;

	shape = tide_bloom_size(ADDERS * (uint64_t)EACH, 0.001);
	CHECK(tide_hash_key_draw(&key, &err) == 0);
	if (shared == NULL)
		shared =
		    check_shared(sizeof *shared + tide_bloom_bytes(&shape));
	for (i = 0; i < shape.bits / 64; i++)
		atomic_store(&shared->words[i], 0);
	for (i = 0; i < ADDERS; i++)
		atomic_store(&shared->done[i], 0);
}

static void
add_on(uint64_t adder)
{
	uint64_t i;

	for (i = atomic_load(&shared->done[adder]); i < EACH; i++) {
		(void)tide_bloom_add(&shape, shared->words, element(adder, i));
		atomic_store_explicit(
		    &shared->done[adder], i + 1, memory_order_release);
	}
}

static void
check_all(void)
{
	uint64_t adder, i, missing = 0;

	for (adder = 0; adder < ADDERS; adder++) {
		CHECK_INT(atomic_load(&shared->done[adder]), EACH);
		for (i = 0; i < EACH; i++)
			missing += !tide_bloom_has(
			    &shape, shared->words, element(adder, i));
	}
	CHECK_INT(missing, 0);
}

static void *
adder_thread(void *arg)
{
	add_on((uint64_t)(uintptr_t)arg);
	return NULL;
}

static void
test_threads(void)
{
	pthread_t t[ADDERS];
	uintptr_t i;

	set_up();
	for (i = 0; i < ADDERS; i++)
		CHECK(
		    pthread_create(&t[i], NULL, adder_thread, (void *)i) == 0);
	for (i = 0; i < ADDERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	check_all();
}

static pid_t
start_process(uint64_t adder)
{
	pid_t pid = fork();

	if (pid == 0) {
		add_on(adder);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

static void
test_killed(void)
{
	pid_t pid[ADDERS];
	unsigned i, kills, victim;

	set_up();
	for (i = 0; i < ADDERS; i++)
		pid[i] = start_process(i);
	for (kills = 0; kills < KILLS; kills++) {
		victim = (unsigned)rand() % ADDERS;
		(void)usleep((useconds_t)rand() % 500);
		(void)kill(pid[victim], SIGKILL);
		CHECK(waitpid(pid[victim], NULL, 0) == pid[victim]);
		pid[victim] = start_process(victim);
	}
	for (i = 0; i < ADDERS; i++)
		CHECK(waitpid(pid[i], NULL, 0) == pid[i]);
	check_all();
}

CHECK_CASES({ "threads add, none is lost", test_threads },
    { "processes add and are killed, none is lost", test_killed })
