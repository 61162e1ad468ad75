/*
 * dump_mdb - LMDB's own portable text, as mdb_dump writes it and mdb_load
 * reads it: a head for each table, then key and value in turn, in hex.
 *
 *   VERSION=3
 *   format=bytevalue
 *   database=windows
 *   type=btree
 *   mapsize=67108864
 *   HEADER=END
 *    0000000000000001
 *    01000000...
 *   DATA=END
 */
#include <stdio.h>

#include "dump.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/config.h"

static void
put_hex(struct tide_bytes b)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = b.data;
	char text[4096];
	size_t i, n = 0;

	(void)fputc(' ', stdout);
	for (i = 0; i < b.size; i++) {
		text[n++] = digits[bytes[i] >> 4];
		text[n++] = digits[bytes[i] & 15];
		if (n == sizeof text) {
			(void)fwrite(text, 1, n, stdout);
			n = 0;
		}
	}
	if (n > 0)
		(void)fwrite(text, 1, n, stdout);
	(void)fputc('\n', stdout);
}

static int
put_pair(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	(void)arg;
	put_hex(key);
	put_hex(value);
	if (ferror(stdout))
		return tide_err_errno(err, "cannot write the dump");
	return 0;
}

/*
 * mdb_load makes its map as large as the first head says, and writes in many
 * small transactions: twice what is in use leaves room for both.
 */
static uint64_t
map_size(struct tide_store *store)
{
	const uint64_t mib = 1u << 20;

	return (2 * tide_store_used(store) / mib + 16) * mib;
}

static int
put_tables(
    struct tide_store *store, const char *const *tables, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(store, false, err);
	int i, rc = 0;

	if (txn == NULL)
		return -1;
	for (i = 0; rc == 0 && tables[i] != NULL; i++) {
		printf("VERSION=3\nformat=bytevalue\ndatabase=%s\ntype=btree\n"
		       "mapsize=%llu\nHEADER=END\n",
		    tables[i], (unsigned long long)map_size(store));
		rc = tide_txn_walk(
		    txn, i, tide_bytes("", 0), put_pair, NULL, err);
		printf("DATA=END\n");
	}
	tide_txn_abort(txn);
	return rc;
}

static int
put_file(const char *path, enum tide_store_mode mode, const char *const *tables,
    struct tide_err *err)
{
	struct tide_store *store;
	int rc;

	if (tide_store_probe(path, err) != TIDE_STORE_WHOLE)
		return -1;
	store = tide_store_open(path, mode, 0, tables, err);
	if (store == NULL)
		return -1;
	rc = put_tables(store, tables, err);
	tide_store_close(store);
	return rc;
}

int
dump_mdb_live(const struct tide_config *config, struct tide_err *err)
{
	static const char *const tables[] = { "regions", NULL };
	char path[TIDE_PATH_MAX];

	return put_file(tide_config_live(config, path, sizeof path),
	    TIDE_STORE_FROZEN, tables, err);
}

int
dump_mdb_archive(const char *state_dir, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/archive.mdb", state_dir);
	if (tide_archive_verify(state_dir, err) < 0)
		return -1; /* LMDB may trip over damage, and we with it */
	return put_file(path, TIDE_STORE_READ, tide_archive_tables, err);
}
