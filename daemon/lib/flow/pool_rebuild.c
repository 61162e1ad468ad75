/*
 * pool rebuild - after a collector was killed, anywhere.
 *
 * What workers can see - hash chains and marks - is the only truth.  First
 * half, at once: walk the chains, finish half-done unlinks, count the
 * references of strings, link the level lists anew.  Second half, when every
 * worker has passed (they may still be reading what was being freed):
 * everything that no chain holds is free.
 */
#include <stdlib.h>
#include <string.h>

#include "pool_priv.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

enum { UNSEEN, KEPT, DROPPED }; /* of a bucket, in p->seen */
enum { UNUSED, FIRST, INNER };	/* of a unit of strings, in p->used */

static void
forget_books(struct tide_pool *p)
{
	struct tide_flow *f = p->flow;
	struct tide_flow_head *h = f->head;
	unsigned class;
	uint32_t i;

	for (i = 0; i < h->shape.heads; i++)
		atomic_store_explicit(
		    &f->string_heads[i], 0, memory_order_relaxed);
	memset(f->levels, 0, (size_t)TIDE_CLASSES * h->shape.ring * 4);
	memset(h->string_free_head, 0, sizeof h->string_free_head);
	h->free_head = h->limbo[0] = h->limbo[1] = 0;
	atomic_store(&h->free_count, 0);
	atomic_store(&h->limbo_count, 0);
	atomic_store(&h->strings, 0);
	atomic_store(&h->string_free, 0);
	for (class = 0; class < TIDE_CLASSES; class ++) {
		atomic_store(&f->class[class].live, 0);
		f->class[class].due = 0;
	}
	p->pendings = 0;
	p->damaged = false;
}

static void
refer(struct tide_pool *p, uint32_t unit)
{
	struct tide_string *s = tide_string_at(p->flow, unit);
	_Atomic uint32_t *chain =
	    &p->flow->string_heads[s->hash & (p->flow->head->shape.heads - 1)];

	if (p->used[unit] == UNUSED) {
		memset(p->used + unit, INNER, tide_string_units(s->length));
		p->used[unit] = FIRST;
		s->refs = 0;
		s->next = atomic_load_explicit(chain, memory_order_relaxed);
		atomic_store_explicit(chain, unit, memory_order_relaxed);
		atomic_fetch_add(&p->flow->head->strings, 1);
	}
	s->refs++;
}

/* held: the bucket's class and string as they were when found sound. */
static void
keep(struct tide_pool *p, uint32_t i, uint32_t held)
{
	unsigned class = tide_held_class(held);

	p->seen[i] = KEPT;
	refer(p, tide_held_string(held));
	atomic_fetch_add(&p->flow->class[class].live, 1);
	tide_pool_link(p, class, i);
	if ((mark_of(p, i) & TIDE_MARK_OVF) != 0)
		tide_pool_wait_for(p, i);
}

/* Nodes were in workers' reach: believe nothing unseen. */
static bool
is_string(const struct tide_pool *p, uint32_t unit)
{
	uint32_t k, n;

	if (!tide_string_is(p->flow, unit))
		return false;
	if (p->used[unit] == FIRST)
		return true;
	n = tide_string_units(tide_string_at(p->flow, unit)->length);
	for (k = 0; k < n && p->used[unit + k] == UNUSED; k++)
		;
	return k == n; /* it does not begin within another */
}

/* What one chain has been found to hold: never read again from the map. */
struct chain {
	uint32_t held[TIDE_CHAIN_MOST];
	uint32_t n;
};

static bool
is_kept_already(const struct chain *c, uint32_t held)
{
	uint32_t k;

	for (k = 0; k < c->n; k++)
		if (c->held[k] == held)
			return true;
	return false;
}

static bool
is_sound(const struct tide_pool *p, uint32_t i, uint32_t hash, uint32_t held)
{
	uint32_t unit = tide_held_string(held);

	return (mark_of(p, i) & TIDE_MARK_DEAD) == 0 && is_string(p, unit) &&
	    hash ==
	    tide_bucket_hash(
		tide_string_at(p->flow, unit)->hash, tide_held_class(held));
}

/* Is it to be kept?  Then it is. */
static bool
take_in(struct tide_pool *p, struct chain *c, uint32_t i, uint32_t hash)
{
	uint32_t held = held_by(p, i);

	if (!is_sound(p, i, hash, held) || is_kept_already(c, held))
		return false;
	c->held[c->n++] = held;
	keep(p, i, held);
	return true;
}

/*
 * A bucket that is dead (killed between DEAD and unlink) or damaged is left
 * out; what cannot be in this chain, and all behind it, is cut off.  Every
 * step sees a bucket for the first time: there is an end to it, whatever is
 * written meanwhile.
 */
static void
walk_chain(struct tide_pool *p, uint32_t chain)
{
	_Atomic uint32_t *from = &p->flow->heads[chain];
	uint32_t i, hash, mask = p->flow->head->shape.heads - 1;
	struct chain c;

	for (c.n = 0; (i = atomic_load(from)) != 0;) {
		hash = i <= p->flow->head->shape.buckets
		    ? tide_once(&at(p, i)->hash)
		    : 0;
		if (i > p->flow->head->shape.buckets || p->seen[i] != UNSEEN ||
		    (hash & mask) != chain || c.n == TIDE_CHAIN_MOST) {
			atomic_store(from, 0);
			return;
		}
		if (take_in(p, &c, i, hash)) {
			from = &at(p, i)->next;
		} else {
			p->seen[i] = DROPPED;
			atomic_store(from, atomic_load(&at(p, i)->next));
		}
	}
}

int
tide_pool_rebuild(struct tide_pool *p, struct tide_err *err)
{
	const struct tide_flow_shape *s = &p->flow->head->shape;
	uint32_t chain;

	tide_pool_close(p);
	p->seen = calloc((size_t)s->buckets + 1, 1);
	p->used = calloc((size_t)s->string_units + 1, 1);
	if (p->seen == NULL || p->used == NULL) {
		tide_pool_close(p);
		return tide_err_errno(err, "rebuilding the buckets");
	}
	forget_books(p);
	for (chain = 0; chain < s->heads; chain++)
		walk_chain(p, chain);
	p->rebuild_target = atomic_fetch_add(p->flow->epoch, 1);
	tide_pool_reclaim(p);
	return 0;
}

static void
free_unseen(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;
	uint32_t i;

	for (i = h->shape.buckets; i >= 1; i--) {
		if (p->seen[i] == KEPT)
			continue;
		atomic_store(&p->flow->bucket[i].mark, TIDE_MARK_DEAD);
		p->flow->bucket[i].level_next = h->free_head;
		h->free_head = i;
		atomic_fetch_add(&h->free_count, 1);
	}
}

/* The gaps between strings that are still referred to. */
static void
free_gaps(struct tide_pool *p)
{
	uint32_t end = atomic_load(&p->flow->head->string_used);
	uint32_t unit = 1, gap;

	while (unit < end) {
		if (p->used[unit] != UNUSED) {
			unit++;
			continue;
		}
		for (gap = unit; gap < end && p->used[gap] == UNUSED; gap++)
			;
		tide_string_free_run(p->flow, unit, gap - unit);
		unit = gap;
	}
}

void
tide_pool_finish_rebuild(struct tide_pool *p)
{
	free_unseen(p);
	free_gaps(p);
	tide_pool_close(p);
}

void
tide_pool_close(struct tide_pool *p)
{
	free(p->seen);
	free(p->used);
	p->seen = p->used = NULL;
}
