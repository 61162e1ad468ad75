/*
 * archive - what must outlive the map: sealed windows, lapses, checkpoints.
 * archive.mdb in state_dir, every commit durable.  Of the hash key it has the
 * id; the key itself is in hash.key beside it (keyring.h).
 *
 * Written by the collector alone.  Read by the collector, and by tools when
 * no daemon runs (--offline).
 *
 * An archive is created only where no file is; one that is there is opened if
 * it is whole and ours, and otherwise refused and left as it is.
 */
#ifndef TIDEMARK_ARCHIVE_H
#define TIDEMARK_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

#define TIDE_ARCHIVE_FORMAT 3u
#define TIDE_ARCHIVE_KEYED 2u /* until 0.2: its head had the hash key itself */
#define TIDE_CHUNK (1u << 20) /* bytes of a filter in one value */

enum tide_archive_table {
	TIDE_TABLE_META,
	TIDE_TABLE_WINDOWS,    /* number -> struct tide_window_record */
	TIDE_TABLE_FILTERS,    /* number, filter, chunk -> check, words */
	TIDE_TABLE_LAPSES,     /* from, kind -> struct tide_lapse */
	TIDE_TABLE_BANS,       /* key -> struct tide_ban, check */
	TIDE_TABLE_CHECKPOINT, /* side, part, chunk -> check, bytes */
	TIDE_TABLE_ADDRESSES,  /* addresses_archive.c: list and changes */
	TIDE_TABLE_EXCEPTIONS, /* key -> struct tide_exception, check */
	TIDE_TABLE_SPAM,       /* spam_archive.c: generations, reports */
	TIDE_TABLE_EGRESS,     /* kind, networks -> struct tide_egress, check */
	TIDE_TABLE_SHARED,     /* share_archive.c: replicas, snapshots */
	TIDE_TABLES
};

extern const char *const tide_archive_tables[TIDE_TABLES + 1];

enum tide_window_flag {
	TIDE_WINDOW_WAS_OVERFILLED = 1,
	TIDE_WINDOW_WAS_RESTORED = 2 /* from a checkpoint; ends there */
};

struct tide_map_head; /* map/head.h */

#define TIDE_WINDOW_FORMAT 2u

/*
 * A window as it is kept, in the archive and in checkpoints.  Whoever changes
 * it gives it another format, and reads this one, too.
 */
struct tide_window_record {
	uint32_t format; /* TIDE_WINDOW_FORMAT */
	uint32_t flags;
	uint64_t number;
	uint64_t from_ms, until_ms;
	uint64_t messages;
	uint64_t elements[TIDE_FILTERS];
	uint64_t ones[TIDE_FILTERS];
	struct tide_bloom_shape shape[TIDE_FILTERS]; /* as folded */
	uint32_t memory;			     /* enum tide_memory */
	uint32_t sealed_s; /* settled time, seconds; 0: by 0.2 or before */
	uint32_t profile[TIDE_PROFILES_MAX]; /* that mail came through; or 0 */
	uint64_t longest, cut, unread, wire, text; /* map.h */
	uint64_t check;
};
_Static_assert(sizeof(struct tide_window_record) == 248, "format 2");

struct tide_archive {
	struct tide_store *store;
	struct tide_key_id key_id;
	bool has_key; /* else it could not be read, and keyless says why */
	struct tide_hash_key key;
	struct tide_err keyless;
	char path[TIDE_PATH_MAX];
};

enum tide_archive_mode {
	TIDE_ARCHIVE_OWN,
	TIDE_ARCHIVE_READ,
	TIDE_ARCHIVE_FROZEN /* read; nobody writes to it, so there are no locks */
};

/* What makes a folder a backup: its table of contents (tidemark backup). */
#define TIDE_BACKUP_MANIFEST "MANIFEST"

/*
 * Open state_dir/archive.mdb.  OWN creates it if there is none, with the key in
 * state_dir/hash.key (keyring.h), which is made if it is not there; a key that
 * is missing or another one is refused.  READ takes a backup for what it is, a
 * file that nobody writes: no lock is made beside it; and it can do without
 * the key.
 */
int tide_archive_open(struct tide_archive *, const char *state_dir,
    enum tide_archive_mode, uint64_t map_size, struct tide_err *);
