/*
 * banning - how long, durable, and in the map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/egress/egress.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/bans_room.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

/* ---- overflows (B2) ---------------------------------------------------- */

/* Those works that are to be stored now, or to be undone. */
struct batch {
	struct collector *c;
	const struct tide_config *config;
	struct tide_ban ban[BAN_WORKS];
	struct ban_change change[BAN_WORKS];
	uint64_t ticket[BAN_WORKS];
	unsigned work[BAN_WORKS]; /* which one it is */
	unsigned profile[BAN_WORKS];
	unsigned count;
	struct tide_ban_room room;
};

static void
gather(struct batch *b, unsigned state)
{
	struct collector *c = b->c;
	unsigned i;

	b->count = 0;
	(void)pthread_mutex_lock(&c->lock);
	c->bans_queued = false;
	for (i = 0; i < BAN_WORKS; i++) {
		const struct ban_work *w = &c->work[i];

		if (w->ticket == 0 || w->state != state)
			continue;
		b->ban[b->count] = w->ban;
		b->change[b->count] = w->change;
		b->profile[b->count] = w->profile;
		b->ticket[b->count] = w->ticket;
		b->work[b->count++] = i;
	}
	(void)pthread_mutex_unlock(&c->lock);
}

/* Those that stand, and those that are stored and not published yet. */
static void
count_room(struct batch *b)
{
	struct collector *c = b->c;
	unsigned i;

	_Static_assert(BAN_WORKS <= TIDE_BAN_ROOM_MOST, "all can be asked for");
	tide_ban_room_open(&b->room, c->map->head->bans);
	for (i = 0; i < b->count; i++)
		tide_ban_room_watch(&b->room, &b->ban[i]);
	tide_ban_room_count(&b->room, c->map->bans);
	(void)pthread_mutex_lock(&c->lock);
	for (i = 0; i < BAN_WORKS; i++)
		if (c->work[i].ticket != 0 && c->work[i].state == BAN_DURABLE &&
		    c->work[i].change.first)
			tide_ban_room_note(
			    &b->room, &c->work[i].change.settled);
	(void)pthread_mutex_unlock(&c->lock);
}

/* Is it still wanted?  Not if it was lifted, or let go. */
static bool
is_wanted(struct batch *b, size_t i)
{
	const struct ban_work *w = &b->c->work[b->work[i]];
	bool wanted;

	(void)pthread_mutex_lock(&b->c->lock);
	wanted = w->ticket == b->ticket[i] && !w->lifted;
	(void)pthread_mutex_unlock(&b->c->lock);
	return wanted;
}

/* Within the transaction. */
static enum tide_ban_fate
decide(void *arg, size_t i, struct tide_ban *ban, const struct tide_ban *old)
{
	struct batch *b = arg;
	const struct tide_limit *l =
	    &b->config->profile[b->profile[i]].group[ban->group];
	const struct tide_ban_terms terms = { .now_ms =
						  tide_map_now_ms(b->c->map),
		.lasts_ms = l->ban,
		.most_ms = b->config->ban_most };
	struct ban_change *change = &b->change[i];
	enum tide_ban_outcome outcome;

	memset(change, 0, sizeof *change);
	if (!is_wanted(b, i))
		return TIDE_BAN_LEAVE;
	change->stood = old != NULL;
	if (old != NULL)
		change->before = *old;
	outcome = tide_ban_settle(ban, old, &terms);
	if (outcome == TIDE_BAN_VOID)
		return TIDE_BAN_LEAVE;
	if (outcome == TIDE_BAN_MADE && !ban_is_placed(b->c, ban))
		change->full = tide_ban_room_take(&b->room, ban);
	if (change->full != NULL)
		return TIDE_BAN_LEAVE;
	change->first = outcome == TIDE_BAN_MADE;
	change->settled = *ban;
	return outcome == TIDE_BAN_KNOWN ? TIDE_BAN_LEAVE : TIDE_BAN_STORE;
}

/* Each to its place; in the batch stay those whose place is another's now. */
static void
hand_back(struct batch *b)
{
	struct collector *c = b->c;
	unsigned i, left = 0;

	(void)pthread_mutex_lock(&c->lock);
	for (i = 0; i < b->count; i++) {
		struct ban_work *w = &c->work[b->work[i]];

		if (w->ticket == b->ticket[i]) {
			w->change = b->change[i];
			w->state = BAN_DURABLE;
		} else {
			b->change[left++] = b->change[i];
		}
	}
	b->count = left;
	(void)pthread_mutex_unlock(&c->lock);
}

