/*
 * bulk - is this message one of many copies?
 */
#ifndef MILTER_BULK_H
#define MILTER_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/flow/verdict.h"

/* Of one message. */
struct bulk {
	bool counted;
	struct tide_bulk_count count;
	struct tide_finding found; /* what is to be done, by the setting */
};

/*
 * At the end of message: count it, and see whether it is bulk mail.  Without
 * signatures (NULL) nothing happens.
 */
void bulk_count(struct bulk *, const struct tide_signatures *,
    uint32_t recipients, const char *sender);

/* The message passes, but not without a word. */
void bulk_tag(const struct bulk *);

/* For the log line: " bulk=27", or "". */
const char *bulk_show(const struct bulk *, char *buf, size_t);

#endif
