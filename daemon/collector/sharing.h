/*
 * sharing - counts that neighbours exchange: sharing.c.
 */
#ifndef DAEMON_SHARING_H
#define DAEMON_SHARING_H

#include "collector.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/base/err.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/share.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

/* The neighbours' sums into the map, once there is a generation. */
void sharing_open(struct collector *);

/* tide_bulk_round(), and what follows from it. */
bool
sharing_turn(struct collector *, struct tide_bulk_turn *, uint64_t span_ms);

/*
 * The own counts as a file, to be freed: what has changed since that export,
 * or the last one, or with neither all of them.  NULL with why not.
 */
void *sharing_export(struct collector *, bool last, uint64_t since,
    struct tide_share_head *, size_t *size, struct tide_err *);

/* A neighbour's file; 0 once it is durable and in the map. */
int sharing_merge(struct collector *, const void *file, size_t size,
    struct tide_share_head *, struct tide_err *);

/*
 * spam.c, under reputation.lock: where a neighbour's reports are to go; and
 * one that has been recorded, into the map.
 */
int spam_room(struct collector *, struct tide_share_place *, struct tide_err *);
void spam_recorded(struct collector *, uint64_t generation, enum tide_spam_kind,
    const struct tide_signatures *);

#endif
