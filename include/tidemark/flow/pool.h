/*
 * pool - the collector's side of the buckets: drain, tick, resolve, reclaim,
 * evict; rebuild after a crash; audit.  See PROTOCOL buckets in buckets.h.
 *
 * One thread of one process calls these.  Nothing here waits for a worker.
 */
#ifndef TIDEMARK_POOL_H
#define TIDEMARK_POOL_H

#include "tidemark/flow/buckets.h"
#include "tidemark/shared/slots.h"

#define TIDE_PENDING 1024u

/* An overflow to be reported. */
struct tide_overflow {
	unsigned class;
	const char *key;
	unsigned length;
	uint32_t number; /* told again after a crash, it has the same one */
	uint32_t times;	 /* 1, and 1 more for each K + 1 drops since */
};

/*
 * True when it has been dealt with for good (the ban is durable and visible):
 * the bucket is then emptied.  False: ask again later; until then the bucket
 * stays overflowed.
 */
typedef bool tide_on_overflow(void *arg, const struct tide_overflow *);

struct tide_pool {
	struct tide_flow *flow;
	struct tide_workers workers; /* whose epochs to wait for */
	tide_on_overflow *on_overflow;
	void *arg;
	uint32_t pending[TIDE_PENDING]; /* buckets that wait to be resolved */
	uint32_t pendings;
	uint64_t freed;		/* batches of limbo so far */
	uint32_t dropped;	/* strings, since free units were joined */
	uint64_t keys_unplaced; /* no room for their string; the caller's */
	bool damaged;		/* something made no sense: to be rebuilt */
	/* a rebuild whose second half waits for the workers to pass */
	unsigned char *seen, *used;
	uint64_t rebuild_target;
};

/* Lay out an empty pool in zeroed regions. */
void tide_pool_format(struct tide_flow *, const uint8_t secret[16]);

/*
 * Set a class's depth and leak time; it may be in use already.  The depth is
 * at most the ring less 2 (the caller has checked it); 0 switches it off.
 */
void tide_pool_set_class(struct tide_pool *, unsigned class, uint32_t depth,
    uint64_t leak_ms, uint64_t now_ms);

/*
 * Take over what a collector before us left: chains and marks are the truth,
 * lists, counts and free space are made anew.  Until every worker has passed,
 * no bucket is handed out (posts wait in their mailboxes).
 */
int tide_pool_rebuild(struct tide_pool *, struct tide_err *);
void tide_pool_close(struct tide_pool *);

/* Take all posts; how many. */
unsigned tide_pool_drain(struct tide_pool *);

/* Add drops from the collector itself (`tidemark report', restoring). */
bool tide_pool_add(struct tide_pool *, unsigned class,
    const struct tide_flow_key *, uint32_t drops);

/* Leak whatever is due at now_ms (monotonic), all classes. */
void tide_pool_leak(struct tide_pool *, uint64_t now_ms);

/* Leak one drop from every bucket of a class. */
void tide_pool_tick(struct tide_pool *, unsigned class);

/* Try the pending overflows again. */
void tide_pool_resolve(struct tide_pool *);

/* Free what no worker can see any more. */
void tide_pool_reclaim(struct tide_pool *);

enum tide_reset {
	TIDE_RESET_NONE, /* there is no bucket */
	TIDE_RESET_BUSY, /* it has overflowed: that is to be told first */
	TIDE_RESET_DONE
};

/* Empty the key's bucket, but for an overflow that is not dealt with yet. */
enum tide_reset tide_pool_reset(
    struct tide_pool *, unsigned class, const struct tide_flow_key *);

/* Is that key meant? */
typedef bool tide_pool_means(void *arg, const char *key, size_t length);

/*
 * PROTOCOL forget: buckets go before their time, while workers fill them.
 *  F1 each bucket that is meant: CAS its mark to DEAD    seq_cst
 *  F2 out of its level's list, out of its chain, into limbo
 *  F3 freed when every slot has passed (C4); its string, at no reference
 *     left, is wiped
 * Why:   F1 is C3's own step, taken early: whoever finds DEAD posts its drops
 *        (W3), and the key gets a new bucket at the next drain - it is known
 *        again, from that message on.  A drop that a worker adds before F1 is
 *        forgotten with the rest.  An overflowed bucket is not touched: its
 *        ban is on its way, and would stay halfway (PROTOCOL overflow).
 * Crash: of the collector between F1 and F2: a dead bucket in its chain,
 *        which the rebuild leaves out, as after C3.
 * Test:  tests/race/t_forget.c
 *
 * How many went (`dry': would go); *busy is set if one has overflowed: ask
 * again.  They are gone from memory when p->freed has grown by 2.
 */
unsigned tide_pool_forget(
    struct tide_pool *, tide_pool_means *, void *arg, bool dry, bool *busy);

/*
 * Check every invariant; the number of faults, the first of them in *err.
 * Workers may go on meanwhile: only what the collector owns is judged.
 */
unsigned tide_pool_audit(struct tide_pool *, struct tide_err *);

#endif
