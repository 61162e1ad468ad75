/*
 * checkpoint load - find the newest that is whole, and take what is known of
 * it; a checkpoint of version 0.1 is read as v01.h says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_priv.h"
#include "v01.h"
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

/* ---- keys and sizes ---------------------------------------------------- */

struct checkpoint_chunk
tide_checkpoint_chunk(unsigned side, unsigned part, uint64_t chunk)
{
	struct checkpoint_chunk k = { .side = (uint8_t)side,
		.part = (uint8_t)part };

	tide_key_number(k.chunk, chunk);
	return k;
}

struct tide_bytes
tide_checkpoint_manifest(unsigned side)
{
	static const char *const names[] = { "checkpoint0", "checkpoint1" };

	return tide_bytes(names[side], 11);
}

size_t
tide_checkpoint_piece(uint64_t length, uint64_t chunk)
{
	uint64_t left = length - chunk * TIDE_CHUNK;

	return left < TIDE_CHUNK ? (size_t)left : TIDE_CHUNK;
}

size_t
tide_checkpoint_size(const struct manifest *m)
{
	return offsetof(struct manifest, part) + m->parts * sizeof m->part[0];
}

uint64_t
tide_checkpoint_check(const struct manifest *m)
{
	const size_t from = offsetof(struct manifest, sequence);

	return tide_hash_check(
	    (const char *)m + from, tide_checkpoint_size(m) - from);
}

/* ---- manifests --------------------------------------------------------- */

/* A manifest as it was found. */
struct found {
	struct manifest m;
	struct tide_v01 old;
};

static bool
is_whole(struct tide_bytes value, struct manifest *m)
{
	memset(m, 0, sizeof *m);
	if (value.size < offsetof(struct manifest, part) ||
	    value.size > sizeof *m)
		return false;
	memcpy(m, value.data, value.size);
	return m->magic == TIDE_MAP_MAGIC && m->format == CHECKPOINT_FORMAT &&
	    m->parts <= CHECKPOINT_PARTS_MOST &&
	    value.size == tide_checkpoint_size(m) &&
	    m->check == tide_checkpoint_check(m);
}

/* 1 a manifest that can be read, 0 none, -1 one that cannot. */
static int
read_manifest(struct tide_txn *txn, unsigned side, struct found *f)
{
	struct tide_bytes value;
	struct tide_err err;

	memset(f, 0, sizeof *f);
	if (tide_txn_get(txn, TIDE_TABLE_META, tide_checkpoint_manifest(side),
		&value, &err) != 1)
		return 0;
	if (is_whole(value, &f->m) || tide_v01_manifest(value, &f->m, &f->old))
		return f->m.side == side ? 1 : -1;
	return -1;
}

/* The side of the newest, or -1; *unread: there is one that cannot be. */
static int
newest(struct tide_txn *txn, struct found *best, bool *unread)
{
	struct found *f = malloc(sizeof *f);
	int side = -1, rc;
	unsigned i;

	memset(best, 0, sizeof *best);
	*unread = f == NULL;
	for (i = 0; f != NULL && i < 2; i++) {
		rc = read_manifest(txn, i, f);
		*unread |= rc < 0;
		if (rc > 0 && f->m.sequence > best->m.sequence) {
			*best = *f;
			side = (int)i;
		}
	}
	free(f);
	return side;
}

int
tide_checkpoint_newest(struct tide_txn *txn, uint64_t *sequence)
{
	struct found *f = malloc(sizeof *f);
	bool unread;
	int side;

	*sequence = 0;
	if (f == NULL)
		return -1;
	side = newest(txn, f, &unread);
	*sequence = f->m.sequence;
	free(f);
	return side;
}

int
tide_checkpoint_taken(
    struct tide_archive *a, uint64_t *wall_ms, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct found *f = malloc(sizeof *f);
	bool unread;

	*wall_ms = 0;
	if (txn != NULL && f != NULL && newest(txn, f, &unread) >= 0)
		*wall_ms = f->m.taken_ms;
	if (txn != NULL)
		tide_txn_abort(txn);
	free(f);
	return txn != NULL ? 0 : -1;
}

