/*
 * pool, private - between the files of the pool: the collector's work on the
 * buckets.  PROTOCOL buckets is in buckets.h; its steps C1 to C4 are tagged.
 *
 *   pool.c           an empty pool; adding (C1), resetting
 *   pool_drain.c     what workers have posted (C1)
 *   pool_overflow.c  overflows, told once (C2)
 *   pool_leak.c      the floor rises (C3)
 *   pool_room.c      from unlinked to free (C4), and making room
 *   pool_rebuild.c   after a collector was killed
 */
#ifndef POOL_PRIV_H
#define POOL_PRIV_H

#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

static inline struct tide_bucket *
at(const struct tide_pool *p, uint32_t i)
{
	return &p->flow->bucket[i];
}

static inline uint32_t
mark_of(const struct tide_pool *p, uint32_t i)
{
	return atomic_load_explicit(&at(p, i)->mark, memory_order_acquire);
}

static inline uint32_t
floor_of(const struct tide_pool *p, unsigned class)
{
	return atomic_load_explicit(
	    &p->flow->class[class].floor, memory_order_relaxed);
}

static inline uint32_t
depth_of(const struct tide_pool *p, unsigned class)
{
	return atomic_load_explicit(
	    &p->flow->class[class].depth, memory_order_relaxed);
}

static inline bool
cas_mark(struct tide_pool *p, uint32_t i, uint32_t old, uint32_t new)
{
	return atomic_compare_exchange_strong(&at(p, i)->mark, &old, new);
}

static inline void
count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/*
 * Buckets lie in the workers' reach, and one of them may have been made to
 * write anything: each word is read once, no index is believed, and no list
 * that is longer than the pool, no chain past TIDE_CHAIN_MOST, no CAS that
 * fails for ever.  What makes no sense is cut off; the next drain rebuilds.
 */
#define POOL_TRIES 1024u /* of a CAS: each lost one is a worker's drop */

static inline uint32_t
held_by(const struct tide_pool *p, uint32_t i)
{
	return tide_once(&at(p, i)->class_string);
}

static inline uint32_t
checked(struct tide_pool *p, uint32_t i)
{
	if (i <= p->flow->head->shape.buckets)
		return i;
	p->damaged = true;
	return 0;
}

static inline uint32_t
follow(struct tide_pool *p, const _Atomic uint32_t *link)
{
	return checked(p, atomic_load_explicit(link, memory_order_relaxed));
}

static inline uint32_t
after(struct tide_pool *p, uint32_t i, uint32_t *steps)
{
	if (++*steps <= p->flow->head->shape.buckets)
		return checked(p, tide_once(&at(p, i)->level_next));
	p->damaged = true;
	return 0;
}

/* The list of buckets filled to that mark. */
static inline uint32_t *
list_at(struct tide_pool *p, unsigned class, uint32_t mark)
{
	uint32_t ring = p->flow->head->shape.ring;

	return &p->flow->levels[class * ring + (mark >> 2 & (ring - 1))];
}

/* A bucket at or below the floor goes to the next list to be taken. */
static inline void
link_level(struct tide_pool *p, unsigned class, uint32_t i, uint32_t mark)
{
	uint32_t floor = floor_of(p, class);
	uint32_t *list =
	    list_at(p, class, tide_mark_above(mark, floor) ? mark : floor + 4);

	at(p, i)->level_next = *list;
	*list = i;
}

static inline _Atomic uint32_t *
chain_of(struct tide_pool *p, uint32_t hash)
{
	return &p->flow->heads[hash & (p->flow->head->shape.heads - 1)];
}

/* pool_overflow.c: tell it, or wait until it can be told. */
void tide_pool_overflowed(struct tide_pool *, uint32_t bucket);
void tide_pool_wait_for(struct tide_pool *, uint32_t bucket);
/* Empty it, but for the drops that came since; false: not dealt with yet. */
bool tide_pool_settle(struct tide_pool *, uint32_t bucket);

/* pool_leak.c: put it into the list of its level. */
void tide_pool_link(struct tide_pool *, unsigned class, uint32_t bucket);

/* pool_room.c: one that has been made DEAD; room for some more. */
void tide_pool_bury(struct tide_pool *, unsigned class, uint32_t bucket);
void tide_pool_evict(struct tide_pool *);
void tide_pool_keep_reserve(struct tide_pool *);

/* pool_rebuild.c: its second half. */
void tide_pool_finish_rebuild(struct tide_pool *);

#endif
