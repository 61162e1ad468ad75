/*
 * buckets - leaky buckets in the map: how fast each key is going.
 *
 * A class is a group in a profile, with a depth K and a leak time.  Every
 * event is a drop; a bucket that holds more than K overflows; every leak time
 * all buckets of a class lose one drop.  No level is stored: a bucket's MARK
 * is the absolute level it has been filled to, the class's FLOOR is the
 * absolute level at which a bucket is empty, and the level is their
 * difference.  Raising the floor by one leaks every bucket at once.
 *
 * Buckets come from one pool for all classes; the same struct is the node of
 * its hash chain and of its level list.  Key strings are kept once for all
 * classes, with a count of references (strings.h).
 *
 * PROTOCOL buckets: workers write three things only - a bucket's mark (by
 * CAS), their own mailbox, their own epoch word.  All else (chains, lists,
 * pool, strings) is the collector's, single-writer data.
 *  W1 announce the epoch                       epoch.h
 *  W2 walk the chain                           seq_cst loads
 *  W3 absent or DEAD: post {class, drops, key} to the own mailbox (release);
 *     no room: LOST, to be counted
 *  W4 found: load mark, THEN floor             acquire
 *     CAS mark to max(mark, floor) + drops, or to OVF if that is more than K
 *     above the floor, with the class's count of overflows as its number;
 *     the winner of that CAS has overflowed the bucket
 *     a key that many share (keys.h) never overflows: CAS to K above the
 *     floor, FULL; who comes then is put off until it has leaked
 *  W5 already OVF: count the drops within the mark
 *  W6 after TIDE_BUCKET_TRIES failed CAS: W3   (wait-free)
 *  W7 leave the epoch                          release
 *  C1 drain: take posts; an absent key gets a bucket, published by storing
 *     the chain's head                         seq_cst
 *  C2 resolve: OVF, reported, counted in the class, and then (and only by
 *     the collector) left                      seq_cst
 *  C3 tick: floor += 1 (seq_cst); each bucket on the list of that level:
 *     OVF - C2; mark above the floor - relink; else CAS to DEAD, unlink,
 *     limbo
 *  C4 reclaim: limbo is freed when every slot has passed (epoch.h)
 * Why:   W4 in this order: the floor only rises, so the pair (mark, floor)
 *        did stand together at the moment the floor was read, if the CAS
 *        finds the mark unchanged; read the other way round it may never
 *        have.  C3 by CAS: a plain store would lose a drop that a worker
 *        adds at that moment.  W1 before W2: else a drop may land in a node
 *        that has become another key's.  C2 by the collector alone: an
 *        overflow is reported exactly once, whoever is killed; counted
 *        before it is left: two overflows of a bucket never have the same
 *        number (but for 65,536 of its class in between), and one that a
 *        killed collector had reported comes again with its own.
 * Crash: of a worker, anywhere: nothing is owned, nothing to undo; a post not
 *        yet released never was; who buries it raises its mailbox's alarm,
 *        since it may have died between an overflow and its notice.  Of the collector: chains and marks are the
 *        truth, all else is rebuilt from them (tide_pool_rebuild); a post may
 *        be counted twice if it died between applying and acknowledging it.
 * Test:  tests/daemon/lib/flow/t_buckets.c (against a sequential oracle),
 *        tests/race/t_buckets.c (kills; threads under TSan),
 *        tests/model/buckets.pml (Spin, with mutants that must fail)
 */
#ifndef TIDEMARK_BUCKETS_H
#define TIDEMARK_BUCKETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/shared/epoch.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"

#define TIDE_CLASSES 64u
#define TIDE_BUCKET_TRIES 64
#define TIDE_CHAIN_MOST 4096 /* steps; more is a loop made by a damaged node */
#define TIDE_BUCKET_KEY_MAX TIDE_KEY_MAX /* longer ones are refused */
#define TIDE_MAILBOX_BYTES 4096u

/* The two low bits of a mark; the rest is the absolute level. */
enum { TIDE_MARK_DEAD = 1, TIDE_MARK_OVF = 2, TIDE_MARK_FLAGS = 3 };

