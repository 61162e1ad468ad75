/*
 * session - the facts of this worker's one connection and of the message it
 * is in the middle of.
 *
 * A worker serves one connection, so there is one session.  libmilter may
 * call from one thread after another, never from two at once.
 */
#ifndef MILTER_SESSION_H
#define MILTER_SESSION_H

#include "allowance.h"
#include "bulk.h"
#include "charge.h"
#include "milter.h"
#include "reputation.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

#define RECIPIENTS_MOST 10000u /* that one message may have remembered */

struct message {
	char qid[64];
	char sender[512]; /* as given, for the log */
	char auth[256];
	struct tide_hash from[2];
	size_t froms;
	struct tide_hash *to;
	size_t tos, room;
	uint32_t accepted;  /* recipients */
	uint32_t open;	    /* of these, always open: postmaster */
	uint32_t unknown;   /* refused by the mail server with 5.1.1 */
	uint32_t bad;	    /* {nbadrcpts}: shown, never charged */
	uint32_t refused;   /* refused by it otherwise */
	uint32_t held_off;  /* recipients we refused ourselves */
	uint32_t forgotten; /* past RECIPIENTS_MOST */
	bool flagged;	    /* by a header that anybody may have written */
	bool blocked;	    /* for its content, by us or with the mark */
	uint64_t wire;	    /* bytes of it that we were sent */
	unsigned cut;	    /* of its content: enum tide_text_cut */
	struct repute repute;
	struct bulk bulk;
	uint64_t began_ns; /* monotonic */
};

struct session {
	struct tide_config config;
	enum tide_charged_by by; /* what we are */
	bool bystander; /* of this message: the other one charges for it */
	bool softened;	/* what we refuse passes, held or marked */
	uint64_t generation;
	unsigned profile;
	struct tide_map *map; /* NULL: cannot be used */
	struct tide_slot *slot;
	char id[16]; /* of this connection, as in log and replies */
	char client[64];
	char daemon[64];	/* {daemon_name} */
	atomic_bool in_message; /* also read by the thread for signals */
	enum tide_stage stage;	/* of the callback, while inside one */
	uint64_t entered_ns;	/* monotonic */
	struct charge charge;
	struct allowance allowance;
	struct message message;
};

extern struct session session;

/* The profile of this connection, and a counter of it; no map, no count. */
const struct tide_profile *session_profile(void);
void session_count(enum tide_counter, uint64_t by);

/* Text that is never empty. */
const char *session_or_dash(const char *);

/* A copy for the log: no control characters, no spaces. */
void session_printable(char *to, size_t, const char *from);

/*
 * Bracket every callback, so that the acceptor sees a stuck one and the time
 * it takes is measured; between them, once its facts are known, a line for
 * those who debug.
 */
void session_enter(enum tide_stage);
void session_trace(void);
void session_leave(void);

void session_connected(const char *client_address, const char *daemon_name);
/* bytes: as announced by the client, or 0. */
void session_mail(const char *sender, const char *auth, uint64_t bytes);

/*
 * The answer to MAIL: not always acceptance where ban_at says so.  What is
 * refused is forgotten.
 */
struct tide_verdict session_judge_sender(void);

enum recipient_fate {
	RECIPIENT_ACCEPTED,
	RECIPIENT_UNKNOWN,
	RECIPIENT_REFUSED
};
/* What to answer; nothing but acceptance for one that was refused already. */
struct tide_verdict session_recipient(const char *address, enum recipient_fate);

void session_header(const char *name, const char *value);

/* All recipients that the mail server has refused, by its own count. */
void session_bad_recipients(const char *count);

/*
 * So many recipients stand when the message begins to flow; 0: not said.
 * Tokens are given back for those that do not.  More than we were asked for,
 * and asked for twice, have passed unseen.
 */
void session_standing(uint32_t recipients, uint32_t repeats);

/* The queue id, as soon as the mail server has one. */
void session_qid(const char *);

/* The end of the message: remember it, reach the verdict, log one line. */
struct tide_verdict session_decide(void);

/* Take over a new configuration, if there is one (follow.c). */
void session_follow(void);

/* The message will not get to its end. */
void session_abort(void);

/* What it has paid stays paid: it may yet get there, without us. */
void session_keep(void);

/* It is none of our business any more. */
void session_forget(void);

/* The connection is over, in good order. */
void session_end(void);

#endif
