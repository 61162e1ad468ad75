/*
 * store - the one file that knows LMDB.
 */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/rights.h"

#define TABLES_MAX 16

struct tide_store {
	MDB_env *env;
	unsigned tables;
	MDB_dbi table[TABLES_MAX];
	char path[512];
};

struct tide_txn {
	MDB_txn *txn;
	struct tide_store *store;
};

/*
 * LMDB takes a write that was cut short for an error of the device (EIO); most
 * often the disk is full.  Then the rest was too little for one write.
 */
#define ROOM_LEAST (1u << 20)

static bool
is_disk_full(const char *path)
{
	struct statvfs disk;

	return statvfs(path, &disk) == 0 &&
	    (uint64_t)disk.f_bavail * disk.f_frsize < ROOM_LEAST;
}

static int
fail(
    struct tide_err *err, const struct tide_store *s, const char *doing, int rc)
{
	if (rc == EIO && is_disk_full(s->path))
		rc = ENOSPC;
	if (rc == MDB_MAP_FULL)
		return tide_err_set(err,
		    "%s: %s: the map is full; raise archive_map", s->path,
		    doing);
	return tide_err_set(
	    err, "%s: %s: %s", s->path, doing, mdb_strerror(rc));
}

const char *
tide_store_version(void)
{
	return mdb_version(NULL, NULL, NULL);
}

/* ---- open and close ---------------------------------------------------- */

static unsigned
env_flags(enum tide_store_mode mode)
{
	switch (mode) {
	case TIDE_STORE_READ:
		return MDB_RDONLY | MDB_NOTLS;
	case TIDE_STORE_FROZEN:
		return MDB_RDONLY | MDB_NOTLS | MDB_NOLOCK;
	case TIDE_STORE_DURABLE:
		return MDB_NOTLS;
	case TIDE_STORE_LIVE:
		return MDB_WRITEMAP | MDB_NOSYNC | MDB_NOTLS;
	}
	abort();
}

static bool
mode_writes(enum tide_store_mode mode)
{
	return mode == TIDE_STORE_DURABLE || mode == TIDE_STORE_LIVE;
}

/* A table that a reader does not find is no error: it is empty. */
static int
open_tables(struct tide_store *s, const char *const *tables, bool write)
{
	MDB_txn *txn;
	unsigned i;
	int rc;

	rc = mdb_txn_begin(s->env, NULL, write ? 0 : MDB_RDONLY, &txn);
	if (rc != 0)
		return rc;
	for (i = 0; rc == 0 && tables[i] != NULL; i++) {
		s->table[i] = 0;
		rc = mdb_dbi_open(
		    txn, tables[i], write ? MDB_CREATE : 0, &s->table[i]);
		if (rc == MDB_NOTFOUND && !write)
			rc = 0;
	}
	s->tables = i;
	if (rc == 0)
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return rc;
}

/*
 * LMDB maps its lock file and writes to it before it looks whether there is
 * room: SIGBUS on a full disk.  So its blocks are allocated first.  (Closing
 * the file drops this process's locks on it, but it has none yet.)  One that
 * root makes is its owner's all the same, or the daemon could not open it.
 */
#define LOCK_BYTES 8192 /* of 126 readers, LMDB's default */

static int
allocate_lock(const struct tide_store *s)
{
	char path[sizeof s->path + 8];
	struct stat owner;
	int fd, rc;

	(void)snprintf(path, sizeof path, "%s-lock", s->path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd >= 0 && geteuid() == 0 && stat(s->path, &owner) == 0)
		(void)!fchown(fd, owner.st_uid, owner.st_gid);
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ELOOP ? ELOOP : 0; /* LMDB knows what to say */
	rc = posix_fallocate(fd, 0, LOCK_BYTES);
	(void)close(fd);
	return rc == ENOSPC || rc == EDQUOT ? rc : 0;
}

/* The file as large as its map, before anything is written through it. */
static int
allocate_file(const struct tide_store *s, mdb_filehandle_t fd)
{
	MDB_envinfo info;

	(void)mdb_env_info(s->env, &info);
	return posix_fallocate(fd, 0, (off_t)info.me_mapsize);
}

