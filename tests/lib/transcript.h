/*
 * transcript - a sink of the text pipeline that writes down what it gets, a
 * line each, so that two runs can be compared and a test can say what it
 * expects:
 *
 *   header 0 0 Subject: hello
 *   text 1 1 text/plain: ...
 *   link 1 1: httpsexampleorg
 *   file 2 1 image/png a.png: 123 bytes
 *   cut: parts
 */
#ifndef TESTS_LIB_TRANSCRIPT_H
#define TESTS_LIB_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/text/text.h"

struct transcript {
	char *text; /* always ended by NUL */
	size_t length, room;
	bool hashes; /* write the files' hashes as well */
	/* of the part that is open; links wait until it ends */
	bool open;
	char *links;
	size_t links_length, links_room;
};

extern const struct tide_text_caps transcript_caps; /* generous */

struct tide_text_sink transcript_sink(struct transcript *);
void transcript_free(struct transcript *);

/*
 * Run a message through a new pipeline, cut into chunks of up to `most` bytes
 * as `seed` will have them (most 0: in one piece), the way of a file, or of a
 * mail server (its header taken apart first).
 */
void transcript_run(struct transcript *, const struct tide_text_caps *,
    const char *message, size_t, size_t most, uint64_t seed, bool milter);

/* The whole thing in one piece; to be freed. */
char *transcript_of(const char *message);

#endif
