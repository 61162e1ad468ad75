/*
 * The hash key and the archive: apart from each other, and moved apart when
 * the archive is of 0.2; whatever a kill in between has left, it opens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"
#include "tidemark/map/head.h"
#include "tidemark/settings/config.h"

static struct tide_config c;

static const char *
path_of(const char *name)
{
	static char path[TIDE_PATH_MAX + 64];

	(void)snprintf(path, sizeof path, "%s/%s", c.state_dir, name);
	return path;
}

static int
open_as(struct tide_archive *a, enum tide_archive_mode mode)
{
	struct tide_err err = { "" };
	int rc = tide_archive_open(a, c.state_dir, mode, c.archive_map, &err);

	if (rc < 0)
		(void)fprintf(stderr, "# %s\n", err.text);
	return rc;
}

static bool
holds(const char *name, const struct tide_hash_key *key)
{
	size_t size, i;
	char *bytes = fixture_slurp(path_of(name), &size);
	bool found = false;

	for (i = 0; i < sizeof key->secret; i += 16)
		found |= memmem(bytes, size, key->secret + i, 16) != NULL;
	free(bytes);
	return found;
}

/* As 0.2 wrote it: the key within the head. */
static void
make_old(const struct tide_hash_key *key)
{
	struct {
		uint64_t magic;
		uint32_t format, pad;
		uint64_t made_ms;
		struct tide_hash_key key;
		uint64_t check;
	} h = { TIDE_MAP_MAGIC, TIDE_ARCHIVE_KEYED, 0, 1000, *key, 0 };
	struct tide_store *store;
	struct tide_txn *txn;
	struct tide_err err;
	unsigned i;

	h.check = tide_hash_check(&h, sizeof h - sizeof h.check);
	store = tide_store_open(path_of("archive.mdb"), TIDE_STORE_DURABLE,
	    c.archive_map, tide_archive_tables, &err);
	CHECK(store != NULL);
	for (i = 0; i < 4; i++) { /* it lies on several pages */
		txn = tide_txn_begin(store, true, &err);
		h.made_ms += i;
		h.check = tide_hash_check(&h, sizeof h - sizeof h.check);
		CHECK_INT(
		    tide_txn_put(txn, TIDE_TABLE_META, tide_bytes("head", 4),
			tide_bytes(&h, sizeof h), &err),
		    0);
		CHECK_INT(tide_txn_commit(txn, &err), 0);
	}
	tide_store_close(store);
}

static void
made_apart(void)
{
	struct tide_hash_key key;
	struct tide_archive a;

	fixture_config(&c);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	key = a.key;
	CHECK(a.has_key);
	tide_archive_close(&a);
	CHECK(!holds("archive.mdb", &key));
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	CHECK(memcmp(&key, &a.key, sizeof key) == 0);
	tide_archive_close(&a);
}

static void
missing_or_another(void)
{
	static const struct tide_hash_key other = { { 1, 2, 3 } };
	struct tide_archive a;
	struct tide_err err;

	fixture_config(&c);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	tide_archive_close(&a);
	CHECK(unlink(path_of("hash.key")) == 0);
	CHECK(tide_archive_open(
		  &a, c.state_dir, TIDE_ARCHIVE_OWN, c.archive_map, &err) < 0);
	CHECK_MSG(strstr(err.text, "bring it back") != NULL, "%s", err.text);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_READ), 0);
	CHECK(!a.has_key && a.keyless.text[0] != '\0');
	tide_archive_close(&a);
	CHECK_INT(tide_keyring_make(c.state_dir, "hash", other.secret,
		      sizeof other.secret, &err),
	    0);
	CHECK(tide_archive_open(
		  &a, c.state_dir, TIDE_ARCHIVE_OWN, c.archive_map, &err) < 0);
	CHECK_MSG(strstr(err.text, "another key") != NULL, "%s", err.text);
}

