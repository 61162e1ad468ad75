/*
 * history - note where the counters stand; difference them.
 */
#include <math.h>

#include "tidemark/map/history.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

const enum tide_counter tide_history_counter[TIDE_HISTORY_KINDS] = {
	TIDE_COUNT_ACCEPTED, TIDE_COUNT_REFUSED, TIDE_COUNT_ABORTED,
	TIDE_COUNT_CONNECTIONS, TIDE_COUNT_RECIPIENTS,
	TIDE_COUNT_RECIPIENTS_UNKNOWN, TIDE_COUNT_RECIPIENTS_BANNED,
	TIDE_COUNT_BANS_MADE
};

static const uint64_t unit_ms[TIDE_HISTORY_UNITS] = { 1000, 60000 };

static void
write_row(
    struct tide_history_row *row, const struct tide_counters *c, uint64_t stamp)
{
	unsigned p, k;

	atomic_store_explicit(&row->stamp, 0, memory_order_relaxed); /* P1 */
	for (p = 0; p < TIDE_PROFILES_MAX; p++)			     /* P2 */
		for (k = 0; k < TIDE_HISTORY_KINDS; k++)
			atomic_store_explicit(&row->value[p][k],
			    (uint32_t)tide_counter_get(
				c, 1 + (int)p, tide_history_counter[k]),
			    memory_order_release);
	atomic_store_explicit(
	    &row->stamp, stamp, memory_order_release); /* P3 */
}

void
tide_history_note(
    struct tide_history *h, const struct tide_counters *c, uint64_t mono_ms)
{
	struct tide_history_row *row;
	uint64_t number;
	unsigned u;

	for (u = 0; u < TIDE_HISTORY_UNITS; u++) {
		number = mono_ms / unit_ms[u];
		row = &h->row[u][number % TIDE_HISTORY_ROWS];
		if (atomic_load_explicit(&row->stamp, memory_order_relaxed) !=
		    number + 1)
			write_row(row, c, number + 1);
	}
}

static bool
read_row(const struct tide_history *h, enum tide_history_unit u,
    uint64_t number, unsigned profile, enum tide_history_kind kind,
    uint32_t *value)
{
	const struct tide_history_row *row =
	    &h->row[u][number % TIDE_HISTORY_ROWS];

	if (atomic_load_explicit(&row->stamp, memory_order_acquire) !=
	    number + 1) /* R1 */
		return false;
	*value = atomic_load_explicit(
	    &row->value[profile][kind], memory_order_acquire); /* R2 */
	return atomic_load_explicit(&row->stamp, memory_order_relaxed) ==
	    number + 1; /* R3 */
}

/* Between two rows that are known, the difference is spread evenly. */
void
tide_history_series(const struct tide_history *h, enum tide_history_unit u,
    unsigned profile, enum tide_history_kind kind, uint64_t mono_ms,
    double out[TIDE_HISTORY_SPANS])
{
	uint64_t now = mono_ms / unit_ms[u];
	unsigned i, known = 0;
	uint32_t value, last = 0;
	bool any = false;
	double each;

	for (i = 0; i < TIDE_HISTORY_SPANS; i++)
		out[i] = NAN;
	for (i = 0; i <= TIDE_HISTORY_SPANS; i++) {
		if (now + i < TIDE_HISTORY_SPANS ||
		    !read_row(h, u, now + i - TIDE_HISTORY_SPANS, profile, kind,
			&value))
			continue;
		each = i > known ? (double)(value - last) / (i - known) : 0;
		for (; any && known < i; known++)
			out[known] = each;
		known = i;
		last = value;
		any = true;
	}
}
