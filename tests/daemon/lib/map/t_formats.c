/*
 * Formats: what lies in a region is what its format word says.
 *
 * A size that changes here means that a region's form has changed: give it the
 * next format (map/regions.c), see that the old form is still read or that its
 * loss is named in the log and in tidemark-files(5), and then write the new
 * sizes down.  tests/upgrade shows what becomes of a running 0.1.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/base/bloom.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/history.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/window.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define SIZE(type) sizeof(struct type), #type

static const struct pinned {
	enum tide_region_id region;
	uint32_t format;
	size_t is;
	const char *type;
	size_t was;
} pinned[] = {
	{ TIDE_REGION_CONTROL, 2, SIZE(tide_control), 192 },
	{ TIDE_REGION_ACCEPTOR, 1, SIZE(tide_acceptor), 1728 },
	{ TIDE_REGION_SLOTS, 1, SIZE(tide_slot), 128 },
	{ TIDE_REGION_WINDOW0, 1, SIZE(tide_window), 192 },
	{ TIDE_REGION_WINDOW1, 1, SIZE(tide_window), 192 },
	{ TIDE_REGION_FLOW, 1, SIZE(tide_flow_head), 192 },
	{ TIDE_REGION_FLOW, 1, SIZE(tide_class), 64 },
	{ TIDE_REGION_BUCKETS, 1, SIZE(tide_bucket), 20 },
	{ TIDE_REGION_MAILBOXES, 1, SIZE(tide_mailbox), 4224 },
	{ TIDE_REGION_BANS, 2, SIZE(tide_bans), 48 },
	{ TIDE_REGION_BANS, 2, SIZE(tide_ban), 264 },
	{ TIDE_REGION_TOKENS, 1, SIZE(tide_tokens_slot), 16 },
	{ TIDE_REGION_DISTINCT, 1, SIZE(tide_distinct_sketch), 256 },
	{ TIDE_REGION_DECISIONS, 1, SIZE(tide_ring_entry), 256 },
	{ TIDE_REGION_ADDRESSES, 1, SIZE(tide_addresses_head), 128 },
	{ TIDE_REGION_BULK, 1, SIZE(tide_bulk_head), 24 },
	{ TIDE_REGION_BULK, 1, SIZE(tide_counting_desk), 64 },
	{ TIDE_REGION_BULK, 1, TIDE_COUNTING_STRIPES, "stripes", 4096 },
	{ TIDE_REGION_NEIGHBOURS, 1, SIZE(tide_counting_shape), 24 },
	{ TIDE_REGION_LATENCY, 1, SIZE(tide_latency), 33600 },
	{ TIDE_REGION_HISTORY, 1, SIZE(tide_history), 33792 },
	{ TIDE_REGION_SPAM, 1, SIZE(tide_spam_head), 576 },
	{ TIDE_REGION_SPAM, 1, TIDE_SKETCH, "sketch", 64 },
};

static bool
is_pinned(unsigned region)
{
	size_t i;

	for (i = 0; i < LENGTH(pinned); i++)
		if (pinned[i].region == region)
			return true;
	return region == TIDE_REGION_COUNTERS; /* by the names of all */
}

static void
regions(void)
{
	const struct pinned *p;
	size_t i;

	for (i = 0; i < TIDE_REGIONS; i++) {
		CHECK_MSG(is_pinned((unsigned)i),
		    "region %s: its sizes belong into this table",
		    tide_region[i].name);
		CHECK(strlen(tide_region[i].name) < TIDE_REGION_NAME_MAX);
	}
	for (i = 0; i < LENGTH(pinned); i++) {
		p = &pinned[i];
		CHECK_MSG(p->is == p->was &&
			tide_region_format(p->region) == p->format,
		    "region %s, format %u: %s has %zu bytes; format %u has %zu",
		    tide_region[p->region].name, tide_region_format(p->region),
		    p->type, p->is, p->format, p->was);
	}
}

/* A counter more, or in another place, is another format by itself. */
static void
counters(void)
{
	char name[64];
	size_t i;

	CHECK(tide_counters_format() != 0);
	for (i = 0; i < TIDE_COUNTER_COUNT; i++) {
		(void)snprintf(
		    name, sizeof name, "%s\n", tide_counter_info[i].name);
		CHECK(strstr(tide_counters_names, name) != NULL);
	}
	CHECK_INT(tide_counters_bytes(tide_counters_names),
	    sizeof(struct tide_counters));
}

/* The head grows at its end; what stands before keeps its place. */
static void
head(void)
{
	CHECK_INT(TIDE_MAP_VERSION, 3);
	CHECK_INT(offsetof(struct tide_map_head, instance), 24);
	CHECK_INT(offsetof(struct tide_map_head, key_id), 80);
	CHECK_INT(offsetof(struct tide_map_head, senders), 272);
	CHECK_INT(offsetof(struct tide_map_head, flow), 344);
	CHECK_INT(offsetof(struct tide_map_head, bulk), 368);
	CHECK_INT(offsetof(struct tide_map_head, slots), 392);
	CHECK_INT(offsetof(struct tide_map_head, addresses), 416);
	CHECK_INT(offsetof(struct tide_map_head, profiles), 448);
	CHECK_INT(offsetof(struct tide_map_head, spam), 704);
	CHECK_INT(offsetof(struct tide_map_head, region), 760);
}

/* What the archive keeps without a format word is told by its size. */
static void
records(void)
{
	CHECK_INT(sizeof(struct tide_bloom_shape), 24);
	CHECK_INT(sizeof(struct tide_window_record), 248);
	CHECK_INT(TIDE_WINDOW_FORMAT, 2);
	CHECK_INT(sizeof(struct tide_lapse), 24);
	CHECK_INT(tide_carried_kind[TIDE_CARRIED_BUCKETS].format, 1);
	CHECK_INT(tide_carried_kind[TIDE_CARRIED_TOKENS].format, 1);
	CHECK_INT(tide_carried_kind[TIDE_CARRIED_DISTINCT].format, 1);
	CHECK_INT(tide_carried_kind[TIDE_CARRIED_COUNTERS].format, 1);
}

CHECK_CASES({ "regions", regions }, { "counters", counters },
    { "the head", head }, { "records", records })
