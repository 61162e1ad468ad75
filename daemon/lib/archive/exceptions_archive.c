/*
 * exceptions archive - kept for good.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/exceptions_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/exceptions.h"

#define TABLE TIDE_TABLE_EXCEPTIONS

struct stored {
	struct tide_exception exception;
	uint64_t check;
};

static size_t
key_length(const struct tide_exception *e)
{
	return strnlen(e->key, TIDE_KEY_MAX);
}

static int
put_one(
    struct tide_txn *txn, const struct tide_exception *e, struct tide_err *err)
{
	struct tide_bytes key = tide_bytes(e->key, key_length(e)), old;
	struct stored s, before;
	int found = tide_txn_get(txn, TABLE, key, &old, err);

	if (found < 0)
		return -1;
	memset(&s, 0, sizeof s);
	s.exception = *e;
	if (found == 1 && old.size == sizeof before) {
		memcpy(&before, old.data, sizeof before);
		s.exception.since_ms = before.exception.since_ms;
	}
	s.check = tide_hash_check(&s.exception, sizeof s.exception);
	return tide_txn_put(txn, TABLE, key, tide_bytes(&s, sizeof s), err);
}

struct tally {
	size_t n;
};

static int
count_one(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tally *t = arg;

	(void)key;
	(void)value;
	(void)err;
	t->n++;
	return 0;
}

int
tide_archive_put_exceptions(struct tide_archive *a,
    const struct tide_exception *e, size_t n, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct tally tally = { 0 };
	size_t i;
	int rc = 0;

	if (txn == NULL)
		return -1;
	for (i = 0; rc == 0 && i < n; i++)
		rc = put_one(txn, &e[i], err);
	if (rc == 0)
		rc = tide_txn_walk(
		    txn, TABLE, tide_bytes("", 0), count_one, &tally, err);
	if (rc == 0 && tally.n > TIDE_EXCEPTIONS_MOST)
		rc =
		    tide_err_set(err, "there can be no more than %u exceptions",
			TIDE_EXCEPTIONS_MOST);
	if (rc == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}

int
tide_archive_del_exception(
    struct tide_archive *a, const struct tide_key *key, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	int gone;

	if (txn == NULL)
		return -1;
	gone =
	    tide_txn_del(txn, TABLE, tide_bytes(key->text, key->length), err);
	if (gone <= 0) {
		tide_txn_abort(txn);
		return gone;
	}
	return tide_txn_commit(txn, err) < 0 ? -1 : 1;
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
	rc = tide_txn_walk(txn, TABLE, tide_bytes("", 0), gather, &g, err);
	tide_txn_abort(txn);
	if (rc == 0)
		rc = tide_exceptions_write(runtime_dir, g.list, g.count, err);
	free(g.list);
	return rc;
}
