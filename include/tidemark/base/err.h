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

/* Set the sentence; or set it with ": " and the text of errno appended. */
void tide_err_say(struct tide_err *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void tide_err_say_errno(struct tide_err *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, as an expression: -1, so that callers may return it.  (Macros, so
 * that compilers and checkers know it, too.) */
#define tide_err_set(...) (tide_err_say(__VA_ARGS__), -1)
#define tide_err_errno(...) (tide_err_say_errno(__VA_ARGS__), -1)

#endif
