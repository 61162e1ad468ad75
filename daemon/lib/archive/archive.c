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
#include "tidemark/base/keyring.h"
#include "tidemark/map/head.h"

const char *const tide_archive_tables[TIDE_TABLES + 1] = { "meta", "windows",
	"filters", "lapses", "bans", "checkpoint", "addresses", "exceptions",
	"spam", "egress", "shared", NULL };

#define META TIDE_TABLE_META
#define KEY_PIECE 16u /* bytes of it that are looked for at once */

struct head {
	uint64_t magic;
	uint32_t format;
	uint32_t unscrubbed; /* the key of 0.2 may still lie on free pages */
	uint64_t made_ms;
	struct tide_key_id key_id; /* format 2 had the key itself here */
	uint8_t unused[TIDE_HASH_KEY_SIZE - sizeof(struct tide_key_id)];
	uint64_t check;
};
_Static_assert(sizeof(struct head) == 224, "as it always was");

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
read_head(const struct tide_archive *a, struct tide_txn *txn, struct head *h,
    struct tide_err *err)
{
	struct tide_bytes value;
	int found;

	found = tide_txn_get(txn, META, tide_bytes("head", 4), &value, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return tide_err_set(err,
		    "%s: is an LMDB file, but no archive of Tidemark's; it is "
		    "left as it is",
		    a->path);
	if (value.size >= sizeof *h)
		memcpy(h, value.data, sizeof *h);
	if (value.size < sizeof *h || h->magic != TIDE_MAP_MAGIC)
		return tide_err_set(err, "%s: its head is damaged", a->path);
	if (h->format != TIDE_ARCHIVE_FORMAT && h->format != TIDE_ARCHIVE_KEYED)
		return tide_err_set(err,
		    "%s: has format %u, and this Tidemark reads format %u; "
		    "move it away to begin anew",
		    a->path, h->format, TIDE_ARCHIVE_FORMAT);
	if (h->check != head_check(h))
		return tide_err_set(err, "%s: its head is damaged", a->path);
	return 0;
}

static int
write_head(struct tide_archive *a, struct head *h, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);

