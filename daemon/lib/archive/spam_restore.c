/*
 * spam archive - loading.
 */
#include <stdlib.h>
#include <string.h>

#include "spam_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/spam_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/reputation/spam.h"

/* ---- filters ----------------------------------------------------------- */

static int
load_filter(struct tide_txn *txn, struct tide_spam *m, uint64_t generation,
    unsigned filter, struct tide_err *err)
{
	enum tide_spam_part part = spam_filter_part(filter);
	size_t bytes = tide_bloom_bytes(tide_spam_part_shape(&m->shape, part));
	tide_bloom_word *words =
	    tide_spam_words(m, generation, spam_filter_kind(filter), part);
	uint64_t i, *chunk = malloc(TIDE_CHUNK + sizeof *chunk);
	struct spam_chunk_key k;
	size_t at, n;
	int rc = chunk != NULL ? 0 : tide_err_errno(err, "loading spam");

	for (i = 0; rc == 0 && i < spam_chunks(bytes); i++) {
		n = spam_piece(bytes, i);
		rc = tide_spam_read(txn,
		    spam_chunk_key(&k, generation, filter, i), chunk,
		    n + sizeof *chunk, err);
		rc = rc == 1 ? 0
		    : rc < 0
		    ? -1
		    : tide_err_set(err, "a stored filter of spam is missing");
		for (at = 0; rc == 0 && at < n / 8; at++)
			atomic_store_explicit(&words[i * (TIDE_CHUNK / 8) + at],
			    chunk[at], memory_order_relaxed);
	}
	free(chunk);
	return rc;
}

static int
load_generation(struct tide_txn *txn, struct tide_spam *m, uint64_t number,
    struct tide_err *err)
{
	struct tide_spam_generation *g = tide_spam_generation(m, number);
	struct spam_generation s;
	struct spam_key k;
	unsigned i;
	int rc =
	    tide_spam_read(txn, spam_key(&k, 'g', number), &s, sizeof s, err);

	if (rc <= 0)
		return rc; /* a number that was skipped */
	for (i = 0; i < TIDE_SPAM_KINDS; i++)
		atomic_store(&g->messages[i], s.messages[i]);
	atomic_store(&g->began_ms, s.began_ms);
	rc = 0;
	for (i = 0; rc == 0 && s.has_chunks && i < SPAM_FILTERS; i++)
		rc = load_filter(txn, m, number, i, err);
	if (rc == 0)
		atomic_store(&g->number, number);
	return rc;
}

/* ---- records ----------------------------------------------------------- */

/* Counts as they were stored; the records behind are added again. */
static int
reset_counts(struct tide_txn *txn, struct tide_spam *m, uint64_t number,
    struct tide_err *err)
{
	struct tide_spam_generation *g = tide_spam_generation(m, number);
	struct spam_generation s;
	struct spam_key k;
	unsigned i;
	int rc =
	    tide_spam_read(txn, spam_key(&k, 'g', number), &s, sizeof s, err);

	for (i = 0; rc == 1 && i < TIDE_SPAM_KINDS; i++)
		atomic_store(&g->messages[i], s.messages[i]);
	return rc < 0 ? -1 : 0;
}

static int
replay(struct tide_txn *txn, struct tide_spam *m,
    const struct tide_stored_spam *s, struct tide_err *err)
{
	uint64_t i, oldest = tide_spam_oldest(&m->shape, s->newest);
	struct spam_report r;
	struct spam_key k;
	int rc = 0;

	for (i = oldest; rc == 0 && i <= s->newest; i++)
		if (atomic_load(&tide_spam_generation(m, i)->number) == i)
			rc = reset_counts(txn, m, i, err);
	for (i = s->base + 1; rc == 0 && i <= s->sequence; i++) {
		if (tide_spam_read(
			txn, spam_key(&k, 'j', i), &r, sizeof r, err) != 1)
			return tide_err_set(
			    err, "a stored report of spam is missing");
		if (r.generation < oldest || r.generation > s->newest ||
		    r.kind >= TIDE_SPAM_KINDS)
			continue;
		tide_spam_put(m, r.generation, (enum tide_spam_kind)r.kind,
		    &r.signatures);
		atomic_fetch_add(
		    &tide_spam_generation(m, r.generation)->messages[r.kind],
		    1);
	}
	return rc;
}

int
tide_archive_replay_spam(struct tide_archive *a, struct tide_spam *m,
    const struct tide_stored_spam *s, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = replay(txn, m, s, err);
	tide_txn_abort(txn);
	return rc;
}

/* The map has no generation yet, so nobody looks. */
int
tide_archive_load_spam(struct tide_archive *a, struct tide_spam *m,
    const struct tide_stored_spam *s, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	uint64_t g = tide_spam_oldest(&m->shape, s->newest);
	int rc = 0;

	if (txn == NULL)
		return -1;
	for (; rc == 0 && g <= s->newest; g++)
		rc = load_generation(txn, m, g, err);
	if (rc == 0)
		rc = replay(txn, m, s, err);
	tide_txn_abort(txn);
	if (rc == 0)
		atomic_store(&m->head->newest, s->newest);
	return rc;
}
