/*
 * top, keys - what each key does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "desk.h"
#include "screen.h"
#include "top.h"
#include "tidemark/settings/config.h"

static const char help[] =
    "tidemark top - a look into the shared map, which it only reads\n"
    "\n"
    "  1-6, Tab         Levels, Bans, Flow, Memory, Workers, Map\n"
    "  arrows, j k      move; PgUp PgDn by a page; g G to either end; a row\n"
    "                   stays selected wherever it moves, but for the first\n"
    "  Enter            all about the selected one, as tidemark why says it\n"
    "  /                search in the rows; n for the next\n"
    "  \\ F4             keep only rows that hold a text; empty: all\n"
    "  < > F6           sort by the column left or right of the marked one\n"
    "  I                the other way round\n"
    "  + -              look more often, or less\n"
    "  space z          pause, and go on\n"
    "  u                lift the ban of the selected one (asks first)\n"
    "  r                empty the selected bucket (asks first)\n"
    "  left right       Levels: whose water is pictured; p: no picture\n"
    "  h ? F1           this page\n"
    "  q F10            the end\n"
    "\n"
    "Levels  FULL and LEVEL: drops in the bucket, of those it can hold.\n"
    "        RATE: drops that come, of late; at least so many where a bucket\n"
    "        runs dry between two looks.  TIME: to a ban if they go on like\n"
    "        that (over: dry-run would count one), or until it has run dry.\n"
    "        The picture shows how many buckets are how full; each doubling\n"
    "        of their number is one step up; it moves left as they leak.\n"
    "Flow    NOW is the mean of 5 seconds.  Times are those that the mail\n"
    "        server waited for an answer: half of the answers took at most\n"
    "        P50; of the last minute, or of all if there were none in it.\n"
    "Memory  FALSE YES: the chance that an address that never came is found.\n";

/* ---- moving ------------------------------------------------------------ */

static void
move_by(struct desk *d, long by)
{
	size_t all = top_shown(d->top), last = all > 0 ? all - 1 : 0;
	size_t far = (size_t)(by < 0 ? -by : by);

	if (by < 0)
		d->at -= far < d->at ? far : d->at;
	else
		d->at = last - d->at > far ? d->at + far : last;
}

static void
go_to_view(struct desk *d, unsigned which)
{
	d->top->which = which % TOP_VIEWS;
	d->at = d->from = 0;
	(void)top_sample(d->top);
}

/* From the row after the selected one on, and around. */
static void
search(struct desk *d)
{
	size_t all = top_shown(d->top), i, row, k;
	const struct table *table;

	for (i = 1; i <= all && d->sought[0] != '\0'; i++) {
		k = (d->at + i) % all;
		table = top_at(d->top, k, &row);
		if (top_row_has(d->top, table, row, d->sought)) {
			d->at = k;
			return;
		}
	}
	(void)snprintf(
	    d->message, sizeof d->message, "«%s» is in no row", d->sought);
}

/* ---- sorting ----------------------------------------------------------- */

/* The next column that is shown, in that direction. */
static void
sort_by_next(struct top *t, int step)
{
	const struct table *table = &t->table[0];
	int c = (int)t->sort[t->which], tries;

	if (t->tables == 0)
		return;
	for (tries = 0; tries < (int)table->columns; tries++) {
		c = (c + step + (int)table->columns) % (int)table->columns;
		if (table->column[c].from != TOP_HIDDEN)
			break;
	}
	t->sort[t->which] = (unsigned)c;
	t->descending[t->which] = !table->column[c].text;
	(void)top_arrange(t);
}

static void
invert(struct top *t)
{
	t->descending[t->which] = !t->descending[t->which];
	(void)top_arrange(t);
}

static void
change_interval(struct top *t, double by)
{
	t->interval *= by;
	if (t->interval < TOP_INTERVAL_LEAST)
		t->interval = TOP_INTERVAL_LEAST;
	if (t->interval > TOP_INTERVAL_MOST)
		t->interval = TOP_INTERVAL_MOST;
}

/* ---- whom it is about -------------------------------------------------- */

