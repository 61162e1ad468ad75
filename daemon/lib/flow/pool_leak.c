/*
 * pool leak - one step of the floor leaks every bucket of a class; only those
 * that it reaches are looked at (C3).
 */
#include "pool_priv.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"

/*
 * Where many run empty at once they are worked off in slices, between which
 * mailboxes are drained: nothing hangs on when, for a bucket that the floor
 * has reached is empty to everybody.
 */
#define SLICE 8192u

void
tide_pool_link(struct tide_pool *p, unsigned class, uint32_t i)
{
	uint32_t mark = mark_of(p, i);

	link_level(p, class, i,
	    (mark & TIDE_MARK_OVF) != 0 ? floor_of(p, class) : mark);
}

/* One bucket of the list that the floor has reached. */
static void
visit(struct tide_pool *p, unsigned class, uint32_t i)
{
	uint32_t mark, tries;

	for (tries = 0; tries < POOL_TRIES; tries++) {
		mark = mark_of(p, i);
		if ((mark & TIDE_MARK_OVF) != 0 && !tide_pool_settle(p, i)) {
			link_level(p, class, i, floor_of(p, class));
			return;
		}
		mark = mark_of(p, i);
		if ((mark & TIDE_MARK_DEAD) == 0 &&
		    (tide_mark_above(mark, floor_of(p, class)) ||
			(mark & TIDE_MARK_OVF) != 0)) {
			link_level(p, class, i,
			    (mark & TIDE_MARK_OVF) != 0 ? floor_of(p, class)
							: mark);
			return;
		}
		if (cas_mark(p, i, mark, TIDE_MARK_DEAD)) {
			tide_pool_bury(p, class, i);
			count(&p->flow->head->retired, 1);
			return;
		}
	}
	p->damaged = true; /* in no list now: the rebuild finds it */
}

/* So many of those that the floor has reached. */
static void
work_off(struct tide_pool *p, unsigned class, uint32_t most)
{
	struct tide_class *c = &p->flow->class[class];
	uint32_t next, steps = 0;

	/* what is damaged is rebuilt, lists and all, before it is read on */
	for (; c->due != 0 && most > 0 && !p->damaged; c->due = next, most--) {
		next = after(p, c->due, &steps);
		visit(p, class, c->due);
	}
}

/* The floor rises at once for all; what it reaches is due from then on. */
static void
raise_floor(struct tide_pool *p, unsigned class)
{
	struct tide_class *c = &p->flow->class[class];
	uint32_t floor = floor_of(p, class) + 4, *list;

	work_off(p, class, UINT32_MAX); /* of the tick before */
	atomic_store(&c->floor, floor);
	list = list_at(p, class, floor);
	c->due = *list;
	*list = 0;
}

void
tide_pool_tick(struct tide_pool *p, unsigned class)
{
	raise_floor(p, class);
	work_off(p, class, UINT32_MAX);
}

/*
 * All that is due; after a long sleep no more than empties every bucket (it
 * may have been filled when the class was deeper).  A class that is no longer
 * used leaks at every round until nothing is left of it.
 */
static void
leak_class(struct tide_pool *p, unsigned class, uint64_t now_ms)
{
	struct tide_class *c = &p->flow->class[class];
	uint64_t leak = atomic_load(&c->leak_ms);
	uint64_t last = atomic_load(&c->ticked_ms), ticks;

	if (depth_of(p, class) == 0) {
		if (atomic_load(&c->live) > 0 && c->due == 0)
			raise_floor(p, class);
		return;
	}
	if (leak == 0 || now_ms < last + leak)
		return;
	ticks = (now_ms - last) / leak;
	atomic_store(&c->ticked_ms, last + ticks * leak);
	if (ticks > p->flow->head->shape.ring)
		ticks = p->flow->head->shape.ring;
	while (ticks-- > 0)
		raise_floor(p, class);
}

void
tide_pool_leak(struct tide_pool *p, uint64_t now_ms)
{
	unsigned class;

	for (class = 0; class < TIDE_CLASSES; class ++) {
		leak_class(p, class, now_ms);
		work_off(p, class, SLICE);
	}
	tide_pool_reclaim(p);
}
