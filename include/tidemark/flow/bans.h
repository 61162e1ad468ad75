/*
 * bans - who is refused, and until when.
 *
 * A ban is a key (keys.h: a sender, an address, a @domain, a client, a
 * network), why, since and until.  The archive has them durably; a table in
 * the map answers workers without blocking.  The collector alone writes.
 *
 * PROTOCOL bans: one writer, any number of readers, an entry at a time.
 *  P1 seq += 1 (now odd)            relaxed, then a release fence
 *  P2 write the words               relaxed
 *  P3 seq += 1 (now even)           release
 *  R1 load seq                      acquire; odd: try again
 *  R2 read the words                relaxed
 *  R3 acquire fence, load seq       relaxed; changed: try again
 * Why:   R1 with P3: who sees the even number sees its words.  R3 with P1: who
 *        has read a word of the next writing sees that seq has moved.  A
 *        reader tries a few times and then passes the entry by: it never
 *        waits.
 * Crash: of the collector between P1 and P3: the entry stays odd, and readers
 *        pass it by, until the next collector has loaded all bans.
 *
 * A key stands in the first entry from its hash on that was free; the next
 * free one ends the search.  At most half of the entries are in use, so that
 * it is never far.  Where one is taken away, those behind it move up:
 *
 * PROTOCOL moving: a ban that stands is found at every moment.
 *  M1 write it to where it goes     P1 to P3
 *  M2 moves += 1                    release
 *  M3 write another one, or nothing, to where it was
 *  L1 load moves                    acquire
 *  L2 search                        R1 to R3; found: done
 *  L3 acquire fence, load moves     relaxed; changed: search again
 * Why:   a search may pass the new place before M1 and the old one after M3.
 *        Who sees M3 sees M2 (R1 with P3), and so L3 does; and L1 has not seen
 *        it, or the search would have met M1's writing.
 * Crash: of the collector after M1: it is there twice, in the same words,
 *        until the next collector sweeps.
 *
 * A collector that starts loads the archive's bans over what is there, and
 * then sweeps what the archive has not: nobody who is banned gets a moment in
 * between.
 * Test:  tests/daemon/lib/flow/t_bans.c
 */
#ifndef TIDEMARK_BANS_H
#define TIDEMARK_BANS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

#define TIDE_BAN_REASON_MAX 63

/* Who made it, if no group did. */
#define TIDE_BAN_MANUAL 0xffu

#define TIDE_BAN_CAUSES 8u

/*
 * Profiles go by name: their order in the configuration may change over a
 * restart.  Causes are the last overflows that made or lengthened it, so that
 * one that is told again after a crash changes nothing.
 */
struct tide_ban {
	uint64_t since_ms, until_ms;	 /* wall */
	uint32_t times;			 /* how often made or lengthened */
	uint32_t map;			 /* whose buckets the causes are of */
	uint32_t cause[TIDE_BAN_CAUSES]; /* tide_ban_cause(), newest first */
	char profile[TIDE_NAME_MAX];	 /* where it stands; "": everywhere */
	char reason[TIDE_BAN_REASON_MAX + 1]; /* of a manual one */
	char key[TIDE_KEY_MAX + 1];
	uint8_t group;	/* enum tide_group, or TIDE_BAN_MANUAL */
	uint8_t length; /* of the key */
	uint8_t pad[5];
};
_Static_assert(sizeof(struct tide_ban) % 8 == 0, "whole words");
_Static_assert(offsetof(struct tide_ban, pad) + 5 == sizeof(struct tide_ban),
    "no hidden bytes: they are compared and summed");

#define TIDE_BAN_WORDS (sizeof(struct tide_ban) / 8)

struct tide_ban_entry {
	_Atomic uint64_t seq;
	_Atomic uint64_t word[TIDE_BAN_WORDS];
};

struct tide_bans {
	_Atomic uint32_t capacity;    /* entries, twice the most bans */
	_Atomic uint32_t standing;    /* entries in use, expired or not */
	_Atomic uint64_t moves;	      /* PROTOCOL moving */
	_Atomic uint64_t prefixes[4]; /* lengths of networks banned, v6 bits */
	struct tide_ban_entry entry[];
};

/* So many entries, of that size in all, for so many bans. */
static inline uint32_t
tide_bans_entries(uint32_t most)
{
	return 2 * most;
}
size_t tide_bans_size(uint32_t most);

/* ---- workers and tools ------------------------------------------------- */

/* Is the key banned at that time?  The ban is copied out. */
bool tide_bans_find(const struct tide_bans *, const uint8_t secret[16],
    const struct tide_key *, uint64_t now_ms, struct tide_ban *);

/* Does it stand in that profile?  NULL: in any. */
bool tide_ban_is_in(const struct tide_ban *, const char *profile);

/* The client, or any network around it, in that profile; NULL: in any. */
bool tide_bans_find_client(const struct tide_bans *, const uint8_t secret[16],
    const struct tide_ip *, const char *profile, uint64_t now_ms,
    struct tide_ban *);

/* Entry i, for listing; false if nothing stands there. */
bool tide_bans_at(const struct tide_bans *, uint32_t i, struct tide_ban *);

/* ---- the collector ----------------------------------------------------- */

/* A table for so many bans: as it is, or made. */
void tide_bans_open(struct tide_bans *, uint32_t most);

/* Put it there, in place of one of the same key.  False if as many stand as
 * may: then nothing is changed. */
bool tide_bans_publish(
    struct tide_bans *, const uint8_t secret[16], const struct tide_ban *);

/* Take it away.  False if there is none. */
bool tide_bans_withdraw(
    struct tide_bans *, const uint8_t secret[16], const struct tide_key *);

/*
 * Look at n entries from one on, and take away those that are not to be kept,
 * that are there twice, or half written.  Once all were looked at from 0 on,
 * `standing' and `prefixes' can be counted anew.
 */
typedef bool tide_ban_keep(void *arg, const struct tide_ban *);
uint32_t tide_bans_sweep(struct tide_bans *, const uint8_t secret[16],
    uint32_t from, uint32_t n, tide_ban_keep *, void *arg);
void tide_bans_recount(struct tide_bans *);

/* ---- what comes of a new one and of the one that stands ----------------- */

/* An overflow, by class and number (pool.h); never 0. */
static inline uint32_t
tide_ban_cause(unsigned class, uint32_t number)
{
	return 1u << 31 | (class & 0x7f) << 16 | (number & 0xffff);
}

struct tide_ban_terms {
	uint64_t now_ms;
	uint64_t lasts_ms; /* as its group says */
	uint64_t most_ms;  /* however often it is lengthened */
};

enum tide_ban_outcome {
	TIDE_BAN_MADE,	     /* none stood */
	TIDE_BAN_LENGTHENED, /* one stood: what stands now is of both */
	TIDE_BAN_KNOWN,	     /* this very overflow is in it: as it is stored */
	TIDE_BAN_VOID	     /* it would only lengthen one, and none stands */
};

/*
 * Settle a ban against the one that stands (NULL: none).  An overflow's ban
 * has one cause; a manual one has none, and until_ms as wanted.  The one that
 * ends later decides when; a manual reason is kept.
 */
enum tide_ban_outcome tide_ban_settle(struct tide_ban *,
    const struct tide_ban *old, const struct tide_ban_terms *);

/* Of two bans of a key, is a the later writing? */
bool tide_ban_is_newer(const struct tide_ban *a, const struct tide_ban *b);

#endif
