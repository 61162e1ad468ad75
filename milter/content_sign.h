/*
 * content_sign - a message's signatures (tidemark/signature.h), for whoever
 * compares them: bulk counts, spam filters.
 */
#ifndef TIDEMARK_MILTER_CONTENT_SIGN_H
#define TIDEMARK_MILTER_CONTENT_SIGN_H

#include "tidemark/signature.h"

/* A recipient of the message, before any of its text. */
void content_sign_recipient(const char *address);

/*
 * At the end of message, after content_end(): its signatures, until the next
 * message begins.  NULL if it was not read.
 */
const struct tide_signatures *content_signatures(void);

#endif
