/*
 * archive egress - who may reach which mail server, and why.
 *
 * A key is kind, customer, network: permit entries lie customer by customer.
 */
#include <string.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_egress.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"

#define TABLE TIDE_TABLE_EGRESS

struct stored {
	struct tide_egress entry;
	uint64_t check;
};

#define NET_BYTES 17
#define KEY_BYTES (1 + 2 * NET_BYTES)

/* One byte more, for the key that comes right after it. */
struct key {
	uint8_t byte[KEY_BYTES + 1];
};

static void
put_net(uint8_t *to, const struct tide_net *net)
{
	memcpy(to, net->ip.byte, sizeof net->ip.byte);
	to[16] = net->bits;
}

static struct key
key_of(const struct tide_egress *e)
{
	struct key k = { { e->kind } };

	put_net(k.byte + 1, &e->customer);
	put_net(k.byte + 1 + NET_BYTES, &e->net);
	return k;
}

bool
tide_egress_stored(struct tide_bytes value, struct tide_egress *e)
{
	struct stored s;

	if (value.size != sizeof s)
		return false;
	memcpy(&s, value.data, sizeof s);
	*e = s.entry;
	return s.check == tide_hash_check(&s.entry, sizeof s.entry) &&
	    e->kind < TIDE_EGRESS_BAN && e->verdict < TIDE_EGRESS_VERDICTS &&
	    e->customer.bits <= 128 && e->net.bits <= 128 &&
	    e->reason[TIDE_EGRESS_REASON_MAX] == '\0' &&
	    e->origin[TIDE_EGRESS_ORIGIN_MAX] == '\0';
}

static int
put(struct tide_txn *txn, const struct tide_egress *e, struct tide_err *err)
{
	struct key k = key_of(e);
	struct stored s;

	memset(&s, 0, sizeof s);
	s.entry = *e;
	s.check = tide_hash_check(&s.entry, sizeof s.entry);
	return tide_txn_put(txn, TABLE, tide_bytes(k.byte, KEY_BYTES),
	    tide_bytes(&s, sizeof s), err);
}

/* ---- changing ---------------------------------------------------------- */

/* 1 it is new, 0 it was there, -1. */
static int
put_over(
    struct tide_txn *txn, const struct tide_egress *given, struct tide_err *err)
{
	struct tide_egress e = *given, old;
	struct key k = key_of(given);
	struct tide_bytes value;
	int found = tide_txn_get(
	    txn, TABLE, tide_bytes(k.byte, KEY_BYTES), &value, err);

	if (found < 0)
		return -1;
	if (found == 1 && tide_egress_stored(value, &old)) {
		e.since_ms = old.since_ms;
		e.checked_ms = old.checked_ms;
		e.verdict = old.verdict;
	}
	return put(txn, &e, err) < 0 ? -1 : found == 0;
}

static int
del(struct tide_txn *txn, const struct tide_egress *e, struct tide_err *err)
{
	struct key k = key_of(e);

	return tide_txn_del(txn, TABLE, tide_bytes(k.byte, KEY_BYTES), err);
}

/* All of them or none; the sum of what `one' returns. */
static int
each(struct tide_archive *a, const struct tide_egress *e, size_t n,
    int (*one)(
	struct tide_txn *, const struct tide_egress *, struct tide_err *),
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	int rc = 0, sum = 0;
	size_t i;

	if (txn == NULL)
		return -1;
	for (i = 0; rc >= 0 && i < n; i++) {
		rc = one(txn, &e[i], err);
		sum += rc;
	}
	if (rc < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err) < 0 ? -1 : sum;
}

int
tide_archive_put_egress(struct tide_archive *a, const struct tide_egress *e,
    size_t n, struct tide_err *err)
{
	return each(a, e, n, put_over, err);
}

int
tide_archive_del_egress(struct tide_archive *a, const struct tide_egress *e,
    size_t n, struct tide_err *err)
{
	return each(a, e, n, del, err);
}

/* ---- listing ----------------------------------------------------------- */

struct page {
	enum tide_egress_kind kind;
	struct tide_egress *out;
	size_t count, most;
	bool (*wanted)(const struct page *, const struct tide_egress *);
	uint64_t now_ms;
	const struct tide_ip *server;
};

