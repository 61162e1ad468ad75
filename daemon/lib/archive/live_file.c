/*
 * live file - the regions in the file: made, found again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "live_priv.h"
#include "v01.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/pages.h"

static const char *const tables[] = LIVE_TABLES;

/* ---- places of regions ------------------------------------------------- */

/*
 * A value of LMDB starts somewhere within a page, behind a page header.  Ours
 * are reserved in whole pages of the kernel, and one more: the region starts on
 * the next page boundary, and what gets mapped holds no byte of the B-tree.
 */
static size_t
reserved_length(unsigned region, const struct tide_map_head *head)
{
	return tide_kernel_pages(tide_map_region_length(region, head)) +
	    tide_page_size();
}

static size_t
file_size(const struct tide_map_head *head)
{
	size_t sum = 64 * tide_page_size(); /* meta pages, tree, slack */
	unsigned i;

	for (i = 0; i < TIDE_REGIONS; i++)
		sum += reserved_length(i, head) + tide_page_size();
	return sum;
}

/* The region's first byte within its value. */
int
tide_live_region_start(struct tide_bytes value, const char **start,
    uint64_t *offset, struct tide_err *err)
{
	const size_t page = tide_page_size();
	uint64_t at, skip;

	if (tide_store_offset(value.data, &at, err) < 0)
		return -1;
	skip = (page - at % page) % page;
	*start = (const char *)value.data + skip;
	*offset = at + skip;
	return 0;
}

/* Of an old map, what is there, as long as it is. */
static int
find_region(struct opening *o, struct tide_txn *txn, unsigned i,
    const struct tide_map_head *head, struct tide_err *err)
{
	struct tide_region_place *place = &o->table.region[i];
	const char *name = tide_region[i].name, *start;
	const size_t page = tide_page_size();
	struct tide_bytes value;
	int found;

	found =
	    tide_txn_get(txn, 0, tide_bytes(name, strlen(name)), &value, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return o->is_old
		    ? 0
		    : tide_err_set(err, "%s: has no region %s", o->path, name);
	if (value.size < 2 * page || value.size % page != 0 ||
	    (!o->is_old && value.size != reserved_length(i, head)))
		return tide_err_set(err, "%s: region %s has %zu bytes, not %zu",
		    o->path, name, value.size, reserved_length(i, head));
	if (tide_live_region_start(value, &start, &place->offset, err) < 0)
		return -1;
	place->length =
	    o->is_old ? value.size - page : tide_map_region_length(i, head);
	(void)snprintf(place->name, sizeof place->name, "%s", name);
	return 0;
}

/* Geometry, once more: is the head where the table will say it is? */
static int
check_place(const struct opening *o, const char *path,
    const struct tide_map_head *head, struct tide_err *err)
{
	struct tide_map_head seen;
	char page[TIDE_PAGE];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	n = pread(fd, page, sizeof page,
	    (off_t)o->table.region[TIDE_REGION_CONTROL].offset);
	(void)close(fd);
	if (n == (ssize_t)sizeof page &&
	    (tide_map_head_read(&seen, page) == TIDE_HEAD_SOUND ||
		tide_v01_head(page, &seen)) &&
	    seen.instance == head->instance)
		return 0;
	return tide_err_set(
	    err, "%s: LMDB laid the regions out in an unknown way", o->path);
}

int
tide_live_find_regions(struct opening *o, struct tide_store *store,
    const char *path, const struct tide_map_head *head, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(store, false, err);
	unsigned i;
	int rc = 0;

	if (txn == NULL)
		return -1;
	for (i = 0; rc == 0 && i < TIDE_REGIONS; i++)
		rc = find_region(o, txn, i, head, err);
	tide_txn_abort(txn);
	return rc == 0 ? check_place(o, path, head, err) : rc;
}

/* ---- making ------------------------------------------------------------ */

static int
reserve_region(
    struct opening *o, struct tide_txn *txn, unsigned i, struct tide_err *err)
{
	const char *name = tide_region[i].name, *start;
	size_t length = reserved_length(i, &o->head);
	struct tide_control *control;
	struct tide_map_head *head;
	uint64_t offset;
	void *room;

	room = tide_txn_reserve(
	    txn, 0, tide_bytes(name, strlen(name)), length, err);
	if (room == NULL)
		return -1;
	memset(room, 0, length);
	if (i != TIDE_REGION_CONTROL)
		return 0;
	if (tide_live_region_start(
		tide_bytes(room, length), &start, &offset, err) < 0)
		return -1;
	head = (struct tide_map_head *)(uintptr_t)start;
	control = (struct tide_control *)(uintptr_t)(start + TIDE_PAGE);
	*head = o->head;
	atomic_store(&control->epoch, 1);
	atomic_store(&control->filling, 1);
	return 0;
}

static int
reserve_regions(
    struct opening *o, struct tide_store *store, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(store, true, err);
	unsigned i;

	if (txn == NULL)
		return -1;
	for (i = 0; i < TIDE_REGIONS; i++) {
		if (reserve_region(o, txn, i, err) < 0) {
			tide_txn_abort(txn);
			return -1;
		}
	}
	if (tide_txn_put(txn, 0,
		tide_bytes(LIVE_COUNTER_NAMES, strlen(LIVE_COUNTER_NAMES)),
		tide_bytes(tide_counters_names, strlen(tide_counters_names)),
		err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

/*
 * Is there room?  Asked first, for the sake of the answer.  Where there is none
 * beside a map that goes anyway, that one goes first; but not while it is being
 * replaced: it is still mapped then, and all we have.
 */
static int
check_room(const struct opening *o, size_t size, struct tide_err *err)
{
	char dir[TIDE_PATH_MAX];
	struct statvfs fs;
	uint64_t free_bytes;

	tide_files_dirname(o->path, dir, sizeof dir);
	if (statvfs(dir, &fs) < 0)
		return tide_err_errno(err, "%s", dir);
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes < size && !o->replace && unlink(o->path) == 0 &&
	    statvfs(dir, &fs) == 0)
		free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes >= size)
		return 0;
	return tide_err_set(err, "%s: needs %zu KiB and %s has %llu KiB free",
	    o->path, size / 1024, dir, (unsigned long long)free_bytes / 1024);
}

/* Where it is made: it gets its name when it is whole, so that a kill in the
 * middle leaves no half a map in its place. */
static void
new_path(const struct opening *o, char path[TIDE_PATH_MAX + 8])
{
	(void)snprintf(path, TIDE_PATH_MAX + 8, "%s.new", o->path);
}

void
tide_live_remove_new(const struct opening *o)
{
	char path[TIDE_PATH_MAX + 8], lock[TIDE_PATH_MAX + 16];

	new_path(o, path);
	(void)snprintf(lock, sizeof lock, "%s-lock", path);
	(void)unlink(path);
	(void)unlink(lock);
}

int
tide_live_make_file(struct opening *o, struct tide_err *err)
{
	size_t size = file_size(&o->head);
	char path[TIDE_PATH_MAX + 8];
	struct tide_store *store;
	int rc;

	tide_live_remove_new(o);
	if (check_room(o, size, err) < 0)
		return -1;
	new_path(o, path);
	store = tide_store_open(path, TIDE_STORE_LIVE, size, tables, err);
	if (store == NULL)
		return -1;
	rc = reserve_regions(o, store, err);
	if (rc == 0)
		rc = tide_live_find_regions(o, store, path, &o->head, err);
	tide_store_close(store);
	if (rc == 0 && rename(path, o->path) < 0)
		rc = tide_err_errno(err, "%s", o->path);
	return rc;
}
