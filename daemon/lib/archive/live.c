/*
 * live - make the map's file, or trust the one that is there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "live_priv.h"
#include "tidemark/archive/live.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/table.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"

/* ---- the head ---------------------------------------------------------- */

static void
read_boot_id(char id[40])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	memset(id, 0, 40);
	if (f == NULL)
		return;
	if (fscanf(f, "%39s", id) != 1)
		id[0] = '\0';
	(void)fclose(f);
}

static void
plan_content(struct tide_map_head *h, const struct tide_config *c)
{
	h->memory = c->memory;
	h->content = tide_hbf_shape(c->memory, c->memory_size, c->memory_error);
}

static struct tide_list_shape
plan_addresses(const struct tide_config *c)
{
	return (struct tide_list_shape){ .bloom = tide_bloom_size(
					     c->addresses_capacity,
					     c->addresses_error),
		.counting = c->addresses_form == TIDE_FORM_COUNTING };
}

void
tide_live_plan(const struct tide_config *c, struct tide_map_head *h)
{
	memset(h, 0, sizeof *h);
	h->senders = tide_bloom_size(c->window_senders, c->window_error);
	h->recipients = tide_bloom_size(c->window_recipients, c->window_error);
	plan_content(h, c);
	h->slots = c->max_workers;
	h->bans = c->max_bans;
	h->accounts = tide_power_of_two(c->max_accounts);
	h->decisions = c->max_decisions;
	h->flow = tide_flow_plan(c->max_buckets, c->max_workers);
	h->addresses = plan_addresses(c);
	h->bulk = tide_counting_size(c->bulk_keys, c->bulk_error, c->bulk_bits);
	tide_config_names(c, &h->profiles);
	h->spam =
	    tide_spam_size(c->spam_reports, c->spam_error, c->spam_generations);
}

static int
plan_head(
    struct opening *o, const struct tide_hash_key *key, struct tide_err *err)
{
	struct tide_map_head *h = &o->head;

	tide_live_plan(o->config, h);
	h->made_ms = tide_clock_wall_ms();
	h->key_id = tide_hash_key_id(key);
	read_boot_id(h->boot_id);
	if (getrandom(&h->instance, sizeof h->instance, 0) !=
	    (ssize_t)sizeof h->instance)
		return tide_err_errno(err, "drawing an instance number");
	tide_map_head_seal(h);
	return 0;
}

/* ---- putting the old one away, publishing the new ---------------------- */

static void
remove_lock(const struct opening *o)
{
	char lock[TIDE_PATH_MAX + 8];

	(void)snprintf(lock, sizeof lock, "%s-lock", o->path);
	(void)unlink(lock);
}

static int
keep_aside(const struct opening *o, struct tide_err *err)
{
	char aside[TIDE_PATH_MAX + 16];

	(void)snprintf(aside, sizeof aside, "%s.damaged", o->path);
	if (rename(o->path, aside) < 0 && errno != ENOENT)
		return tide_err_errno(err, "%s", o->path);
	return 0;
}

static void
complete_table(struct opening *o)
{
	struct tide_map_table *t = &o->table;

	t->magic = TIDE_MAP_MAGIC;
	t->version = TIDE_MAP_VERSION;
	t->instance = o->head.instance;
	(void)snprintf(t->live, sizeof t->live, "%s", o->path);
	t->check = tide_hash_check(t, offsetof(struct tide_map_table, check));
}

/*
 * The word first: killed before the table is there, the map is resumed.  The
 * other way round, what workers have written would be thrown away with it.
 */
int
tide_live_publish(const struct tide_config *config, struct tide_map *map,
    struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 8];

	atomic_store(&map->control->filling, 0);
	(void)snprintf(path, sizeof path, "%s/map", config->runtime_dir);
	return tide_files_replace(
	    path, map->table, sizeof *map->table, 0640, err);
}

static int
remake(struct opening *o, enum trust trust, struct tide_err *err)
{
	if ((trust != KEEP_ASIDE || keep_aside(o, err) == 0) &&
	    tide_live_make_file(o, err) == 0) {
		tide_live_remove_new(o); /* its lock */
		remove_lock(o);
		return 0;
	}
	tide_live_remove_new(o);
	return -1;
}

static struct tide_map *
attach_old(struct opening *o, struct tide_err *err)
{
	const struct tide_map_old old = { .head = &o->head,
		.words_at = o->words_at,
		.counter_names = o->counter_names };

	return tide_map_attach_old(&o->table, old, err);
}

static struct tide_map *
attach(struct opening *o, enum trust trust, struct tide_err *err)
{
	if (trust != RESUME && trust != OUTGROWN && remake(o, trust, err) < 0)
		return NULL;
	complete_table(o);
	if (trust == OUTGROWN && o->is_old)
		return attach_old(o, err);
	return tide_map_attach_table(&o->table, TIDE_MAP_COLLECTOR, err);
}

/* An old map that cannot be taken over goes as if it were of another boot. */
static enum trust
open_or_remake(struct opening *o, const struct tide_hash_key *key,
    enum trust trust, struct tide_map **map, struct tide_err *why)
{
	struct tide_err err;

	*map = attach(o, trust, &err);
	if (*map != NULL)
		return trust;
	*why = err;
	if (trust != OUTGROWN || !o->is_old)
		return REFUSE;
	memset(&o->table, 0, sizeof o->table);
	if (plan_head(o, key, why) < 0)
		return REFUSE;
	*map = attach(o, KEEP_ASIDE, &err);
	if (*map == NULL)
		*why = err;
	return *map != NULL ? KEEP_ASIDE : REFUSE;
}

enum tide_live_result
tide_live_open(const struct tide_config *config,
    const struct tide_hash_key *key, bool replace, struct tide_map **map,
    struct tide_err *why)
{
	struct opening o = { .config = config, .replace = replace };
	enum trust trust;

	*map = NULL;
	(void)tide_config_live(config, o.path, sizeof o.path);
	if (plan_head(&o, key, why) < 0)
		return TIDE_LIVE_ERROR;
	trust = tide_live_judge(&o, why);
	if (trust != REFUSE)
		trust = open_or_remake(&o, key, trust, map, why);
	if (*map != NULL && tide_map_unlock(*map, key, why) < 0)
		trust = REFUSE;
	free(o.counter_names);
	switch (trust) {
	case REFUSE:
		return TIDE_LIVE_ERROR;
	case RESUME:
		return TIDE_LIVE_RESUMED;
	case OUTGROWN:
		return TIDE_LIVE_OUTGROWN;
	default:
		return TIDE_LIVE_MADE;
	}
}
