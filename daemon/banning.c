/*
 * banning - how long, durable, and in the map.
 */
#include <stdio.h>
#include <string.h>

#include "collector.h"
#include "tidemark/clock.h"
#include "tidemark/log.h"

void
publish_ban(struct collector *c, const struct tide_ban *ban)
{
	(void)pthread_mutex_lock(&c->ban_lock);
	tide_bans_publish(c->map->bans, c->map->flow.head->secret, ban);
	(void)pthread_mutex_unlock(&c->ban_lock);
	egress_touch(c, TIDE_EGRESS_BAN);
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * A new ban lasts as its group says; one that is lengthened (SBSENDER, or a
 * second overflow while it stands) goes on from its end, up to ban_most.
 * One that two profiles have made stands everywhere.  True if it is new.
 */
static bool
settle(const struct tide_config *config, struct tide_ban *ban,
    const struct tide_ban *old, uint64_t now)
{
	const struct tide_limit *l =
	    &config->profile[ban->profile].group[ban->group];
	uint64_t most = now + config->ban_most;

	ban->since_ms = now;
	ban->until_ms = sooner(now + l->ban, most);
	if (old == NULL || old->until_ms <= now)
		return true;
	ban->since_ms = old->since_ms;
	ban->times += old->times;
	if (old->profile != ban->profile)
		ban->profile = TIDE_BAN_EVERYWHERE;
	ban->until_ms = later(ban->group == TIDE_SBSENDER
		? sooner(old->until_ms + l->ban, most)
		: ban->until_ms,
	    old->until_ms);
	if (ban->group == TIDE_SBSENDER || old->group == TIDE_BAN_MANUAL) {
		ban->group = old->group; /* why it stands has not changed */
		memcpy(ban->reason, old->reason, sizeof ban->reason);
	}
	return false;
}

/* The same overflow again, after a crash: as it is stored. */
static bool
is_replay(const struct tide_ban *new, const struct tide_ban *old)
{
	return old->slot == new->slot && old->group == new->group &&
	    old->profile == new->profile;
}

static int
prepare(struct collector *c, const struct tide_config *config,
    struct tide_ban *ban, bool *first, struct tide_err *err)
{
	uint64_t now = tide_clock_wall_ms();
	struct tide_ban old;
	struct tide_key key = { .length = ban->length };
	int found;

	memcpy(key.text, ban->key, ban->length);
	found = tide_archive_get_ban(&c->archive, &key, &old, err);
	if (found < 0)
		return -1;
	if (found == 1 && is_replay(ban, &old) && old.until_ms > now)
		*ban = old;
	else
		*first = settle(config, ban, found == 1 ? &old : NULL, now);
	return 0;
}

/* Those that were lifted while they were stored. */
static int
forget_lifted(struct collector *c, const struct tide_ban *ban,
    const bool *lifted, unsigned n, struct tide_err *err)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		struct tide_key key = { .length = ban[i].length };

		memcpy(key.text, ban[i].key, ban[i].length);
		if (lifted[i] &&
		    tide_archive_del_ban(&c->archive, &key, err) < 0)
			return -1;
	}
	return 0;
}

/* B2: everything that is queued, in one transaction. */
int
commit_bans(
    struct collector *c, const struct tide_config *config, struct tide_err *err)
{
	struct tide_ban ban[BAN_WORKS];
	bool first[BAN_WORKS] = { false };
	unsigned from[BAN_WORKS], i, n = 0;
	bool lifted[BAN_WORKS];
	int rc = 0;

	(void)pthread_mutex_lock(&c->lock);
	c->bans_queued = false;
	for (i = 0; i < BAN_WORKS; i++) {
		if (c->work[i].used && !c->work[i].durable) {
			ban[n] = c->work[i].ban;
			from[n++] = i;
		}
	}
	(void)pthread_mutex_unlock(&c->lock);
	for (i = 0; rc == 0 && i < n; i++)
		rc = prepare(c, config, &ban[i], &first[i], err);
	if (rc == 0 && n > 0)
		rc = tide_archive_put_bans(&c->archive, ban, n, err);
	if (rc < 0)
		return -1;
	(void)pthread_mutex_lock(&c->lock);
	for (i = 0; i < n; i++) {
		ban[i].slot = c->work[from[i]].ban.slot;
		c->work[from[i]].settled = ban[i];
		c->work[from[i]].first = first[i];
		c->work[from[i]].durable = true;
		lifted[i] = c->work[from[i]].lifted;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return forget_lifted(c, ban, lifted, n, err) < 0 ? -1 : (int)n;
}

/* ---- by hand ----------------------------------------------------------- */

int
ban_by_hand(struct collector *c, const struct tide_key *key, uint64_t for_ms,
    const char *reason, struct tide_ban *ban, struct tide_err *err)
{
	uint64_t now = tide_clock_wall_ms();

	memset(ban, 0, sizeof *ban);
	ban->since_ms = now;
	ban->until_ms = now + for_ms;
	ban->times = 1;
	ban->group = TIDE_BAN_MANUAL;
	ban->profile = TIDE_BAN_EVERYWHERE;
	ban->length = key->length;
	memcpy(ban->key, key->text, key->length);
	(void)snprintf(ban->reason, sizeof ban->reason, "%s", reason);
	if (tide_archive_put_bans(&c->archive, ban, 1, err) < 0)
		return -1;
	publish_ban(c, ban);
	tide_log(TIDE_LOG_WARNING, "ban: key=%s by hand for %llu s", ban->key,
	    (unsigned long long)for_ms / 1000);
	return 0;
}

/* What is on its way to a ban on the key will be none; is there any? */
static bool
lift_work(struct collector *c, const struct tide_key *key)
{
	bool any = false;
	unsigned i;

	(void)pthread_mutex_lock(&c->lock);
	for (i = 0; i < BAN_WORKS; i++) {
		struct ban_work *w = &c->work[i];

		if (w->used && w->ban.length == key->length &&
		    memcmp(w->ban.key, key->text, key->length) == 0)
			any = w->lifted = true;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return any;
}

/* 1 lifted, 0 there was none, -1. */
int
unban(struct collector *c, const struct tide_key *key, struct tide_err *err)
{
	bool coming = lift_work(c, key); /* first: it may get durable now */
	int gone = tide_archive_del_ban(&c->archive, key, err);

	if (gone < 0)
		return -1;
	if (coming)
		gone = 1;
	(void)pthread_mutex_lock(&c->ban_lock);
	if (tide_bans_withdraw(c->map->bans, c->map->flow.head->secret, key))
		gone = 1;
	(void)pthread_mutex_unlock(&c->ban_lock);
	egress_touch(c, TIDE_EGRESS_BAN);
	if (gone == 1)
		tide_log(TIDE_LOG_WARNING, "ban: key=%s lifted", key->text);
	return gone;
}