/* As it was before, unless it has changed since. */
static enum tide_ban_fate
decide_to_undo(
    void *arg, size_t i, struct tide_ban *ban, const struct tide_ban *old)
{
	const struct ban_change *change = &((struct batch *)arg)->change[i];

	if (old == NULL || memcmp(old, &change->settled, sizeof *old) != 0)
		return TIDE_BAN_LEAVE;
	if (!change->stood)
		return TIDE_BAN_DELETE;
	*ban = change->before;
	return TIDE_BAN_STORE;
}

/* What was never stored has no key. */
static int
undo(struct batch *b, struct tide_err *err)
{
	unsigned i, n = 0;

	for (i = 0; i < b->count; i++) {
		if (b->change[i].settled.length == 0)
			continue;
		b->change[n] = b->change[i];
		b->ban[n++] = b->change[i].settled;
	}
	return n == 0 ? 0
		      : tide_archive_change_bans(
			    &b->c->archive, b->ban, n, decide_to_undo, b, err);
}

static int
undo_gathered(struct batch *b, struct tide_err *err)
{
	unsigned i, count;

	gather(b, BAN_UNDO);
	count = b->count;
	if (undo(b, err) < 0)
		return -1;
	(void)pthread_mutex_lock(&b->c->lock);
	for (i = 0; i < count; i++)
		b->c->work[b->work[i]].ticket = 0;
	(void)pthread_mutex_unlock(&b->c->lock);
	return 0;
}

/* Everything that is queued, in one transaction; first, what is not wanted. */
int
commit_bans(
    struct collector *c, const struct tide_config *config, struct tide_err *err)
{
	struct batch *b = calloc(1, sizeof *b);
	int count = -1;

	if (b == NULL)
		return tide_err_errno(err, "storing bans");
	b->c = c;
	b->config = config;
	if (undo_gathered(b, err) == 0) {
		gather(b, BAN_QUEUED);
		count = (int)b->count;
		if (count > 0)
			count_room(b);
		if (count > 0 &&
		    tide_archive_change_bans(
			&c->archive, b->ban, b->count, decide, b, err) < 0)
			count = -1;
	}
	if (count > 0) {
		hand_back(b);
		if (undo(b, err) < 0)
			count = -1;
	}
	free(b);
	return count;
}

/* ---- by hand ----------------------------------------------------------- */

static enum tide_ban_fate
decide_by_hand(
    void *arg, size_t i, struct tide_ban *ban, const struct tide_ban *old)
{
	const struct tide_ban_terms *terms = arg;

	(void)i;
	(void)tide_ban_settle(ban, old, terms);
	return TIDE_BAN_STORE;
}

int
ban_by_hand(struct collector *c, const struct tide_key *key, uint64_t for_ms,
    const char *reason, struct tide_ban *ban, struct tide_err *err)
{
	struct tide_ban_terms terms = { .now_ms = tide_map_now_ms(c->map) };
	int rc;

	memset(ban, 0, sizeof *ban);
	ban->until_ms = terms.now_ms + for_ms;
	ban->times = 1;
	ban->group = TIDE_BAN_MANUAL;
	ban->length = key->length;
	memcpy(ban->key, key->text, key->length);
	(void)snprintf(ban->reason, sizeof ban->reason, "%s", reason);
	(void)pthread_mutex_lock(&c->hand_lock);
	if (atomic_load(&c->map->bans->standing) >= c->map->head->bans &&
	    !ban_is_placed(c, ban)) {
		tell_unplaced(c, ban, "max_bans is reached");
		rc = tide_err_set(err,
		    "no place: %u bans stand, which is max_bans; lift some, "
		    "or raise it and restart",
		    c->map->head->bans);
	} else {
		rc = tide_archive_change_bans(
		    &c->archive, ban, 1, decide_by_hand, &terms, err);
	}
	if (rc == 0)
		publish_ban(c, ban);
	(void)pthread_mutex_unlock(&c->hand_lock);
	if (rc == 0)
		tide_log(TIDE_LOG_WARNING, "ban: key=%s by hand for %llu s",
		    ban->key,
		    (unsigned long long)(ban->until_ms - terms.now_ms) / 1000);
	return rc;
}

