/*
 * addresses archive - the list in chunks, changes behind it.
 *
 * Keys of the table: "head"; "c" and a number, a chunk; "j" and a number, a
 * change.  Values end with their checksum.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/archive/addresses_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/addresses.h"

#define TABLE TIDE_TABLE_ADDRESSES

struct stored_head {
	uint64_t version, base, loaded_ms, elements;
	struct tide_list_shape shape;
	uint64_t check;
};

struct stored_change {
	struct tide_hash hash;
	uint32_t add;
	uint32_t pad;
	uint64_t check;
};

struct number_key {
	char kind;
	uint8_t number[8];
};
_Static_assert(sizeof(struct number_key) == 9, "keys have no padding");

static struct tide_bytes
number_key(struct number_key *k, char kind, uint64_t number)
{
	k->kind = kind;
	tide_key_number(k->number, number);
	return tide_bytes(k, sizeof *k);
}

static const struct tide_bytes head_key = { "head", 4 };

static size_t
piece(size_t bytes, uint64_t chunk)
{
	size_t left = bytes - (size_t)chunk * TIDE_CHUNK;

	return left < TIDE_CHUNK ? left : TIDE_CHUNK;
}

static uint64_t
chunks_of(size_t bytes)
{
	return (bytes + TIDE_CHUNK - 1) / TIDE_CHUNK;
}

/* 1 a head, 0 none. */
static int
read_head(struct tide_txn *txn, struct stored_head *h, struct tide_err *err)
{
	struct tide_bytes value;
	int found = tide_txn_get(txn, TABLE, head_key, &value, err);

	if (found <= 0)
		return found;
	if (value.size != sizeof *h)
		return tide_err_set(err, "the stored list has no head of ours");
	memcpy(h, value.data, sizeof *h);
	if (h->check !=
		tide_hash_check(h, offsetof(struct stored_head, check)) ||
	    !tide_list_sane(&h->shape))
		return tide_err_set(err, "the stored list's head is damaged");
	return 1;
}

/* The number of the last change, or base. */
static int
last_change(struct tide_txn *txn, uint64_t base, uint64_t *sequence,
    struct tide_err *err)
{
	struct tide_bytes key, value;
	struct number_key k;
	int found = tide_txn_last(txn, TABLE, &key, &value, err);

	*sequence = base;
	if (found < 0)
		return -1;
	if (found == 1 && key.size == sizeof k) {
		memcpy(&k, key.data, sizeof k);
		if (k.kind == 'j' && tide_key_read(k.number) > base)
			*sequence = tide_key_read(k.number);
	}
	return 0;
}

/* ---- writing ----------------------------------------------------------- */

static int
put_chunk(struct tide_txn *txn, const char *bytes, uint64_t chunk, size_t n,
    struct tide_err *err)
{
	struct number_key k;
	uint64_t check = tide_hash_check(bytes, n);
	char *value = malloc(n + sizeof check);
	int rc;

	if (value == NULL)
		return tide_err_errno(err, "storing the list");
	memcpy(value, bytes, n);
	memcpy(value + n, &check, sizeof check);
	rc = tide_txn_put(txn, TABLE, number_key(&k, 'c', chunk),
	    tide_bytes(value, n + sizeof check), err);
	free(value);
	return rc;
}

static int
put_chunks(struct tide_txn *txn, const struct tide_list_shape *s,
    const tide_bloom_word *words, struct tide_err *err)
{
	size_t bytes = tide_list_bytes(s);
	uint64_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < chunks_of(bytes); i++)
		rc = put_chunk(txn, (const char *)words + i * TIDE_CHUNK, i,
		    piece(bytes, i), err);
	return rc;
}

static int
drop_numbers(struct tide_txn *txn, char kind, uint64_t from, uint64_t to,
    struct tide_err *err)
{
	struct number_key k;
	int rc = 0;

	for (; rc >= 0 && from < to; from++)
		rc = tide_txn_del(txn, TABLE, number_key(&k, kind, from), err);
	return rc < 0 ? -1 : 0;
}

