/*
 * tokens - allowances in ticks: what is missing until full, what a cost adds
 * to it.  Who stands where is tokens_table.c's.
 */
#include <string.h>

#include "tokens_table.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define TRIES 4096u /* each lost try is another's success */

struct tide_hash
tide_tokens_key(const struct tide_hash_key *key, uint32_t limit,
    const void *account, size_t size)
{
	struct tide_hash h = tide_hash(key, account, size);
	uint64_t both[3] = { limit, h.low, h.high };

	return tide_standing_set(
	    tide_hash(key, both, sizeof both), TIDE_STANDING_ACCOUNT);
}

/* Ticks that a cost within the burst adds. */
static uint64_t
charge_of(const struct tide_allowance *a, uint64_t cost)
{
	return (cost * a->token + TIDE_TOKEN - 1) / TIDE_TOKEN;
}

/*
 * Ticks missing until full.  Further ahead than empty by more than anyone's
 * clock may be stale: the clock has stepped back, or the limit has shrunk;
 * *mend, and it counts as empty.
 */
static uint64_t
missing(const struct tide_allowance *a, const struct tokens_hold *hold,
    uint64_t now, bool *mend)
{
	int64_t ahead = ticks_ahead(word_full(hold->word), now);

	*mend = false;
	if (hold->fresh || ahead <= 0)
		return 0;
	*mend = ahead > (int64_t)a->depth + STALE_TICKS;
	return *mend ? a->depth : (uint64_t)ahead;
}

static uint64_t
level(const struct tide_allowance *a, uint64_t gone)
{
	return gone >= a->depth ? 0 : (a->depth - gone) * TIDE_TOKEN / a->token;
}

static enum tide_tokens_result
refuse(struct tide_take *take, uint64_t gone, uint64_t over)
{
	const uint64_t ms = 1u << TICK_BITS;

	take->left = level(&take->allowance, gone);
	take->retry_after_ms = (over + ms - 1) / ms;
	return TIDE_TOKENS_SHORT;
}

/*
 * The message's own bucket: it is filled beside the account's, with the same
 * charge, and begins anew if the account was forgotten meanwhile.
 */
static void
note_paid(struct tide_take *take, const struct tokens_hold *hold, uint64_t now)
{
	int64_t ahead = ticks_ahead(take->paid_until, now);
	bool more = take->paid_tag == hold->tag && ahead > 0;

	take->paid_until = ((more ? take->paid_until : now) +
			       charge_of(&take->allowance, take->cost)) &
	    FULL_MASK;
	take->paid_tag = hold->tag;
}

/* Ticks of its charge that have not come back yet. */
static uint64_t
still_paid(const struct tide_take *take, uint64_t now)
{
	int64_t ahead = ticks_ahead(take->paid_until, now);
	uint64_t charge = charge_of(&take->allowance, take->cost);

	if (ahead <= 0 || take->paid_tag == 0)
		return 0;
	return (uint64_t)ahead < charge ? (uint64_t)ahead : charge;
}

/* One try on the slot as it was seen; false: it has changed, look again. */
static bool
try_take(struct tide_take *take, const struct tokens_hold *hold, uint64_t now)
{
	const struct tide_allowance *a = &take->allowance;
	bool mend;
	uint64_t gone = missing(a, hold, now, &mend);
	uint64_t after = gone + charge_of(a, take->cost);

	if (after > a->depth) {
		take->result = refuse(take, gone, after - a->depth);
		return !mend || tide_tokens_table_store(hold, now + a->depth);
	}
	take->result = TIDE_TOKENS_TAKEN;
	take->left = level(a, after);
	if (!tide_tokens_table_store(hold, now + after))
		return false;
	note_paid(take, hold, now);
	return true;
}

