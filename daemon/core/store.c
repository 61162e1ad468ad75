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
#include <unistd.h>

#include "tidemark/store.h"

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

static int
fail(
    struct tide_err *err, const struct tide_store *s, const char *doing, int rc)
{
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
 * the file drops this process's locks on it, but it has none yet.)
 */
#define LOCK_BYTES 8192 /* of 126 readers, LMDB's default */

static int
allocate_lock(const struct tide_store *s)
{
	char path[sizeof s->path + 8];
	int fd, rc;

	(void)snprintf(path, sizeof path, "%s-lock", s->path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return 0; /* LMDB knows what to say of that */
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
	int rc;

	if (s == NULL) {
		(void)tide_err_errno(err, "%s", path);
		return NULL;
	}
	(void)snprintf(s->path, sizeof s->path, "%s", path);
	rc = open_env(s, mode, map_size, tables);
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
tide_store_reap(struct tide_store *s)
{
	int dead = 0;

	(void)mdb_reader_check(s->env, &dead);
	return dead;
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

int
tide_txn_walk(struct tide_txn *t, int table, struct tide_bytes from,
    tide_visit *visit, void *arg, struct tide_err *err)
{
	MDB_val k = val(from), v;
	MDB_cursor *cursor;
	int rc, verdict = 0;

	if (t->store->table[table] == 0)
		return 0;
	rc = mdb_cursor_open(t->txn, t->store->table[table], &cursor);
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

/* ---- looking before leaping -------------------------------------------- */

/*
 * The two meta pages of LMDB 0.9 on a 64-bit machine, as far as we look: the
 * page header is 16 bytes, and the roots' page numbers stand where mdb.c's
 * MDB_meta has them.  Checked against a file we made, in tests/core/t_store.c.
 */
#define META_MAGIC 0xBEEFC0DEu
#define META_VERSION 1u
#define PAGE 4096u

struct meta_page {
	uint64_t page_no;
	uint16_t pad, flags;
	uint16_t lower, upper;
	uint32_t magic, version;
	uint64_t address, map_size;
	struct {
		uint32_t pad;
		uint16_t flags, depth;
		uint64_t branches, leaves, overflows, entries, root;
	} tree[2];
	uint64_t last_page, txn;
};
_Static_assert(sizeof(struct meta_page) == 152, "LMDB 0.9 meta page");

#define META_FLAG 0x08

static bool
meta_is_ours(const struct meta_page *m, unsigned i)
{
	return m->page_no == i && m->flags == META_FLAG &&
	    m->magic == META_MAGIC && m->version == META_VERSION &&
	    m->tree[0].pad == PAGE; /* where LMDB keeps its page size */
}

/* Might these first bytes, too few for a store, once have been one's? */
static bool
starts_like_ours(const struct meta_page *m, size_t n)
{
	const struct meta_page ours = {
		.flags = META_FLAG, .magic = META_MAGIC, .version = META_VERSION
	};
	const size_t fixed = offsetof(struct meta_page, address);

	return memcmp(m, &ours, n < fixed ? n : fixed) == 0;
}

/* Is the page that this meta page calls its main root a branch or a leaf? */
static bool
root_is_sane(int fd, uint64_t root)
{
	struct {
		uint64_t page_no;
		uint16_t pad, flags;
	} head;

	if (root == UINT64_MAX)
		return true; /* an empty tree */
	if (pread(fd, &head, sizeof head, (off_t)(root * PAGE)) !=
	    (ssize_t)sizeof head)
		return false;
	return head.page_no == root && (head.flags & 0x03) != 0;
}

static enum tide_store_state
judge(int fd, off_t size, const struct meta_page m[2], const char *path,
    struct tide_err *err)
{
	const struct meta_page *newest = &m[m[0].txn < m[1].txn];
	uint64_t pages = (uint64_t)size / PAGE;

	if (!meta_is_ours(&m[0], 0) && !meta_is_ours(&m[1], 1)) {
		(void)tide_err_set(err, "%s: is no LMDB 0.9 file", path);
		return TIDE_STORE_FOREIGN;
	}
	if (!meta_is_ours(&m[0], 0) || !meta_is_ours(&m[1], 1)) {
		(void)tide_err_set(
		    err, "%s: is damaged in its first pages", path);
		return TIDE_STORE_DAMAGED;
	}
	if (newest->last_page >= pages) {
		(void)tide_err_set(err,
		    "%s: is truncated: %llu pages of %llu are there", path,
		    (unsigned long long)pages,
		    (unsigned long long)newest->last_page + 1);
		return TIDE_STORE_TRUNCATED;
	}
	if (!root_is_sane(fd, newest->tree[1].root) ||
	    !root_is_sane(fd, newest->tree[0].root)) {
		(void)tide_err_set(err, "%s: is damaged at its root", path);
		return TIDE_STORE_DAMAGED;
	}
	return TIDE_STORE_WHOLE;
}

static enum tide_store_state
probe_fd(int fd, const char *path, struct tide_err *err)
{
	struct meta_page m[2];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)tide_err_set(err, "%s: is no regular file", path);
		return TIDE_STORE_FOREIGN;
	}
	n = pread(fd, &m[0], sizeof m[0], 0);
	if (n == (ssize_t)sizeof m[0] &&
	    pread(fd, &m[1], sizeof m[1], PAGE) == (ssize_t)sizeof m[1])
		return judge(fd, st.st_size, m, path, err);
	if (n < 0 || !starts_like_ours(&m[0], (size_t)n)) {
		(void)tide_err_set(err, "%s: is no LMDB 0.9 file", path);
		return TIDE_STORE_FOREIGN;
	}
	(void)tide_err_set(err,
	    "%s: is truncated: %lld bytes cannot be a store", path,
	    (long long)st.st_size);
	return TIDE_STORE_TRUNCATED;
}

enum tide_store_state
tide_store_probe(const char *path, struct tide_err *err)
{
	enum tide_store_state state;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		state =
		    errno == ENOENT ? TIDE_STORE_ABSENT : TIDE_STORE_DAMAGED;
		(void)tide_err_errno(err, "%s", path);
		return state;
	}
	state = probe_fd(fd, path, err);
	(void)close(fd);
	return state;
}

/*
 * LMDB tells nobody where its map starts, so we ask the kernel which file
 * offset lies behind an address of ours.
 */
int
tide_store_offset(const void *value, uint64_t *offset, struct tide_err *err)
{
	uintptr_t at = (uintptr_t)value;
	unsigned long low, high, off;
	char line[512];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (maps == NULL)
		return tide_err_errno(err, "/proc/self/maps");
	while (!found && fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx %*s %lx", &low, &high, &off) == 3 &&
		    at >= low && at < high) {
			*offset = off + (at - low);
			found = 1;
		}
	}
	(void)fclose(maps);
	if (!found)
		return tide_err_set(err, "/proc/self/maps: address not mapped");
	return 0;
}