void tide_archive_close(struct tide_archive *);

/*
 * Walk everything in a process of its own, so that a damage that makes LMDB
 * trip cannot take the collector with it.  Call it before the archive is
 * open.  0 if it is whole (or not there yet), -1 with what is wrong.
 */
int tide_archive_verify(const char *state_dir, struct tide_err *);

/* The number of the newest window, 0 if there is none. */
int
tide_archive_newest(struct tide_archive *, uint64_t *number, struct tide_err *);

/* 1 stored, 0 not, -1 error. */
int tide_archive_has_window(
    struct tide_archive *, uint64_t number, struct tide_err *);

/*
 * Store a window: the words are folded in place, then written, with the
 * record, in one transaction.
 */
int tide_archive_put_window(struct tide_archive *, struct tide_window_record *,
    uint64_t *words[TIDE_FILTERS], struct tide_err *);

/* Drop windows that were sealed before `before_ms` (settled time), then the oldest ones while all
 * together take more than max_bytes; lapses go with the windows. */
int tide_archive_expire(struct tide_archive *, uint64_t before_ms,
    uint64_t max_bytes, unsigned *dropped, struct tide_err *);

int tide_archive_put_lapse(
    struct tide_archive *, const struct tide_lapse *, struct tide_err *);

/* PROTOCOL lapses, the consumer: store all that wait there.  How many, or -1. */
int tide_archive_take_lapses(
    struct tide_archive *, struct tide_acceptor *, struct tide_err *);

/* Check a lapse's bytes (its `pad` holds a checksum); false if they are none. */
bool tide_lapse_read(struct tide_bytes, struct tide_lapse *copy);

/* The settled time (base/clock.h) at some moment of a boot. */
struct tide_stored_clock {
	uint64_t settled_ms, boot_ms;
	char boot_id[40];
	uint64_t check;
};
int tide_archive_put_clock(
    struct tide_archive *, struct tide_stored_clock *, struct tide_err *);
/* 1, 0 if there is none, -1. */
int tide_archive_get_clock(
    struct tide_archive *, struct tide_stored_clock *, struct tide_err *);

struct tide_archive_summary {
	uint64_t windows, bytes, from_ms, until_ms, messages, lapses;
	uint64_t unread;     /* windows whose records cannot be read */
	uint64_t wire, text; /* bytes of mail, and of text in it */
	uint64_t kept;	     /* bytes that hold content */
};

int tide_archive_summary(
    struct tide_archive *, struct tide_archive_summary *, struct tide_err *);

/* What a window costs in the archive. */
uint64_t tide_window_record_bytes(const struct tide_window_record *);

/* Check a record's bytes; NULL if they are none. */
const struct tide_window_record *
tide_window_record_read(struct tide_bytes, struct tide_window_record *copy);

/* Can a record of that format be read here? */
bool tide_window_format_known(uint32_t format);

/* Its format and its check, the last thing before it is stored. */
void tide_window_record_seal(struct tide_window_record *);

/* What the map says of a window; number and times are the caller's. */
void tide_window_describe(struct tide_window_record *,
    const struct tide_window *, const struct tide_map_head *);

/*
 * The names behind a record's profiles: stored under their tags, where they are
 * not yet (a full disk lets nothing be written), and found again ("?" if that
 * is not known).
 */
int tide_archive_name_profiles(
    struct tide_archive *, const struct tide_config *, struct tide_err *);
void
tide_archive_profile(struct tide_txn *, uint32_t tag, char name[TIDE_NAME_MAX]);

/*
 * Read a filter whole into words, which has room for it.  1, or -1 if it
 * cannot be read.
 */
int tide_archive_load(struct tide_txn *, const struct tide_window_record *,
    enum tide_filter, uint64_t *words);

/*
 * Is the element in that filter of that window?  1 probably, 0 certainly not,
 * -1 the filter cannot be read (missing or damaged).
 */
int tide_archive_lookup(struct tide_txn *, const struct tide_window_record *,
    enum tide_filter, struct tide_hash);

/* Big-endian, so that keys sort by number. */
void tide_key_number(uint8_t out[8], uint64_t);
uint64_t tide_key_read(const uint8_t in[8]);

#endif
