/*
 * v01 - what version 0.1 wrote, as it wrote it: the head of its map, the table
 * of contents of its checkpoints, the windows in them, its counters.  Frozen:
 * nothing here follows a change elsewhere.
 *
 * All its structs were told apart by one word, the hash of all their sizes; so
 * there is one 0.1, and other words are of builds that nobody has.
 */
#ifndef ARCHIVE_V01_H
#define ARCHIVE_V01_H

#include <stdbool.h>
#include <stddef.h>

#include "checkpoint_priv.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/map/head.h"
#include "tidemark/map/window.h"

/* Its control words stood right behind the head. */
#define TIDE_V01_WORDS_AT 768u

/* Its counters, in their order (shared/counters.h). */
extern const char *const tide_v01_counters;

/* The head of its map, in our form; false if that is none of it. */
bool tide_v01_head(const void *page, struct tide_map_head *);

/*
 * Its checkpoints: the regions counters, window0, window1, bulk and neighbours
 * as they lay in the map, then records.  What of their shapes stood in the
 * manifest is kept beside it.
 */
struct tide_v01 {
	bool is; /* the checkpoint is one of 0.1 */
	uint32_t memory;
	struct tide_bloom_shape shape[TIDE_FILTERS];
};
#define TIDE_V01_COUNTERS "counters.0.1"
#define TIDE_V01_WINDOW "window%u.0.1"

bool tide_v01_manifest(struct tide_bytes, struct manifest *, struct tide_v01 *);

/* Bytes of a window's region; where a filter stands in it. */
size_t tide_v01_window_at(const struct tide_v01 *, unsigned filter);

/* What its window was; false if it held none. */
bool tide_v01_window(const char *region, const struct manifest *,
    const struct tide_v01 *, struct tide_window_record *);

#endif
