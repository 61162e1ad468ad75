/*
 * head - sealed, read; how long a region is by it.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/history.h"
#include "tidemark/map/regions.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"

#define CHECKED offsetof(struct tide_map_head, instance)
_Static_assert(sizeof(struct tide_map_head) <= TIDE_PAGE, "it is one page");
_Static_assert(offsetof(struct tide_map_head, senders) -
	    offsetof(struct tide_map_head, key_id) ==
	sizeof(struct tide_hash_key),
    "the key of 0.2 lay there");

void
tide_map_head_seal(struct tide_map_head *h)
{
	unsigned i;

	h->magic = TIDE_MAP_MAGIC;
	h->version = TIDE_MAP_VERSION;
	h->size = sizeof *h;
	memset(h->region, 0, sizeof h->region);
	for (i = 0; i < TIDE_REGIONS; i++) {
		(void)snprintf(h->region[i].name, sizeof h->region[i].name,
		    "%s", tide_region[i].name);
		h->region[i].format = tide_region_format(i);
	}
	h->check =
	    tide_hash_check((const char *)h + CHECKED, h->size - CHECKED);
}

/* Where the id is now, 0.2 had the key: of it, the id is all we keep. */
static void
hide_key(struct tide_map_head *h)
{
	struct tide_hash_key key;

	memcpy(&key, &h->key_id, sizeof key);
	memset(h->unused, 0, sizeof h->unused);
	h->key_id = tide_hash_key_id(&key);
	explicit_bzero(&key, sizeof key);
}

/* The page is copied first: others may write to it. */
enum tide_head_state
tide_map_head_read(struct tide_map_head *h, const void *page)
{
	char copy[TIDE_PAGE];
	uint32_t size;

	memcpy(copy, page, sizeof copy);
	memset(h, 0, sizeof *h);
	memcpy(h, copy, CHECKED);
	if (h->magic != TIDE_MAP_MAGIC)
		return TIDE_HEAD_DAMAGED;
	if (h->version != TIDE_MAP_VERSION && h->version != TIDE_MAP_KEYED)
		return TIDE_HEAD_OTHER;
	if (h->size <= CHECKED || h->size > sizeof copy ||
	    h->check != tide_hash_check(copy + CHECKED, h->size - CHECKED))
		return TIDE_HEAD_DAMAGED;
	size = h->size < sizeof *h ? h->size : (uint32_t)sizeof *h;
	memcpy(h, copy, size);
	if (h->version == TIDE_MAP_KEYED)
		hide_key(h);
	explicit_bzero(copy, sizeof copy);
	return TIDE_HEAD_SOUND;
}

uint32_t
tide_map_head_format(const struct tide_map_head *h, enum tide_region_id id)
{
	unsigned i;

	for (i = 0; i < TIDE_REGIONS_MOST; i++)
		if (strncmp(h->region[i].name, tide_region[id].name,
			sizeof h->region[i].name) == 0)
			return h->region[i].format;
	return 0;
}

/* A region that we do not know counts: we would not keep it in step. */
const char *
tide_map_head_differs(const struct tide_map_head *h)
{
	unsigned i, known = 0;

	if (h->version != TIDE_MAP_VERSION)
		return "head";
	for (i = 0; i < TIDE_REGIONS; i++)
		if (tide_map_head_format(h, i) != tide_region_format(i))
			return tide_region[i].name;
	for (i = 0; i < TIDE_REGIONS_MOST; i++)
		known += h->region[i].name[0] != '\0';
	return known == TIDE_REGIONS ? NULL : "one that is not known here";
}

bool
tide_map_head_sane(const struct tide_map_head *h)
{
	return tide_bloom_sane(&h->senders) &&
	    tide_bloom_sane(&h->recipients) && tide_bloom_sane(&h->content) &&
	    tide_bloom_sane(&h->addresses.bloom) &&
	    tide_bloom_sane(&h->spam.exact) &&
	    tide_bloom_sane(&h->spam.pairs) && tide_counting_sane(&h->bulk);
}

size_t
tide_map_region_length(enum tide_region_id id, const struct tide_map_head *head)
{
	switch (id) {
	case TIDE_REGION_CONTROL:
		return TIDE_PAGE + tide_pages(sizeof(struct tide_control));
	case TIDE_REGION_ACCEPTOR:
		return tide_pages(sizeof(struct tide_acceptor));
	case TIDE_REGION_SLOTS:
		return tide_pages(head->slots * sizeof(struct tide_slot));
	case TIDE_REGION_COUNTERS:
		return tide_pages(sizeof(struct tide_counters));
	case TIDE_REGION_FLOW:
		return tide_pages(tide_flow_sizes(&head->flow).books);
	case TIDE_REGION_BUCKETS:
		return tide_pages(tide_flow_sizes(&head->flow).buckets);
	case TIDE_REGION_MAILBOXES:
		return tide_pages(tide_flow_sizes(&head->flow).mailboxes);
	case TIDE_REGION_BANS:
		return tide_pages(tide_bans_size(head->bans));
	case TIDE_REGION_TOKENS:
		return tide_pages(tide_tokens_bytes(head->accounts));
	case TIDE_REGION_DISTINCT:
		return tide_pages(tide_distinct_bytes(head->accounts));
	case TIDE_REGION_DECISIONS:
		return tide_pages(tide_ring_size(head->decisions));
	case TIDE_REGION_ADDRESSES:
		return tide_pages(tide_addresses_size(&head->addresses));
	case TIDE_REGION_BULK:
		return tide_pages(
		    tide_bulk_own_bytes(&head->bulk, head->slots));
	case TIDE_REGION_NEIGHBOURS:
		return tide_pages(tide_bulk_neighbours_bytes(&head->bulk));
	case TIDE_REGION_LATENCY:
		return tide_pages(sizeof(struct tide_latency));
	case TIDE_REGION_HISTORY:
		return tide_pages(sizeof(struct tide_history));
	case TIDE_REGION_SPAM:
		return tide_pages(tide_spam_bytes(&head->spam));
	default:
		return TIDE_PAGE +
		    tide_pages(tide_bloom_bytes(&head->senders)) +
		    tide_pages(tide_bloom_bytes(&head->recipients)) +
		    tide_pages(tide_bloom_bytes(&head->content));
	}
}
