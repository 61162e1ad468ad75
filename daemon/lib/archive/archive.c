/*
 * archive - create, recognise, open.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/head.h"

const char *const tide_archive_tables[TIDE_TABLES + 1] = { "meta", "windows",
	"filters", "lapses", "bans", "checkpoint", "addresses", "exceptions",
	"spam", "egress", "shared", NULL };

#define META TIDE_TABLE_META

struct head {
	uint64_t magic;
	uint32_t format;
	uint32_t pad;
	uint64_t made_ms;
	struct tide_hash_key key;
	uint64_t check;
};

void
tide_key_number(uint8_t out[8], uint64_t n)
{
	int i;

	for (i = 7; i >= 0; i--, n >>= 8)
		out[i] = (uint8_t)n;
}

uint64_t
tide_key_read(const uint8_t in[8])
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < 8; i++)
		n = n << 8 | in[i];
	return n;
}

/* ---- opening ----------------------------------------------------------- */

static uint64_t
head_check(const struct head *h)
{
	return tide_hash_check(h, offsetof(struct head, check));
}

static int
read_head(struct tide_archive *a, struct tide_txn *txn, struct tide_err *err)
{
	struct tide_bytes value;
	struct head h;
	int found;

	found = tide_txn_get(txn, META, tide_bytes("head", 4), &value, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return tide_err_set(err,
		    "%s: is an LMDB file, but no archive of Tidemark's; it is "
		    "left as it is",
		    a->path);
	if (value.size >= sizeof h)
		memcpy(&h, value.data, sizeof h);
	if (value.size < sizeof h || h.magic != TIDE_MAP_MAGIC)
		return tide_err_set(err, "%s: its head is damaged", a->path);
	if (h.format != TIDE_ARCHIVE_FORMAT)
		return tide_err_set(err,
		    "%s: has format %u, and this Tidemark reads format %u; "
		    "move it away to begin anew",
		    a->path, h.format, TIDE_ARCHIVE_FORMAT);
	if (h.check != head_check(&h))
		return tide_err_set(err, "%s: its head is damaged", a->path);
	a->key = h.key;
	return 0;
}

/* The fleet's key, if there is one beside the archive; else a new one. */
static int
find_key(const struct tide_archive *a, struct tide_hash_key *key,
    struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];
	size_t folder = (size_t)(strrchr(a->path, '/') - a->path);
	int found;

	(void)snprintf(
	    path, sizeof path, "%.*s/hash.key", (int)folder, a->path);
	found = tide_hash_key_read(key, path, err);
	return found == 0 ? tide_hash_key_draw(key, err) : found < 0 ? -1 : 0;
}

static int
write_head(struct tide_archive *a, const struct tide_hash_key *key,
    struct tide_err *err)
{
	struct head h = { .magic = TIDE_MAP_MAGIC,
		.format = TIDE_ARCHIVE_FORMAT,
		.made_ms = tide_clock_wall_ms() };
	struct tide_txn *txn;

	h.key = *key;
	h.check = head_check(&h);
	txn = tide_txn_begin(a->store, true, err);
	if (txn == NULL)
		return -1;
	if (tide_txn_put(txn, META, tide_bytes("head", 4),
		tide_bytes(&h, sizeof h), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

static int
load_head(struct tide_archive *a, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = read_head(a, txn, err);
	tide_txn_abort(txn);
	return rc;
}

/* 1 there and whole, 0 not there, -1 refused. */
static int
look(const char *path, struct tide_err *err)
{
	switch (tide_store_probe(path, err)) {
	case TIDE_STORE_ABSENT:
		return 0;
	case TIDE_STORE_WHOLE:
		return 1;
	default:
		return -1;
	}
}

/* A backup does not change, and may lie where nothing can be written. */
static enum tide_store_mode
how_to_read(const struct tide_archive *a)
{
	char path[TIDE_PATH_MAX + 16];
	size_t folder = (size_t)(strrchr(a->path, '/') - a->path);

	(void)snprintf(path, sizeof path, "%.*s/" TIDE_BACKUP_MANIFEST,
	    (int)folder, a->path);
	return access(path, F_OK) == 0 ? TIDE_STORE_FROZEN : TIDE_STORE_READ;
}

/*
 * Before anything is written: is it ours?  1 yes, -1 no; 0 if there is none,
 * or one whose creation was cut short: nothing is in it yet.
 */
static int
recognise(
    struct tide_archive *a, enum tide_archive_mode mode, struct tide_err *err)
{
	int there = look(a->path, err);

	if (there <= 0)
		return there;
	a->store = tide_store_open(a->path,
	    mode == TIDE_ARCHIVE_FROZEN ? TIDE_STORE_FROZEN : how_to_read(a), 0,
	    tide_archive_tables, err);
	if (a->store == NULL)
		return -1;
	if (tide_store_is_blank(a->store)) {
		(void)tide_err_set(
		    err, "%s: is empty: its creation was cut short", a->path);
		return 0;
	}
	return load_head(a, err) < 0 ? -1 : 1;
}

static int
open_to_write(
    struct tide_archive *a, bool there, uint64_t map_size, struct tide_err *err)
{
	struct tide_hash_key key;

	/* first: a key that is refused leaves no half-made archive behind */
	if (!there && find_key(a, &key, err) < 0)
		return -1;
	a->store = tide_store_open(
	    a->path, TIDE_STORE_DURABLE, map_size, tide_archive_tables, err);
	if (a->store == NULL || (!there && write_head(a, &key, err) < 0))
		return -1;
	return load_head(a, err);
}

int
tide_archive_open(struct tide_archive *a, const char *state_dir,
    enum tide_archive_mode mode, uint64_t map_size, struct tide_err *err)
{
	int there, rc;

	memset(a, 0, sizeof *a);
	(void)snprintf(a->path, sizeof a->path, "%s/archive.mdb", state_dir);
	there = recognise(a, mode, err);
	rc = there > 0 ? 0 : -1;
	if (mode == TIDE_ARCHIVE_OWN && there >= 0) {
		tide_archive_close(a);
		rc = open_to_write(a, there > 0, map_size, err);
	}
	if (rc < 0)
		tide_archive_close(a);
	return rc;
}

void
tide_archive_close(struct tide_archive *a)
{
	tide_store_close(a->store);
	a->store = NULL;
}
