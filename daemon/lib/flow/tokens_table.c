/*
 * tokens_table - who stands where in the tokens' table, decided by CAS alone.
 *
 * An account may stand in any of the 64 slots of its block, and is looked for
 * in an order of its own, from its home on.  A slot goes through
 *
 *     NEVER -> CLAIM -> LIVE -> (word closed) -> CLAIM by another, or FREE
 *                 \-> FREE -> CLAIM
 *
 * Each claim has a version, one more than the slot's last; the word carries
 * the version of the incarnation that wrote it.  In a LIVE slot of version v
 * the word is
 *     of v          the account's: open, or closed (then nobody is here)
 *     older than v  not written since the claim: the account is full (fresh)
 *     newer than v  the tag we read is history: nobody we know is here
 *
 * PROTOCOL tokens: accounts claim, charge and inherit slots.
 *  L1 tag = slot.tag                          seq_cst   (look)
 *  L2 word = slot.word                        acquire
 *  C1 of a LIVE slot that is full again:
 *     CAS word {full, v} -> {closed, v}       seq_cst   (close)
 *  C2 CAS tag -> CLAIM v+1 of ours            seq_cst
 *  S1 look at every other slot of the block   seq_cst   (settle, after C2)
 *       LIVE and open, ours: CAS our claim -> FREE, use that one
 *       CLAIM of ours: the earlier in our order stays, CAS the other -> FREE
 *  S2 CAS tag CLAIM v -> LIVE v               seq_cst
 *  T1 CAS word {what L2 saw} -> {full', v}    acq_rel   (charge)
 *
 * Why:   At most one open slot an account.  Suppose i and j were open at
 *        once, C2 of i before C2 of j in the order of the seq_cst operations.
 *        Whoever made j LIVE did S1 between, and so saw i as CLAIM or LIVE.
 *        As LIVE and open, j gives way.  As CLAIM, either j is freed, or i
 *        is, or that CAS fails because i changed, and j is not made LIVE by
 *        this settling.  As closed, i is not open: closing is for good.  With
 *        release and acquire both could miss each other's C2 (store
 *        buffering), and the account had two bursts.
 *        A charge hits its own account.  LIVE v ends only after the word has
 *        become {closed, v} (C1); so while T1 finds the word that L2 saw,
 *        the slot still is what L1 saw.  An owner that comes back while its
 *        slot is being closed races C1 with T1 on one word: either it is
 *        charged and the slot stays, or it finds it closed, and since
 *        closing says "full", claims anew with a full allowance, exactly
 *        what it had.
 *        Anyone may settle anyone's claim of the same account: S1 needs only
 *        come after C2.  So nobody waits for the claimant.
 *        Looking may stop at a NEVER slot: a claim goes to the first slot in
 *        its order that can be had, and NEVER always can.  Not so for those
 *        who may stand in a part of the block only (tokens.h): they look at
 *        all of it, and claim in their part.
 *        Claims that fail raise the tag's version and not the word's: who
 *        claims a slot of which the word is 1,024 behind closes it anew.
 *        Versions wrap after 4,096 incarnations: to be fooled, a worker must
 *        stand still between two instructions while one slot is claimed and
 *        becomes full again 2,048 times.
 *        Forgetting is C1 on a slot that is not full, then CAS tag -> FREE,
 *        as the sweep does it: all of the above holds, but that the owner
 *        claims a full allowance where it had less, which is meant.
 * Crash: after C1: a closed slot, which anyone may claim.  After C2: a claim,
 *        which the account's next taker settles, or the sweep frees.  After
 *        S2: a full allowance; as before.  Before T1 nothing is taken, after
 *        it the charge stands, at most one.
 * Test:  tests/race/t_tokens.c, t_tokens_steps.c (schedules, step by step),
 *        t_forget.c
 */
#include "tokens_table.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/tokens.h"

