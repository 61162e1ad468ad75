/*
 * top, watch - the loop on a terminal: look, draw, wait for a key.
 */
#include <signal.h>
#include <stdlib.h>

#include "../read/output.h"
#include "../read/torn.h"
#include "desk.h"
#include "screen.h"
#include "top.h"
#include "tidemark/base/clock.h"

/* ---- looking ----------------------------------------------------------- */

/* What a row of the first table is known by. */
static uint64_t
id_of(const struct top *t, size_t i)
{
	const struct table *table = &t->table[0];

	return table->id != NULL ? table->id(t->order[i]) : t->order[i];
}

/*
 * Take a sample; the selected row stays so, wherever it is now.  Who stands
 * on the first one wants whoever is the first.
 */
void
desk_look(struct desk *d)
{
	struct top *t = d->top;
	bool follow = d->at > 0 && d->at < t->shown;
	uint64_t id = follow ? id_of(t, d->at) : 0;
	size_t i;

	(void)top_sample(t);
	for (i = 0; follow && i < t->shown; i++)
		if (id_of(t, i) == id) {
			d->at = i;
			return;
		}
}

/* ---- the loop ---------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void
on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void
loop(struct desk *d)
{
	uint64_t last = 0, now, span;
	int key = SCREEN_NOTHING;

	while (!stopped && desk_key(d, key)) {
		now = tide_clock_mono_ms();
		span = (uint64_t)(d->top->interval * 1000);
		if (last == 0 || now - last >= span) {
			if (!d->top->paused || torn_seen())
				desk_look(d);
			last = now;
		}
		page_draw(d);
		key = screen_key((int)(last + span - now));
	}
}

int
top_watch(struct top *t)
{
	const struct sigaction act = { .sa_handler = on_signal };
	static struct desk desk;

	desk = (struct desk){ .top = t };
	if (!screen_open(output_is_colored()))
		return TOOL_ERROR;
	(void)output_color("never"); /* curses does it from here on */
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	(void)sigaction(SIGHUP, &act, NULL);
	(void)sigaction(SIGQUIT, &act, NULL);
	loop(&desk);
	screen_close();
	free(desk.text);
	return TOOL_OK;
}
