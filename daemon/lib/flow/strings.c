/*
 * strings - interned keys.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/flow/buckets.h"
#include "tidemark/flow/strings.h"

#define UNITS_MOST 15u /* the largest that a free list is kept for */

_Static_assert(
    (offsetof(struct tide_string, text) + TIDE_BUCKET_KEY_MAX + 15) / 16 <=
	UNITS_MOST,
    "the longest key has a free list");

static void
count(_Atomic uint32_t *p, uint32_t by)
{
	atomic_fetch_add_explicit(p, by, memory_order_relaxed);
}

/* Workers look at the heads, too, if only for a hint. */
static _Atomic uint32_t *
chain_of(struct tide_flow *f, uint32_t hash)
{
	return &f->string_heads[hash & (f->head->shape.heads - 1)];
}

static uint32_t
first(const _Atomic uint32_t *chain)
{
	return atomic_load_explicit(chain, memory_order_relaxed);
}

static void
set_first(_Atomic uint32_t *chain, uint32_t unit)
{
	atomic_store_explicit(chain, unit, memory_order_relaxed);
}

static uint32_t
look_up(struct tide_flow *f, const struct tide_flow_key *key)
{
	uint32_t unit = first(chain_of(f, key->hash));

	while (unit != 0) {
		const struct tide_string *s = tide_string_at(f, unit);

		if (s->hash == key->hash && s->length == key->length &&
		    memcmp(s->text, key->text, key->length) == 0)
			return unit;
		unit = s->next;
	}
	return 0;
}

/* ---- free units --------------------------------------------------------- */

/*
 * A run of free units, wiped, begins with the next one of its list and, in the
 * place of the hash, its length: the last list has all that are longer.
 */
static void
link_run(struct tide_flow *f, uint32_t unit, uint32_t units)
{
	uint32_t n = units < UNITS_MOST ? units : UNITS_MOST;
	struct tide_string *s = tide_string_at(f, unit);

	s->next = f->head->string_free_head[n];
	s->hash = units;
	f->head->string_free_head[n] = unit;
}

/* The first run of a list, taken out, its head wiped; 0 if there is none. */
static uint32_t
unlink_run(struct tide_flow *f, uint32_t n, uint32_t *units)
{
	uint32_t unit = f->head->string_free_head[n];
	struct tide_string *s = tide_string_at(f, unit);

	if (unit == 0)
		return 0;
	f->head->string_free_head[n] = s->next;
	*units = s->hash;
	s->next = s->hash = 0;
	return unit;
}

/* Wiped: what nobody refers to is not kept by accident. */
void
tide_string_free_run(struct tide_flow *f, uint32_t unit, uint32_t units)
{
	if (units == 0)
		return;
	memset(tide_string_at(f, unit), 0, (size_t)units * TIDE_STRING_UNIT);
	count(&f->head->string_free, units);
	link_run(f, unit, units);
}

/* Free units of the right number, or of a larger one, the rest put back. */
static uint32_t
take_free(struct tide_flow *f, uint32_t units)
{
	uint32_t n, unit, have;

	for (n = units; n <= UNITS_MOST; n++) {
		unit = unlink_run(f, n, &have);
		if (unit == 0)
			continue;
		count(&f->head->string_free, 0u - units);
		if (have > units)
			link_run(f, unit + units, have - units);
		return unit;
	}
	return 0;
}

/* A bit for each unit that is free. */
static void
mark_free(struct tide_flow *f, uint64_t *bit)
{
	uint32_t n, unit, units;

	for (n = 1; n <= UNITS_MOST; n++)
		while ((unit = unlink_run(f, n, &units)) != 0)
			for (; units > 0; units--, unit++)
				bit[unit / 64] |= 1ull << unit % 64;
}

static bool
is_free(const uint64_t *bit, uint32_t unit)
{
	return (bit[unit / 64] >> unit % 64 & 1) != 0;
}

bool
tide_string_join(struct tide_flow *f)
{
	uint32_t unit = 1, end = f->head->shape.string_units, first_unit;
	uint64_t *bit = calloc((size_t)end / 64 + 1, sizeof *bit);

	if (bit == NULL)
		return false;
	mark_free(f, bit);
	while (unit < end) {
		if (bit[unit / 64] == 0) {
			unit = (unit / 64 + 1) * 64;
			continue;
		}
		for (first_unit = unit; unit < end && is_free(bit, unit);)
			unit++;
		if (unit > first_unit)
			link_run(f, first_unit, unit - first_unit);
		else
			unit++;
	}
	free(bit);
	return true;
}

/* ---- strings ------------------------------------------------------------ */

static uint32_t
take_new(struct tide_flow *f, uint32_t units)
{
	uint32_t used = atomic_load(&f->head->string_used);

	if (used + units > f->head->shape.string_units)
		return 0;
	count(&f->head->string_used, units);
	return used;
}

uint32_t
tide_string_take(struct tide_flow *f, const struct tide_flow_key *key)
{
	uint32_t units = tide_string_units(key->length);
	uint32_t unit = look_up(f, key);
	struct tide_string *s;

	if (unit != 0) {
		tide_string_at(f, unit)->refs++;
		return unit;
	}
	unit = take_free(f, units);
	if (unit == 0)
		unit = take_new(f, units);
	if (unit == 0)
		return 0;
	s = tide_string_at(f, unit);
	s->refs = 1;
	s->hash = key->hash;
	s->length = key->length;
	memcpy(s->text, key->text, key->length);
	s->next = first(chain_of(f, key->hash));
	set_first(chain_of(f, key->hash), unit);
	count(&f->head->strings, 1);
	return unit;
}

bool
tide_string_is(const struct tide_flow *f, uint32_t unit)
{
	uint32_t used = atomic_load(&f->head->string_used);
	uint32_t length;

	if (used > f->head->shape.string_units || unit == 0 || unit >= used)
		return false;
	length = tide_string_at(f, unit)->length;
	return length > 0 && length <= TIDE_BUCKET_KEY_MAX &&
	    unit + tide_string_units(length) <= used;
}

/* The one before it in its chain, itself if it is the first; 0: not there. */
static uint32_t
before(struct tide_flow *f, uint32_t unit)
{
	uint32_t i = first(chain_of(f, tide_string_at(f, unit)->hash));

	if (i == unit)
		return unit;
	while (i != 0 && tide_string_at(f, i)->next != unit)
		i = tide_string_at(f, i)->next;
	return i;
}

bool
tide_string_drop(struct tide_flow *f, uint32_t unit)
{
	struct tide_string *s = tide_string_at(f, unit);
	uint32_t i;

	if (!tide_string_is(f, unit))
		return false;
	/* only what is in its chain is a string, whatever a bucket says */
	i = before(f, unit);
	if (i == 0)
		return false;
	if (--s->refs > 0)
		return true;
	if (i == unit)
		set_first(chain_of(f, s->hash), s->next);
	else
		tide_string_at(f, i)->next = s->next;
	count(&f->head->strings, 0u - 1u);
	tide_string_free_run(f, unit, tide_string_units(s->length));
	return true;
}
