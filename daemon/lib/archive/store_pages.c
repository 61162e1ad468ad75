/*
 * store pages - walk the trees of an LMDB 0.9 file on a 64-bit machine.
 *
 *   page    number, flags; of a tree: lower and upper, the offsets of its
 *           nodes up to lower, the nodes from upper on; of a value: how many
 *           pages it takes, then its bytes
 *   node    of a branch: 48 bits of a page number, the key; of a leaf: the
 *           size of the value, the key, the value - or the page where a large
 *           one stands, or the root of another tree
 *
 * Whatever does not look so is an error, and nothing is done.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_pages.h"
#include "tidemark/base/err.h"

#define HEAD 16u /* of a page */
#define NODE 8u	 /* of a node */
#define DEPTH_MOST 32
#define NO_PAGE UINT64_MAX

enum { IS_BRANCH = 1, IS_LEAF = 2, IS_VALUE = 4, IS_META = 8 };
enum { IN_PAGES = 1, IS_TREE = 2 }; /* flags of a leaf's node */
enum { UNREACHED, TREE, VALUE };    /* kinds */

struct head {
	uint64_t number;
	uint16_t pad, flags;
	uint16_t lower, upper; /* of a value: how many pages, in both */
};
_Static_assert(sizeof(struct head) == HEAD, "LMDB 0.9 page");

struct tree {
	uint32_t pad;
	uint16_t flags, depth;
	uint64_t branches, leaves, values, entries, root;
};
_Static_assert(sizeof(struct tree) == 48, "LMDB 0.9 tree");

struct meta {
	struct head head;
	uint32_t magic, version;
	uint64_t address, map_size;
	struct tree tree[2];
	uint64_t last_page, txn;
};
_Static_assert(sizeof(struct meta) == 152, "LMDB 0.9 meta page");

static int
odd(uint64_t page, struct tide_err *err)
{
	return tide_err_set(err, "page %llu of the archive looks odd",
	    (unsigned long long)page);
}

static int
read_page(
    const struct pages *p, uint64_t number, char *page, struct tide_err *err)
{
	if (number < 2 || number >= p->count ||
	    pread(p->fd, page, PAGE_BYTES, (off_t)(number * PAGE_BYTES)) !=
		(ssize_t)PAGE_BYTES ||
	    memcmp(page, &number, sizeof number) != 0)
		return odd(number, err);
	return 0;
}

/* A large value: its pages, and where it ends in the last one. */
static int
note_value(struct pages *p, uint64_t first, uint64_t size, struct tide_err *err)
{
	uint64_t n = (HEAD + size + PAGE_BYTES - 1) / PAGE_BYTES, i;
	char page[PAGE_BYTES];
	struct head h;
	uint32_t pages;

	if (read_page(p, first, page, err) < 0)
		return -1;
	memcpy(&h, page, sizeof h);
	memcpy(&pages, page + 12, sizeof pages);
	if (h.flags != IS_VALUE || n == 0 || pages < n ||
	    first + pages > p->count)
		return odd(first, err);
	for (i = 0; i < pages; i++) {
		p->kind[first + i] = VALUE;
		p->end[first + i] = (uint16_t)(i + 1 < n ? PAGE_BYTES
			: i + 1 == n ? HEAD + size - (n - 1) * PAGE_BYTES
				     : 0);
	}
	return 0;
}

static int walk(struct pages *, uint64_t, unsigned, struct tide_err *);

static int
walk_leaf(struct pages *p, const char *node, const char *end, uint64_t number,
    unsigned depth, struct tide_err *err)
{
	uint16_t part[4]; /* size low, size high, flags, of the key */
	uint64_t size, page;
	struct tree tree;

	memcpy(part, node, sizeof part);
	size = part[0] | (uint64_t)part[1] << 16;
	node += NODE + part[3];
	if ((part[2] & IN_PAGES) != 0) {
		if (node + sizeof page > end)
			return odd(number, err);
		memcpy(&page, node, sizeof page);
		return note_value(p, page, size, err);
	}
	if (node + size > end)
		return odd(number, err);
	if ((part[2] & IS_TREE) == 0)
		return 0;
	if (size != sizeof tree)
		return odd(number, err);
	memcpy(&tree, node, sizeof tree);
	return walk(p, tree.root, depth + 1, err);
}

