/*
 * nearest - "did you mean?"
 */
#ifndef TIDEMARK_NEAREST_H
#define TIDEMARK_NEAREST_H

#include <stddef.h>

/*
 * The candidate most like the word: a few letters wrong, missing, too many or
 * swapped, or the word is its beginning.  NULL if none is close enough.  Letter
 * case does not matter; of equals the first wins.
 */
const char *
tide_nearest(const char *word, const char *const *candidates, size_t n);

#endif
