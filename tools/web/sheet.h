/*
 * sheet - rows for CSV (RFC 4180) and NDJSON, from one description.
 *
 * In CSV a text that a spreadsheet would take for a formula gets a ' in front:
 * senders choose their addresses.
 */
#ifndef WEB_SHEET_H
#define WEB_SHEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../read/json.h"

struct sheet {
	FILE *out;
	bool csv;
	const char *record;	   /* the type of an NDJSON record */
	const char *const *column; /* their names, NULL-ended */
	unsigned at;		   /* the next one */
	struct json json;
};

/* The names of the columns; nothing in NDJSON. */
void sheet_head(struct sheet *);

/* A row is begun, has a cell for each column in their order, and ends. */
void sheet_row(struct sheet *);
void sheet_text(struct sheet *, const char *);
void sheet_number(struct sheet *, uint64_t);
void sheet_real(struct sheet *, double); /* NAN: not known */
void sheet_end(struct sheet *);

#endif
