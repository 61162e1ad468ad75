/*
 * addresses_archive - the list of spam addresses, made to last; and the file
 * in which a list travels.
 *
 * The archive holds a list in chunks, and behind it every single address
 * added or taken out since, by its hash: what is acknowledged is in the
 * archive before it is in the map.  The collector's alone.
 */
#ifndef TIDEMARK_ADDRESSES_ARCHIVE_H
#define TIDEMARK_ADDRESSES_ARCHIVE_H

#include "tidemark/archive/archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/addresses.h"

struct tide_stored_list {
	uint64_t version;  /* grows with each list */
	uint64_t base;	   /* the last change that is in the chunks */
	uint64_t sequence; /* the last change at all */
	uint64_t loaded_ms;
	uint64_t elements;
	tide_bloom_word *words; /* to be freed; NULL if there are none */
};

/* Replace the list and forget the changes, in one transaction. */
int tide_archive_put_list(struct tide_archive *, const struct tide_list_shape *,
    const struct tide_addresses_fresh *, struct tide_err *);

/* One more change; its sequence is the last one's successor. */
int tide_archive_change_list(struct tide_archive *, uint64_t sequence, bool add,
    struct tide_hash, struct tide_err *);

/*
 * The list with all its changes.  1, 0 if there is none, -1 if it cannot be
 * read or was made for other sizes; *out then still has the numbers.
 */
int tide_archive_get_list(struct tide_archive *, const struct tide_list_shape *,
    struct tide_stored_list *out, struct tide_err *);

/* ---- the file ---------------------------------------------------------- */

/*
 * A header of 96 bytes, then the words as they lie in memory (little endian):
 * what `tidemark addresses export` writes and `merge` reads.
 */
#define TIDE_LIST_MAGIC 0x7473696c65646974ull /* "tidelist" */
#define TIDE_LIST_FORMAT 1u

struct tide_list_file {
	uint64_t magic;
	uint32_t format;
	uint32_t counting;    /* 0: a bit a cell; 1: four */
	uint64_t cells;	      /* m */
	uint32_t positions;   /* k */
	uint32_t pad;	      /* 0 */
	uint64_t capacity;    /* n */
	uint64_t elements;    /* as far as is known */
	uint64_t made_ms;     /* wall */
	uint64_t fingerprint; /* of the hash key */
	uint64_t version;     /* of the list where it was made */
	uint64_t sequence;    /* and its last change there */
	uint64_t words_check; /* XXH3 of the words */
	uint64_t check;	      /* XXH3 of all before it */
};
_Static_assert(sizeof(struct tide_list_file) == 96, "no padding");

uint64_t tide_key_fingerprint(const struct tide_hash_key *);

void
tide_list_file_make(struct tide_list_file *, const struct tide_list_shape *,
    uint64_t fingerprint, const struct tide_addresses_fresh *);

/* Is it a header, and of a list that fits ours?  A sentence if not. */
int tide_list_file_check(const struct tide_list_file *,
    const struct tide_list_shape *, uint64_t fingerprint, struct tide_err *);

#endif
