/*
 * mta - plays the mail server over the milter protocol, version 6.
 *
 * Offers every action and step as sendmail 8.17 does, then keeps to what the
 * filter asked: a stage it does not want (SMFIP_NO*) is not sent, an answer it
 * will not give (SMFIP_NR_*) is not awaited, and each stage's macros go ahead
 * of it, by the filter's own list if it set one.  Macros are sent even for a
 * stage that is not, as sendmail does.
 *
 * A handle belongs to one thread.  Every wait ends by the handle's time limit.
 */
#ifndef TESTS_LOAD_MTA_H
#define TESTS_LOAD_MTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mta_answer {
	MTA_CONTINUE, /* also: the stage was not sent, or is not answered */
	MTA_ACCEPT,
	MTA_REJECT,
	MTA_TEMPFAIL,
	MTA_DISCARD,
	MTA_REPLYCODE, /* mta_text() is "550 5.7.1 words" */
	MTA_SKIP,      /* no more body, please */
	/* The connection is over; mta_text() says why. */
	MTA_REFUSED, /* nobody listens */
	MTA_LOST,
	MTA_TIMEOUT,
	MTA_ERROR, /* the filter broke the protocol */
};

struct mta;

struct mta *mta_new(const char *socket, int timeout_ms);
void mta_free(struct mta *);

/* Offer less than everything, to play an older server.  Before mta_open. */
void mta_offer(struct mta *, uint32_t actions, uint32_t steps);

/* Set a macro: "i" or "{auth_type}".  NULL takes it away. */
void mta_macro(struct mta *, const char *name, const char *value);

/* Announce this SIZE with every MAIL from now on; NULL: none. */
void mta_announce(struct mta *, const char *size);

/* Dial and negotiate; again, after a connection ended. */
enum mta_answer mta_open(struct mta *);

struct mta_client {
	const char *daemon; /* {daemon_name} */
	const char *name;   /* what the client's address resolves to */
	const char *addr;   /* IPv4 or IPv6; NULL: unknown family */
	uint16_t port;
};

enum mta_answer mta_connect(struct mta *, const struct mta_client *);
enum mta_answer mta_helo(struct mta *, const char *name);

/* Addresses come bare; "" is the null sender.  user may be NULL. */
enum mta_answer
mta_mail(struct mta *, const char *sender, const char *qid, const char *user);
enum mta_answer mta_rcpt(struct mta *, const char *addr);

/*
 * A recipient that the server itself refused: sent only to a filter that asked
 * for SMFIP_RCPT_REJ, with {rcpt_mailer} error and {rcpt_host} 5.1.1.
 */
enum mta_answer mta_rcpt_rejected(struct mta *, const char *addr);

enum mta_answer mta_data(struct mta *);

/* The value as it stood after the colon: leading space, folds as "\n\t". */
enum mta_answer mta_header(struct mta *, const char *name, const char *value);
enum mta_answer mta_eoh(struct mta *);
enum mta_answer mta_body(struct mta *, const void *, size_t); /* CRLF lines */
enum mta_answer mta_eom(struct mta *);
enum mta_answer mta_unknown(struct mta *, const char *command);

void mta_abort(struct mta *); /* this message */
void mta_quit(struct mta *);  /* say so, and close */
void mta_drop(struct mta *);  /* close without a word */

bool mta_is_over(enum mta_answer); /* the connection is gone */
bool mta_refuses(enum mta_answer); /* reject, tempfail or reply code */
const char *mta_answer_name(enum mta_answer);

/* The last reply code's text, or why the connection is over. */
const char *mta_text(const struct mta *);

/* What was agreed. */
uint32_t mta_steps(const struct mta *);
uint32_t mta_actions(const struct mta *);

/* Frames sent, and answers received, by command letter, since mta_open. */
unsigned mta_sent(const struct mta *, char cmd);
unsigned mta_answered(const struct mta *, char cmd);

/* What the filter changed at the last end of message; kind is SMFIR_*. */
struct mta_change {
	char kind;
	uint32_t index; /* insert and change header only */
	char *name;	/* of a header, else "" */
	char *value;	/* header value, address, reason or body chunk */
};
size_t mta_changes(const struct mta *, const struct mta_change **);

/* The value of the first header that the filter added by this name. */
const char *mta_added(const struct mta *, const char *header);

#endif