static bool
selected_key(struct desk *d)
{
	const struct table *table;
	size_t row;

	table = d->top->attached ? top_at(d->top, d->at, &row) : NULL;
	if (table != NULL && table->key != NULL &&
	    table->key(d->top, row, d->key))
		return true;
	(void)snprintf(d->message, sizeof d->message,
	    "this row is about nobody in particular");
	return false;
}

/* The text of a column of the selected row. */
static void
selected_text(const struct desk *d, const char *column, char *out, size_t size)
{
	static struct cell cell;
	size_t row;
	const struct table *table = top_at(d->top, d->at, &row);
	int c = top_column(d->top, column);

	out[0] = '\0';
	if (table != &d->top->table[0] || c < 0)
		return;
	table->cell(d->top, row, (unsigned)c, TOP_TEXT, &cell);
	(void)snprintf(out, size, "%.*s", (int)size - 1, cell.text);
}

static void
read_text(struct desk *d, char *text)
{
	free(d->text);
	d->text = text;
	d->text_line = 0;
	if (text != NULL)
		d->mode = DESK_TEXT;
}

static bool
may_order(struct desk *d)
{
	if (!d->top->readonly)
		return selected_key(d);
	(void)snprintf(d->message, sizeof d->message,
	    "started with --readonly: nothing is changed from here");
	return false;
}

static void
begin_reset(struct desk *d)
{
	if (!may_order(d))
		return;
	if (d->top->which != TOP_LEVELS) {
		(void)snprintf(d->message, sizeof d->message,
		    "buckets are emptied in the view Levels");
		return;
	}
	selected_text(d, "group", d->group, sizeof d->group);
	selected_text(d, "profile", d->profile, sizeof d->profile);
	d->mode = DESK_RESET;
}

static void
answer(struct desk *d, int key)
{
	enum desk_mode asked = d->mode;

	d->mode = DESK_ROWS;
	d->message[0] = '\0';
	if (key != 'y' && key != 'Y') {
		(void)snprintf(
		    d->message, sizeof d->message, "nothing was changed");
		return;
	}
	(void)snprintf(d->message, sizeof d->message, "asking the daemon ...");
	page_draw(d); /* it may take its time */
	if (asked == DESK_UNBAN)
		act_unban(d->top, d->key, d->message);
	else
		act_reset(d->top, d->key, d->group, d->profile, d->message);
	desk_look(d);
}

/* ---- typing ------------------------------------------------------------ */

static void
end_typing(struct desk *d)
{
	bool filter = d->mode == DESK_FILTER;

	d->mode = DESK_ROWS;
	if (filter) {
		(void)snprintf(
		    d->top->filter, sizeof d->top->filter, "%s", d->typed);
		(void)top_arrange(d->top);
		d->at = d->from = 0;
	} else {
		(void)snprintf(d->sought, sizeof d->sought, "%s", d->typed);
		search(d);
	}
}

/* A whole character, as UTF-8 has them, goes at once. */
static void
erase_one(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n > 0 ? n - 1 : 0] = '\0';
}

static void
type(struct desk *d, int key)
{
	size_t n = strlen(d->typed);

	if (key == SCREEN_ENTER)
		end_typing(d);
	else if (key == SCREEN_ESCAPE)
		d->mode = DESK_ROWS;
	else if (key == SCREEN_BACKSPACE)
		erase_one(d->typed);
	else if (key >= ' ' && key < 256 && n + 1 < sizeof d->typed) {
		d->typed[n] = (char)key;
		d->typed[n + 1] = '\0';
	}
}

static void
begin_typing(struct desk *d, enum desk_mode mode)
{
	d->mode = mode;
	d->typed[0] = '\0';
}

/* ---- reading ----------------------------------------------------------- */

