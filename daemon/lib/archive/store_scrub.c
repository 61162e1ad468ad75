/*
 * store, scrubbed - find what deleted records have left in the file, and
 * overwrite it.  The file is read as LMDB 0.9 lays it out; no LMDB here.
 *
 * PROTOCOL scrub: bytes of a file that others have mapped.
 *  S0 fill LMDB's spare pages, in a transaction that is aborted
 *  S1 search the whole file for the texts; nothing found: done
 *  S2 begin a write transaction: nobody else changes the tree
 *  S3 nobody may read an older state; else give up
 *  S4 walk both trees from the newest meta page: which pages are of a tree,
 *     which belong to a value, and up to where
 *  S5 search again; overwrite what lies outside of all that, sync
 *  S6 abort the transaction: LMDB has changed nothing
 * Why:   LMDB keeps the memory of pages that it has written, and makes the
 *        next ones of it without clearing what they do not fill: later
 *        commits would write a deleted text into the file again (S0).  A
 *        transaction has no more pages of that kind than the tables had, and
 *        not many more than they have.
 *        A page that the newest tree does not refer to is free, or was freed
 *        by the last commit; only readers of an older state look at it (S3),
 *        and no writer takes it meanwhile (S2).  The room between a page's
 *        nodes is never read.  LMDB writes the file, and maps it read-only:
 *        what we write, it sees.
 * Crash: at any place: some of the bytes are overwritten; none of them was
 *        anybody's.
 * Test:  tests/daemon/lib/archive/t_scrub.c
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_pages.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"

#define PIECE (1u << 20)
#define TEXT_MAX 256u

/* ---- searching --------------------------------------------------------- */

struct search {
	int fd;
	const struct tide_bytes *text;
	unsigned texts;
	struct tide_scrub *sum;
	struct pages pages;
	bool walked; /* else only count */
};

static int
overwrite(int fd, const struct room *room, struct tide_err *err)
{
	static const char zero[PAGE_BYTES];
	size_t n = (size_t)(room->until - room->from);

	if (pwrite(fd, zero, n, (off_t)room->from) != (ssize_t)n)
		return tide_err_errno(err, "overwriting what was deleted");
	return 0;
}

/*
 * S5, page by page, for one that may reach over the end of one.  All of the
 * room goes: the record was more than the text that it was found by.
 */
static int
treat(struct search *s, uint64_t from, uint64_t until, struct tide_err *err)
{
	bool record = false, branch = false;
	struct room room;
	uint64_t end;

	for (; from < until; from = end) {
		end = (from / PAGE_BYTES + 1) * PAGE_BYTES;
		if (end > until)
			end = until;
		switch (tide_pages_what(&s->pages, from, end, &room)) {
		case PLACE_NOBODYS:
			if (overwrite(s->fd, &room, err) < 0)
				return -1;
			s->sum->wiped++;
			return 0; /* what is left is no longer that text */
		case PLACE_BRANCH:
			branch = true;
			break;
		case PLACE_RECORD:
			record = true;
			break;
		}
	}
	s->sum->branches += branch;
	s->sum->records += !branch && record;
	return 0;
}

static int
search_piece(struct search *s, const char *bytes, size_t n, uint64_t at,
    size_t fresh, struct tide_err *err)
{
	const char *p, *from;
	unsigned i;

	for (i = 0; i < s->texts; i++) {
		from = bytes;
		while ((p = memmem(from, n - (size_t)(from - bytes),
			    s->text[i].data, s->text[i].size)) != NULL) {
			from = p + 1;
			if ((size_t)(p - bytes) >= fresh)
				break; /* the next piece begins before it */
			s->sum->found += !s->walked;
			if (s->walked &&
			    treat(s, at + (uint64_t)(p - bytes),
				at + (uint64_t)(p - bytes) + s->text[i].size,
				err) < 0)
				return -1;
		}
	}
	return 0;
}

/* What people wrote is found in any case: file and texts are both lowered. */
static void
lower(char *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (bytes[i] >= 'A' && bytes[i] <= 'Z')
			bytes[i] = (char)(bytes[i] | 0x20);
}

/* Pieces overlap by the longest text. */
static int
search(struct search *s, struct tide_err *err)
{
	char *bytes = malloc(PIECE + TEXT_MAX);
	uint64_t at;
	ssize_t n = 1;
	int rc = 0;

	if (bytes == NULL)
		return tide_err_errno(err, "searching the archive");
	for (at = 0; rc == 0 && n > 0; at += PIECE) {
		n = pread(s->fd, bytes, PIECE + TEXT_MAX, (off_t)at);
		lower(bytes, n > 0 ? (size_t)n : 0);
		if (n < 0)
			rc = tide_err_errno(err, "searching the archive");
		else if (n > 0)
			rc = search_piece(s, bytes, (size_t)n, at,
			    n > (ssize_t)PIECE ? PIECE : (size_t)n, err);
	}
	free(bytes);
	return rc;
}

/* ---- LMDB's spare pages (S0) ------------------------------------------- */

#define SPARE_LEAST 1024u
#define WHOLE_PAGE (PAGE_BYTES - 16) /* a value that fills one */

/* With 16 bytes of key a leaf of such values is full to the byte, too. */
static int
fill_page(struct tide_txn *txn, uint64_t n, struct tide_err *err)
{
	static const char zero[WHOLE_PAGE];
	uint8_t key[16];
	unsigned i;

	memset(key, 0xff, 8);
	for (i = 0; i < 8; i++)
		key[8 + i] = (uint8_t)(n >> (56 - 8 * i));
	return tide_txn_put(txn, 0, tide_bytes(key, sizeof key),
	    tide_bytes(zero, sizeof zero), err);
}

