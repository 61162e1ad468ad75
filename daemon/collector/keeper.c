/*
 * keeper - the collector's first thread, as far as flow is concerned: drain,
 * leak, and turn overflows into bans.
 *
 * PROTOCOL overflow: from a full bucket to a refused sender, nothing lost.
 *  B1 the keeper meets an overflowed bucket, queues a ban, lets it be
 *  B2 the archivist commits what is queued, all in one transaction
 *  B3 the keeper meets it again (each round), publishes the ban in the map
 *  B4 and only then leaves the overflow (pool.h: on_overflow returns true)
 * Undo:  a group that is no longer enforced makes no ban.  What is queued is
 *        let go; what is stored, or is being stored at that moment, goes back
 *        to what it was before in the archivist's same round.  A place has a
 *        ticket, which B2 compares when it comes back: it may be another
 *        overflow's by then.  The same for an overflow that is told no more
 *        (its bucket was given another one): if it is stored it is published,
 *        else let go.
 * Why:   a ban that anybody has seen is durable; until B4 the bucket itself
 *        answers as overflowed, and who came past RCPT before B3 meets the
 *        ban at the end of message, so nobody slips through in between; no
 *        fsync ever holds up drain or leak.
 * Crash: after B1, B2 or B3: the bucket is still overflowed, the next
 *        collector starts at B1; the ban carries the overflows that it is
 *        made of, by the map, class and number (buckets.h), stored in the
 *        same transaction, so that B2 knows the same overflow again and
 *        changes nothing.  A second overflow has another number.
 * Test:  tests/daemon/lib/flow/t_bans.c, t_buckets.c,
 *        tests/tools/flow/t_flow.sh, tests/daemon/t_in_flight.sh
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "collector.h"
#include "tidemark/archive/carried.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/flow_state.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/head.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/overrides.h"
#include "tidemark/shared/counters.h"

#define AUDIT_EVERY_MS 600000
#define FORGOTTEN_MS 10000
#define POOL_TELL_MS 60000

#define SLICES 4096u /* of the table of tokens, one a round */

/* ---- overflows --------------------------------------------------------- */