/* What the list before has, and this one not. */
static int
drop_old(
    struct tide_txn *txn, const struct tide_list_shape *s, struct tide_err *err)
{
	struct stored_head old = { 0 };
	uint64_t sequence, chunks = chunks_of(tide_list_bytes(s));
	struct tide_err ignored;
	int found = read_head(txn, &old, &ignored);

	if (last_change(txn, found == 1 ? old.base : 0, &sequence, err) < 0 ||
	    drop_numbers(
		txn, 'j', found == 1 ? old.base + 1 : 1, sequence + 1, err) < 0)
		return -1;
	return found == 1 ? drop_numbers(txn, 'c', chunks,
				chunks_of(tide_list_bytes(&old.shape)), err)
			  : 0;
}

static int
put_head(struct tide_txn *txn, const struct tide_list_shape *s,
    const struct tide_addresses_fresh *f, struct tide_err *err)
{
	struct stored_head h;

	memset(&h, 0, sizeof h);
	h.version = f->version;
	h.base = f->sequence;
	h.loaded_ms = f->loaded_ms;
	h.elements = f->elements;
	h.shape = *s;
	h.check = tide_hash_check(&h, offsetof(struct stored_head, check));
	return tide_txn_put(
	    txn, TABLE, head_key, tide_bytes(&h, sizeof h), err);
}

int
tide_archive_put_list(struct tide_archive *a, const struct tide_list_shape *s,
    const struct tide_addresses_fresh *f, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);

	if (txn == NULL)
		return -1;
	if (drop_old(txn, s, err) == 0 &&
	    put_chunks(txn, s, f->words, err) == 0 &&
	    put_head(txn, s, f, err) == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}

int
tide_archive_change_list(struct tide_archive *a, uint64_t sequence, bool add,
    struct tide_hash hash, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct stored_change c;
	struct number_key k;

	if (txn == NULL)
		return -1;
	memset(&c, 0, sizeof c);
	c.hash = hash;
	c.add = add;
	c.check = tide_hash_check(&c, offsetof(struct stored_change, check));
	if (tide_txn_put(txn, TABLE, number_key(&k, 'j', sequence),
		tide_bytes(&c, sizeof c), err) == 0)
		return tide_txn_commit(txn, err);
	tide_txn_abort(txn);
	return -1;
}

/* ---- reading ----------------------------------------------------------- */

static int
read_chunk(struct tide_txn *txn, char *to, uint64_t chunk, size_t n,
    struct tide_err *err)
{
	struct tide_bytes value;
	struct number_key k;
	uint64_t check;

	if (tide_txn_get(txn, TABLE, number_key(&k, 'c', chunk), &value, err) ==
		1 &&
	    value.size == n + sizeof check) {
		memcpy(&check, (const char *)value.data + n, sizeof check);
		memcpy(to, value.data, n);
		if (check == tide_hash_check(to, n))
			return 0;
	}
	return tide_err_set(err, "the stored list of addresses is damaged");
}

static int
read_chunks(struct tide_txn *txn, const struct tide_list_shape *s,
    tide_bloom_word *words, struct tide_err *err)
{
	size_t bytes = tide_list_bytes(s);
	uint64_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < chunks_of(bytes); i++)
		rc = read_chunk(txn, (char *)words + i * TIDE_CHUNK, i,
		    piece(bytes, i), err);
	return rc;
}

static int
replay(struct tide_txn *txn, const struct tide_list_shape *s,
    struct tide_stored_list *list, struct tide_err *err)
{
	struct stored_change c;
	struct tide_bytes value;
	struct number_key k;
	uint64_t i;

	for (i = list->base + 1; i <= list->sequence; i++) {
		if (tide_txn_get(
			txn, TABLE, number_key(&k, 'j', i), &value, err) != 1 ||
		    value.size != sizeof c)
			return tide_err_set(
			    err, "a change to the stored list is missing");
		memcpy(&c, value.data, sizeof c);
		if (c.check !=
		    tide_hash_check(&c, offsetof(struct stored_change, check)))
			return tide_err_set(
			    err, "a change to the stored list is damaged");
		if (!c.add)
			list->elements -=
			    tide_list_del(s, list->words, c.hash) &&
			    list->elements > 0;
		else
			list->elements += tide_list_add(s, list->words, c.hash);
	}
	return 0;
}

