/*
 * sealer - from the open window to the archive.
 *
 * PROTOCOL seal: windows n (open) and n + 1 (idle); C1..C4 are epoch.h's.
 *  S1 closed_ms, state[n] = SEALING       release
 *  S2 number, opened_ms, state[n+1] = OPEN release
 *  S3 current = n + 1, epoch += 1         C1, C2
 *  S4 every slot passed                   C3; asked each round, never waited
 *  S5 copy, fold, commit to the archive   window n is ours alone (C4)
 *  S6 state[n] = CLEARING                 release
 *  S7 zero the filters, state[n] = IDLE   release
 * Why:   S1 to S3 take no time, and workers never wait: until S3 they fill n,
 *        after it n + 1.  S5 before S6: at every moment a window's bits are
 *        in the map, in the archive, or in both.
 * Crash: of the collector after
 *        S1 or S2 - current is still n: both are put back (nobody has
 *        written to n + 1), and the seal starts again later;
 *        S3 or S4 - state[n] is SEALING and current n + 1: a new epoch is
 *        taken and waited for;
 *        S5 - the archive has n: on to S6;
 *        S6 - zero once more.
 *        Of a worker: see epoch.h.
 * Busy:  while n - 1 is not yet IDLE (a slow or full disk, a stopped worker)
 *        the open window goes on past its size, which is counted.
 * Test:  tests/race/t_seal.c
 *
 * What a clock that is set does to windows: sealer_clock.c.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sealer_clock.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

static uint64_t
load(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void
store(_Atomic uint64_t *p, uint64_t v)
{
	atomic_store_explicit(p, v, memory_order_relaxed);
}

static uint32_t
state(const struct tide_window *w)
{
	return atomic_load_explicit(&w->state, memory_order_acquire);
}

static void
set_state(struct tide_window *w, enum tide_window_state s)
{
	atomic_store_explicit(&w->state, s, memory_order_release);
}

static struct tide_window *
window(const struct tide_sealer *s, uint64_t number)
{
	return s->map->window[number % 2];
}

static struct tide_window_times *
times(const struct tide_sealer *s, uint64_t number)
{
	return &s->map->control->window[number % 2];
}

/* ---- steps ------------------------------------------------------------- */

static void
open_window(const struct tide_sealer *s, uint64_t number, uint64_t now_ms)
{
	struct tide_window_times *t = times(s, number);

	store(&t->number, number);
	store(&t->opened_ms, now_ms);
	store(&t->closed_ms, 0);
	set_state(window(s, number), TIDE_WINDOW_OPEN);
}

static void
wait_for(struct tide_sealer *s, uint64_t number, uint64_t target)
{
	s->waiting = true;
	s->number = number;
	s->target = target;
}

static uint64_t
not_before(uint64_t t, uint64_t floor)
{
	return t < floor ? floor : t; /* the clock may have been put back */
}

/* When a window ends: not before anything it may have seen. */
static uint64_t
end_of(const struct tide_sealer *s, const struct tide_window_times *t)
{
	return not_before(s->latest_ms, load(&t->opened_ms));
}

static void
begin(struct tide_sealer *s, uint64_t number, uint64_t now_ms)
{
	struct tide_control *c = s->map->control;
	struct tide_window_times *t = times(s, number);

	store(&t->closed_ms, end_of(s, t));
	set_state(window(s, number), TIDE_WINDOW_SEALING); /* S1 */
	open_window(s, number + 1, now_ms);		   /* S2 */
	s->latest_ms = now_ms;
	wait_for(s, number,
	    tide_epoch_replace(&c->current, number + 1, &c->epoch)); /* S3 */
}

static bool
is_quiet(struct tide_sealer *s)
{
	return tide_workers_passed(&s->map->workers, s->target); /* S4 */
}

static void
note_overfill(struct tide_sealer *s, struct tide_window *w)
{
	if (atomic_exchange_explicit(&w->overfilled, 1, memory_order_relaxed) ==
	    0)
		tide_count(s->map->counters, TIDE_COUNT_WINDOWS_OVERFILLED, 1);
}

/*
 * A message is one burst, and rounds take time: some more than the size is
 * nothing, a quarter more is an overfill.
 */
static bool
is_over(const struct tide_sealer *s, const struct tide_window *w)
{
	uint64_t most;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		most = tide_window_shape(s->map, i)->capacity;
		if (tide_window_elements(w, i) > most + most / 4)
			return true;
	}
	return false;
}

static int
archive_window(struct tide_sealer *s, const struct tide_window *w,
    uint64_t number, struct tide_err *err)
{
	const struct tide_window_times *t = times(s, number);
	struct tide_window_record r = { .number = number,
		.from_ms = load(&t->opened_ms),
		.until_ms = load(&t->closed_ms) };
	unsigned i;

	tide_window_describe(&r, w, s->map->head);
	r.sealed_s = (uint32_t)(tide_map_now_ms(s->map) / 1000);

	if (is_over(s, w))
		note_overfill(s, window(s, number));
	if (atomic_load_explicit(&w->overfilled, memory_order_relaxed) != 0)
		r.flags |= TIDE_WINDOW_WAS_OVERFILLED;
	for (i = 0; i < TIDE_FILTERS; i++) {
		r.shape[i] = *tide_window_shape(s->map, i);
		tide_bloom_copy(
		    &r.shape[i], s->words[i], tide_window_words(s->map, w, i));
	}
	return tide_archive_put_window(s->archive, &r, s->words, err); /* S5 */
}

