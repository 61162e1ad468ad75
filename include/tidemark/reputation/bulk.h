/*
 * bulk - how many copies of a message were seen: two generations of the
 * counting filter, and beside them what neighbours have counted.
 *
 * Region bulk is written by workers: the own cells, and the books in which
 * inserters register.  Region neighbours is the collector's, and workers map
 * it read-only: which generation it is, and the neighbours' sums.
 *
 * A count is the own one plus the neighbours', of this generation and the one
 * before.  The least cell is taken of each array by itself: the least of the
 * sums would be larger, as the same cell is seldom the least in all of them.
 * The two generations are added, not compared: whatever was seen within the
 * last span is counted, also where it came half before a turn.
 *
 * PROTOCOL turn: generation g becomes the one before, its predecessor goes.
 *  T1 turn = g << 1 (nothing before g counts)       tide_epoch_replace
 *  T2 wait until every slot has passed              tide_epoch_passed
 *  T3 zero the arrays of g - 1                      relaxed
 *  T4 since = now; turn = (g + 1) << 1 | 1          seq_cst
 *  W  announce the epoch, load turn, insert into g % 2, add up, leave
 * Why:   two arrays do where a spare one would be a third: from T1 to T4 g
 *        counts alone, and g has lasted a whole span by then.  T2 also waits
 *        for whoever took g - 1 for current before the last turn.  After T4
 *        somebody may still insert into g: it is counted all the same.
 *        Cells only ever grow while anybody may use them: taking away in
 *        place would make counts fall short.
 * Crash: of the collector before T4: turn says that nothing before g counts,
 *        and its successor starts again at T1.  Of a worker: epoch.h for its
 *        epoch, counting.h for its registration.
 * Test:  tests/daemon/lib/reputation/t_bulk.c, tests/race/t_bulk.c
 */
#ifndef TIDEMARK_BULK_H
#define TIDEMARK_BULK_H

#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

struct tide_bulk_head {
	_Atomic uint64_t turn;	      /* generation << 1 | 1; 0: none yet */
	_Atomic uint64_t since_ms[2]; /* wall; of generation n at n % 2 */
};

/* A process's view. */
struct tide_bulk {
	struct tide_counting filter;
	struct tide_bulk_head *head;
	tide_counting_word *own[2], *neighbours[2];
};

size_t tide_bulk_own_bytes(const struct tide_counting_shape *, uint32_t slots);
size_t tide_bulk_neighbours_bytes(const struct tide_counting_shape *);

void tide_bulk_attach(struct tide_bulk *, const struct tide_counting_shape *,
    uint32_t slots, void *own, void *neighbours);

struct tide_bulk_count {
	uint32_t own, neighbours;
	bool more;	   /* a cell is at its most: at least so many */
	uint32_t most;	   /* that one cell counts to */
	uint64_t since_ms; /* wall: what came before is not counted */
};

/* "27"; "31+" where it can only be said that there are more. */
#define TIDE_BULK_TEXT 16
const char *
tide_bulk_show(const struct tide_bulk_count *, char text[TIDE_BULK_TEXT]);

static inline uint32_t
tide_bulk_total(const struct tide_bulk_count *c)
{
	return c->own + c->neighbours;
}

/*
 * A worker's: count the copies, and say how many that makes.  False: there is
 * no generation yet.
 */
bool
tide_bulk_insert(const struct tide_bulk *, tide_epoch *mine, tide_epoch *now,
    uint32_t slot, struct tide_hash, uint32_t copies, struct tide_bulk_count *);

/* Anybody's: how many are there?  Writes nothing. */
bool tide_bulk_look(
    const struct tide_bulk *, struct tide_hash, struct tide_bulk_count *);

/* ---- the collector's --------------------------------------------------- */

/* Start the first generation, if there is none. */
void tide_bulk_open(struct tide_bulk *, uint64_t now_ms);

/* What another map, or a checkpoint, knew: before tide_bulk_open(). */
void tide_bulk_carry(struct tide_bulk *, const struct tide_bulk *from);

/* Which arrays are which.  In the thread that turns, or under its lock. */
struct tide_bulk_generations {
	unsigned current; /* of the two arrays */
	bool before_counts;
};
bool tide_bulk_now(const struct tide_bulk *, struct tide_bulk_generations *);

struct tide_bulk_turn {
	bool waiting; /* at T2 */
	uint64_t target;
};

/*
 * One step, never waiting.  True: a new generation has begun.  Under one lock
 * with whatever else writes to the neighbours' arrays.  Generations begin at
 * whole multiples of the span since 1970, so that all servers turn together:
 * what neighbours exchange belongs to a generation (share.h).
 */
bool tide_bulk_round(struct tide_bulk *, const struct tide_workers *,
    struct tide_bulk_turn *, uint64_t now_ms, uint64_t span_ms);

#endif