static enum tide_tokens_result
take_some(const struct tide_tokens *t, struct tide_take *take, uint64_t now)
{
	struct tokens_hold hold;
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		if (!tide_tokens_table_claim(t, take->key, now, &hold))
			break;
		if (try_take(take, &hold, now))
			return take->result;
	}
	take->left = take->retry_after_ms = 0;
	return take->result = TIDE_TOKENS_UNCOUNTED;
}

enum tide_tokens_result
tide_tokens_take(
    const struct tide_tokens *t, struct tide_take *take, uint64_t now_ms)
{
	const struct tide_allowance *a = &take->allowance;

	take->retry_after_ms = 0;
	if (take->cost != 0 && take->cost <= a->burst * TIDE_TOKEN)
		return take_some(t, take, ticks(now_ms));
	take->left = tide_tokens_level(t, take->key, a, now_ms);
	if (take->cost == 0)
		return take->result = TIDE_TOKENS_TAKEN;
	take->retry_after_ms = TIDE_TOKENS_NEVER;
	return take->result = TIDE_TOKENS_SHORT;
}

enum tide_tokens_result
tide_tokens_take_all(const struct tide_tokens *t, struct tide_take *take,
    size_t n, uint64_t now_ms, size_t *refused)
{
	enum tide_tokens_result all = TIDE_TOKENS_TAKEN, one;
	size_t i;

	for (i = 0; i < n; i++) {
		one = tide_tokens_take(t, &take[i], now_ms);
		if (one == TIDE_TOKENS_SHORT)
			break;
		if (one != TIDE_TOKENS_TAKEN)
			all = one;
	}
	if (i == n)
		return all;
	if (refused != NULL)
		*refused = i;
	while (i-- > 0)
		tide_tokens_give_back(t, &take[i], now_ms);
	return TIDE_TOKENS_SHORT;
}

static enum tide_standing
standing_of(const char *account, size_t length)
{
	if (length > 5 && memcmp(account, "auth:", 5) == 0)
		return TIDE_STANDING_ACCOUNT;
	return memchr(account, '@', length) != NULL ? TIDE_STANDING_SENDER
						    : TIDE_STANDING_CLIENT;
}

struct tide_hash
tide_account_key(const struct tide_hash_key *secret, const char *profile,
    uint32_t kind, const void *account, size_t length)
{
	uint32_t limit = (uint32_t)tide_hash_check(profile, strlen(profile));

	return tide_standing_set(
	    tide_tokens_key(secret, limit + kind, account, length),
	    standing_of(account, length));
}

void
tide_tokens_give_back(
    const struct tide_tokens *t, struct tide_take *take, uint64_t now_ms)
{
	const struct tide_allowance *a = &take->allowance;
	uint64_t now = ticks(now_ms), gone, back;
	struct tokens_hold hold;
	unsigned i;
	bool mend;

	if (take->result != TIDE_TOKENS_TAKEN || a->burst == 0 ||
	    take->cost > a->burst * TIDE_TOKEN)
		return;
	back = still_paid(take, now);
	for (i = 0; back > 0 && i < TRIES; i++) {
		if (!tide_tokens_table_find(t, take->key, &hold) ||
		    hold.tag != take->paid_tag)
			return; /* full since, or forgotten */
		gone = missing(a, &hold, now, &mend);
		if (gone == 0 ||
		    tide_tokens_table_store(
			&hold, now + (gone > back ? gone - back : 0)))
			break;
	}
	take->paid_until -= back;
	if (ticks_ahead(take->paid_until, now) <= 0)
		take->paid_tag = 0; /* nothing, should the clock step back */
}

uint64_t
tide_tokens_level(const struct tide_tokens *t, struct tide_hash key,
    const struct tide_allowance *a, uint64_t now_ms)
{
	struct tokens_hold hold;
	bool mend;

	if (a->burst == 0)
		return 0;
	if (!tide_tokens_table_find(t, key, &hold))
		return a->burst * TIDE_TOKEN;
	return level(a, missing(a, &hold, ticks(now_ms), &mend));
}
