/*
 * reputation - what is known against a message's sender, and what exceptions
 * say to that.
 */
#ifndef MILTER_REPUTATION_H
#define MILTER_REPUTATION_H

#include <stdbool.h>

#include "tidemark/flow/verdict.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

/* Of one message. */
struct repute {
	bool listed; /* on the list, and no exception; dry-run, too */
	char listed_as[112];
	bool excepted; /* no reputation counts against this sender */
	struct tide_finding address; /* what is to be done, by the setting */
	bool spam;		     /* reported, or nearly; dry-run, too */
	struct tide_spam_match match;
	struct tide_finding content;
};

/* At MAIL. */
void reputation_sender(struct repute *, const char *sender);

/* At the end of message, once its content is read. */
void reputation_content(
    struct repute *, const struct tide_signatures *, const char *sender);

/* The graver of the findings. */
struct tide_finding reputation_found(const struct repute *);

/* Is it blocked for its content by that? */
bool reputation_blocks(const struct repute *);

/* The message passes, but not without a word. */
void reputation_tag(const struct repute *);

/* For the log line: " listed=KEY spam=HOW", or "". */
const char *reputation_show(const struct repute *, char *buf, size_t);

/* Is the sender among the exceptions?  Asked by every check of a kind. */
bool reputation_excepts(const char *sender);

#endif
