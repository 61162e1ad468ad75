/*
 * share_archive - replicas and exports.
 *
 * Keys of the table: "me"; "n" and an origin, what was merged of it; "r",
 * generation and origin, a replica; "s" and a number, an export; "w" and a
 * number, an own report (share_reports.c).  Values end
 * with their checksum, or carry their own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "share_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"

static const struct tide_bytes me_key = { "me", 2 };

struct stored_me {
	struct tide_share_me me;
	uint64_t check;
};

/* The last export that was merged. */
struct neighbour {
	uint64_t sequence, made_ms, reports_until;
	uint64_t check;
};

/* Packed cells follow. */
struct replica {
	uint64_t span_ms;
	struct tide_counting_shape shape;
	uint64_t packed_check;
	uint64_t check;
};

struct replica_key {
	char kind;
	uint8_t generation[8];
	uint8_t origin[8];
};
_Static_assert(sizeof(struct replica_key) == 17, "keys have no padding");

static struct tide_bytes
replica_key(struct replica_key *k, uint64_t generation, uint64_t origin)
{
	k->kind = 'r';
	tide_key_number(k->generation, generation);
	tide_key_number(k->origin, origin);
	return tide_bytes(k, sizeof *k);
}

/* ---- ourselves --------------------------------------------------------- */

static int
put_me(
    struct tide_txn *txn, const struct tide_share_me *me, struct tide_err *err)
{
	struct stored_me s = { .me = *me };

	s.check = tide_hash_check(&s, offsetof(struct stored_me, check));
	return tide_txn_put(txn, TABLE, me_key, tide_bytes(&s, sizeof s), err);
}

static int
get_me(struct tide_txn *txn, struct tide_share_me *me, struct tide_err *err)
{
	struct tide_bytes value;
	struct stored_me s;
	int found = tide_txn_get(txn, TABLE, me_key, &value, err);

	if (found <= 0)
		return found;
	if (value.size == sizeof s) {
		memcpy(&s, value.data, sizeof s);
		if (s.check ==
		    tide_hash_check(&s, offsetof(struct stored_me, check))) {
			*me = s.me;
			return 1;
		}
	}
	return tide_err_set(
	    err, "the stored name for exchanging counts is damaged");
}

static int
draw_me(struct tide_txn *txn, struct tide_share_me *me, struct tide_err *err)
{
	memset(me, 0, sizeof *me);
	while (me->origin == 0)
		if (getrandom(&me->origin, sizeof me->origin, 0) !=
		    (ssize_t)sizeof me->origin)
			return tide_err_errno(err, "drawing a name");
	return put_me(txn, me, err);
}

