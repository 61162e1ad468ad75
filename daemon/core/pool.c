/*
 * pool - the collector's work on the buckets.  PROTOCOL buckets is in
 * buckets.h; its steps C1 to C4 are tagged here.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/pool.h"
#include "tidemark/strings.h"

#define START_LEVEL 1u /* of a new map's floors */
#define EVICT_BATCH 64u
#define EVICT_LOOKS 4096u /* at most so many buckets looked at a time */

/* ---- small things ------------------------------------------------------ */

static struct tide_bucket *
at(const struct tide_pool *p, uint32_t i)
{
	return &p->flow->bucket[i];
}

static uint32_t
mark_of(const struct tide_pool *p, uint32_t i)
{
	return atomic_load_explicit(&at(p, i)->mark, memory_order_acquire);
}

static uint32_t
floor_of(const struct tide_pool *p, unsigned class)
{
	return atomic_load_explicit(
	    &p->flow->class[class].floor, memory_order_relaxed);
}

static uint32_t
depth_of(const struct tide_pool *p, unsigned class)
{
	return atomic_load_explicit(
	    &p->flow->class[class].depth, memory_order_relaxed);
}

static bool
cas_mark(struct tide_pool *p, uint32_t i, uint32_t old, uint32_t new)
{
	return atomic_compare_exchange_strong(&at(p, i)->mark, &old, new);
}

static void
count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/*
 * Buckets lie in the workers' reach, and one of them may have been made to
 * write anything: believe no index, and no list longer than the pool.  What
 * makes no sense is cut off; the next drain rebuilds.
 */
static uint32_t
checked(struct tide_pool *p, uint32_t i)
{
	if (i <= p->flow->head->shape.buckets)
		return i;
	p->damaged = true;
	return 0;
}

static uint32_t
follow(struct tide_pool *p, const _Atomic uint32_t *link)
{
	return checked(p, atomic_load_explicit(link, memory_order_relaxed));
}

static uint32_t
after(struct tide_pool *p, uint32_t i, uint32_t *steps)
{
	if (++*steps <= p->flow->head->shape.buckets)
		return checked(p, at(p, i)->level_next);
	p->damaged = true;
	return 0;
}

/* The list of buckets filled to that mark. */
static uint32_t *
list_at(struct tide_pool *p, unsigned class, uint32_t mark)
{
	uint32_t ring = p->flow->head->shape.ring;

	return &p->flow->levels[class * ring + (mark >> 2 & (ring - 1))];
}

/* A bucket at or below the floor goes to the next list to be taken. */
static void
link_level(struct tide_pool *p, unsigned class, uint32_t i, uint32_t mark)
{
	uint32_t floor = floor_of(p, class);
	uint32_t *list =
	    list_at(p, class, tide_mark_above(mark, floor) ? mark : floor + 4);

	at(p, i)->level_next = *list;
	*list = i;
}

static _Atomic uint32_t *
chain_of(struct tide_pool *p, uint32_t hash)
{
	return &p->flow->heads[hash & (p->flow->head->shape.heads - 1)];
}

static void
unlink_chain(struct tide_pool *p, uint32_t i)
{
	_Atomic uint32_t *from = chain_of(p, at(p, i)->hash);
	uint32_t j = follow(p, from), steps = 0;

	while (j != i && j != 0 && steps++ < p->flow->head->shape.buckets) {
		from = &at(p, j)->next;
		j = follow(p, from);
	}
	if (j == i)
		atomic_store(from, follow(p, &at(p, i)->next));
	else
		p->damaged = true;
}

/* ---- setting up -------------------------------------------------------- */