static int
open_env(struct tide_store *s, enum tide_store_mode mode, size_t map_size,
    const char *const *tables)
{
	mdb_filehandle_t fd;
	int rc = 0;

	if (mode != TIDE_STORE_FROZEN)
		rc = allocate_lock(s);
	if (rc == 0)
		rc = mdb_env_create(&s->env);
	if (rc == 0)
		rc = mdb_env_set_maxdbs(s->env, TABLES_MAX);
	if (rc == 0 && map_size != 0)
		rc = mdb_env_set_mapsize(s->env, map_size);
	if (rc == 0)
		rc = mdb_env_open(
		    s->env, s->path, MDB_NOSUBDIR | env_flags(mode), 0640);
	if (rc == 0)
		rc = mdb_env_get_fd(s->env, &fd);
	if (rc == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		rc = errno;
	if (rc == 0 && mode == TIDE_STORE_LIVE)
		rc = allocate_file(s, fd);
	if (rc == 0)
		rc = open_tables(s, tables, mode_writes(mode));
	return rc;
}

struct tide_store *
tide_store_open(const char *path, enum tide_store_mode mode, size_t map_size,
    const char *const *tables, struct tide_err *err)
{
	struct tide_store *s = calloc(1, sizeof *s);
	struct tide_rights was;
	int rc;

	if (s == NULL) {
		(void)tide_err_errno(err, "%s", path);
		return NULL;
	}
	(void)snprintf(s->path, sizeof s->path, "%s", path);
	/* LMDB makes and writes a lock file, wherever its name leads */
	if (tide_rights_of_place(&was, path, (gid_t)-1, err) < 0) {
		free(s);
		return NULL;
	}
	rc = open_env(s, mode, map_size, tables);
	tide_rights_return(&was);
	if (rc == 0)
		return s;
	(void)fail(err, s, "cannot open", rc);
	tide_store_close(s);
	return NULL;
}

void
tide_store_close(struct tide_store *s)
{
	if (s == NULL)
		return;
	if (s->env != NULL)
		mdb_env_close(s->env);
	free(s);
}

uint64_t
tide_store_used(struct tide_store *s)
{
	MDB_envinfo info;
	MDB_stat stat;

	(void)mdb_env_info(s->env, &info);
	(void)mdb_env_stat(s->env, &stat);
	return (uint64_t)(info.me_last_pgno + 1) * stat.ms_psize;
}

int
tide_store_copy(struct tide_store *s, int fd, struct tide_err *err)
{
	int rc = mdb_env_copyfd2(s->env, fd, MDB_CP_COMPACT);

	return rc == 0 ? 0 : fail(err, s, "cannot copy", rc);
}

int
tide_store_reap(struct tide_store *s)
{
	int dead = 0;

	(void)mdb_reader_check(s->env, &dead);
	return dead;
}

/* Its lines are pid, thread and transaction, "-" if there is none. */
struct readers {
	size_t last;
	unsigned old;
};

static int
count_reader(const char *line, void *arg)
{
	struct readers *r = arg;
	const char *txn = strrchr(line, ' ');

	if (txn != NULL && txn[1] >= '0' && txn[1] <= '9' &&
	    strtoull(txn + 1, NULL, 10) < r->last)
		r->old++;
	return 0;
}

unsigned
tide_store_old_readers(struct tide_store *s)
{
	struct readers r = { 0, 0 };
	MDB_envinfo info;

	(void)tide_store_reap(s);
	(void)mdb_env_info(s->env, &info);
	r.last = info.me_last_txnid;
	(void)mdb_reader_list(s->env, count_reader, &r);
	return r.old;
}

/* ---- transactions ------------------------------------------------------ */

struct tide_txn *
tide_txn_begin(struct tide_store *s, bool write, struct tide_err *err)
{
	struct tide_txn *t = calloc(1, sizeof *t);
	int rc;

	if (t == NULL) {
		(void)tide_err_errno(err, "%s", s->path);
		return NULL;
	}
	t->store = s;
	rc = mdb_txn_begin(s->env, NULL, write ? 0 : MDB_RDONLY, &t->txn);
	if (rc == 0)
		return t;
	(void)fail(err, s, "cannot begin a transaction", rc);
	free(t);
	return NULL;
}

int
tide_txn_commit(struct tide_txn *t, struct tide_err *err)
{
	int rc = mdb_txn_commit(t->txn);

	if (rc != 0)
		rc = fail(err, t->store, "cannot commit", rc);
	free(t);
	return rc;
}

void
tide_txn_abort(struct tide_txn *t)
{
	if (t == NULL)
		return;
	mdb_txn_abort(t->txn);
	free(t);
}

static MDB_val
val(struct tide_bytes b)
{
	return (MDB_val){ .mv_size = b.size, .mv_data = (void *)b.data };
}

int
tide_txn_get(struct tide_txn *t, int table, struct tide_bytes key,
    struct tide_bytes *value, struct tide_err *err)
{
	MDB_val k = val(key), v;
	int rc;

	if (t->store->table[table] == 0)
		return 0;
	rc = mdb_get(t->txn, t->store->table[table], &k, &v);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc != 0)
		return fail(err, t->store, "cannot read", rc);
	*value = tide_bytes(v.mv_data, v.mv_size);
	return 1;
}

