/*
 * Sealer: windows under a clock that is set.  What passed is found under the
 * time that a mail server's log has of it, or that time is not wholly covered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define T0 1000000ull
#define SPAN 60000ull

static struct tide_config config;
static struct tide_archive archive;
static struct tide_map *map;
static struct tide_sealer sealer;

static void
end(void)
{
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	tide_archive_close(&archive);
}

static uint64_t
current(void)
{
	return atomic_load(&map->control->current);
}

static int
take_record(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	(void)key;
	(void)err;
	CHECK(tide_window_record_read(value, arg) != NULL);
	return 1;
}

static struct tide_window_record
record_of(uint64_t number)
{
	struct tide_window_record r = { 0 };
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(archive.store, false, &err);
	uint8_t key[8];

	tide_key_number(key, number);
	CHECK_INT(tide_txn_walk(t, TIDE_TABLE_WINDOWS, tide_bytes(key, 8),
		      take_record, &r, &err),
	    0);
	tide_txn_abort(t);
	CHECK_INT(r.number, number);
	return r;
}

/* Was mail from that sender there, all times taken together? */
static bool
is_found(const char *from)
{
	struct tide_question q = { .from = from,
		.has_since = true,
		.until_ms = UINT64_MAX,
		.now_ms = UINT64_MAX };

	return fixture_ask(&archive, map, &q, NULL) == TIDE_FOUND;
}

/* A clock that is set, beside one that is not. */
static struct tide_moment now;

static void
pass_time(uint64_t ms)
{
	now.wall_ms += ms;
	now.boot_ms += ms;
}

static int
round_now(void)
{
	struct tide_err err = { "" };
	int rc = tide_sealer_round(&sealer, now, SPAN, &err);

	CHECK_MSG(rc >= 0, "%s", err.text);
	return rc;
}

static void
start_clock(uint64_t wall_ms)
{
	now = (struct tide_moment){ wall_ms, 5000 };
	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	CHECK_INT(tide_sealer_open(
		      &sealer, map, &archive, now, &(struct tide_err){ "" }),
	    0);
}

static void
clock_steps_back(void)
{
	start_clock(T0);
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	pass_time(30000);
	CHECK_INT(round_now(), 0);
	now.wall_ms -= 20000; /* still within the window */
	pass_time(100);
	CHECK_INT(round_now(), 1);
	CHECK_INT(record_of(1).from_ms, T0);
	CHECK_INT(record_of(1).until_ms, T0 + 30100); /* the latest shown */
	CHECK_INT(atomic_load(&map->control->window[0].opened_ms), T0 + 10100);
	pass_time(SPAN);
	CHECK_INT(round_now(), 1);
	CHECK_INT(record_of(2).from_ms, T0 + 10100);
	CHECK_INT(record_of(2).until_ms, T0 + 10100 + SPAN);
	end();
}

/* By so little that no window ends, but that what has just begun began
 * earlier. */
static void
clock_is_slewed(void)
{
	start_clock(T0);
	now.wall_ms -= 1500;
	pass_time(100);
	CHECK_INT(round_now(), 0);
	CHECK_INT(current(), 1);
	CHECK_INT(atomic_load(&map->control->window[1].opened_ms), T0 - 1500);
	pass_time(SPAN - 10000);
	CHECK_INT(round_now(), 0);
	CHECK_INT(atomic_load(&map->control->window[1].opened_ms), T0 - 1500);
	now.wall_ms += 1900;
	pass_time(100);
	CHECK_INT(round_now(), 0);
	CHECK_INT(current(), 1);
	end();
}

static void
clock_leaps_ahead(void)
{
	start_clock(T0);
	pass_time(100);
	now.wall_ms += 1000 * SPAN;
	CHECK_INT(round_now(), 1); /* one window, not 1000 */
	CHECK_INT(record_of(1).until_ms, T0 + 100);
	CHECK_INT(current(), 2);
	CHECK_INT(round_now(), 0);
	end();
}

#define HOUR 3600000ll
#define TEN_YEARS (10 * 365 * 24 * HOUR)
#define LETTERS 64

/* What passed, and the time that a mail server's log has of it. */
static struct letter {
	char from[32];
	uint64_t wall_ms;
	bool early; /* before the sealer saw that the clock was set */
} letter[LETTERS];
static unsigned letters;

static void
pass_letter(bool early)
{
	struct letter *l = &letter[letters++];

	(void)snprintf(l->from, sizeof l->from, "n%u@b.example", letters);
	l->wall_ms = now.wall_ms;
	l->early = early;
	CHECK(fixture_pass(map, l->from, "c@d.example"));
}

static enum tide_verdict
ask_around(const char *from, uint64_t wall_ms)
{
	const struct tide_question q = { .from = from,
		.has_since = true,
		.since_ms = wall_ms - 20,
		.until_ms = wall_ms + 20,
		.now_ms = now.wall_ms,
		.boot_ms = now.boot_ms };

	return fixture_ask(&archive, map, &q, NULL);
}

