/*
 * pool audit - every invariant of the pool, checked.
 *
 * Runs inside the collector, between two of its steps: what it owns stands
 * still, and workers only move marks.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

enum where { NOWHERE, IN_CHAIN, IN_LIST, IN_FREE, IN_LIMBO };

struct audit {
	struct tide_pool *p;
	const struct tide_flow *f;
	uint8_t *where; /* of each bucket: enum where */
	uint32_t *refs; /* counted, of each string */
	uint32_t live[TIDE_CLASSES];
	unsigned faults;
	struct tide_err *err;
};

static void __attribute__((format(printf, 2, 3)))
fault(struct audit *a, const char *fmt, ...)
{
	va_list ap;

	if (a->faults++ > 0)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(a->err->text, sizeof a->err->text, fmt, ap);
	va_end(ap);
}

/* One more bucket on its way through a list; false if it cannot be there. */
static bool
move(struct audit *a, uint32_t i, enum where from, enum where to,
    const char *what)
{
	if (i > a->f->head->shape.buckets) {
		fault(a, "%s holds bucket %u of %u", what, i,
		    a->f->head->shape.buckets);
		return false;
	}
	if (a->where[i] != from) {
		fault(a, "bucket %u is met twice, in %s", i, what);
		return false;
	}
	a->where[i] = (uint8_t)to;
	return true;
}

/* ---- chains ------------------------------------------------------------ */

static bool
same_key(const struct audit *a, uint32_t i, uint32_t j)
{
	return tide_once(&a->f->bucket[i].class_string) ==
	    tide_once(&a->f->bucket[j].class_string);
}

static void
check_duplicates(struct audit *a, uint32_t i)
{
	uint32_t j = atomic_load(&a->f->bucket[i].next), steps = 0;

	for (; j != 0 && j <= a->f->head->shape.buckets &&
	     steps < TIDE_CHAIN_MOST;
	     j = atomic_load(&a->f->bucket[j].next), steps++)
		if (same_key(a, i, j))
			fault(a, "buckets %u and %u are of one key", i, j);
}

static void
check_chained(struct audit *a, uint32_t i, uint32_t chain)
{
	const struct tide_bucket *b = &a->f->bucket[i];
	uint32_t held = tide_once(&b->class_string);
	uint32_t unit = tide_held_string(held);

	if ((tide_once(&b->hash) & (a->f->head->shape.heads - 1)) != chain)
		fault(a, "bucket %u is in the wrong chain", i);
	if ((atomic_load(&b->mark) & TIDE_MARK_DEAD) != 0)
		fault(a, "bucket %u is dead and in a chain", i);
	if (!tide_string_is(a->f, unit))
		fault(a, "bucket %u has no string", i);
	else
		a->refs[unit]++;
	a->live[tide_held_class(held)]++;
	check_duplicates(a, i);
}

static void
check_chains(struct audit *a)
{
	uint32_t chain, i;

	for (chain = 0; chain < a->f->head->shape.heads; chain++) {
		for (i = atomic_load(&a->f->heads[chain]); i != 0;
		     i = atomic_load(&a->f->bucket[i].next)) {
			if (!move(a, i, NOWHERE, IN_CHAIN, "a chain"))
				return;
			check_chained(a, i, chain);
		}
	}
}

/* ---- level lists, free list, limbo ------------------------------------- */

static bool
check_level(struct audit *a, uint32_t i, uint32_t *found)
{
	for (; i != 0; i = tide_once(&a->f->bucket[i].level_next), ++*found)
		if (!move(a, i, IN_CHAIN, IN_LIST, "a level list"))
			return false;
	return true;
}

static void
check_levels(struct audit *a)
{
	uint32_t ring = a->f->head->shape.ring, k, found;
	unsigned class;

	for (class = 0; class < TIDE_CLASSES; class ++) {
		found = 0;
		if (!check_level(a, a->f->class[class].due, &found))
			return;
		for (k = 0; k < ring; k++)
			if (!check_level(
				a, a->f->levels[class * ring + k], &found))
				return;
		if (found != a->live[class] ||
		    found != atomic_load(&a->f->class[class].live))
			fault(a,
			    "class %u has %u buckets in lists, %u in chains "
			    "and %u in its books",
			    class, found, a->live[class],
			    atomic_load(&a->f->class[class].live));
	}
}

