/*
 * spam archive - storing.
 */
#include <stdlib.h>
#include <string.h>

#include "spam_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/spam_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

static const struct tide_bytes head_key = { "head", 4 };

/* ---- records ----------------------------------------------------------- */

int
tide_spam_read(struct tide_txn *txn, struct tide_bytes key, void *record,
    size_t size, struct tide_err *err)
{
	struct tide_bytes value;
	uint64_t check;
	int found = tide_txn_get(txn, SPAM_TABLE, key, &value, err);

	if (found <= 0)
		return found;
	if (value.size == size) {
		memcpy(record, value.data, size);
		memcpy(
		    &check, (char *)record + size - sizeof check, sizeof check);
		if (check == tide_hash_check(record, size - sizeof check))
			return 1;
	}
	return tide_err_set(err, "a stored record of spam is damaged");
}

int
tide_spam_write(struct tide_txn *txn, struct tide_bytes key, void *record,
    size_t size, struct tide_err *err)
{
	uint64_t check = tide_hash_check(record, size - sizeof check);

	memcpy((char *)record + size - sizeof check, &check, sizeof check);
	return tide_txn_put(
	    txn, SPAM_TABLE, key, tide_bytes(record, size), err);
}

static int
end(struct tide_txn *txn, int rc, struct tide_err *err)
{
	if (rc == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}

/* The number of the last report, or base. */
static int
last_report(struct tide_txn *txn, uint64_t base, uint64_t *sequence,
    struct tide_err *err)
{
	struct tide_bytes key, value;
	struct spam_key k;
	int found = tide_txn_last(txn, SPAM_TABLE, &key, &value, err);

	*sequence = base;
	if (found < 0)
		return -1;
	if (found == 1 && key.size == sizeof k) {
		memcpy(&k, key.data, sizeof k);
		if (k.kind == 'j' && tide_key_read(k.number) > base)
			*sequence = tide_key_read(k.number);
	}
	return 0;
}

int
tide_archive_spam(struct tide_archive *a, const struct tide_spam_shape *s,
    struct tide_stored_spam *out, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct spam_head h = { 0 };
	int rc;

	memset(out, 0, sizeof *out);
	if (txn == NULL)
		return -1;
	rc = tide_spam_read(txn, head_key, &h, sizeof h, err);
	if (rc == 1 && !tide_spam_sane(&h.shape))
		rc = tide_err_set(err, "the stored head of spam is damaged");
	out->newest = h.newest;
	out->base = h.base;
	if (last_report(txn, h.base, &out->sequence, err) < 0)
		rc = -1;
	tide_txn_abort(txn);
	if (rc == 1 && memcmp(&h.shape, s, sizeof *s) != 0)
		return tide_err_set(err,
		    "the stored reports were made with other spam_reports, "
		    "spam_error or spam_generations, and are forgotten");
	return rc;
}

int
tide_spam_record(struct tide_txn *txn, uint64_t sequence, uint64_t generation,
    enum tide_spam_kind kind, const struct tide_signatures *s,
    struct tide_err *err)
{
	struct spam_report r;
	struct spam_key k;

	memset(&r, 0, sizeof r);
	r.generation = generation;
	r.kind = kind;
	r.signatures = *s;
	return tide_spam_write(
	    txn, spam_key(&k, 'j', sequence), &r, sizeof r, err);
}

int
tide_archive_report_spam(struct tide_archive *a, uint64_t sequence,
    uint64_t generation, enum tide_spam_kind kind,
    const struct tide_signatures *s, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_spam_record(txn, sequence, generation, kind, s, err);
	if (rc == 0)
		rc = tide_share_note(txn, sequence, kind, s, err);
	return end(txn, rc, err);
}

/* ---- filters ----------------------------------------------------------- */

static int
put_chunk(struct tide_txn *txn, struct tide_bytes key, const char *bytes,
    size_t n, struct tide_err *err)
{
	uint64_t check;
	char *value = malloc(n + sizeof check);
	int rc;

	if (value == NULL)
		return tide_err_errno(err, "storing reports of spam");
	memcpy(value, bytes, n);
	rc = tide_spam_write(txn, key, value, n + sizeof check, err);
	free(value);
	return rc;
}

static int
put_filter(struct tide_txn *txn, const struct tide_spam *m, uint64_t generation,
    unsigned filter, struct tide_err *err)
{
	enum tide_spam_part part = spam_filter_part(filter);
	size_t bytes = tide_bloom_bytes(tide_spam_part_shape(&m->shape, part));
	const char *words = (const char *)tide_spam_words(
	    m, generation, spam_filter_kind(filter), part);
	struct spam_chunk_key k;
	uint64_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < spam_chunks(bytes); i++)
		rc = put_chunk(txn, spam_chunk_key(&k, generation, filter, i),
		    words + i * TIDE_CHUNK, spam_piece(bytes, i), err);
	return rc;
}

static int
drop_reports(
    struct tide_txn *txn, uint64_t from, uint64_t to, struct tide_err *err)
{
	struct spam_key k;
	int rc = 0;

