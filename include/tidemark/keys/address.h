/*
 * address - the hashes of an address: what memory keeps of it, and what a
 * question about it looks for.
 */
#ifndef TIDEMARK_ADDRESS_H
#define TIDEMARK_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/base/hash.h"

/*
 * The hashes under which an address is remembered and asked for: the address
 * itself and "@domain".  Lower case, brackets off; "<>" is the null sender.
 * How many were written (1 or 2); 0 if it is no address.
 */
size_t tide_address_hashes(
    const struct tide_hash_key *, const char *address, struct tide_hash out[2]);

/* One hash for a question: an address, or "@domain" for all of a domain. */
bool tide_address_question(
    const struct tide_hash_key *, const char *address, struct tide_hash *out);

#endif
