/*
 * content - what the worker does with a message's headers and body: one text
 * pipeline, and behind it everything that wants to read (memory's samples,
 * signatures), each a sink of its own.
 *
 * Bodies are asked for from the mail server only if some profile has a reader.
 */
#ifndef TIDEMARK_MILTER_CONTENT_H
#define TIDEMARK_MILTER_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

/* Does any profile read bodies?  Asked when the connection is negotiated. */
bool content_wanted(void);

/* Once a message, at MAIL; reads the session's profile. */
void content_begin(void);
void content_header(const char *name, const char *value);
void content_body(const void *bytes, size_t length);

/* At the end of message, before the verdict: what was cut, 0 if nothing. */
unsigned content_end(void);

/* The message came to nothing. */
void content_abort(void);

#endif