/* ---- parts ------------------------------------------------------------- */

struct loading {
	struct tide_archive *a;
	struct tide_txn *txn;
	struct found f;
	struct tide_checkpoint *c;
};

static int
damaged(const struct loading *l, struct tide_err *err)
{
	return tide_err_set(err, "%s: checkpoint %llu is damaged", l->a->path,
	    (unsigned long long)l->f.m.sequence);
}

static int
find_part(const struct loading *l, const char *name)
{
	unsigned i;

	for (i = 0; i < l->f.m.parts; i++)
		if (strncmp(l->f.m.part[i].name, name, CHECKPOINT_NAME_MAX) ==
		    0)
			return (int)i;
	return -1;
}

static void
add_lack(struct tide_err *lacks, const char *name, const char *why)
{
	size_t n = strlen(lacks->text);

	(void)snprintf(lacks->text + n, sizeof lacks->text - n, "%s%s (%s)",
	    n > 0 ? ", " : "", name, why);
}

/* What cannot be read is not restored, and is said; the rest is. */
static void
leave_out(struct loading *l, const char *name, const char *why)
{
	add_lack(&l->c->lacks, name, why);
}

/* A part's bytes, whole and checked, or NULL. */
static char *
load_part(const struct loading *l, unsigned i)
{
	const struct checkpoint_part *p = &l->f.m.part[i];
	char *bytes =
	    p->length < SIZE_MAX / 2 ? malloc((size_t)p->length + 1) : NULL;
	struct checkpoint_chunk key;
	uint64_t chunk, check, digest = 0;
	struct tide_bytes value;
	struct tide_err err;
	size_t size;

	for (chunk = 0; bytes != NULL && chunk * TIDE_CHUNK < p->length;
	     chunk++) {
		size = tide_checkpoint_piece(p->length, chunk);
		key = tide_checkpoint_chunk(l->f.m.side, i, chunk);
		if (tide_txn_get(l->txn, TIDE_TABLE_CHECKPOINT,
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
	if (bytes != NULL && digest == p->digest &&
	    chunk * TIDE_CHUNK >= p->length)
		return bytes;
	free(bytes);
	return NULL;
}

/* Is it there, in a format we know, and yet not to be read? */
static bool
is_damaged(const struct loading *l, const char *name)
{
	int i = find_part(l, name);
	char *bytes;

	if (i < 0 || l->f.m.part[i].format != 1)
		return false;
	bytes = load_part(l, (unsigned)i);
	free(bytes);
	return bytes == NULL;
}

/*
 * The bytes of a part that may be missed: NULL if it is not there, of a format
 * that is not known (from 1 up to `known' are), or damaged.
 */
static char *
load_spare(struct loading *l, const char *name, uint32_t known, int *i)
{
	char *bytes;

	*i = find_part(l, name);
	if (*i < 0)
		return NULL;
	if (l->f.m.part[*i].format == 0 || l->f.m.part[*i].format > known) {
		leave_out(l, name, "of a newer format");
		return NULL;
	}
	bytes = load_part(l, (unsigned)*i);
	if (bytes == NULL)
		leave_out(l, name, "damaged");
	return bytes;
}

/* ---- windows ----------------------------------------------------------- */

/* Its own words are to be kept: the chunk goes. */
static uint64_t *
copy_words(const char *from, size_t size)
{
	uint64_t *words = malloc(size);

	if (words != NULL)
		memcpy(words, from, size);
	return words;
}

/* Not if the archive has it anyway.  1 wanted, 0 not, -1 error. */
static int
want(struct loading *l, struct tide_window_record *r, struct tide_err *err)
{
	int stored = tide_archive_has_window(l->a, r->number, err);

	r->flags = TIDE_WINDOW_WAS_RESTORED;
	return stored < 0 ? -1 : 1 - stored;
}

static int
load_filters(struct loading *l, unsigned which, struct tide_err *err)
{
	struct tide_window_record *r = &l->c->record[l->c->windows];
	uint64_t **words = l->c->words[l->c->windows];
	char name[CHECKPOINT_NAME_MAX];
	unsigned k;
	int i;

	for (k = 0; k < TIDE_FILTERS; k++) {
		(void)snprintf(name, sizeof name, CHECKPOINT_FILTER, which, k);
		i = find_part(l, name);
		if (i < 0 ||
		    l->f.m.part[i].length != tide_bloom_bytes(&r->shape[k]))
			return damaged(l, err);
		words[k] = (uint64_t *)(void *)load_part(l, (unsigned)i);
		if (words[k] == NULL)
			return damaged(l, err);
	}
	l->c->windows++;
	return 0;
}

static int
load_window(struct loading *l, unsigned which, struct tide_err *err)
{
	struct tide_window_record *r = &l->c->record[l->c->windows];
	char name[CHECKPOINT_NAME_MAX], *bytes;
	bool sound;
	int i, rc;

	(void)snprintf(name, sizeof name, CHECKPOINT_WINDOW, which);
	i = find_part(l, name);
	if (i < 0 || l->f.m.part[i].length == 0)
		return 0; /* it held nothing */
	if (!tide_window_format_known(l->f.m.part[i].format)) {
		leave_out(l, name, "of a newer format");
		return 0;
	}
	bytes = load_part(l, (unsigned)i);
	sound = bytes != NULL &&
	    tide_window_record_read(
		tide_bytes(bytes, (size_t)l->f.m.part[i].length), r) != NULL;
	free(bytes);
	if (!sound)
		return damaged(l, err);
	rc = want(l, r, err);
	return rc > 0 ? load_filters(l, which, err) : rc;
}

/* Of 0.1: the region as it lay in the map. */
static int
load_old_window(struct loading *l, unsigned which, struct tide_err *err)
{
	struct tide_window_record *r = &l->c->record[l->c->windows];
	uint64_t **words = l->c->words[l->c->windows];
	char name[CHECKPOINT_NAME_MAX], *bytes = NULL;
	unsigned k;
	int i, rc = 0;

	(void)snprintf(name, sizeof name, TIDE_V01_WINDOW, which);
	i = find_part(l, name);
	for (k = 0; k < TIDE_FILTERS; k++)
		if (!tide_bloom_sane(&l->f.old.shape[k]))
			return damaged(l, err);
	if (i >= 0 &&
	    l->f.m.part[i].length ==
		tide_v01_window_at(&l->f.old, TIDE_FILTERS))
		bytes = load_part(l, (unsigned)i);
	if (bytes == NULL)
		return damaged(l, err);
	if (tide_v01_window(bytes, &l->f.m, &l->f.old, r))
		rc = want(l, r, err);
	for (k = 0; rc > 0 && k < TIDE_FILTERS; k++) {
		words[k] = copy_words(bytes + tide_v01_window_at(&l->f.old, k),
		    tide_bloom_bytes(&r->shape[k]));
		if (words[k] == NULL)
			rc = tide_err_errno(err, "loading a checkpoint");
	}
	l->c->windows += rc > 0;
	free(bytes);
	return rc;
}

/* ---- the rest ---------------------------------------------------------- */

/* Both regions or none: one is of no use without the other. */
static void
load_bulk(struct loading *l)
{
	static const enum tide_region_id id[2] = { TIDE_REGION_BULK,
		TIDE_REGION_NEIGHBOURS };
	struct tide_counting_shape *s = &l->c->bulk_shape;
	size_t need;
	unsigned k;
	int i;

	for (k = 0; k < 2; k++) {
		l->c->bulk[k] = load_spare(
		    l, tide_region[id[k]].name, tide_region_format(id[k]), &i);
		if (l->c->bulk[k] == NULL)
			break;
		memcpy(s, l->f.m.part[i].shape, sizeof *s);
		need = !tide_counting_sane(s) ? SIZE_MAX
		    : k == 0		      ? tide_bulk_own_bytes(s, 1)
					      : tide_bulk_neighbours_bytes(s);
		if (l->f.m.part[i].length < need) {
			leave_out(l, tide_region[id[k]].name, "damaged");
			break;
		}
	}
	if (k == 2)
		return;
	for (k = 0; k < 2; k++) {
		free(l->c->bulk[k]);
		l->c->bulk[k] = NULL;
	}
}

static void
load_carried(struct loading *l)
{
	struct tide_carried *c = &l->c->carried;
	unsigned k;
	int i;

	c->taken_ms = l->f.m.taken_ms;
	c->profiles = l->f.m.profiles;
	for (k = 0; k < TIDE_CARRIED_PARTS; k++) {
		c->part[k].bytes = load_spare(l, tide_carried_kind[k].name,
		    tide_carried_kind[k].format, &i);
		c->part[k].taken_ms = l->f.m.taken_ms;
		if (c->part[k].bytes != NULL)
			c->part[k].size = (size_t)l->f.m.part[i].length;
	}
}

/* Of 0.1: the region, whose places we know the names of. */
static void
load_old_counters(struct loading *l)
{
	char **bytes = &l->c->carried.part[TIDE_CARRIED_COUNTERS].bytes;
	size_t *size = &l->c->carried.part[TIDE_CARRIED_COUNTERS].size;
	struct tide_err err;
	char *region;
	int i;

	region = load_spare(l, TIDE_V01_COUNTERS, 1, &i);
	if (region == NULL)
		return;
	if (l->f.m.part[i].length < tide_counters_bytes(tide_v01_counters) ||
	    tide_counters_save((const _Atomic uint64_t *)(void *)region,
		tide_v01_counters, bytes, size, &err) < 0)
		leave_out(l, "counters", "damaged");
	free(region);
}

static bool
is_known(const char *name)
{
	char window[CHECKPOINT_NAME_MAX];
	unsigned i, k;

	for (i = 0; i < TIDE_CARRIED_PARTS; i++)
		if (strcmp(name, tide_carried_kind[i].name) == 0)
			return true;
	for (i = 0; i < 2; i++) {
		(void)snprintf(window, sizeof window, CHECKPOINT_WINDOW, i);
		if (strcmp(name, window) == 0)
			return true;
		for (k = 0; k < TIDE_FILTERS; k++) {
			(void)snprintf(
			    window, sizeof window, CHECKPOINT_FILTER, i, k);
			if (strcmp(name, window) == 0)
				return true;
		}
	}
	return strcmp(name, tide_region[TIDE_REGION_BULK].name) == 0 ||
	    strcmp(name, tide_region[TIDE_REGION_NEIGHBOURS].name) == 0;
}

/* Parts of a newer version, that nothing here asks for; and those of a name
 * that another one has, which would hide it. */
static void
name_others(struct loading *l)
{
	unsigned i;

	if (l->f.old.is)
		return;
	for (i = 0; i < l->f.m.parts; i++)
		if (!is_known(l->f.m.part[i].name))
			leave_out(l, l->f.m.part[i].name, "not known here");
		else if (find_part(l, l->f.m.part[i].name) != (int)i)
			leave_out(l, l->f.m.part[i].name, "there twice");
}

static int
load_side(struct loading *l, struct tide_err *err)
{
	int (*window)(struct loading *, unsigned, struct tide_err *) =
	    l->f.old.is ? load_old_window : load_window;
	unsigned i;

	for (i = 0; i < l->f.m.parts; i++)
		l->f.m.part[i].name[CHECKPOINT_NAME_MAX - 1] = '\0';
	l->c->taken_ms = l->f.m.taken_ms;
	l->c->bypass_until_ms = l->f.m.bypass_until_ms;
	load_carried(l);
	if (l->f.old.is)
		load_old_counters(l);
	if (is_damaged(l, tide_carried_kind[TIDE_CARRIED_COUNTERS].name) ||
	    is_damaged(l, TIDE_V01_COUNTERS))
		return damaged(l, err);
	load_bulk(l);
	name_others(l);
	if (window(l, 0, err) < 0 || window(l, 1, err) < 0)
		return -1;
	return 1;
}

static int
load(struct loading *l, struct tide_err *err)
{
	bool unread;
	int side = newest(l->txn, &l->f, &unread), rc;

	if (side < 0)
		return unread ? tide_err_set(err,
				    "%s: its checkpoints are of a newer "
				    "version, or damaged",
				    l->a->path)
			      : 0;
	rc = load_side(l, err);
	if (rc > 0)
		return rc;
	tide_checkpoint_free(l->c); /* the other side, then */
	if (read_manifest(l->txn, side == 0, &l->f) > 0)
		rc = load_side(l, err);
	if (rc > 0)
		leave_out(l, "the newest checkpoint", "damaged");
	return rc;
}

int
tide_checkpoint_load(
    struct tide_archive *a, struct tide_checkpoint *c, struct tide_err *err)
{
	struct loading *l = calloc(1, sizeof *l);
	int rc = -1;

	memset(c, 0, sizeof *c);
	if (l == NULL)
		return tide_err_errno(err, "loading a checkpoint");
	*l = (struct loading){ .a = a, .c = c };
	l->txn = tide_txn_begin(a->store, false, err);
	if (l->txn != NULL) {
		rc = load(l, err);
		tide_txn_abort(l->txn);
	}
	free(l);
	if (rc < 0)
		tide_checkpoint_free(c);
	return rc;
}

void
tide_checkpoint_free(struct tide_checkpoint *c)
{
	unsigned i, k;

	tide_carried_free(&c->carried);
	free(c->bulk[0]);
	free(c->bulk[1]);
	for (i = 0; i < 2; i++)
		for (k = 0; k < TIDE_FILTERS; k++)
			free(c->words[i][k]);
	memset(c, 0, sizeof *c);
}

/* ---- restoring --------------------------------------------------------- */

/* Only into the same shape: cells of another size mean nothing. */
void
tide_checkpoint_bulk(struct tide_checkpoint *c, struct tide_map *map)
{
	struct tide_bulk from;

	if (c->bulk[0] == NULL || c->bulk[1] == NULL)
		return;
	if (memcmp(&c->bulk_shape, &map->head->bulk, sizeof c->bulk_shape) !=
	    0) {
		add_lack(&c->lacks, "bulk", "of another size");
		return;
	}
	tide_bulk_attach(&from, &c->bulk_shape, 1, c->bulk[0], c->bulk[1]);
	tide_bulk_carry(map->bulk, &from);
}

int
tide_checkpoint_restore(struct tide_archive *a, struct tide_map *map,
    struct tide_carried *carried, struct tide_err *lacks)
{
	struct tide_checkpoint c;
	int rc = tide_checkpoint_load(a, &c, lacks);
	struct tide_err err;
	unsigned i;

	if (rc <= 0)
		return rc;
	if (tide_carried_count(&c.carried, map) > 0)
		add_lack(&c.lacks, "some counters", "not known here");
	tide_checkpoint_bulk(&c, map);
	atomic_store(&map->control->bypass_until_ms, c.bypass_until_ms);
	*carried = c.carried;
	memset(&c.carried, 0, sizeof c.carried);
	*lacks = c.lacks;
	for (i = 0; i < c.windows; i++)
		if (tide_archive_put_window(a, &c.record[i], c.words[i], &err) <
		    0)
			add_lack(lacks, "a window", err.text);
	tide_checkpoint_free(&c);
	return rc;
}
