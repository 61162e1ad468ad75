/*
 * clock - the two times.  Wall time (milliseconds since 1970) is what people
 * ask about; monotonic time is what pulses and deadlines are measured by, so
 * that a clock that steps harms nothing.
 */
#ifndef TIDEMARK_CLOCK_H
#define TIDEMARK_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tidemark/base/err.h"

static inline uint64_t
tide_clock_read_ms(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline uint64_t
tide_clock_wall_ms(void)
{
	return tide_clock_read_ms(CLOCK_REALTIME);
}

static inline uint64_t
tide_clock_mono_ms(void)
{
	return tide_clock_read_ms(CLOCK_MONOTONIC);
}

/* Monotonic, and goes on while the machine sleeps: what wall time is held
 * against. */
static inline uint64_t
tide_clock_boot_ms(void)
{
	return tide_clock_read_ms(CLOCK_BOOTTIME);
}

static inline uint64_t
tide_clock_mono_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A moment by both clocks; tests make their own. */
struct tide_moment {
	uint64_t wall_ms, boot_ms;
};

static inline struct tide_moment
tide_moment_now(void)
{
	return (
	    struct tide_moment){ tide_clock_wall_ms(), tide_clock_boot_ms() };
}

/*
 * Two readings of the clocks, and the wall times that may have been shown
 * between them: up to `before` if the clock was set at the end, from `after`
 * on if at the beginning.  A clock that was not set shows what it should, but
 * for TIDE_CLOCK_SLACK_MS.
 */
#define TIDE_CLOCK_SLACK_MS 2000
struct tide_clock_change {
	bool stepped;
	uint64_t before_ms, after_ms; /* wall */
};
struct tide_clock_change
tide_clock_between(struct tide_moment then, struct tide_moment now);

/* What began at that time, between them or before: the earliest time that the
 * clock may have shown since, if it was set back by little. */
uint64_t tide_clock_earliest(
    const struct tide_clock_change *, uint64_t began_ms, uint64_t now_ms);

/*
 * The time by which things expire.  It goes on by boot time whatever becomes of
 * the clock: off by little, it follows; set by more, the clock is doubted until
 * it has agreed with itself for an hour.  So nothing is deleted because a clock
 * was wrong for a while.
 */
#define TIDE_CLOCK_CONFIRM_MS (3600 * 1000)
struct tide_settled {
	int64_t lack_ms; /* of boot time, to the settled time */
	bool doubted;
	int64_t other_ms;  /* what the doubted clock has of it */
	uint64_t since_ms; /* boot */
};

enum tide_settling {
	TIDE_CLOCK_AGREES,   /* as ever; or in doubt, as told */
	TIDE_CLOCK_WAS_SET,  /* in doubt from now on */
	TIDE_CLOCK_IS_BACK,  /* as it was before */
	TIDE_CLOCK_CONFIRMED /* for an hour: it is right */
};

/* Begin with that time: the clock's, or one that is known better. */
void tide_settled_begin(
    struct tide_settled *, struct tide_moment now, uint64_t settled_ms);
enum tide_settling
tide_settled_round(struct tide_settled *, struct tide_moment now);

/*
 * So long from now, for pthread_cond_timedwait() on a condition that
 * tide_clock_cond_init() has made: it waits by monotonic time, so that a clock
 * put back does not put the waiter to sleep.
 */
struct timespec tide_clock_deadline(uint64_t ms);
void tide_clock_cond_init(pthread_cond_t *);

/* "2026-11-16T12:37:10Z", from milliseconds; fits in 32 bytes. */
const char *tide_clock_show(uint64_t wall_ms, char *buf, size_t);

/*
 * A moment as people write it: 2026-11-16, 2026-11-16T12:37[:10][Z],
 * "2026-11-16 12:37", 3h (so long before now), @SECONDS, now.  Local time
 * unless it ends in Z.
 */
int tide_clock_parse(
    const char *text, uint64_t now_ms, uint64_t *wall_ms, struct tide_err *);

#endif
