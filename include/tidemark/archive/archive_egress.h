/*
 * archive_egress - egress entries in the archive, durable when a put returns.
 *
 * Written by the collector alone.
 */
#ifndef TIDEMARK_ARCHIVE_EGRESS_H
#define TIDEMARK_ARCHIVE_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/archive/archive.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"

/*
 * Store several in one transaction.  One that is there keeps since when it is
 * and what a probe found; the rest is as given now.  How many are new, or -1.
 */
int tide_archive_put_egress(struct tide_archive *, const struct tide_egress *,
    size_t, struct tide_err *);

/* Delete several in one transaction.  How many there were, or -1. */
int tide_archive_del_egress(struct tide_archive *, const struct tide_egress *,
    size_t, struct tide_err *);

/*
 * In order, up to `most' of a kind that come after one (NULL: from the first);
 * no transaction stays open in between.  How many, or -1.
 */
int tide_archive_list_egress(struct tide_archive *, enum tide_egress_kind,
    const struct tide_egress *after, struct tide_egress *, size_t most,
    struct tide_err *);

/* Check a stored entry's bytes; false if they are none. */
bool tide_egress_stored(struct tide_bytes, struct tide_egress *);

/* A probe's verdict, for every registration of that server; how many. */
int tide_archive_checked_egress(struct tide_archive *, const struct tide_ip *,
    enum tide_egress_verdict, uint64_t now_ms, struct tide_err *);

/* Delete expired denials, some hundreds at a time. */
int tide_archive_expire_egress(
    struct tide_archive *, uint64_t now_ms, struct tide_err *);

#endif
