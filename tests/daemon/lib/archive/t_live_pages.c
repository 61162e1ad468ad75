/*
 * A kernel with pages of 64 KiB, as arm64 may have: every region can be mapped
 * at its place, ends before the next one's page, and is found again.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/live.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/pages.h"

#define LARGE 65536u

/* In place of the library's: multiples of it are multiples of ours. */
size_t
tide_page_size(void)
{
	return LARGE;
}

static struct tide_hash_key key;

static enum tide_live_result
open_live(const struct tide_config *c, bool replace)
{
	struct tide_err why = { "" };
	struct tide_map *map = NULL;
	enum tide_live_result r = tide_live_open(c, &key, replace, &map, &why);

	CHECK_MSG(r != TIDE_LIVE_ERROR, "%s", why.text);
	if (r != TIDE_LIVE_OUTGROWN) {
		CHECK_INT(tide_live_publish(c, map, &why), 0);
		tide_count(map->counters, TIDE_COUNT_LAPSES, 1);
	}
	tide_map_detach(map);
	return r;
}

static uint64_t
counted(const struct tide_config *c)
{
	struct tide_err err = { "" };
	struct tide_map *map =
	    tide_map_attach(c->runtime_dir, TIDE_MAP_TOOL, &err);
	uint64_t n;

	CHECK_MSG(map != NULL, "%s", err.text);
	n = tide_counter_get(map->counters, 0, TIDE_COUNT_LAPSES);
	tide_map_detach(map);
	return n;
}

static void
check_places(const struct tide_config *c)
{
	char path[TIDE_PATH_MAX + 8];
	struct tide_map_table *t;
	struct tide_map_head head;
	unsigned i, k;
	size_t size;

	(void)snprintf(path, sizeof path, "%s/map", c->runtime_dir);
	t = fixture_slurp(path, &size);
	tide_live_plan(c, &head);
	for (i = 0; i < TIDE_REGIONS; i++) {
		const struct tide_region_place *r = &t->region[i];
		uint64_t end = r->offset + tide_kernel_pages(r->length);

		CHECK_MSG(r->offset % LARGE == 0, "%s is at %llu", r->name,
		    (unsigned long long)r->offset);
		CHECK_INT(r->length, tide_map_region_length(i, &head));
		for (k = 0; k < TIDE_REGIONS; k++)
			CHECK_MSG(k == i || t->region[k].offset >= end ||
				t->region[k].offset < r->offset,
			    "%s reaches into %s", r->name, t->region[k].name);
	}
	free(t);
}

static void
large_pages(void)
{
	struct tide_config c;

	fixture_config(&c);
	CHECK_INT(open_live(&c, false), TIDE_LIVE_MADE);
	check_places(&c);
	CHECK_INT(open_live(&c, false), TIDE_LIVE_RESUMED);
	CHECK_INT(counted(&c), 2);
	check_places(&c);
	c.max_workers += 7;
	CHECK_INT(open_live(&c, false), TIDE_LIVE_OUTGROWN);
	CHECK_INT(open_live(&c, true), TIDE_LIVE_MADE);
	check_places(&c);
}

CHECK_CASES({ "pages of 64 KiB", large_pages })
