/*
 * tally - what a replay counted and measured.  One per thread, summed up when
 * the threads are done, so nothing here is shared.
 */
#ifndef TESTS_LOAD_TALLY_H
#define TESTS_LOAD_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct samples {
	double *ms;
	size_t n, room;
};

struct tally {
	long messages; /* acked + passed + rejected + failed */
	long acked;    /* end of message answered: continue or accept */
	long passed;   /* accepted before its end, so no such answer */
	long rejected; /* refused or discarded, whole */
	long failed;
	long sessions; /* connections that ended as they should */
	long lost;     /* connections that did not */
	struct samples first_reply, message;
};

double tally_now(void); /* seconds, monotonic */
void tally_sample(struct samples *, double since);
void tally_add(struct tally *sum, const struct tally *);
void tally_free(struct tally *);

/* One line; as JSON if asked.  Sorts the samples. */
void tally_print(struct tally *, double seconds, bool json, FILE *);

#endif