/* Damaged ones are passed over. */
static int
take(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct page *p = arg;
	struct tide_egress *e = &p->out[p->count];

	(void)err;
	if (p->count == p->most || ((const uint8_t *)key.data)[0] != p->kind)
		return 1;
	if (tide_egress_stored(value, e) &&
	    (p->wanted == NULL || p->wanted(p, e)))
		p->count++;
	return 0;
}

static int
fill(struct tide_archive *a, struct page *p, const struct tide_egress *after,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct key from = { { (uint8_t)p->kind } };
	size_t length = 1;
	int rc;

	if (txn == NULL)
		return -1;
	if (after != NULL) {
		from = key_of(after);
		length = KEY_BYTES + 1;
	}
	rc = tide_txn_walk(
	    txn, TABLE, tide_bytes(from.byte, length), take, p, err);
	tide_txn_abort(txn);
	return rc < 0 ? -1 : (int)p->count;
}

int
tide_archive_list_egress(struct tide_archive *a, enum tide_egress_kind kind,
    const struct tide_egress *after, struct tide_egress *out, size_t most,
    struct tide_err *err)
{
	struct page p = { .kind = kind, .out = out, .most = most };

	return fill(a, &p, after, err);
}

/* ---- probes, expiry ---------------------------------------------------- */

#define AT_ONCE 256

static bool
is_server(const struct page *p, const struct tide_egress *e)
{
	return e->net.bits == 128 &&
	    memcmp(&e->net.ip, p->server, sizeof *p->server) == 0;
}

static int
put_if_there(
    struct tide_txn *txn, const struct tide_egress *e, struct tide_err *err)
{
	struct key k = key_of(e);
	struct tide_bytes value;
	int found = tide_txn_get(
	    txn, TABLE, tide_bytes(k.byte, KEY_BYTES), &value, err);

	return found <= 0 ? found : put(txn, e, err) < 0 ? -1 : 1;
}

int
tide_archive_checked_egress(struct tide_archive *a,
    const struct tide_ip *server, enum tide_egress_verdict verdict,
    uint64_t now_ms, struct tide_err *err)
{
	struct tide_egress found[AT_ONCE], last;
	int n, i, stored, sum = 0;

	memset(found, 0, sizeof found);
	do {
		struct page p = { .kind = TIDE_EGRESS_PERMIT,
			.out = found,
			.most = AT_ONCE,
			.wanted = is_server,
			.server = server };

		n = fill(a, &p, sum > 0 ? &last : NULL, err);
		if (n <= 0)
			return n < 0 ? -1 : sum;
		last = found[n - 1];
		for (i = 0; i < n; i++) {
			found[i].verdict = (uint8_t)verdict;
			found[i].checked_ms = now_ms;
		}
		stored = each(a, found, (size_t)n, put_if_there, err);
		if (stored < 0)
			return -1;
		sum += n;
	} while (n == AT_ONCE);
	return sum;
}

static bool
is_over(const struct page *p, const struct tide_egress *e)
{
	return tide_egress_is_over(e, p->now_ms);
}

/* Unless it was made anew since we looked. */
static int
del_if_over(
    struct tide_txn *txn, const struct tide_egress *e, struct tide_err *err)
{
	struct key k = key_of(e);
	struct tide_bytes value;
	struct tide_egress now;
	int found = tide_txn_get(
	    txn, TABLE, tide_bytes(k.byte, KEY_BYTES), &value, err);

	if (found == 1 && tide_egress_stored(value, &now) &&
	    now.until_ms != e->until_ms)
		return 0;
	return found == 1 ? del(txn, e, err) : found;
}

int
tide_archive_expire_egress(
    struct tide_archive *a, uint64_t now_ms, struct tide_err *err)
{
	struct tide_egress over[AT_ONCE];
	struct page p = { .kind = TIDE_EGRESS_DENY,
		.out = over,
		.most = AT_ONCE,
		.wanted = is_over,
		.now_ms = now_ms };
	int n = fill(a, &p, NULL, err);

	return n <= 0 ? n : each(a, over, (size_t)n, del_if_over, err);
}