/* All that passed, under its own time; nobody is told that it did not. */
static void
find_letters(const char *name)
{
	enum tide_verdict v;
	unsigned i;

	for (i = 0; i < letters; i++) {
		v = ask_around(letter[i].from, letter[i].wall_ms);
		CHECK_MSG(v == TIDE_FOUND ||
			(letter[i].early && v == TIDE_NOT_COVERED),
		    "%s: letter %u is %d", name, i + 1, v);
		CHECK(is_found(letter[i].from));
	}
}

/* Mail before and after each step, and between a step and the next round. */
static void
clock_steps(void)
{
	static const struct steps_case {
		const char *name;
		int64_t step[4];
	} cases[] = {
		{ "an hour ahead", { HOUR } },
		{ "an hour back", { -HOUR } },
		{ "an hour ahead, right, an hour back",
		    { HOUR, -HOUR, -HOUR, HOUR } },
		{ "ten years ahead and back", { TEN_YEARS, -TEN_YEARS } },
		{ "five seconds back, twice", { -5000, -5000 } },
	};
	size_t i, k;

	for (i = 0; i < LENGTH(cases); i++) {
		start_clock(1800000000000);
		letters = 0;
		for (k = 0; k < 4 && cases[i].step[k] != 0; k++) {
			pass_time(20000);
			CHECK(round_now() >= 0);
			pass_letter(false);
			pass_time(50);
			pass_letter(false);
			now.wall_ms += (uint64_t)cases[i].step[k];
			pass_letter(true);
			pass_time(50);
			pass_letter(true);
			find_letters(cases[i].name); /* not yet seen */
			CHECK(round_now() >= 0);
			find_letters(cases[i].name);
			pass_time(50);
			pass_letter(false);
			pass_time(50);
		}
		CHECK(round_now() >= 0);
		find_letters(cases[i].name);
		CHECK_INT(
		    tide_counter_get(map->counters, -1, TIDE_COUNT_CLOCK_STEPS),
		    k);
		/* another one's "no" is certain, all around a step */
		CHECK_INT(
		    ask_around("no@b.example", now.wall_ms - 50), TIDE_ABSENT);
		end();
	}
}

/* Set while the collector is away, or while the next window is not free. */
static void
clock_steps_unseen(void)
{
	start_clock(1800000000000);
	letters = 0;
	pass_time(1000);
	CHECK_INT(round_now(), 0);
	tide_sealer_close(&sealer);
	now.wall_ms -= (uint64_t)HOUR;
	pass_time(5000);
	pass_letter(true);
	CHECK_INT(tide_sealer_open(
		      &sealer, map, &archive, now, &(struct tide_err){ "" }),
	    0);
	find_letters("not yet seen");
	CHECK_INT(round_now(), 1);
	find_letters("seen");
	atomic_store(&map->slots[2].epoch, atomic_load(&map->control->epoch));
	pass_time(1000);
	CHECK_INT(round_now(), 0);
	now.wall_ms += (uint64_t)HOUR;
	pass_time(100);
	CHECK_INT(round_now(), 0); /* window 2 waits for the worker */
	now.wall_ms += (uint64_t)HOUR;
	pass_time(100);
	pass_letter(true); /* into 3 */
	CHECK_INT(round_now(), 0);
	CHECK_INT(current(), 3);
	pass_time(30000);
	pass_letter(true);
	find_letters("waiting");
	tide_epoch_leave(&map->slots[2].epoch);
	CHECK_INT(round_now(), 1);
	pass_time(100);
	CHECK(round_now() >= 0);
	find_letters("at last");
	CHECK_INT(current(), 4);
	end();
}

/* A window of 1970 is kept for as long as any other one. */
static void
clock_stands_in_1970(void)
{
	const uint64_t settled = 1800000000000;
	struct tide_err err = { "" };
	unsigned dropped;

	start_clock(T0);
	atomic_store(&map->control->settled_ms,
	    (int64_t)settled - (int64_t)tide_clock_boot_ms());
	pass_time(SPAN);
	CHECK_INT(round_now(), 1);
	CHECK_INT(record_of(1).until_ms, T0 + SPAN);
	CHECK_INT(tide_archive_expire(
		      &archive, settled - 1000, UINT64_MAX, &dropped, &err),
	    0);
	CHECK_INT(dropped, 0);
	CHECK_INT(tide_archive_expire(
		      &archive, settled + 1000000, UINT64_MAX, &dropped, &err),
	    0);
	CHECK_INT(dropped, 1);
	end();
}

CHECK_CASES({ "the clock stands in 1970", clock_stands_in_1970 },
    { "the clock steps back", clock_steps_back },
    { "the clock leaps ahead", clock_leaps_ahead },
    { "the clock is slewed", clock_is_slewed },
    { "the clock is set, to and fro", clock_steps },
    { "the clock is set while nobody can see to it", clock_steps_unseen })
