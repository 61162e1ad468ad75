/*
 * verdict - from facts to an answer, with its reason.
 *
 * Pure functions: no clock, no map, no mail server.  What the callbacks
 * answer and what tools explain is the same code.
 */
#ifndef MILTER_VERDICT_H
#define MILTER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict_answer { ANSWER_ACCEPT, ANSWER_TEMPFAIL, ANSWER_REJECT };

/* Why a recipient does not fit into the account's allowance. */
enum short_of {
	SHORT_OF_NOTHING,
	SHORT_OF_TOKENS,
	SHORT_OF_DISTINCT, /* too many different recipients */
	SHORT_OF_CLIENTS   /* too many different client addresses */
};

struct shortage {
	enum short_of of;
	uint64_t come_back_ms; /* UINT64_MAX: it never will fit */
};

/* What a check of reputation found; no reason: nothing. */
struct finding {
	const char *reason; /* a word for the log */
	uint32_t action;    /* enum tide_check_action */
};

/* What is known when the answer is due. */
struct facts {
	uint32_t on_error;   /* the profile's: enum tide_on_error */
	uint32_t ban_answer; /* enum tide_ban_answer */
	bool bypassed;	     /* tidemark bypass is on */
	bool map_usable;     /* and the message is remembered in it */
	bool pulse_stale;    /* nobody leaks: no overflow is held against one */
	const char *over;    /* the group that overflowed, or NULL */
	bool banned;	     /* a ban stands */
	bool protected_to;   /* of a recipient: not for this sender */
	uint64_t banned_for_ms;
	uint32_t tokens_action;	  /* enum tide_tokens_action */
	struct shortage shortage; /* of a recipient */
	struct finding found;
};

struct verdict {
	enum verdict_answer answer;
	const char *reason;	   /* a word for the log; "-" for none */
	const char *code, *status; /* the reply, unless accepted */
	char text[128];
};

/* At RCPT, and at the end of message. */
struct verdict verdict_recipient(const struct facts *);
struct verdict verdict_message(const struct facts *);

/* Of two findings the one that does more; either may be none. */
struct finding verdict_weightier(struct finding, struct finding);

/* Does what was found refuse, and not only mark? */
bool verdict_is_refused(const struct facts *);

/* A word for the log. */
const char *shortage_name(enum short_of);

const char *verdict_name(enum verdict_answer);

#endif
