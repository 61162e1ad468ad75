/*
 * pool - an empty one, and what is added to it (C1; see pool_priv.h).
 */
#include <assert.h>
#include <string.h>

#include "pool_priv.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

#define START_LEVEL 1u /* of a new map's floors */

/* ---- setting up -------------------------------------------------------- */

void
tide_pool_format(struct tide_flow *f, const uint8_t secret[16])
{
	uint32_t i, n = f->head->shape.buckets;

	memcpy(f->secret, secret, sizeof f->secret);
	memset(f->head->unused, 0, sizeof f->head->unused);
	for (i = 0; i < TIDE_CLASSES; i++)
		atomic_store(&f->class[i].floor, START_LEVEL << 2);
	f->head->free_head = 0;
	for (i = n; i >= 1; i--) {
		atomic_store(&f->bucket[i].mark, TIDE_MARK_DEAD);
		f->bucket[i].level_next = f->head->free_head;
		f->head->free_head = i;
	}
	atomic_store(&f->head->free_count, n);
	atomic_store(&f->head->string_used, 1); /* unit 0 is nobody's */
}

void
tide_pool_set_class(struct tide_pool *p, unsigned class, uint32_t depth,
    uint64_t leak_ms, uint64_t now_ms)
{
	struct tide_class *c = &p->flow->class[class];

	assert(class < TIDE_CLASSES && depth + 2 <= p->flow->head->shape.ring);
	if (depth_of(p, class) == 0 || atomic_load(&c->leak_ms) != leak_ms)
		atomic_store(&c->ticked_ms, now_ms);
	atomic_store(&c->leak_ms, leak_ms);
	atomic_store(&c->depth, depth);
}

/* ---- adding (C1) ------------------------------------------------------- */

/*
 * Joining looks at all free units: once in a while, when enough of them have
 * become free since.
 */
static bool
join(struct tide_pool *p)
{
	if (p->dropped <= p->flow->head->shape.string_units / 256)
		return false;
	p->dropped = 0;
	return tide_string_join(p->flow);
}

static uint32_t
take_or_join(struct tide_pool *p, const struct tide_flow_key *key)
{
	uint32_t unit = tide_string_take(p->flow, key);

	return unit == 0 && join(p) ? tide_string_take(p->flow, key) : unit;
}

static uint32_t
take_string(struct tide_pool *p, const struct tide_flow_key *key)
{
	uint32_t unit = take_or_join(p, key);

	if (unit == 0) {
		tide_pool_evict(p);
		unit = take_or_join(p, key);
	}
	if (unit == 0)
		p->keys_unplaced++;
	return unit;
}

static uint32_t
take_bucket(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;
	uint32_t i;

	if (h->free_head == 0)
		tide_pool_evict(p);
	i = h->free_head;
	if (i == 0)
		return 0;
	if (mark_of(p, i) != TIDE_MARK_DEAD) {
		p->damaged = true;
		return 0;
	}
	h->free_head = checked(p, tide_once(&at(p, i)->level_next));
	atomic_fetch_sub(&h->free_count, 1);
	return i;
}

static void
publish(struct tide_pool *p, unsigned class, uint32_t i, uint32_t mark)
{
	_Atomic uint32_t *chain = chain_of(p, tide_once(&at(p, i)->hash));

	atomic_store_explicit(&at(p, i)->mark, mark, memory_order_relaxed);
	atomic_store_explicit(
	    &at(p, i)->next, atomic_load(chain), memory_order_relaxed);
	atomic_store(chain, i);
	link_level(p, class, i, mark);
	atomic_fetch_add(&p->flow->class[class].live, 1);
	count(&p->flow->head->created, 1);
}

/* An empty bucket for the key; 0 if there is no room. */
static uint32_t
create(struct tide_pool *p, unsigned class, const struct tide_flow_key *key)
{
	uint32_t string = take_string(p, key);
	uint32_t i = string != 0 ? take_bucket(p) : 0;

	if (i == 0) {
		if (string != 0)
			(void)tide_string_drop(p->flow, string);
		return 0;
	}
	at(p, i)->class_string = class * TIDE_HELD_STRINGS + string;
	at(p, i)->hash = tide_bucket_hash(key->hash, class);
	publish(p, class, i, floor_of(p, class));
	return i;
}

/* Nobody but us makes a bucket DEAD, and we unlink it at once. */
static bool
is_dead(struct tide_pool *p, uint32_t i)
{
	if ((mark_of(p, i) & TIDE_MARK_DEAD) == 0)
		return false;
	p->damaged = true;
	return true;
}

bool
tide_pool_add(struct tide_pool *p, unsigned class,
    const struct tide_flow_key *key, uint32_t drops)
{
	uint32_t i = tide_flow_find(p->flow, class, key), tries = 0;
	enum tide_drop result;

	if (i == 0 && p->seen == NULL) /* a rebuild hands nothing out */
		i = create(p, class, key);
	if (i == 0) {
		count(&p->flow->head->refused, drops);
		return false;
	}
	do
		result = tide_flow_fill(p->flow, class, i, key->shared, drops);
	while (
	    result == TIDE_DROP_LOST && !is_dead(p, i) && ++tries < POOL_TRIES);
	if (result == TIDE_DROP_OVERFLOW)
		tide_pool_overflowed(p, i);
	return true;
}

/* ---- resetting --------------------------------------------------------- */

/* By CAS: a plain store would lose an overflow that is made at that moment. */
enum tide_reset
tide_pool_reset(
    struct tide_pool *p, unsigned class, const struct tide_flow_key *key)
{
	uint32_t i = tide_flow_find(p->flow, class, key), mark, tries = 0;

	if (i == 0)
		return TIDE_RESET_NONE;
	do {
		mark = mark_of(p, i);
		if ((mark & TIDE_MARK_OVF) != 0 || tries++ == POOL_TRIES)
			return TIDE_RESET_BUSY;
		if ((mark & TIDE_MARK_DEAD) != 0)
			return TIDE_RESET_NONE;
	} while (!cas_mark(p, i, mark, floor_of(p, class)));
	return TIDE_RESET_DONE;
}
