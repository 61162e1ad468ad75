/*
 * exceptions - published, and looked up.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/published.h"

#define EXCEPTIONS_MAGIC 0x7470656378656469ull /* "idexcept" */

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
		rc = tide_published_write(runtime_dir, "exceptions",
		    EXCEPTIONS_MAGIC, g.list, sizeof *g.list, g.count, err);
	free(g.list);
	return rc;
}

/* ---- looking up -------------------------------------------------------- */

int
tide_exceptions_attach(
    struct tide_exceptions *x, const char *runtime_dir, struct tide_err *err)
{
	struct tide_published fresh;

	if (tide_published_map(&fresh, runtime_dir, "exceptions",
		EXCEPTIONS_MAGIC, sizeof *x->list, err) < 0)
		return -1;
	tide_exceptions_detach(x);
	*x = (struct tide_exceptions){
		.list = fresh.records, .count = fresh.count, .published = fresh
	};
	return 0;
}

void
tide_exceptions_detach(struct tide_exceptions *x)
{
	tide_published_unmap(&x->published);
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
