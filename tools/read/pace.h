/*
 * pace - how fast mail goes, of late: rates from the map's history, and how
 * long the mail server waited for us.
 */
#ifndef TOOLS_READ_PACE_H
#define TOOLS_READ_PACE_H

#include "view.h"
#include "tidemark/map/history.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/latency.h"

#define PACE_RECENT 5u /* seconds that "now" is the mean of */

/* "accepted", "refused": what is counted in a column of the history. */
extern const char *const pace_action[TIDE_HISTORY_KINDS];

/* The mean of the last n of them; NAN if none is known. */
double pace_mean(const double values[TIDE_HISTORY_SPANS], unsigned n);

/* Messages a second, all profiles, over the last few; NAN: not known. */
double pace_mail(const struct view *, uint64_t mono_ms);

typedef struct tide_times pace_times[TIDE_PROFILES_MAX][TIDE_LATENCY_STAGES];

/*
 * Times of the last 30 to 60 s, or of all the time where none are of late.
 * Begins as all zeroes.
 */
struct pace_waits {
	pace_times times;     /* to be looked at */
	pace_times before[2]; /* 30 and 60 s ago */
	uint64_t turned_ms, maps;
	bool has_before;
};

void pace_read(struct pace_waits *, const struct view *, uint64_t mono_ms);

#endif
