/*
 * top, table - rows filtered, sorted, and put into columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "top.h"

#define COLUMNS_MOST 16
#define KEY_ENOUGH 40 /* columns; most keys are shorter */
#define BAR_MORE 26

/* ---- filter and sort --------------------------------------------------- */

bool
top_row_has(const struct top *t, const struct table *table, size_t row,
    const char *words)
{
	static struct cell cell;
	unsigned c;

	for (c = 0; c < table->columns; c++) {
		if (!table->column[c].text)
			continue;
		table->cell(t, row, c, TOP_TEXT, &cell);
		if (strcasestr(cell.text, words) != NULL)
			return true;
	}
	return false;
}

struct sort_key {
	uint32_t row;
	double number;
	char *text; /* NULL: by number */
};

static int
compare(const void *x, const void *y)
{
	const struct sort_key *a = x, *b = y;

	if (a->text != NULL && b->text != NULL)
		return strcmp(a->text, b->text);
	if (isnan(a->number) || isnan(b->number))
		return (int)isnan(b->number) - (int)isnan(a->number);
	return (a->number > b->number) - (a->number < b->number);
}

/* Rows that are equal keep the order they have in the map. */
static int
ascending(const void *x, const void *y)
{
	const struct sort_key *a = x, *b = y;
	int order = compare(x, y);

	return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

static int
descending(const void *x, const void *y)
{
	const struct sort_key *a = x, *b = y;
	int order = compare(y, x);

	return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

static bool
fill_key(const struct top *t, const struct table *table, struct sort_key *k)
{
	static struct cell cell;
	unsigned c = t->sort[t->which];

	k->text = NULL;
	k->number = 0;
	if (!table->column[c].text) {
		k->number = table->number(t, k->row, c);
		return true;
	}
	table->cell(t, k->row, c, TOP_TEXT, &cell);
	k->text = strdup(cell.text);
	return k->text != NULL;
}

static int
make_room(struct top *t, size_t rows)
{
	uint32_t *more;

	if (rows <= t->room)
		return 0;
	more = realloc(t->order, rows * sizeof *more);
	if (more == NULL)
		return -1;
	t->order = more;
	t->room = rows;
	return 0;
}

static size_t
select_rows(const struct top *t, const struct table *table, struct sort_key *k)
{
	size_t row, n = 0;

	for (row = 0; row < table->rows; row++) {
		if (t->filter[0] != '\0' &&
		    !top_row_has(t, table, row, t->filter))
			continue;
		k[n].row = (uint32_t)row;
		if (!fill_key(t, table, &k[n]))
			break;
		n++;
	}
	return n;
}

int
top_arrange(struct top *t)
{
	const struct table *table = &t->table[0];
	struct sort_key *k;
	size_t i;

	t->shown = 0;
	if (t->tables == 0 || table->rows == 0)
		return 0;
	k = malloc(table->rows * sizeof *k);
	if (k == NULL || make_room(t, table->rows) < 0) {
		free(k);
		return -1;
	}
	t->shown = select_rows(t, table, k);
	if (t->shown > 0)
		qsort(k, t->shown, sizeof *k,
		    t->descending[t->which] ? descending : ascending);
	for (i = 0; i < t->shown; i++) {
		t->order[i] = k[i].row;
		free(k[i].text);
	}
	free(k);
	return 0;
}

size_t
top_shown(const struct top *t)
{
	size_t n = t->shown;
	unsigned i;

	for (i = 1; i < t->tables; i++)
		n += t->table[i].rows;
	return n;
}

const struct table *
top_at(const struct top *t, size_t i, size_t *row)
{
	unsigned k;

	*row = 0;
	if (i < t->shown) {
		*row = t->order[i];
		return &t->table[0];
	}
	i -= t->shown;
	for (k = 1; k < t->tables; k++) {
		if (i < t->table[k].rows) {
			*row = i;
			return &t->table[k];
		}
		i -= t->table[k].rows;
	}
	return NULL;
}

int
top_column(const struct top *t, const char *name)
{
	const struct top_view *v = top_views[t->which];
	unsigned c;

	for (c = 0; c < v->columns; c++)
		if (strcasecmp(v->column[c].name, name) == 0)
			return (int)c;
	return -1;
}

/* ---- columns ----------------------------------------------------------- */

/* Where keys have room, half of what is left over goes to the bar. */
static int
widen_bar(const struct table *table, int left, int widths[])
{
	int more = (left - KEY_ENOUGH) / 2;

	if (table->bar == 0 || widths[table->bar] <= 0 || more <= 0)
		return 0;
	more = more > BAR_MORE ? BAR_MORE : more;
	widths[table->bar] += more;
	return more;
}

void
top_widths(const struct table *table, int width, int widths[])
{
	int left = width, open = 0;
	unsigned c;

	for (c = 0; c < table->columns; c++) {
		const struct column *col = &table->column[c];

		widths[c] = col->from <= width ? col->width : -1;
		if (widths[c] < 0)
			continue;
		left -= widths[c] + 1;
		open += widths[c] == 0;
	}
	left -= widen_bar(table, left, widths);
	for (c = 0; c < table->columns; c++) {
		if (widths[c] == 0 && open > 0) {
			widths[c] = left / open > 4 ? left / open : 4;
			left -= widths[c];
			open--;
		} else if (widths[c] < 0) {
			widths[c] = 0;
		}
	}
}

static bool
is_right(const struct table *table, unsigned c)
{
	return !table->column[c].text && table->column[c].width != 0 &&
	    (c == 0 || c != table->bar);
}

/* What had to be cut ends in a mark that says so. */
static void
fit_cell(const struct top *t, const struct cell *cell, int width, bool right,
    char out[TOP_TEXT])
{
	bool cut =
	    !cell->picture && width > 4 && draw_columns(cell->text) > width;
	size_t at;

	draw_fit(out, cell->text, cut ? width - 1 : width, right);
	at = strlen(out);
	if (cut)
		(void)snprintf(
		    out + at, TOP_TEXT - at, "%s", t->ascii ? "~" : "…");
}

static void
join(char out[TOP_TEXT], const char *cell)
{
	size_t at = strlen(out);

	(void)snprintf(
	    out + at, TOP_TEXT - at, "%s%s", at > 0 ? " " : "", cell);
}

void
top_titles(const struct top *t, const struct table *table, int width,
    char out[TOP_TEXT])
{
	static char name[TOP_TEXT], cell[TOP_TEXT];
	int widths[COLUMNS_MOST];
	unsigned c;

	top_widths(table, width, widths);
	out[0] = '\0';
	for (c = 0; c < table->columns; c++) {
		if (widths[c] == 0)
			continue;
		(void)snprintf(name, sizeof name, "%s%s",
		    table->column[c].title,
		    table != &t->table[0] || c != t->sort[t->which] ? ""
			: t->descending[t->which]		    ? "-"
								    : "+");
		draw_fit(cell, name, widths[c], is_right(table, c));
		join(out, cell);
	}
}

void
top_row(const struct top *t, const struct table *table, size_t row, int width,
    struct cell *out, struct cell *picture)
{
	static struct cell cell;
	static char text[TOP_TEXT];
	int widths[COLUMNS_MOST], x = 0;
	unsigned c;

	top_widths(table, width, widths);
	out->text[0] = '\0';
	out->tone = TONE_PLAIN;
	if (picture != NULL)
		picture->text[0] = '\0';
	for (c = 0; c < table->columns; c++) {
		if (widths[c] == 0)
			continue;
		cell = (struct cell){ .tone = TONE_PLAIN, .x = x };
		table->cell(t, row, c, widths[c], &cell);
		fit_cell(t, &cell, widths[c], is_right(table, c), text);
		join(out->text, text);
		if (!cell.picture && cell.tone != TONE_PLAIN)
			out->tone = cell.tone;
		if (cell.picture && picture != NULL)
			*picture = cell;
		x += widths[c] + 1;
	}
}

/* ---- printing ---------------------------------------------------------- */

static int
print_width(void)
{
	const char *columns = getenv("COLUMNS");
	long n = columns != NULL ? strtol(columns, NULL, 10) : 0;

	return n >= 40 && n <= 300 ? (int)n : 120;
}

static void
put_line(const char *text, enum tone how)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == ' ')
		n--;
	printf("%s%.*s%s\n", tone(how), (int)n, text, tone(TONE_PLAIN));
}

