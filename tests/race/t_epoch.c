/*
 * t_epoch - the epoch protocol, and what becomes of it when weakened.
 *
 * One worker enters, loads what is current, adds to it, leaves.  The collector
 * replaces what is current, waits for quiet, and then looks at the old one
 * twice: if it still changes, the collector would have taken a window that a
 * worker was filling, and that worker's mail would have been lost.
 *
 * The same header is compiled twice: as it stands (seq_cst), and with release
 * and acquire in its place.
 *
 * alone: those who race want all cores
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "tidemark/base/clock.h"

#define TIDE_EPOCH_STORE memory_order_release
#define TIDE_EPOCH_LOAD memory_order_acquire
#define tide_epoch_enter weak_enter
#define tide_epoch_current weak_current
#define tide_epoch_leave weak_leave
#define tide_epoch_replace weak_replace
#define tide_epoch_passed weak_passed
#define tide_epoch_bury weak_bury
#include "tidemark/shared/epoch.h"
#undef TIDEMARK_EPOCH_H
#undef TIDE_EPOCH_STORE
#undef TIDE_EPOCH_LOAD
#undef tide_epoch_enter
#undef tide_epoch_current
#undef tide_epoch_leave
#undef tide_epoch_replace
#undef tide_epoch_passed
#undef tide_epoch_bury
#include "tidemark/shared/epoch.h"

#define ROUNDS 400000ul
#define WEAK_MOST_MS 60000

static struct {
	_Alignas(128) tide_epoch slot;
	_Alignas(128) tide_epoch now;
	_Alignas(128) _Atomic uint64_t current;
	struct {
		_Alignas(128) _Atomic uint64_t added;
	} window[2];
	_Alignas(128) atomic_bool stop;
} shared;

static void *
strong_worker(void *arg)
{
	uint64_t w;

	(void)arg;
	while (!atomic_load_explicit(&shared.stop, memory_order_relaxed)) {
		tide_epoch_enter(&shared.slot, &shared.now);
		w = tide_epoch_current(&shared.current);
		atomic_fetch_add_explicit(
		    &shared.window[w % 2].added, 1, memory_order_relaxed);
		tide_epoch_leave(&shared.slot);
	}
	return NULL;
}

static void *
weak_worker(void *arg)
{
	uint64_t w;

	(void)arg;
	while (!atomic_load_explicit(&shared.stop, memory_order_relaxed)) {
		weak_enter(&shared.slot, &shared.now);
		w = weak_current(&shared.current);
		atomic_fetch_add_explicit(
		    &shared.window[w % 2].added, 1, memory_order_relaxed);
		weak_leave(&shared.slot);
	}
	return NULL;
}

static uint64_t
added(uint64_t w)
{
	return atomic_load_explicit(
	    &shared.window[w % 2].added, memory_order_relaxed);
}

/* Taken, and then left alone for a moment: does it still change? */
static bool
changes_after_quiet(uint64_t w)
{
	uint64_t before = added(w);
	int i;

	for (i = 0; i < 60; i++)
		if (added(w) != before)
			return true;
	return false;
}

static bool
strong_round(uint64_t w)
{
	uint64_t target =
	    tide_epoch_replace(&shared.current, w + 1, &shared.now);

	while (!tide_epoch_passed(&shared.slot, target))
		;
	return changes_after_quiet(w);
}

static bool
weak_round(uint64_t w)
{
	uint64_t target = weak_replace(&shared.current, w + 1, &shared.now);

	while (!weak_passed(&shared.slot, target))
		;
	return changes_after_quiet(w);
}

static pthread_t
start(void *(*worker)(void *))
{
	pthread_t t;

	atomic_store(&shared.now, 1);
	atomic_store(&shared.slot, 0);
	atomic_store(&shared.current, 0);
	atomic_store(&shared.stop, false);
	CHECK(pthread_create(&t, NULL, worker, NULL) == 0);
	return t;
}

static void
finish(pthread_t t)
{
	atomic_store(&shared.stop, true);
	CHECK(pthread_join(t, NULL) == 0);
}

static void
test_strong(void)
{
	pthread_t t = start(strong_worker);
	uint64_t w, lost = 0, all;

	for (w = 0; w < ROUNDS; w++)
		lost += strong_round(w);
	finish(t);
	all = added(0) + added(1);
	CHECK_INT(lost, 0);
	CHECK_MSG(all > 1000, "only %llu bursts: nothing was raced",
	    (unsigned long long)all);
}

/* Runs until it has lost something: a protocol this weak must. */
static void
test_weak(void)
{
	uint64_t w, lost = 0, until = tide_clock_mono_ms() + WEAK_MOST_MS;
	pthread_t t;

#ifdef __SANITIZE_THREAD__
	check_skip("TSan's own fences strengthen what is to be weak");
#endif
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		check_skip("needs two processors");
	t = start(weak_worker);
	for (w = 0; lost == 0 || w < ROUNDS; w++) {
		lost += weak_round(w);
		if (w % 1024 == 0 && tide_clock_mono_ms() > until)
			break;
	}
	finish(t);
	printf("# release/acquire lost %llu of %llu windows\n",
	    (unsigned long long)lost, (unsigned long long)w);
	CHECK_MSG(lost > 0, "release/acquire lost nothing in %llu rounds",
	    (unsigned long long)w);
}

CHECK_CASES({ "a window is left alone once all have passed", test_strong },
    { "weakened to release/acquire the protocol loses updates", test_weak })
