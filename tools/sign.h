/*
 * sign - the signatures of a message in a file, as the daemon makes them.
 */
#ifndef TOOLS_SIGN_H
#define TOOLS_SIGN_H

#include "tidemark/signature.h"
#include "view.h"

#define SIGN_RECIPIENTS 32u

/*
 * Read the message on standard input; its recipients' addresses are left out
 * of what is signed.  False once a complaint is said.
 */
bool sign_message(const struct view *, char *const *to, size_t recipients,
    struct tide_signatures *);

/* The first half of a signature, in hexadecimal. */
const char *sign_show(struct tide_hash, char *buf, size_t);

#endif