static int
get_list(struct tide_txn *txn, const struct tide_list_shape *s,
    struct tide_stored_list *out, struct tide_err *err)
{
	struct stored_head h = { 0 };
	int found = read_head(txn, &h, err);

	if (found < 0 || last_change(txn, h.base, &out->sequence, err) < 0)
		return -1;
	out->version = h.version;
	out->base = h.base;
	out->loaded_ms = h.loaded_ms;
	out->elements = h.elements;
	if (found == 0 && out->sequence == 0)
		return 0;
	if (found == 1 && !tide_list_same(&h.shape, s))
		return tide_err_set(err,
		    "the stored list of addresses was made with other "
		    "addresses_capacity, addresses_error or addresses_form; "
		    "load it again");
	out->words = calloc(1, tide_list_bytes(s));
	if (out->words == NULL)
		return tide_err_errno(err, "the stored list of addresses");
	if (found == 1 && read_chunks(txn, s, out->words, err) < 0)
		return -1;
	return replay(txn, s, out, err) < 0 ? -1 : 1;
}

int
tide_archive_get_list(struct tide_archive *a, const struct tide_list_shape *s,
    struct tide_stored_list *out, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	memset(out, 0, sizeof *out);
	if (txn == NULL)
		return -1;
	rc = get_list(txn, s, out, err);
	tide_txn_abort(txn);
	if (rc < 0) {
		free(out->words);
		out->words = NULL;
	}
	return rc;
}

/* ---- the file ---------------------------------------------------------- */

uint64_t
tide_key_fingerprint(const struct tide_hash_key *key)
{
	static const char purpose[] = "fingerprint of a Tidemark hash key";

	return tide_hash(key, purpose, sizeof purpose).low;
}

void
tide_list_file_make(struct tide_list_file *f, const struct tide_list_shape *s,
    uint64_t fingerprint, const struct tide_addresses_fresh *fresh)
{
	memset(f, 0, sizeof *f);
	f->magic = TIDE_LIST_MAGIC;
	f->format = TIDE_LIST_FORMAT;
	f->counting = s->counting;
	f->cells = s->bloom.bits;
	f->positions = s->bloom.positions;
	f->capacity = s->bloom.capacity;
	f->elements = fresh->elements;
	f->made_ms = fresh->loaded_ms;
	f->fingerprint = fingerprint;
	f->version = fresh->version;
	f->sequence = fresh->sequence;
	f->words_check =
	    tide_hash_check((const void *)fresh->words, tide_list_bytes(s));
	f->check = tide_hash_check(f, offsetof(struct tide_list_file, check));
}

int
tide_list_file_check(const struct tide_list_file *f,
    const struct tide_list_shape *s, uint64_t fingerprint, struct tide_err *err)
{
	if (f->magic != TIDE_LIST_MAGIC)
		return tide_err_set(err, "is no list of addresses");
	if (f->check !=
	    tide_hash_check(f, offsetof(struct tide_list_file, check)))
		return tide_err_set(err, "its header is damaged");
	if (f->format != TIDE_LIST_FORMAT)
		return tide_err_set(err, "is of format %u, not %u", f->format,
		    TIDE_LIST_FORMAT);
	if (f->counting != s->counting)
		return tide_err_set(err,
		    "is of the %s form, not as addresses_form says",
		    f->counting ? "counting" : "plain");
	if (f->cells != s->bloom.bits || f->positions != s->bloom.positions)
		return tide_err_set(err,
		    "has %llu cells and k = %u, not %llu and %u: "
		    "addresses_capacity or addresses_error differ",
		    (unsigned long long)f->cells, f->positions,
		    (unsigned long long)s->bloom.bits, s->bloom.positions);
	if (f->fingerprint != fingerprint)
		return tide_err_set(err, "was made with another hash key");
	return 0;
}
