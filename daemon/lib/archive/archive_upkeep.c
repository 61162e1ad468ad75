/*
 * archive upkeep - lapses, expiry, the summary, and the walk that finds
 * damage before the collector meets it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/window.h"

/* ---- lapses ------------------------------------------------------------ */

struct lapse_key {
	uint8_t from[8];
	uint8_t kind[8];
};

static uint32_t
lapse_check(const struct tide_lapse *lapse)
{
	return (uint32_t)tide_hash_check(
	    lapse, offsetof(struct tide_lapse, pad));
}

bool
tide_lapse_read(struct tide_bytes value, struct tide_lapse *copy)
{
	if (value.size != sizeof *copy)
		return false;
	memcpy(copy, value.data, sizeof *copy);
	return copy->pad == lapse_check(copy);
}

int
tide_archive_put_lapse(struct tide_archive *a, const struct tide_lapse *lapse,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct tide_lapse stored = *lapse;
	struct lapse_key key;

	if (txn == NULL)
		return -1;
	stored.pad = lapse_check(lapse);
	tide_key_number(key.from, lapse->from_ms);
	tide_key_number(key.kind, lapse->kind);
	if (tide_txn_put(txn, TIDE_TABLE_LAPSES, tide_bytes(&key, sizeof key),
		tide_bytes(&stored, sizeof stored), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

int
tide_archive_take_lapses(
    struct tide_archive *a, struct tide_acceptor *from, struct tide_err *err)
{
	uint64_t tail =
	    atomic_load_explicit(&from->lapse_tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(
	    &from->lapse_head, memory_order_acquire); /* C1 */
	struct tide_lapse lapse;
	int taken = 0;

	if (head - tail > TIDE_LAPSES) /* bytes another process wrote */
		tail = head - TIDE_LAPSES;
	for (; tail != head; tail++, taken++) {
		lapse = from->lapse[tail % TIDE_LAPSES];
		if (tide_archive_put_lapse(a, &lapse, err) < 0)
			return -1; /* C2 */
		atomic_store_explicit(
		    &from->lapse_tail, tail + 1, memory_order_release); /* C3 */
	}
	return taken;
}

/* ---- the clock --------------------------------------------------------- */

static uint64_t
clock_check(const struct tide_stored_clock *s)
{
	return tide_hash_check(s, offsetof(struct tide_stored_clock, check));
}

int
tide_archive_put_clock(
    struct tide_archive *a, struct tide_stored_clock *s, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);

	if (txn == NULL)
		return -1;
	s->check = clock_check(s);
	if (tide_txn_put(txn, TIDE_TABLE_META, tide_bytes("clock", 5),
		tide_bytes(s, sizeof *s), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

/* One that is damaged is as good as none. */
int
tide_archive_get_clock(
    struct tide_archive *a, struct tide_stored_clock *s, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct tide_bytes value;
	int found;

	if (txn == NULL)
		return -1;
	found = tide_txn_get(
	    txn, TIDE_TABLE_META, tide_bytes("clock", 5), &value, err);
	if (found == 1 && value.size == sizeof *s)
		memcpy(s, value.data, sizeof *s);
	if (found == 1 &&
	    (value.size != sizeof *s || s->check != clock_check(s)))
		found = 0;
	tide_txn_abort(txn);
	return found;
}

/* ---- summary ----------------------------------------------------------- */

static int
sum_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_archive_summary *sum = arg;
	struct tide_window_record r;

	(void)key;
	(void)err;
	if (tide_window_record_read(value, &r) == NULL) {
		sum->unread++;
		return 0;
	}
	if (sum->windows == 0 || r.from_ms < sum->from_ms)
		sum->from_ms = r.from_ms;
	if (r.until_ms > sum->until_ms)
		sum->until_ms = r.until_ms;
	sum->windows++;
	sum->messages += r.messages;
	sum->wire += r.wire;
	sum->text += r.text;
	sum->kept += tide_bloom_bytes(&r.shape[TIDE_FILTER_CONTENT]);
	sum->bytes += tide_window_record_bytes(&r);
	return 0;
}

static int
sum_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_archive_summary *sum = arg;

	(void)key;
	(void)value;
	(void)err;
	sum->lapses++;
	return 0;
}

int
tide_archive_summary(struct tide_archive *a, struct tide_archive_summary *sum,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	memset(sum, 0, sizeof *sum);
	rc = tide_txn_walk(
	    txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0), sum_window, sum, err);
	if (rc == 0)
		rc = tide_txn_walk(txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
		    sum_lapse, sum, err);
	tide_txn_abort(txn);
	return rc;
}

/* ---- expiry ------------------------------------------------------------ */

#define VICTIMS 256 /* dropped at once; the next call goes on */

struct expiry {
	uint64_t before_ms; /* drop what ended before */
	uint64_t excess;    /* bytes still to be dropped */
	uint64_t from_ms;   /* of the oldest window that stays */
	uint8_t victim[VICTIMS][8];
	unsigned victims;
};

/* Not by its own time, which a wrong clock may have given it. */
static uint64_t
sealed_ms(const struct tide_window_record *r)
{
	return r->sealed_s != 0 ? r->sealed_s * 1000ull : r->until_ms;
}

/*
 * All of them are looked at: while the clock was wrong, a window may have got
 * a time that is far from its neighbours'.
 */
static int
choose_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct expiry *e = arg;
	struct tide_window_record r;
	uint64_t bytes;

	(void)err;
	if (key.size != 8 || tide_window_record_read(value, &r) == NULL)
		return 0; /* damaged: kept, and shown as a gap */
	bytes = tide_window_record_bytes(&r);
	if ((sealed_ms(&r) >= e->before_ms && e->excess == 0) ||
	    e->victims == VICTIMS) {
		if (r.from_ms < e->from_ms)
			e->from_ms = r.from_ms;
		return 0;
	}
	memcpy(e->victim[e->victims++], key.data, 8);
	e->excess -= bytes < e->excess ? bytes : e->excess;
	return 0;
}

struct prefix {
	const uint8_t *number;
	uint8_t key[64];
	size_t size;
};

static int
find_prefixed(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct prefix *p = arg;

	(void)value;
	(void)err;
	if (key.size >= 8 && key.size <= sizeof p->key &&
	    memcmp(key.data, p->number, 8) == 0) {
		memcpy(p->key, key.data, key.size);
		p->size = key.size;
	}
	return 1;
}

/* All chunks of a window, one after the other. */
static int
drop_filters(
    struct tide_txn *txn, const uint8_t number[8], struct tide_err *err)
{
	struct prefix p = { .number = number };

	do {
		p.size = 0;
		if (tide_txn_walk(txn, TIDE_TABLE_FILTERS,
			tide_bytes(number, 8), find_prefixed, &p, err) < 0)
			return -1;
		if (p.size > 0 &&
		    tide_txn_del(txn, TIDE_TABLE_FILTERS,
			tide_bytes(p.key, p.size), err) < 0)
			return -1;
	} while (p.size > 0);
	return 0;
}

static int
drop_windows(struct tide_txn *txn, const struct expiry *e, struct tide_err *err)
{
	unsigned i;

	for (i = 0; i < e->victims; i++) {
		if (drop_filters(txn, e->victim[i], err) < 0 ||
		    tide_txn_del(txn, TIDE_TABLE_WINDOWS,
			tide_bytes(e->victim[i], 8), err) < 0)
			return -1;
	}
	return 0;
}

static int
oldest_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_lapse *lapse = arg;

	(void)key;
	(void)err;
	if (value.size == sizeof *lapse)
		memcpy(lapse, value.data, sizeof *lapse);
	return 1;
}

/* Lapses that ended before the oldest window kept say nothing any more. */
static int
drop_lapses(struct tide_txn *txn, uint64_t before_ms, struct tide_err *err)
{
	struct tide_lapse lapse;
	struct lapse_key key;
	int gone;

	do {
		gone = 0;
		lapse = (struct tide_lapse){ .until_ms = UINT64_MAX };
		if (tide_txn_walk(txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
			oldest_lapse, &lapse, err) < 0)
			return -1;
		if (lapse.until_ms >= before_ms)
			break;
		tide_key_number(key.from, lapse.from_ms);
		tide_key_number(key.kind, lapse.kind);
		gone = tide_txn_del(
		    txn, TIDE_TABLE_LAPSES, tide_bytes(&key, sizeof key), err);
	} while (gone == 1);
	return gone < 0 ? -1 : 0;
}

static int
expire(struct tide_txn *txn, struct expiry *e, struct tide_err *err)
{
	if (tide_txn_walk(txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0),
		choose_window, e, err) < 0)
		return -1;
	if (e->from_ms == UINT64_MAX) /* none stays */
		e->from_ms = e->before_ms;
	if (e->victims == 0)
		return 0;
	if (drop_windows(txn, e, err) < 0)
		return -1;
	return drop_lapses(txn, e->from_ms, err);
}

