/*
 * live, private - between the files of live.
 *
 *   live_file.c   the regions in the file: made, found again
 *   live_trust.c  may the file that is there be used?
 *   live.c        the head as the configuration wants it; open, publish
 */
#ifndef ARCHIVE_LIVE_PRIV_H
#define ARCHIVE_LIVE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/map/head.h"
#include "tidemark/map/table.h"
#include "tidemark/settings/config.h"

/* LMDB's table, and in it, beside the regions, the names of the counters. */
#define LIVE_TABLES             \
	{                       \
		"regions", NULL \
	}
#define LIVE_COUNTER_NAMES "counter names"

struct opening {
	const struct tide_config *config;
	bool replace;		   /* one of other sizes */
	struct tide_map_head head; /* as this configuration wants it */
	struct tide_map_table table;
	char path[TIDE_PATH_MAX];
	/* of a map that another version has made */
	bool is_old;
	size_t words_at;
	char *counter_names;
};

/* What becomes of the file that is there. */
enum trust { RESUME, OUTGROWN, REMAKE, KEEP_ASIDE, REFUSE };

/* live_file.c: the region's first byte within its value. */
int tide_live_region_start(struct tide_bytes value, const char **start,
    uint64_t *offset, struct tide_err *);
/* Fill the table with where they lie, in the file at that path. */
int tide_live_find_regions(struct opening *, struct tide_store *,
    const char *path, const struct tide_map_head *, struct tide_err *);
int tide_live_make_file(struct opening *, struct tide_err *);
/* What is left of one that was being made. */
void tide_live_remove_new(const struct opening *);

/* live_trust.c: with RESUME and OUTGROWN, head and table are the file's. */
enum trust tide_live_judge(struct opening *, struct tide_err *why);

#endif