int
tide_txn_put(struct tide_txn *t, int table, struct tide_bytes key,
    struct tide_bytes value, struct tide_err *err)
{
	MDB_val k = val(key), v = val(value);
	int rc = mdb_put(t->txn, t->store->table[table], &k, &v, 0);

	return rc == 0 ? 0 : fail(err, t->store, "cannot write", rc);
}

int
tide_txn_del(
    struct tide_txn *t, int table, struct tide_bytes key, struct tide_err *err)
{
	MDB_val k = val(key);
	int rc = mdb_del(t->txn, t->store->table[table], &k, NULL);

	if (rc == MDB_NOTFOUND)
		return 0;
	return rc == 0 ? 1 : fail(err, t->store, "cannot delete", rc);
}

void *
tide_txn_reserve(struct tide_txn *t, int table, struct tide_bytes key,
    size_t size, struct tide_err *err)
{
	MDB_val k = val(key), v = { .mv_size = size };
	int rc;

	rc = mdb_put(t->txn, t->store->table[table], &k, &v,
	    MDB_RESERVE | MDB_NOOVERWRITE);
	if (rc == 0)
		return v.mv_data;
	(void)fail(err, t->store, "cannot reserve", rc);
	return NULL;
}

static int
walk_dbi(struct tide_txn *t, MDB_dbi dbi, struct tide_bytes from,
    tide_visit *visit, void *arg, struct tide_err *err)
{
	MDB_val k = val(from), v;
	MDB_cursor *cursor;
	int rc, verdict = 0;

	rc = mdb_cursor_open(t->txn, dbi, &cursor);
	if (rc != 0)
		return fail(err, t->store, "cannot read", rc);
	rc = mdb_cursor_get(
	    cursor, &k, &v, from.size == 0 ? MDB_FIRST : MDB_SET_RANGE);
	while (rc == 0 && verdict == 0) {
		verdict = visit(arg, tide_bytes(k.mv_data, k.mv_size),
		    tide_bytes(v.mv_data, v.mv_size), err);
		if (verdict == 0)
			rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	if (verdict < 0)
		return -1;
	if (rc != 0 && rc != MDB_NOTFOUND)
		return fail(err, t->store, "cannot read", rc);
	return 0;
}

int
tide_txn_walk(struct tide_txn *t, int table, struct tide_bytes from,
    tide_visit *visit, void *arg, struct tide_err *err)
{
	MDB_dbi dbi = t->store->table[table];

	return dbi == 0 ? 0 : walk_dbi(t, dbi, from, visit, arg, err);
}

int
tide_txn_last(struct tide_txn *t, int table, struct tide_bytes *key,
    struct tide_bytes *value, struct tide_err *err)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc;

	if (t->store->table[table] == 0)
		return 0;
	rc = mdb_cursor_open(t->txn, t->store->table[table], &cursor);
	if (rc != 0)
		return fail(err, t->store, "cannot read", rc);
	rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc != 0)
		return fail(err, t->store, "cannot read", rc);
	*key = tide_bytes(k.mv_data, k.mv_size);
	*value = tide_bytes(v.mv_data, v.mv_size);
	return 1;
}

/* ---- reading everything ------------------------------------------------ */

struct check {
	struct tide_store *store;
	uint64_t entries, last_page;
	MDB_val before; /* the key before this one */
};

