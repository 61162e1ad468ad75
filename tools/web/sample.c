/*
 * sample - attach, look, pick out.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../read/pace.h"
#include "../read/torn.h"
#include "../read/view_flow.h"
#include "../read/water.h"
#include "sample.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/flow/bans.h"
#include "tidemark/map/map.h"

#define FRESH_MS 400 /* who asks within this time gets the same */

/* ---- the map ----------------------------------------------------------- */

/* A map that we may not read is another trouble than none. */
static bool
is_absent(const struct sample *s)
{
	char path[TIDE_PATH_MAX + 8];

	(void)snprintf(path, sizeof path, "%s/map", s->places.runtime_dir);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

bool
sample_attach(struct sample *s)
{
	const struct tide_map *before = s->view.map;

	if (torn_seen()) /* what is left of the map is of no use */
		s->taken_ms = 0;
	s->attached = view_follow(&s->view, &s->places, &s->why);
	if (s->view.map != before || !s->attached)
		s->taken_ms = 0;
	s->absent = !s->attached && is_absent(s);
	/* by our own settings or the daemon's, whichever hides more */
	s->mask = s->places.web_mask != 0 ||
	    (s->attached && s->view.config.web_mask != 0);
	return s->attached;
}

void
sample_free(struct sample *s)
{
	if (s->view.map != NULL)
		view_close(&s->view);
	water_free(&s->water);
}

/* ---- what is picked out ------------------------------------------------ */

/* By insertion: there are few places. */
static void
pick_nearest(struct sample *s)
{
	const struct water_item *item = s->water.item;
	size_t i, at;

	s->nearest_count = 0;
	for (i = 0; i < s->water.count; i++) {
		double fill = water_fill(&item[i]);

		at = s->nearest_count;
		if (at == SAMPLE_NEAREST) {
			if (fill <= water_fill(&item[s->nearest[at - 1]]))
				continue;
			at--;
		} else {
			s->nearest_count++;
		}
		for (; at > 0 && water_fill(&item[s->nearest[at - 1]]) < fill;
		     at--)
			s->nearest[at] = s->nearest[at - 1];
		s->nearest[at] = i;
	}
}

static void
pick_bans(struct sample *s)
{
	struct tide_ban b;
	uint32_t i;
	size_t at;

	s->bans = 0;
	for (i = 0; i < s->view.bans; i++) {
		if (!view_ban(&s->view, i, s->now_ms, &b))
			continue;
		at = s->bans;
		if (at == SAMPLE_BANS) {
			if (b.since_ms <= s->ban[at - 1].since_ms)
				continue;
			at--;
		} else {
			s->bans++;
		}
		for (; at > 0 && s->ban[at - 1].since_ms < b.since_ms; at--)
			s->ban[at] = s->ban[at - 1];
		s->ban[at] = b;
	}
}

/* ---- looking ----------------------------------------------------------- */

#define FORGET_MS 60000 /* what nobody looked at for so long starts anew */

static bool
look(struct sample *s)
{
	if (s->mono_ms - s->water.sampled_ms > FORGET_MS) {
		water_free(&s->water);
		s->waits.turned_ms = 0;
	}
	if (water_sample(&s->water, &s->view, s->mono_ms) < 0) {
		s->attached = false;
		return tide_err_set(&s->why, "no memory for so many buckets") ==
		    0;
	}
	pace_read(&s->waits, &s->view, s->mono_ms);
	health_read(&s->health, &s->view, s->mono_ms);
	s->flow = view_flow(&s->view, s->now_ms);
	pick_nearest(s);
	pick_bans(s);
	s->taken_ms = s->mono_ms;
	return true;
}

/* Many who look at once cost what one does, and agree. */
bool
sample_take(struct sample *s)
{
	uint64_t mono_ms = tide_clock_mono_ms();

	if (sample_attach(s) && s->taken_ms != 0 &&
	    mono_ms - s->taken_ms < FRESH_MS)
		return true;
	s->now_ms =
	    s->attached ? tide_map_now_ms(s->view.map) : tide_clock_wall_ms();
	s->mono_ms = mono_ms;
	s->taken_ms = 0;
	if (!s->attached || !look(s))
		return false;
	return !torn_seen() || (sample_attach(s) && look(s));
}

const char *
sample_trouble(const struct sample *s)
{
	return s->attached ? view_trouble(&s->view, s->now_ms)
	    : s->absent	   ? "the daemon is not running"
			   : "the live map cannot be read";
}