void
top_print(const struct top *t)
{
	static struct banner banner;
	static struct cell line;
	const struct table *table, *last = NULL;
	int width = print_width();
	size_t i, row;
	unsigned k;

	top_headline(t, &line);
	put_line(line.text, line.tone);
	banner = (struct banner){ .lines = 0 };
	if (top_views[t->which]->banner != NULL)
		top_views[t->which]->banner(t, &banner, width, TOP_LINES);
	for (k = 0; k < banner.lines; k++)
		put_line(banner.line[k].text, banner.line[k].tone);
	if (t->shown == 0 && t->tables > 0) {
		top_titles(t, &t->table[0], width, line.text);
		put_line(line.text, TONE_STRONG);
	}
	for (i = 0; i < top_shown(t); i++) {
		table = top_at(t, i, &row);
		if (table == NULL)
			break;
		if (table != last) {
			top_titles(t, table, width, line.text);
			put_line(line.text, TONE_STRONG);
			last = table;
		}
		top_row(t, table, row, width, &line, NULL);
		put_line(line.text, line.tone);
	}
	printf("\n");
}

static void
put_number(struct json *j, const char *key, double n)
{
	if (n >= 0 && n < 9e15 && floor(n) == n)
		json_number(j, key, (uint64_t)n);
	else
		json_real(j, key, n);
}

void
top_print_json(const struct top *t)
{
	static struct cell cell;
	const struct table *table;
	struct json j;
	size_t i, row;
	unsigned c;

	top_headline_json(t);
	for (i = 0; i < top_shown(t); i++) {
		table = top_at(t, i, &row);
		if (table == NULL)
			break;
		j = json_record(stdout, table->record);
		json_time(&j, "time", t->now_ms);
		for (c = 0; c < table->columns; c++) {
			if (!table->column[c].text) {
				put_number(&j, table->column[c].name,
				    table->number(t, row, c));
				continue;
			}
			table->cell(t, row, c, TOP_TEXT, &cell);
			json_text(&j, table->column[c].name, cell.text);
		}
		json_record_end(&j);
	}
	if (top_views[t->which]->json != NULL)
		top_views[t->which]->json(t);
}
