/*
 * verdict - from facts to an answer, with its reason.
 *
 * Pure functions: no clock, no map, no mail server.  What the callbacks
 * answer and what tools explain is the same code.
 */
#ifndef TIDEMARK_VERDICT_H
#define TIDEMARK_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum tide_reply { TIDE_REPLY_ACCEPT, TIDE_REPLY_TEMPFAIL, TIDE_REPLY_REJECT };

/* Why a recipient does not fit into the account's allowance. */
enum tide_short_of {
	TIDE_SHORT_OF_NOTHING,
	TIDE_SHORT_OF_TOKENS,
	TIDE_SHORT_OF_DISTINCT, /* too many different recipients */
	TIDE_SHORT_OF_CLIENTS	/* too many different client addresses */
};

struct tide_shortage {
	enum tide_short_of of;
	uint64_t come_back_ms; /* UINT64_MAX: it never will fit */
};

/* What a check of reputation found; no reason: nothing. */
struct tide_finding {
	const char *reason; /* a word for the log */
	uint32_t action;    /* enum tide_check_action */
};

/* What is known when the answer is due. */
struct tide_facts {
	uint32_t on_error;   /* the profile's: enum tide_on_error */
	uint32_t ban_answer; /* enum tide_ban_answer */
	bool bypassed;	     /* tidemark bypass is on */
	bool map_usable;     /* and the message is remembered in it */
	bool pulse_stale;    /* nobody leaks: no overflow is held against one */
	const char *over;    /* the group that overflowed, or NULL */
	uint64_t put_off_ms; /* it is full, bans nobody, and leaks in so long */
	bool banned;	     /* a ban stands */
	bool at_mail;	     /* nobody can be written to, not even postmaster */
	bool protected_to;   /* of a recipient: not for this sender */
	uint64_t banned_for_ms;
	uint32_t tokens_action;	       /* enum tide_tokens_action */
	struct tide_shortage shortage; /* of a recipient */
	struct tide_finding found;
};

struct tide_verdict {
	enum tide_reply answer;
	const char *reason;	   /* a word for the log; "-" for none */
	const char *code, *status; /* the reply, unless accepted */
	char text[128];
};

/* At RCPT, and at the end of message. */
struct tide_verdict tide_verdict_recipient(const struct tide_facts *);
struct tide_verdict tide_verdict_message(const struct tide_facts *);

/* Of two findings the one that does more; either may be none. */
struct tide_finding
    tide_verdict_weightier(struct tide_finding, struct tide_finding);

/* Does what was found refuse, and not only mark? */
bool tide_verdict_is_refused(const struct tide_facts *);

/* A word for the log. */
const char *tide_shortage_name(enum tide_short_of);

const char *tide_verdict_name(enum tide_reply);

#endif
