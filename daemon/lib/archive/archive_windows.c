/*
 * archive windows - records and filters: stored, found, asked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/head.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"

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

void
tide_window_record_seal(struct tide_window_record *r)
{
	r->format = TIDE_WINDOW_FORMAT;
	r->check = record_check(r);
}

bool
tide_window_format_known(uint32_t format)
{
	return format == TIDE_WINDOW_FORMAT;
}

/* A record of another format is read here into this one. */
static bool
take_record(struct tide_bytes value, struct tide_window_record *to)
{
	uint32_t format;

	if (value.size < sizeof format)
		return false;
	memcpy(&format, value.data, sizeof format);
	switch (format) {
	case TIDE_WINDOW_FORMAT:
		if (value.size != sizeof *to)
			return false;
		memcpy(to, value.data, sizeof *to);
		return to->check == record_check(to);
	default:
		return false;
	}
}

const struct tide_window_record *
tide_window_record_read(
    struct tide_bytes value, struct tide_window_record *copy)
{
	unsigned i;

	if (!take_record(value, copy))
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

/* The classic form is what it is, however little is in it. */
static bool
is_folded(const struct tide_window_record *r, unsigned which)
{
	return which != TIDE_FILTER_CONTENT || r->memory != TIDE_MEMORY_CLASSIC;
}

int
tide_archive_put_window(struct tide_archive *a, struct tide_window_record *r,
    uint64_t *words[TIDE_FILTERS], struct tide_err *err)
{
	struct tide_txn *txn;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		if (is_folded(r, i))
			tide_bloom_fold(&r->shape[i], words[i],
			    error_when_full(&r->shape[i]));
		r->ones[i] = tide_bloom_ones(
		    &r->shape[i], (const tide_bloom_word *)words[i]);
	}
	tide_window_record_seal(r);
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

int
tide_archive_load(struct tide_txn *txn, const struct tide_window_record *r,
    enum tide_filter which, uint64_t *words)
{
	const struct tide_bloom_shape *s = &r->shape[which];
	const uint64_t *from;
	uint64_t i, *to;

	for (i = 0; i < chunks(s); i++) {
		to = words + i * TIDE_CHUNK / 8;
		from = read_chunk(txn, r, which, i, to);
		if (from == NULL)
			return -1;
		if (from != to)
			memcpy(to, from, chunk_size(s, i));
	}
	return 1;
}

/* ---- what the map says ------------------------------------------------- */

static uint64_t
load(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

void
tide_window_describe(struct tide_window_record *r, const struct tide_window *w,
    const struct tide_map_head *head)
{
	uint64_t used = load(&w->profiles);
	unsigned i;

	r->messages = load(&w->messages);
	for (i = 0; i < TIDE_FILTERS; i++)
		r->elements[i] = tide_window_elements(w, i);
	r->memory = head->memory;
	for (i = 0; i < TIDE_PROFILES_MAX; i++)
		r->profile[i] = (used >> i & 1) != 0
		    ? tide_hbf_profile(head->profiles.name[i])
		    : 0;
	r->longest = load(&w->longest);
	r->cut = load(&w->cut);
	r->unread = load(&w->unread);
	r->wire = load(&w->wire);
	r->text = load(&w->text);
}

/* ---- names of profiles ------------------------------------------------- */

struct profile_key {
	char word[8];
	uint8_t tag[8];
};

static struct profile_key
profile_key(uint32_t tag)
{
	struct profile_key k = { .word = {
				     'p', 'r', 'o', 'f', 'i', 'l', 'e', ' ' } };

	tide_key_number(k.tag, tag);
	return k;
}

/* How many were not there yet; or -1. */
static int
name_profiles(
    struct tide_txn *txn, const struct tide_config *c, struct tide_err *err)
{
	struct profile_key key;
	char is[TIDE_NAME_MAX];
	uint32_t i, tag;
	int written = 0;

	for (i = 0; i < c->profiles && i < TIDE_PROFILES_MAX; i++) {
		tag = tide_hbf_profile(c->profile[i].name);
		key = profile_key(tag);
		tide_archive_profile(txn, tag, is);
		if (strcmp(is, c->profile[i].name) == 0)
			continue;
		if (tide_txn_put(txn, TIDE_TABLE_META,
			tide_bytes(&key, sizeof key),
			tide_bytes(c->profile[i].name, TIDE_NAME_MAX), err) < 0)
			return -1;
		written++;
	}
	return written;
}

int
tide_archive_name_profiles(
    struct tide_archive *a, const struct tide_config *c, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	int written = txn != NULL ? name_profiles(txn, c, err) : -1;

	if (written > 0)
		return tide_txn_commit(txn, err);
	if (txn != NULL)
		tide_txn_abort(txn);
	return written;
}

void
tide_archive_profile(
    struct tide_txn *txn, uint32_t tag, char name[TIDE_NAME_MAX])
{
	struct profile_key key = profile_key(tag);
	struct tide_bytes value;
	struct tide_err err;

	(void)snprintf(name, TIDE_NAME_MAX, "?");
	if (tide_txn_get(txn, TIDE_TABLE_META, tide_bytes(&key, sizeof key),
		&value, &err) != 1 ||
	    value.size != TIDE_NAME_MAX)
		return;
	memcpy(name, value.data, TIDE_NAME_MAX);
	name[TIDE_NAME_MAX - 1] = '\0';
}
