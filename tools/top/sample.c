/*
 * top, sample - attach, follow a new map or configuration, take a sample.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../read/pace.h"
#include "../read/torn.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "top.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/map.h"

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

static bool
take(struct top *t)
{
	t->attached = view_follow(&t->view, &t->places, &t->why);
	t->now_ms =
	    t->attached ? tide_map_now_ms(t->view.map) : tide_clock_wall_ms();
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

bool
top_sample(struct top *t)
{
	bool taken = take(t);

	return torn_seen() ? take(t) : taken; /* once more: those were zeroes */
}

/* Trouble is shouted: there may be no colours. */
static const char *
shout(const char *text, char out[SHOW_MAX])
{
	size_t i;

	for (i = 0; i + 1 < SHOW_MAX && text[i] != '\0'; i++)
		out[i] = (char)toupper((unsigned char)text[i]);
	out[i] = '\0';
	return out;
}

void
top_headline(const struct top *t, struct cell *out)
{
	struct view_flow f = view_flow(&t->view, t->now_ms);
	const char *wrong = view_trouble(&t->view, t->now_ms);
	static char rate[TOP_TEXT];
	char when[SHOW_MAX], loud[SHOW_MAX];

	draw_rate(rate, pace_mail(&t->view, t->mono_ms));
	(void)show_moment(t->now_ms, when, sizeof when);
	(void)snprintf(out->text, sizeof out->text,
	    "tidemark %.8s  %s  mail %.20s  workers %u/%u  buckets %u  bans %u",
	    when + 11, wrong[0] != '\0' ? shout(wrong, loud) : "at work",
	    rate[0] != '\0' ? rate : "?", view_serving(&t->view), t->view.slots,
	    f.buckets, f.bans);
	out->tone = wrong[0] == '\0' ? TONE_STRONG : TONE_BAD;
}

void
top_headline_json(const struct top *t)
{
	struct view_flow f = view_flow(&t->view, t->now_ms);
	const char *wrong = view_trouble(&t->view, t->now_ms);
	struct json j = json_record(stdout, "state");

	json_time(&j, "time", t->now_ms);
	json_text(&j, "state", wrong[0] != '\0' ? wrong : "at work");
	json_real(&j, "mail_per_s", pace_mail(&t->view, t->mono_ms));
	json_number(&j, "workers", view_serving(&t->view));
	json_number(&j, "slots", t->view.slots);
	json_number(&j, "buckets", f.buckets);
	json_number(&j, "bans", f.bans);
	json_record_end(&j);
}
