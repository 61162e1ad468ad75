/*
 * query_priv - between query.c, which takes the question, query_look.c, which
 * looks into windows, and query_gaps.c, which knows what they leave uncovered.
 */
#ifndef QUERY_PRIV_H
#define QUERY_PRIV_H

#include "tidemark/ask/query.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/window.h"

struct span {
	uint64_t from_ms, until_ms;
};

struct asking {
	const struct tide_question *q;
	struct tide_answer *a;
	/* of the addresses; the second, if there is one, is what windows up
	 * to version 0.2 have for it */
	struct tide_hash hash[TIDE_FILTERS][2];
	size_t hashes[TIDE_FILTERS];
	bool wanted[TIDE_FILTERS];
	struct span *span; /* what the windows cover */
	size_t spans;
	struct tide_txn *txn;
	uint64_t *words; /* a sealed window's content */
	size_t room;
	uint64_t windows; /* in the archive */
	uint64_t done;
	bool no_memory;
	bool damaged; /* a record behind this one's end is: */
	uint64_t known_ms;
	struct tide_clock_change clock; /* since windows were looked after */
	struct tide_lapse lapse[TIDE_LAPSES]; /* not yet in the archive */
	unsigned lapses;
};

/* One more element for a growing array; NULL (and a note) if there is no
 * room. */
void *tide_asking_grow(struct asking *, void *array, size_t *n, size_t size);

/* Look into the map's windows, a checkpoint's, one of the archive (a
 * tide_visit). */
void tide_asking_map(struct asking *, const struct tide_map *);
void tide_asking_checkpoint(struct asking *, struct tide_archive *);
int tide_asking_record(void *arg, struct tide_bytes key,
    struct tide_bytes value, struct tide_err *);

/* What a window covers; what nothing does. */
void tide_asking_span(struct asking *, uint64_t from_ms, uint64_t until_ms);
void tide_asking_gap(
    struct asking *, uint64_t from_ms, uint64_t until_ms, uint32_t kind);

/* Records before this time could not be read. */
void tide_asking_damage(struct asking *, uint64_t next_ms);

/* A lapse of the archive (a tide_visit). */
int tide_asking_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *);

/* Lapses not yet in the archive; before that is read. */
void tide_asking_copy_lapses(struct asking *, const struct tide_acceptor *);

/* All gaps, in order; map NULL: offline.  -1 if nothing is left to be asked. */
int
tide_asking_finish(struct asking *, const struct tide_map *, struct tide_err *);

#endif
