/*
 * top, page - a screen laid out: headline, views, banner, rows, keys.
 */
#include <stdio.h>
#include <string.h>

#include "../read/output.h"
#include "desk.h"
#include "screen.h"
#include "top.h"
#include "tidemark/base/err.h"

#define ABOVE 2	 /* lines: headline, names of the views */
#define NAMES 56 /* columns that those take */

static struct cell line, bar;
static char fitted[TOP_TEXT];

/* One line over the whole width. */
static void
put(int y, const char *text, enum tone t, bool reversed)
{
	int width, height;

	screen_size(&width, &height);
	if (y < 0 || y >= height)
		return;
	/* the last corner would scroll some terminals */
	draw_fit(fitted, text, y == height - 1 ? width - 1 : width, false);
	screen_put(y, 0, fitted, t, reversed);
}

/* ---- the top ----------------------------------------------------------- */

static void
put_names(const struct desk *d)
{
	const struct top *t = d->top;
	char text[64], state[256];
	int width, height, x = 0;
	unsigned i;

	screen_size(&width, &height);
	put(1, "", TONE_PLAIN, false);
	for (i = 0; i < TOP_VIEWS; i++) {
		if (width < NAMES && i != t->which)
			continue; /* no room for others */
		(void)snprintf(
		    text, sizeof text, " %u %s ", i + 1, top_views[i]->name);
		if (x + (int)strlen(text) <= width)
			screen_put(1, x, text, TONE_PLAIN, i == t->which);
		x += (int)strlen(text);
	}
	(void)snprintf(state, sizeof state, "%s%s%s%s%.4gs",
	    t->paused ? "PAUSED  " : "", t->filter[0] != '\0' ? "\\" : "",
	    t->filter, t->filter[0] != '\0' ? "  " : "", t->interval);
	if (width - x > 8) {
		draw_fit(fitted, state, width - x - 1, true);
		screen_put(1, x + 1, fitted,
		    t->paused ? TONE_STRONG : TONE_PLAIN, false);
	}
}

static int
banner_budget(int height)
{
	int budget = (height - ABOVE - 2) / 3;

	return budget > 8 ? 8 : budget;
}

/* A picture of the water, coloured as a bar of so much would be. */
static void
put_tones(int y, const char *picture)
{
	const double from[] = { TOP_WARN, TOP_BAD };
	const enum tone tones[] = { TONE_WARN, TONE_BAD };
	unsigned i;
	int x;

	for (i = 0; i < 2; i++) {
		x = (int)(draw_columns(picture) * from[i]);
		if (x > 0)
			screen_put(y, x, picture + draw_fits(picture, x),
			    tones[i], false);
	}
}

static int
put_banner(const struct top *t, int width, int height)
{
	static struct banner banner;
	unsigned i;

	banner = (struct banner){ .lines = 0 };
	if (top_views[t->which]->banner != NULL)
		top_views[t->which]->banner(
		    t, &banner, width, banner_budget(height));
	for (i = 0; i < banner.lines; i++) {
		put(ABOVE + (int)i, banner.line[i].text, banner.line[i].tone,
		    false);
		if (banner.line[i].picture)
			put_tones(ABOVE + (int)i, banner.line[i].text);
	}
	return ABOVE + (int)banner.lines;
}

/* ---- rows -------------------------------------------------------------- */

/* Lines from the first row on the screen to row i, titles between included. */
static int
lines_to(const struct desk *d, size_t i)
{
	const struct table *a, *b;
	size_t row, k;
	int n = 0;

	for (k = d->from; k < i; k++) {
		a = top_at(d->top, k, &row);
		b = top_at(d->top, k + 1, &row);
		n += a == b ? 1 : 3; /* the row; a gap and titles */
	}
	return n;
}

static void
keep_in_sight(struct desk *d, int height)
{
	size_t all = top_shown(d->top);

	height = height > 1 ? height : 1;
	if (d->at >= all)
		d->at = all > 0 ? all - 1 : 0;
	if (d->from > d->at)
		d->from = d->at;
	if (d->at - d->from > (size_t)height)
		d->from = d->at - (size_t)height; /* far: no need to walk */
	while (d->from < d->at && lines_to(d, d->at) >= height)
		d->from++;
}

static void
put_titles(const struct top *t, const struct table *table, int y, int width)
{
	top_titles(t, table, width, line.text);
	put(y, line.text, TONE_STRONG, false);
}

static void
put_rows(struct desk *d, int y, int bottom, int width)
{
	const struct top *t = d->top;
	const struct table *table, *last;
	size_t i, row, all = top_shown(t);

	keep_in_sight(d, bottom - y - 1);
	last = all > 0 ? top_at(t, d->from, &row) : &t->table[0];
	if (t->tables > 0)
		put_titles(t, last, y++, width);
	for (i = d->from; i < all && y < bottom; i++) {
		table = top_at(t, i, &row);
		if (table == NULL)
			break;
		if (table != last) {
			y++;
			if (y + 1 >= bottom)
				break;
			put_titles(t, table, y++, width);
			last = table;
		}
		top_row(t, table, row, width, &line, &bar);
		put(y, line.text, line.tone, i == d->at);
		if (bar.text[0] != '\0')
			screen_put(y, bar.x, bar.text, bar.tone, false);
		y++;
	}
	if (all == 0)
		put(y,
		    t->filter[0] != '\0'
			? "nothing here holds the filter's text"
			: "nothing here now",
		    TONE_FAINT, false);
}

