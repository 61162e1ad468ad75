/*
 * pool room - buckets from unlinked to free (C4), and what is given up when
 * the pool or the string space runs dry.
 */
#include "pool_priv.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"
#include "tidemark/shared/slots.h"

#define EVICT_BATCH 64u
#define EVICT_LOOKS 4096u /* at most so many buckets looked at a time */

/* ---- limbo: from unlinked to free (C4) --------------------------------- */

static void
unlink_chain(struct tide_pool *p, uint32_t i)
{
	_Atomic uint32_t *from = chain_of(p, tide_once(&at(p, i)->hash));
	uint32_t j = follow(p, from), steps = 0;

	while (j != i && j != 0 && steps++ < TIDE_CHAIN_MOST) {
		from = &at(p, j)->next;
		j = follow(p, from);
	}
	if (j == i)
		atomic_store(from, follow(p, &at(p, i)->next));
	else
		p->damaged = true;
}

void
tide_pool_bury(struct tide_pool *p, unsigned class, uint32_t i)
{
	struct tide_flow_head *h = p->flow->head;

	unlink_chain(p, i);
	at(p, i)->level_next = h->limbo[0];
	h->limbo[0] = i;
	atomic_fetch_add(&h->limbo_count, 1);
	atomic_fetch_sub(&p->flow->class[class].live, 1);
}

static void
free_batch(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;
	uint32_t i, next, steps = 0;

	for (i = h->limbo[1]; i != 0; i = next) {
		next = after(p, i, &steps);
		if (!tide_string_drop(p->flow, tide_held_string(held_by(p, i))))
			p->damaged = true;
		p->dropped++;
		at(p, i)->level_next = h->free_head;
		h->free_head = i;
		atomic_fetch_add(&h->free_count, 1);
		atomic_fetch_sub(&h->limbo_count, 1);
	}
	h->limbo[1] = 0;
}

void
tide_pool_reclaim(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;

	if (p->seen != NULL) {
		if (tide_workers_passed(&p->workers, p->rebuild_target)) {
			tide_pool_finish_rebuild(p);
			p->freed += 2; /* whatever was in limbo */
		}
		return;
	}
	if (!tide_workers_passed(&p->workers, h->limbo_target))
		return;
	free_batch(p);
	p->freed++;
	if (h->limbo[0] == 0)
		return;
	h->limbo[1] = h->limbo[0];
	h->limbo[0] = 0;
	h->limbo_target = atomic_fetch_add(p->flow->epoch, 1);
}

/* ---- making room ------------------------------------------------------- */

static unsigned
greediest_class(const struct tide_pool *p)
{
	unsigned class, best = 0;

	for (class = 1; class < TIDE_CLASSES; class ++)
		if (atomic_load(&p->flow->class[class].live) >
		    atomic_load(&p->flow->class[best].live))
			best = class;
	return best;
}

/* Take one bucket of a list out, unless it is fuller than the list says. */
static bool
evict_one(struct tide_pool *p, unsigned class, uint32_t i, uint32_t level)
{
	uint32_t mark = mark_of(p, i);

	if ((mark & TIDE_MARK_OVF) != 0 || tide_mark_above(mark, level) ||
	    !cas_mark(p, i, mark, TIDE_MARK_DEAD)) {
		mark = mark_of(p, i);
		link_level(p, class, i,
		    (mark & TIDE_MARK_OVF) != 0 ? level + 4 : mark);
		return false;
	}
	tide_pool_bury(p, class, i);
	count(&p->flow->head->evicted, 1);
	return true;
}

static uint32_t
reserve(const struct tide_pool *p)
{
	return p->flow->head->shape.buckets / 128 + 4;
}

/*
 * Nothing can be freed for now (a worker is stopped inside): what is in limbo
 * already will be room enough, and to give up more would make none.
 */
static bool
is_stalled(struct tide_pool *p)
{
	tide_pool_reclaim(p);
	tide_pool_reclaim(p);
	return p->seen != NULL ||
	    atomic_load(&p->flow->head->limbo_count) >= reserve(p);
}

/* The emptiest buckets of the greediest class: whoever matters is fuller. */
void
tide_pool_evict(struct tide_pool *p)
{
	unsigned class = greediest_class(p), want = EVICT_BATCH, looks = 0;
	uint32_t level = floor_of(p, class), ring = p->flow->head->shape.ring;
	uint32_t i, k, *list;

	if (is_stalled(p))
		return;
	for (k = 0; k < ring && want > 0 && looks < EVICT_LOOKS; k++) {
		level += 4;
		list = list_at(p, class, level);
		while (want > 0 && looks++ < EVICT_LOOKS && *list != 0) {
			i = *list;
			*list = checked(p, tide_once(&at(p, i)->level_next));
			want -= evict_one(p, class, i, level);
		}
	}
	tide_pool_reclaim(p);
	tide_pool_reclaim(p);
}

/* Before it is needed: a few buckets are always kept free. */
void
tide_pool_keep_reserve(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;

	if (atomic_load(&h->free_count) + atomic_load(&h->limbo_count) <
	    reserve(p))
		tide_pool_evict(p);
	else if (atomic_load(&h->free_count) < reserve(p))
		tide_pool_reclaim(p);
}
