/*
 * regions - the table.
 */
#include "tidemark/map/regions.h"
#include "tidemark/shared/counters.h"

const struct tide_region tide_region[TIDE_REGIONS] = {
	[TIDE_REGION_CONTROL] = { "control", 2 }, /* 1: words behind the head */
	[TIDE_REGION_ACCEPTOR] = { "acceptor", 1 },
	[TIDE_REGION_SLOTS] = { "slots", 1 },
	[TIDE_REGION_COUNTERS] = { "counters", 0 },
	[TIDE_REGION_WINDOW0] = { "window0", 1 },
	[TIDE_REGION_WINDOW1] = { "window1", 1 },
	[TIDE_REGION_FLOW] = { "flow", 1 },
	[TIDE_REGION_BUCKETS] = { "buckets", 1 },
	[TIDE_REGION_MAILBOXES] = { "mailboxes", 1 },
	[TIDE_REGION_BANS] = { "bans", 2 },
	[TIDE_REGION_TOKENS] = { "tokens", 1 },
	[TIDE_REGION_DISTINCT] = { "distinct", 1 },
	[TIDE_REGION_DECISIONS] = { "decisions", 1 },
	[TIDE_REGION_ADDRESSES] = { "addresses", 1 },
	[TIDE_REGION_BULK] = { "bulk", 1 },
	[TIDE_REGION_NEIGHBOURS] = { "neighbours", 1 },
	[TIDE_REGION_LATENCY] = { "latency", 1 },
	[TIDE_REGION_HISTORY] = { "history", 1 },
	[TIDE_REGION_SPAM] = { "spam", 1 },
};

uint32_t
tide_region_format(enum tide_region_id id)
{
	return tide_region[id].format != 0 ? tide_region[id].format
					   : tide_counters_format();
}
