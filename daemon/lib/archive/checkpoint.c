/*
 * checkpoint - write the map's state: parts, each by name and format, and a
 * manifest that lists them.  Loading is checkpoint_load.c's.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_priv.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/window.h"
#include "tidemark/reputation/counting.h"

static uint64_t
copy_piece(uint64_t *to, const void *from, size_t size)
{
	const _Atomic uint64_t *words = from;
	size_t i;

	for (i = 0; i < size / 8; i++)
		to[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
	return tide_hash_check(to, size);
}

/* Byte for byte: a chunk that was damaged in its place is written again. */
static bool
is_unchanged(struct tide_txn *txn, const struct checkpoint_chunk *key,
    const uint64_t *room, size_t size)
{
	struct tide_bytes value;
	struct tide_err err;

	return tide_txn_get(txn, TIDE_TABLE_CHECKPOINT,
		   tide_bytes(key, sizeof *key), &value, &err) == 1 &&
	    value.size == sizeof room[0] + size &&
	    memcmp(value.data, room, value.size) == 0;
}

static int
write_piece(struct tide_archive *a, const struct checkpoint_chunk *key,
    uint64_t *room, size_t size, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);

	if (txn == NULL)
		return -1;
	if (is_unchanged(txn, key, room, size)) {
		tide_txn_abort(txn);
		return 0;
	}
	if (tide_txn_put(txn, TIDE_TABLE_CHECKPOINT,
		tide_bytes(key, sizeof *key),
		tide_bytes(room, sizeof room[0] + size), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

/* What earlier, longer or other parts have left behind: the chunks of a part
 * from one on, and of all parts after it up to the last. */
static int
drop_rest(struct tide_archive *a, unsigned side, unsigned part, unsigned last,
    uint64_t chunk, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct checkpoint_chunk key;
	bool any = false;
	int gone = 0;

	if (txn == NULL)
		return -1;
	for (; gone >= 0 && part <= last; part++, chunk = 0) {
		do {
			key = tide_checkpoint_chunk(side, part, chunk++);
			gone = tide_txn_del(txn, TIDE_TABLE_CHECKPOINT,
			    tide_bytes(&key, sizeof key), err);
			any |= gone == 1;
		} while (gone == 1);
	}
	if (gone == 0 && any)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return gone;
}

/* What is written, and how far. */
struct writing {
	struct tide_archive *a;
	const struct tide_map *map;
	struct manifest m;
	uint64_t *room; /* of a chunk: its check, its bytes */
};

static struct checkpoint_part *
next_part(struct writing *w, const char *name, uint32_t format)
{
	struct checkpoint_part *p = &w->m.part[w->m.parts++];

	assert(w->m.parts <= CHECKPOINT_PARTS_MOST);
	(void)snprintf(p->name, sizeof p->name, "%s", name);
	p->format = format;
	return p;
}

static int
write_part(struct writing *w, const char *name, uint32_t format,
    struct tide_bytes part, struct tide_err *err)
{
	struct checkpoint_part *p = next_part(w, name, format);
	unsigned i = w->m.parts - 1;
	const char *from = part.data;
	struct checkpoint_chunk key;
	uint64_t chunk;
	size_t size;

	p->length = part.size;
	for (chunk = 0; chunk * TIDE_CHUNK < p->length; chunk++) {
		size = tide_checkpoint_piece(p->length, chunk);
		key = tide_checkpoint_chunk(w->m.side, i, chunk);
		w->room[0] =
		    copy_piece(w->room + 1, from + chunk * TIDE_CHUNK, size);
		p->digest = p->digest * 31 + w->room[0];
		if (write_piece(w->a, &key, w->room, size, err) < 0)
			return -1;
	}
	return drop_rest(w->a, w->m.side, i, i, chunk, err);
}

/* ---- windows: as the archive will have them ----------------------------- */

static bool
holds_window(const struct tide_map *map, unsigned which)
{
	uint32_t s = atomic_load(&map->window[which]->state);

	return (s == TIDE_WINDOW_OPEN || s == TIDE_WINDOW_SEALING) &&
	    atomic_load(&map->control->window[which].number) != 0;
}

static void
describe(struct writing *w, unsigned which, struct tide_window_record *r)
{
	const struct tide_window *from = w->map->window[which];
	const struct tide_window_times *t = &w->map->control->window[which];
	uint64_t closed = atomic_load(&t->closed_ms);
	unsigned i;

	memset(r, 0, sizeof *r);
	r->number = atomic_load(&t->number);
	r->from_ms = atomic_load(&t->opened_ms);
	r->until_ms = closed != 0 ? closed : w->m.taken_ms;
	if (r->until_ms < r->from_ms)
		r->until_ms = r->from_ms;
	tide_window_describe(r, from, w->map->head);
	r->sealed_s = (uint32_t)(tide_map_now_ms(w->map) / 1000);
	for (i = 0; i < TIDE_FILTERS; i++)
		r->shape[i] = *tide_window_shape(w->map, i);
	tide_window_record_seal(r);
}

static int
write_window(struct writing *w, unsigned which, struct tide_err *err)
{
	const struct tide_window *from = w->map->window[which];
	bool holds = holds_window(w->map, which);
	struct tide_window_record r;
	char name[CHECKPOINT_NAME_MAX];
	size_t size;
	unsigned i;

	describe(w, which, &r);
	(void)snprintf(name, sizeof name, CHECKPOINT_WINDOW, which);
	if (write_part(w, name, TIDE_WINDOW_FORMAT,
		tide_bytes(&r, holds ? sizeof r : 0), err) < 0)
		return -1;
	for (i = 0; i < TIDE_FILTERS; i++) {
		size = holds ? tide_bloom_bytes(&r.shape[i]) : 0;
		(void)snprintf(name, sizeof name, CHECKPOINT_FILTER, which, i);
		if (write_part(w, name, TIDE_WINDOW_FORMAT,
			tide_bytes(
			    (const void *)tide_window_words(w->map, from, i),
			    size),
			err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the rest ---------------------------------------------------------- */

/* Bulk counts go on where they were, so they are kept as they lie there. */
static int
write_region(struct writing *w, enum tide_region_id id, struct tide_err *err)
{
	const struct tide_counting_shape *bulk = &w->map->head->bulk;

	_Static_assert(
	    sizeof *bulk <= sizeof w->m.part[0].shape, "it has room");
	if (write_part(w, tide_region[id].name, tide_region_format(id),
		tide_bytes(w->map->base[id], w->map->length[id]), err) < 0)
		return -1;
	memcpy(w->m.part[w->m.parts - 1].shape, bulk, sizeof *bulk);
	return 0;
}

static int
write_carried(struct writing *w, struct tide_err *err)
{
	struct tide_carried c;
	unsigned i;
	int rc = 0;

	if (tide_carried_take(&c, w->map, w->m.taken_ms, err) < 0)
		return -1;
	for (i = 0; rc == 0 && i < TIDE_CARRIED_PARTS; i++)
		rc = write_part(w, tide_carried_kind[i].name,
		    tide_carried_kind[i].format,
		    tide_bytes(c.part[i].bytes, c.part[i].size), err);
	tide_carried_free(&c);
	return rc;
}

static int
write_parts(struct writing *w, struct tide_err *err)
{
	if (write_window(w, 0, err) < 0 || write_window(w, 1, err) < 0 ||
	    write_region(w, TIDE_REGION_BULK, err) < 0 ||
	    write_region(w, TIDE_REGION_NEIGHBOURS, err) < 0 ||
	    write_carried(w, err) < 0)
		return -1;
	/* and what only another version knows */
	return drop_rest(
	    w->a, w->m.side, w->m.parts, CHECKPOINT_PARTS_MOST - 1, 0, err);
}

/* The manifest goes first (the side is invalid from then on) or comes last. */
static int
put_manifest(struct writing *w, bool valid, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(w->a->store, true, err);
	struct tide_bytes key = tide_checkpoint_manifest(w->m.side);
	int rc;

	if (txn == NULL)
		return -1;
	w->m.check = tide_checkpoint_check(&w->m);
	if (valid)
		rc = tide_txn_put(txn, TIDE_TABLE_META, key,
		    tide_bytes(&w->m, tide_checkpoint_size(&w->m)), err);
	else
		rc = tide_txn_del(txn, TIDE_TABLE_META, key, err);
	if (rc < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

static int
plan(struct writing *w, uint64_t now_ms, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(w->a->store, false, err);
	uint64_t sequence;
	int side;

	if (txn == NULL)
		return -1;
	side = tide_checkpoint_newest(txn, &sequence);
	tide_txn_abort(txn);
	w->m = (struct manifest){ .magic = TIDE_MAP_MAGIC,
		.format = CHECKPOINT_FORMAT,
		.side = side == 0 ? 1 : 0,
		.sequence = sequence + 1,
		.taken_ms = now_ms,
		.bypass_until_ms = atomic_load_explicit(
		    &w->map->control->bypass_until_ms, memory_order_relaxed),
		.profiles = *w->map->profiles };
	return put_manifest(w, false, err);
}

int
tide_checkpoint_write(struct tide_archive *a, const struct tide_map *map,
    uint64_t now_ms, struct tide_err *err)
{
	struct writing *w = calloc(1, sizeof *w);
	int rc;

	if (w == NULL)
		return tide_err_errno(err, "making a checkpoint");
	w->a = a;
	w->map = map;
	w->room = malloc(sizeof *w->room + TIDE_CHUNK);
	rc = w->room == NULL ? tide_err_errno(err, "making a checkpoint")
			     : plan(w, now_ms, err);
	if (rc == 0)
		rc = write_parts(w, err);
	if (rc == 0)
		rc = put_manifest(w, true, err);
	free(w->room);
	free(w);
	return rc;
}
