/*
 * exceptions - published, and looked up.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidemark/exceptions.h"
#include "tidemark/files.h"

#define EXCEPTIONS_MAGIC 0x7470656378656469ull /* "idexcept" */

struct head {
	uint64_t magic;
	uint32_t size; /* of one */
	uint32_t count;
};

static void
path_of(const char *runtime_dir, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/exceptions", runtime_dir);
}

/* ---- publishing -------------------------------------------------------- */

struct gathered {
	struct tide_exception *list;
	size_t count, room;
};

static int
gather(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct gathered *g = arg;
	size_t room = g->room == 0 ? 64 : g->room * 2;
	struct tide_exception *list = g->list, *e;
	uint64_t check;

	if (key.size >= sizeof e->key || value.size != sizeof *e + sizeof check)
		return 0;
	if (g->count == g->room) {
		list = realloc(list, room * sizeof *list);
		if (list == NULL)
			return tide_err_errno(err, "publishing exceptions");
		g->list = list;
		g->room = room;
	}
	e = &g->list[g->count];
	memcpy(e, value.data, sizeof *e);
	memcpy(&check, (const char *)value.data + sizeof *e, sizeof check);
	if (check == tide_hash_check(e, sizeof *e))
		g->count++;
	return 0;
}

static int
write_out(
    const struct gathered *g, const char *runtime_dir, struct tide_err *err)
{
	const struct head head = { EXCEPTIONS_MAGIC, (uint32_t)sizeof *g->list,
		(uint32_t)g->count };
	size_t length = sizeof head + g->count * sizeof *g->list;
	char *bytes = malloc(length), path[TIDE_PATH_MAX + 16];
	int rc;

	if (bytes == NULL)
		return tide_err_errno(err, "publishing exceptions");
	memcpy(bytes, &head, sizeof head);
	if (g->count > 0)
		memcpy(bytes + sizeof head, g->list, length - sizeof head);
	path_of(runtime_dir, path, sizeof path);
	rc = tide_files_replace(path, bytes, length, 0640, err);
	free(bytes);
	return rc;
}

/* The archive's keys are sorted as strcmp() sorts. */
int
tide_exceptions_publish(
    struct tide_archive *a, const char *runtime_dir, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct gathered g = { 0 };
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_txn_walk(
	    txn, TIDE_TABLE_EXCEPTIONS, tide_bytes("", 0), gather, &g, err);
	tide_txn_abort(txn);
	if (rc == 0)
		rc = write_out(&g, runtime_dir, err);
	free(g.list);
	return rc;
}

/* ---- looking up -------------------------------------------------------- */

static int
map_file(
    struct tide_exceptions *x, int fd, const char *path, struct tide_err *err)
{
	const struct head *head;
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", path);
	if ((uint64_t)st.st_size < sizeof *head)
		return tide_err_set(err, "%s: is truncated", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return tide_err_errno(err, "%s", path);
	head = p;
	if (head->magic != EXCEPTIONS_MAGIC || head->size != sizeof *x->list ||
	    (uint64_t)st.st_size !=
		sizeof *head + (uint64_t)head->count * head->size) {
		(void)munmap(p, (size_t)st.st_size);
		return tide_err_set(err, "%s: are no exceptions of ours", path);
	}
	tide_exceptions_detach(x);
	x->list = (const void *)((const char *)p + sizeof *head);
	x->count = head->count;
	x->mapped = p;
	x->length = (size_t)st.st_size;
	return 0;
}

int
tide_exceptions_attach(
    struct tide_exceptions *x, const char *runtime_dir, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];
	int fd, rc;

	path_of(runtime_dir, path, sizeof path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	rc = map_file(x, fd, path, err);
	(void)close(fd);
	return rc;
}

void
tide_exceptions_detach(struct tide_exceptions *x)
{
	if (x->mapped != NULL)
		(void)munmap(x->mapped, x->length);
	memset(x, 0, sizeof *x);
}

static int
compare(const void *key, const void *element)
{
	const struct tide_exception *e = element;

	return strncmp(key, e->key, sizeof e->key);
}

const struct tide_exception *
tide_exceptions_find(const struct tide_exceptions *x, const char *key)
{
	if (x->count == 0)
		return NULL;
	return bsearch(key, x->list, x->count, sizeof *x->list, compare);
}

const struct tide_exception *
tide_exceptions_for(
    const struct tide_exceptions *x, const struct tide_sender_forms *f)
{
	const struct tide_exception *e = NULL;
	unsigned i;

	for (i = 0; e == NULL && i < f->count; i++)
		e = tide_exceptions_find(x, f->key[i].text);
	return e;
}
