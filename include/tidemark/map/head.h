/*
 * head - what was settled when the map was made: sizes, names, the key.  The
 * first page of region control.
 */
#ifndef TIDEMARK_HEAD_H
#define TIDEMARK_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/regions.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"

#define TIDE_MAP_MAGIC 0x6b72616d65646974ull /* "tidemark" */
#define TIDE_MAP_VERSION 1u

/* Fixed when the map is made; `check` is the hash of all before it. */
struct tide_map_head {
	uint64_t magic;
	uint32_t version;
	uint32_t layout;   /* sizes of all our structs, hashed */
	uint64_t instance; /* random: this very map */
	uint64_t made_ms;
	char boot_id[40]; /* the kernel's, when it was made */
	struct tide_hash_key key;
	struct tide_bloom_shape senders, recipients, content;
	struct tide_flow_shape flow;
	struct tide_counting_shape bulk;
	uint32_t slots;
	uint32_t bans;
	uint32_t accounts; /* a power of two */
	uint32_t decisions;
	uint32_t memory; /* enum tide_memory */
	uint32_t pad;
	struct tide_list_shape addresses;
	struct tide_profile_names profiles; /* what their numbers mean */
	struct tide_spam_shape spam;
	uint64_t check;
};

/* Length of a region for these settings. */
size_t
tide_map_region_length(enum tide_region_id, const struct tide_map_head *);

/* The layout word of this build. */
uint32_t tide_map_layout(void);

#endif