int
tide_archive_expire(struct tide_archive *a, uint64_t before_ms,
    uint64_t max_bytes, unsigned *dropped, struct tide_err *err)
{
	struct expiry e = { .before_ms = before_ms, .from_ms = UINT64_MAX };
	struct tide_archive_summary sum;
	struct tide_txn *txn;
	int rc;

	*dropped = 0;
	if (tide_archive_summary(a, &sum, err) < 0)
		return -1;
	e.excess = sum.bytes > max_bytes ? sum.bytes - max_bytes : 0;
	txn = tide_txn_begin(a->store, true, err);
	if (txn == NULL)
		return -1;
	rc = expire(txn, &e, err);
	if (rc < 0 || e.victims == 0) {
		tide_txn_abort(txn);
		return rc;
	}
	rc = tide_txn_commit(txn, err);
	if (rc == 0)
		*dropped = e.victims;
	return rc;
}

/* ---- verification ------------------------------------------------------ */

static int
check_archive(void *state_dir, struct tide_err *err)
{
	struct tide_archive a;
	int rc;

	if (tide_archive_open(&a, state_dir, TIDE_ARCHIVE_READ, 0, err) < 0)
		return -1;
	rc = tide_store_check(a.store, err);
	tide_archive_close(&a);
	return rc;
}

int
tide_archive_verify(const char *state_dir, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/archive.mdb", state_dir);
	if (tide_store_probe(path, err) == TIDE_STORE_ABSENT)
		return 0;
	return tide_store_apart(
	    path, check_archive, (void *)(uintptr_t)state_dir, err);
}