int
tide_archive_share_me(
    struct tide_archive *a, struct tide_share_me *me, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int found;

	if (txn == NULL)
		return -1;
	found = get_me(txn, me, err);
	tide_txn_abort(txn);
	if (found != 0)
		return found < 0 ? -1 : 0;
	txn = tide_txn_begin(a->store, true, err);
	if (txn == NULL)
		return -1;
	if (draw_me(txn, me, err) == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}

int
tide_archive_keep_export(struct tide_archive *a, const struct tide_share_me *me,
    const void *file, size_t size, uint64_t not_before_ms, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct number_key k;
	int rc;

	if (txn == NULL)
		return -1;
	rc = put_me(txn, me, err);
	if (rc == 0)
		rc = tide_txn_put(txn, TABLE, number_key(&k, 's', me->sequence),
		    tide_bytes(file, size), err);
	if (rc == 0 && me->sequence > TIDE_SHARE_KEPT &&
	    tide_txn_del(txn, TABLE,
		number_key(&k, 's', me->sequence - TIDE_SHARE_KEPT), err) < 0)
		rc = -1;
	if (rc == 0)
		rc = tide_share_drop_faded(txn, not_before_ms, err);
	if (rc == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}

int
tide_archive_get_export(struct tide_archive *a, uint64_t sequence,
    struct tide_share *out, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct tide_bytes value;
	struct number_key k;
	void *copy = NULL;
	int found;

	memset(out, 0, sizeof *out);
	if (txn == NULL)
		return -1;
	found = tide_txn_get(
	    txn, TABLE, number_key(&k, 's', sequence), &value, err);
	if (found == 1) {
		copy = malloc(value.size); /* aligned */
		found = copy == NULL ? tide_err_errno(err, "an export") : 1;
	}
	if (found == 1) {
		memcpy(copy, value.data, value.size);
		if (tide_share_unpack(out, copy, value.size, NULL, err) < 0)
			found = -1;
	}
	tide_txn_abort(txn);
	free(copy);
	return found;
}

/* ---- replicas ---------------------------------------------------------- */

static bool
same_shape(
    const struct tide_counting_shape *a, const struct tide_counting_shape *b)
{
	return a->cells == b->cells && a->positions == b->positions &&
	    a->bits == b->bits;
}

/*
 * 1 unpacked; 0 it is of other settings, or damaged: such a replica is worth
 * nothing, and the next whole file makes it again.
 */
static int
read_replica(struct tide_bytes value, const struct tide_counting_shape *shape,
    uint64_t span_ms, uint64_t *words)
{
	struct tide_err ignored;
	struct replica r;
	const char *packed;
	size_t size;

	if (value.size < sizeof r)
		return 0;
	memcpy(&r, value.data, sizeof r);
	packed = (const char *)value.data + sizeof r;
	size = value.size - sizeof r;
	if (r.check != tide_hash_check(&r, offsetof(struct replica, check)) ||
	    r.packed_check != tide_hash_check(packed, size) ||
	    r.span_ms != span_ms || !same_shape(&r.shape, shape))
		return 0;
	return tide_share_unsqueeze(words, tide_counting_bytes(shape), packed,
		   size, &ignored) == 0;
}

static int
write_replica(struct tide_txn *txn, const struct tide_share_head *h,
    uint64_t generation, const uint64_t *words, struct tide_err *err)
{
	struct replica r;
	struct replica_key k;
	size_t size;
	char *value;
	void *packed = tide_share_squeeze(
	    words, tide_counting_bytes(&h->shape), &size, err);
	int rc = -1;

	if (packed == NULL)
		return -1;
	memset(&r, 0, sizeof r);
	r.span_ms = h->span_ms;
	r.shape = h->shape;
	r.packed_check = tide_hash_check(packed, size);
	r.check = tide_hash_check(&r, offsetof(struct replica, check));
	value = malloc(sizeof r + size);
	if (value == NULL) {
		(void)tide_err_errno(err, "storing counts");
	} else {
		memcpy(value, &r, sizeof r);
		memcpy(value + sizeof r, packed, size);
		rc = tide_txn_put(txn, TABLE,
		    replica_key(&k, generation, h->origin),
		    tide_bytes(value, sizeof r + size), err);
	}
	free(value);
	free(packed);
	return rc;
}

static int
raise_replica(struct tide_txn *txn, const struct tide_share *s, unsigned part,
    uint64_t *room, struct tide_err *err)
{
	const struct tide_share_head *h = &s->head;
	struct tide_bytes value;
	struct replica_key k;
	int found = tide_txn_get(txn, TABLE,
	    replica_key(&k, h->generation[part], h->origin), &value, err);

	if (found < 0)
		return -1;
	if (found == 0 || !read_replica(value, &h->shape, h->span_ms, room)) {
		if ((h->builds_on >> part & 1) != 0)
			return tide_err_set(err,
			    "is a delta, and what it builds on is gone or "
			    "damaged here: a whole export is needed");
		memset(room, 0, tide_counting_bytes(&h->shape));
	}
	tide_counting_raise(&h->shape, (tide_counting_word *)room,
	    (const tide_counting_word *)s->words[part]);
	return write_replica(txn, h, h->generation[part], room, err);
}

/* ---- what goes --------------------------------------------------------- */

struct outdated {
	uint64_t before;
	struct replica_key key;
	bool found;
};

static int
find_outdated(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct outdated *o = arg;

	(void)value;
	(void)err;
	if (key.size != sizeof o->key || *(const char *)key.data != 'r')
		return 1;
	memcpy(&o->key, key.data, sizeof o->key);
	o->found = tide_key_read(o->key.generation) < o->before;
	return 1;
}

static int
drop_outdated(struct tide_txn *txn, uint64_t before, struct tide_err *err)
{
	struct outdated o = { .before = before };

	do {
		o.found = false;
		if (tide_txn_walk(txn, TABLE, tide_bytes("r", 1), find_outdated,
			&o, err) < 0)
			return -1;
		if (o.found &&
		    tide_txn_del(
			txn, TABLE, tide_bytes(&o.key, sizeof o.key), err) < 0)
			return -1;
	} while (o.found);
	return 0;
}

/* ---- merging ----------------------------------------------------------- */

static int
get_neighbour(struct tide_txn *txn, uint64_t origin, struct neighbour *n,
    struct tide_err *err)
{
	struct tide_bytes value;
	struct number_key k;
	int found =
	    tide_txn_get(txn, TABLE, number_key(&k, 'n', origin), &value, err);

	memset(n, 0, sizeof *n);
	if (found <= 0)
		return found;
	if (value.size == sizeof *n) {
		memcpy(n, value.data, sizeof *n);
		if (n->check ==
		    tide_hash_check(n, offsetof(struct neighbour, check)))
			return 1;
	}
	return tide_err_set(err, "what is stored of this neighbour is damaged");
}

static int
check_order(const struct tide_share_head *h, const struct neighbour *n,
    struct tide_err *err)
{
	if (h->sequence <= n->sequence)
		return tide_err_set(err,
		    "was merged before: it is export %llu of its server, and "
		    "%llu was the last",
		    (unsigned long long)h->sequence,
		    (unsigned long long)n->sequence);
	if (h->since > n->sequence)
		return tide_err_set(err,
		    "is a delta to export %llu of its server, and %llu was the "
		    "last that was merged: a whole one is needed, or those in "
		    "between",
		    (unsigned long long)h->since,
		    (unsigned long long)n->sequence);
	return 0;
}

static int
put_neighbour(struct tide_txn *txn, const struct tide_share_head *h,
    const struct neighbour *was, struct tide_err *err)
{
	struct neighbour n = { .sequence = h->sequence,
		.made_ms = h->made_ms,
		.reports_until = h->reports_until > was->reports_until
		    ? h->reports_until
		    : was->reports_until };
	struct number_key k;

	n.check = tide_hash_check(&n, offsetof(struct neighbour, check));
	return tide_txn_put(txn, TABLE, number_key(&k, 'n', h->origin),
	    tide_bytes(&n, sizeof n), err);
}

static int
merge(struct tide_txn *txn, struct tide_share *s,
    const struct tide_share_place *place, uint64_t *room, struct tide_err *err)
{
	struct neighbour n;
	unsigned i;

	if (get_neighbour(txn, s->head.origin, &n, err) < 0 ||
	    check_order(&s->head, &n, err) < 0)
		return -1;
	for (i = 0; i < s->head.parts; i++)
		if (s->head.generation[i] >= place->oldest &&
		    raise_replica(txn, s, i, room, err) < 0)
			return -1;
	if (drop_outdated(txn, place->oldest, err) < 0 ||
	    tide_share_record(txn, s, n.reports_until, place, err) < 0)
		return -1;
	return put_neighbour(txn, &s->head, &n, err);
}

int
tide_archive_merge_share(struct tide_archive *a, struct tide_share *s,
    const struct tide_share_place *place, struct tide_err *err)
{
	uint64_t *room = malloc(tide_counting_bytes(&s->head.shape));
	struct tide_txn *txn;
	int rc = -1;

	if (room == NULL)
		return tide_err_errno(err, "merging counts");
	txn = tide_txn_begin(a->store, true, err);
	if (txn != NULL) {
		rc = merge(txn, s, place, room, err);
		if (rc == 0)
			rc = tide_txn_commit(txn, err);
		else
			tide_txn_abort(txn);
	}
	free(room);
	return rc;
}

/* ---- the sum ----------------------------------------------------------- */

struct adding {
	const struct tide_counting_shape *shape;
	uint64_t span_ms, generation;
	uint64_t *room;
	tide_counting_word *to;
	int count;
};

static int
add_replica(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct adding *x = arg;
	struct replica_key k;

	(void)err;
	if (key.size != sizeof k)
		return 1;
	memcpy(&k, key.data, sizeof k);
	if (k.kind != 'r' || tide_key_read(k.generation) != x->generation)
		return 1;
	if (!read_replica(value, x->shape, x->span_ms, x->room))
		return 0;
	tide_counting_sum(x->shape, x->to, (const tide_counting_word *)x->room);
	x->count++;
	return 0;
}

int
tide_archive_sum_shares(struct tide_archive *a,
    const struct tide_counting_shape *shape, uint64_t span_ms,
    uint64_t generation, tide_counting_word *to, struct tide_err *err)
{
	struct adding x = { .shape = shape,
		.span_ms = span_ms,
		.generation = generation,
		.to = to };
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct replica_key k;
	int rc = -1;

	if (txn == NULL)
		return -1;
	x.room = malloc(tide_counting_bytes(shape));
	if (x.room == NULL)
		(void)tide_err_errno(err, "adding counts");
	else
		rc = tide_txn_walk(txn, TABLE, replica_key(&k, generation, 0),
		    add_replica, &x, err);
	tide_txn_abort(txn);
	free(x.room);
	return rc < 0 ? -1 : x.count;
}
