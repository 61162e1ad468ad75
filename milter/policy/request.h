/*
 * policy_request - one request of Postfix's policy delegation protocol:
 * lines "name=value", ended by an empty line.
 *
 * Pure functions over bytes that a mail server sent, partly its clients' own:
 * fuzzed, and tested by tables.  Names that we do not know are skipped, as the
 * protocol wants it; of one that comes twice the last counts.
 */
#ifndef MILTER_POLICY_REQUEST_H
#define MILTER_POLICY_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"

#define POLICY_LINE_MAX 8192u
#define POLICY_REQUEST_MAX 65536u

enum policy_state {
	POLICY_OTHER, /* CONNECT, EHLO, MAIL, VRFY, ETRN: nothing for us */
	POLICY_RCPT,
	POLICY_DATA, /* BDAT, too */
	POLICY_END   /* END-OF-MESSAGE */
};

/* Texts are "" where the request does not say. */
struct policy_request {
	enum policy_state state;
	const char *instance; /* the same for all requests of a message */
	const char *client, *port;
	const char *user;      /* authenticated */
	const char *sender;    /* without brackets */
	const char *recipient; /* at RCPT; else if there is but one */
	const char *queue_id;  /* once there is one */
	uint32_t recipients;   /* that stand, at DATA and END; 0: not said */
	uint64_t size;	       /* announced; at END counted; 0: not said */
};

/*
 * How many bytes the first request in the buffer has, with its empty line.
 * 0: it has not ended yet; -1: it never should, with a sentence.
 * *seen is how far earlier calls have looked; begin with 0.
 */
long
policy_request_length(const char *, size_t, size_t *seen, struct tide_err *);

/*
 * Read a whole request.  The text is cut up, and the request points into it.
 * 0, or -1 with a sentence.
 */
int policy_request_parse(
    char *, size_t length, struct policy_request *, struct tide_err *);

#endif
