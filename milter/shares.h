/*
 * shares - which listener may have one more worker: pure functions.
 *
 * Each profile's socket and each policy service has some of max_workers kept
 * for it, which no other may take, and a most that it may take itself: whoever
 * fills one up, from outside or by mistake, leaves the others served.
 */
#ifndef MILTER_SHARES_H
#define MILTER_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct share {
	uint32_t reserved; /* kept for it */
	uint32_t most;
	uint32_t busy; /* workers it has now */
};

/*
 * Settle shares of max_workers.  What is 0 is ours to choose: together a
 * quarter of what the others leave is kept, but one for each where that can be;
 * the most is all but what is kept for others.
 */
void shares_plan(struct share *, unsigned n, uint32_t max_workers);

/* May it have one more, of `room' that are free? */
bool
share_has_room(const struct share *, unsigned n, unsigned which, uint32_t room);

#endif
