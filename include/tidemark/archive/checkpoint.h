/*
 * checkpoint - the map's state in the archive, for the day the map is lost, and
 * for the next version of Tidemark.
 *
 * It consists of parts: the open windows, each as the archive will have it; the
 * bulk counts as they lie in the map; and what is carried as records
 * (carried.h).  A manifest names each part and its format, so that a new
 * counter, setting or region costs nothing: what is not known here is left out,
 * and said; what is not there yet begins anew; older formats are read.
 *
 * Parts are copied in chunks, unchanged chunks are skipped, and the manifest,
 * written in the last transaction, makes the whole valid.  Two sides take
 * turns: one complete checkpoint always stands.
 *
 * What is loaded back is not put into a new map but becomes sealed windows
 * that end at the checkpoint: what came after it is a gap, and is shown so.
 * Bulk counts alone go on where they were.
 */
#ifndef TIDEMARK_CHECKPOINT_H
#define TIDEMARK_CHECKPOINT_H

#include <stdint.h>

#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/base/err.h"
#include "tidemark/map/window.h"
#include "tidemark/reputation/counting.h"

struct tide_map;

int tide_checkpoint_write(struct tide_archive *, const struct tide_map *,
    uint64_t now_ms, struct tide_err *);

struct tide_checkpoint {
	uint64_t taken_ms;
	uint64_t bypass_until_ms;
	unsigned windows;
	struct tide_window_record record[2];
	uint64_t *words[2][TIDE_FILTERS];
	struct tide_carried carried;
	struct tide_counting_shape bulk_shape;
	char *bulk[2];	       /* regions bulk and neighbours, or NULL */
	struct tide_err lacks; /* what could not be read of it; or "" */
};

/*
 * Load the newest complete checkpoint; windows that the archive has anyway
 * are left out.  1 loaded, 0 there is none, -1 error.
 */
int tide_checkpoint_load(
    struct tide_archive *, struct tide_checkpoint *, struct tide_err *);
void tide_checkpoint_free(struct tide_checkpoint *);

/* Its bulk counts into a map of the same shape that counts none yet; another
 * shape is named among what it lacks. */
void tide_checkpoint_bulk(struct tide_checkpoint *, struct tide_map *);

/* When the newest complete one was taken; 0 if there is none. */
int tide_checkpoint_taken(
    struct tide_archive *, uint64_t *wall_ms, struct tide_err *);

/*
 * Load it and store its windows in the archive; counters and bulk counts into
 * the map.  What is known of senders is handed out, for a pool that is not open
 * yet; it is to be freed.  On success *lacks names what could not be read of
 * it, or is "".
 */
int tide_checkpoint_restore(struct tide_archive *, struct tide_map *,
    struct tide_carried *, struct tide_err *lacks);

#endif
