/*
 * tokens - outgoing allowances, one per account and limit, in the map.
 *
 * Written by every milter worker; swept by the collector; read by tools.  The
 * caller passes the time, so tests own the clock.  Never blocks, never
 * allocates; whoever is killed midway leaves nothing that others wait for.
 *
 * An account holds T(t) = min(T(t0) + (t - t0) rho, beta) tokens; a recipient
 * costs some and passes while they suffice.  We do not store T and t0 but the
 * one number that both amount to, the moment `full` at which the bucket is
 * full again:
 *
 *     T(t) = beta - max(full - t, 0) rho
 *     take c:  full' = max(full, t) + c / rho, if full' - t <= beta / rho
 *
 * It says without knowing beta or rho when a slot may be given away (a full
 * allowance equals a free slot), and one CAS moves it.
 *
 * Exact: time is counted in ticks of 1/1024 ms, a token is a whole number of
 * ticks, rounded up.  So the first burst is exactly beta, and in any time t
 * at most beta + rho t tokens are taken, never a fraction more.  Rounding
 * slows the refill by less than 1/1024 at 1,000 tokens a second and not at
 * all at 100 a day.
 *
 * Ranges: beta up to 1,000,000 tokens; rho up to 1,000 a second; beta / rho up
 * to 34 years.  `full` has 52 bits and wraps every 139 years; it is compared
 * by signed difference, so any starting point of the clock will do.
 *
 * Giving back: a message that came to nothing gives back what it has paid, less
 * what has come back by itself since.  Its payments are a small bucket of
 * their own, which refills at the account's rate; what it lacks can be given
 * back.  All of these together lack no more than the account does: so giving
 * back never makes room for a token that time has made room for already, and
 * beta + rho t holds however long sessions are held open.  Of several messages
 * that are open at once each loses the same stretch of time: at most the time
 * it was open, times rho.
 *
 * Clock: meant for CLOCK_MONOTONIC.  A step back by s never refills; it takes
 * at most s rho tokens from view until the clock is there again, and blocks
 * nobody for longer than TIDE_TOKENS_STALE_MS: what then still lies further
 * ahead than an empty bucket is taken for an empty bucket of now.  A jump
 * ahead fills up to beta, as waiting would.
 *
 * Staleness: a worker's time may be old by up to TIDE_TOKENS_STALE_MS.  One
 * that was stopped for longer between reading the clock and taking may win
 * its delay times rho, once.
 */
#ifndef TIDEMARK_TOKENS_H
#define TIDEMARK_TOKENS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/settings/allowance.h"

#define TIDE_TOKEN 1000u /* costs and levels are in thousandths of a token */
#define TIDE_TOKENS_STALE_MS 60000u
#define TIDE_TOKENS_BLOCK 64u /* slots an account may stand in */

struct tide_tokens_slot {
	_Atomic uint64_t tag;  /* state, version, fingerprint */
	_Atomic uint64_t word; /* full again at, version */
};
_Static_assert(sizeof(struct tide_tokens_slot) == 16, "four in a cache line");

/* A process's view of the table.  A region of zeroes is an empty table. */
struct tide_tokens {
	struct tide_tokens_slot *slots; /* aligned to a cache line */
	uint64_t capacity; /* a power of two, at least TIDE_TOKENS_BLOCK */
};

static inline size_t
tide_tokens_bytes(uint64_t capacity)
{
	return (size_t)capacity * sizeof(struct tide_tokens_slot);
}

/* Where an account stands under a limit; the limit's number keeps two apart. */
struct tide_hash tide_tokens_key(
    const struct tide_hash_key *, uint32_t limit, const void *account, size_t);

enum tide_tokens_result {
	TIDE_TOKENS_TAKEN,
	TIDE_TOKENS_SHORT,    /* not enough; nothing changed */
	TIDE_TOKENS_UNCOUNTED /* no slot for the account: let it through */
};

#define TIDE_TOKENS_NEVER UINT64_MAX

struct tide_take {
	struct tide_hash key;
	struct tide_allowance allowance;
	uint64_t cost; /* in thousandths, as is left */
	/* set by taking */
	enum tide_tokens_result result;
	uint64_t left;		 /* what remains; after a refusal, what is */
	uint64_t retry_after_ms; /* SHORT: then the cost is there, or NEVER */
	/* kept from take to take of one message, 0 before the first */
	uint64_t paid_until; /* then all it has paid has come back; ticks */
	uint64_t paid_tag;   /* the account's slot that was charged */
};

/* Take the cost if it is there; the result is also left in the take. */
enum tide_tokens_result tide_tokens_take(
    const struct tide_tokens *, struct tide_take *, uint64_t now_ms);

/*
 * Take all or none, in order: at the first that is SHORT those before it are
 * given back, and *refused, unless NULL, is its index.  UNCOUNTED if none was
 * short but one found no slot.  A kill midway may leave what was taken.
 */
enum tide_tokens_result tide_tokens_take_all(const struct tide_tokens *,
    struct tide_take *, size_t, uint64_t now_ms, size_t *refused);

