/*
 * headers - what a filter before us has found, as its header says.
 *
 * A pure function, so that a table can test it.
 */
#ifndef MILTER_HEADERS_H
#define MILTER_HEADERS_H

#include <stdbool.h>

/*
 * Does a header match one of the rules?  Rules are words, NAME:BEGINNING; the
 * header's name is the same and its value begins so, in any case of letters.
 */
bool header_matches(const char *rules, const char *name, const char *value);

/* Is the mark, unless it is empty, a word of the value?  Letter for letter. */
bool header_has_mark(const char *mark, const char *value);

#endif