	for (; rc >= 0 && from <= to; from++)
		rc =
		    tide_txn_del(txn, SPAM_TABLE, spam_key(&k, 'j', from), err);
	return rc < 0 ? -1 : 0;
}

static int
save(struct tide_txn *txn, const struct tide_spam *m, uint64_t generation,
    uint64_t sequence, struct tide_err *err)
{
	const struct tide_spam_generation *g =
	    tide_spam_generation(m, generation);
	struct spam_generation s = { .number = generation,
		.began_ms = atomic_load(&g->began_ms),
		.has_chunks = 1 };
	struct spam_head h = { 0 };
	struct spam_key k;
	unsigned i;
	int rc = tide_spam_read(txn, head_key, &h, sizeof h, err);

	if (rc != 1)
		return rc < 0
		    ? -1
		    : tide_err_set(err, "there is no generation of spam");
	for (i = 0; i < TIDE_SPAM_KINDS; i++)
		s.messages[i] = atomic_load(&g->messages[i]);
	rc = 0;
	for (i = 0; rc == 0 && i < SPAM_FILTERS; i++)
		rc = put_filter(txn, m, generation, i, err);
	if (rc == 0)
		rc = tide_spam_write(
		    txn, spam_key(&k, 'g', generation), &s, sizeof s, err);
	if (rc == 0)
		rc = drop_reports(txn, h.base + 1, sequence, err);
	h.base = sequence;
	if (rc == 0)
		rc = tide_spam_write(txn, head_key, &h, sizeof h, err);
	return rc;
}

int
tide_archive_save_spam(struct tide_archive *a, const struct tide_spam *m,
    uint64_t generation, uint64_t sequence, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);

	if (txn == NULL)
		return -1;
	return end(txn, save(txn, m, generation, sequence, err), err);
}

/* ---- a new generation -------------------------------------------------- */

struct gathered {
	uint64_t before;
	uint64_t number[64];
	unsigned count;
};

static int
gather(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct gathered *g = arg;
	struct spam_key k;

	(void)value;
	(void)err;
	if (key.size != sizeof k || g->count == 64)
		return 1;
	memcpy(&k, key.data, sizeof k);
	if (k.kind != 'g' || tide_key_read(k.number) >= g->before)
		return 1;
	g->number[g->count++] = tide_key_read(k.number);
	return 0;
}

static int
drop_generation(struct tide_txn *txn, const struct tide_spam_shape *s,
    uint64_t number, struct tide_err *err)
{
	struct spam_chunk_key c;
	struct spam_key k;
	unsigned filter;
	uint64_t i, n;
	int rc = 0;

	for (filter = 0; filter < SPAM_FILTERS; filter++) {
		n = spam_chunks(tide_bloom_bytes(
		    tide_spam_part_shape(s, spam_filter_part(filter))));
		for (i = 0; rc >= 0 && i < n; i++)
			rc = tide_txn_del(txn, SPAM_TABLE,
			    spam_chunk_key(&c, number, filter, i), err);
	}
	if (rc >= 0)
		rc = tide_txn_del(
		    txn, SPAM_TABLE, spam_key(&k, 'g', number), err);
	return rc < 0 ? -1 : 0;
}

static int
drop_old(struct tide_txn *txn, const struct tide_spam_shape *s, uint64_t oldest,
    struct tide_err *err)
{
	struct gathered g = { .before = oldest };
	struct spam_key k;
	unsigned i;
	int rc = tide_txn_walk(
	    txn, SPAM_TABLE, spam_key(&k, 'g', 0), gather, &g, err);

	for (i = 0; rc == 0 && i < g.count; i++)
		rc = drop_generation(txn, s, g.number[i], err);
	return rc;
}

static int
begin(struct tide_txn *txn, const struct tide_spam_shape *s, uint64_t number,
    uint64_t began_ms, uint64_t oldest, bool afresh, struct tide_err *err)
{
	struct spam_generation g = { .number = number, .began_ms = began_ms };
	struct spam_head h = { 0 };
	uint64_t sequence;
	struct spam_key k;
	int rc = tide_spam_read(txn, head_key, &h, sizeof h, err);

	if (rc < 0)
		memset(&h, 0, sizeof h); /* damaged: it is made anew */
	if (last_report(txn, h.base, &sequence, err) < 0)
		return -1;
	rc = rc == 1 && tide_spam_sane(&h.shape)
	    ? drop_old(txn, &h.shape, oldest, err)
	    : 0;
	if (rc == 0 && afresh) {
		rc = drop_reports(txn, h.base + 1, sequence, err);
		h.base = sequence;
	}
	h.newest = number;
	h.shape = *s;
	if (rc == 0)
		rc = tide_spam_write(
		    txn, spam_key(&k, 'g', number), &g, sizeof g, err);
	return rc == 0 ? tide_spam_write(txn, head_key, &h, sizeof h, err) : rc;
}

int
tide_archive_begin_spam(struct tide_archive *a, const struct tide_spam_shape *s,
    uint64_t number, uint64_t began_ms, uint64_t oldest, bool afresh,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);

	if (txn == NULL)
		return -1;
	return end(
	    txn, begin(txn, s, number, began_ms, oldest, afresh, err), err);
}
