/*
 * ban table - the bans in the map: loaded, published, swept.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collector.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/base/clock.h"
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
#include "tidemark/shared/counters.h"

#define COMPLAIN_EVERY_MS 60000

static struct tide_key
key_of(const struct tide_ban *ban)
{
	struct tide_key key = { .length = ban->length };

	memcpy(key.text, ban->key, ban->length);
	return key;
}

/* Counted each time, told once a minute. */
void
tell_unplaced(struct collector *c, const struct tide_ban *ban, const char *full)
{
	static _Atomic uint64_t told_ms;
	uint64_t now = tide_clock_mono_ms(), last = atomic_load(&told_ms);

	tide_count(c->map->counters, TIDE_COUNT_BANS_UNPLACED, 1);
	if ((last != 0 && now < last + COMPLAIN_EVERY_MS) ||
	    !atomic_compare_exchange_strong(&told_ms, &last, now))
		return;
	tide_log(TIDE_LOG_ERROR,
	    "ban: key=%s finds no place: %s (max_bans = %u); it is not "
	    "banned, and others may not be",
	    ban->key, full, c->map->head->bans);
}

bool
ban_is_placed(struct collector *c, const struct tide_ban *ban)
{
	struct tide_key key = key_of(ban);
	struct tide_ban there;

	return tide_bans_find(
	    c->map->bans, c->map->flow->secret, &key, 0, &there);
}

/* Two threads publish: what is in the map may be the later writing. */
void
publish_ban(struct collector *c, const struct tide_ban *ban)
{
	const uint8_t *secret = c->map->flow->secret;
	struct tide_key key = key_of(ban);
	struct tide_ban there;
	bool placed;

	(void)pthread_mutex_lock(&c->ban_lock);
	if (tide_bans_find(c->map->bans, secret, &key, 0, &there) &&
	    tide_ban_is_newer(&there, ban))
		placed = true;
	else
		placed = tide_bans_publish(c->map->bans, secret, ban);
	(void)pthread_mutex_unlock(&c->ban_lock);
	if (!placed)
		tell_unplaced(c, ban, "max_bans is reached");
	egress_touch(c, TIDE_EGRESS_BAN);
}

/* ---- at start, and when their time is over ----------------------------- */

/* Sweeping so many entries holds nobody up. */
#define SLICE 256u

struct load {
	struct collector *c;
	bool favoured; /* who is to be loaded */
	unsigned no_place;
};

static void
load_ban(void *arg, const struct tide_ban *ban)
{
	struct load *l = arg;
	struct tide_map *map = l->c->map;

	if (tide_ban_is_favoured(ban) == l->favoured &&
	    !tide_bans_publish(map->bans, map->flow->secret, ban))
		l->no_place++;
}

/* What is in doubt stands. */
static bool
is_stored(void *arg, const struct tide_ban *ban)
{
	struct collector *c = arg;
	struct tide_key key = key_of(ban);
	struct tide_ban stored;
	struct tide_err err;

	return tide_archive_get_ban(&c->archive, &key, &stored, &err) != 0;
}

/* Once; how many have found no place, or -1. */
static int
load_all(struct collector *c, struct tide_err *err)
{
	struct load l = { .c = c, .favoured = true };
	uint64_t now = tide_map_now_ms(c->map);

	if (tide_archive_walk_bans(&c->archive, now, load_ban, &l, err) < 0)
		return -1;
	l.favoured = false;
	if (tide_archive_walk_bans(&c->archive, now, load_ban, &l, err) < 0)
		return -1;
	return (int)l.no_place;
}

/* What stands there stays: nobody who is banned gets a moment in between. */
int
load_bans(struct collector *c, struct tide_err *err)
{
	const uint8_t *secret = c->map->flow->secret;
	struct tide_bans *b = c->map->bans;
	int no_place;

	tide_bans_open(b, c->map->head->bans);
	no_place = load_all(c, err);
	if (no_place < 0)
		return -1;
	if (tide_bans_sweep(b, secret, 0, UINT32_MAX, is_stored, c) > 0 &&
	    no_place > 0)
		no_place = load_all(c, err);
	tide_bans_recount(b);
	if (no_place > 0)
		tide_log(TIDE_LOG_ERROR,
		    "%d bans of the archive find no place: max_bans = %u is "
		    "reached",
		    no_place, c->config.max_bans);
	return no_place < 0 ? -1 : 0;
}

static bool
still_stands(void *now_ms, const struct tide_ban *ban)
{
	return ban->until_ms > *(const uint64_t *)now_ms;
}

void
expire_bans(struct collector *c, uint64_t now_ms)
{
	const uint8_t *secret = c->map->flow->secret;
	uint32_t i, gone = 0, entries = tide_bans_entries(c->map->head->bans);

	for (i = 0; i < entries; i += SLICE) {
		(void)pthread_mutex_lock(&c->ban_lock);
		gone += tide_bans_sweep(
		    c->map->bans, secret, i, SLICE, still_stands, &now_ms);
		(void)pthread_mutex_unlock(&c->ban_lock);
	}
	if (gone > 0)
		egress_touch(c, TIDE_EGRESS_BAN);
}