size_t
page_rows(const struct desk *d)
{
	int width, height, budget;

	screen_size(&width, &height);
	budget = d->mode == DESK_TEXT ? 0 : banner_budget(height);
	return height > ABOVE + 3 + budget
	    ? (size_t)(height - ABOVE - 3 - budget)
	    : 1;
}

/* ---- text -------------------------------------------------------------- */

#define HANG 4 /* what a line that goes on is set in by */

static int
indent_of(const char *text, const char *s, int width)
{
	return s > text && s[-1] != '\n' && width > 4 * HANG ? HANG : 0;
}

/*
 * Where the line after this one begins, on a screen so wide: after a blank,
 * unless a word is half a line long.
 */
static const char *
next_line(const char *text, const char *s, int width)
{
	size_t n = strcspn(s, "\n");
	size_t fits = draw_fits(s, width - indent_of(text, s, width)), k = fits;

	if (fits >= n)
		return s + n + (s[n] == '\n');
	while (k > fits / 2 && s[k] != ' ')
		k--;
	return k > fits / 2 ? s + k + 1 : s + fits;
}

static size_t
count_lines(const char *text, int width)
{
	const char *s = text;
	size_t n = 0;

	for (; *s != '\0'; n++)
		s = next_line(text, s, width);
	return n;
}

/* From its line `skip' on. */
static void
put_lines(const char *text, size_t skip, int y, int bottom, int width)
{
	const char *s = text, *next;

	for (; *s != '\0' && y < bottom; s = next) {
		next = next_line(text, s, width);
		if (skip > 0) {
			skip--;
			continue;
		}
		(void)snprintf(line.text, sizeof line.text, "%*s%.*s",
		    indent_of(text, s, width), "",
		    (int)(next - s - (next[-1] == '\n')), s);
		put(y++, line.text, TONE_PLAIN, false);
	}
}

static void
put_text(struct desk *d, int width, int bottom)
{
	size_t all = count_lines(d->text, width);
	size_t page = bottom > 0 ? (size_t)bottom : 0;
	size_t last = all > page ? all - page : 0;

	d->text_line = d->text_line < last ? d->text_line : last;
	put_lines(d->text, d->text_line, 0, bottom, width);
}

/* ---- a note kept on show ----------------------------------------------- */

#define NOTE_FROM 16 /* lines of a screen that has room for one */

static int
note_lines(const struct top *t, int height)
{
	const char *s = t->note;
	int n = 0;

	if (s == NULL || height < NOTE_FROM)
		return 0;
	for (; *s != '\0'; s += *s == '\n', n++)
		s += strcspn(s, "\n");
	return n < height / 4 ? n : height / 4;
}

static void
put_note(const struct top *t, int bottom, int height)
{
	const char *s = t->note;
	int y, n = note_lines(t, height);

	for (y = bottom - n; y < bottom; y++) {
		(void)snprintf(line.text, sizeof line.text, "%.*s",
		    (int)strcspn(s, "\n"), s);
		put(y, line.text, TONE_GOOD, false);
		s += strcspn(s, "\n");
		s += *s == '\n';
	}
}

/* ---- the bottom -------------------------------------------------------- */

/* What was typed, or its end, where that is too long for the screen. */
static const char *
typed_end(const struct desk *d)
{
	const char *s = d->typed;
	int width, height;

	screen_size(&width, &height);
	while (*s != '\0' && draw_columns(s) > width - 10)
		s += draw_fits(s, 1);
	return s;
}

static void
put_keys(const struct desk *d, int y)
{
	static const char keys[] =
	    "F1 help  / search  \\ filter  <> sort  Enter why  u unban  "
	    "r reset  q quit";

	switch (d->mode) {
	case DESK_FILTER:
		(void)snprintf(
		    line.text, sizeof line.text, "filter: %s", typed_end(d));
		break;
	case DESK_SEARCH:
		(void)snprintf(
		    line.text, sizeof line.text, "search: %s", typed_end(d));
		break;
	case DESK_UNBAN:
		(void)snprintf(line.text, sizeof line.text,
		    "Lift the ban on %s?  y or n", d->key);
		break;
	case DESK_RESET:
		(void)snprintf(line.text, sizeof line.text,
		    "Empty the %s bucket of %s?  y or n", d->group, d->key);
		break;
	case DESK_TEXT:
		(void)snprintf(line.text, sizeof line.text,
		    "arrows, space: more   q: back");
		break;
	default:
		(void)snprintf(line.text, sizeof line.text, "%s",
		    d->message[0] != '\0' ? d->message : keys);
	}
	put(y, line.text,
	    d->mode == DESK_UNBAN || d->mode == DESK_RESET ? TONE_BAD
							   : TONE_PLAIN,
	    true);
}

static void
put_view(struct desk *d, int width, int height)
{
	struct top *t = d->top;

	if (!t->attached) {
		put(0, "tidemark: waiting for the daemon", TONE_BAD, false);
		put_names(d);
		put_lines(t->why.text, 0, ABOVE + 1, height - 1, width);
		return;
	}
	top_headline(t, &line);
	put(0, line.text, line.tone, false);
	put_names(d);
	put_rows(d, put_banner(t, width, height),
	    height - 1 - note_lines(t, height), width);
	put_note(t, height - 1, height);
}

void
page_draw(struct desk *d)
{
	bool typing = d->mode == DESK_FILTER || d->mode == DESK_SEARCH;
	int width, height;

	screen_size(&width, &height);
	screen_clear();
	if (d->mode == DESK_TEXT)
		put_text(d, width, height - 1);
	else
		put_view(d, width, height);
	put_keys(d, height - 1);
	screen_show(typing ? height - 1 : -1, 8 + draw_columns(typed_end(d)));
}