/* A restore killed between the two renames: the old key, the new archive. */
static void
key_of_a_restore(void)
{
	static const struct tide_hash_key other = { { 1, 2, 3 } };
	struct tide_hash_key key;
	struct tide_archive a;
	struct tide_err err;
	char from[600];

	fixture_config(&c);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	key = a.key;
	tide_archive_close(&a);
	(void)snprintf(from, sizeof from, "%s", path_of("hash.key"));
	CHECK(rename(from, path_of("hash.key.restoring")) == 0);
	CHECK_INT(tide_keyring_make(c.state_dir, "hash", other.secret,
		      sizeof other.secret, &err),
	    0);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_READ), 0);
	CHECK(a.has_key && memcmp(&a.key, &key, sizeof key) == 0);
	tide_archive_close(&a);
	CHECK(access(path_of("hash.key.restoring"), F_OK) == 0);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	CHECK(memcmp(&a.key, &key, sizeof key) == 0);
	tide_archive_close(&a);
	CHECK(access(path_of("hash.key.restoring"), F_OK) < 0);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	tide_archive_close(&a);
}

static void
check_moved(const struct tide_hash_key *key)
{
	struct tide_archive a;

	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	CHECK(memcmp(&a.key, key, sizeof *key) == 0);
	tide_archive_close(&a);
	CHECK(!holds("archive.mdb", key));
	CHECK(access(path_of("hash.key"), F_OK) == 0);
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_OWN), 0);
	CHECK(memcmp(&a.key, key, sizeof *key) == 0);
	tide_archive_close(&a);
}

/* A key is bytes: some of them are letters, of either case. */
static void
moved(void)
{
	struct tide_hash_key key;
	struct tide_archive a;
	unsigned i;

	fixture_config(&c);
	for (i = 0; i < sizeof key.secret; i++)
		key.secret[i] = (uint8_t)(i % 16 == 0 ? 'Q' : i * 7 + 1);
	make_old(&key);
	CHECK(holds("archive.mdb", &key));
	CHECK_INT(open_as(&a, TIDE_ARCHIVE_READ), 0); /* a backup of 0.2 */
	CHECK(a.has_key && memcmp(&a.key, &key, sizeof key) == 0);
	tide_archive_close(&a);
	check_moved(&key);
}

/* Killed while the file was made, and before the head was written. */
static void
moved_after_a_kill(void)
{
	struct tide_hash_key key;
	struct tide_err err;
	FILE *f;

	fixture_config(&c);
	CHECK_INT(tide_hash_key_draw(&key, &err), 0);
	make_old(&key);
	f = fopen(path_of("hash.key.new"), "w");
	CHECK(f != NULL && fputs("half", f) >= 0 && fclose(f) == 0);
	check_moved(&key);

	fixture_config(&c);
	make_old(&key);
	CHECK_INT(tide_keyring_make(
		      c.state_dir, "hash", key.secret, sizeof key.secret, &err),
	    0);
	check_moved(&key);
}

/* A hash.key beside an archive of 0.2 was not looked at: it may be anything. */
static void
moved_past_another(void)
{
	static const struct tide_hash_key other = { { 1, 2, 3 } };
	struct tide_hash_key key;
	struct tide_err err;

	fixture_config(&c);
	CHECK_INT(tide_hash_key_draw(&key, &err), 0);
	make_old(&key);
	CHECK_INT(tide_keyring_make(c.state_dir, "hash", other.secret,
		      sizeof other.secret, &err),
	    0);
	check_moved(&key);
	CHECK(access(path_of("hash.key.unused"), F_OK) == 0);
}

CHECK_CASES({ "a new archive has the key's id alone", made_apart },
    { "a key that is missing, or another", missing_or_another },
    { "a key that a killed restore has not named yet", key_of_a_restore },
    { "out of an archive of 0.2, down to its pages", moved },
    { "after a kill at each step", moved_after_a_kill },
    { "another key beside it is set aside", moved_past_another })
