/*
 * epoch - one grace-period protocol for everything the collector takes away
 * while workers may still be using it: windows, and later buckets, lists and
 * generations of filters.  Stated here once, used everywhere.
 *
 * PROTOCOL epoch: the collector retires what workers still read or fill.
 *  W0 e = epoch                        acquire
 *  W1 slot.epoch = e                   seq_cst   (announce)
 *  W2 load what is current             seq_cst   (tide_epoch_current)
 *  W3 the burst: read it, set its bits relaxed
 *  W4 slot.epoch = 0                   release   (leave)
 *  C1 current = its successor          seq_cst   (tide_epoch_replace)
 *  C2 target = epoch++                 seq_cst
 *  C3 load every slot                  seq_cst;  quiet when each is 0 or
 *                                      greater than target, or the slot is
 *                                      FREE (slots.c)
 *  C4 once quiet, the old one is the collector's alone
 * Why:   W1/W2 against C1/C3 is store buffering.  In the single order of the
 *        seq_cst operations either C1 precedes W2, and the worker finds the
 *        successor, or W1 precedes C3, and the collector sees the worker
 *        inside.  With release and acquire instead both can miss each other
 *        (the store waits in the store buffer while the load is served): the
 *        collector takes the window, the worker fills it, the mail's mark is
 *        lost.  W4 with C3: who is seen outside has finished its burst, and
 *        its relaxed writes are visible.
 *        A slot that shows an epoch greater than target read it at W0 from
 *        C2 or a later one: C1 happens before its W2, which finds the
 *        successor.  An old epoch at W0 only makes the collector wait.
 * Crash: a worker killed inside leaves its slot announced; the acceptor,
 *        which has reaped the process, stores 0 (tide_epoch_bury).  Nobody
 *        waits: C3 is asked again at the collector's next round.  Only the
 *        acceptor buries, and only before it gives the slot to another: a
 *        second undertaker could bury a living successor.
 * Test:  tests/race/t_epoch.c, which also shows the weak form losing.
 */
#ifndef TIDEMARK_EPOCH_H
#define TIDEMARK_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For the test that weakens the protocol, and for it alone. */
#ifndef TIDE_EPOCH_STORE
#define TIDE_EPOCH_STORE memory_order_seq_cst
#define TIDE_EPOCH_LOAD memory_order_seq_cst
#endif

typedef _Atomic uint64_t tide_epoch; /* 0: outside */

static inline void
tide_epoch_enter(tide_epoch *mine, tide_epoch *now)
{
	uint64_t e = atomic_load_explicit(now, memory_order_acquire); /* W0 */

	atomic_store_explicit(mine, e, TIDE_EPOCH_STORE); /* W1 */
}

static inline uint64_t
tide_epoch_current(_Atomic uint64_t *current)
{
	return atomic_load_explicit(current, TIDE_EPOCH_LOAD); /* W2 */
}

static inline void
tide_epoch_leave(tide_epoch *mine)
{
	atomic_store_explicit(mine, 0, memory_order_release); /* W4 */
}

/* C1 and C2: publish the successor; what tide_epoch_quiet() has to pass. */
static inline uint64_t
tide_epoch_replace(
    _Atomic uint64_t *current, uint64_t successor, tide_epoch *now)
{
	atomic_store_explicit(current, successor, TIDE_EPOCH_STORE);	/* C1 */
	return atomic_fetch_add_explicit(now, 1, memory_order_seq_cst); /* C2 */
}

/* C3 for one slot. */
static inline bool
tide_epoch_passed(tide_epoch *slot, uint64_t target)
{
	uint64_t e = atomic_load_explicit(slot, TIDE_EPOCH_LOAD); /* C3 */

	return e == 0 || e > target;
}

/* The acceptor's, for a worker it knows to be dead. */
static inline void
tide_epoch_bury(tide_epoch *slot)
{
	atomic_store_explicit(slot, 0, memory_order_seq_cst);
}

#endif
