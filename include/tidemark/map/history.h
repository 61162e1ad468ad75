/*
 * history - some counters as they stood at each second of the last minute and
 * at each minute of the last hour, in the map.
 *
 * Written by the collector once a second; read by tools, which see the last
 * hour at once, whenever they are started.  What is kept is where a counter
 * stood, not what was added: the collector needs to remember nothing, and a
 * time in which it was away shows as its average.  The caller passes the time
 * (monotonic).
 *
 * PROTOCOL history: one writer, any number of readers, a row at a time.
 *  P1 stamp = 0                     relaxed
 *  P2 write the values              release
 *  P3 stamp = number of the second  release
 *  R1 load stamp                    acquire; another one than wanted: unknown
 *  R2 read the values               acquire
 *  R3 load stamp                    relaxed; changed: unknown
 * Why:   R1 with P3: who sees the stamp sees its values.  R2 with P2: who has
 *        read a value of the next writing sees at R3, through that value's
 *        release, that the stamp has changed at P1.
 * Crash: of the collector between P1 and P3: that row is unknown.
 * Test:  tests/daemon/lib/map/t_history.c, tests/race/t_history.c
 */
#ifndef TIDEMARK_HISTORY_H
#define TIDEMARK_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

#define TIDE_HISTORY_ROWS 64u /* more than the 61 that 60 differences need */
#define TIDE_HISTORY_SPANS 60u

enum tide_history_unit {
	TIDE_HISTORY_SECONDS,
	TIDE_HISTORY_MINUTES,
	TIDE_HISTORY_UNITS
};

/* What is kept, a column each. */
enum tide_history_kind {
	TIDE_HISTORY_ACCEPTED,
	TIDE_HISTORY_REFUSED,
	TIDE_HISTORY_ABORTED,
	TIDE_HISTORY_CONNECTIONS,
	TIDE_HISTORY_RECIPIENTS,
	TIDE_HISTORY_UNKNOWN, /* recipients */
	TIDE_HISTORY_BANNED,  /* recipients */
	TIDE_HISTORY_BANS,
	TIDE_HISTORY_KINDS
};

/* The counter that each of them is. */
extern const enum tide_counter tide_history_counter[TIDE_HISTORY_KINDS];

struct tide_history_row {
	_Atomic uint64_t stamp; /* of the second or minute, plus 1; 0: none */
	/* the low half of each counter: differences are what matters */
	_Atomic uint32_t value[TIDE_PROFILES_MAX][TIDE_HISTORY_KINDS];
};

struct tide_history {
	struct tide_history_row row[TIDE_HISTORY_UNITS][TIDE_HISTORY_ROWS];
};

/* The collector, as often as it likes: the first call of a second counts. */
void tide_history_note(
    struct tide_history *, const struct tide_counters *, uint64_t mono_ms);

/*
 * What was added in each of the last 60 seconds or minutes, the oldest first;
 * NAN where it is not known.  The second or minute that runs now is left out.
 */
void tide_history_series(const struct tide_history *, enum tide_history_unit,
    unsigned profile, enum tide_history_kind, uint64_t mono_ms,
    double out[TIDE_HISTORY_SPANS]);

#endif
