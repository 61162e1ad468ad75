/*
 * err - what went wrong, in a sentence.
 *
 * A function that can fail because of the world (disk, configuration, bytes
 * that another process wrote) takes a struct tide_err and fills it with one
 * sentence that names the file, the line or the key.  The library never
 * prints and never exits.
 */
#ifndef TIDEMARK_ERR_H
#define TIDEMARK_ERR_H

#include <stddef.h>

#define TIDE_ERR_MAX 512

struct tide_err {
	char text[TIDE_ERR_MAX];
};

/* Set the sentence; always returns -1, so that callers may return it. */
int tide_err_set(struct tide_err *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, with ": " and the text of errno appended. */
int tide_err_errno(struct tide_err *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
