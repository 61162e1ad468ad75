/*
 * query - look into every window of the time asked for, and into the times
 * between them.
 *
 * The map's windows are read first, the archive after them: a window that is
 * sealed meanwhile is in the archive before its bits go, so whatever we miss
 * in the map we find there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query_priv.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/address.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

static int
hits_by_time(const void *a, const void *b)
{
	const struct tide_hit *x = a, *y = b;

	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

/* ---- the question ------------------------------------------------------ */

/* How many there are, and when the first began. */
static int
oldest_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_window_record r;
	struct asking *k = arg;

	(void)key;
	(void)err;
	k->windows++;
	if (!k->q->has_since && tide_window_record_read(value, &r) != NULL &&
	    r.from_ms < k->a->since_ms)
		k->a->since_ms = r.from_ms;
	return 0;
}

/* As far back as anything is remembered. */
static void
find_beginning(struct asking *k, struct tide_err *err)
{
	size_t i;

	if (!k->q->has_since) {
		k->a->since_ms = k->q->now_ms;
		for (i = 0; i < k->spans; i++)
			if (k->span[i].from_ms < k->a->since_ms)
				k->a->since_ms = k->span[i].from_ms;
	}
	if (!k->q->has_since || k->q->go_on != NULL)
		(void)tide_txn_walk(k->txn, TIDE_TABLE_WINDOWS,
		    tide_bytes("", 0), oldest_window, k, err);
}

static int
prepare_address(struct asking *k, unsigned which, const char *address,
    const struct tide_hash_key *key, struct tide_err *err)
{
	char text[TIDE_ADDRESS_MAX];
	bool domain;

	k->wanted[which] = address != NULL;
	if (address == NULL)
		return 0;
	if (tide_address_typed(address, text, &domain, err) < 0)
		return -1;
	k->hashes[which] = tide_address_question(key, text, k->hash[which]);
	return 0;
}

static int
prepare(struct asking *k, const struct tide_hash_key *key, struct tide_err *err)
{
	const char *address[] = { k->q->from, k->q->to };
	unsigned i;

	for (i = 0; i < TIDE_FILTER_CONTENT; i++)
		if (prepare_address(k, i, address[i], key, err) < 0)
			return -1;
	k->wanted[TIDE_FILTER_CONTENT] = k->q->recall != NULL;
	if (!k->wanted[0] && !k->wanted[1] && !k->wanted[2])
		return tide_err_set(
		    err, "nothing is asked: give from, to or content");
	k->a->since_ms = k->q->has_since ? k->q->since_ms : 0;
	k->a->until_ms = k->q->until_ms; /* finish() knows where all ends */
	if (k->a->since_ms > k->a->until_ms)
		return tide_err_set(
		    err, "the time asked for ends before it begins");
	return 0;
}

/* By their tags, of hits in the map as well. */
static void
name_profiles(struct asking *k)
{
	char name[TIDE_NAME_MAX];
	struct tide_hit *h;
	size_t i, n;
	unsigned p;

	for (i = 0; i < k->a->hits; i++) {
		h = &k->a->hit[i];
		for (p = 0, n = 0; p < TIDE_PROFILES_MAX; p++) {
			if (h->tag[p] == 0)
				continue;
			tide_archive_profile(k->txn, h->tag[p], name);
			n += (size_t)snprintf(h->profiles + n,
			    sizeof h->profiles - n, "%s%s", n > 0 ? " " : "",
			    name);
		}
	}
}

static int
ask_archive(
    struct asking *k, struct tide_archive *archive, struct tide_err *err)
{
	int rc;

	k->txn = tide_txn_begin(archive->store, false, err);
	if (k->txn == NULL)
		return -1;
	find_beginning(k, err);
	if (!k->q->has_since && k->a->since_ms > k->a->until_ms)
		k->a->since_ms = k->a->until_ms;
	rc = tide_txn_walk(k->txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0),
	    tide_asking_record, k, err);
	tide_asking_damage(k, UINT64_MAX);
	if (rc == 0)
		rc = tide_txn_walk(k->txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
		    tide_asking_lapse, k, err);
	name_profiles(k);
	tide_txn_abort(k->txn);
	return rc;
}

/* Not found as a whole, and more cannot be asked of it. */
static int
check_length(const struct tide_question *q, const struct tide_answer *a,
    struct tide_err *err)
{
	if (q->recall == NULL || !tide_recall_is_short(q->recall) ||
	    a->hits > 0)
		return 0;
	return tide_err_set(err,
	    "as a whole subject, link or part it did not pass; as an excerpt "
	    "it is too short: at least %u letters and digits have to be left "
	    "of it",
	    TIDE_EXCERPT_LEAST);
}

int
tide_query(struct tide_archive *archive, const struct tide_map *map,
    const struct tide_question *q, struct tide_answer *a, struct tide_err *err)
{
	struct asking k = { .q = q, .a = a };
	int rc;

	memset(a, 0, sizeof *a);
	if (!archive->has_key)
		rc = tide_err_set(err, "%s", archive->keyless.text);
	else
		rc = prepare(&k, &archive->key, err);
	if (rc == 0 && map != NULL) {
		tide_asking_copy_lapses(&k, map->acceptor);
		tide_asking_map(&k, map);
	} else if (rc == 0) {
		tide_asking_checkpoint(&k, archive);
	}
	if (rc == 0)
		rc = ask_archive(&k, archive, err);
	if (rc == 0)
		rc = tide_asking_finish(&k, map, err);
	free(k.span);
	free(k.words);
	if (rc == 0 && k.no_memory)
		rc = tide_err_set(err, "no memory left for the answer");
	if (rc == 0)
		rc = check_length(q, a, err);
	if (rc < 0) {
		tide_answer_free(a);
		return -1;
	}
	if (a->hits > 0)
		qsort(a->hit, a->hits, sizeof *a->hit, hits_by_time);
	return 0;
}

void
tide_answer_free(struct tide_answer *a)
{
	free(a->hit);
	free(a->gap);
	free(a->fit);
	memset(a, 0, sizeof *a);
}

enum tide_verdict
tide_answer_verdict(const struct tide_answer *a)
{
	if (a->hits > 0)
		return TIDE_FOUND;
	return a->gaps > 0 ? TIDE_NOT_COVERED : TIDE_ABSENT;
}
