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

/* Who is not at work; "" if all are. */
static const char *
trouble(const struct top *t)
{
	bool collector = view_collector(&t->view).fresh;
	bool acceptor = view_acceptor(&t->view).fresh &&
	    atomic_load(&t->view.map->acceptor->listening) != 0;

	return !collector && !acceptor ? "THE DAEMON IS NOT AT WORK"
	    : !collector	       ? "THE COLLECTOR IS SILENT"
	    : !acceptor		       ? "THE ACCEPTOR DOES NOT LISTEN"
	    : atomic_load(&t->view.map->control->bypass_until_ms) > t->now_ms
	    ? "BYPASS: ALL IS ACCEPTED"
	    : "";
}

void
top_headline(const struct top *t, struct cell *out)
{
	struct view_flow f = view_flow(&t->view, t->now_ms);
	const char *wrong = trouble(t);
	static char rate[TOP_TEXT];
	char when[SHOW_MAX];

	draw_rate(rate, flow_rate(t));
	(void)show_moment(t->now_ms, when, sizeof when);
	(void)snprintf(out->text, sizeof out->text,
	    "tidemark %.8s  %s  mail %.20s  workers %u/%u  buckets %u  bans %u",
	    when + 11, wrong[0] != '\0' ? wrong : "at work",
	    rate[0] != '\0' ? rate : "?", view_serving(&t->view), t->view.slots,
	    f.buckets, f.bans);
	out->tone = wrong[0] == '\0' ? TONE_STRONG : TONE_BAD;
}