/* For the test that stops, or dies, between two steps. */
#ifndef TIDE_TOKENS_STEP
#define TIDE_TOKENS_STEP() ((void)0)
#endif

#define ROUNDS 256u  /* of looking and claiming: then the block is no good */
#define SPREAD 1024u /* versions that tag and word may be apart */

/* What one look at a block found. */
enum finding { NOTHING, ROOM, CLAIMED, HELD };

struct sight {
	enum finding what;
	unsigned rank;
	struct tokens_hold at;
};

static inline bool
swap(_Atomic uint64_t *what, uint64_t from, uint64_t to)
{
	TIDE_TOKENS_STEP();
	return atomic_compare_exchange_strong_explicit(
	    what, &from, to, memory_order_seq_cst, memory_order_relaxed);
}

/* A home begins a cache line, so that most accounts cost one. */
static inline struct tide_tokens_slot *
slot_at(const struct tide_tokens *t, struct tide_hash key, unsigned rank)
{
	uint64_t blocks = t->capacity / TIDE_TOKENS_BLOCK;
	unsigned home = (unsigned)(key.low >> 60 << 2);

	return t->slots + (key.low & (blocks - 1)) * TIDE_TOKENS_BLOCK +
	    tide_standing_place(key, home, rank, TIDE_TOKENS_BLOCK);
}

/*
 * A NEVER slot ends the search for those who could have claimed it.  Others
 * may have been put behind it, by a version that let them, or loaded.
 */
static inline bool
ends_at(uint64_t tag, struct tide_hash key)
{
	return state_of(tag) == NEVER &&
	    tide_standing_of(key) == TIDE_STANDING_ACCOUNT;
}

static bool
full_again(uint64_t word, uint64_t now)
{
	return ticks_ahead(word_full(word), now) + STALE_TICKS <= 0;
}

/* May a claim be put here?  Not on claims and fresh slots: they are held by
 * someone at work, or the sweep finds them. */
static bool
to_be_had(uint64_t tag, uint64_t word, uint64_t now)
{
	enum condition c;

	if (state_of(tag) != LIVE)
		return state_of(tag) != CLAIM;
	c = condition_of(tag, word);
	return c == CLOSED || (c == OPEN && full_again(word, now));
}

/* L2, in a live slot of the account: is it still there? */
static bool
is_held(struct tokens_hold *at)
{
	enum condition c;

	TIDE_TOKENS_STEP();
	at->word = atomic_load_explicit(
	    &at->slot->word, memory_order_acquire); /* L2 */
	c = condition_of(at->tag, at->word);
	at->fresh = c == FRESH;
	return c == OPEN || c == FRESH;
}

static void
note(
    struct sight *seen, enum finding what, unsigned rank, struct tokens_hold at)
{
	seen->what = what;
	seen->rank = rank;
	seen->at = at;
}

/* Note what this slot is to the account; true if it is the live one. */
static bool
regard(struct sight *seen, struct tide_hash key, unsigned rank, uint64_t now,
    struct tokens_hold at)
{
	uint64_t print = print_of(key);

	if (is_of(at.tag, print) && state_of(at.tag) == LIVE && is_held(&at)) {
		note(seen, HELD, rank, at);
		return true;
	}
	if (is_of(at.tag, print) && state_of(at.tag) == CLAIM) {
		if (seen->what != CLAIMED)
			note(seen, CLAIMED, rank, at);
	} else if (seen->what == NOTHING &&
	    rank < tide_standing_reach(key, TIDE_TOKENS_BLOCK) &&
	    to_be_had(at.tag, at.word, now)) {
		note(seen, ROOM, rank, at);
	}
	return false;
}

static void
look(const struct tide_tokens *t, struct tide_hash key, uint64_t now,
    struct sight *seen)
{
	struct tokens_hold at = { .fresh = false };
	unsigned rank;

