/*
 * overrides_published - put overrides where workers find them; look them up.
 */
#include <stdlib.h>
#include <string.h>

#include "overrides_order.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/overrides.h"
#include "tidemark/settings/published.h"

#define OVERRIDES_MAGIC 0x737265766f646974ull /* "tidovers" */

int
tide_overrides_publish(const struct tide_config *c, struct tide_err *err)
{
	struct tide_overrides all = { 0 };
	unsigned i;
	int rc = 0;

	for (i = 0; rc == 0 && i < c->profiles; i++)
		if (c->profile[i].tokens_overrides[0] != '\0')
			rc = tide_overrides_read(
			    &all, c->profile[i].tokens_overrides, i, err);
	if (rc == 0)
		rc = tide_published_write(c->runtime_dir, "overrides",
		    OVERRIDES_MAGIC, all.list, sizeof *all.list, all.count,
		    err);
	tide_overrides_free(&all);
	return rc;
}

int
tide_overrides_attach(
    struct tide_overrides *all, const char *runtime_dir, struct tide_err *err)
{
	struct tide_published fresh;

	if (tide_published_map(&fresh, runtime_dir, "overrides",
		OVERRIDES_MAGIC, sizeof *all->list, err) < 0)
		return -1;
	*all = (struct tide_overrides){
		.list = (struct tide_override *)(uintptr_t)fresh.records,
		.count = fresh.count,
		.published = fresh
	};
	return 0;
}

void
tide_overrides_free(struct tide_overrides *all)
{
	if (all->published.mapped != NULL)
		tide_published_unmap(&all->published);
	else
		free(all->list);
	memset(all, 0, sizeof *all);
}

/* ---- looking up -------------------------------------------------------- */

const struct tide_override *
tide_overrides_find(
    const struct tide_overrides *all, unsigned profile, const char *key)
{
	struct tide_override want = { .profile = profile };

	if (all->count == 0 || strlen(key) >= sizeof want.key)
		return NULL;
	memcpy(want.key, key, strlen(key) + 1);
	return bsearch(&want, all->list, all->count, sizeof *all->list,
	    tide_overrides_compare);
}

const struct tide_override *
tide_overrides_find_client(const struct tide_overrides *all, unsigned profile,
    const struct tide_ip *ip)
{
	const struct tide_override *best = NULL;
	size_t i;

	for (i = 0; i < all->count; i++) {
		const struct tide_override *o = &all->list[i];

		if (o->profile == profile && o->is_net &&
		    tide_net_contains(&o->net, ip) &&
		    (best == NULL || o->net.bits > best->net.bits))
			best = o;
	}
	return best;
}

uint64_t
tide_overrides_longest_ms(const struct tide_overrides *all)
{
	uint64_t longest = 0;
	size_t i;

	for (i = 0; i < all->count; i++) {
		uint64_t ms = tide_allowance_depth_ms(&all->list[i].allowance);

		if (ms > longest)
			longest = ms;
	}
	return longest;
}
