/*
 * counting - how often something was seen: a Bloom filter whose cells count.
 *
 * A key has k cells; its count is the least of them.  An insert raises only
 * the cells that hold this least count (the others count somebody else, too),
 * and a cell that two of the k positions share is raised once.  Cells of a
 * few bits lie packed in 64-bit words and stay at their most.  The count may
 * be too high, never too low.
 *
 * Written by every worker, read by everyone.  Never blocks.  Nothing is ever
 * taken away in place: counts age by turning to another array (bulk.h).
 *
 * Where a key lies (tide_counting_find) and what happens there
 * (tide_counting_insert) are apart, so that other hashes can be put before
 * the same filter.
 *
 * PROTOCOL counting: many inserters, one of whom may die anywhere.
 *  I0 desk[me] = the key's stripe          relaxed
 *  I1 before[c] = each of the key's cells  acquire
 *  I2 others = fetch_or(my word of the stripe, my bit), then load the
 *     stripe's other words                 seq_cst
 *  I3 others there: least is beyond any count; alone: least = the least of
 *     the cells, read again                acquire
 *  I4 before[c] <= least: cell += n, saturating; else cell += what is missing
 *     between before[c] and least + n, if anything     CAS, acq_rel
 *  I5 clear my bit (release); I6 desk[me] = 0 (release)
 *  B1 the acceptor, for a dead worker: clear its bit of the stripe at its
 *     desk; B2 desk = 0
 * Why:   the naive form (raise what one reads as least) undercounts: of two
 *        inserts at once the second reads the first one's half-raised cells,
 *        takes the raised ones for somebody else's and skips them.
 *        Claim: every cell of a key is at least the copies inserted so far
 *        (or at its most).  Take a cell c and the last insert I that raised
 *        it by less than its n, s short.  It found itself alone: each insert
 *        of the same key (which has the same stripe) that came to I2 before
 *        it has left at I5, or is dead and done no more.  These make up K
 *        copies, and by the claim least >= K at I3.  So before[c] >= K + s,
 *        and that was read before I2 (the release half of the fetch_or).
 *        Whoever comes to I2 after I raises c after that (the acquire half),
 *        in full: none of it is in before[c].  Hence c >= before[c] + (n - s)
 *        + all that came later >= K + n + all that came later.
 *        Before and after are those of one word's modification order, or,
 *        for inserters of different words, of the single order of the
 *        seq_cst operations: of two of them, one at least sees the other.
 *        I1 after I2 would break it: before[c] could hold what an inserter
 *        has raised that does not know of us.
 *        Alone all the way (the usual case) it is the sequential algorithm:
 *        cell = max(cell, least + n).
 * Crash: cells already raised stay raised: too high by one copy, at most.
 *        Until B1 the dead one's bit makes others raise all cells: too high,
 *        again.  I0 before I2 and I6 after I5: who has a bit set has its
 *        stripe on its desk, so B1 looks at one word instead of all.
 * Test:  tests/race/t_counting.c, which shows the naive form losing;
 *        tests/model/counting.pml.
 */
#ifndef TIDEMARK_COUNTING_H
#define TIDEMARK_COUNTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/hash.h"

#define TIDE_COUNTING_POSITIONS 16u
#define TIDE_COUNTING_BITS 8u		 /* of a cell, at most */
#define TIDE_COUNTING_CELLS (1ull << 36) /* beyond any use */
#define TIDE_COUNTING_STRIPES 4096u

struct tide_counting_shape {
	uint64_t cells;	    /* m */
	uint64_t capacity;  /* n: keys at which p is reached */
	uint32_t positions; /* k */
	uint32_t bits;	    /* of a cell */
};

/* m and k for n keys, of which a share of at most p counts too high. */
struct tide_counting_shape
tide_counting_size(uint64_t n, double p, uint32_t bits);

/* Bytes another process wrote: is this a shape we could have made? */
bool tide_counting_sane(const struct tide_counting_shape *);

