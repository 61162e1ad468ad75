/*
 * carried - gather the records of a map.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/archive/carried.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/flow_state.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/counters.h"

const struct tide_carried_kind tide_carried_kind[TIDE_CARRIED_PARTS] = {
	[TIDE_CARRIED_BUCKETS] = { "buckets", 1 },
	[TIDE_CARRIED_TOKENS] = { "tokens", 1 },
	[TIDE_CARRIED_DISTINCT] = { "distinct", 1 },
	[TIDE_CARRIED_COUNTERS] = { "counters", 1 },
};

/* Whole words, so that they can be copied and summed as such. */
static int
pad(struct tide_carried *c, enum tide_carried_id part, struct tide_err *err)
{
	size_t size = c->part[part].size;
	char *padded = realloc(c->part[part].bytes, size + 8);

	if (padded == NULL)
		return tide_err_errno(err, "saving what is known of senders");
	memset(padded + size, 0, 8);
	c->part[part].bytes = padded;
	c->part[part].size = (size + 7) & ~(size_t)7;
	return 0;
}

/* Of an old map, its own counts and what we have counted in it since. */
static int
save_counters(const struct tide_map *map, char **bytes, size_t *size,
    struct tide_err *err)
{
	if (map->old_counters.value != NULL &&
	    tide_counters_save(map->old_counters.value, map->old_counters.names,
		bytes, size, err) < 0)
		return -1;
	return tide_counters_save(
	    &map->counters->value[0][0], tide_counters_names, bytes, size, err);
}

static int
save(struct tide_carried *c, const struct tide_map *map,
    enum tide_carried_id part, struct tide_err *err)
{
	char **bytes = &c->part[part].bytes;
	size_t *size = &c->part[part].size;
	uint64_t mono = tide_clock_mono_ms();

	switch (part) {
	case TIDE_CARRIED_BUCKETS:
		return tide_flow_save(map->flow, bytes, size, err);
	case TIDE_CARRIED_TOKENS:
		return tide_tokens_save(map->tokens, mono, bytes, size, err);
	case TIDE_CARRIED_DISTINCT:
		return tide_distinct_save(
		    map->distinct, mono, bytes, size, err);
	case TIDE_CARRIED_COUNTERS:
		return save_counters(map, bytes, size, err);
	case TIDE_CARRIED_PARTS:
		break;
	}
	return 0;
}

/* An old map may lack it. */
static bool
has(const struct tide_map *map, enum tide_carried_id part)
{
	switch (part) {
	case TIDE_CARRIED_BUCKETS:
		return map->flow != NULL;
	case TIDE_CARRIED_TOKENS:
		return map->tokens != NULL;
	case TIDE_CARRIED_DISTINCT:
		return map->distinct != NULL;
	default:
		return true;
	}
}

int
tide_carried_take(struct tide_carried *c, const struct tide_map *map,
    uint64_t now_ms, struct tide_err *err)
{
	unsigned i;

	memset(c, 0, sizeof *c);
	c->taken_ms = now_ms;
	c->profiles = *map->profiles;
	for (i = 0; i < TIDE_CARRIED_PARTS; i++) {
		if (!has(map, (enum tide_carried_id)i))
			continue;
		c->part[i].taken_ms = now_ms;
		if (save(c, map, (enum tide_carried_id)i, err) < 0 ||
		    pad(c, (enum tide_carried_id)i, err) < 0) {
			tide_carried_free(c);
			return -1;
		}
	}
	return 0;
}

void
tide_carried_free(struct tide_carried *c)
{
	unsigned i;

	for (i = 0; i < TIDE_CARRIED_PARTS; i++) {
		free(c->part[i].bytes);
		c->part[i].bytes = NULL;
		c->part[i].size = 0;
	}
}

void
tide_carried_complete(struct tide_carried *c, struct tide_carried *from)
{
	unsigned i;

	if (memcmp(&c->profiles, &from->profiles, sizeof c->profiles) != 0)
		return;
	for (i = 0; i < TIDE_CARRIED_PARTS; i++) {
		if (c->part[i].bytes != NULL)
			continue;
		c->part[i] = from->part[i];
		from->part[i].bytes = NULL;
		from->part[i].size = 0;
	}
}

unsigned
tide_carried_count(const struct tide_carried *c, struct tide_map *map)
{
	const char *bytes = c->part[TIDE_CARRIED_COUNTERS].bytes;

	if (bytes == NULL)
		return 0;
	return tide_counters_load(map->counters, map->profiles, bytes,
	    c->part[TIDE_CARRIED_COUNTERS].size, &c->profiles);
}
