/*
 * flow_state - buckets to records, and back.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/flow_state.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"

struct record {
	uint16_t level;
	uint8_t class;
	uint8_t length; /* of the key that follows */
};

/* ---- saving ------------------------------------------------------------ */

/* How full; 0 if there is nothing to save.  One that has overflowed is as
 * full as can be: its ban is stored elsewhere. */
static uint32_t
level_of(const struct tide_flow *f, const struct tide_bucket *b, unsigned class)
{
	uint32_t mark = atomic_load(&b->mark);
	uint32_t floor = atomic_load(&f->class[class].floor);

	if ((mark & TIDE_MARK_OVF) != 0)
		return atomic_load(&f->class[class].depth);
	if ((mark & TIDE_MARK_DEAD) != 0 || !tide_mark_above(mark, floor))
		return 0;
	return (mark - floor) >> 2;
}

/* The key, copied and compared with the bucket's hash. */
static bool
key_of(const struct tide_flow *f, const struct tide_bucket *b, uint32_t held,
    char *text, uint8_t *length)
{
	uint32_t unit = tide_held_string(held);
	struct tide_flow_key key;

	if (unit == 0 || unit >= f->head->shape.string_units)
		return false;
	*length = tide_string_at(f, unit)->length;
	if (*length == 0 || *length > TIDE_BUCKET_KEY_MAX ||
	    unit + tide_string_units(*length) > f->head->shape.string_units)
		return false;
	memcpy(text, tide_string_at(f, unit)->text, *length);
	return tide_flow_key(f, text, *length, &key) &&
	    tide_bucket_hash(key.hash, tide_held_class(held)) ==
	    tide_once(&b->hash);
}

static size_t
save_one(const struct tide_flow *f, const struct tide_bucket *b, char *to)
{
	uint32_t held = tide_once(&b->class_string);
	struct record r = { .class = (uint8_t)tide_held_class(held) };
	uint32_t level = level_of(f, b, r.class);

	if (level == 0 || !key_of(f, b, held, to + sizeof r, &r.length) ||
	    level_of(f, b, r.class) == 0)
		return 0;
	r.level = level > UINT16_MAX ? UINT16_MAX : (uint16_t)level;
	memcpy(to, &r, sizeof r);
	return sizeof r + r.length;
}

/* Room for one more record; NULL if there is none to be had. */
static char *
make_room(char *all, size_t used, size_t *room)
{
	char *more;

	if (used + sizeof(struct record) + UINT8_MAX <= *room)
		return all;
	more = realloc(all, *room * 2);
	if (more == NULL)
		free(all);
	else
		*room *= 2;
	return more;
}

int
tide_flow_save(
    const struct tide_flow *f, char **bytes, size_t *size, struct tide_err *err)
{
	size_t room = 1 << 16;
	char *all = malloc(room);
	uint32_t i;

	*size = 0;
	for (i = 1; i <= f->head->shape.buckets; i++) {
		if (all != NULL)
			all = make_room(all, *size, &room);
		if (all == NULL)
			break;
		*size += save_one(f, &f->bucket[i], all + *size);
	}
	*bytes = all;
	return all != NULL ? 0 : tide_err_errno(err, "saving the buckets");
}

/* ---- loading ----------------------------------------------------------- */

static uint64_t
leaked(const struct tide_flow *f, unsigned class, uint64_t elapsed_ms)
{
	uint64_t leak = atomic_load(&f->class[class].leak_ms);

	return leak == 0 ? UINT64_MAX : elapsed_ms / leak;
}

static bool
load_one(struct tide_pool *p, const struct record *r, const char *text,
    uint64_t elapsed_ms)
{
	uint32_t depth = atomic_load(&p->flow->class[r->class].depth);
	uint64_t gone = leaked(p->flow, r->class, elapsed_ms);
	uint32_t level = r->level > depth ? depth : r->level;
	struct tide_flow_key key;

	return level > gone && tide_flow_key(p->flow, text, r->length, &key) &&
	    tide_pool_add(p, r->class, &key, level - (uint32_t)gone);
}

unsigned
tide_flow_load(struct tide_pool *p, const char *bytes, size_t size,
    const int class[TIDE_CLASSES], uint64_t elapsed_ms)
{
	struct record r;
	unsigned taken = 0;
	size_t at = 0;

	while (at + sizeof r <= size) {
		memcpy(&r, bytes + at, sizeof r);
		at += sizeof r;
		if (r.class >= TIDE_CLASSES || at + r.length > size)
			break;
		if (class[r.class] >= 0) {
			r.class = (uint8_t) class[r.class];
			taken += load_one(p, &r, bytes + at, elapsed_ms);
		}
		at += r.length;
	}
	return taken;
}