static bool
is_same(const struct ban_work *w, const struct tide_overflow *o)
{
	return w->ticket != 0 && w->state != BAN_UNDO &&
	    w->number == o->number && w->class == o->class &&
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
queue_ban(
    struct collector *c, const struct tide_overflow *o, struct tide_class_id id)
{
	unsigned i;

	for (i = 0; i < BAN_WORKS && c->work[i].ticket != 0; i++)
		;
	if (i == BAN_WORKS || o->length > TIDE_KEY_MAX)
		return; /* asked again next round */
	memset(&c->work[i], 0, sizeof c->work[i]);
	c->work[i].ticket = ++c->ticket;
	c->work[i].met_ms = tide_clock_mono_ms();
	c->work[i].class = o->class;
	c->work[i].profile = id.profile;
	c->work[i].number = o->number;
	c->work[i].ban = (struct tide_ban){ .times = o->times,
		.map = (uint32_t)c->map->head->instance,
		.cause = { tide_ban_cause(o->class, o->number) },
		.group = (uint8_t)id.group,
		.length = (uint8_t)o->length };
	memcpy(c->work[i].ban.profile, c->config.profile[id.profile].name,
	    TIDE_NAME_MAX);
	memcpy(c->work[i].ban.key, o->key, o->length);
	c->bans_queued = true;
	(void)pthread_cond_broadcast(&c->changed);
}

/* And its place is free. */
static void
announce(struct collector *c, struct ban_work *w)
{
	const struct tide_ban *ban = &w->change.settled;
	char until[32];

	w->ticket = 0;
	if (w->change.full != NULL)
		tell_unplaced(c, &w->ban, w->change.full);
	if (w->lifted || ban->length == 0)
		return; /* lifted, or none was made of it */
	publish_ban(c, ban);
	tide_count_profile(
	    c->map->counters, w->profile, TIDE_COUNT_BANS_MADE, 1);
	tide_log(TIDE_LOG_WARNING, "ban: key=%s group=%s until=%s times=%u",
	    ban->key,
	    ban->group < TIDE_GROUPS ? tide_group_name[ban->group] : "-",
	    tide_clock_show(ban->until_ms, until, sizeof until), ban->times);
	if (w->change.first)
		hook_start(c, ban, w->profile);
}

static bool
enforce(
    struct collector *c, const struct tide_overflow *o, struct tide_class_id id)
{
	struct ban_work *w = find_work(c, o);

	if (w == NULL) {
		queue_ban(c, o, id); /* B1 */
		return false;
	}
	w->met_ms = tide_clock_mono_ms();
	if (w->state != BAN_DURABLE)
		return false;
	announce(c, w); /* B3 */
	return true;	/* B4 */
}

/* The group is not enforced any more. */
static void
undo_work(struct collector *c, struct ban_work *w)
{
	if (w->state == BAN_QUEUED || w->lifted) {
		w->ticket = 0; /* if it is being stored, B2 misses it */
		return;
	}
	w->state = BAN_UNDO;
	c->bans_queued = true;
	(void)pthread_cond_broadcast(&c->changed);
}

static bool
is_enforced(const struct collector *c, unsigned profile, unsigned group)
{
	return c->config.profile[profile].group[group].mode ==
	    TIDE_MODE_ENFORCE;
}

static void
let_go(
    struct collector *c, const struct tide_overflow *o, struct tide_class_id id)
{
	struct ban_work *w = find_work(c, o);

	if (w != NULL)
		undo_work(c, w);
	tide_count_profile(
	    c->map->counters, id.profile, TIDE_COUNT_BANS_DRY, o->times);
}

/*
 * A key that many share is never banned.  Its bucket does not overflow, but
 * did in a map that an older version left us, and may in a worker's hands.
 */
static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	struct collector *c = arg;
	struct tide_class_id id;
	bool done = true;

	if (tide_key_is_shared(o->key, o->length))
		return true;
	(void)pthread_mutex_lock(&c->lock);
	if (tide_class_describe(c->config.profiles, o->class, &id)) {
		if (is_enforced(c, id.profile, id.group))
			done = enforce(c, o, id);
		else
			let_go(c, o, id);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return done;
}

/* Overflows that nobody tells any more must not hold their places. */
static void
drop_forgotten(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms();
	unsigned i;

	(void)pthread_mutex_lock(&c->lock);
	for (i = 0; i < BAN_WORKS; i++) {
		struct ban_work *w = &c->work[i];

		if (w->ticket == 0 || w->state == BAN_UNDO ||
		    now < w->met_ms + FORGOTTEN_MS)
			continue;
		if (w->state == BAN_DURABLE &&
		    is_enforced(c, w->profile, w->ban.group))
			announce(c, w);
		else
			undo_work(c, w);
	}
	(void)pthread_mutex_unlock(&c->lock);
}

/* ---- classes ----------------------------------------------------------- */

static void
set_classes(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms(), leak = 0;
	struct tide_class_id id;
	uint32_t depth;
	unsigned class;

	for (class = 0; class < TIDE_CLASSES; class ++) {
		depth = 0;
		if (tide_class_describe(c->config.profiles, class, &id))
			depth = tide_class_depth(&c->config, id, &leak);
		tide_pool_set_class(&c->pool, class, depth, leak, now);
	}
	c->classes_stale = false;
}

/* ---- allowances -------------------------------------------------------- */

/* What a sweep takes for too far ahead: nothing that any limit could say. */
uint64_t
keeper_longest(const struct tide_config *c)
{
	struct tide_overrides overrides = { 0 };
	struct tide_allowance a[1 + TIDE_TOKENS_ALSO];
	struct tide_err err;
	uint64_t ms, longest;
	unsigned p;
	int i;

	if (tide_overrides_attach(&overrides, c->runtime_dir, &err) < 0)
		tide_log(TIDE_LOG_WARNING, "%s", err.text);
	longest = tide_overrides_longest_ms(&overrides);
	tide_overrides_free(&overrides);
	for (p = 0; p < c->profiles; p++) {
		const struct tide_profile *f = &c->profile[p];

		if (tide_allowance_make(
			&a[0], f->tokens_burst, f->tokens_rate, &err) < 0)
			continue;
		for (i = tide_tokens_also(f->tokens_also, a + 1, &err); i >= 0;
		     i--) {
			ms = tide_allowance_depth_ms(&a[i]);
			if (ms > longest)
				longest = ms;
		}
	}
	return longest;
}

/* A slice each round, all of them in about 20 s. */
static void
sweep_tokens(struct collector *c)
{
	const struct tide_tokens *t = c->map->tokens;
	struct tide_tokens_sweep found = { 0 };
	uint64_t slice = t->capacity / SLICES;

	if (slice < TIDE_TOKENS_BLOCK)
		slice = TIDE_TOKENS_BLOCK;
	tide_tokens_sweep(
	    t, c->swept, slice, tide_clock_mono_ms(), c->longest_ms, &found);
	c->swept = (c->swept + slice) % t->capacity;
}

/* ---- opening, and the rounds ------------------------------------------- */

static int
open_pool(struct collector *c, struct tide_err *err)
{
	struct tide_flow *f = c->map->flow;

	c->pool = (struct tide_pool){ .flow = f,
		.workers = c->map->workers,
		.on_overflow = on_overflow,
		.arg = c };
	c->pool_noted.malformed = atomic_load(&f->head->malformed);
	if (f->head->shape.buckets != 0)
		return tide_pool_rebuild(&c->pool, err);
	f->head->shape = c->map->head->flow;
	tide_pool_format(f, f->secret);
	return 0;
}

/* How long ago a part was taken. */
static uint64_t
gone(const struct tide_carried *c, enum tide_carried_id id)
{
	uint64_t now = tide_clock_wall_ms(), then = c->part[id].taken_ms;

	return now > then ? now - then : 0;
}

/* What a map that is gone knew of senders, as it would be by now. */
static void
load_carried(struct collector *c)
{
	struct tide_carried *from = &c->carried;
	uint64_t mono = tide_clock_mono_ms();
	int class[TIDE_CLASSES];
	unsigned buckets, tokens, distinct;

	if (from->taken_ms == 0)
		return;
	tide_classes_translate(&from->profiles, c->map->profiles, class);
	buckets =
	    tide_flow_load(&c->pool, from->part[TIDE_CARRIED_BUCKETS].bytes,
		from->part[TIDE_CARRIED_BUCKETS].size, class,
		gone(from, TIDE_CARRIED_BUCKETS));
	tokens = tide_tokens_load(c->map->tokens,
	    from->part[TIDE_CARRIED_TOKENS].bytes,
	    from->part[TIDE_CARRIED_TOKENS].size, mono,
	    gone(from, TIDE_CARRIED_TOKENS));
	distinct = tide_distinct_load(c->map->distinct,
	    from->part[TIDE_CARRIED_DISTINCT].bytes,
	    from->part[TIDE_CARRIED_DISTINCT].size, mono,
	    gone(from, TIDE_CARRIED_DISTINCT));
	tide_log(TIDE_LOG_INFO,
	    "carried over: %u buckets, %u allowances, %u estimates", buckets,
	    tokens, distinct);
	tide_carried_free(from);
}

int
keeper_open(struct collector *c, struct tide_err *err)
{
	if (open_pool(c, err) < 0)
		return -1;
	set_classes(c);
	c->longest_ms = keeper_longest(&c->config);
	load_carried(c);
	return load_bans(c, err);
}

/* Every so often the books are checked, whether anybody asks or not. */
static void
audit_in_the_background(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms();
	struct tide_err err;
	unsigned faults;

	if (now < c->audited_ms + AUDIT_EVERY_MS)
		return;
	c->audited_ms = now;
	faults = tide_pool_audit(&c->pool, &err);
	tide_count(c->map->counters, TIDE_COUNT_AUDITS, 1);
	tide_count(c->map->counters, TIDE_COUNT_AUDIT_FAULTS, faults);
	if (faults > 0)
		tide_log(TIDE_LOG_ERROR, "audit: %u faults, the first: %s",
		    faults, err.text);
}

static void
tell_pool(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms();

	if ((c->pool_noted.unplaced == 0 && c->pool_noted.bad == 0) ||
	    (c->pool_noted.told_ms != 0 &&
		now < c->pool_noted.told_ms + POOL_TELL_MS))
		return;
	if (c->pool_noted.unplaced > 0)
		tide_log(TIDE_LOG_WARNING,
		    "no room for the text of %llu new keys, which are not "
		    "counted: raise max_buckets",
		    (unsigned long long)c->pool_noted.unplaced);
	if (c->pool_noted.bad > 0)
		tide_log(TIDE_LOG_WARNING,
		    "%llu posts or buckets of workers made no sense",
		    (unsigned long long)c->pool_noted.bad);
	c->pool_noted.unplaced = c->pool_noted.bad = 0;
	c->pool_noted.told_ms = now;
}

/* What the pool could not take: counted at once, told once a minute. */
static void
note_pool(struct collector *c)
{
	uint64_t malformed = atomic_load(&c->pool.flow->head->malformed);
	uint64_t unplaced = c->pool.keys_unplaced;
	uint64_t bad = malformed - c->pool_noted.malformed;

	c->pool.keys_unplaced = 0;
	c->pool_noted.malformed = malformed;
	c->pool_noted.unplaced += unplaced;
	c->pool_noted.bad += bad;
	tide_count(c->map->counters, TIDE_COUNT_KEYS_UNPLACED, unplaced);
	tide_count(c->map->counters, TIDE_COUNT_POSTS_MALFORMED, bad);
	tell_pool(c);
}

static uint64_t
counted(
    const struct collector *c, enum tide_counter one, enum tide_counter other)
{
	return tide_counter_get(c->map->counters, -1, one) +
	    tide_counter_get(c->map->counters, -1, other);
}

/* Accounts found no place: workers count it, it is told once a minute. */
static void
tell_accounts(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms();
	uint64_t by_client = counted(
	    c, TIDE_COUNT_TOKENS_BY_CLIENT, TIDE_COUNT_DISTINCT_BY_CLIENT);
	uint64_t uncounted = counted(
	    c, TIDE_COUNT_TOKENS_UNCOUNTED, TIDE_COUNT_DISTINCT_UNCOUNTED);

	if (c->accounts_noted.told_ms == 0) { /* of collectors before us */
		c->accounts_noted.by_client = by_client;
		c->accounts_noted.uncounted = uncounted;
		c->accounts_noted.told_ms = 1;
	}
	if ((by_client == c->accounts_noted.by_client &&
		uncounted == c->accounts_noted.uncounted) ||
	    (c->accounts_noted.told_ms > 1 &&
		now < c->accounts_noted.told_ms + POOL_TELL_MS))
		return;
	tide_log(TIDE_LOG_WARNING,
	    "the places for accounts are taken: %llu recipients were charged "
	    "to their client, %llu not at all; raise max_accounts",
	    (unsigned long long)(by_client - c->accounts_noted.by_client),
	    (unsigned long long)(uncounted - c->accounts_noted.uncounted));
	c->accounts_noted.by_client = by_client;
	c->accounts_noted.uncounted = uncounted;
	c->accounts_noted.told_ms = now;
}

void
keeper_round(struct collector *c)
{
	(void)pthread_mutex_lock(&c->lock);
	if (c->classes_stale)
		set_classes(c);
	(void)pthread_mutex_unlock(&c->lock);
	(void)tide_pool_drain(&c->pool);
	tide_pool_leak(&c->pool, tide_clock_mono_ms());
	tide_pool_resolve(&c->pool);
	drop_forgotten(c);
	note_pool(c);
	tell_accounts(c);
	chores_round(c);
	tide_history_note(
	    c->map->history, c->map->counters, tide_clock_mono_ms());
	audit_in_the_background(c);
	sweep_tokens(c);
	hook_round(c);
}
