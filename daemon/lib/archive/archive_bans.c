/*
 * archive bans - durable before anybody is told of them.
 */
#include <string.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"

struct stored {
	struct tide_ban ban;
	uint64_t check;
};

bool
tide_ban_read(struct tide_bytes value, struct tide_ban *ban)
{
	struct stored s;

	if (value.size != sizeof s)
		return false;
	memcpy(&s, value.data, sizeof s);
	*ban = s.ban;
	return s.check == tide_hash_check(&s.ban, sizeof s.ban) &&
	    ban->length > 0 && ban->length <= TIDE_KEY_MAX;
}

static int
put(struct tide_txn *txn, const struct tide_ban *ban, struct tide_err *err)
{
	struct stored s = { .ban = *ban };

	s.check = tide_hash_check(&s.ban, sizeof s.ban);
	return tide_txn_put(txn, TIDE_TABLE_BANS,
	    tide_bytes(ban->key, ban->length), tide_bytes(&s, sizeof s), err);
}

struct change {
	tide_ban_decide *decide;
	void *arg;
	bool any; /* anything to commit */
};

static int
change_one(struct tide_txn *txn, struct change *c, size_t i,
    struct tide_ban *ban, struct tide_err *err)
{
	struct tide_bytes key = tide_bytes(ban->key, ban->length), value;
	struct tide_ban old;
	int found = tide_txn_get(txn, TIDE_TABLE_BANS, key, &value, err);
	bool readable = found == 1 && tide_ban_read(value, &old);

	if (found < 0)
		return -1;
	switch (c->decide(c->arg, i, ban, readable ? &old : NULL)) {
	case TIDE_BAN_STORE:
		c->any = true;
		return put(txn, ban, err);
	case TIDE_BAN_DELETE:
		if (found == 0)
			return 0;
		c->any = true;
		return tide_txn_del(txn, TIDE_TABLE_BANS, key, err);
	case TIDE_BAN_LEAVE:
		break;
	}
	return 0;
}

int
tide_archive_change_bans(struct tide_archive *a, struct tide_ban *ban, size_t n,
    tide_ban_decide *decide, void *arg, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct change c = { .decide = decide, .arg = arg };
	size_t i;

	if (txn == NULL)
		return -1;
	for (i = 0; i < n; i++) {
		if (change_one(txn, &c, i, &ban[i], err) < 0) {
			tide_txn_abort(txn);
			return -1;
		}
	}
	if (c.any)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return 0;
}

int
tide_archive_get_ban(struct tide_archive *a, const struct tide_key *key,
    struct tide_ban *ban, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct tide_bytes value;
	int found;

	if (txn == NULL)
		return -1;
	found = tide_txn_get(txn, TIDE_TABLE_BANS,
	    tide_bytes(key->text, key->length), &value, err);
	if (found == 1 && !tide_ban_read(value, ban))
		found = 0;
	tide_txn_abort(txn);
	return found;
}

/* ---- all of them ------------------------------------------------------- */

#define EXPIRED_MOST 256

struct walk {
	uint64_t now_ms;
	tide_ban_visit *visit;
	void *arg;
	struct tide_key expired[EXPIRED_MOST];
	unsigned count;
};

static int
look_at(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct walk *w = arg;
	struct tide_ban ban;
	struct tide_key *k;

	(void)err;
	if (tide_ban_read(value, &ban) && ban.until_ms > w->now_ms) {
		w->visit(w->arg, &ban);
		return 0;
	}
	if (w->count == EXPIRED_MOST || key.size > TIDE_KEY_MAX)
		return 0;
	k = &w->expired[w->count++];
	memset(k, 0, sizeof *k);
	k->length = (uint8_t)key.size;
	memcpy(k->text, key.data, key.size);
	return 0;
}

/* Unless it was made anew since we looked. */
static int
drop_expired(struct tide_archive *a, const struct tide_key *key,
    uint64_t now_ms, struct tide_err *err)
{
	struct tide_bytes k = tide_bytes(key->text, key->length), value;
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct tide_ban ban;
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_txn_get(txn, TIDE_TABLE_BANS, k, &value, err);
	if (rc == 1 && tide_ban_read(value, &ban) && ban.until_ms > now_ms)
		rc = 0;
	if (rc == 1)
		rc = tide_txn_del(txn, TIDE_TABLE_BANS, k, err);
	if (rc == 1)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return rc;
}

int
tide_archive_walk_bans(struct tide_archive *a, uint64_t now_ms,
    tide_ban_visit *visit, void *arg, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct walk w = { .now_ms = now_ms, .visit = visit, .arg = arg };
	unsigned i;
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_txn_walk(
	    txn, TIDE_TABLE_BANS, tide_bytes("", 0), look_at, &w, err);
	tide_txn_abort(txn);
	for (i = 0; rc == 0 && i < w.count; i++)
		rc = drop_expired(a, &w.expired[i], now_ms, err);
	return rc;
}
