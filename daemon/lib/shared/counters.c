/*
 * counters - the table, and reading it.
 */
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

const struct tide_counter_info tide_counter_info[TIDE_COUNTER_COUNT] = {
#define X(id, name, scope, by, help, act) \
	{ #name, TIDE_SCOPE_##scope, TIDE_BY_##by, help, act },
	TIDE_COUNTERS(X)
#undef X
};

uint64_t
tide_counter_get(const struct tide_counters *c, int row, enum tide_counter id)
{
	uint64_t sum = 0;
	unsigned i;

	if (row >= 0)
		return atomic_load_explicit(
		    &c->value[row][id], memory_order_relaxed);
	for (i = 0; i < 1 + TIDE_PROFILES_MAX; i++)
		sum += atomic_load_explicit(
		    &c->value[i][id], memory_order_relaxed);
	return sum;
}

void
tide_counters_carry(struct tide_counters *to,
    const struct tide_profile_names *to_names, const struct tide_counters *from,
    const struct tide_profile_names *from_names)
{
	unsigned row, i;
	int at;

	for (row = 0; row < 1 + TIDE_PROFILES_MAX; row++) {
		at = row == 0
		    ? 0
		    : tide_names_translate(from_names, row - 1, to_names) + 1;
		for (i = 0; i < TIDE_COUNTER_COUNT; i++)
			atomic_fetch_add(&to->value[at][i],
			    atomic_load(&from->value[row][i]));
	}
}
