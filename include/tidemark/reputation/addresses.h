/*
 * addresses - a list of spam addresses, as a Bloom filter in the map.
 *
 * Sized from n and p.  Two forms: plain, a bit a cell; and counting, four
 * bits a cell, from which an address can be taken out again.  A cell that
 * has reached 15 stays there: nobody knows how many it stands for.
 *
 * The map holds two copies.  Workers read the current one; the collector
 * alone writes.  A whole list is put into the other copy and then made the
 * current one, so a worker meets the old list or the new one, never half.
 *
 * PROTOCOL addresses: a new list while workers look into the old one.
 *  C1 target = epoch++; wait until every slot is outside or newer (epoch.h,
 *     C2 and C3): whoever still read the idle copy has left it
 *  C2 fill the idle copy, and what is known of it    relaxed
 *  C3 current = number + 1                           seq_cst
 *  W1 enter the epoch; n = current                   seq_cst
 *  W2 look into copy n % 2                           acquire
 *  W3 leave
 * Why:   at C1 the idle copy has not been current since the last C3, which
 *        came before this epoch++: who enters later finds the current one
 *        (epoch.h).  C3 releases what C2 wrote; W1 acquires it.
 *        Waiting before the copy is filled, not after it was given up, needs
 *        nothing to be remembered over a death of the collector.
 * Crash: of the collector before C3: the old list stands, and the next
 *        collector begins again at C1.  Of a worker between W1 and W3: its
 *        slot is buried by the acceptor; until then C1 waits.
 * Single addresses are added to and taken out of the current copy in place,
 * by the collector alone: each cell is one atomic store, and a worker that
 * looks meanwhile finds the address or does not.
 * Test:  tests/race/t_addresses.c
 */
#ifndef TIDEMARK_ADDRESSES_H
#define TIDEMARK_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

/* ---- cells, wherever they lie ------------------------------------------ */

struct tide_list_shape {
	struct tide_bloom_shape bloom; /* cells, not bits, if they count */
	uint32_t counting;
	uint32_t pad;
};

#define TIDE_CELL_MOST 15u

size_t tide_list_bytes(const struct tide_list_shape *);
bool tide_list_sane(const struct tide_list_shape *);
bool
tide_list_same(const struct tide_list_shape *, const struct tide_list_shape *);

/*
 * One writer at a time; readers at any time.  Add: true if it was certainly
 * not there.  An element that is there is added once more if it counts.
 */
bool tide_list_add(
    const struct tide_list_shape *, tide_bloom_word *, struct tide_hash);
/* Counting form only.  False: it was not there, and nothing is changed. */
bool tide_list_del(
    const struct tide_list_shape *, tide_bloom_word *, struct tide_hash);
bool tide_list_has(
    const struct tide_list_shape *, const tide_bloom_word *, struct tide_hash);

/* Cells that are not 0. */
uint64_t
tide_list_filled(const struct tide_list_shape *, const tide_bloom_word *);

/* About how many elements they stand for: -m/k ln(1 - filled/m). */
uint64_t tide_list_estimate(const struct tide_list_shape *, uint64_t filled);

/*
 * Unite two lists of one shape: OR, or for counting cells the sum, which
 * stops at 15.  (The larger of the two would forget addresses when others
 * are taken out.)
 */
void tide_list_unite(const struct tide_list_shape *, tide_bloom_word *into,
    const tide_bloom_word *from);

/* ---- the region -------------------------------------------------------- */

struct tide_addresses_copy {
	_Atomic uint64_t version;   /* of the stored list */
	_Atomic uint64_t sequence;  /* of the last change to it */
	_Atomic uint64_t loaded_ms; /* wall */
	_Atomic uint64_t elements;
};

struct tide_addresses_head {
	_Atomic uint64_t current;    /* 0: no list; else copy current % 2 */
	_Atomic uint64_t exceptions; /* generation of runtime_dir/exceptions */
	_Alignas(64) struct tide_addresses_copy copy[2];
};

struct tide_addresses {
	struct tide_addresses_head *head;
	struct tide_list_shape shape;
	tide_bloom_word *words[2];
};

size_t tide_addresses_size(const struct tide_list_shape *);
void tide_addresses_attach(
    struct tide_addresses *, void *region, const struct tide_list_shape *);

/*
 * Which of the senders' forms is listed?  Its index, or -1.  For a worker,
 * inside its epoch slot; tools pass NULL and may be answered by a list that
 * is just being replaced.
 */
int tide_addresses_find(const struct tide_addresses *, tide_epoch *mine,
    tide_epoch *now, const struct tide_hash *, unsigned n);

/* C1 to C3.  -1: workers would not leave the idle copy within wait_ms. */
struct tide_addresses_fresh {
	const tide_bloom_word *words;
	uint64_t version, sequence, loaded_ms, elements;
};
int tide_addresses_install(struct tide_addresses *, const struct tide_workers *,
    const struct tide_addresses_fresh *, uint64_t wait_ms, struct tide_err *);

/* The current copy; NULL if there is none. */
struct tide_addresses_copy *
tide_addresses_now(const struct tide_addresses *, tide_bloom_word **words);

/* ---- keys -------------------------------------------------------------- */

/*
 * A sender is met by its address, by its domain ("@example.org") and, if a
 * forwarder has rewritten it, by what it was.  How many forms; none for <>.
 */
#define TIDE_SENDER_FORMS 3u
struct tide_sender_forms {
	unsigned count;
	struct tide_key key[TIDE_SENDER_FORMS];
	struct tide_hash hash[TIDE_SENDER_FORMS];
};
void tide_sender_forms(const struct tide_hash_key *, const char *sender,
    struct tide_sender_forms *);

/*
 * The key of an entry of a list, an address or @domain, from a line of a
 * file or from the command line.  1, 0 for a line that says nothing, or -1.
 */
int tide_address_entry(
    const struct tide_hash_key *, const char *line, struct tide_key *);

struct tide_hash
tide_address_hash(const struct tide_hash_key *, const struct tide_key *);

#endif
