/*
 * pace - means, and times of late.
 */
#include <math.h>
#include <string.h>

#include "pace.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/latency.h"

#define LATENCY_MS 30000u /* percentiles are those of 30 to 60 s */

const char *const pace_action[TIDE_HISTORY_KINDS] = { "accepted", "refused",
	"aborted", "connections", "recipients", "rcpt unknown", "rcpt banned",
	"bans made" };

/* ---- rates ------------------------------------------------------------- */

double
pace_mean(const double values[TIDE_HISTORY_SPANS], unsigned n)
{
	unsigned i, known = 0;
	double sum = 0;

	for (i = TIDE_HISTORY_SPANS - n; i < TIDE_HISTORY_SPANS; i++)
		if (!isnan(values[i])) {
			sum += values[i];
			known++;
		}
	return known > 0 ? sum / known : NAN;
}

double
pace_mail(const struct view *v, uint64_t mono_ms)
{
	double values[TIDE_HISTORY_SPANS], all = 0;
	unsigned p, k;

	for (p = 0; p < v->config.profiles; p++)
		for (k = TIDE_HISTORY_ACCEPTED; k <= TIDE_HISTORY_REFUSED;
		     k++) {
			tide_history_series(v->map->history,
			    TIDE_HISTORY_SECONDS, p, k, mono_ms, values);
			all += pace_mean(values, PACE_RECENT);
		}
	return all;
}

/* ---- waiting: since the map was made, or of late ------------------------ */

static void
subtract(struct tide_times *from, const struct tide_times *what)
{
	unsigned i;

	if (from->total <= what->total || from->sum_us < what->sum_us)
		return; /* nothing of late: all of it says more than nothing */
	from->sum_us -= what->sum_us;
	from->total = 0;
	for (i = 0; i < TIDE_LATENCY_STEPS; i++) {
		from->count[i] -= what->count[i] < from->count[i]
		    ? what->count[i]
		    : from->count[i];
		from->total += from->count[i];
	}
}

void
pace_read(struct pace_waits *w, const struct view *v, uint64_t mono_ms)
{
	const struct tide_latency *l = v->map->latency;
	unsigned p, s;

	for (p = 0; p < TIDE_PROFILES_MAX; p++)
		for (s = 0; s < TIDE_LATENCY_STAGES; s++)
			tide_latency_read(&l->at[p][s], &w->times[p][s]);
	if (w->maps != v->maps || w->turned_ms == 0) {
		w->has_before = false;
		memset(w->before, 0, sizeof w->before);
	}
	w->maps = v->maps;
	if (w->turned_ms == 0 || mono_ms - w->turned_ms >= LATENCY_MS) {
		memcpy(w->before[0], w->before[1], sizeof w->before[0]);
		memcpy(w->before[1], w->times, sizeof w->before[1]);
		w->has_before = w->turned_ms != 0;
		w->turned_ms = mono_ms;
	}
	for (p = 0; w->has_before && p < TIDE_PROFILES_MAX; p++)
		for (s = 0; s < TIDE_LATENCY_STAGES; s++)
			subtract(&w->times[p][s], &w->before[0][p][s]);
}
