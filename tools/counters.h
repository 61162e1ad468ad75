/*
 * counters - a counter's values, written where status and counters want them.
 */
#ifndef TOOLS_COUNTERS_H
#define TOOLS_COUNTERS_H

#include "read/json.h"
#include "read/view.h"
#include "tidemark/shared/counters.h"

/* "total":N, and "profiles":{NAME:N,...} for a counter of profiles. */
void counter_json(struct json *, const struct view *, enum tide_counter);

#endif
