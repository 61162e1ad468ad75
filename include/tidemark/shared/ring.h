/*
 * ring - the last decisions, for whoever wants to know why.
 *
 * Written by every milter worker, one record a decision; overwritten when
 * full; read by tools, which map it read-only.  A decision costs its writer
 * one fetch_add, two CAS and 256 bytes, whether anybody reads or not.  Never
 * blocks.  The caller passes the time.
 *
 * Decisions are numbered from 0; number n stands in entry n % capacity.  An
 * entry's seq is 0 (never used), 2n + 1 (n is being written) or 2n + 2 (n can
 * be read).
 *
 * PROTOCOL ring: many writers, many readers, nobody waits.
 *  W1 n = next++                       relaxed
 *  W2 s = seq                          relaxed
 *     s > 2n + 1: lapped before we began; a later one has the entry: give up
 *     s odd, and of the lap before ours: its writer is at work: give up
 *     CAS seq from s to 2n + 1         acquire; failed: give up
 *  W3 store check and words            release
 *  W4 CAS seq from 2n + 1 to 2n + 2    release; failed: it was taken over
 *  R1 seq == 2n + 2 ?                  acquire; less: not yet; more: gone
 *  R2 load check and words             acquire
 *  R3 seq unchanged?                   relaxed; else gone
 *  R4 check is that of n and the words; else gone
 * Why:   W1 gives each number to one writer, but a writer that is stopped
 *        after it can be lapped: so W2, not W1, gives the entry, and only to
 *        the number that is newer than what is there.  W2 acquires what the
 *        writer before released at W4, so that its words cannot come after
 *        ours.  R1 with W4: who sees the even number sees its words.  R3 with
 *        W3: who has read a word of a later writing sees, through that
 *        word's release, that seq has moved on.  (Fences would do for W3 and
 *        R2; stores and loads cost the same here and TSan understands them.)
 * Erasing is writing the same number anew, by the collector:
 *  E1 s = seq, and the words            acquire; are they meant?
 *  E2 s even: CAS seq from s to s - 1   acquire; failed: look again
 *     store zeroes and their check      release
 *     CAS seq from s - 1 to s           release
 *  E3 s odd: store zeroes in the words  release; seq stays
 * Why:   after E2 the entry is the eraser's as it is a writer's after W2; a
 *        writer of the next lap that comes meanwhile gives up, and its
 *        decision is not kept.  At E3 the writer was killed, or is at work: if
 *        that, its words mix with zeroes, and R4 finds it out.
 * Crash: of a writer between W2 and W4: the entry stays odd; readers skip it,
 *        and so does the next lap.  The lap after that takes it over: the
 *        writer has then been silent for two laps.  Should it only have been
 *        stopped, its late stores may mix with the new ones; its W4 fails,
 *        and R4 finds the mixture out.  Hence the check: it is needed for
 *        nothing else.
 *        Before W2: number n is never written; readers take it for unwritten
 *        until it is lapped.
 * Test:  tests/daemon/lib/shared/t_ring.c, tests/race/t_ring.c
 */
#ifndef TIDEMARK_RING_H
#define TIDEMARK_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/keys/keys.h"

enum tide_decided {
	TIDE_DECIDED_ACCEPT,
	TIDE_DECIDED_TEMPFAIL,
	TIDE_DECIDED_REJECT,
	TIDE_DECIDEDS
};

extern const char *const tide_decided_name[TIDE_DECIDEDS];

#define TIDE_DECISION_NO_GROUP 0xffu

/* One decision.  Texts end in a NUL; "" where there is none. */
struct tide_decision {
	uint64_t wall_ms;
	uint8_t profile;
	uint8_t stage;	 /* enum tide_stage: rcpt or eom */
	uint8_t verdict; /* enum tide_decided */
	uint8_t group;	 /* enum tide_group that was charged or overflowed */
	uint32_t recipients;
	char session[16];
	char qid[32];
	char reason[16]; /* a word, as in the log */
	char client[48]; /* keys, as they are charged */
	char sender[112];
};
_Static_assert(sizeof(struct tide_decision) == 240, "with its head 256");
_Static_assert(TIDE_KEY_MAX < 112, "a sender's key fits");

#define TIDE_DECISION_WORDS (sizeof(struct tide_decision) / 8)

struct tide_ring_entry {
	_Alignas(64) _Atomic uint64_t seq;
	_Atomic uint64_t check;
	_Atomic uint64_t word[TIDE_DECISION_WORDS];
};
_Static_assert(sizeof(struct tide_ring_entry) == 256, "four cache lines");

/* In the map; all zero is an empty ring. */
struct tide_ring_region {
	_Alignas(64) _Atomic uint64_t next; /* how many there ever were */
	_Atomic uint64_t given_up;	    /* and how many were not written */
	struct tide_ring_entry entry[];
};

/* Attached. */
struct tide_ring {
	struct tide_ring_region *region;
	uint32_t capacity;
};

size_t tide_ring_size(uint32_t capacity);

/* ---- workers ----------------------------------------------------------- */

/* False if a later decision has taken its place; nobody is harmed. */
bool tide_ring_put(const struct tide_ring *, const struct tide_decision *);

/* ---- tools ------------------------------------------------------------- */

/* The number that the next decision gets; the oldest that may be there. */
uint64_t tide_ring_next(const struct tide_ring *);
uint64_t tide_ring_oldest(const struct tide_ring *);

enum tide_ring_found {
	TIDE_RING_HERE,
	TIDE_RING_NOT_YET, /* being written, or its writer was killed */
	TIDE_RING_GONE,	   /* overwritten */
	TIDE_RING_ERASED   /* on request */
};

/* Decision n, copied out; its texts are made sure to end. */
enum tide_ring_found
tide_ring_get(const struct tide_ring *, uint64_t n, struct tide_decision *);

/* ---- the collector ----------------------------------------------------- */

typedef bool tide_ring_means(void *arg, const struct tide_decision *);

/* Erase those that are meant, or only count them (dry); how many. */
unsigned tide_ring_erase(
    const struct tide_ring *, tide_ring_means *, void *arg, bool dry);

/* ---- session ids ------------------------------------------------------- */

/*
 * A name for a connection that no other has: letters and digits that sort by
 * time, from its start (wall, microseconds) and the slot that served it.
 */
void tide_session_id(uint64_t wall_us, uint32_t slot, char id[16]);

#endif
