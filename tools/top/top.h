/*
 * top - the live monitor, taken apart:
 *
 *   top         options, the loop of batch and JSON output
 *   top_sample  attach, follow a new map, sample the view that is looked at
 *   top_table   filter, sort and print the rows of a table
 *   top_levels, top_bans, top_flow, top_memory, top_workers, top_map
 *               the six views: each makes rows out of the shared map
 *   top_draw    sparks, bars and the picture of the water levels, as text
 *   top_page    lays a screen out; top_keys does what is typed
 *   top_act     what is asked of the daemon or of `why'
 *   top_screen  the terminal: the only one that knows curses
 *
 * All is read from the map, which is mapped read-only: the daemon does not
 * notice.  Views keep their last sample to themselves; there is one monitor a
 * process.
 */
#ifndef TOOLS_TOP_TOP_H
#define TOOLS_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../read/output.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../tool.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/settings/config.h"

#define TOP_TEXT 1024 /* bytes of a line: 200 columns of UTF-8 and more */
#define TOP_LINES 16  /* of a banner, at most */
#define TOP_TABLES 2
#define TOP_HIDDEN 9999 /* as `from': for programs only */
#define TOP_WARN 0.5	/* from such shares on, a bar is yellow, and red */
#define TOP_BAD 0.9
#define TOP_INTERVAL_LEAST 0.125 /* seconds */
#define TOP_INTERVAL_MOST 3600.0

struct top;

/* ---- tables ------------------------------------------------------------ */

struct column {
	const char *name;  /* for -s and --json */
	const char *title; /* for the eye */
	int width;	   /* 0: what is left, shared by all that say so */
	int from;	   /* shown where the screen has so many columns */
	bool text;	   /* else a number */
};

struct cell {
	char text[TOP_TEXT];
	enum tone tone;
	bool picture; /* has a tone of its own, and is never reversed */
	int x;	      /* where it stands in its row */
};

struct table {
	const char *record; /* the type of its JSON records */
	const struct column *column;
	unsigned columns;
	unsigned bar; /* the column that grows on a wide screen; 0: none */
	size_t rows;
	/* for the eye, in that many columns */
	void (*cell)(const struct top *, size_t row, unsigned column, int width,
	    struct cell *);
	/* of a column that is no text; NAN: not known */
	double (*number)(const struct top *, size_t row, unsigned column);
	/* what a row is to be known again by; NULL: its number */
	uint64_t (*id)(size_t row);
	/* whom `why', unban and reset mean; NULL if rows stand for nobody */
	bool (*key)(
	    const struct top *, size_t row, char out[TIDE_BUCKET_KEY_MAX + 1]);
};

struct banner {
	struct cell line[TOP_LINES];
	unsigned lines;
};

struct top_view {
	const char *name;
	const struct column *column; /* of its first table */
	unsigned columns;
	unsigned sort;	 /* the column it is sorted by at first */
	bool descending; /* and how */
	/* take a sample: set t->table and t->tables.  -1: no memory */
	int (*gather)(struct top *);
	/* what stands above the table; NULL: nothing.  At most `height' lines */
	void (*banner)(
	    const struct top *, struct banner *, int width, int height);
	/* the same for programs; NULL: nothing */
	void (*json)(const struct top *);
};

enum {
	TOP_LEVELS,
	TOP_BANS,
	TOP_FLOW,
	TOP_MEMORY,
	TOP_WORKERS,
	TOP_MAP,
	TOP_VIEWS
};

extern const struct top_view *const top_views[TOP_VIEWS];
extern const struct top_view top_levels, top_bans, top_flow, top_memory,
    top_workers, top_map;

/* ---- the monitor ------------------------------------------------------- */

struct top {
	struct tool *tool;
	struct tide_config places; /* where to look for the daemon */
	struct view view;
	bool attached;
	struct tide_err why; /* if not */

	uint64_t now_ms, mono_ms; /* of the sample */
	unsigned which;		  /* of the views */
	struct table table[TOP_TABLES];
	unsigned tables;
	uint32_t *order; /* rows of the first table, as they are shown */
	size_t shown, room;

	unsigned sort[TOP_VIEWS];
	bool descending[TOP_VIEWS];
	char filter[128];
	const char *note; /* lines to be kept on show; NULL: none */
	double interval;  /* seconds */
	int group;	  /* whose water is pictured; -1: all */
	bool picture;
	bool ascii, readonly, paused;
};

/* ---- sample.c ---------------------------------------------------------- */

void top_begin(struct top *);
void top_end(struct top *);

/* Sample the view that is looked at.  False if there is no map: t->why. */
bool top_sample(struct top *);

/* The line above everything. */
void top_headline(const struct top *, struct cell *);
void top_headline_json(const struct top *);

/* ---- table.c ----------------------------------------------------------- */

/* Make t->order out of filter and sort.  -1: no memory. */
int top_arrange(struct top *);

/* Widths of the columns on so wide a screen; 0: not shown. */
void top_widths(const struct table *, int width, int widths[]);

/*
 * A line of the table: titles, or row `row' of the table, with the picture in
 * it by itself, too, unless that is NULL ("" if it has none).
 */
void top_titles(
    const struct top *, const struct table *, int width, char out[TOP_TEXT]);
void top_row(const struct top *, const struct table *, size_t row, int width,
    struct cell *line, struct cell *picture);

/* Does a text cell of it hold the words, whatever their letters' case? */
bool top_row_has(
    const struct top *, const struct table *, size_t row, const char *words);

/* Row i of what is shown: tables after the first keep their order. */
size_t top_shown(const struct top *);
const struct table *top_at(const struct top *, size_t i, size_t *row);

/* The column of the view's first table so named; -1. */
int top_column(const struct top *, const char *name);

/* All of it on stdout. */
void top_print(const struct top *);
void top_print_json(const struct top *);

/* ---- draw.c ------------------------------------------------------------ */

/*
 * A copy in exactly so many columns, filled up with spaces: bytes that this
 * locale cannot show become ?.  right: the spaces come first.
 */
void draw_fit(char out[TOP_TEXT], const char *text, int width, bool right);

/* How many columns it fills. */
int draw_columns(const char *text);

/* How many bytes of the text fit into so many columns. */
size_t draw_fits(const char *text, int width);

/* A share of 1 as a bar, so many columns wide. */
void draw_bar(const struct top *, struct cell *, double share, int width);

/* Values that are not known are shown as gaps. */
void draw_spark(const struct top *, char out[TOP_TEXT], const double *values,
    unsigned count, int width);

/* How many buckets are how full, as a picture `height' lines high. */
void draw_water(const struct top *, struct banner *, const uint32_t *bins,
    unsigned count, unsigned height);

/* 3.2/s, 14/min, 2/h; "-" for none, "" if not known. */
void draw_rate(char out[TOP_TEXT], double per_second);

/* 12s, 5min, 3h20m, 12d, ever: shorter than show_span() */
const char *draw_span(double ms, char out[SHOW_MAX]);

/* 120 us, 1.2 ms, 3.4 s */
void draw_us(char out[TOP_TEXT], double us);

/* ---- watch.c ----------------------------------------------------------- */

/* On the terminal, until q. */
int top_watch(struct top *);

/* ---- act.c ------------------------------------------------------------- */

/* What `tidemark why KEY' says; to be freed. */
char *act_why(const struct top *, const char *key);

/* What became of it, in a sentence. */
void act_unban(const struct top *, const char *key, char out[TOP_TEXT]);
void act_reset(const struct top *, const char *key, const char *group,
    const char *profile, char out[TOP_TEXT]);

#endif
