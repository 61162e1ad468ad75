/*
 * sign - have the daemon sign a message in a file.
 */
#ifndef TOOLS_SIGN_H
#define TOOLS_SIGN_H

#include "../read/ask.h"
#include "tidemark/settings/config.h"

#define SIGN_RECIPIENTS 16u

/*
 * Read the message (NULL or "-": standard input) and give it to the daemon;
 * the request that follows on the connection is about it.  The addresses of
 * those that its headers name, and of these recipients, are left out of what
 * is signed.  0, or -1 once a complaint is said.
 */
int sign_message(struct ask *, const struct tide_config *, const char *path,
    const char *const *to, size_t recipients);

#endif
