/*
 * setup, text - files as text: read whole, asked by line, cut into fields.
 */
#ifndef TOOLS_SETUP_TEXT_H
#define TOOLS_SETUP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETUP_FILE_MAX (4u << 20)

/*
 * The file, with a NUL behind it, to be freed; NULL with errno.  Half of a
 * file must not be taken for the whole when it is written back: EFBIG if it
 * is too long, EILSEQ if it has a NUL in it.
 */
char *setup_read(const char *path, size_t *length);

/* A copy of n bytes, formatted text, with NULs left out; never NULL. */
char *setup_copy(const char *, size_t n);
char *setup_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Memory, or the end of the program: a set-up half done helps nobody. */
void *setup_grow(void *, size_t count, size_t size);

/* The line, from 1, that a place of the text is in. */
unsigned setup_line_at(const char *text, const char *place);

/* Cut blanks off both ends, in place. */
char *setup_trim(char *);

/* The brace that ends what this one begins; NULL if none does. */
char *setup_closing(char *);

/*
 * The next field up to one of `ends', trimmed; *rest goes behind it.  NULL
 * when there is none.
 */
char *setup_field(char **rest, const char *ends);

/* Is it one of the list's words, whatever of `ends' is between them? */
bool setup_listed(const char *list, const char *ends, const char *word);

#endif