/* What is on its way to a ban on the key will be none; is there any? */
static bool
lift_work(struct collector *c, const struct tide_ban *ban)
{
	bool any = false;
	unsigned i;

	(void)pthread_mutex_lock(&c->lock);
	for (i = 0; i < BAN_WORKS; i++) {
		struct ban_work *w = &c->work[i];

		if (w->ticket != 0 && w->ban.length == ban->length &&
		    memcmp(w->ban.key, ban->key, ban->length) == 0)
			any = w->lifted = true;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return any;
}

struct lifting {
	struct collector *c;
	struct tide_ban old; /* as it was stored */
	bool stood, coming;
};

/*
 * Within the transaction, so that what is queued later is also stored later:
 * it is another ban, and stays.
 */
static enum tide_ban_fate
decide_to_lift(
    void *arg, size_t i, struct tide_ban *ban, const struct tide_ban *old)
{
	struct lifting *l = arg;

	(void)i;
	l->coming = lift_work(l->c, ban);
	l->stood = old != NULL;
	if (old != NULL)
		l->old = *old;
	return TIDE_BAN_DELETE;
}

/* From the map, unless a new one has been made since. */
static bool
withdraw(
    struct collector *c, const struct tide_key *key, const struct lifting *l)
{
	const uint8_t *secret = c->map->flow->secret;
	struct tide_ban there;
	bool gone = false;

	(void)pthread_mutex_lock(&c->ban_lock);
	if (tide_bans_find(c->map->bans, secret, key, 0, &there) &&
	    (!l->stood || !tide_ban_is_newer(&there, &l->old)))
		gone = tide_bans_withdraw(c->map->bans, secret, key);
	(void)pthread_mutex_unlock(&c->ban_lock);
	return gone;
}

static int
lift(struct collector *c, const struct tide_key *key, struct tide_ban *was,
    struct tide_err *err)
{
	struct lifting l = { .c = c };
	struct tide_ban ban = { .length = key->length };
	int rc;

	memcpy(ban.key, key->text, key->length);
	(void)pthread_mutex_lock(&c->hand_lock);
	rc = tide_archive_change_bans(
	    &c->archive, &ban, 1, decide_to_lift, &l, err);
	if (rc == 0)
		rc = withdraw(c, key, &l) || l.stood || l.coming;
	(void)pthread_mutex_unlock(&c->hand_lock);
	egress_touch(c, TIDE_EGRESS_BAN);
	*was = l.old;
	return rc;
}

int
unban(struct collector *c, const struct tide_key *key, struct tide_ban *was,
    struct tide_err *err)
{
	int rc = lift(c, key, was, err);

	if (rc == 1)
		tide_log(TIDE_LOG_WARNING, "ban: key=%s lifted", key->text);
	return rc;
}

/* ---- forgetting -------------------------------------------------------- */

#define FORGET_BATCH 64u /* keys found in one look */

struct found {
	means_key *means;
	void *arg;
	struct tide_key key[FORGET_BATCH];
	unsigned keys;
	unsigned all; /* also those for which there was no room */
};

static void
note_key(struct found *f, const char *text, size_t length)
{
	struct tide_key *key = &f->key[f->keys];

	f->all++;
	if (f->keys == FORGET_BATCH)
		return;
	memset(key, 0, sizeof *key);
	key->length = (uint8_t)length;
	memcpy(key->text, text, length);
	f->keys++;
}

static int
find_stored(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct found *f = arg;

	(void)value;
	(void)err;
	if (key.size <= TIDE_KEY_MAX && f->means(f->arg, key.data, key.size))
		note_key(f, key.data, key.size);
	return 0;
}

/* Those that stand in the map alone. */
static int
find_published(struct collector *c, struct found *f, struct tide_txn *txn,
    struct tide_err *err)
{
	struct tide_bytes value;
	struct tide_ban ban;
	uint32_t i;
	int stored = 0;

	for (i = 0; stored >= 0 && i < tide_bans_entries(c->map->head->bans);
	     i++) {
		if (!tide_bans_at(c->map->bans, i, &ban) ||
		    !f->means(f->arg, ban.key, ban.length))
			continue;
		stored = tide_txn_get(txn, TIDE_TABLE_BANS,
		    tide_bytes(ban.key, ban.length), &value, err);
		if (stored == 0)
			note_key(f, ban.key, ban.length);
	}
	return stored < 0 ? -1 : 0;
}

/* In the archive, and in the map: also those whose time is over. */
static int
find_bans(struct collector *c, struct found *f, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(c->archive.store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_txn_walk(
	    txn, TIDE_TABLE_BANS, tide_bytes("", 0), find_stored, f, err);
	if (rc == 0)
		rc = find_published(c, f, txn, err);
	tide_txn_abort(txn);
	return rc;
}

int
forget_bans(struct collector *c, means_key *means, void *arg, bool dry,
    struct tide_err *err)
{
	struct found f = { .means = means, .arg = arg };
	struct tide_ban was;
	unsigned i, gone = 0;
	int rc = 0;

	do {
		f.keys = f.all = 0;
		if (find_bans(c, &f, err) < 0)
			return -1;
		if (dry)
			return (int)f.all;
		for (i = 0; rc >= 0 && i < f.keys; i++) {
			rc = lift(c, &f.key[i], &was, err);
			gone += rc == 1;
		}
	} while (rc >= 0 && f.all > f.keys);
	return rc < 0 ? -1 : (int)gone;
}