void
tide_pool_format(struct tide_flow *f, const uint8_t secret[16])
{
	uint32_t i, n = f->head->shape.buckets;

	memcpy(f->head->secret, secret, 16);
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

/* ---- limbo: from unlinked to free (C4) --------------------------------- */

static void
bury(struct tide_pool *p, unsigned class, uint32_t i)
{
	struct tide_flow_head *h = p->flow->head;

	unlink_chain(p, i);
	at(p, i)->level_next = h->limbo[0];
	h->limbo[0] = i;
	atomic_fetch_add(&h->limbo_count, 1);
	atomic_fetch_sub(&p->flow->class[class].live, 1);
}

static bool
all_passed(const struct tide_pool *p, uint64_t target)
{
	uint32_t i;

	for (i = 0; i < p->slot_count; i++)
		if (!tide_epoch_passed(&p->slots[i].epoch, target))
			return false;
	return true;
}

static void
free_batch(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;
	uint32_t i, next, steps = 0;

	for (i = h->limbo[1]; i != 0; i = next) {
		next = after(p, i, &steps);
		if (!tide_string_drop(p->flow, tide_bucket_string(at(p, i))))
			p->damaged = true;
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
		if (all_passed(p, p->rebuild_target))
			tide_pool_finish_rebuild(p);
		return;
	}
	if (!all_passed(p, h->limbo_target))
		return;
	free_batch(p);
	if (h->limbo[0] == 0)
		return;
	h->limbo[1] = h->limbo[0];
	h->limbo[0] = 0;
	h->limbo_target = atomic_fetch_add(p->flow->epoch, 1);
}

/* ---- overflows (C2) ---------------------------------------------------- */

static bool
report(struct tide_pool *p, uint32_t i, uint32_t mark, uint32_t times)
{
	unsigned class = tide_bucket_class(at(p, i));
	uint32_t unit = tide_bucket_string(at(p, i));
	const struct tide_string *s = tide_string_at(p->flow, unit);
	struct tide_overflow o = { .class = class,
		.key = s->text,
		.length = s->length,
		.slot = tide_over_slot(mark),
		.times = times };

	if (!tide_string_is(p->flow, unit)) {
		p->damaged = true;
		return true; /* nobody's: let it go */
	}
	if (!p->on_overflow(p->arg, &o))
		return false;
	count(&p->flow->class[class].overflows, times);
	return true;
}

static bool
take_off(struct tide_pool *p, uint32_t i, uint32_t mark, uint32_t drops)
{
	return cas_mark(p, i, mark, mark - (drops << 2));
}

/*
 * Empty it, but for the drops that came since; false: not dealt with yet.
 * What has been told when more is held back is taken off the mark, so that
 * it is not told again.
 */
static bool
resolve(struct tide_pool *p, uint32_t i)
{
	unsigned class = tide_bucket_class(at(p, i));
	uint32_t depth = depth_of(p, class), whole = depth + 1;
	uint32_t mark, drops, times, told = 0;

	for (;;) {
		mark = mark_of(p, i);
		if ((mark & TIDE_MARK_FLAGS) != TIDE_MARK_OVF)
			return true;
		drops = depth > 0 ? tide_over_drops(mark) : 0;
		times = 1 + drops / whole;
		if (times > told && !report(p, i, mark, times - told)) {
			if (told == 0 || take_off(p, i, mark, told * whole))
				return false;
			continue;
		}
		told = times;
		if (cas_mark(
			p, i, mark, floor_of(p, class) + (drops % whole << 2)))
			return true;
	}
}

void
tide_pool_overflowed(struct tide_pool *p, uint32_t i)
{
	uint32_t k;

	if (resolve(p, i) || p->pendings == TIDE_PENDING)
		return; /* if there is no room, the next tick finds it */
	for (k = 0; k < p->pendings; k++)
		if (p->pending[k] == i)
			return;
	p->pending[p->pendings++] = i;
}

/* For the rebuild: what it finds overflowed is looked at again. */
void
tide_pool_wait_for(struct tide_pool *p, uint32_t i)
{
	if (p->pendings < TIDE_PENDING)
		p->pending[p->pendings++] = i;
}

void
tide_pool_link(struct tide_pool *p, unsigned class, uint32_t i)
{
	uint32_t mark = mark_of(p, i);

	link_level(p, class, i,
	    (mark & TIDE_MARK_OVF) != 0 ? floor_of(p, class) : mark);
}

void
tide_pool_resolve(struct tide_pool *p)
{
	uint32_t k, kept = 0;

	for (k = 0; k < p->pendings; k++)
		if (!resolve(p, p->pending[k]))
			p->pending[kept++] = p->pending[k];
	p->pendings = kept;
}

/* ---- leaking (C3) ------------------------------------------------------ */

/* One bucket of the list that the floor has reached. */
static void
visit(struct tide_pool *p, unsigned class, uint32_t i)
{
	uint32_t mark;

	for (;;) {
		mark = mark_of(p, i);
		if ((mark & TIDE_MARK_OVF) != 0 && !resolve(p, i)) {
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
			bury(p, class, i);
			count(&p->flow->head->retired, 1);
			return;
		}
	}
}

void
tide_pool_tick(struct tide_pool *p, unsigned class)
{
	struct tide_class *c = &p->flow->class[class];
	uint32_t floor = floor_of(p, class) + 4, next, steps = 0, *list;

	atomic_store(&c->floor, floor);
	list = list_at(p, class, floor);
	c->due = *list;
	*list = 0;
	for (; c->due != 0; c->due = next) {
		next = after(p, c->due, &steps);
		visit(p, class, c->due);
	}
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
		if (atomic_load(&c->live) > 0)
			tide_pool_tick(p, class);
		return;
	}
	if (leak == 0 || now_ms < last + leak)
		return;
	ticks = (now_ms - last) / leak;
	atomic_store(&c->ticked_ms, last + ticks * leak);
	if (ticks > p->flow->head->shape.ring)
		ticks = p->flow->head->shape.ring;
	while (ticks-- > 0)
		tide_pool_tick(p, class);
}

