/*
 * top, sample - attach, follow a new map or configuration, take a sample.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidemark/clock.h"
#include "top.h"

const struct top_view *const top_views[TOP_VIEWS] = { &top_levels, &top_bans,
	&top_flow, &top_memory, &top_workers, &top_map };

void
top_begin(struct top *t)
{
	unsigned i;

	t->group = -1;
	t->picture = true;
	for (i = 0; i < TOP_VIEWS; i++) {
		t->sort[i] = top_views[i]->sort;
		t->descending[i] = top_views[i]->descending;
	}
}

void
top_end(struct top *t)
{
	if (t->attached)
		view_close(&t->view);
	t->attached = false;
	free(t->order);
	t->order = NULL;
}

/*
 * A daemon started anew may have made another map, and one that was reloaded
 * has another configuration.  Until the new one can be read, we keep the old.
 */
static void
follow(struct top *t)
{
	static uint64_t generation;
	struct view fresh;

	if (t->attached &&
	    tide_map_is_current(t->view.map, t->places.runtime_dir) &&
	    atomic_load(&t->view.map->control->generation) == generation)
		return;
	if (view_open(&fresh, &t->places, &t->why) < 0)
		return;
	if (t->attached) {
		if (fresh.map->control->head.instance !=
		    t->view.map->control->head.instance)
			t->map_count++;
		view_close(&t->view);
	}
	t->view = fresh;
	t->attached = true;
	generation = atomic_load(&t->view.map->control->generation);
}

bool
top_sample(struct top *t)
{
	follow(t);
	t->now_ms = tide_clock_wall_ms();
	t->mono_ms = tide_clock_mono_ms();
	t->tables = 0;
	t->shown = 0;
	if (!t->attached)
		return false;
	if (top_views[t->which]->gather(t) == 0 && top_arrange(t) == 0)
		return true;
	t->tables = 0;
	return tide_err_set(&t->why, "no memory for so many rows") == 0;
}

void
top_headline(const struct top *t, struct cell *out)
{
	const struct tide_control *c = t->view.map->control;
	struct view_pulse collector = view_collector(&t->view);
	struct view_pulse acceptor = view_acceptor(&t->view);
	bool listening = acceptor.fresh &&
	    atomic_load(&t->view.map->acceptor->listening) != 0;
	bool bypassed = atomic_load(&c->bypass_until_ms) > t->now_ms;
	static char rate[TOP_TEXT];
	char when[SHOW_MAX];

	draw_rate(rate, flow_rate(t));
	(void)show_moment(t->now_ms, when, sizeof when);
	(void)snprintf(out->text, sizeof out->text,
	    "tidemark %.8s  collector %s, acceptor %s  workers %u/%u  "
	    "mail %.20s%s",
	    when + 11, collector.fresh ? "at work" : "SILENT",
	    listening ? "listening" : "NOT LISTENING", view_serving(&t->view),
	    t->view.slots, rate[0] != '\0' ? rate : "?",
	    bypassed ? "  BYPASS" : "");
	out->tone =
	    collector.fresh && listening && !bypassed ? TONE_STRONG : TONE_BAD;
}