static uint32_t
check_list(struct audit *a, uint32_t i, enum where to, const char *what)
{
	uint32_t n = 0, unit;

	for (; i != 0; i = tide_once(&a->f->bucket[i].level_next), n++) {
		if (!move(a, i, NOWHERE, to, what))
			break;
		unit =
		    tide_held_string(tide_once(&a->f->bucket[i].class_string));
		if (to == IN_LIMBO && tide_string_is(a->f, unit))
			a->refs[unit]++;
	}
	return n;
}

static void
check_pool(struct audit *a)
{
	const struct tide_flow_head *h = a->f->head;
	uint32_t idle = check_list(a, h->free_head, IN_FREE, "the free list");
	uint32_t limbo = check_list(a, h->limbo[0], IN_LIMBO, "limbo") +
	    check_list(a, h->limbo[1], IN_LIMBO, "limbo");
	uint32_t class, live = 0;

	for (class = 0; class < TIDE_CLASSES; class ++)
		live += a->live[class];
	if (idle != atomic_load(&h->free_count))
		fault(a, "%u buckets are free, %u in the books", idle,
		    atomic_load(&h->free_count));
	if (limbo != atomic_load(&h->limbo_count))
		fault(a, "%u buckets are in limbo, %u in the books", limbo,
		    atomic_load(&h->limbo_count));
	if (idle + limbo + live != h->shape.buckets)
		fault(a, "%u free + %u in limbo + %u live are not %u", idle,
		    limbo, live, h->shape.buckets);
}

/* ---- strings ----------------------------------------------------------- */

/* One chain of them; false if it leads nowhere, or in circles. */
static bool
check_string_chain(struct audit *a, uint32_t unit, uint32_t *n)
{
	const struct tide_string *s;

	for (; unit != 0; unit = s->next) {
		if (unit >= a->f->head->shape.string_units ||
		    *n >= a->f->head->shape.string_units) {
			fault(a, "a chain of strings leads to unit %u", unit);
			return false;
		}
		++*n;
		s = tide_string_at(a->f, unit);
		if (s->refs != a->refs[unit])
			fault(a, "string %u counts %u references, not %u", unit,
			    s->refs, a->refs[unit]);
		a->refs[unit] = 0;
	}
	return true;
}

/* Of free runs: each within what was handed out, and as many as the books. */
static void
check_free_units(struct audit *a)
{
	const struct tide_flow_head *h = a->f->head;
	uint32_t used = atomic_load(&h->string_used), n, unit, sum = 0;
	const struct tide_string *s;

	for (n = 1; n < sizeof h->string_free_head / 4; n++)
		for (unit = h->string_free_head[n]; unit != 0; unit = s->next) {
			s = tide_string_at(a->f, unit);
			if (unit >= used || s->hash == 0 ||
			    s->hash > used - unit || sum > used) {
				fault(
				    a, "a run of free units leads to %u", unit);
				return;
			}
			sum += s->hash;
		}
	if (sum != atomic_load(&h->string_free))
		fault(a, "%u units are free, %u in the books", sum,
		    atomic_load(&h->string_free));
}

static void
check_strings(struct audit *a)
{
	uint32_t chain, unit, n = 0;

	for (chain = 0; chain < a->f->head->shape.heads; chain++)
		if (!check_string_chain(
			a, atomic_load(&a->f->string_heads[chain]), &n))
			return;
	if (n != atomic_load(&a->f->head->strings))
		fault(a, "%u strings, %u in the books", n,
		    atomic_load(&a->f->head->strings));
	for (unit = 0; unit < a->f->head->shape.string_units; unit++)
		if (a->refs[unit] != 0)
			fault(
			    a, "string %u is referred to and not there", unit);
}

unsigned
tide_pool_audit(struct tide_pool *p, struct tide_err *err)
{
	const struct tide_flow_shape *s = &p->flow->head->shape;
	struct audit a = { .p = p,
		.f = p->flow,
		.where = calloc((size_t)s->buckets + 1, 1),
		.refs = calloc((size_t)s->string_units + 1, 4),
		.err = err };

	err->text[0] = '\0';
	if (a.where == NULL || a.refs == NULL) {
		fault(&a, "no memory for an audit");
	} else if (p->seen == NULL) { /* a rebuild is half done otherwise */
		check_chains(&a);
		check_levels(&a);
		check_pool(&a);
		check_strings(&a);
		check_free_units(&a);
	}
	free(a.where);
	free(a.refs);
	return a.faults;
}