void
tide_pool_leak(struct tide_pool *p, uint64_t now_ms)
{
	unsigned class;

	for (class = 0; class < TIDE_CLASSES; class ++)
		leak_class(p, class, now_ms);
	tide_pool_reclaim(p);
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
	bury(p, class, i);
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
static void
evict(struct tide_pool *p, unsigned want)
{
	unsigned class = greediest_class(p), looks = 0;
	uint32_t level = floor_of(p, class), ring = p->flow->head->shape.ring;
	uint32_t i, k, *list;

	if (is_stalled(p))
		return;
	for (k = 0; k < ring && want > 0 && looks < EVICT_LOOKS; k++) {
		level += 4;
		list = list_at(p, class, level);
		while (want > 0 && looks++ < EVICT_LOOKS && *list != 0) {
			i = *list;
			*list = checked(p, at(p, i)->level_next);
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
		evict(p, EVICT_BATCH);
	else if (atomic_load(&h->free_count) < reserve(p))
		tide_pool_reclaim(p);
}

/* ---- adding (C1) ------------------------------------------------------- */

static uint32_t
take_string(struct tide_pool *p, const struct tide_flow_key *key)
{
	uint32_t unit = tide_string_take(p->flow, key);

	if (unit == 0) {
		evict(p, EVICT_BATCH);
		unit = tide_string_take(p->flow, key);
	}
	return unit;
}

static uint32_t
take_bucket(struct tide_pool *p)
{
	struct tide_flow_head *h = p->flow->head;
	uint32_t i;

	if (h->free_head == 0)
		evict(p, EVICT_BATCH);
	i = h->free_head;
	if (i == 0)
		return 0;
	if (mark_of(p, i) != TIDE_MARK_DEAD) {
		p->damaged = true;
		return 0;
	}
	h->free_head = checked(p, at(p, i)->level_next);
	atomic_fetch_sub(&h->free_count, 1);
	return i;
}

static void
publish(struct tide_pool *p, unsigned class, uint32_t i, uint32_t mark)
{
	_Atomic uint32_t *chain = chain_of(p, at(p, i)->hash);

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
	at(p, i)->class_string = class << 26 | string;
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
	uint32_t i = tide_flow_find(p->flow, class, key);
	enum tide_drop result;

	if (i == 0 && p->seen == NULL) /* a rebuild hands nothing out */
		i = create(p, class, key);
	if (i == 0) {
		count(&p->flow->head->refused, drops);
		return false;
	}
	do
		result = tide_flow_fill(p->flow, class, i, drops);
	while (result == TIDE_DROP_LOST && !is_dead(p, i));
	if (result == TIDE_DROP_OVERFLOW)
		tide_pool_overflowed(p, i);
	return true;
}

/* ---- resetting --------------------------------------------------------- */

bool
tide_pool_reset(
    struct tide_pool *p, unsigned class, const struct tide_flow_key *key)
{
	uint32_t i = tide_flow_find(p->flow, class, key);

	if (i == 0)
		return false;
	atomic_store(&at(p, i)->mark, floor_of(p, class));
	return true;
}