	*seen = (struct sight){ .what = NOTHING };
	for (rank = 0; rank < TIDE_TOKENS_BLOCK; rank++) {
		at.slot = slot_at(t, key, rank);
		at.tag = atomic_load_explicit(
		    &at.slot->tag, memory_order_seq_cst); /* L1 */
		TIDE_TOKENS_STEP();
		at.word = atomic_load_explicit(
		    &at.slot->word, memory_order_acquire); /* L2 */
		if (regard(seen, key, rank, now, at) || ends_at(at.tag, key))
			return;
	}
}

static bool
free_claim(struct tide_tokens_slot *slot, uint64_t tag)
{
	return swap(&slot->tag, tag, make_tag(FREE, version_of(tag), 0));
}

/* S1 with one other slot; false if our claim is not to be made live now. */
static bool
outrank(const struct sight *ours, unsigned rank, struct tide_tokens_slot *slot,
    uint64_t tag)
{
	uint64_t word;
	enum condition c;

	if (state_of(tag) == CLAIM) {
		if (rank > ours->rank)
			return free_claim(slot, tag);
		(void)free_claim(ours->at.slot, ours->at.tag);
		return false;
	}
	TIDE_TOKENS_STEP();
	word = atomic_load_explicit(&slot->word, memory_order_acquire);
	c = condition_of(tag, word);
	if (c == CLOSED || c == HISTORY)
		return true;
	(void)free_claim(ours->at.slot, ours->at.tag);
	return false;
}

static void
settle(
    const struct tide_tokens *t, struct tide_hash key, const struct sight *ours)
{
	unsigned rank;

	for (rank = 0; rank < TIDE_TOKENS_BLOCK; rank++) {
		struct tide_tokens_slot *slot = slot_at(t, key, rank);
		uint64_t tag;

		TIDE_TOKENS_STEP();
		tag = atomic_load_explicit(
		    &slot->tag, memory_order_seq_cst); /* S1 */
		if (ends_at(tag, key))
			break;
		if (rank != ours->rank && is_of(tag, print_of(key)) &&
		    !outrank(ours, rank, slot, tag))
			return;
	}
	(void)swap(&ours->at.slot->tag, ours->at.tag,
	    make_tag(LIVE, version_of(ours->at.tag), print_of(key))); /* S2 */
}

static bool
close_word(const struct tokens_hold *at) /* C1 */
{
	uint64_t closed = FULL_CLOSED << VERSION_BITS | version_of(at->tag);

	return at->word == closed || swap(&at->slot->word, at->word, closed);
}

/* Has the word been left so far behind that it would come round as newer? */
static bool
falls_behind(const struct tokens_hold *at)
{
	return condition_of(at->tag, at->word) == FRESH &&
	    ((version_of(at->tag) - at->word) & VERSION_MASK) > SPREAD;
}

/* C2, on a slot that was seen as ROOM; it then is CLAIMED, by us. */
static bool
put_claim(struct sight *room, uint64_t print)
{
	struct tokens_hold *at = &room->at;
	uint64_t mine = make_tag(CLAIM, version_of(at->tag) + 1, print);

	if (state_of(at->tag) == LIVE || falls_behind(at))
		if (!close_word(at))
			return false;
	if (!swap(&at->slot->tag, at->tag, mine))
		return false;
	at->tag = mine;
	return true;
}

bool
tide_tokens_table_find(
    const struct tide_tokens *t, struct tide_hash key, struct tokens_hold *hold)
{
	uint64_t live = make_tag(LIVE, 0, print_of(key));
	unsigned rank;

	for (rank = 0; rank < TIDE_TOKENS_BLOCK; rank++) {
		hold->slot = slot_at(t, key, rank);
		hold->tag = atomic_load_explicit(
		    &hold->slot->tag, memory_order_seq_cst); /* L1 */
		if ((hold->tag & ANY_VERSION) == live && is_held(hold))
			return true;
		if (ends_at(hold->tag, key))
			return false;
	}
	return false;
}

