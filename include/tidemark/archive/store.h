/*
 * store - LMDB, with its sharp edges put away.
 *
 * CAVEATS, all learnt the hard way and all handled in store.c, the one file
 * that includes lmdb.h:
 *  - An environment must never cross a fork: close it, or do not fork.
 *  - lock files must not be opened and closed by hand (it drops the locks).
 *  - A truncated file is SIGBUS in waiting: tide_store_probe() looks first.
 *  - So is a full disk, in the lock file and in a file that is mapped for
 *    writing: their blocks are allocated before LMDB touches them.
 *  - A write transaction blocks others until it ends; read transactions never
 *    block, but one that stays open keeps old pages from being used again.
 *  - The file format is that of LMDB 0.9; 1.0 changes it.
 *
 * Keys and values returned point into the map and are valid until the
 * transaction ends.  A struct tide_store may be used by several threads, a
 * struct tide_txn by one.
 */
#ifndef TIDEMARK_STORE_H
#define TIDEMARK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"

struct tide_store;
struct tide_txn;

enum tide_store_mode {
	TIDE_STORE_READ,    /* read-only; other processes may write */
	TIDE_STORE_FROZEN,  /* read-only, no locks: a frozen live map */
	TIDE_STORE_DURABLE, /* every commit is on disk when it returns */
	TIDE_STORE_LIVE	    /* mapped for writing, never synced; all blocks of
			       the file are allocated before it is */
};

enum tide_store_state {
	TIDE_STORE_ABSENT,
	TIDE_STORE_FOREIGN,   /* no LMDB file, or one of another version */
	TIDE_STORE_TRUNCATED, /* shorter than its own pages say */
	TIDE_STORE_DAMAGED,   /* its first pages contradict themselves */
	TIDE_STORE_WHOLE
};

/* Look at a file's first pages without mapping anything. */
enum tide_store_state tide_store_probe(const char *path, struct tide_err *);

/*
 * Open (and, for DURABLE and LIVE, create) an environment in one file, with
 * the named tables.  At most 16; their index is the `table` of the calls.
 * map_size 0 keeps the file's own.
 */
struct tide_store *tide_store_open(const char *path, enum tide_store_mode,
    size_t map_size, const char *const *tables, struct tide_err *);
void tide_store_close(struct tide_store *);

/* True if nothing is in the file but the named tables, all of them empty. */
bool tide_store_is_blank(struct tide_store *);

/*
 * Read everything: keys in order, as many as are said to be there, every
 * value within the file, the list of free pages.  A damaged file may make
 * LMDB trip over it: use it through tide_store_apart().
 */
int tide_store_check(struct tide_store *, struct tide_err *);

/*
 * Do that in a process of its own, so that whatever LMDB does with a damaged
 * file is done to nobody else.  No environment may be open.  0, or -1 with
 * what the check said or how it ended.
 */
typedef int tide_check(void *arg, struct tide_err *);
int
tide_store_apart(const char *path, tide_check *, void *arg, struct tide_err *);

/* The file's size in use, in bytes. */
uint64_t tide_store_used(struct tide_store *);

/*
 * Copy the file as it stands at this moment, without its free pages, while
 * others go on writing to it.  fd is left where the copy ends, not synced.
 */
int tide_store_copy(struct tide_store *, int fd, struct tide_err *);

/* Forget readers that died.  How many there were. */
int tide_store_reap(struct tide_store *);

/* How many transactions read a state older than the last commit. */
unsigned tide_store_old_readers(struct tide_store *);

/* Pages of the tables' trees, without those of large values. */
int
tide_store_tree_pages(struct tide_store *, uint64_t *pages, struct tide_err *);

/*
 * Overwrite what deleted records have left in the file: LMDB frees pages, and
 * room within pages, without touching what they held.  Looked for are certain
 * texts; wherever they are not part of a record or of the tree (a page that
 * nothing refers to, the room between a page's nodes, behind a value's end)
 * their bytes become 0.
 *
 * The tree is walked while a write transaction keeps it from changing, and
 * only if a search without one has found something.  Mail never waits for it.
 */
struct tide_scrub {
	unsigned found;	  /* places before */
	unsigned wiped;	  /* overwritten */
	unsigned records; /* in records that are there */
	unsigned
	    branches; /* in keys of the tree's branches: rewrite the table */
	bool waits;   /* somebody still reads an older state */
};
int tide_store_scrub(struct tide_store *, const char *path,
    const struct tide_bytes *text, unsigned texts, struct tide_scrub *,
    struct tide_err *);

/*
 * Delete all of a table's records and put them back, in one transaction: keys
 * of deleted ones may live on in the tree's branches.
 */
int tide_store_rewrite(struct tide_store *, int table, struct tide_err *);

struct tide_txn *
tide_txn_begin(struct tide_store *, bool write, struct tide_err *);
int tide_txn_commit(struct tide_txn *, struct tide_err *);
void tide_txn_abort(struct tide_txn *);

/* 1 found, 0 not there, -1 error. */
int tide_txn_get(struct tide_txn *, int table, struct tide_bytes key,
    struct tide_bytes *value, struct tide_err *);
int tide_txn_put(struct tide_txn *, int table, struct tide_bytes key,
    struct tide_bytes value, struct tide_err *);
/* 1 deleted, 0 not there, -1 error. */
int tide_txn_del(
    struct tide_txn *, int table, struct tide_bytes key, struct tide_err *);

/* Room for a new value of that size; NULL if there is one already. */
void *tide_txn_reserve(struct tide_txn *, int table, struct tide_bytes key,
    size_t size, struct tide_err *);

/*
 * Walk a table in key order, from the first key not below `from` (or from the
 * first of all with an empty one).  The visitor returns 0 to go on, 1 to
 * stop, -1 on error (then it has set err).  Returns -1 on error, else 0.
 */
typedef int tide_visit(void *arg, struct tide_bytes key,
    struct tide_bytes value, struct tide_err *);
int tide_txn_walk(struct tide_txn *, int table, struct tide_bytes from,
    tide_visit *, void *arg, struct tide_err *);

/* The last key of a table: 1, 0 if it is empty, -1 error. */
int tide_txn_last(struct tide_txn *, int table, struct tide_bytes *key,
    struct tide_bytes *value, struct tide_err *);

/* LMDB's version, for `tidemark status` and dumps. */
const char *tide_store_version(void);

/* Where in the file a value lies (live map only). */
int tide_store_offset(const void *value, uint64_t *offset, struct tide_err *);

#endif
