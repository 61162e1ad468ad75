/*
 * Sealer: rounds under a clock of our own, every place to be killed at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define T0 1000000ull
#define SPAN 60000ull

/* An archive, a map, and who seals it. */
static struct tide_config config;
static struct tide_archive archive;
static struct tide_map *map;
static struct tide_sealer sealer;

static void
open_sealer(uint64_t now_ms)
{
	struct tide_err err = { "" };

	CHECK_MSG(tide_sealer_open(
		      &sealer, map, &archive, fixture_at(now_ms), &err) == 0,
	    "%s", err.text);
}

static void
start(void)
{
	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	open_sealer(T0);
}

static void
end(void)
{
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	tide_archive_close(&archive);
}

static int
round_at(uint64_t now_ms)
{
	struct tide_err err = { "" };

	return tide_sealer_round(&sealer, fixture_at(now_ms), SPAN, &err);
}

static uint64_t
current(void)
{
	return atomic_load(&map->control->current);
}

static uint32_t
state_of(uint64_t number)
{
	return atomic_load(&map->window[number % 2]->state);
}

static bool
is_stored(uint64_t number)
{
	struct tide_err err;

	return tide_archive_has_window(&archive, number, &err) == 1;
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

static bool
is_empty(uint64_t number)
{
	const struct tide_window *w = map->window[number % 2];
	unsigned i;
	uint64_t k;

	for (i = 0; i < TIDE_FILTERS; i++) {
		const tide_bloom_word *words = tide_window_words(map, w, i);

		for (k = 0; k < tide_window_shape(map, i)->bits / 64; k++)
			if (atomic_load(&words[k]) != 0)
				return false;
	}
	return atomic_load(&w->messages) == 0 &&
	    atomic_load(&w->senders) == 0 && atomic_load(&w->recipients) == 0 &&
	    atomic_load(&w->content) == 0 && atomic_load(&w->text) == 0 &&
	    atomic_load(&w->cut) == 0 && atomic_load(&w->unread) == 0 &&
	    atomic_load(&w->wire) == 0 && atomic_load(&w->longest) == 0 &&
	    atomic_load(&w->profiles) == 0;
}

static uint64_t
counted(enum tide_counter c)
{
	return tide_counter_get(map->counters, 0, c);
}

/* ---- rounds ------------------------------------------------------------ */

static void
first_window(void)
{
	start();
	CHECK_INT(current(), 1);
	CHECK_INT(state_of(1), TIDE_WINDOW_OPEN);
	CHECK_INT(state_of(2), TIDE_WINDOW_IDLE);
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	CHECK(is_found("A@B.Example"));
	CHECK(is_found("@b.example"));
	end();
}

/* Before a window is open there is nowhere to remember anything. */
static void
not_open_yet(void)
{
	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	CHECK(!fixture_pass(map, "a@b.example", "c@d.example"));
	CHECK(is_empty(0) && is_empty(1));
	CHECK_INT(atomic_load(&map->slots[0].epoch), 0);
	open_sealer(T0);
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	end();
}

static void
seals_by_span(void)
{
	struct tide_window_record r;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	CHECK_INT(round_at(T0 + SPAN - 1), 0);
	CHECK_INT(current(), 1);
	CHECK_INT(round_at(T0 + SPAN), 1);
	CHECK_INT(current(), 2);
	CHECK_INT(state_of(1), TIDE_WINDOW_IDLE);
	CHECK_INT(state_of(2), TIDE_WINDOW_OPEN);
	CHECK(is_empty(1));
	r = record_of(1);
	CHECK_INT(r.from_ms, T0);
	CHECK_INT(r.until_ms, T0 + SPAN);
	CHECK_INT(r.messages, 1);
	CHECK_INT(r.elements[0], 2); /* address and domain */
	CHECK_INT(r.flags, 0);
	CHECK(is_found("a@b.example"));
	CHECK_INT(counted(TIDE_COUNT_WINDOWS_SEALED), 1);
	CHECK_INT(atomic_load(&map->control->window[0].opened_ms), T0 + SPAN);
	end();
}

static void
fill(void)
{
	char from[64];
	int i;

	for (i = 0;
	     i < 200 && !tide_window_is_full(map, map->window[current() % 2]);
	     i++) {
		(void)snprintf(from, sizeof from, "s%d@b%d.example", i, i);
		CHECK(fixture_pass(map, from, "c@d.example"));
	}
	CHECK(i >= 49 && i < 60); /* 100 elements, two a sender */
}

static void
seals_by_fullness(void)
{
	start();
	fill();
	CHECK_INT(round_at(T0 + 1), 1);
	CHECK_INT(current(), 2);
	CHECK_INT(record_of(1).until_ms, T0 + 1);
	CHECK(is_found("s7@b7.example"));
	CHECK_INT(round_at(T0 + 2), 0);
	CHECK_INT(counted(TIDE_COUNT_WINDOWS_OVERFILLED), 0);
	end();
}

/* A worker inside keeps window 1; meanwhile 2 fills up and goes past it. */
static void
overfills_while_busy(void)
{
	start();
	CHECK(fixture_pass(map, "early@b.example", "c@d.example"));
	atomic_store(&map->slots[3].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(round_at(T0 + SPAN), 0);
	CHECK_INT(current(), 2);
	CHECK_INT(state_of(1), TIDE_WINDOW_SEALING);
	fill();
	CHECK_INT(round_at(T0 + SPAN + 1), 0);
	CHECK_INT(round_at(T0 + SPAN + 2), 0);
	CHECK_INT(current(), 2); /* nowhere to go */
	CHECK_INT(counted(TIDE_COUNT_WINDOWS_OVERFILLED), 1);
	CHECK(fixture_pass(map, "late@b.example", "c@d.example"));
	CHECK(is_found("early@b.example") && is_found("late@b.example"));
	tide_epoch_bury(&map->slots[3].epoch);
	CHECK_INT(round_at(T0 + SPAN + 3), 1); /* 1 stored, 2 begun */
	CHECK_INT(current(), 3);
	CHECK_INT(round_at(T0 + SPAN + 4), 1);
	CHECK_INT(record_of(1).flags, 0);
	CHECK_INT(record_of(2).flags, TIDE_WINDOW_WAS_OVERFILLED);
	CHECK_INT(atomic_load(&map->window[0]->overfilled), 0);
	CHECK(is_found("early@b.example") && is_found("late@b.example"));
	end();
}

/* Who entered after the change does not hold up the grace. */
static void
newcomers_do_not_hold_up(void)
{
	start();
	atomic_store(&map->slots[0].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(round_at(T0 + SPAN), 0);
	atomic_store(&map->slots[1].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(round_at(T0 + SPAN + 1), 0);
	tide_epoch_leave(&map->slots[0].epoch);
	CHECK_INT(round_at(T0 + SPAN + 2), 1);
	end();
}

static void
span_zero_seals_at_once(void)
{
	struct tide_err err;

	start();
	CHECK_INT(tide_sealer_round(&sealer, fixture_at(T0), 0, &err), 1);
	CHECK_INT(current(), 2);
	CHECK_INT(
	    tide_sealer_round(&sealer, fixture_at(T0), UINT64_MAX / 2, &err),
	    0);
	end();
}

static void
many_windows(void)
{
	char from[64];
	unsigned i;

	start();
	for (i = 1; i <= 50; i++) {
		(void)snprintf(from, sizeof from, "s%u@b.example", i);
		CHECK(fixture_pass(map, from, "c@d.example"));
		CHECK_INT(round_at(T0 + i * SPAN), 1);
		CHECK_INT(current(), i + 1);
	}
	for (i = 1; i <= 50; i++) {
		(void)snprintf(from, sizeof from, "s%u@b.example", i);
		CHECK(is_found(from));
		CHECK_INT(record_of(i).until_ms, T0 + i * SPAN);
	}
	end();
}

/* ---- killed ------------------------------------------------------------ */

/* The states after each step, made by hand on a map with window 1 open and
 * one message in it; then a new collector opens the map. */
static void
kill_after(int step)
{
	struct tide_control *c = map->control;
	struct tide_window *w = map->window[1], *next = map->window[0];
	struct tide_err err;

	if (step >= 5) { /* the archive has it, the map knows nothing of it */
		CHECK_INT(tide_sealer_round(
			      &sealer, fixture_at(T0 + SPAN), SPAN, &err),
		    1);
		if (step < 7) /* not, or not wholly, zeroed */
			atomic_store(tide_window_words(map, w, 0), 4711);
	}
	if (step < 5)
		atomic_store(&c->window[1].closed_ms, T0 + SPAN);
	atomic_store(&w->state,
	    step < 6	    ? TIDE_WINDOW_SEALING
		: step == 6 ? TIDE_WINDOW_CLEARING
			    : TIDE_WINDOW_IDLE);
	if (step >= 2 && step < 5) {
		atomic_store(&c->window[0].number, 2);
		atomic_store(&c->window[0].opened_ms, T0 + SPAN);
		atomic_store(&next->state, TIDE_WINDOW_OPEN);
	}
	if (step >= 3 && step < 5)
		(void)tide_epoch_replace(&c->current, 2, &c->epoch);
	tide_sealer_close(&sealer);
}

static void
killed(int step)
{
	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	kill_after(step);
	open_sealer(T0 + SPAN + 5);
	CHECK(is_found("a@b.example"));
	CHECK(fixture_pass(map, "after@b.example", "c@d.example"));
	CHECK(is_found("after@b.example"));
	(void)round_at(T0 + SPAN + 10);
	(void)round_at(T0 + SPAN + 11);
	CHECK(is_stored(1));
	CHECK_INT(current(), 2);
	CHECK_INT(state_of(1), TIDE_WINDOW_IDLE);
	CHECK_INT(state_of(2), TIDE_WINDOW_OPEN);
	CHECK(is_empty(1));
	CHECK(is_found("a@b.example") && is_found("after@b.example"));
	CHECK(!is_found("nobody@b.example"));
	end();
}

static void
killed_after_s1(void)
{
	killed(1);
}

static void
killed_after_s2(void)
{
	killed(2);
}

static void
killed_after_s3(void)
{
	killed(3);
}

static void
killed_after_s5(void)
{
	killed(5);
}

static void
killed_after_s6(void)
{
	killed(6);
}

static void
killed_after_s7(void)
{
	killed(7);
}

/* After S1 and a resume the window is open again: it covers up to now. */
static void
resumed_window_has_no_end(void)
{
	struct tide_question q = { .from = "late@b.example",
		.has_since = true,
		.since_ms = T0 + SPAN + 1000,
		.until_ms = T0 + SPAN + 2000,
		.now_ms = T0 + SPAN + 2000 };

	start();
	kill_after(1);
	open_sealer(T0 + SPAN + 5);
	CHECK_INT(atomic_load(&map->control->window[1].closed_ms), 0);
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_ABSENT);
	CHECK(fixture_pass(map, "late@b.example", "c@d.example"));
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_FOUND);
	end();
}

/* Killed at S4: a worker is still inside, with the epoch of before. */
static void
killed_with_a_worker_inside(void)
{
	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	atomic_store(&map->slots[2].epoch, atomic_load(&map->control->epoch));
	kill_after(3);
	open_sealer(T0 + SPAN + 5);
	CHECK_INT(round_at(T0 + SPAN + 6), 0);
	CHECK(!is_stored(1));
	tide_epoch_leave(&map->slots[2].epoch);
	CHECK_INT(round_at(T0 + SPAN + 7), 1);
	CHECK(is_stored(1));
	end();
}

static void
contradictions(void)
{
	static const struct contradiction {
		const char *name;
		uint32_t state[2]; /* of windows 0 and 1 */
		uint64_t number[2], current;
	} cases[] = {
		{ "current in no region", { 0, 1 }, { 0, 1 }, 2 },
		{ "current idle", { 0, 0 }, { 0, 1 }, 1 },
		{ "current clearing", { 0, 3 }, { 0, 1 }, 1 },
		{ "the other open, of a strange number", { 1, 1 }, { 4, 1 },
		    1 },
		{ "the other sealing, of a strange number", { 2, 1 }, { 4, 5 },
		    7 },
		{ "a state that is none", { 77, 1 }, { 0, 1 }, 1 },
	};
	struct tide_err err;
	unsigned i, k;

	start();
	for (i = 0; i < LENGTH(cases); i++) {
		tide_sealer_close(&sealer);
		for (k = 0; k < 2; k++) {
			atomic_store(&map->window[k]->state, cases[i].state[k]);
			atomic_store(&map->control->window[k].number,
			    cases[i].number[k]);
		}
		atomic_store(&map->control->current, cases[i].current);
		CHECK_MSG(tide_sealer_open(&sealer, map, &archive,
			      fixture_at(T0), &err) == -1,
		    "%s", cases[i].name);
		CHECK(strstr(err.text, "contradicts itself") != NULL);
	}
	end();
}

/* Garbage over all that workers may write of a window, but for its state. */
static void
scribble(struct tide_window *w)
{
	_Atomic uint64_t *const words[] = { &w->v02_number, &w->v02_opened_ms,
		&w->v02_closed_ms, &w->messages, &w->wire, &w->text };
	size_t i;

	for (i = 0; i < LENGTH(words); i++)
		atomic_store(words[i], 18446744073709551ull + i);
}

static void
check_span(uint64_t number, uint64_t from_ms, uint64_t until_ms)
{
	struct tide_window_record r = record_of(number);

	CHECK_INT(r.from_ms, from_ms);
	CHECK_INT(r.until_ms, until_ms);
}

/* What a worker writes over a window's head moves no window, nor its time. */
static void
times_are_the_collectors(void)
{
	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	scribble(map->window[1]);
	CHECK_INT(round_at(T0 + SPAN), 1);
	CHECK_INT(current(), 2);
	CHECK(is_stored(1));
	CHECK(!is_stored(18446744073709551ull));
	check_span(1, T0, T0 + SPAN);
	end();
}

static void
times_are_the_collectors_at_the_end(void)
{
	struct tide_err err;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	scribble(map->window[0]);
	scribble(map->window[1]);
	CHECK_INT(
	    tide_sealer_retire(&sealer, fixture_at(T0 + 50), 100, &err), 0);
	check_span(1, T0, T0 + 50);
	end();
}

static void
times_of_02(void)
{
	struct tide_window_times *t = map->control->window;
	unsigned i;

	for (i = 0; i < 2; i++) {
		atomic_store(
		    &map->window[i]->v02_number, atomic_load(&t[i].number));
		atomic_store(&map->window[i]->v02_opened_ms,
		    atomic_load(&t[i].opened_ms));
		atomic_store(&map->window[i]->v02_closed_ms,
		    atomic_load(&t[i].closed_ms));
		atomic_store(&t[i].number, 0);
		atomic_store(&t[i].opened_ms, 0);
		atomic_store(&t[i].closed_ms, 0);
	}
}

/* Its windows have their times where workers write. */
static void
a_map_of_02(void)
{
	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	tide_sealer_close(&sealer);
	times_of_02();
	open_sealer(T0 + 5);
	CHECK_INT(round_at(T0 + SPAN), 1);
	check_span(1, T0, T0 + SPAN);
	end();
}

/* ---- a full archive ---------------------------------------------------- */

/* Until not even the smallest value goes in. */
static void
fill_archive(void)
{
	static const size_t sizes[] = { 2000, 200, 20 };
	static char room[2000];
	struct tide_err err;
	struct tide_txn *t;
	unsigned i, key = 0;
	int rc;

	for (i = 0; i < LENGTH(sizes); i++) {
		do {
			t = tide_txn_begin(archive.store, true, &err);
			key++;
			rc = tide_txn_put(t, TIDE_TABLE_META,
			    tide_bytes(&key, sizeof key),
			    tide_bytes(room, sizes[i]), &err);
			if (rc == 0)
				rc = tide_txn_commit(t, &err);
			else
				tide_txn_abort(t);
		} while (rc == 0);
	}
}

/* Every bit set: nothing to fold, 24 KB to store. */
static void
saturate(uint64_t number)
{
	tide_bloom_word *words =
	    tide_window_words(map, map->window[number % 2], 1);
	uint64_t i;

	for (i = 0; i < tide_window_shape(map, 1)->bits / 64; i++)
		atomic_store(&words[i], UINT64_MAX);
}

static void
archive_full(void)
{
	struct tide_err err = { "" };

	fixture_config(&config);
	config.window_recipients = 20000;
	CHECK_INT(tide_archive_open(&archive, config.state_dir,
		      TIDE_ARCHIVE_OWN, 64 * 4096, &err),
	    0);
	map = fixture_make_map(&config, &archive);
	open_sealer(T0);
	fill_archive();
	saturate(1);
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	CHECK_INT(
	    tide_sealer_round(&sealer, fixture_at(T0 + SPAN), SPAN, &err), -1);
	CHECK(strstr(err.text, "the map is full; raise archive_map") != NULL);
	CHECK_INT(state_of(1), TIDE_WINDOW_SEALING);
	CHECK(is_found("a@b.example"));
	CHECK(fixture_pass(map, "after@b.example", "c@d.example"));
	CHECK_INT(round_at(T0 + SPAN + 1), -1); /* and again */
	tide_archive_close(&archive);
	fixture_open_archive(&config, &archive); /* archive_map raised */
	CHECK_INT(round_at(T0 + SPAN + 2), 1);
	CHECK(is_stored(1));
	CHECK(is_found("a@b.example") && is_found("after@b.example"));
	end();
}

/* ---- retire ------------------------------------------------------------ */

static void
retire(void)
{
	struct tide_err err = { "" };

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	atomic_store(&map->slots[2].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(round_at(T0 + SPAN), 0); /* 1 sealing, 2 open */
	tide_epoch_leave(&map->slots[2].epoch);
	CHECK(fixture_pass(map, "b@b.example", "c@d.example"));
	CHECK_INT(
	    tide_sealer_retire(&sealer, fixture_at(T0 + SPAN + 9), 100, &err),
	    0);
	CHECK(current() == TIDE_MAP_RETIRED);
	CHECK(!fixture_pass(map, "late@b.example", "c@d.example"));
	CHECK_INT(record_of(1).until_ms, T0 + SPAN);
	CHECK_INT(record_of(2).until_ms, T0 + SPAN + 9);
	CHECK(is_found("a@b.example") && is_found("b@b.example"));
	CHECK(is_empty(1) && is_empty(2));
	CHECK_INT(
	    tide_sealer_retire(&sealer, fixture_at(T0 + SPAN + 10), 100, &err),
	    0);
	tide_sealer_close(&sealer);
	open_sealer(T0); /* to be retired once more after a kill */
	CHECK_INT(
	    tide_sealer_retire(&sealer, fixture_at(T0 + SPAN + 10), 100, &err),
	    0);
	end();
}

/* A worker that never leaves is not waited for longer than allowed. */
static void
retire_does_not_wait_for_ever(void)
{
	struct tide_err err;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	atomic_store(&map->slots[2].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(tide_sealer_retire(&sealer, fixture_at(T0 + 5), 20, &err), 0);
	CHECK(is_stored(1));
	end();
}

/* A new map goes on counting where the archive ends. */
static void
numbers_go_on(void)
{
	start();
	CHECK_INT(round_at(T0 + SPAN), 1);
	CHECK_INT(round_at(T0 + 2 * SPAN), 1);
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	CHECK(unlink(fixture_live_path(&config)) == 0);
	map = fixture_make_map(&config, &archive);
	open_sealer(T0 + 2 * SPAN);
	CHECK_INT(current(), 3);
	end();
}

CHECK_CASES({ "the first window", first_window },
    { "no window is open yet", not_open_yet },
    { "seals by span", seals_by_span },
    { "seals by fullness", seals_by_fullness },
    { "overfills while the other is busy", overfills_while_busy },
    { "newcomers do not hold up the grace", newcomers_do_not_hold_up },
    { "a span of zero seals at once", span_zero_seals_at_once },
    { "fifty windows", many_windows }, { "killed after S1", killed_after_s1 },
    { "killed after S2", killed_after_s2 },
    { "killed after S3", killed_after_s3 },
    { "killed after S5", killed_after_s5 },
    { "killed after S6", killed_after_s6 },
    { "killed after S7", killed_after_s7 },
    { "a window resumed after S1 has no end", resumed_window_has_no_end },
    { "killed at S4 with a worker inside", killed_with_a_worker_inside },
    { "maps that contradict themselves", contradictions },
    { "a window's number and times are the collector's",
	times_are_the_collectors },
    { "so they are when the map retires", times_are_the_collectors_at_the_end },
    { "a map of 0.2 has its times beside the filters", a_map_of_02 },
    { "a full archive is tried again", archive_full }, { "retire", retire },
    { "retire does not wait for ever", retire_does_not_wait_for_ever },
    { "a new map's numbers go on", numbers_go_on })
