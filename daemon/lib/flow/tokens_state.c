/*
 * tokens state - accounts as records, to be kept over a reboot or carried to
 * another table.
 *
 * A record has what the slot has - a fingerprint, and its block - and how far
 * from full the account was, since the clock of the next boot is another.
 */
#include <stdlib.h>
#include <string.h>

#include "tokens_table.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/tokens.h"

#define TRIES 64u

struct record {
	uint64_t slot; /* in a table of this capacity: */
	uint64_t capacity;
	uint64_t print;
	uint64_t missing; /* ticks until full */
};

/* ---- saving ------------------------------------------------------------ */

static bool
describe(
    const struct tide_tokens *t, uint64_t i, uint64_t now, struct record *r)
{
	struct tide_tokens_slot *slot = &t->slots[i];
	uint64_t tag = atomic_load_explicit(&slot->tag, memory_order_seq_cst);
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
	int64_t ahead = ticks_ahead(word_full(word), now);

	*r = (struct record){ .slot = i,
		.capacity = t->capacity,
		.print = tag & PRINT_MASK,
		.missing = (uint64_t)ahead };
	return state_of(tag) == LIVE && condition_of(tag, word) == OPEN &&
	    ahead > 0;
}

int
tide_tokens_save(const struct tide_tokens *t, uint64_t now_ms, char **bytes,
    size_t *size, struct tide_err *err)
{
	size_t n = 0, room = 64;
	struct record *all = malloc(room * sizeof *all), *more;
	uint64_t i;

	for (i = 0; all != NULL && i < t->capacity; i++) {
		if (!describe(t, i, ticks(now_ms), &all[n]) || ++n < room)
			continue;
		room *= 2;
		more = realloc(all, room * sizeof *all);
		if (more == NULL)
			free(all);
		all = more;
	}
	*bytes = (char *)all;
	*size = n * sizeof *all;
	return all != NULL ? 0 : tide_err_errno(err, "saving the allowances");
}

/* ---- loading ----------------------------------------------------------- */

/* Any home in the block will do: see tide_tokens_table_open_block(). */
static struct tide_hash
key_of(const struct record *r, uint64_t block)
{
	unsigned place = (unsigned)(r->slot % TIDE_TOKENS_BLOCK);
	struct tide_hash key = { .high = r->print,
		.low = block | (uint64_t)place / 4 << 60 };

	return tide_standing_set(
	    key, tide_standing_at(place, TIDE_TOKENS_BLOCK));
}

static bool
charge(const struct tide_tokens *t, struct tide_hash key, uint64_t now,
    uint64_t missing)
{
	struct tokens_hold hold;
	int64_t more;
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		if (!tide_tokens_table_claim(t, key, now, &hold))
			return false;
		more = hold.fresh ? 0 : ticks_ahead(word_full(hold.word), now);
		if (tide_tokens_table_store(
			&hold, now + missing + (more > 0 ? (uint64_t)more : 0)))
			return true;
	}
	return false;
}

static bool
is_record(const struct record *r)
{
	return r->capacity >= TIDE_TOKENS_BLOCK &&
	    (r->capacity & (r->capacity - 1)) == 0 && r->slot < r->capacity &&
	    r->print <= PRINT_MASK && r->missing <= DEPTH_MAX;
}

static bool
load_one(const struct tide_tokens *t, const struct record *r, uint64_t now,
    uint64_t elapsed)
{
	uint64_t blocks = t->capacity / TIDE_TOKENS_BLOCK;
	uint64_t step = r->capacity / TIDE_TOKENS_BLOCK;
	uint64_t block = r->slot / TIDE_TOKENS_BLOCK % blocks;
	bool charged = false;

	if (!is_record(r) || r->missing <= elapsed)
		return false;
	for (; block < blocks; block += step) {
		struct tide_hash key = key_of(r, block);

		tide_tokens_table_open_block(t, block);
		charged |= charge(t, key, now, r->missing - elapsed) ||
		    charge(t, tide_standing_set(key, TIDE_STANDING_ACCOUNT),
			now, r->missing - elapsed);
	}
	return charged;
}

unsigned
tide_tokens_load(const struct tide_tokens *t, const char *bytes, size_t size,
    uint64_t now_ms, uint64_t elapsed_ms)
{
	uint64_t elapsed = elapsed_ms > DEPTH_MAX >> TICK_BITS
	    ? DEPTH_MAX
	    : elapsed_ms << TICK_BITS;
	unsigned taken = 0;
	struct record r;
	size_t at;

	for (at = 0; at + sizeof r <= size; at += sizeof r) {
		memcpy(&r, bytes + at, sizeof r);
		taken += load_one(t, &r, ticks(now_ms), elapsed);
	}
	return taken;
}
