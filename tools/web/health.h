/*
 * health - the filters: how full, how sure, how far back.
 *
 * Counting the bits of all of them is the one thing here that takes
 * milliseconds, so it is done now and then.
 */
#ifndef WEB_HEALTH_H
#define WEB_HEALTH_H

#include "../read/view.h"

#define HEALTH_FILTERS 24

struct health_filter {
	const char *name;   /* "spam reports" */
	uint64_t number;    /* of its generation; 0: it has none */
	uint64_t since_ms;  /* wall; 0: not known */
	uint64_t holds;	    /* elements, or NO_COUNT */
	uint64_t capacity;  /* that it is sized for, or NO_COUNT */
	double fill, error; /* share of cells in use; chance of a false yes */
};

#define NO_COUNT UINT64_MAX

struct health {
	uint64_t read_ms, maps; /* mono; of which map */
	struct view_window window[2];
	struct health_filter filter[HEALTH_FILTERS]; /* of reputation */
	unsigned filters;
};

/* Read it, unless that was done of late. */
void health_read(struct health *, const struct view *, uint64_t mono_ms);

#endif
