/*
 * table - runtime_dir/map, where the regions lie: published by the collector
 * (live.h), read by all who attach.
 */
#ifndef TIDEMARK_TABLE_H
#define TIDEMARK_TABLE_H

#include <stdint.h>

#include "tidemark/base/files.h"
#include "tidemark/map/head.h"
#include "tidemark/map/regions.h"

struct tide_region_place {
	char name[TIDE_REGION_NAME_MAX]; /* "": no more */
	uint64_t offset, length;
};

struct tide_map_table {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	uint64_t instance;
	char live[TIDE_PATH_MAX];
	struct tide_region_place region[TIDE_REGIONS_MOST];
	uint64_t check;
};

#endif
