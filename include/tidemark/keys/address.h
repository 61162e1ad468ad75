/*
 * address - the hashes of an address: what memory keeps of it, and what a
 * question about it looks for.
 */
#ifndef TIDEMARK_ADDRESS_H
#define TIDEMARK_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"

#define TIDE_ADDRESS_MAX 1024 /* with its NUL; longer is no address */

/*
 * The hashes under which an address is remembered and asked for: the address
 * itself and "@domain".  Lower case in every alphabet, accents composed,
 * brackets, routes and quotes that need not be there off, the domain in A-labels
 * and without a dot at its end; "<>" is the null sender.
 * How many were written (1 or 2); 0 if it is empty or too long.
 */
size_t tide_address_hashes(
    const struct tide_hash_key *, const char *address, struct tide_hash out[2]);

/*
 * The hash for a question: of an address, or of "@domain" for all of it.  A
 * second one, if any, is what windows up to version 0.2 have for it, which
 * kept quotes, domains, and letters beyond ASCII, as they were spelled.  How
 * many; 0 as above.
 */
size_t tide_address_question(
    const struct tide_hash_key *, const char *address, struct tide_hash out[2]);

/*
 * What a person typed, as the address to ask for: an address, alone or behind
 * a display name, @domain, <>, or a bare domain, which becomes @domain
 * (*domain is set).  Alone in brackets it is what stood in the envelope, with
 * or without a domain.  -1 with a sentence for what could be no address at
 * all: "certainly not" would be true of it and mislead.  Typed again, what is
 * written stays as it is.
 */
int tide_address_typed(const char *typed, char out[TIDE_ADDRESS_MAX],
    bool *domain, struct tide_err *);

#endif