/* Release: who looks into the window (query.c) and finds a zero of these,
 * finds S6 as well. */
static void
zero(tide_bloom_word *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		atomic_store_explicit(&words[i], 0, memory_order_release);
}

static void
forget_counts(struct tide_window *w)
{
	_Atomic uint64_t *const counts[] = { &w->messages, &w->senders,
		&w->recipients, &w->content, &w->cut, &w->unread, &w->wire,
		&w->text, &w->longest, &w->profiles };
	size_t i;

	for (i = 0; i < sizeof counts / sizeof *counts; i++)
		store(counts[i], 0);
}

static void
clear(struct tide_sealer *s, struct tide_window *w)
{
	unsigned i;

	set_state(w, TIDE_WINDOW_CLEARING); /* S6 */
	for (i = 0; i < TIDE_FILTERS; i++)
		zero(tide_window_words(s->map, w, i),
		    tide_window_shape(s->map, i)->bits / 64);
	forget_counts(w);
	atomic_store_explicit(&w->overfilled, 0, memory_order_relaxed);
	set_state(w, TIDE_WINDOW_IDLE); /* S7 */
}

static int
finish(struct tide_sealer *s, struct tide_err *err)
{
	struct tide_window *w = window(s, s->number);

	if (archive_window(s, w, s->number, err) < 0)
		return -1;
	clear(s, w);
	s->waiting = false;
	tide_count(s->map->counters, TIDE_COUNT_WINDOWS_SEALED, 1);
	return 1;
}

/* ---- a round ----------------------------------------------------------- */

/* Old, or opened at a time that is still to come: the clock was put back. */
static bool
is_old(const struct tide_window_times *t, uint64_t now_ms, uint64_t span_ms)
{
	uint64_t opened = load(&t->opened_ms);

	return now_ms < opened || now_ms - opened >= span_ms;
}

static void
begin_if_due(struct tide_sealer *s, uint64_t now_ms, uint64_t span_ms)
{
	uint64_t number = load(&s->map->control->current);
	struct tide_window *w = window(s, number);
	bool full = tide_window_is_full(s->map, w);

	if (!full && !is_old(times(s, number), now_ms, span_ms))
		return;
	if (state(window(s, number + 1)) == TIDE_WINDOW_IDLE)
		begin(s, number, now_ms);
	else if (full)
		note_overfill(s, w);
}

/* The clock was set: on to the next window, once that is free. */
static int
begin_anew(struct tide_sealer *s, struct tide_moment now,
    const struct tide_clock_change *c, struct tide_err *err)
{
	uint64_t number = load(&s->map->control->current);

	tide_sealer_clock_strays(s, now, c);
	if (state(window(s, number + 1)) != TIDE_WINDOW_IDLE) {
		if (tide_window_is_full(s->map, window(s, number)))
			note_overfill(s, window(s, number));
		return 0;
	}
	if (tide_sealer_clock_tell(s, err) < 0)
		return -1;
	begin(s, number, now.wall_ms);
	tide_sealer_clock_read(s, now);
	return 0;
}

int
tide_sealer_round(struct tide_sealer *s, struct tide_moment now,
    uint64_t span_ms, struct tide_err *err)
{
	struct tide_clock_change c;
	int sealed = 0;

	if (s->waiting && is_quiet(s))
		sealed = finish(s, err);
	c = tide_sealer_clock_change(s, now);
	if (!c.stepped) {
		tide_sealer_clock_widen(
		    s, times(s, load(&s->map->control->current)), now, &c);
		begin_if_due(s, now.wall_ms, span_ms);
	} else if (begin_anew(s, now, &c, err) < 0) {
		return -1;
	}
	if (sealed == 0 && s->waiting && is_quiet(s))
		sealed = finish(s, err);
	return sealed;
}

/* ---- taking over ------------------------------------------------------- */

static int
damaged(const struct tide_sealer *s, struct tide_err *err)
{
	return tide_err_set(err,
	    "the live map contradicts itself: window %llu is current, the "
	    "regions hold %llu and %llu in states %u and %u",
	    (unsigned long long)load(&s->map->control->current),
	    (unsigned long long)load(&times(s, 0)->number),
	    (unsigned long long)load(&times(s, 1)->number),
	    state(s->map->window[0]), state(s->map->window[1]));
}

