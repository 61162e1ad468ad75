/*
 * live - making and resuming the map (the collector's alone).
 *
 * The file is created through LMDB, with all blocks allocated at once (a
 * sparse file is SIGBUS on a full disk) and all regions in one transaction,
 * and never written through LMDB again.  The environment is closed as soon as
 * the places of the regions are known.  It is made under another name and gets
 * its own when it is whole.
 *
 * PROTOCOL filling: a new map takes the place of one that is gone, or of one
 * that it takes over; nothing that was known is lost.
 *  F1 what the old map knows is committed to the archive: its windows, and the
 *     rest as a checkpoint
 *  F2 the new one is made, its word `filling' set, and gets its name: the old
 *     one is gone
 *  F3 it is filled from the archive, and from what was taken out of the old one
 *  F4 filling = 0
 *  F5 the table is published; workers come
 * Crash: of the collector after F1: the old map is taken over once more.  After
 *        F2 or F3: a map that was being filled is never resumed, but made anew
 *        from the archive; nobody but us has seen it.  After F4: it is resumed.
 * Test:  tests/daemon/t_stumble.sh
 */
#ifndef TIDEMARK_LIVE_H
#define TIDEMARK_LIVE_H

#include <stdbool.h>

#include "tidemark/settings/config.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"

enum tide_live_result {
	TIDE_LIVE_ERROR = -1,
	TIDE_LIVE_RESUMED, /* the regions are as they were left */
	TIDE_LIVE_MADE,	   /* new and empty; `why` says why */
	TIDE_LIVE_OUTGROWN /* the old one, of other sizes or profiles, or of
			      another version (then it has NULL for what
			      cannot be read of it): retire its windows, then
			      open again with `replace' */
};

/*
 * Open the live file, or make it if there is none, if it is of another boot
 * or damaged (the damaged one is kept beside it as live.mdb.damaged), if its
 * collector was killed while it filled it, or, with `replace`, if it has other
 * sizes or profiles.  A file that is not Tidemark's is never touched.  On
 * success *map is attached, but nobody else can: it is not published yet.
 */
enum tide_live_result
tide_live_open(const struct tide_config *, const struct tide_hash_key *,
    bool replace, struct tide_map **, struct tide_err *why);

/* It holds what it is to (F4, F5). */
int tide_live_publish(
    const struct tide_config *, struct tide_map *, struct tide_err *);

/* The sizes and profiles of a map with these settings, and nothing else. */
void tide_live_plan(const struct tide_config *, struct tide_map_head *);

#endif
