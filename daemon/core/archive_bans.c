/*
 * archive bans - durable before anybody is told of them.
 */
#include <string.h>

#include "tidemark/bans.h"

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

int
tide_archive_put_bans(struct tide_archive *a, const struct tide_ban *ban,
    size_t n, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct stored s;
	size_t i;

	if (txn == NULL)
		return -1;
	for (i = 0; i < n; i++) {
		memset(&s, 0, sizeof s);
		s.ban = ban[i];
		s.check = tide_hash_check(&s.ban, sizeof s.ban);
		if (tide_txn_put(txn, TIDE_TABLE_BANS,
			tide_bytes(ban[i].key, ban[i].length),
			tide_bytes(&s, sizeof s), err) < 0) {
			tide_txn_abort(txn);
			return -1;
		}
	}
	return tide_txn_commit(txn, err);
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

int
tide_archive_del_ban(
    struct tide_archive *a, const struct tide_key *key, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	int gone;

	if (txn == NULL)
		return -1;
	gone = tide_txn_del(
	    txn, TIDE_TABLE_BANS, tide_bytes(key->text, key->length), err);
	if (gone <= 0) {
		tide_txn_abort(txn);
		return gone;
	}
	return tide_txn_commit(txn, err) < 0 ? -1 : 1;
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
