/*
 * exceptions - senders that no reputation counts against: exact addresses and
 * domains, each with a reason.
 *
 * Kept in the archive (the collector's alone) and published whole, sorted, as
 * the immutable file runtime_dir/exceptions; its generation is in the map.  A
 * worker compares that at each message and maps the new file if it has
 * changed.  Nothing blocks.
 */
#ifndef TIDEMARK_EXCEPTIONS_H
#define TIDEMARK_EXCEPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/reputation/addresses.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/published.h"

#define TIDE_EXCEPTION_REASON_MAX 71
#define TIDE_EXCEPTIONS_MOST 100000u

struct tide_exception {
	uint64_t since_ms;	    /* wall */
	char key[TIDE_KEY_MAX + 8]; /* NUL-ended, and 0 up to its end */
	char reason[TIDE_EXCEPTION_REASON_MAX + 1];
};

struct tide_exceptions {
	const struct tide_exception *list; /* sorted by key */
	size_t count;
	struct tide_published published;
	uint64_t generation;
};

/* ---- the published file (workers, tools) ------------------------------- */

/* The collector's: all of them, sorted as strcmp() sorts. */
int tide_exceptions_write(const char *runtime_dir,
    const struct tide_exception *, size_t n, struct tide_err *);

int tide_exceptions_attach(
    struct tide_exceptions *, const char *runtime_dir, struct tide_err *);
void tide_exceptions_detach(struct tide_exceptions *);

const struct tide_exception *
tide_exceptions_find(const struct tide_exceptions *, const char *key);

/* The exception for any of the sender's forms, or NULL. */
const struct tide_exception *tide_exceptions_for(
    const struct tide_exceptions *, const struct tide_sender_forms *);

#endif
