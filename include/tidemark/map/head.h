/*
 * head - what was settled when the map was made: sizes, names, the id of the
 * hash key, and the format of each region.  The first page of region control; the control
 * words (control.h) have the next one.
 *
 * The head may grow at its end: one that is shorter reads as zeroes there, one
 * that is longer is read as far as it is known.  Whatever else changes in it is
 * another version, and the old one is read by a function of its own.
 */
#ifndef TIDEMARK_HEAD_H
#define TIDEMARK_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/regions.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"

#define TIDE_MAP_MAGIC 0x6b72616d65646974ull /* "tidemark" */
#define TIDE_MAP_VERSION 3u
#define TIDE_MAP_KEYED 2u /* of 0.2: its head had the hash key itself */
#define TIDE_REGIONS_MOST 32u
_Static_assert(TIDE_REGIONS <= TIDE_REGIONS_MOST, "the head has room for all");

struct tide_region_word {
	char name[TIDE_REGION_NAME_MAX];
	uint32_t format;
	uint32_t pad;
};

struct tide_map_head {
	uint64_t magic;
	uint32_t version;
	uint32_t size;	   /* of the head */
	uint64_t check;	   /* of all that follows, up to its size */
	uint64_t instance; /* random: this very map */
	uint64_t made_ms;
	char boot_id[40];	   /* the kernel's, when it was made */
	struct tide_key_id key_id; /* of the hash key, which is elsewhere */
	uint8_t unused[TIDE_HASH_KEY_SIZE - sizeof(struct tide_key_id)];
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
	struct tide_region_word region[TIDE_REGIONS_MOST];
};

/* Magic, version, size, the formats of all regions, the check. */
void tide_map_head_seal(struct tide_map_head *);

enum tide_head_state {
	TIDE_HEAD_SOUND,
	TIDE_HEAD_OTHER, /* of another version: nothing more is known of it */
	TIDE_HEAD_DAMAGED
};

/* Read the head on that page, of this version. */
enum tide_head_state
tide_map_head_read(struct tide_map_head *, const void *page);

/* The format its region of that name has; 0 if it has none. */
uint32_t
tide_map_head_format(const struct tide_map_head *, enum tide_region_id);

/* Has it our regions, in our formats, and no others?  NULL, or the name of one
 * that differs. */
const char *tide_map_head_differs(const struct tide_map_head *);

/* Are its shapes such as can be worked with? */
bool tide_map_head_sane(const struct tide_map_head *);

/* Length of a region for these settings. */
size_t
tide_map_region_length(enum tide_region_id, const struct tide_map_head *);

#endif
