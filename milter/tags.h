/*
 * tags - the headers that we put on a message, all of them X-Tidemark-*, and
 * what came from outside under such a name, which is taken off.
 */
#ifndef TIDEMARK_MILTER_TAGS_H
#define TIDEMARK_MILTER_TAGS_H

#include <libmilter/mfapi.h>

void tags_begin(void);		  /* a new message */
void tags_seen(const char *name); /* a header that came with it */
void tags_set(const char *name, const char *value); /* "Bulk", "27" */

/* At the end of message, once it is accepted. */
void tags_apply(SMFICTX *);

#endif