struct tide_bucket {
	_Atomic uint32_t mark;
	_Atomic uint32_t next; /* in the hash chain; 0 ends it */
	uint32_t level_next;   /* in a level list, the free list or limbo */
	uint32_t class_string; /* class:6, string:26 (a unit of strings.h) */
	uint32_t hash;
};
_Static_assert(sizeof(struct tide_bucket) == 20, "as published: 20 bytes");

struct tide_class {
	_Alignas(64) _Atomic uint32_t floor; /* level << 2 */
	_Atomic uint32_t depth;		     /* K; 0: the class is not used */
	_Atomic uint64_t leak_ms;
	_Atomic uint64_t ticked_ms; /* monotonic; the last leak */
	_Atomic uint32_t live;	    /* buckets, for tools */
	uint32_t due;		    /* list still to be worked off */
	_Atomic uint64_t overflows;
};

/* One worker's mailbox: it produces, the collector consumes. */
struct tide_mailbox {
	_Alignas(64) _Atomic uint64_t head; /* bytes ever written */
	_Atomic uint32_t alarm;		    /* an overflow found no room here */
	_Alignas(64) _Atomic uint64_t tail; /* bytes ever taken */
	_Alignas(64) unsigned char bytes[TIDE_MAILBOX_BYTES];
};

struct tide_post {
	uint32_t size; /* of the record, a multiple of 8 */
	uint8_t kind;  /* enum tide_post_kind */
	uint8_t class;
	uint8_t length; /* of the key */
	uint8_t pad;
	uint32_t drops; /* or, for an overflow, the bucket */
	uint32_t hash;	/* of the string */
	char key[];
};

#define TIDE_POST_ALIGN(bytes) (((bytes) + 7) & ~(uint64_t)7)

enum tide_post_kind { TIDE_POST_PAD, TIDE_POST_ADD, TIDE_POST_OVERFLOW };

/* What all of this is sized for. */
struct tide_flow_shape {
	uint32_t buckets;      /* in the pool */
	uint32_t heads;	       /* of hash chains; a power of two */
	uint32_t string_units; /* of 16 bytes */
	uint32_t ring;	       /* level lists a class; a power of two */
	uint32_t mailboxes;
	uint32_t pad;
};

/* The least one that is not less. */
static inline uint32_t
tide_power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

struct tide_flow_shape tide_flow_plan(uint32_t buckets, uint32_t mailboxes);

/* The collector's books, in the map so that tools can show them. */
struct tide_flow_head {
	struct tide_flow_shape shape;
	uint8_t unused[16]; /* 0.2 had a secret here */
	_Atomic uint32_t free_count;
	_Atomic uint32_t strings;     /* interned */
	_Atomic uint32_t string_used; /* units handed out, freed or not */
	_Atomic uint32_t string_free; /* units on free lists */
	uint32_t free_head;
	uint32_t limbo[2];
	_Atomic uint32_t limbo_count;
	uint64_t limbo_target;
	_Atomic uint64_t created, retired, evicted, refused, drained, malformed;
	uint32_t string_free_head[16]; /* by units */
};

/* Attached: where everything is. */
struct tide_flow {
	struct tide_flow_head *head;
	struct tide_class *class; /* TIDE_CLASSES */
	_Atomic uint32_t *heads;
	_Atomic uint32_t *string_heads;
	unsigned char *strings;
	uint32_t *levels;	    /* ring lists a class */
	struct tide_bucket *bucket; /* index 0 is not used */
	struct tide_mailbox *mailbox;
	tide_epoch *epoch; /* the one of the map */
	/* of the hash tables; never in the map, and a tool does not have it */
	uint8_t secret[16];
};

/* Bytes of the three regions: read-only to workers, and written by them. */
struct tide_flow_sizes {
	size_t books, buckets, mailboxes;
};
struct tide_flow_sizes tide_flow_sizes(const struct tide_flow_shape *);

/* Lay the parts out over three mapped regions. */
void tide_flow_attach(struct tide_flow *, void *books, void *buckets,
    void *mailboxes, const struct tide_flow_shape *);

