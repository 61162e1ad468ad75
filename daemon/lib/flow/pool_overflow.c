/*
 * pool overflow - an overflow is told once, counted, and only then left (C2).
 */
#include "pool_priv.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

static bool
report(struct tide_pool *p, uint32_t held, uint32_t mark, uint32_t times)
{
	unsigned class = tide_held_class(held);
	uint32_t unit = tide_held_string(held);
	const struct tide_string *s;
	struct tide_overflow o = {
		.class = class, .number = tide_over_number(mark), .times = times
	};

	if (!tide_string_is(p->flow, unit)) {
		p->damaged = true;
		return true; /* nobody's: let it go */
	}
	s = tide_string_at(p->flow, unit);
	o.key = s->text;
	o.length = s->length;
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

/* Somebody rewrites the mark without end; it is empty, told or not. */
static bool
cut_short(struct tide_pool *p, uint32_t i, uint32_t floor)
{
	atomic_store(&at(p, i)->mark, floor);
	p->damaged = true;
	return true;
}

/*
 * What has been told when more is held back is taken off the mark, so that
 * it is not told again.
 */
bool
tide_pool_settle(struct tide_pool *p, uint32_t i)
{
	uint32_t held = held_by(p, i);
	unsigned class = tide_held_class(held);
	uint32_t depth = depth_of(p, class), whole = depth + 1;
	uint32_t mark, drops, times, told = 0, tries;

	for (tries = 0; tries < POOL_TRIES; tries++) {
		mark = mark_of(p, i);
		if ((mark & TIDE_MARK_FLAGS) != TIDE_MARK_OVF)
			return true;
		drops = depth > 0 ? tide_over_drops(mark) : 0;
		times = 1 + drops / whole;
		if (times > told && !report(p, held, mark, times - told)) {
			if (told == 0 || take_off(p, i, mark, told * whole))
				return false;
			continue;
		}
		told = times;
		if (cas_mark(
			p, i, mark, floor_of(p, class) + (drops % whole << 2)))
			return true;
	}
	return cut_short(p, i, floor_of(p, class));
}

void
tide_pool_overflowed(struct tide_pool *p, uint32_t i)
{
	uint32_t k;

	if (tide_pool_settle(p, i) || p->pendings == TIDE_PENDING)
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
tide_pool_resolve(struct tide_pool *p)
{
	uint32_t k, kept = 0;

	for (k = 0; k < p->pendings; k++)
		if (!tide_pool_settle(p, p->pending[k]))
			p->pending[kept++] = p->pending[k];
	p->pendings = kept;
}
