/*
 * spam_archive - what its two files share: keys and records of the table.
 *
 * Keys: "head"; "c", generation, kind, part, chunk; "g" and a generation; "j"
 * and the number of a report.  Values end with their checksum.
 */
#ifndef REPUTATION_SPAM_ARCHIVE_H
#define REPUTATION_SPAM_ARCHIVE_H

#include "tidemark/archive/archive.h"
#include "tidemark/archive/spam_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

#define SPAM_TABLE TIDE_TABLE_SPAM

struct spam_head {
	uint64_t newest, base;
	struct tide_spam_shape shape;
	uint64_t check;
};

struct spam_generation {
	uint64_t number, began_ms;
	uint64_t messages[TIDE_SPAM_KINDS]; /* within the chunks */
	uint64_t has_chunks;
	uint64_t check;
};

struct spam_report {
	uint64_t generation;
	uint64_t kind;
	struct tide_signatures signatures;
	uint64_t check;
};

struct spam_key {
	char kind;
	uint8_t number[8];
};
_Static_assert(sizeof(struct spam_key) == 9, "keys have no padding");

struct spam_chunk_key {
	char kind;
	uint8_t generation[8];
	uint8_t filter; /* kind and part */
	uint8_t chunk[8];
};
_Static_assert(sizeof(struct spam_chunk_key) == 18, "keys have no padding");

static inline struct tide_bytes
spam_key(struct spam_key *k, char kind, uint64_t number)
{
	k->kind = kind;
	tide_key_number(k->number, number);
	return tide_bytes(k, sizeof *k);
}

static inline struct tide_bytes
spam_chunk_key(struct spam_chunk_key *k, uint64_t generation, unsigned filter,
    uint64_t chunk)
{
	k->kind = 'c';
	tide_key_number(k->generation, generation);
	k->filter = (uint8_t)filter;
	tide_key_number(k->chunk, chunk);
	return tide_bytes(k, sizeof *k);
}

/* Filters of a generation, by one number. */
#define SPAM_FILTERS (TIDE_SPAM_KINDS * TIDE_SPAM_PARTS)
static inline enum tide_spam_kind
spam_filter_kind(unsigned filter)
{
	return (enum tide_spam_kind)(filter / TIDE_SPAM_PARTS);
}
static inline enum tide_spam_part
spam_filter_part(unsigned filter)
{
	return (enum tide_spam_part)(filter % TIDE_SPAM_PARTS);
}

static inline uint64_t
spam_chunks(size_t bytes)
{
	return (bytes + TIDE_CHUNK - 1) / TIDE_CHUNK;
}

static inline size_t
spam_piece(size_t bytes, uint64_t chunk)
{
	size_t left = bytes - (size_t)chunk * TIDE_CHUNK;

	return left < TIDE_CHUNK ? left : TIDE_CHUNK;
}

/* A report's record, within a transaction. */
int tide_spam_record(struct tide_txn *, uint64_t sequence, uint64_t generation,
    enum tide_spam_kind, const struct tide_signatures *, struct tide_err *);

/* share_archive.c: an own report, to be told to neighbours. */
int tide_share_note(struct tide_txn *, uint64_t number, enum tide_spam_kind,
    const struct tide_signatures *, struct tide_err *);

/* A value of fixed size, its checksum last: 1, 0 not there, -1 damaged. */
int tide_spam_read(struct tide_txn *, struct tide_bytes key, void *record,
    size_t size, struct tide_err *);
int tide_spam_write(struct tide_txn *, struct tide_bytes key, void *record,
    size_t size, struct tide_err *);

#endif
