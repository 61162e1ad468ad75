/*
 * pool forget - buckets of certain keys, before they have run empty (PROTOCOL
 * forget is in pool.h).
 */
#include "pool_priv.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

struct forgetting {
	struct tide_pool *p;
	tide_pool_means *means;
	void *arg;
	uint64_t classes; /* a bit for each that has lost one */
	unsigned killed;
};

static bool
is_meant(const struct forgetting *f, uint32_t i)
{
	uint32_t unit = tide_held_string(held_by(f->p, i));
	const struct tide_string *s = tide_string_at(f->p->flow, unit);

	return (mark_of(f->p, i) & TIDE_MARK_DEAD) == 0 &&
	    tide_string_is(f->p->flow, unit) &&
	    f->means(f->arg, s->text, s->length);
}

/* F1; false if it has overflowed. */
static bool
kill(struct forgetting *f, uint32_t i)
{
	uint32_t mark, tries = 0;

	do {
		mark = mark_of(f->p, i);
		if ((mark & TIDE_MARK_OVF) != 0 || tries++ == POOL_TRIES)
			return false;
	} while (!cas_mark(f->p, i, mark, TIDE_MARK_DEAD));
	f->classes |= 1ull << tide_held_class(held_by(f->p, i));
	f->killed++;
	return true;
}

/* F2, for the dead of one list; how many. */
static unsigned
clean_list(struct tide_pool *p, unsigned class, uint32_t *from, uint32_t *steps)
{
	uint32_t i = checked(p, tide_once(from)), next;
	unsigned n = 0;

	for (; i != 0 && !p->damaged; i = next) {
		next = after(p, i, steps);
		if (mark_of(p, i) != TIDE_MARK_DEAD) {
			from = &at(p, i)->level_next;
			continue;
		}
		*from = next;
		tide_pool_bury(p, class, i);
		n++;
	}
	return n;
}

static unsigned
clean_class(struct tide_pool *p, unsigned class)
{
	uint32_t k, ring = p->flow->head->shape.ring, steps = 0;
	unsigned n = clean_list(p, class, &p->flow->class[class].due, &steps);

	for (k = 0; k < ring; k++)
		n += clean_list(
		    p, class, &p->flow->levels[class * ring + k], &steps);
	return n;
}

unsigned
tide_pool_forget(struct tide_pool *p, tide_pool_means *means, void *arg,
    bool dry, bool *busy)
{
	struct forgetting f = { .p = p, .means = means, .arg = arg };
	unsigned class, buried = 0;
	uint32_t i;

	*busy = false;
	for (i = 1; i <= p->flow->head->shape.buckets; i++) {
		if (!is_meant(&f, i))
			continue;
		if (dry)
			f.killed++;
		else if (!kill(&f, i))
			*busy = true;
	}
	if (dry)
		return f.killed;
	for (class = 0; class < TIDE_CLASSES; class ++)
		if ((f.classes >> class & 1) != 0)
			buried += clean_class(p, class);
	count(&p->flow->head->retired, buried);
	if (buried != f.killed)
		p->damaged = true; /* one was in no list: rebuild */
	return f.killed;
}
