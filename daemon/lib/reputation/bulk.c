/*
 * bulk - generations of counts.  The protocol stands in bulk.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tidemark/base/hash.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define LOOKS 8u /* at a count that turns meanwhile */

/* ---- places ------------------------------------------------------------ */

static size_t
lines(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Cells first, so that a view of a copy needs no number of slots. */
size_t
tide_bulk_own_bytes(const struct tide_counting_shape *s, uint32_t slots)
{
	return 2 * lines(tide_counting_bytes(s)) +
	    tide_counting_books_bytes(slots);
}

size_t
tide_bulk_neighbours_bytes(const struct tide_counting_shape *s)
{
	return lines(sizeof(struct tide_bulk_head)) +
	    2 * lines(tide_counting_bytes(s));
}

void
tide_bulk_attach(struct tide_bulk *b, const struct tide_counting_shape *shape,
    uint32_t slots, void *own, void *neighbours)
{
	size_t array = lines(tide_counting_bytes(shape));
	char *mine = own, *theirs = neighbours;
	unsigned i;

	b->head = neighbours;
	theirs += lines(sizeof *b->head);
	for (i = 0; i < 2; i++) {
		b->own[i] = (tide_counting_word *)(void *)(mine + i * array);
		b->neighbours[i] =
		    (tide_counting_word *)(void *)(theirs + i * array);
	}
	tide_counting_attach(&b->filter, shape, slots, mine + 2 * array);
}

/* ---- counting ---------------------------------------------------------- */

static uint64_t
generation(uint64_t turn)
{
	return turn >> 1;
}

static bool
before_counts(uint64_t turn)
{
	return (turn & 1) != 0;
}

static uint32_t
note(const struct tide_bulk *b, struct tide_bulk_count *c, uint32_t count)
{
	if (count >= b->filter.most)
		c->more = true;
	return count;
}

/* All but the own count of the current generation. */
static void
add_up(const struct tide_bulk *b, const struct tide_counting_key *key,
    uint64_t turn, struct tide_bulk_count *c)
{
	const struct tide_counting *f = &b->filter;
	unsigned now = generation(turn) % 2, before = 1 - now;

	c->most = f->most;
	c->neighbours =
	    note(b, c, tide_counting_count(f, b->neighbours[now], key));
	c->since_ms = atomic_load(&b->head->since_ms[now]);
	if (!before_counts(turn))
		return;
	c->own += note(b, c, tide_counting_count(f, b->own[before], key));
	c->neighbours +=
	    note(b, c, tide_counting_count(f, b->neighbours[before], key));
	if (atomic_load(&b->head->since_ms[before]) != 0)
		c->since_ms = atomic_load(&b->head->since_ms[before]);
}

bool
tide_bulk_insert(const struct tide_bulk *b, tide_epoch *mine, tide_epoch *now,
    uint32_t slot, struct tide_hash hash, uint32_t copies,
    struct tide_bulk_count *c)
{
	struct tide_counting_key key;
	uint64_t turn;

	memset(c, 0, sizeof *c);
	tide_counting_find(&b->filter, hash, &key);
	tide_epoch_enter(mine, now);		   /* W */
	turn = tide_epoch_current(&b->head->turn); /* W */
	if (turn != 0) {
		c->own = note(b, c,
		    tide_counting_insert(&b->filter,
			b->own[generation(turn) % 2], &key, slot, copies));
		add_up(b, &key, turn, c);
	}
	tide_epoch_leave(mine); /* W */
	return turn != 0;
}

/* Who cannot announce an epoch looks again whether it is still the same. */
bool
tide_bulk_look(
    const struct tide_bulk *b, struct tide_hash hash, struct tide_bulk_count *c)
{
	struct tide_counting_key key;
	uint64_t turn;
	unsigned i;

	tide_counting_find(&b->filter, hash, &key);
	for (i = 0; i < LOOKS; i++) {
		memset(c, 0, sizeof *c);
		turn = atomic_load(&b->head->turn);
		if (turn == 0)
			return false;
		c->own = note(b, c,
		    tide_counting_count(
			&b->filter, b->own[generation(turn) % 2], &key));
		add_up(b, &key, turn, c);
		if (atomic_load(&b->head->turn) == turn)
			return true;
	}
	return true;
}

const char *
tide_bulk_show(const struct tide_bulk_count *c, char text[TIDE_BULK_TEXT])
{
	(void)snprintf(text, TIDE_BULK_TEXT, c->more ? "%u+" : "%u",
	    c->more ? c->most : tide_bulk_total(c));
	return text;
}

/* ---- turning ----------------------------------------------------------- */

void
tide_bulk_open(struct tide_bulk *b, uint64_t now_ms)
{
	if (atomic_load(&b->head->turn) != 0)
		return;
	atomic_store(&b->head->since_ms[1], now_ms);
	atomic_store(&b->head->turn, 1 << 1 | 1);
}

static void
clear(const struct tide_bulk *b, unsigned which)
{
	uint64_t i, n = tide_counting_bytes(&b->filter.shape) / 8;

	for (i = 0; i < n; i++) { /* T3 */
		atomic_store_explicit(
		    &b->own[which][i], 0, memory_order_relaxed);
		atomic_store_explicit(
		    &b->neighbours[which][i], 0, memory_order_relaxed);
	}
}

bool
tide_bulk_round(struct tide_bulk *b, const struct tide_workers *workers,
    struct tide_bulk_turn *t, uint64_t now_ms, uint64_t span_ms)
{
	uint64_t turn = atomic_load(&b->head->turn), g = generation(turn);

	if (turn == 0)
		return false;
	if (!t->waiting) {
		if (before_counts(turn) && span_ms > 0 &&
		    now_ms / span_ms <=
			atomic_load(&b->head->since_ms[g % 2]) / span_ms)
			return false;
		t->target = tide_epoch_replace(
		    &b->head->turn, g << 1, workers->epoch); /* T1 */
		t->waiting = true;
	}
	if (!tide_workers_passed(workers, t->target)) /* T2 */
		return false;
	clear(b, (g + 1) % 2); /* T3: the other one than g */
	atomic_store(&b->head->since_ms[(g + 1) % 2], now_ms);
	atomic_store(&b->head->turn, (g + 1) << 1 | 1); /* T4 */
	t->waiting = false;
	return true;
}

/*
 * Each generation stays what it was: the old current one is number 1, the one
 * before it number 0.  No worker counts here until turn says so.  Neighbours'
 * sums are not carried: the archive has them, part by part (share_archive.h).
 */
void
tide_bulk_carry(struct tide_bulk *b, const struct tide_bulk *from)
{
	uint64_t turn = atomic_load(&from->head->turn), g = generation(turn);
	const struct tide_counting_shape *s = &b->filter.shape;
	unsigned i;

	if (turn == 0 || atomic_load(&b->head->turn) != 0)
		return;
	assert(memcmp(s, &from->filter.shape, sizeof *s) == 0);
	for (i = 0; i < 2; i++) {
		unsigned old = (g + 1 - i) % 2;

		if (i == 0 && !before_counts(turn))
			continue;
		tide_counting_sum(s, b->own[i], from->own[old]);
		atomic_store(&b->head->since_ms[i],
		    atomic_load(&from->head->since_ms[old]));
	}
	atomic_store(&b->head->turn, 1 << 1 | 1);
}

bool
tide_bulk_now(const struct tide_bulk *b, struct tide_bulk_generations *now)
{
	uint64_t turn = atomic_load(&b->head->turn);

	now->current = generation(turn) % 2;
	now->before_counts = before_counts(turn);
	return turn != 0;
}
