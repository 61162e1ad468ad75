/*
 * share_archive - what its two files share: keys of the table, and reports
 * within a transaction.
 */
#ifndef REPUTATION_SHARE_ARCHIVE_H
#define REPUTATION_SHARE_ARCHIVE_H

#include "tidemark/archive/archive.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/reputation/share.h"

#define TABLE TIDE_TABLE_SHARED

struct number_key {
	char kind;
	uint8_t number[8];
};
_Static_assert(sizeof(struct number_key) == 9, "keys have no padding");

static inline struct tide_bytes
number_key(struct number_key *k, char kind, uint64_t number)
{
	k->kind = kind;
	tide_key_number(k->number, number);
	return tide_bytes(k, sizeof *k);
}

/* Own reports that were made before are told to nobody any more. */
int tide_share_drop_faded(
    struct tide_txn *, uint64_t not_before_ms, struct tide_err *);

/* Those behind `until`, each as a record of its own; the others go. */
int tide_share_record(struct tide_txn *, struct tide_share *, uint64_t until,
    const struct tide_share_place *, struct tide_err *);

#endif
