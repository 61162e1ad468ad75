/*
 * sealer_clock - between sealer.c and sealer_clock.c: the times under which a
 * window is found.
 */
#ifndef SEALER_CLOCK_H
#define SEALER_CLOCK_H

#include "tidemark/archive/sealer.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/control.h"

/* The clocks were read: what comes next is held against it. */
void tide_sealer_clock_read(struct tide_sealer *, struct tide_moment now);

/* Since they were read last; nothing, if they never were. */
struct tide_clock_change
tide_sealer_clock_change(const struct tide_sealer *, struct tide_moment now);

/* Off by little, or by nothing: the open window has seen that as well. */
void
tide_sealer_clock_widen(struct tide_sealer *, struct tide_window_times *open,
    struct tide_moment now, const struct tide_clock_change *);

/* It was set: mail of another time goes into the open window. */
void tide_sealer_clock_strays(struct tide_sealer *, struct tide_moment now,
    const struct tide_clock_change *);

/* Store a lapse over that time. */
int tide_sealer_clock_tell(struct tide_sealer *, struct tide_err *);

#endif
