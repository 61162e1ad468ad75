/*
 * share_archive - what was exchanged with neighbours, made to last.
 *
 * Of each neighbour: the last export that was merged, and a replica of its
 * cells for each generation that still counts.  Both change in one
 * transaction, so a file is merged wholly or not at all.  The sums in the map
 * are made of the replicas and can be made again at any time.
 *
 * Of ourselves: who we are, how many exports there were, and the last few of
 * them whole, for deltas.
 * Our own reports of spam, too, by their number: the filters do not tell them
 * from those of neighbours.
 *
 * The collector's alone; one caller at a time.
 */
#ifndef TIDEMARK_SHARE_ARCHIVE_H
#define TIDEMARK_SHARE_ARCHIVE_H

#include "tidemark/archive/archive.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"

#define TIDE_SHARE_KEPT 8u /* exports that a delta can start from */

struct tide_share_me {
	uint64_t origin;   /* drawn when first asked for */
	uint64_t sequence; /* of the last export, 0: none yet */
};

int tide_archive_share_me(
    struct tide_archive *, struct tide_share_me *, struct tide_err *);

/* One more export, whole; the oldest goes, and so do
 * own reports that were made before.  A file of tide_share_pack(). */
int
tide_archive_keep_export(struct tide_archive *, const struct tide_share_me *,
    const void *file, size_t size, uint64_t not_before_ms, struct tide_err *);

/* 1, 0 if it is not kept (any more), -1. */
int tide_archive_get_export(struct tide_archive *, uint64_t sequence,
    struct tide_share *, struct tide_err *);

/* Own reports not older than that, the last of them: at most
 * TIDE_SHARE_REPORTS, to be freed with the share. */
int tide_archive_own_reports(struct tide_archive *, uint64_t not_before_ms,
    struct tide_share *, struct tide_err *);

/* Where the reports of a file go. */
struct tide_share_place {
	uint64_t oldest; /* generation of counts */
	uint64_t spam_generation;
	uint64_t spam_sequence; /* of the last record */
	uint64_t not_before_ms; /* reports: older ones have faded */
};

/*
 * Raise the replicas of its origin; those of generations before place->oldest go.
 * -1 with why not: merged before, a delta to what never came.  Its reports are
 * recorded behind spam_sequence (spam_archive.h); those that came before are
 * taken out of the share.
 */
int tide_archive_merge_share(struct tide_archive *, struct tide_share *,
    const struct tide_share_place *, struct tide_err *);

/* Saturating: to += every replica of the generation.  How many, or -1. */
int tide_archive_sum_shares(struct tide_archive *,
    const struct tide_counting_shape *, uint64_t span_ms, uint64_t generation,
    tide_counting_word *to, struct tide_err *);

#endif