/*
 * For whoever buries a worker that was killed: nobody writes to its mailbox
 * until it is given away again.  What it had not posted is wiped, and the
 * alarm raised.
 */
void tide_flow_bury(struct tide_flow *, uint32_t mailbox);

/* ---- workers ----------------------------------------------------------- */

enum tide_drop {
	TIDE_DROP_HELD,	    /* the bucket holds it */
	TIDE_DROP_OVERFLOW, /* it made the bucket overflow */
	TIDE_DROP_OVER,	    /* the bucket has overflowed already */
	TIDE_DROP_FULL,	    /* many share the key: it took what went in */
	TIDE_DROP_POSTED,   /* a new key: it shows after the next drain */
	TIDE_DROP_LOST	    /* no room in the mailbox */
};

/* Who is adding: the slot's epoch word and its mailbox. */
struct tide_adder {
	tide_epoch *epoch;
	uint32_t mailbox;
};

struct tide_flow_key {
	const char *text;
	uint8_t length;
	bool shared;   /* tide_key_is_shared() */
	uint32_t hash; /* tide_flow_hash() of the text */
};

/* A key and its hash; false if it is empty or too long. */
bool tide_flow_key(
    const struct tide_flow *, const char *text, size_t, struct tide_flow_key *);

/* Add drops (at least 1) to the key's bucket.  Wait-free. */
enum tide_drop tide_flow_add(struct tide_flow *, const struct tide_adder *,
    unsigned class, const struct tide_flow_key *, uint32_t drops);

/* How full it is: 0 if there is no bucket; K + 1 if it has overflowed. */
uint32_t tide_flow_level(struct tide_flow *, const struct tide_adder *,
    unsigned class, const struct tide_flow_key *);

/* ---- shared by workers and the collector ------------------------------- */

static inline bool
tide_mark_above(uint32_t mark, uint32_t floor)
{
	return (int32_t)(mark - floor) > 0;
}

/*
 * Buckets lie in the workers' reach, and one of them may have been made to
 * write anything, at any moment: a plain word is read once, then checked.
 */
static inline uint32_t
tide_once(const uint32_t *word)
{
	return *(const volatile uint32_t *)word;
}

/* class_string, as it was read, taken apart. */
#define TIDE_HELD_STRINGS (1u << 26)

static inline unsigned
tide_held_class(uint32_t held)
{
	return held / TIDE_HELD_STRINGS;
}

static inline uint32_t
tide_held_string(uint32_t held)
{
	return held % TIDE_HELD_STRINGS;
}

/* The chain's hash: the string's, told apart by class. */
static inline uint32_t
tide_bucket_hash(uint32_t string_hash, unsigned class)
{
	uint32_t h = string_hash + (class + 1) * 0x9e3779b1u;

	h ^= h >> 16;
	h *= 0x85ebca6bu;
	return h ^ h >> 13;
}

/* The index of the key's bucket, or 0. */
uint32_t tide_flow_find(
    const struct tide_flow *, unsigned class, const struct tide_flow_key *);

/*
 * W4 and W5 on one bucket: HELD, OVERFLOW, OVER, FULL if it is shared, or LOST
 * if it is dead or the CAS failed too often.
 */
enum tide_drop tide_flow_fill(struct tide_flow *, unsigned class,
    uint32_t bucket, bool shared, uint32_t drops);

/*
 * OVF, taken apart.  The mark then holds the overflow's number, by which a
 * report repeated after a crash is told from a new overflow, and the drops
 * that came since, at most TIDE_OVER_MOST.
 *
 * The number is the low half of the class's count of overflows, which the
 * collector raises for each before it leaves it (C2): who finds the bucket
 * live again has a higher count to read.
 */
#define TIDE_OVER_MOST 0x3fffu

static inline uint32_t
tide_mark_over(uint64_t overflows, uint32_t drops)
{
	return (uint32_t)(overflows & 0xffff) << 16 | drops << 2 |
	    TIDE_MARK_OVF;
}

static inline uint32_t
tide_over_drops(uint32_t mark)
{
	return mark >> 2 & TIDE_OVER_MOST;
}

static inline uint32_t
tide_over_number(uint32_t mark)
{
	return mark >> 16;
}

#endif
