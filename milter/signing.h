/*
 * signing - the reader of content that makes a message's signatures.
 */
#ifndef MILTER_SIGNING_H
#define MILTER_SIGNING_H

#include "content.h"
#include "tidemark/reputation/signature.h"

extern const struct content_reader content_signing;

/* A recipient that was accepted; after MAIL, before any text. */
void signing_recipient(const char *address);

/* Once all content is read: the message's signatures, NULL if nobody asked
 * for them. */
const struct tide_signatures *signing_result(void);

#endif
