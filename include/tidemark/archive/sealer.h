/*
 * sealer - the collector's side of the windows: close the open one when it is
 * full or old, let its successor take over, store it, clear it.
 *
 * Never waits: tide_sealer_round() does what can be done now.  Each step
 * leaves a state in the map from which a new collector goes on.
 */
#ifndef TIDEMARK_SEALER_H
#define TIDEMARK_SEALER_H

#include "tidemark/archive/archive.h"
#include "tidemark/base/clock.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"

struct tide_sealer {
	struct tide_map *map;
	struct tide_archive *archive;
	bool waiting;	    /* for the grace period of */
	uint64_t number;    /* ... this window */
	uint64_t target;    /* ... to pass this epoch */
	uint64_t latest_ms; /* wall; the latest seen by the open window */
	bool strays;	    /* mail of another time goes into it, from: */
	uint64_t stray_from_ms, stray_until_ms; /* wall */
	uint64_t *words[TIDE_FILTERS];
};

/*
 * Take the windows over: open the first one in a new map, finish or undo what
 * a killed collector had begun.  -1 if the map contradicts itself.
 */
int tide_sealer_open(struct tide_sealer *, struct tide_map *,
    struct tide_archive *, struct tide_moment now, struct tide_err *);
void tide_sealer_close(struct tide_sealer *);

/*
 * One round at that moment; span_ms 0 seals the open window whatever its
 * age.  1 if a window went into the archive, 0 if not, -1 if that failed (it
 * is tried again in the next round).
 */
int tide_sealer_round(struct tide_sealer *, struct tide_moment now,
    uint64_t span_ms, struct tide_err *);

/*
 * Before the map is replaced by one of other sizes: tell workers that it is
 * out of use, wait for their bursts (at most wait_ms), store both windows.
 */
int tide_sealer_retire(struct tide_sealer *, struct tide_moment now,
    unsigned wait_ms, struct tide_err *);

#endif