static int
open_first(struct tide_sealer *s, struct tide_moment now, struct tide_err *err)
{
	struct tide_control *c = s->map->control;
	uint64_t newest;

	if (tide_archive_newest(s->archive, &newest, err) < 0)
		return -1;
	open_window(s, newest + 1, now.wall_ms);
	tide_sealer_clock_read(s, now);
	(void)tide_epoch_replace(&c->current, newest + 1, &c->epoch);
	return 0;
}

/* The window that is not current. */
static int
resume_other(struct tide_sealer *s, uint64_t current, struct tide_err *err)
{
	struct tide_window *w = window(s, current + 1);
	int stored;

	switch (state(w)) {
	case TIDE_WINDOW_IDLE:
		return 0;
	case TIDE_WINDOW_CLEARING:
		clear(s, w);
		return 0;
	case TIDE_WINDOW_OPEN: /* killed after S2 */
		if (load(&times(s, current + 1)->number) != current + 1)
			return damaged(s, err);
		clear(s, w);
		return 0;
	case TIDE_WINDOW_SEALING: /* killed after S3, S4 or S5 */
		if (load(&times(s, current + 1)->number) + 1 != current)
			return damaged(s, err);
		break;
	default:
		return damaged(s, err);
	}
	stored = tide_archive_has_window(s->archive, current - 1, err);
	if (stored == 1)
		clear(s, w);
	else
		wait_for(s, current - 1,
		    atomic_fetch_add(&s->map->control->epoch, 1));
	return stored < 0 ? -1 : 0;
}

static int
resume(struct tide_sealer *s, uint64_t current, struct tide_err *err)
{
	struct tide_window *w = window(s, current);
	struct tide_window_times *t = times(s, current);

	if (load(&t->number) != current ||
	    (state(w) != TIDE_WINDOW_OPEN && state(w) != TIDE_WINDOW_SEALING))
		return damaged(s, err);
	store(&t->closed_ms, 0);
	set_state(w, TIDE_WINDOW_OPEN); /* killed after S1 */
	return resume_other(s, current, err);
}

/* A map of 0.2 has them beside the filters. */
static void
take_times(struct tide_sealer *s)
{
	const struct tide_window *w;
	unsigned i;

	if (load(&times(s, 0)->number) != 0 || load(&times(s, 1)->number) != 0)
		return;
	for (i = 0; i < 2; i++) {
		w = window(s, i);
		store(&times(s, i)->number, load(&w->v02_number));
		store(&times(s, i)->opened_ms, load(&w->v02_opened_ms));
		store(&times(s, i)->closed_ms, load(&w->v02_closed_ms));
	}
}

int
tide_sealer_open(struct tide_sealer *s, struct tide_map *map,
    struct tide_archive *archive, struct tide_moment now, struct tide_err *err)
{
	uint64_t current = load(&map->control->current);
	unsigned i;

	memset(s, 0, sizeof *s);
	s->map = map;
	s->archive = archive;
	s->latest_ms = load(&map->control->seen_wall_ms);
	for (i = 0; i < TIDE_FILTERS; i++) {
		s->words[i] =
		    malloc(tide_bloom_bytes(tide_window_shape(map, i)));
		if (s->words[i] == NULL)
			return tide_err_errno(err, "opening the windows");
	}
	take_times(s);
	if (current == 0)
		return open_first(s, now, err);
	if (current == TIDE_MAP_RETIRED)
		return 0; /* only to be retired again */
	return resume(s, current, err);
}

void
tide_sealer_close(struct tide_sealer *s)
{
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		free(s->words[i]);
		s->words[i] = NULL;
	}
}

/* ---- retiring the whole map -------------------------------------------- */

static void
wait_until_quiet(struct tide_sealer *s, unsigned wait_ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	while (!is_quiet(s) && wait_ms-- > 0)
		(void)nanosleep(&nap, NULL);
}

int
tide_sealer_retire(struct tide_sealer *s, struct tide_moment now,
    unsigned wait_ms, struct tide_err *err)
{
	struct tide_clock_change change = tide_sealer_clock_change(s, now);
	struct tide_control *c = s->map->control;
	struct tide_window_times *t;
	struct tide_window *w;
	unsigned i;

	if (change.stepped) {
		tide_sealer_clock_strays(s, now, &change);
		if (tide_sealer_clock_tell(s, err) < 0)
			return -1;
	} else {
		s->latest_ms = not_before(s->latest_ms, now.wall_ms);
	}
	tide_sealer_clock_read(s, now);
	s->target =
	    tide_epoch_replace(&c->current, TIDE_MAP_RETIRED, &c->epoch);
	wait_until_quiet(s, wait_ms);
	for (i = 0; i < 2; i++) {
		w = window(s, i);
		t = times(s, i);
		if (state(w) != TIDE_WINDOW_OPEN &&
		    state(w) != TIDE_WINDOW_SEALING)
			continue;
		if (load(&t->closed_ms) == 0)
			store(&t->closed_ms, end_of(s, t));
		if (archive_window(s, w, load(&t->number), err) < 0)
			return -1;
		clear(s, w);
	}
	s->waiting = false;
	return 0;
}
