/*
 * top, desk - the monitor on a terminal: what is selected, what is typed.
 */
#ifndef TOOLS_TOP_DESK_H
#define TOOLS_TOP_DESK_H

#include "top.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/settings/config.h"

enum desk_mode {
	DESK_ROWS,   /* looking at a view */
	DESK_FILTER, /* typing what to keep */
	DESK_SEARCH, /* typing what to look for */
	DESK_UNBAN,  /* answering whether */
	DESK_RESET,
	DESK_TEXT /* reading help or details */
};

struct desk {
	struct top *top;
	enum desk_mode mode;
	size_t at;   /* the selected row of what is shown */
	size_t from; /* the first on the screen */
	char typed[128], sought[128];
	char message[TOP_TEXT]; /* until the next key */
	/* whom an order is about */
	char key[TIDE_BUCKET_KEY_MAX + 1], group[32], profile[TIDE_NAME_MAX];
	char *text; /* being read */
	size_t text_line;
};

/* ---- page.c ------------------------------------------------------------ */

void page_draw(struct desk *);

/* Rows that fit on the screen. */
size_t page_rows(const struct desk *);

/* ---- keys.c ------------------------------------------------------------ */

/* Do what a key asks for.  False: the end. */
bool desk_key(struct desk *, int key);

/* ---- watch.c ----------------------------------------------------------- */

/* Take a sample; the selected row stays so, wherever it is now. */
void desk_look(struct desk *);

#endif