bool
tide_tokens_table_claim(const struct tide_tokens *t, struct tide_hash key,
    uint64_t now, struct tokens_hold *hold)
{
	struct sight seen;
	unsigned round;

	if (tide_tokens_table_find(t, key, hold))
		return true;
	for (round = 0; round < ROUNDS; round++) {
		look(t, key, now, &seen);
		*hold = seen.at;
		if (seen.what == HELD || seen.what == NOTHING)
			return seen.what == HELD;
		if (seen.what == CLAIMED || put_claim(&seen, print_of(key)))
			settle(t, key, &seen);
	}
	return false;
}

/*
 * Who has looked as far as a NEVER slot before it went, and claims it, finds
 * it changed and looks again; who settles a claim (S1) put after ours sees no
 * NEVER slot any more.
 */
void
tide_tokens_table_open_block(const struct tide_tokens *t, uint64_t block)
{
	struct tide_tokens_slot *slot = t->slots + block * TIDE_TOKENS_BLOCK;
	unsigned i;

	for (i = 0; i < TIDE_TOKENS_BLOCK; i++)
		if (state_of(atomic_load(&slot[i].tag)) == NEVER)
			(void)swap(&slot[i].tag, make_tag(NEVER, 0, 0),
			    make_tag(FREE, 0, 0));
}

bool
tide_tokens_table_store(const struct tokens_hold *hold, uint64_t full)
{
	full &= FULL_MASK;
	if (full == FULL_CLOSED)
		full = 0; /* the next tick */
	return swap(&hold->slot->word, hold->word,
	    full << VERSION_BITS | version_of(hold->tag)); /* T1 */
}

/* ---- the collector's ---------------------------------------------------- */

static bool
give_free(const struct tokens_hold *at)
{
	return close_word(at) && free_claim(at->slot, at->tag);
}

static void
sweep_live(const struct tokens_hold *at, uint64_t now, uint64_t furthest,
    struct tide_tokens_sweep *sum)
{
	enum condition c = condition_of(at->tag, at->word);
	int64_t ahead = ticks_ahead(word_full(at->word), now);

	if (c == FRESH || c == CLOSED) {
		sum->cleared += give_free(at);
	} else if (c == OPEN && full_again(at->word, now)) {
		sum->freed += give_free(at);
	} else if (c == OPEN) {
		sum->live++;
		if (ahead > (int64_t)furthest + STALE_TICKS)
			sum->mended +=
			    tide_tokens_table_store(at, now + furthest);
	}
}

/* C1 by another reason: who finds it closed claims a full allowance. */
bool
tide_tokens_forget(const struct tide_tokens *t, struct tide_hash key)
{
	struct tokens_hold at;
	unsigned round;
	bool known = false;

	for (round = 0; round < ROUNDS; round++) {
		if (!tide_tokens_table_find(t, key, &at))
			break;
		known = true;
		(void)give_free(&at);
	}
	return known;
}

bool
tide_tokens_known(const struct tide_tokens *t, struct tide_hash key)
{
	struct tokens_hold at;

	return tide_tokens_table_find(t, key, &at);
}

void
tide_tokens_sweep(const struct tide_tokens *t, uint64_t first, uint64_t n,
    uint64_t now_ms, uint64_t longest_ms, struct tide_tokens_sweep *sum)
{
	uint64_t i, furthest = ticks(longest_ms);

	for (i = first; i < first + n && i < t->capacity; i++) {
		struct tokens_hold at = { .slot = &t->slots[i] };

		at.tag = atomic_load_explicit(
		    &at.slot->tag, memory_order_seq_cst); /* L1 */
		at.word = atomic_load_explicit(
		    &at.slot->word, memory_order_acquire); /* L2 */
		if (state_of(at.tag) == LIVE)
			sweep_live(&at, ticks(now_ms), furthest, sum);
		else if (state_of(at.tag) == CLAIM)
			sum->cleared += free_claim(at.slot, at.tag);
	}
}
