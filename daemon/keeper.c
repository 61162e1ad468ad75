/*
 * keeper - the collector's first thread, as far as flow is concerned: drain,
 * leak, and turn overflows into bans.
 *
 * PROTOCOL overflow: from a full bucket to a refused sender, nothing lost.
 *  B1 the keeper meets an overflowed bucket, queues a ban, lets it be
 *  B2 the archivist commits what is queued, all in one transaction
 *  B3 the keeper meets it again (each round), publishes the ban in the map
 *  B4 and only then leaves the overflow (pool.h: on_overflow returns true)
 * Why:   a ban that anybody has seen is durable; until B4 the bucket itself
 *        answers as overflowed, and who came past RCPT before B3 meets the
 *        ban at the end of message, so nobody slips through in between; no
 *        fsync ever holds up drain or leak.
 * Crash: after B1 or B2: the bucket is still overflowed, the next collector
 *        starts at B1; the ban carries the overflow's slot, so that B2 knows
 *        the same overflow again and changes nothing.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "collector.h"
#include "tidemark/clock.h"
#include "tidemark/log.h"
#include "tidemark/sizing.h"

unsigned
class_of(unsigned profile, unsigned group)
{
	return profile * TIDE_GROUPS + group;
}

/* ---- overflows --------------------------------------------------------- */

static bool
is_same(const struct ban_work *w, const struct tide_overflow *o)
{
	return w->used && w->ban.slot == o->slot &&
	    class_of(w->ban.profile, w->ban.group) == o->class &&
	    w->ban.length == o->length &&
	    memcmp(w->ban.key, o->key, o->length) == 0;
}

static struct ban_work *
find_work(struct collector *c, const struct tide_overflow *o)
{
	unsigned i;

	for (i = 0; i < BAN_WORKS; i++)
		if (is_same(&c->work[i], o))
			return &c->work[i];
	return NULL;
}

static void
queue_ban(struct collector *c, const struct tide_overflow *o)
{
	unsigned i;

	for (i = 0; i < BAN_WORKS && c->work[i].used; i++)
		;
	if (i == BAN_WORKS || o->length > TIDE_KEY_MAX)
		return; /* asked again next round */
	memset(&c->work[i], 0, sizeof c->work[i]);
	c->work[i].used = true;
	c->work[i].ban = (struct tide_ban){ .slot = o->slot,
		.times = o->times,
		.profile = (uint8_t)(o->class / TIDE_GROUPS),
		.group = (uint8_t)(o->class % TIDE_GROUPS),
		.length = (uint8_t)o->length };
	memcpy(c->work[i].ban.key, o->key, o->length);
	c->bans_queued = true;
	(void)pthread_cond_broadcast(&c->changed);
}

static void
announce(struct collector *c, const struct tide_ban *ban, unsigned profile)
{
	char until[32];

	publish_ban(c, ban);
	tide_count_profile(c->map->counters, profile, TIDE_COUNT_BANS_MADE, 1);
	tide_log(TIDE_LOG_WARNING, "ban: key=%s group=%s until=%s times=%u",
	    ban->key,
	    ban->group < TIDE_GROUPS ? tide_group_name[ban->group] : "-",
	    tide_clock_show(ban->until_ms, until, sizeof until), ban->times);
}

static bool
enforce(struct collector *c, const struct tide_overflow *o)
{
	struct ban_work *w = find_work(c, o);

	if (w == NULL) {
		queue_ban(c, o); /* B1 */
		return false;
	}
	if (!w->durable)
		return false;
	announce(c, &w->settled, w->ban.profile); /* B3 */
	if (w->first)
		hook_start(c, &w->settled);
	w->used = false;
	return true; /* B4 */
}

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	struct collector *c = arg;
	unsigned profile = o->class / TIDE_GROUPS;
	bool done = true;

	(void)pthread_mutex_lock(&c->lock);
	if (profile < c->config.profiles) {
		const struct tide_limit *l =
		    &c->config.profile[profile].group[o->class % TIDE_GROUPS];

		if (l->mode == TIDE_MODE_ENFORCE)
			done = enforce(c, o);
		else
			tide_count_profile(c->map->counters, profile,
			    TIDE_COUNT_BANS_DRY, o->times);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return done;
}

/* ---- classes ----------------------------------------------------------- */

static uint32_t
depth_of(const struct tide_limit *l)
{
	struct tide_err err;
	uint64_t depth;

	if (l->mode == TIDE_MODE_OFF ||
	    tide_size_leaky(l->limit, l->leak, &depth, &err) < 0)
		return 0;
	return depth > TIDE_DEPTH_MAX ? TIDE_DEPTH_MAX : (uint32_t)depth;
}

static void
set_classes(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms();
	unsigned p, g;

	for (p = 0; p < TIDE_PROFILES_MAX; p++) {
		for (g = 0; g < TIDE_GROUPS; g++) {
			const struct tide_limit *l =
			    &c->config.profile[p].group[g];

			tide_pool_set_class(&c->pool, class_of(p, g),
			    p < c->config.profiles ? depth_of(l) : 0, l->leak,
			    now);
		}
	}
	c->classes_stale = false;
}

/* ---- opening, and the rounds ------------------------------------------- */

static void
load_ban(void *arg, const struct tide_ban *ban)
{
	publish_ban(arg, ban);
}

static int
open_pool(struct collector *c, struct tide_err *err)
{
	struct tide_flow *f = &c->map->flow;
	uint8_t secret[16];

	c->pool = (struct tide_pool){ .flow = f,
		.slots = c->map->slots,
		.slot_count = c->map->control->head.slots,
		.on_overflow = on_overflow,
		.arg = c };
	if (f->head->shape.buckets != 0)
		return tide_pool_rebuild(&c->pool, err);
	if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
		return tide_err_errno(err, "drawing a secret");
	f->head->shape = c->map->control->head.flow;
	tide_pool_format(f, secret);
	return 0;
}

int
keeper_open(struct collector *c, struct tide_err *err)
{
	if (open_pool(c, err) < 0)
		return -1;
	set_classes(c);
	tide_bans_clear(c->map->bans, c->map->control->head.bans);
	return tide_archive_walk_bans(
	    &c->archive, tide_clock_wall_ms(), load_ban, c, err);
}

void
keeper_round(struct collector *c)
{
	bool stale;

	(void)pthread_mutex_lock(&c->lock);
	stale = c->classes_stale;
	if (stale)
		set_classes(c);
	(void)pthread_mutex_unlock(&c->lock);
	(void)tide_pool_drain(&c->pool);
	tide_pool_leak(&c->pool, tide_clock_mono_ms());
	tide_pool_resolve(&c->pool);
	hook_round(c);
}
