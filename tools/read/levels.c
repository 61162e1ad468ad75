/*
 * levels - copy, prove, work out.
 */
#include <string.h>

#include "levels.h"
#include "view_flow.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/printable.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/flow/strings.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

uint32_t
levels_count(const struct view *v)
{
	return v->flow.buckets;
}

const char *
drop_name(enum tide_group g, uint64_t count)
{
	static const char *const one[TIDE_GROUPS] = { "message", "message",
		"unknown recipient", "unknown recipient", "blocked message",
		"blocked message", "attempt on a protected mailbox",
		"attempt while banned" };
	static const char *const many[TIDE_GROUPS] = { "messages", "messages",
		"unknown recipients", "unknown recipients", "blocked messages",
		"blocked messages", "attempts on a protected mailbox",
		"attempts while banned" };

	return count == 1 ? one[g] : many[g];
}

/* The text of the bucket's key, as far as it lies within the strings. */
static bool
copy_key(const struct view *v, uint32_t unit, char key[])
{
	const struct tide_flow *f = v->map->flow;
	uint32_t units = v->flow.string_units;
	const volatile struct tide_string *s = tide_string_at(f, unit);
	unsigned length;

	if (unit == 0 || unit >= units)
		return false;
	length = s->length; /* once: it may change */
	if (length == 0 || length > TIDE_BUCKET_KEY_MAX ||
	    unit + tide_string_units(length) > units)
		return false;
	memcpy(key, (const char *)tide_string_at(f, unit)->text, length);
	key[length] = '\0';
	return true;
}

static void
work_out(struct level *l, const struct tide_class *c, uint32_t mark)
{
	uint32_t floor = atomic_load_explicit(&c->floor, memory_order_acquire);
	uint64_t ticked = atomic_load(&c->ticked_ms);
	uint64_t now = tide_clock_mono_ms(), gone;

	l->depth = atomic_load(&c->depth);
	l->leak_ms = atomic_load(&c->leak_ms);
	l->over = (mark & TIDE_MARK_OVF) != 0;
	if (l->over) {
		l->level = l->depth + 1;
		l->since = tide_over_drops(mark);
	} else if (tide_mark_above(mark, floor)) {
		l->level = (mark - floor) >> 2;
	}
	gone = now > ticked ? now - ticked : 0;
	l->empties_ms = l->level * l->leak_ms;
	l->empties_ms -= gone < l->empties_ms ? gone : l->empties_ms;
}

bool
level_at(const struct view *v, uint32_t bucket, struct level *l)
{
	const struct tide_flow *f = v->map->flow;
	struct tide_bucket *b = &f->bucket[bucket];
	uint32_t held = *(volatile uint32_t *)&b->class_string;
	uint32_t hash = *(volatile uint32_t *)&b->hash, mark;
	struct tide_class_id id;
	unsigned class = held >> 26;

	if ((atomic_load(&b->mark) & TIDE_MARK_DEAD) != 0)
		return false;
	memset(l, 0, sizeof *l);
	if (!view_is_own(v, held & 0x3ffffff, class, hash) ||
	    !copy_key(v, held & 0x3ffffff, l->key) ||
	    !view_is_own(v, held & 0x3ffffff, class, hash))
		return false;
	mark = atomic_load(&b->mark); /* and now once more */
	if ((mark & TIDE_MARK_DEAD) != 0 ||
	    *(volatile uint32_t *)&b->class_string != held)
		return false;
	tide_printable_disarm(l->key);
	l->profile = TIDE_PROFILES_MAX;
	if (tide_class_describe(v->config.profiles, class, &id)) {
		l->profile = id.profile;
		l->group = id.group;
		l->limit = &v->config.profile[id.profile].group[id.group];
	}
	work_out(l, &f->class[class], mark);
	return true;
}
