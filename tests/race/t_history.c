/*
 * t_history - one thread notes, others read: whatever they see is a whole
 * row.  Every counter grows by one a second, so a difference that is neither
 * 1 nor unknown was put together from two rows.
 *
 * alone: those who race want all cores
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "tidemark/map/history.h"
#include "tidemark/shared/counters.h"

#define ROUNDS 200000u
#define READERS 2

static struct tide_history h;
static struct tide_counters c;
static _Atomic uint64_t now_ms;
static _Atomic bool done;

static void *
note(void *arg)
{
	uint64_t ms = 100 * 1000;
	unsigned i, k;

	(void)arg;
	for (i = 0; i < ROUNDS; i++, ms += 1000) {
		tide_history_note(&h, &c, ms);
		for (k = 0; k < TIDE_HISTORY_KINDS; k++)
			tide_count_profile(&c, 0, tide_history_counter[k], 1);
		atomic_store(&now_ms, ms);
	}
	atomic_store(&done, true);
	return NULL;
}

static void *
look(void *arg)
{
	double got[TIDE_HISTORY_SPANS];
	unsigned kind = 0, i;
	size_t bad = 0;

	(void)arg;
	while (!atomic_load(&done)) {
		tide_history_series(&h, TIDE_HISTORY_SECONDS, 0,
		    kind++ % TIDE_HISTORY_KINDS, atomic_load(&now_ms), got);
		for (i = 0; i < TIDE_HISTORY_SPANS; i++)
			bad += !isnan(got[i]) && got[i] != 1;
	}
	return (void *)bad;
}

static void
rows_are_whole(void)
{
	pthread_t writer, reader[READERS];
	void *bad;
	int i;

	for (i = 0; i < READERS; i++)
		CHECK(pthread_create(&reader[i], NULL, look, NULL) == 0);
	CHECK(pthread_create(&writer, NULL, note, NULL) == 0);
	CHECK(pthread_join(writer, NULL) == 0);
	for (i = 0; i < READERS; i++) {
		CHECK(pthread_join(reader[i], &bad) == 0);
		CHECK_INT((size_t)bad, 0);
	}
}

CHECK_CASES({ "readers see whole rows only", rows_are_whole })
