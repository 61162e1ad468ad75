/*
 * quiet - every slot outside, or newer.
 */
#include <time.h>

#include "quiet.h"
#include "tidemark/base/clock.h"

/* Has every worker left what was current before target? */
static bool
is_quiet(struct tide_slot *slots, uint32_t n, uint64_t target)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!tide_epoch_passed(&slots[i].epoch, target))
			return false;
	return true;
}

int
tide_wait_for_quiet(struct tide_slot *slots, uint32_t n, tide_epoch *now,
    uint64_t wait_ms, struct tide_err *err)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t target, until = tide_clock_mono_ms() + wait_ms;

	target = atomic_fetch_add_explicit(now, 1, memory_order_seq_cst);
	while (!is_quiet(slots, n, target)) {
		if (tide_clock_mono_ms() >= until)
			return tide_err_set(err,
			    "a worker still reads what is to be replaced; try "
			    "again");
		(void)nanosleep(&nap, NULL);
	}
	return 0;
}