/*
 * Twice: of the tree that is made on the way a page or two are not full; the
 * second time that falls on others.
 */
static int
clear_spare(struct tide_store *store, struct tide_err *err)
{
	struct tide_txn *txn;
	uint64_t pages, i;
	unsigned turn;
	int rc;

	rc = tide_store_tree_pages(store, &pages, err);
	pages = SPARE_LEAST + 2 * pages;
	for (turn = 0; rc == 0 && turn < 2; turn++) {
		txn = tide_txn_begin(store, true, err);
		if (txn == NULL)
			return -1;
		for (i = 0; rc == 0 && i < pages; i++)
			rc = fill_page(txn, i, err);
		tide_txn_abort(txn);
	}
	return rc;
}

/* ---- scrubbing --------------------------------------------------------- */

#define READER_WAITS 100 /* of 20 ms */

static bool
readers_leave(struct tide_store *store)
{
	unsigned i;

	for (i = 0; tide_store_old_readers(store) > 0; i++) {
		if (i == READER_WAITS)
			return false;
		(void)usleep(20000);
	}
	return true;
}

static int
scrub_locked(struct search *s, struct tide_err *err)
{
	int rc = tide_pages_walk(&s->pages, s->fd, err); /* S4 */

	s->walked = true;
	if (rc == 0)
		rc = search(s, err); /* S5 */
	if (rc == 0 && fdatasync(s->fd) < 0)
		rc = tide_err_errno(err, "overwriting what was deleted");
	tide_pages_free(&s->pages);
	return rc;
}

static int
scrub(struct tide_store *store, struct search *s, struct tide_err *err)
{
	struct tide_txn *lock;
	int rc;

	if (clear_spare(store, err) < 0 || /* S0 */
	    search(s, err) < 0)		   /* S1 */
		return -1;
	if (s->sum->found == 0)
		return 0;
	lock = tide_txn_begin(store, true, err); /* S2 */
	if (lock == NULL)
		return -1;
	s->sum->waits = !readers_leave(store); /* S3 */
	rc = s->sum->waits ? 0 : scrub_locked(s, err);
	tide_txn_abort(lock); /* S6 */
	return rc;
}

/* Texts of the search's own; NULL if there is no memory. */
static struct tide_bytes *
lowered(const struct tide_bytes *text, unsigned texts)
{
	struct tide_bytes *all = malloc(texts * (sizeof *all + TEXT_MAX));
	char *room = (char *)(all + texts);
	unsigned i;

	for (i = 0; all != NULL && i < texts; i++, room += TEXT_MAX) {
		memcpy(room, text[i].data, text[i].size);
		lower(room, text[i].size);
		all[i] = tide_bytes(room, text[i].size);
	}
	return all;
}

int
tide_store_scrub(struct tide_store *store, const char *path,
    const struct tide_bytes *text, unsigned texts, struct tide_scrub *sum,
    struct tide_err *err)
{
	struct search s = { .texts = texts, .sum = sum };
	struct tide_bytes *all;
	unsigned i;
	int rc = -1;

	memset(sum, 0, sizeof *sum);
	if (texts == 0)
		return 0;
	for (i = 0; i < texts; i++)
		if (text[i].size == 0 || text[i].size > TEXT_MAX)
			return tide_err_set(err, "that text is too long");
	all = lowered(text, texts);
	s.text = all;
	s.fd = open(path, O_RDWR | O_CLOEXEC);
	if (all == NULL || s.fd < 0)
		(void)tide_err_errno(err, "%s", path);
	else
		rc = scrub(store, &s, err);
	if (s.fd >= 0)
		(void)close(s.fd);
	if (all != NULL) /* a key may be among them */
		explicit_bzero(all, texts * (sizeof *all + TEXT_MAX));
	free(all);
	return rc;
}

/* ---- rewriting --------------------------------------------------------- */

struct copied {
	char *bytes;
	size_t used, room;
};

/* Its sizes, the key, the value. */
static int
copy_record(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	const size_t sizes[2] = { key.size, value.size };
	struct copied *c = arg;
	size_t need = c->used + sizeof sizes + key.size + value.size;
	char *more;

	if (need > c->room) {
		more = realloc(c->bytes, need * 2);
		if (more == NULL)
			return tide_err_errno(err, "rewriting a table");
		c->bytes = more;
		c->room = need * 2;
	}
	memcpy(c->bytes + c->used, sizes, sizeof sizes);
	memcpy(c->bytes + c->used + sizeof sizes, key.data, key.size);
	memcpy(c->bytes + need - value.size, value.data, value.size);
	c->used = need;
	return 0;
}

static int
each_copied(struct tide_txn *txn, int table, const struct copied *c, bool put,
    struct tide_err *err)
{
	struct tide_bytes key, value;
	size_t at = 0, sizes[2];
	int rc = 0;

	while (rc >= 0 && at < c->used) {
		memcpy(sizes, c->bytes + at, sizeof sizes);
		at += sizeof sizes;
		key = tide_bytes(c->bytes + at, sizes[0]);
		value = tide_bytes(c->bytes + at + sizes[0], sizes[1]);
		at += sizes[0] + sizes[1];
		rc = put ? tide_txn_put(txn, table, key, value, err)
			 : tide_txn_del(txn, table, key, err);
	}
	return rc < 0 ? -1 : 0;
}

int
tide_store_rewrite(struct tide_store *store, int table, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(store, true, err);
	struct copied c = { .bytes = NULL };
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_txn_walk(txn, table, tide_bytes("", 0), copy_record, &c, err);
	if (rc == 0)
		rc = each_copied(txn, table, &c, false, err);
	if (rc == 0)
		rc = each_copied(txn, table, &c, true, err);
	free(c.bytes);
	if (rc == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}
