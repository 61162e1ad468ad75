/*
 * live - making and resuming the map (the collector's alone).
 *
 * The file is created through LMDB, with all blocks allocated at once (a
 * sparse file is SIGBUS on a full disk) and all regions in one transaction,
 * and never written through LMDB again.  The environment is closed as soon as
 * the places of the regions are known and published.  It is made under
 * another name and gets its own when it is whole.
 */
#ifndef TIDEMARK_LIVE_H
#define TIDEMARK_LIVE_H

#include <stdbool.h>

#include "tidemark/settings/config.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"

enum tide_live_result {
	TIDE_LIVE_ERROR = -1,
	TIDE_LIVE_RESUMED, /* the regions are as they were left */
	TIDE_LIVE_MADE,	   /* new and empty; `why` says why */
	TIDE_LIVE_OUTGROWN /* the old one, of other sizes or profiles, or of
			      another version (then it is not published, and
			      has NULL for what cannot be read of it): retire
			      its windows, then open again with `replace' */
};

/*
 * Open the live file, or make it if there is none, if it is of another boot
 * or damaged (the damaged one is kept beside it as live.mdb.damaged), or, with
 * `replace`, if it has other sizes or profiles.  A file that is not Tidemark's is never
 * touched.  On success the table is published and *map attached.
 */
enum tide_live_result
tide_live_open(const struct tide_config *, const struct tide_hash_key *,
    bool replace, struct tide_map **, struct tide_err *why);

#endif
