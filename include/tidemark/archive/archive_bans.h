/*
 * archive_bans - bans in the archive, durable before anybody is told of them.
 *
 * Written by the collector alone.
 */
#ifndef TIDEMARK_ARCHIVE_BANS_H
#define TIDEMARK_ARCHIVE_BANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/archive/archive.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"

enum tide_ban_fate { TIDE_BAN_LEAVE, TIDE_BAN_STORE, TIDE_BAN_DELETE };

/*
 * Change several in one transaction.  Each is shown to `decide' with the one
 * that is stored under its key (NULL: none), to be made what it shall be.
 * No other change comes between: what is decided is what is stored.
 */
typedef enum tide_ban_fate tide_ban_decide(
    void *arg, size_t i, struct tide_ban *, const struct tide_ban *old);
int tide_archive_change_bans(struct tide_archive *, struct tide_ban *, size_t,
    tide_ban_decide *, void *arg, struct tide_err *);

/* 1, 0 if there is none, -1. */
int tide_archive_get_ban(struct tide_archive *, const struct tide_key *,
    struct tide_ban *, struct tide_err *);

/* Check a stored ban's bytes; false if they are none. */
bool tide_ban_read(struct tide_bytes, struct tide_ban *);

/* All that stand at that time, to the visitor; expired ones are deleted. */
typedef void tide_ban_visit(void *arg, const struct tide_ban *);
int tide_archive_walk_bans(struct tide_archive *, uint64_t now_ms,
    tide_ban_visit *, void *arg, struct tide_err *);

#endif
