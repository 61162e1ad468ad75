/*
 * line - the control socket's language: a word, then key=value pairs, one
 * line.  Values are percent-encoded where they hold spaces, '%' or control
 * characters.  The same grammar goes both ways; an answer is any number of
 * lines and then "ok" or "err text=...".
 */
#ifndef TIDEMARK_LINE_H
#define TIDEMARK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"

#define TIDE_LINE_MAX 8192
#define TIDE_LINE_PAIRS 32

struct tide_line {
	const char *word;
	unsigned pairs;
	struct {
		const char *key, *value;
	} pair[TIDE_LINE_PAIRS];
	char text[TIDE_LINE_MAX];
};

/* Parse (and decode) one line without its newline.  False if it is none. */
bool tide_line_parse(struct tide_line *, const char *text);

/* The value of a key, or NULL. */
const char *tide_line_get(const struct tide_line *, const char *key);
/* The same as a number; `fallback` if it is missing or none. */
uint64_t
tide_line_number(const struct tide_line *, const char *key, uint64_t fallback);
double tide_line_real(const struct tide_line *, const char *key);

/*
 * Build one, piece by piece.  A value that does not fit is cut, what comes
 * after it is left out; the line still parses.
 */
struct tide_line_out {
	size_t length;
	char text[TIDE_LINE_MAX];
};

void tide_line_start(struct tide_line_out *, const char *word);
void tide_line_add(struct tide_line_out *, const char *key, const char *value);
void tide_line_add_number(struct tide_line_out *, const char *key, uint64_t);
void tide_line_add_real(struct tide_line_out *, const char *key, double);

/* Write it with its newline.  0, or -1. */
int tide_line_send(struct tide_line_out *, int fd);

/*
 * Bytes that follow a line which says how many.  All of them: 0, or -1.
 * Read only where nothing but these has been sent: tide_line_read() may have
 * taken more than its line.
 */
int tide_line_send_bytes(int fd, const void *, size_t);
int tide_line_read_bytes(int fd, void *, size_t);

/* Read one line from a socket into buf; its length, 0 at the end, -1. */
struct tide_line_in {
	int fd;
	size_t have, at;
	char buf[TIDE_LINE_MAX];
};
int tide_line_read(struct tide_line_in *, struct tide_line *);

/* Connect to runtime_dir/control.sock. */
int tide_line_connect(const char *runtime_dir, struct tide_err *);

#endif
