/*
 * top, memory - the windows that remember what passed: how full, how sure,
 * how far back.
 */
#include <math.h>
#include <stdio.h>

#include "../read/output.h"
#include "../read/view.h"
#include "top.h"
#include "tidemark/base/bloom.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"

enum {
	WINDOW,
	STATE,
	FILTER,
	FULL,
	ELEMENTS,
	CAPACITY,
	BITS,
	ERROR,
	SPAN,
	MESSAGES
};

static const struct column columns[] = {
	{ "window", "WINDOW", 7, 0, false },
	{ "state", "STATE", 8, 0, true },
	{ "filter", "FILTER", 10, 0, true },
	{ "load", "FULL", 6, 0, false },
	{ "elements", "HOLDS", 9, 0, false },
	{ "capacity", "OF", 9, 0, false },
	{ "fill", "BITS", 6, 0, false },
	{ "error", "FALSE YES", 0, 0, false },
	{ "span_ms", "OPEN FOR", 11, 100, false },
	{ "messages", "MESSAGES", 10, 116, false },
};

static struct view_window windows[2];

static const struct view_filter *
filter_at(size_t row)
{
	return &windows[row / TIDE_FILTERS].filter[row % TIDE_FILTERS];
}

/* Of a closed window, until it was closed. */
static double
span_of(const struct top *t, const struct view_window *w)
{
	uint64_t until =
	    w->open || w->closed_ms == 0 ? t->now_ms : w->closed_ms;

	return w->opened_ms != 0 && until > w->opened_ms
	    ? (double)(until - w->opened_ms)
	    : NAN;
}

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct view_window *w = &windows[row / TIDE_FILTERS];
	const struct view_filter *f = filter_at(row);

	switch (column) {
	case WINDOW:
		return (double)w->number;
	case FULL:
		return f->load;
	case ELEMENTS:
		return (double)f->elements;
	case CAPACITY:
		return (double)t->view.shape[row % TIDE_FILTERS].capacity;
	case BITS:
		return f->fill;
	case ERROR:
		return f->error;
	case SPAN:
		return span_of(t, w);
	default:
		return (double)w->messages;
	}
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	const struct view_window *w = &windows[row / TIDE_FILTERS];
	const struct view_filter *f = filter_at(row);
	double n =
	    column == STATE || column == FILTER ? 0 : number(t, row, column);

	out->tone = w->overfilled ? TONE_BAD
	    : w->open		  ? TONE_PLAIN
				  : TONE_FAINT;
	switch (column) {
	case STATE:
		(void)snprintf(out->text, TOP_TEXT, "%s", w->state);
		return;
	case FILTER:
		(void)snprintf(out->text, TOP_TEXT, "%s",
		    view_filter_name[row % TIDE_FILTERS]);
		return;
	case FULL:
		draw_bar(t, out, n, width);
		return;
	case BITS:
		(void)snprintf(out->text, TOP_TEXT, "%.2g%%", n * 100);
		return;
	case ERROR:
		if (f->ones == 0)
			(void)snprintf(out->text, TOP_TEXT, "none");
		else if (n < 1e-9)
			(void)snprintf(out->text, TOP_TEXT, "< 1 in a billion");
		else
			(void)show_chance(n, out->text, TOP_TEXT);
		return;
	case SPAN:
		out->text[0] = '\0';
		if (!isnan(n))
			(void)show_span((uint64_t)n, out->text, TOP_TEXT);
		return;
	default:
		(void)snprintf(out->text, TOP_TEXT, "%.0f", n);
	}
}

static int
gather(struct top *t)
{
	view_window(&t->view, 0, &windows[0]);
	view_window(&t->view, 1, &windows[1]);
	t->table[0] = (struct table){ .record = "filter",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.rows = 2 * TIDE_FILTERS,
		.cell = show,
		.number = number };
	t->tables = 1;
	return 0;
}

/* The open window, and how far back it goes. */
static void
tell_open(const struct top *t, char out[TOP_TEXT])
{
	const struct view_window *w = &windows[windows[1].open];
	char span[SHOW_MAX];
	double ms = span_of(t, w);

	if (!w->open)
		(void)snprintf(out, TOP_TEXT, "no window is open");
	else
		(void)snprintf(out, TOP_TEXT,
		    "window %llu: open for %s, %llu message%s",
		    (unsigned long long)w->number,
		    show_span(isnan(ms) ? 0 : (uint64_t)ms, span, sizeof span),
		    (unsigned long long)w->messages, plural(w->messages));
}

static void
tell_archive(const struct top *t, char out[TOP_TEXT])
{
	const struct tide_control *c = t->view.map->control;
	uint64_t n = atomic_load(&c->archive_windows);
	uint64_t from = atomic_load(&c->archive_from_ms);
	char bytes[SHOW_MAX], when[SHOW_MAX], span[SHOW_MAX];

	if (n == 0)
		(void)snprintf(out, TOP_TEXT, "archive: no window sealed yet");
	else
		(void)snprintf(out, TOP_TEXT,
		    "archive: %llu window%s, %s, from %s (%s)",
		    (unsigned long long)n, plural(n),
		    show_bytes(
			atomic_load(&c->archive_bytes), bytes, sizeof bytes),
		    show_moment(from, when, sizeof when),
		    show_span(t->now_ms > from ? t->now_ms - from : 0, span,
			sizeof span));
}

static void
banner(const struct top *t, struct banner *b, int width, int height)
{
	(void)width;
	if (height < 3)
		return;
	b->line[0].tone = b->line[1].tone = TONE_PLAIN;
	tell_open(t, b->line[0].text);
	tell_archive(t, b->line[1].text);
	b->lines = 2;
}

const struct top_view top_memory = { .name = "Memory",
	.column = columns,
	.columns = sizeof columns / sizeof *columns,
	.sort = WINDOW,
	.descending = true,
	.gather = gather,
	.banner = banner };
