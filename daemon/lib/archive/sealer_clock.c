/*
 * sealer_clock - windows under a clock that somebody sets.
 *
 * A window is found under the times that the clock showed while it
 * was filled, since these are what a mail server's log has.  Each round holds
 * wall time against boot time, since the last round, whose reading lies in
 * control: one that was missed because the collector was away is seen as well.
 * Off by little, the open window is widened by it.  Off by more, the clock was
 * set; what came between the two readings is in the open window under the one
 * time or the other.  So that window ends at the time shown before, a lapse
 * says that the time shown since is not wholly covered, and the next window
 * begins now.  Until both can be done (a slow or full disk) the old reading
 * stands, and the lapse grows.
 * Crash: before the lapse is stored, the next collector finds the old reading;
 *        after it, the lapse may be longer than it has to be.
 * Test:  tests/daemon/lib/archive/t_sealer.c, tests/daemon/t_clock.sh
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "sealer_clock.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/shared/counters.h"

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

void
tide_sealer_clock_read(struct tide_sealer *s, struct tide_moment now)
{
	store(&s->map->control->seen_wall_ms, now.wall_ms);
	store(&s->map->control->seen_boot_ms, now.boot_ms);
}

/* A map of 0.2 has no reading. */
struct tide_clock_change
tide_sealer_clock_change(const struct tide_sealer *s, struct tide_moment now)
{
	struct tide_moment then = { load(&s->map->control->seen_wall_ms),
		load(&s->map->control->seen_boot_ms) };

	return tide_clock_between(then.boot_ms != 0 ? then : now, now);
}

static void
seen_until(struct tide_sealer *s, uint64_t wall_ms)
{
	if (wall_ms > s->latest_ms)
		s->latest_ms = wall_ms;
}

void
tide_sealer_clock_widen(struct tide_sealer *s, struct tide_window_times *open,
    struct tide_moment now, const struct tide_clock_change *c)
{
	uint64_t opened = load(&open->opened_ms);
	uint64_t earliest = tide_clock_earliest(c, opened, now.wall_ms);

	if (earliest < opened)
		store(&open->opened_ms, earliest);
	seen_until(s, now.wall_ms);
	seen_until(s, c->before_ms);
	tide_sealer_clock_read(s, now);
}

void
tide_sealer_clock_strays(struct tide_sealer *s, struct tide_moment now,
    const struct tide_clock_change *c)
{
	if (!s->strays || c->after_ms < s->stray_from_ms)
		s->stray_from_ms = c->after_ms;
	if (!s->strays || now.wall_ms > s->stray_until_ms)
		s->stray_until_ms = now.wall_ms;
	s->strays = true;
	seen_until(s, c->before_ms);
}

int
tide_sealer_clock_tell(struct tide_sealer *s, struct tide_err *err)
{
	const struct tide_lapse lapse = { .from_ms = s->stray_from_ms,
		.until_ms = s->stray_until_ms,
		.kind = TIDE_LAPSE_CLOCK };

	if (tide_archive_put_lapse(s->archive, &lapse, err) < 0)
		return -1;
	s->strays = false;
	tide_count(s->map->counters, TIDE_COUNT_CLOCK_STEPS, 1);
	return 0;
}
