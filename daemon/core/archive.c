/*
 * archive - open, store, expire.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/archive.h"
#include "tidemark/clock.h"

const char *const tide_archive_tables[TIDE_TABLES + 1] = { "meta", "windows",
	"filters", "lapses", "bans", "checkpoint", "egress", NULL };

#define META TIDE_TABLE_META

struct head {
	uint64_t magic;
	uint32_t format;
	uint32_t pad;
	uint64_t made_ms;
	struct tide_hash_key key;
	uint64_t check;
};

void
tide_key_number(uint8_t out[8], uint64_t n)
{
	int i;

	for (i = 7; i >= 0; i--, n >>= 8)
		out[i] = (uint8_t)n;
}

/* ---- opening ----------------------------------------------------------- */

static uint64_t
head_check(const struct head *h)
{
	return tide_hash_check(h, offsetof(struct head, check));
}

static int
read_head(struct tide_archive *a, struct tide_txn *txn, struct tide_err *err)
{
	struct tide_bytes value;
	struct head h;
	int found;

	found = tide_txn_get(txn, META, tide_bytes("head", 4), &value, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return tide_err_set(err,
		    "%s: is an LMDB file, but no archive of Tidemark's; it is "
		    "left as it is",
		    a->path);
	if (value.size >= sizeof h)
		memcpy(&h, value.data, sizeof h);
	if (value.size < sizeof h || h.magic != TIDE_MAP_MAGIC)
		return tide_err_set(err, "%s: its head is damaged", a->path);
	if (h.format != TIDE_ARCHIVE_FORMAT)
		return tide_err_set(err,
		    "%s: has format %u, and this Tidemark reads format %u",
		    a->path, h.format, TIDE_ARCHIVE_FORMAT);
	if (h.check != head_check(&h))
		return tide_err_set(err, "%s: its head is damaged", a->path);
	a->key = h.key;
	return 0;
}

static int
write_head(struct tide_archive *a, struct tide_err *err)
{
	struct head h = { .magic = TIDE_MAP_MAGIC,
		.format = TIDE_ARCHIVE_FORMAT,
		.made_ms = tide_clock_wall_ms() };
	struct tide_txn *txn;

	if (tide_hash_key_draw(&h.key, err) < 0)
		return -1;
	h.check = head_check(&h);
	txn = tide_txn_begin(a->store, true, err);
	if (txn == NULL)
		return -1;
	if (tide_txn_put(txn, META, tide_bytes("head", 4),
		tide_bytes(&h, sizeof h), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

static int
load_head(struct tide_archive *a, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = read_head(a, txn, err);
	tide_txn_abort(txn);
	return rc;
}

/* 1 there and whole, 0 not there, -1 refused. */
static int
look(const char *path, struct tide_err *err)
{
	switch (tide_store_probe(path, err)) {
	case TIDE_STORE_ABSENT:
		return 0;
	case TIDE_STORE_WHOLE:
		return 1;
	default:
		return -1;
	}
}

/*
 * Before anything is written: is it ours?  1 yes, -1 no; 0 if there is none,
 * or one whose creation was cut short: nothing is in it yet.
 */
static int
recognise(struct tide_archive *a, struct tide_err *err)
{
	int there = look(a->path, err);

	if (there <= 0)
		return there;
	a->store = tide_store_open(
	    a->path, TIDE_STORE_READ, 0, tide_archive_tables, err);
	if (a->store == NULL)
		return -1;
	if (tide_store_is_blank(a->store)) {
		(void)tide_err_set(
		    err, "%s: is empty: its creation was cut short", a->path);
		return 0;
	}
	return load_head(a, err) < 0 ? -1 : 1;
}

static int
open_to_write(
    struct tide_archive *a, bool there, uint64_t map_size, struct tide_err *err)
{
	a->store = tide_store_open(
	    a->path, TIDE_STORE_DURABLE, map_size, tide_archive_tables, err);
	if (a->store == NULL || (!there && write_head(a, err) < 0))
		return -1;
	return load_head(a, err);
}

int
tide_archive_open(struct tide_archive *a, const char *state_dir,
    enum tide_archive_mode mode, uint64_t map_size, struct tide_err *err)
{
	int there, rc;

	memset(a, 0, sizeof *a);
	(void)snprintf(a->path, sizeof a->path, "%s/archive.mdb", state_dir);
	there = recognise(a, err);
	rc = there > 0 ? 0 : -1;
	if (mode == TIDE_ARCHIVE_OWN && there >= 0) {
		tide_archive_close(a);
		rc = open_to_write(a, there > 0, map_size, err);
	}
	if (rc < 0)
		tide_archive_close(a);
	return rc;
}

void
tide_archive_close(struct tide_archive *a)
{
	tide_store_close(a->store);
	a->store = NULL;
}

/* ---- windows ----------------------------------------------------------- */

struct filter_key {
	uint8_t number[8];
	uint8_t which;
	uint8_t chunk[8];
};
_Static_assert(sizeof(struct filter_key) == 17, "keys have no padding");

static struct filter_key
filter_key(uint64_t number, enum tide_filter which, uint64_t chunk)
{
	struct filter_key k = { .which = (uint8_t)which };

	tide_key_number(k.number, number);
	tide_key_number(k.chunk, chunk);
	return k;
}

static uint64_t
chunks(const struct tide_bloom_shape *s)
{
	return (tide_bloom_bytes(s) + TIDE_CHUNK - 1) / TIDE_CHUNK;
}

static size_t
chunk_size(const struct tide_bloom_shape *s, uint64_t chunk)
{
	size_t left = tide_bloom_bytes(s) - (size_t)chunk * TIDE_CHUNK;

	return left < TIDE_CHUNK ? left : TIDE_CHUNK;
}

uint64_t
tide_window_record_bytes(const struct tide_window_record *r)
{
	uint64_t bytes = sizeof *r;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++)
		bytes += tide_bloom_bytes(&r->shape[i]) +
		    chunks(&r->shape[i]) * sizeof(uint64_t);
	return bytes;
}

static uint64_t
record_check(const struct tide_window_record *r)
{
	return tide_hash_check(r, offsetof(struct tide_window_record, check));
}

const struct tide_window_record *
tide_window_record_read(
    struct tide_bytes value, struct tide_window_record *copy)
{
	unsigned i;

	if (value.size != sizeof *copy)
		return NULL;
	memcpy(copy, value.data, sizeof *copy);
	if (copy->format != TIDE_ARCHIVE_FORMAT ||
	    copy->check != record_check(copy))
		return NULL;
	for (i = 0; i < TIDE_FILTERS; i++)
		if (!tide_bloom_sane(&copy->shape[i]))
			return NULL;
	return copy;
}

/* Of the words and of whose they are: a chunk under a bent key is no use. */
static uint64_t
chunk_check(const struct filter_key *key, const void *words, size_t size)
{
	return tide_hash_check(words, size) ^ tide_hash_check(key, sizeof *key);
}

static int
put_chunk(struct tide_txn *txn, const struct filter_key *key, const void *words,
    size_t size, struct tide_err *err)
{
	uint64_t check = chunk_check(key, words, size);
	char *room;

	(void)tide_txn_del(
	    txn, TIDE_TABLE_FILTERS, tide_bytes(key, sizeof *key), err);
	room = tide_txn_reserve(txn, TIDE_TABLE_FILTERS,
	    tide_bytes(key, sizeof *key), sizeof check + size, err);
	if (room == NULL)
		return -1;
	memcpy(room, &check, sizeof check);
	memcpy(room + sizeof check, words, size);
	return 0;
}

static int
put_filter(struct tide_txn *txn, const struct tide_window_record *r,
    enum tide_filter which, const uint64_t *words, struct tide_err *err)
{
	const struct tide_bloom_shape *s = &r->shape[which];
	struct filter_key key;
	uint64_t i;

	for (i = 0; i < chunks(s); i++) {
		key = filter_key(r->number, which, i);
		if (put_chunk(txn, &key, words + i * TIDE_CHUNK / 8,
			chunk_size(s, i), err) < 0)
			return -1;
	}
	return 0;
}

static int
put_window(struct tide_txn *txn, const struct tide_window_record *r,
    uint64_t *words[TIDE_FILTERS], struct tide_err *err)
{
	uint8_t key[8];
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++)
		if (put_filter(txn, r, i, words[i], err) < 0)
			return -1;
	tide_key_number(key, r->number);
	return tide_txn_put(txn, TIDE_TABLE_WINDOWS,
	    tide_bytes(key, sizeof key), tide_bytes(r, sizeof *r), err);
}

/* What a filter of that shape has for an error when it is just full. */
static double
error_when_full(const struct tide_bloom_shape *s)
{
	return tide_bloom_error(s, s->bits / 2);
}

int
tide_archive_put_window(struct tide_archive *a, struct tide_window_record *r,
    uint64_t *words[TIDE_FILTERS], struct tide_err *err)
{
	struct tide_txn *txn;
	unsigned i;

	r->format = TIDE_ARCHIVE_FORMAT;
	for (i = 0; i < TIDE_FILTERS; i++) {
		tide_bloom_fold(
		    &r->shape[i], words[i], error_when_full(&r->shape[i]));
		r->ones[i] = tide_bloom_ones(
		    &r->shape[i], (const tide_bloom_word *)words[i]);
	}
	r->check = record_check(r);
	txn = tide_txn_begin(a->store, true, err);
	if (txn == NULL)
		return -1;
	if (put_window(txn, r, words, err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

int
tide_archive_newest(
    struct tide_archive *a, uint64_t *number, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct tide_bytes key, value;
	const uint8_t *k;
	int found, i;

	if (txn == NULL)
		return -1;
	*number = 0;
	found = tide_txn_last(txn, TIDE_TABLE_WINDOWS, &key, &value, err);
	if (found == 1 && key.size == 8)
		for (k = key.data, i = 0; i < 8; i++)
			*number = *number << 8 | k[i];
	tide_txn_abort(txn);
	return found < 0 ? -1 : 0;
}

int
tide_archive_has_window(
    struct tide_archive *a, uint64_t number, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	struct tide_bytes value;
	uint8_t key[8];
	int found;

	if (txn == NULL)
		return -1;
	tide_key_number(key, number);
	found = tide_txn_get(
	    txn, TIDE_TABLE_WINDOWS, tide_bytes(key, sizeof key), &value, err);
	tide_txn_abort(txn);
	return found;
}

/* ---- lookup ------------------------------------------------------------ */

/* A chunk's words, checked; copied into `spare` if LMDB left them unaligned. */
static const uint64_t *
read_chunk(struct tide_txn *txn, const struct tide_window_record *r,
    enum tide_filter which, uint64_t chunk, uint64_t *spare)
{
	struct filter_key key = filter_key(r->number, which, chunk);
	size_t size = chunk_size(&r->shape[which], chunk);
	struct tide_bytes value;
	struct tide_err err;
	const char *words;
	uint64_t check;

	if (tide_txn_get(txn, TIDE_TABLE_FILTERS, tide_bytes(&key, sizeof key),
		&value, &err) != 1 ||
	    value.size != sizeof check + size)
		return NULL;
	words = (const char *)value.data + sizeof check;
	memcpy(&check, value.data, sizeof check);
	if (check != chunk_check(&key, words, size))
		return NULL;
	if ((uintptr_t)words % 8 == 0)
		return (const uint64_t *)(const void *)words;
	memcpy(spare, words, size);
	return spare;
}

int
tide_archive_lookup(struct tide_txn *txn, const struct tide_window_record *r,
    enum tide_filter which, struct tide_hash h)
{
	const struct tide_bloom_shape *s = &r->shape[which];
	uint64_t at[TIDE_BLOOM_POSITIONS], chunk, loaded = UINT64_MAX;
	const uint64_t *words = NULL;
	uint64_t *spare;
	uint32_t i, n;
	int answer = 1;

	spare = malloc(chunk_size(s, 0));
	if (spare == NULL)
		return -1;
	n = tide_bloom_positions(s, h, at);
	for (i = 0; answer == 1 && i < n; i++) {
		chunk = at[i] / 8 / TIDE_CHUNK;
		if (chunk != loaded)
			words = read_chunk(txn, r, which, chunk, spare);
		loaded = chunk;
		at[i] -= chunk * TIDE_CHUNK * 8;
		if (words == NULL)
			answer = -1;
		else if ((words[at[i] / 64] >> (at[i] % 64) & 1) == 0)
			answer = 0;
	}
	free(spare);
	return answer;
}
