/*
 * Counters: saved and loaded by name, whatever their places and profiles.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

#define ROWS (1 + TIDE_PROFILES_MAX)

static struct tide_counters to;

static struct tide_profile_names
profiles(const char *first, const char *second)
{
	struct tide_profile_names p = { 0 };

	(void)strncpy(p.name[0], first, TIDE_NAME_MAX - 1);
	(void)strncpy(p.name[1], second, TIDE_NAME_MAX - 1);
	return p;
}

static uint64_t
count(int row, enum tide_counter id)
{
	return tide_counter_get(&to, row, id);
}

static void
set(_Atomic uint64_t *value, size_t names, size_t row, size_t i, uint64_t n)
{
	atomic_store(&value[row * names + i], n);
}

/* Another version: fewer counters, in another order, one that we lack. */
static void
by_name(void)
{
	static const char names[] = "refused\nnovelty\nmessages\n";
	static _Atomic uint64_t value[ROWS * 3];
	struct tide_profile_names then = profiles("external", "internal"),
				  now = profiles("internal", "external");
	struct tide_err err;
	char *bytes = NULL;
	size_t size = 0;

	memset(&to, 0, sizeof to);
	CHECK_INT(tide_counters_bytes(names), sizeof value);
	set(value, 3, 0, 0, 1);
	set(value, 3, 1, 0, 10);  /* external, refused */
	set(value, 3, 1, 1, 20);  /* external, novelty */
	set(value, 3, 2, 2, 300); /* internal, messages */
	set(value, 3, 3, 2, 4);	  /* of a profile that is gone */
	CHECK_INT(tide_counters_save(value, names, &bytes, &size, &err), 0);
	CHECK_INT(tide_counters_load(&to, &now, bytes, size, &then), 1);
	CHECK_INT(count(0, TIDE_COUNT_REFUSED), 1);
	CHECK_INT(count(2, TIDE_COUNT_REFUSED), 10);
	CHECK_INT(count(1, TIDE_COUNT_REFUSED), 0);
	CHECK_INT(count(1, TIDE_COUNT_MESSAGES), 300);
	CHECK_INT(count(0, TIDE_COUNT_MESSAGES), 4);
	CHECK_INT(count(-1, TIDE_COUNT_ACCEPTED), 0);
	/* added, not stored */
	CHECK_INT(tide_counters_load(&to, &now, bytes, size, &then), 1);
	CHECK_INT(count(2, TIDE_COUNT_REFUSED), 20);
	free(bytes);
}

/* All of ours, there and back. */
static void
round_trip(void)
{
	static struct tide_counters from;
	struct tide_profile_names p = profiles("a", "b");
	struct tide_err err;
	char *bytes = NULL;
	size_t size = 0;
	unsigned row, i;

	memset(&to, 0, sizeof to);
	for (row = 0; row < 3; row++)
		for (i = 0; i < TIDE_COUNTER_COUNT; i++)
			atomic_store(&from.value[row][i], row * 1000 + i);
	CHECK_INT(tide_counters_save(&from.value[0][0], tide_counters_names,
		      &bytes, &size, &err),
	    0);
	CHECK_INT(tide_counters_load(&to, &p, bytes, size, &p), 0);
	CHECK(memcmp(&to, &from, sizeof to) == 0);
	free(bytes);
}

/* Whatever bytes there are, nothing outside is read or counted. */
static void
hostile_records(void)
{
	struct tide_profile_names p = profiles("a", "b");
	struct tide_err err;
	char *bytes = NULL, *copy;
	size_t size = 0, i;

	memset(&to, 0, sizeof to);
	tide_count_profile(&to, 7, TIDE_COUNT_REFUSED, 5);
	CHECK_INT(tide_counters_save(&to.value[0][0], tide_counters_names,
		      &bytes, &size, &err),
	    0);
	CHECK(size > 16);
	for (i = 0; i < size * 256; i++) {
		copy = malloc(size);
		CHECK(copy != NULL);
		memcpy(copy, bytes, size);
		copy[i / 256] = (char)i;
		(void)tide_counters_load(&to, &p, copy, size, &p);
		(void)tide_counters_load(&to, &p, copy, i % size, &p);
		free(copy);
	}
	free(bytes);
}

CHECK_CASES({ "counts go by name", by_name },
    { "all of ours come back", round_trip },
    { "records that make no sense", hostile_records })