static int
walk_node(struct pages *p, const char *page, unsigned offset, uint64_t number,
    unsigned depth, struct tide_err *err)
{
	const char *node = page + offset;
	struct head h;
	uint16_t part[4];
	uint64_t below;

	memcpy(&h, page, sizeof h);
	if (offset < h.upper || offset + NODE > PAGE_BYTES)
		return odd(number, err);
	memcpy(part, node, sizeof part);
	if (offset + NODE + part[3] > PAGE_BYTES)
		return odd(number, err);
	if ((h.flags & IS_LEAF) != 0)
		return walk_leaf(
		    p, node, page + PAGE_BYTES, number, depth, err);
	below = part[0] | (uint64_t)part[1] << 16 | (uint64_t)part[2] << 32;
	return walk(p, below, depth + 1, err);
}

static int
walk(struct pages *p, uint64_t number, unsigned depth, struct tide_err *err)
{
	char page[PAGE_BYTES];
	struct head h;
	uint16_t offset;
	unsigned i;
	int rc = 0;

	if (number == NO_PAGE)
		return 0; /* an empty tree */
	if (depth > DEPTH_MOST || read_page(p, number, page, err) < 0)
		return depth > DEPTH_MOST ? odd(number, err) : -1;
	memcpy(&h, page, sizeof h);
	if ((h.flags != IS_BRANCH && h.flags != IS_LEAF) || h.lower < HEAD ||
	    h.lower > h.upper || h.upper > PAGE_BYTES ||
	    p->kind[number] != UNREACHED)
		return odd(number, err);
	p->kind[number] = TREE;
	for (i = HEAD; rc == 0 && i < h.lower; i += 2) {
		memcpy(&offset, page + i, sizeof offset);
		rc = walk_node(p, page, offset, number, depth, err);
	}
	return rc;
}

static int
read_meta(const struct pages *p, struct meta *newest, struct tide_err *err)
{
	struct meta m[2];
	unsigned i;

	for (i = 0; i < 2; i++)
		if (pread(p->fd, &m[i], sizeof m[i], (off_t)i * PAGE_BYTES) !=
			(ssize_t)sizeof m[i] ||
		    m[i].head.flags != IS_META || m[i].magic != 0xBEEFC0DEu ||
		    m[i].version != 1 || m[i].tree[0].pad != PAGE_BYTES)
			return odd(i, err);
	*newest = m[m[0].txn < m[1].txn];
	return 0;
}

int
tide_pages_walk(struct pages *p, int fd, struct tide_err *err)
{
	struct stat st;
	struct meta m;

	p->fd = fd;
	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "reading the archive");
	p->count = (uint64_t)st.st_size / PAGE_BYTES;
	p->kind = calloc(p->count + 1, sizeof *p->kind);
	p->end = calloc(p->count + 1, sizeof *p->end);
	if (p->kind == NULL || p->end == NULL)
		return tide_err_errno(err, "reading the archive");
	if (read_meta(p, &m, err) < 0 || walk(p, m.tree[0].root, 0, err) < 0)
		return -1;
	return walk(p, m.tree[1].root, 0, err);
}

void
tide_pages_free(struct pages *p)
{
	free(p->kind);
	free(p->end);
}

/* Between its offsets and its nodes nothing is read. */
static enum place
in_tree(const struct pages *p, uint64_t number, struct room *room)
{
	struct head h;

	if (pread(p->fd, &h, sizeof h, (off_t)(number * PAGE_BYTES)) !=
	    (ssize_t)sizeof h)
		return PLACE_RECORD;
	room->from = h.lower;
	room->until = h.upper;
	return h.flags == IS_BRANCH ? PLACE_BRANCH : PLACE_RECORD;
}

enum place
tide_pages_what(
    const struct pages *p, uint64_t from, uint64_t until, struct room *room)
{
	uint64_t number = from / PAGE_BYTES, page = number * PAGE_BYTES;
	enum place others = PLACE_RECORD;

	*room = (struct room){ 0, PAGE_BYTES };
	if (number < 2)
		return PLACE_RECORD; /* meta pages are left alone */
	if (number < p->count && p->kind[number] == TREE)
		others = in_tree(p, number, room);
	else if (number < p->count && p->kind[number] == VALUE)
		room->from = p->end[number];
	room->from += page;
	room->until += page;
	return from >= room->from && until <= room->until ? PLACE_NOBODYS
							  : others;
}