static int
is_damaged(const struct tide_store *s, const char *how, struct tide_err *err)
{
	return tide_err_set(
	    err, "%s: is damaged: %s; it is left as it is", s->path, how);
}

static bool
is_after(const MDB_val *a, const MDB_val *b)
{
	size_t least = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
	int order = memcmp(a->mv_data, b->mv_data, least);

	return order > 0 || (order == 0 && a->mv_size > b->mv_size);
}

static int
check_entry(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct check *c = arg;
	MDB_val k = val(key);
	volatile uint8_t sink;

	if (key.size == 0 || key.size > 511)
		return is_damaged(c->store, "a key of no size", err);
	if (value.size > 0)
		sink = ((const uint8_t *)value.data)[value.size - 1];
	(void)sink;
	if (c->entries++ > 0 && !is_after(&k, &c->before))
		return is_damaged(c->store, "keys out of order", err);
	c->before = k;
	return 0;
}

/* A list of free pages: how many, then their numbers. */
static int
check_free(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	const struct check *c = arg;
	const char *list = value.data;
	uint64_t n, i, page;

	memcpy(&n, list, value.size >= sizeof n ? sizeof n : 0);
	if (key.size != sizeof n || value.size < sizeof n ||
	    n > value.size / sizeof n - 1)
		return is_damaged(c->store, "its list of free pages", err);
	for (i = 1; i <= n; i++) {
		memcpy(&page, list + i * sizeof page, sizeof page);
		if (page < 2 || page > c->last_page)
			return is_damaged(
			    c->store, "its list of free pages", err);
	}
	return 0;
}

static int
check_table(struct tide_txn *t, MDB_dbi dbi, struct tide_err *err)
{
	struct check c = { .store = t->store };
	MDB_stat stat;

	if (mdb_stat(t->txn, dbi, &stat) != 0)
		return is_damaged(t->store, "a table cannot be read", err);
	if (walk_dbi(t, dbi, tide_bytes("", 0), check_entry, &c, err) < 0)
		return -1;
	if (c.entries != stat.ms_entries)
		return is_damaged(t->store, "entries are missing", err);
	return 0;
}

#define FREE_LIST 0 /* LMDB's own tables: free pages, names of tables */
#define TABLE_LIST 1

int
tide_store_check(struct tide_store *s, struct tide_err *err)
{
	struct check c = { .store = s };
	struct tide_txn *t = tide_txn_begin(s, false, err);
	MDB_envinfo info;
	unsigned i;
	int rc;

	if (t == NULL)
		return -1;
	(void)mdb_env_info(s->env, &info);
	c.last_page = info.me_last_pgno;
	rc = walk_dbi(t, FREE_LIST, tide_bytes("", 0), check_free, &c, err);
	if (rc == 0)
		rc = check_table(t, TABLE_LIST, err);
	for (i = 0; rc == 0 && i < s->tables; i++)
		if (s->table[i] != 0)
			rc = check_table(t, s->table[i], err);
	tide_txn_abort(t);
	return rc;
}

int
tide_store_tree_pages(
    struct tide_store *s, uint64_t *pages, struct tide_err *err)
{
	struct tide_txn *t = tide_txn_begin(s, false, err);
	MDB_stat stat;
	unsigned i;

	if (t == NULL)
		return -1;
	*pages = 0;
	for (i = 0; i < s->tables; i++)
		if (s->table[i] != 0 &&
		    mdb_stat(t->txn, s->table[i], &stat) == 0)
			*pages += stat.ms_branch_pages + stat.ms_leaf_pages;
	tide_txn_abort(t);
	return 0;
}

bool
tide_store_is_blank(struct tide_store *s)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(s, false, &err);
	unsigned i, ours = 0;
	bool blank = true;
	MDB_stat stat;

	if (t == NULL)
		return false;
	for (i = 0; i < s->tables; i++) {
		if (s->table[i] == 0)
			continue;
		ours++;
		if (mdb_stat(t->txn, s->table[i], &stat) != 0 ||
		    stat.ms_entries != 0)
			blank = false;
	}
	if (mdb_stat(t->txn, TABLE_LIST, &stat) != 0 || stat.ms_entries != ours)
		blank = false; /* somebody else's tables */
	tide_txn_abort(t);
	return blank;
}
