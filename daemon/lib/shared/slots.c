/*
 * slots - every slot outside, or newer.
 */
#include <time.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/slots.h"

const char *const tide_stage_name[TIDE_STAGES] = { "none", "connect", "mail",
	"rcpt", "eom", "body" };
_Static_assert(
    TIDE_STAGES == 1 + TIDE_LATENCY_STAGES, "each stage has its latency");

/*
 * C3 for one slot.  An epoch in a slot that is nobody's (left over, or written
 * there by a worker gone wild) would hold everything up for good.  The epoch
 * is read first: a worker announces one only after its slot was taken from
 * FREE, so who sees the epoch of a living worker sees its slot taken, or its
 * burial.
 */
static bool
has_passed(struct tide_slot *slot, uint64_t target)
{
	return tide_epoch_passed(&slot->epoch, target) ||
	    atomic_load_explicit(&slot->state, memory_order_acquire) ==
	    TIDE_SLOT_FREE;
}

bool
tide_workers_passed(const struct tide_workers *w, uint64_t target)
{
	uint32_t i;

	for (i = 0; i < w->count; i++)
		if (!has_passed(&w->slot[i], target))
			return false;
	return true;
}

int
tide_workers_wait(
    const struct tide_workers *w, uint64_t wait_ms, struct tide_err *err)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t target, until = tide_clock_mono_ms() + wait_ms;

	target = atomic_fetch_add_explicit(w->epoch, 1, memory_order_seq_cst);
	while (!tide_workers_passed(w, target)) {
		if (tide_clock_mono_ms() >= until)
			return tide_err_set(err,
			    "a worker still reads what is to be replaced; try "
			    "again");
		(void)nanosleep(&nap, NULL);
	}
	return 0;
}