/*
 * Give the cost back, but for what has come back by itself since it was taken.
 * Nothing unless the take's result is TAKEN.  The struct is the one that all
 * recipients of the message were taken with; the cost is what this one paid.
 */
void tide_tokens_give_back(
    const struct tide_tokens *, struct tide_take *, uint64_t now_ms);

/*
 * Forget the account: its slot is closed and given free, as one that is full
 * again.  True if it had one.  Its next take begins with a full allowance;
 * one that is under way meets the closed slot and claims anew.
 */
bool tide_tokens_forget(const struct tide_tokens *, struct tide_hash key);

/* Has it one? */
bool tide_tokens_known(const struct tide_tokens *, struct tide_hash key);

/* What of an account: each has a place of its own in the map. */
enum tide_account_kind {
	TIDE_ACCOUNT_TOKENS,
	TIDE_ACCOUNT_RECIPIENTS, /* distinct.h */
	TIDE_ACCOUNT_CLIENTS,
	TIDE_ACCOUNT_ALSO, /* and more, to the number of further limits */
	TIDE_ACCOUNT_KINDS = TIDE_ACCOUNT_ALSO + TIDE_TOKENS_ALSO
};

/*
 * Anybody can make senders up, and with an IPv6 network clients, too; accounts
 * have to log in.  So that the former never take the places of the latter,
 * they may stand in some places of a block (a set, in distinct.h) only:
 *
 *   auth:NAME       anywhere
 *   a client        in the first half
 *   a sender        in three quarters of that half
 *
 * The key says which; it is looked for everywhere.  It does so in bits of its
 * high word that no fingerprint has.
 */
enum tide_standing {
	TIDE_STANDING_ACCOUNT,
	TIDE_STANDING_CLIENT,
	TIDE_STANDING_SENDER
};
#define TIDE_STANDING_SHIFT 62

static inline enum tide_standing
tide_standing_of(struct tide_hash key)
{
	return (enum tide_standing)(key.high >> TIDE_STANDING_SHIFT);
}

static inline struct tide_hash
tide_standing_set(struct tide_hash key, enum tide_standing s)
{
	key.high = key.high << 2 >> 2 | (uint64_t)s << TIDE_STANDING_SHIFT;
	return key;
}

/* Of n places those that a key may take, n a multiple of 8: the first. */
static inline unsigned
tide_standing_reach(struct tide_hash key, unsigned n)
{
	switch (tide_standing_of(key)) {
	case TIDE_STANDING_ACCOUNT:
		return n;
	case TIDE_STANDING_CLIENT:
		return n / 2;
	default:
		return n / 8 * 3;
	}
}

/* The rank-th place in which it is looked for: first where it may stand. */
static inline unsigned
tide_standing_place(
    struct tide_hash key, unsigned home, unsigned rank, unsigned n)
{
	unsigned reach = tide_standing_reach(key, n);

	return rank < reach ? (home + rank) % reach : rank;
}

/* Of a record, that says no more than its place. */
static inline enum tide_standing
tide_standing_at(unsigned place, unsigned n)
{
	return place < n / 8 * 3 ? TIDE_STANDING_SENDER
	    : place < n / 2	 ? TIDE_STANDING_CLIENT
				 : TIDE_STANDING_ACCOUNT;
}

/*
 * A profile's name, not its place, keeps its accounts apart from others'.  The
 * account's text says how it stands: auth:NAME, ADDRESS or ADDRESS|NETWORK, or
 * a client.
 */
struct tide_hash tide_account_key(const struct tide_hash_key *,
    const char *profile, uint32_t kind, const void *account, size_t);

/* Thousandths the account has now.  Writes nothing: for tools. */
uint64_t tide_tokens_level(const struct tide_tokens *, struct tide_hash key,
    const struct tide_allowance *, uint64_t now_ms);

/*
 * All accounts that are not full, as records; *bytes is to be freed.  Workers
 * may go on.
 */
int tide_tokens_save(const struct tide_tokens *, uint64_t now_ms, char **bytes,
    size_t *size, struct tide_err *);

/*
 * Charge the accounts of a table that was saved so long ago, as much as they
 * would still lack by now; how many.  Workers may have taken already: that is
 * added up.  The table may have any size: a record does not say in which of
 * two halves of a larger one its account belongs, and is put into both; the
 * one that nobody asks for falls free when it is full.
 */
unsigned tide_tokens_load(const struct tide_tokens *, const char *bytes,
    size_t size, uint64_t now_ms, uint64_t elapsed_ms);

struct tide_tokens_sweep {
	uint64_t live;	  /* not full again yet */
	uint64_t freed;	  /* full again, given free */
	uint64_t cleared; /* what killed workers left */
	uint64_t mended;  /* full further ahead than could be: clock steps */
};

/*
 * The collector's: look after `n` slots from `first` on and add up what was
 * found.  longest_ms: the largest beta / rho of all limits.  Workers reuse
 * full slots by themselves; only leftovers of the killed need the sweep.
 */
void tide_tokens_sweep(const struct tide_tokens *, uint64_t first, uint64_t n,
    uint64_t now_ms, uint64_t longest_ms, struct tide_tokens_sweep *);

#endif
