/*
 * settled - the time by which things expire, over restarts and clock steps.
 *
 * The archivist holds the clock against boot time each round
 * (base/clock.h), and the map's control has what boot time lacks, for workers
 * and tools.  A collector that finds the map goes on with that.  Else the
 * archive says what was settled when the last checkpoint was written: in the
 * same boot, the same; after a reboot, the clock is believed if it has gone on
 * by no more than an hour, and otherwise doubted for one.
 */
#include <stdio.h>
#include <string.h>

#include "collector.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/base/units.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"

static void
publish(struct collector *c)
{
	atomic_store_explicit(&c->map->control->settled_ms, c->settled.lack_ms,
	    memory_order_relaxed);
}

/* What time it is, as far as is known without believing the clock. */
static uint64_t
find_time(struct collector *c, struct tide_moment now)
{
	int64_t lack = atomic_load(&c->map->control->settled_ms);
	struct tide_stored_clock last;
	struct tide_err err;
	int found;

	if (lack != 0)
		return (uint64_t)((int64_t)now.boot_ms + lack);
	found = tide_archive_get_clock(&c->archive, &last, &err);
	if (found < 0)
		tide_log(TIDE_LOG_WARNING, "%s", err.text);
	if (found <= 0)
		return now.wall_ms;
	if (last.boot_id[0] != '\0' &&
	    strncmp(last.boot_id, c->map->head->boot_id, sizeof last.boot_id) ==
		0)
		return last.settled_ms + (now.boot_ms - last.boot_ms);
	if (now.wall_ms + TIDE_CLOCK_SLACK_MS >= last.settled_ms &&
	    now.wall_ms <= last.settled_ms + TIDE_CLOCK_CONFIRM_MS)
		return now.wall_ms;
	return last.settled_ms;
}

void
settled_open(struct collector *c)
{
	struct tide_moment now = tide_moment_now();

	tide_settled_begin(&c->settled, now, find_time(c, now));
	publish(c);
}

static void
tell_doubt(const struct collector *c)
{
	int64_t off = c->settled.other_ms - c->settled.lack_ms;

	tide_log(TIDE_LOG_WARNING,
	    "the clock is %lld s %s of what was expected: nothing expires by "
	    "it until it has stood so for an hour",
	    (long long)(off > 0 ? off : -off) / 1000,
	    off > 0 ? "ahead" : "behind");
}

void
settled_round(struct collector *c)
{
	switch (tide_settled_round(&c->settled, tide_moment_now())) {
	case TIDE_CLOCK_AGREES:
		break;
	case TIDE_CLOCK_WAS_SET:
		tell_doubt(c);
		break;
	case TIDE_CLOCK_IS_BACK:
		tide_log(TIDE_LOG_INFO, "the clock is as expected again");
		break;
	case TIDE_CLOCK_CONFIRMED:
		tide_log(TIDE_LOG_WARNING,
		    "the clock has stood for an hour: it is taken for right");
		break;
	}
	publish(c);
}

int
settled_keep(struct collector *c, struct tide_err *err)
{
	struct tide_stored_clock s = { .boot_ms = tide_clock_boot_ms() };

	s.settled_ms = (uint64_t)((int64_t)s.boot_ms + c->settled.lack_ms);
	memcpy(s.boot_id, c->map->head->boot_id, sizeof s.boot_id);
	return tide_archive_put_clock(&c->archive, &s, err);
}
