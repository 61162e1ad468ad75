/*
 * tokens_table - the slots of the tokens' table: who stands where.  Between
 * tokens.c, which knows allowances, and tokens_table.c, which knows accounts.
 *
 *   tag    state:2 | version:12 | fingerprint:50
 *   word   full:52 | version:12      full in ticks, all ones: closed
 */
#ifndef TOKENS_TABLE_H
#define TOKENS_TABLE_H

#include "tidemark/base/hash.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define VERSION_BITS 12
#define VERSION_MASK ((1u << VERSION_BITS) - 1)
#define FULL_BITS 52
#define FULL_MASK ((1ull << FULL_BITS) - 1)
#define FULL_CLOSED FULL_MASK
#define PRINT_BITS 50
#define PRINT_MASK ((1ull << PRINT_BITS) - 1)
#define TICK_BITS 10 /* ticks in a millisecond, log 2 */
#define STALE_TICKS ((int64_t)TIDE_TOKENS_STALE_MS << TICK_BITS)

_Static_assert(FULL_BITS + VERSION_BITS == 64, "the word is full");
_Static_assert(2 + VERSION_BITS + PRINT_BITS == 64, "the tag is full");

/* The largest depth: a quarter of the clock's face, so that differences have
 * their sign even after staleness and steps. */
#define DEPTH_MAX TIDE_TOKENS_DEPTH_MAX
_Static_assert(DEPTH_MAX == 1ull << (FULL_BITS - 2) &&
	1u << TICK_BITS == TIDE_TOKENS_TICKS,
    "an allowance is counted as it was made");
_Static_assert(DEPTH_MAX >> TICK_BITS > 34ull * 365 * 86400000,
    "34 years from empty to full");
_Static_assert(DEPTH_MAX <= UINT64_MAX / TIDE_TOKEN / 2,
    "thousandths of a depth fit a word");

/* An account's live slot as it was seen; word is what a CAS expects. */
struct tokens_hold {
	struct tide_tokens_slot *slot;
	uint64_t tag, word;
	bool fresh; /* never taken from: full, whatever the word says */
};

static inline uint64_t
ticks(uint64_t ms)
{
	return ms << TICK_BITS & FULL_MASK;
}

/* Ticks from now to full; negative if it was full before. */
static inline int64_t
ticks_ahead(uint64_t full, uint64_t now)
{
	return (int64_t)((full - now) << (64 - FULL_BITS)) >> (64 - FULL_BITS);
}

static inline uint64_t
word_full(uint64_t word)
{
	return word >> VERSION_BITS;
}

enum state { NEVER, FREE, CLAIM, LIVE };
enum condition { OPEN, FRESH, CLOSED, HISTORY };

static inline enum state
state_of(uint64_t tag)
{
	return (enum state)(tag >> 62);
}

static inline uint64_t
version_of(uint64_t tag)
{
	return tag >> PRINT_BITS & VERSION_MASK;
}

static inline uint64_t
make_tag(enum state s, uint64_t version, uint64_t print)
{
	return (uint64_t)s << 62 | (version & VERSION_MASK) << PRINT_BITS |
	    print;
}

/* A tag but for its version. */
#define ANY_VERSION (~((uint64_t)VERSION_MASK << PRINT_BITS))

static inline uint64_t
print_of(struct tide_hash key)
{
	return key.high & PRINT_MASK;
}

/* The tag of an account in whichever version, and a live one's condition. */
static inline bool
is_of(uint64_t tag, uint64_t print)
{
	return state_of(tag) >= CLAIM && (tag & PRINT_MASK) == print;
}

static inline enum condition
condition_of(uint64_t tag, uint64_t word)
{
	uint64_t age = (version_of(tag) - word) & VERSION_MASK;

	if (age == 0)
		return word_full(word) == FULL_CLOSED ? CLOSED : OPEN;
	return age <= VERSION_MASK / 2 ? FRESH : HISTORY;
}

/* Find the account's live slot without writing. */
bool tide_tokens_table_find(
    const struct tide_tokens *, struct tide_hash key, struct tokens_hold *);

/* The same, but claim a slot if there is none.  False: no room. */
bool tide_tokens_table_claim(const struct tide_tokens *, struct tide_hash key,
    uint64_t now, struct tokens_hold *);

/* Before an account is put where its home is not known: nobody may stop
 * looking for it at a slot that was never used. */
void tide_tokens_table_open_block(const struct tide_tokens *, uint64_t block);

/* T1: put `full` into the slot, if nothing happened to it since. */
bool tide_tokens_table_store(const struct tokens_hold *, uint64_t full);

#endif