	h->check = head_check(h);
	if (txn == NULL)
		return -1;
	if (tide_txn_put(txn, META, tide_bytes("head", 4),
		tide_bytes(h, sizeof *h), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

static int
load_head(struct tide_archive *a, struct head *h, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = read_head(a, txn, h, err);
	tide_txn_abort(txn);
	return rc;
}

/* ---- the key ----------------------------------------------------------- */

static const char *
folder_of(const struct tide_archive *a, char folder[TIDE_PATH_MAX])
{
	size_t n = (size_t)(strrchr(a->path, '/') - a->path);

	(void)snprintf(folder, TIDE_PATH_MAX, "%.*s", (int)n, a->path);
	return folder;
}

static void
use_key(struct tide_archive *a, const struct tide_hash_key *key)
{
	a->key = *key;
	a->key_id = tide_hash_key_id(key);
	a->has_key = true;
}

/* The key that a head of 0.2 has in it. */
static struct tide_hash_key
key_of(const struct head *h)
{
	struct tide_hash_key key;

	memcpy(&key, &h->key_id, sizeof key);
	return key;
}

/* The one that is there (a fleet's), or a new one, durable before it is used.
 */
static int
find_key(struct tide_archive *a, struct tide_err *err)
{
	char folder[TIDE_PATH_MAX];
	struct tide_hash_key key;
	int found = tide_hash_key_read(&key, folder_of(a, folder), err);

	if (found < 0)
		return -1;
	if (found == 0 &&
	    (tide_hash_key_draw(&key, err) < 0 ||
		tide_keyring_make(
		    folder, "hash", key.secret, sizeof key.secret, err) < 0))
		return -1;
	use_key(a, &key);
	explicit_bzero(&key, sizeof key);
	return 0;
}

/* Is it the one that the head names? */
static bool
is_named(const struct head *h, const struct tide_hash_key *key)
{
	struct tide_key_id id = tide_hash_key_id(key);

	return tide_key_id_equal(&id, &h->key_id);
}

/* A restore that was killed has brought the archive, and its key not quite. */
static bool
use_restoring(struct tide_archive *a, const struct head *h, bool own)
{
	char folder[TIDE_PATH_MAX];
	struct tide_hash_key key;
	struct tide_err err;
	bool is = tide_keyring_read_restoring(folder_of(a, folder), "hash",
		      key.secret, sizeof key.secret, &err) > 0 &&
	    is_named(h, &key) &&
	    (!own || tide_keyring_take_restoring(folder, "hash", &err) == 0);

	if (is)
		use_key(a, &key);
	explicit_bzero(&key, sizeof key);
	return is;
}

/* It must be the one that the head names. */
static int
check_key(struct tide_archive *a, const struct head *h, bool own,
    struct tide_err *err)
{
	char folder[TIDE_PATH_MAX], is[TIDE_KEY_ID_TEXT];
	struct tide_hash_key key;
	int found = tide_hash_key_read(&key, folder_of(a, folder), err);
	bool named = found > 0 && is_named(h, &key);

	a->key_id = h->key_id;
	tide_key_id_show(&h->key_id, is);
	if (!named && use_restoring(a, h, own))
		return 0;
	if (found < 0)
		return -1;
	if (found == 0)
		return tide_err_set(err,
		    "%s/hash.key: is not there, and without this key (id "
		    "%.16s) %s answers nothing: bring it back from a backup, "
		    "or move the archive away to begin anew",
		    folder, is, a->path);
	if (!named)
		return tide_err_set(err,
		    "%s/hash.key: is another key than %s was made with (id "
		    "%.16s)",
		    folder, a->path, is);
	use_key(a, &key);
	explicit_bzero(&key, sizeof key);
	return 0;
}

/*
 * PROTOCOL move: the key of an archive of 0.2 out of its head.
 *  Y1 hash.key with that key, durable; another one that lies there was never
 *     used, and is set aside
 *  Y2 the head with the id, "unscrubbed": one commit
 *  Y3 what is left of the key on free pages is overwritten
 *  Y4 the head without "unscrubbed"
 * Crash: after Y1 the file is the head's key, and the next start goes on; after
 *        Y2 it begins at Y3.
 * Test:  tests/daemon/lib/archive/t_key.c
 */
static int
move_key(struct tide_archive *a, struct head *h, struct tide_err *err)
{
	struct tide_hash_key key = key_of(h), there;
	char folder[TIDE_PATH_MAX];
	int found = tide_hash_key_read(&there, folder_of(a, folder), err);
	bool same = found > 0 && memcmp(&there, &key, sizeof key) == 0;

	if (found != 0 && !same &&
	    tide_keyring_set_aside(folder, "hash", err) < 0)
		return -1;
	if (!same &&
	    tide_keyring_make(
		folder, "hash", key.secret, sizeof key.secret, err) < 0)
		return -1; /* Y1 */
	use_key(a, &key);
	h->format = TIDE_ARCHIVE_FORMAT;
	h->unscrubbed = 1;
	h->key_id = a->key_id;
	memset(h->unused, 0, sizeof h->unused);
	explicit_bzero(&key, sizeof key);
	explicit_bzero(&there, sizeof there);
	return write_head(a, h, err); /* Y2 */
}

/* In pieces: what came to lie over the rest of it hides none. */
static int
scrub_key(struct tide_archive *a, struct head *h, struct tide_err *err)
{
	struct tide_bytes piece[TIDE_HASH_KEY_SIZE / KEY_PIECE];
	struct tide_scrub sum;
	unsigned i, n = sizeof piece / sizeof *piece;

	for (i = 0; i < n; i++)
		piece[i] = tide_bytes(a->key.secret + i * KEY_PIECE, KEY_PIECE);
	if (tide_store_scrub(a->store, a->path, piece, n, &sum, err) < 0)
		return -1; /* Y3 */
	if (sum.waits)
		return 0; /* somebody reads the old state: the next start */
	h->unscrubbed = 0;
	return write_head(a, h, err); /* Y4 */
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
	struct head h;
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
	return load_head(a, &h, err) < 0 ? -1 : 1;
}

/* Whoever only reads may lack the key: then it has none. */
static int
open_to_read(struct tide_archive *a, struct tide_err *err)
{
	struct tide_hash_key key;
	struct head h;

	if (load_head(a, &h, err) < 0)
		return -1;
	if (h.format == TIDE_ARCHIVE_KEYED) {
		key = key_of(&h);
		use_key(a, &key);
		explicit_bzero(&key, sizeof key);
	} else {
		(void)check_key(a, &h, false, &a->keyless);
	}
	explicit_bzero(&h, sizeof h);
	return 0;
}

/* first the key: one that is refused leaves no half-made archive behind */
static int
make_archive(struct tide_archive *a, uint64_t map_size, struct tide_err *err)
{
	struct head h = { .magic = TIDE_MAP_MAGIC,
		.format = TIDE_ARCHIVE_FORMAT,
		.made_ms = tide_clock_wall_ms() };

	if (find_key(a, err) < 0)
		return -1;
	a->store = tide_store_open(
	    a->path, TIDE_STORE_DURABLE, map_size, tide_archive_tables, err);
	h.key_id = a->key_id;
	return a->store != NULL ? write_head(a, &h, err) : -1;
}

static int
open_to_write(struct tide_archive *a, uint64_t map_size, struct tide_err *err)
{
	struct head h;
	int rc;

	a->store = tide_store_open(
	    a->path, TIDE_STORE_DURABLE, map_size, tide_archive_tables, err);
	if (a->store == NULL || load_head(a, &h, err) < 0)
		return -1;
	rc = h.format == TIDE_ARCHIVE_KEYED ? move_key(a, &h, err)
					    : check_key(a, &h, true, err);
	/* what cannot be done now is done by the next start */
	if (rc == 0 && h.unscrubbed != 0)
		(void)scrub_key(a, &h, err);
	explicit_bzero(&h, sizeof h);
	return rc;
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
		rc = there > 0 ? open_to_write(a, map_size, err)
			       : make_archive(a, map_size, err);
	} else if (rc == 0) {
		rc = open_to_read(a, err);
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