typedef _Atomic uint64_t tide_counting_word;

/* Of one array of cells. */
size_t tide_counting_bytes(const struct tide_counting_shape *);

/* Where inserters register; shared by all arrays of a filter. */
struct tide_counting_desk {
	_Alignas(64) _Atomic uint32_t stripe; /* + 1; 0: at none */
};

size_t tide_counting_books_bytes(uint32_t slots);

/* A process's view. */
struct tide_counting {
	struct tide_counting_shape shape;
	uint32_t slots;
	uint32_t cells_a_word;
	uint32_t most; /* that a cell counts to */
	uint32_t words_a_stripe;
	uint64_t inverse; /* of cells_a_word, times 2^64 */
	struct tide_counting_desk *desk;
	_Atomic uint64_t *stripe;
};

/* books: tide_counting_books_bytes(slots), zeroed once, aligned to 64. */
void tide_counting_attach(struct tide_counting *,
    const struct tide_counting_shape *, uint32_t slots, void *books);

/* Where a key lies: cells, none of them twice, and its stripe. */
struct tide_counting_key {
	uint32_t cells;
	uint32_t stripe;
	uint64_t at[TIDE_COUNTING_POSITIONS]; /* word << 6 | first bit */
};

void tide_counting_find(
    const struct tide_counting *, struct tide_hash, struct tide_counting_key *);

/*
 * A cell's word and first bit.  cell / cells_a_word by multiplication: exact,
 * as a cell has 36 bits and the inverse errs by less than 2^-58 of a word.
 */
static inline uint64_t
tide_counting_at(const struct tide_counting *f, uint64_t cell)
{
	uint64_t word = (uint64_t)((unsigned __int128)cell * f->inverse >> 64);

	return word << 6 | (cell - word * f->cells_a_word) * f->shape.bits;
}

/* One more cell, unless it has it already. */
static inline void
tide_counting_key_add(
    const struct tide_counting *f, struct tide_counting_key *key, uint64_t cell)
{
	uint64_t at = tide_counting_at(f, cell);
	uint32_t i;

	for (i = 0; i < key->cells; i++)
		if (key->at[i] == at)
			return;
	if (key->cells < TIDE_COUNTING_POSITIONS)
		key->at[key->cells++] = at;
}

/*
 * Count n more copies; what the count is with them.  Slot: the caller's own,
 * which nobody else uses at the same time.
 */
uint32_t
tide_counting_insert(const struct tide_counting *, tide_counting_word *cells,
    const struct tide_counting_key *, uint32_t slot, uint32_t n);

uint32_t tide_counting_count(const struct tide_counting *,
    const tide_counting_word *cells, const struct tide_counting_key *);

uint32_t tide_counting_cell(const struct tide_counting *,
    const tide_counting_word *cells, uint64_t cell);

/* For a worker that is known to be dead, before its slot is given away. */
void tide_counting_bury(const struct tide_counting *, uint32_t slot);

/*
 * Cell by cell: to += from, saturating.  `to` has one writer (an array that
 * inserters raise must not be added to: see "I1 after I2").
 */
void tide_counting_sum(const struct tide_counting_shape *,
    tide_counting_word *to, const tide_counting_word *from);

/* The same for one word. */
uint64_t tide_counting_sum_word(uint32_t bits, uint64_t a, uint64_t b);

/* Cell by cell: to = the larger of the two.  One writer, again. */
void tide_counting_raise(const struct tide_counting_shape *,
    tide_counting_word *to, const tide_counting_word *from);
uint64_t tide_counting_max_word(uint32_t bits, uint64_t a, uint64_t b);

/* How many cells are not 0. */
uint64_t tide_counting_used(
    const struct tide_counting_shape *, const tide_counting_word *cells);

/* The share of absent keys that would count more than 0. */
double tide_counting_error(const struct tide_counting_shape *, uint64_t used);

#endif
