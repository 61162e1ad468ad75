/*
 * content - what the worker does with a message's headers and body: one text
 * pipeline (tidemark/text.h), and behind it everything that wants to read
 * (memory's samples, signatures), each a sink of its own.
 *
 * Bodies are asked for from the mail server only if some profile has a reader.
 */
#ifndef TIDEMARK_MILTER_CONTENT_H
#define TIDEMARK_MILTER_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

/*
 * Someone who reads.  To add one: a reader in a file of its own, and a row in
 * the table of content.c.
 */
struct content_reader {
	/* Does it read the mail of that profile? */
	bool (*wants)(const struct tide_profile *);
	/* A message begins: where its parts go, NULL for nowhere. */
	const struct tide_text_sink *(*begin)(void);
	/* It came to nothing, after begin(); may be NULL. */
	void (*abort)(void);
	/* A header of the message, before any text; may be NULL. */
	void (*header)(const char *name, const char *value);
};

extern const struct content_reader content_log; /* content_log.c */
extern const struct content_reader content_memory;

/* Does any profile read bodies?  Asked when the connection is negotiated. */
bool content_wanted(void);

/*
 * Is it worth a reply to every chunk of a body to be able to say "no more"?
 * Only if the cap is so low that large mail would mostly be sent for nothing.
 */
bool content_would_skip(void);

/* Once a message, at MAIL; reads the session's profile. */
void content_begin(void);
void content_header(const char *name, const char *value);
void content_body(const void *bytes, size_t length);

/* No more of the body is needed: nobody reads, or the cap is reached. */
bool content_full(void);

/* At the end of message, before the verdict: what was cut, 0 if nothing. */
unsigned content_end(void);

/* The message came to nothing. */
void content_abort(void);

#endif
