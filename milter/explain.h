/*
 * explain - what was decided and why, for those who ask later: a line in the
 * log, a record in the ring (tidemark why, tidemark tail), and the session's
 * id in the reply, by which a refused sender's postmaster can ask.
 */
#ifndef MILTER_EXPLAIN_H
#define MILTER_EXPLAIN_H

#include "tidemark/flow/verdict.h"

/* A new connection: give it its id. */
void explain_begin(void);

/* A sender we refused at MAIL, and the same. */
void explain_sender(struct tide_verdict *);

/* A recipient we refused; the session's id is added to the reply. */
void explain_recipient(struct tide_verdict *, const char *address);

/* The end of the message; likewise, if it is refused. */
void explain_message(struct tide_verdict *);

#endif
