/*
 * asking - questions to the daemon, each in a thread of its own: an answer may
 * take long, and nobody else shall wait for it.
 *
 * What is asked is never logged and stands in no URL.
 */
#ifndef WEB_ASKING_H
#define WEB_ASKING_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/settings/config.h"

enum asking_form { ASKING_TEXT, ASKING_NDJSON };

struct asking {
	/* the question: all stay as they are until it is done; "" is not asked
	 */
	const struct tide_config *places;
	const char *text, *from, *to, *since, *until;
	enum asking_form form;

	/* called by the thread at its end */
	void (*done)(void *arg);
	void *arg;

	/* the answer, once it is done */
	unsigned status; /* of HTTP */
	char *body;	 /* to be freed; NULL without memory */
	size_t length;
};

/* A place for a question; false if too many are being asked already. */
bool asking_reserve(void);

/* Ask it, in that place.  In any case it is answered, and done is called. */
void asking_start(struct asking *);

/* No more places. */
void asking_close(void);

/* How many are being asked; 0 only after the last done. */
unsigned asking_count(void);

#endif
