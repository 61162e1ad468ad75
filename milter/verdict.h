/*
 * verdict - from facts to an answer, with its reason.
 *
 * A pure function: no clock, no map, no mail server.  What the callbacks
 * answer and what tools explain is the same code.
 */
#ifndef MILTER_VERDICT_H
#define MILTER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict_answer { ANSWER_ACCEPT, ANSWER_TEMPFAIL, ANSWER_REJECT };

/* What is known when the answer is due. */
struct facts {
	uint32_t on_error; /* the profile's: enum tide_on_error */
	bool bypassed;	   /* tidemark bypass is on */
	bool map_usable;   /* and the message is remembered in it */
};

struct verdict {
	enum verdict_answer answer;
	const char *reason;		  /* a word for the log; "-" for none */
	const char *code, *status, *text; /* the reply, unless accepted */
};

struct verdict verdict_reach(const struct facts *);

const char *verdict_name(enum verdict_answer);

#endif
