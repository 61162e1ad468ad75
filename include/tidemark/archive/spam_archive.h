/*
 * spam_archive - reports and revocations, made to last.
 *
 * Each is a record of its own, durable before it is acknowledged; every so
 * often the filters are stored in chunks and the records behind them
 * forgotten, since the filters are all that is to remain.  The collector's
 * alone.
 */
#ifndef TIDEMARK_SPAM_ARCHIVE_H
#define TIDEMARK_SPAM_ARCHIVE_H

#include "tidemark/archive/archive.h"
#include "tidemark/reputation/spam.h"

struct tide_stored_spam {
	uint64_t newest;   /* generation, 0: none */
	uint64_t base;	   /* the last record within the chunks */
	uint64_t sequence; /* the last record */
};

/*
 * What is stored.  1, 0 if nothing is, -1 if it cannot be read or is of other
 * sizes; *out then still has the numbers, as far as they are known.
 */
int tide_archive_spam(struct tide_archive *, const struct tide_spam_shape *,
    struct tide_stored_spam *out, struct tide_err *);

/* All filters and their records into a map that has none. */
int tide_archive_load_spam(struct tide_archive *, struct tide_spam *,
    const struct tide_stored_spam *, struct tide_err *);

/* The records alone, which may be there already; counts are set right. */
int tide_archive_replay_spam(struct tide_archive *, struct tide_spam *,
    const struct tide_stored_spam *, struct tide_err *);

/* One more record. */
int tide_archive_report_spam(struct tide_archive *, uint64_t sequence,
    uint64_t generation, enum tide_spam_kind, const struct tide_signatures *,
    struct tide_err *);

/* Store a generation's filters; no record up to there is needed any more. */
int tide_archive_save_spam(struct tide_archive *, const struct tide_spam *,
    uint64_t generation, uint64_t sequence, struct tide_err *);

/*
 * A generation begins; those before `oldest` are deleted, and with `afresh`
 * all records, too.
 */
int tide_archive_begin_spam(struct tide_archive *,
    const struct tide_spam_shape *, uint64_t number, uint64_t began_ms,
    uint64_t oldest, bool afresh, struct tide_err *);

#endif