static void
read_on(struct desk *d, int key)
{
	size_t page = page_rows(d);

	switch (key) {
	case SCREEN_DOWN:
	case 'j':
		d->text_line++;
		break;
	case SCREEN_PAGE_DOWN:
	case ' ':
		d->text_line += page;
		break;
	case SCREEN_UP:
	case 'k':
		d->text_line -= d->text_line > 0;
		break;
	case SCREEN_PAGE_UP:
		d->text_line -= page < d->text_line ? page : d->text_line;
		break;
	case 'g':
	case SCREEN_HOME:
		d->text_line = 0;
		break;
	case 'G':
	case SCREEN_END:
		d->text_line = SIZE_MAX - page; /* the page knows the end */
		break;
	case SCREEN_RESIZED:
	case SCREEN_NOTHING:
		break;
	default:
		d->mode = DESK_ROWS;
	}
}

/* ---- looking at rows --------------------------------------------------- */

static bool
moves(struct desk *d, int key)
{
	long page = (long)page_rows(d);

	switch (key) {
	case SCREEN_UP:
	case 'k':
		move_by(d, -1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		move_by(d, 1);
		return true;
	case SCREEN_PAGE_UP:
		move_by(d, -page);
		return true;
	case SCREEN_PAGE_DOWN:
		move_by(d, page);
		return true;
	case SCREEN_HOME:
	case 'g':
		d->at = 0;
		return true;
	case SCREEN_END:
	case 'G':
		move_by(d, (long)top_shown(d->top));
		return true;
	default:
		return false;
	}
}

/* Groups in a circle, all of them together among them. */
static void
picture_next(struct top *t, int step)
{
	t->group =
	    (t->group + 1 + step + TIDE_GROUPS + 1) % (TIDE_GROUPS + 1) - 1;
}

static bool
arranges(struct desk *d, int key)
{
	struct top *t = d->top;

	switch (key) {
	case '<':
		sort_by_next(t, -1);
		return true;
	case '>':
	case SCREEN_F6:
		sort_by_next(t, 1);
		return true;
	case 'I':
		invert(t);
		return true;
	case '+':
		change_interval(t, 0.5);
		return true;
	case '-':
		change_interval(t, 2);
		return true;
	case ' ':
	case 'z':
		t->paused = !t->paused;
		return true;
	case 'p':
		t->picture = !t->picture;
		return true;
	case SCREEN_LEFT:
	case SCREEN_RIGHT:
		picture_next(t, key == SCREEN_LEFT ? -1 : 1);
		return true;
	default:
		return false;
	}
}

static void
asks(struct desk *d, int key)
{
	switch (key) {
	case SCREEN_F1:
	case 'h':
	case '?':
		read_text(d, strdup(help));
		break;
	case SCREEN_ENTER:
		if (selected_key(d))
			read_text(d, act_why(d->top, d->key));
		break;
	case '/':
		begin_typing(d, DESK_SEARCH);
		break;
	case 'n':
		search(d);
		break;
	case '\\':
	case SCREEN_F4:
		begin_typing(d, DESK_FILTER);
		break;
	case 'u':
		if (may_order(d))
			d->mode = DESK_UNBAN;
		break;
	case 'r':
		begin_reset(d);
		break;
	default:
		break;
	}
}

static bool
look(struct desk *d, int key)
{
	if (key == 'q' || key == SCREEN_F10)
		return false;
	if (key == '\t' || key == SCREEN_BACK_TAB)
		go_to_view(
		    d, d->top->which + (key == '\t' ? 1 : TOP_VIEWS - 1));
	else if (key >= '1' && key < '1' + TOP_VIEWS)
		go_to_view(d, (unsigned)(key - '1'));
	else if (!moves(d, key) && !arranges(d, key))
		asks(d, key);
	return true;
}

bool
desk_key(struct desk *d, int key)
{
	if (key == SCREEN_NOTHING || key == SCREEN_RESIZED)
		return true;
	if (d->mode == DESK_ROWS)
		d->message[0] = '\0';
	switch (d->mode) {
	case DESK_FILTER:
	case DESK_SEARCH:
		type(d, key);
		return true;
	case DESK_UNBAN:
	case DESK_RESET:
		answer(d, key);
		return true;
	case DESK_TEXT:
		read_on(d, key);
		return true;
	default:
		return look(d, key);
	}
}
