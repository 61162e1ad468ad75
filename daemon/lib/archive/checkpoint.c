/*
 * checkpoint - write the map's state, load it back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/pages.h"

/* The regions that are kept, and where their manifest entry stands. */
static const unsigned kept[] = { TIDE_REGION_COUNTERS, TIDE_REGION_WINDOW0,
	TIDE_REGION_WINDOW1, TIDE_REGION_BULK, TIDE_REGION_NEIGHBOURS };
#define BULK 3u
#define NEIGHBOURS 4u
#define KEPT (sizeof kept / sizeof *kept)
#define PARTS (KEPT + TIDE_CARRIED_PARTS) /* then come the records */

struct manifest {
	uint64_t magic;
	uint32_t layout;
	uint32_t side;
	uint64_t sequence;
	uint64_t taken_ms;
	uint64_t bypass_until_ms;
	struct tide_map_head head; /* the map's; its key left out */
	struct tide_bloom_shape shape[TIDE_FILTERS];
	struct tide_counting_shape bulk;
	uint64_t length[PARTS];
	uint64_t digest[PARTS]; /* of the chunks' checks, in order */
	uint64_t check;
};

struct chunk_key {
	uint8_t side, region;
	uint8_t chunk[8];
};
_Static_assert(sizeof(struct chunk_key) == 10, "keys have no padding");

static struct chunk_key
chunk_key(unsigned side, unsigned region, uint64_t chunk)
{
	struct chunk_key k = { .side = (uint8_t)side,
		.region = (uint8_t)region };

	tide_key_number(k.chunk, chunk);
	return k;
}

static struct tide_bytes
manifest_key(unsigned side)
{
	static const char *const names[] = { "checkpoint0", "checkpoint1" };

	return tide_bytes(names[side], 11);
}

static uint64_t
manifest_check(const struct manifest *m)
{
	return tide_hash_check(m, offsetof(struct manifest, check));
}

static size_t
piece(uint64_t length, uint64_t chunk)
{
	uint64_t left = length - chunk * TIDE_CHUNK;

	return left < TIDE_CHUNK ? (size_t)left : TIDE_CHUNK;
}

/* ---- reading ----------------------------------------------------------- */

/* 1 a valid manifest, 0 none. */
static int
read_manifest(struct tide_txn *txn, unsigned side, struct manifest *m)
{
	struct tide_bytes value;
	struct tide_err err;

	if (tide_txn_get(
		txn, TIDE_TABLE_META, manifest_key(side), &value, &err) != 1 ||
	    value.size != sizeof *m)
		return 0;
	memcpy(m, value.data, sizeof *m);
	return m->magic == TIDE_MAP_MAGIC && m->check == manifest_check(m);
}

/* The side of the newest valid manifest, or -1. */
static int
newest_side(struct tide_txn *txn, struct manifest *newest)
{
	struct manifest m;
	int side = -1;
	unsigned i;

	newest->sequence = 0;
	for (i = 0; i < 2; i++) {
		if (read_manifest(txn, i, &m) &&
		    m.sequence > newest->sequence) {
			*newest = m;
			side = (int)i;
		}
	}
	return side;
}

int
tide_checkpoint_taken(
    struct tide_archive *a, uint64_t *wall_ms, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct manifest m;

	if (txn == NULL)
		return -1;
	*wall_ms = newest_side(txn, &m) >= 0 ? m.taken_ms : 0;
	tide_txn_abort(txn);
	return 0;
}

