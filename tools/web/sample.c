/*
 * sample - attach, look, pick out.
 */
#include <string.h>

#include "tidemark/clock.h"
#include "sample.h"

bool
sample_attach(struct sample *s)
{
	s->now_ms = tide_clock_wall_ms();
	s->mono_ms = tide_clock_mono_ms();
	s->attached = view_follow(&s->view, &s->places, &s->why);
	return s->attached;
}

void
sample_free(struct sample *s)
{
	if (s->view.map != NULL)
		view_close(&s->view);
	water_free(&s->water);
}

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

bool
sample_take(struct sample *s)
{
	if (!sample_attach(s))
		return false;
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
	return true;
}

const char *
sample_trouble(const struct sample *s)
{
	return s->attached ? view_trouble(&s->view, s->now_ms)
			   : "the daemon is not running";
}
