/*
 * sign - the signatures of a message in a file, as the daemon makes them.
 */
#ifndef TOOLS_SIGN_H
#define TOOLS_SIGN_H

#include "tidemark/reputation/signature.h"
#include "../read/view.h"

#define SIGN_RECIPIENTS 16u

/*
 * Read the message (NULL or "-": standard input) and sign it.  The addresses
 * of those that its headers name, and of these recipients, are left out of
 * what is signed.  0, or -1 once a complaint is said.
 */
int sign_message(const struct view *, const char *path, const char *const *to,
    size_t recipients, struct tide_signatures *);

#endif