/* ---- writing ----------------------------------------------------------- */

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
is_unchanged(struct tide_txn *txn, const struct chunk_key *key,
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
write_piece(struct tide_archive *a, const struct chunk_key *key, uint64_t *room,
    size_t size, struct tide_err *err)
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

/* What an earlier, longer part has left behind this one's end. */
static int
drop_rest(struct tide_archive *a, unsigned side, unsigned part, uint64_t chunk,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct chunk_key key;
	int gone = 1;
	bool any = false;

	if (txn == NULL)
		return -1;
	for (; gone == 1; chunk++) {
		key = chunk_key(side, part, chunk);
		gone = tide_txn_del(txn, TIDE_TABLE_CHECKPOINT,
		    tide_bytes(&key, sizeof key), err);
		any |= gone == 1;
	}
	if (gone == 0 && any)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return gone;
}

static int
write_part(struct tide_archive *a, struct manifest *m, unsigned i,
    struct tide_bytes part, uint64_t *room, struct tide_err *err)
{
	const char *from = part.data;
	struct chunk_key key;
	uint64_t chunk;
	size_t size;

	m->length[i] = part.size;
	m->digest[i] = 0;
	for (chunk = 0; chunk * TIDE_CHUNK < m->length[i]; chunk++) {
		size = piece(m->length[i], chunk);
		key = chunk_key(m->side, i, chunk);
		room[0] = copy_piece(room + 1, from + chunk * TIDE_CHUNK, size);
		m->digest[i] = m->digest[i] * 31 + room[0];
		if (write_piece(a, &key, room, size, err) < 0)
			return -1;
	}
	return drop_rest(a, m->side, i, chunk, err);
}

static int
write_carried(struct tide_archive *a, const struct tide_map *map,
    struct manifest *m, uint64_t *room, struct tide_err *err)
{
	struct tide_carried c;
	unsigned i;
	int rc = 0;

	if (tide_carried_take(&c, map, m->taken_ms, err) < 0)
		return -1;
	for (i = 0; rc == 0 && i < TIDE_CARRIED_PARTS; i++)
		rc = write_part(a, m, KEPT + i,
		    tide_bytes(c.part[i].bytes, c.part[i].size), room, err);
	tide_carried_free(&c);
	return rc;
}

static int
write_parts(struct tide_archive *a, const struct tide_map *map,
    struct manifest *m, uint64_t *room, struct tide_err *err)
{
	unsigned i;

	for (i = 0; i < KEPT; i++)
		if (write_part(a, m, i,
			tide_bytes(map->base[kept[i]], map->length[kept[i]]),
			room, err) < 0)
			return -1;
	return write_carried(a, map, m, room, err);
}

/* The manifest goes first (the side is invalid from then on) or comes last. */
static int
put_manifest(struct tide_archive *a, const struct manifest *m, bool valid,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	int rc;

	if (txn == NULL)
		return -1;
	if (valid)
		rc = tide_txn_put(txn, TIDE_TABLE_META, manifest_key(m->side),
		    tide_bytes(m, sizeof *m), err);
	else
		rc = tide_txn_del(
		    txn, TIDE_TABLE_META, manifest_key(m->side), err);
	if (rc < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

static int
plan(struct tide_archive *a, const struct tide_map *map, uint64_t now_ms,
    struct manifest *m, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct manifest last;
	unsigned i;
	int side;

	if (txn == NULL)
		return -1;
	side = newest_side(txn, &last);
	tide_txn_abort(txn);
	memset(m, 0, sizeof *m);
	m->magic = TIDE_MAP_MAGIC;
	m->layout = tide_map_layout();
	m->side = side == 0 ? 1 : 0;
	m->sequence = last.sequence + 1;
	m->taken_ms = now_ms;
	m->bypass_until_ms = atomic_load_explicit(
	    &map->control->bypass_until_ms, memory_order_relaxed);
	m->head = *map->head;
	memset(&m->head.key, 0, sizeof m->head.key);
	for (i = 0; i < TIDE_FILTERS; i++)
		m->shape[i] = *tide_window_shape(map, i);
	m->bulk = map->head->bulk;
	return put_manifest(a, m, false, err);
}

int
tide_checkpoint_write(struct tide_archive *a, const struct tide_map *map,
    uint64_t now_ms, struct tide_err *err)
{
	uint64_t *room = malloc(sizeof *room + TIDE_CHUNK);
	struct manifest m;
	int rc;

	if (room == NULL)
		return tide_err_errno(err, "making a checkpoint");
	rc = plan(a, map, now_ms, &m, err);
	if (rc == 0)
		rc = write_parts(a, map, &m, room, err);
	free(room);
	if (rc < 0)
		return -1;
	m.check = manifest_check(&m);
	return put_manifest(a, &m, true, err);
}

/* ---- loading ----------------------------------------------------------- */

/* A region's bytes, whole and checked, or NULL. */
static char *
load_region(struct tide_txn *txn, const struct manifest *m, unsigned i)
{
	char *bytes = malloc((size_t)m->length[i] + 1);
	struct tide_bytes value;
	struct chunk_key key;
	uint64_t chunk, check, digest = 0;
	struct tide_err err;
	size_t size;

	for (chunk = 0; bytes != NULL && chunk * TIDE_CHUNK < m->length[i];
	     chunk++) {
		size = piece(m->length[i], chunk);
		key = chunk_key(m->side, i, chunk);
		if (tide_txn_get(txn, TIDE_TABLE_CHECKPOINT,
			tide_bytes(&key, sizeof key), &value, &err) != 1 ||
		    value.size != sizeof check + size)
			break;
		memcpy(&check, value.data, sizeof check);
		memcpy(bytes + chunk * TIDE_CHUNK,
		    (const char *)value.data + sizeof check, size);
		if (check != tide_hash_check(bytes + chunk * TIDE_CHUNK, size))
			break;
		digest = digest * 31 + check;
	}
	if (bytes != NULL && digest == m->digest[i] &&
	    chunk * TIDE_CHUNK >= m->length[i])
		return bytes;
	free(bytes);
	return NULL;
}

static bool
holds_window(const struct tide_window *w)
{
	uint32_t s = atomic_load(&w->state);

	return (s == TIDE_WINDOW_OPEN || s == TIDE_WINDOW_SEALING) &&
	    atomic_load(&w->number) != 0;
}

static void
describe(struct tide_window_record *r, const struct tide_window *w,
    const struct manifest *m)
{
	uint64_t closed = atomic_load(&w->closed_ms);

	memset(r, 0, sizeof *r);
	r->flags = TIDE_WINDOW_WAS_RESTORED;
	r->number = atomic_load(&w->number);
	r->from_ms = atomic_load(&w->opened_ms);
	r->until_ms = closed != 0 ? closed : m->taken_ms;
	if (r->until_ms < r->from_ms)
		r->until_ms = r->from_ms;
	tide_window_describe(r, w, &m->head);
	memcpy(r->shape, m->shape, sizeof r->shape);
}

static uint64_t *
copy_words(const char *from, size_t size)
{
	uint64_t *words = malloc(size);

	if (words != NULL)
		memcpy(words, from, size);
	return words;
}

/* All filters; they belong to the checkpoint from then on. */
static int
take_words(struct tide_checkpoint *c, const char *bytes,
    const struct manifest *m, struct tide_err *err)
{
	uint64_t **words = c->words[c->windows];
	size_t at = TIDE_PAGE, size;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		size = tide_bloom_bytes(&m->shape[i]);
		words[i] = copy_words(bytes + at, size);
		if (words[i] == NULL)
			return tide_err_errno(err, "loading a checkpoint");
		at += tide_pages(size);
	}
	return 0;
}

static bool
manifest_fits(const struct manifest *m)
{
	uint64_t need = TIDE_PAGE;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		if (!tide_bloom_sane(&m->shape[i]))
			return false;
		need += tide_pages(tide_bloom_bytes(&m->shape[i]));
	}
	return m->layout == tide_map_layout() &&
	    m->length[0] >= sizeof(struct tide_counters) &&
	    m->length[1] == need && m->length[2] == need;
}

/* 1 it is to be loaded, 0 not (the archive may have it anyway), -1 error. */
static int
is_wanted(
    struct tide_archive *a, const struct tide_window *w, struct tide_err *err)
{
	int stored = 1;

	if (holds_window(w))
		stored =
		    tide_archive_has_window(a, atomic_load(&w->number), err);
	return stored < 0 ? -1 : 1 - stored;
}

static int
load_window(struct tide_archive *a, struct tide_txn *txn,
    const struct manifest *m, unsigned i, struct tide_checkpoint *c,
    struct tide_err *err)
{
	char *bytes = load_region(txn, m, i);
	const struct tide_window *w = (const void *)bytes;
	int rc;

	if (bytes == NULL)
		return tide_err_set(err, "%s: checkpoint %llu is damaged",
		    a->path, (unsigned long long)m->sequence);
	rc = is_wanted(a, w, err);
	if (rc == 1) {
		describe(&c->record[c->windows], w, m);
		rc = take_words(c, bytes, m, err);
		c->windows++;
	}
	free(bytes);
	return rc;
}

/* Counts are a loss that can be borne: what cannot be read is left out. */
static void
load_bulk(
    struct tide_txn *txn, const struct manifest *m, struct tide_checkpoint *c)
{
	if (!tide_counting_sane(&m->bulk) ||
	    m->length[BULK] < tide_bulk_own_bytes(&m->bulk, 1) ||
	    m->length[NEIGHBOURS] < tide_bulk_neighbours_bytes(&m->bulk))
		return;
	c->bulk_shape = m->bulk;
	c->bulk[0] = load_region(txn, m, BULK);
	c->bulk[1] = load_region(txn, m, NEIGHBOURS);
}

/* What cannot be read is not restored; the rest is. */
static void
load_carried(
    struct tide_txn *txn, const struct manifest *m, struct tide_carried *c)
{
	unsigned i;

	c->taken_ms = m->taken_ms;
	c->profiles = m->head.profiles;
	for (i = 0; i < TIDE_CARRIED_PARTS; i++) {
		c->part[i].bytes = load_region(txn, m, KEPT + i);
		if (c->part[i].bytes != NULL)
			c->part[i].size = (size_t)m->length[KEPT + i];
	}
}

static int
load_side(struct tide_archive *a, struct tide_txn *txn,
    const struct manifest *m, struct tide_checkpoint *c, struct tide_err *err)
{
	c->taken_ms = m->taken_ms;
	c->bypass_until_ms = m->bypass_until_ms;
	if (!manifest_fits(m))
		return tide_err_set(err,
		    "%s: checkpoint %llu is of another version", a->path,
		    (unsigned long long)m->sequence);
	c->counters = (struct tide_counters *)(void *)load_region(txn, m, 0);
	if (c->counters == NULL)
		return tide_err_set(err, "%s: checkpoint %llu is damaged",
		    a->path, (unsigned long long)m->sequence);
	load_carried(txn, m, &c->carried);
	load_bulk(txn, m, c);
	if (load_window(a, txn, m, 1, c, err) < 0 ||
	    load_window(a, txn, m, 2, c, err) < 0)
		return -1;
	return 1;
}

int
tide_checkpoint_load(
    struct tide_archive *a, struct tide_checkpoint *c, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct manifest m;
	int side, rc = 0;

	memset(c, 0, sizeof *c);
	if (txn == NULL)
		return -1;
	side = newest_side(txn, &m);
	if (side >= 0)
		rc = load_side(a, txn, &m, c, err);
	if (rc < 0) { /* the other side, then */
		tide_checkpoint_free(c);
		if (read_manifest(txn, side == 0, &m))
			rc = load_side(a, txn, &m, c, err);
	}
	tide_txn_abort(txn);
	if (rc < 0)
		tide_checkpoint_free(c);
	return rc;
}

void
tide_checkpoint_free(struct tide_checkpoint *c)
{
	unsigned i, k;

	free(c->counters);
	tide_carried_free(&c->carried);
	free(c->bulk[0]);
	free(c->bulk[1]);
	for (i = 0; i < 2; i++)
		for (k = 0; k < TIDE_FILTERS; k++)
			free(c->words[i][k]);
	memset(c, 0, sizeof *c);
}

/* Only into the same shape: cells of another size mean nothing. */
static void
restore_bulk(struct tide_map *map, const struct tide_checkpoint *c)
{
	struct tide_bulk from;

	if (c->bulk[0] == NULL || c->bulk[1] == NULL ||
	    memcmp(&c->bulk_shape, &map->head->bulk, sizeof c->bulk_shape) != 0)
		return;
	tide_bulk_attach(&from, &c->bulk_shape, 1, c->bulk[0], c->bulk[1]);
	tide_bulk_carry(map->bulk, &from);
}

int
tide_checkpoint_restore(struct tide_archive *a, struct tide_map *map,
    struct tide_carried *carried, struct tide_err *err)
{
	struct tide_checkpoint c;
	int rc = tide_checkpoint_load(a, &c, err);
	unsigned i;

	if (rc <= 0)
		return rc;
	/* added, not stored: workers may have counted in the new map already */
	tide_counters_carry(
	    map->counters, map->profiles, c.counters, &c.carried.profiles);
	restore_bulk(map, &c);
	atomic_store(&map->control->bypass_until_ms, c.bypass_until_ms);
	*carried = c.carried;
	memset(&c.carried, 0, sizeof c.carried);
	for (i = 0; rc > 0 && i < c.windows; i++)
		if (tide_archive_put_window(a, &c.record[i], c.words[i], err) <
		    0)
			rc = -1;
	tide_checkpoint_free(&c);
	return rc;
}
