/*
 * live - make the map's file, or trust the one that is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checkpoint_priv.h"
#include "v01.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/pages.h"

static const char *const tables[] = { "regions", NULL };

/* The names of the counters of a map, beside its regions. */
#define COUNTER_NAMES "counter names"

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

static int
plan_head(
    struct opening *o, const struct tide_hash_key *key, struct tide_err *err)
{
	const struct tide_config *c = o->config;
	struct tide_map_head *h = &o->head;

	memset(h, 0, sizeof *h);
	h->made_ms = tide_clock_wall_ms();
	h->key = *key;
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
	read_boot_id(h->boot_id);
	if (getrandom(&h->instance, sizeof h->instance, 0) !=
	    (ssize_t)sizeof h->instance)
		return tide_err_errno(err, "drawing an instance number");
	tide_map_head_seal(h);
	return 0;
}

/* ---- places of regions ------------------------------------------------- */

/*
 * A value of LMDB starts somewhere within a page, behind a page header.  Ours
 * are reserved one page too long, and the region starts on the next page
 * boundary: what gets mapped holds no byte of the B-tree.
 */
static size_t
reserved_length(unsigned region, const struct tide_map_head *head)
{
	return tide_map_region_length(region, head) + TIDE_PAGE;
}

static size_t
file_size(const struct tide_map_head *head)
{
	size_t sum = 64 * (size_t)TIDE_PAGE; /* meta pages, tree, slack */
	unsigned i;

	for (i = 0; i < TIDE_REGIONS; i++)
		sum += reserved_length(i, head) + TIDE_PAGE;
	return sum;
}

/* The region's first byte within its value. */
static int
region_start(struct tide_bytes value, const char **start, uint64_t *offset,
    struct tide_err *err)
{
	uint64_t at, skip;

	if (tide_store_offset(value.data, &at, err) < 0)
		return -1;
	skip = (TIDE_PAGE - at % TIDE_PAGE) % TIDE_PAGE;
	*start = (const char *)value.data + skip;
	*offset = at + skip;
	return 0;
}

/* Of an old map, what is there, as long as it is. */
static int
find_region(struct opening *o, struct tide_txn *txn, unsigned i,
    const struct tide_map_head *head, struct tide_err *err)
{
	struct tide_region_place *place = &o->table.region[i];
	const char *name = tide_region[i].name, *start;
	struct tide_bytes value;
	int found;

	found =
	    tide_txn_get(txn, 0, tide_bytes(name, strlen(name)), &value, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return o->is_old
		    ? 0
		    : tide_err_set(err, "%s: has no region %s", o->path, name);
	if (value.size < 2 * TIDE_PAGE || value.size % TIDE_PAGE != 0 ||
	    (!o->is_old && value.size != reserved_length(i, head)))
		return tide_err_set(err, "%s: region %s has %zu bytes, not %zu",
		    o->path, name, value.size, reserved_length(i, head));
	if (region_start(value, &start, &place->offset, err) < 0)
		return -1;
	place->length = value.size - TIDE_PAGE;
	(void)snprintf(place->name, sizeof place->name, "%s", name);
	return 0;
}

/* Geometry, once more: is the head where the table will say it is? */
static int
check_place(const struct opening *o, const char *path,
    const struct tide_map_head *head, struct tide_err *err)
{
	struct tide_map_head seen;
	char page[TIDE_PAGE];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	n = pread(fd, page, sizeof page,
	    (off_t)o->table.region[TIDE_REGION_CONTROL].offset);
	(void)close(fd);
	if (n == (ssize_t)sizeof page &&
	    (tide_map_head_read(&seen, page) == TIDE_HEAD_SOUND ||
		tide_v01_head(page, &seen)) &&
	    seen.instance == head->instance)
		return 0;
	return tide_err_set(
	    err, "%s: LMDB laid the regions out in an unknown way", o->path);
}

static int
find_regions(struct opening *o, struct tide_store *store, const char *path,
    const struct tide_map_head *head, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(store, false, err);
	unsigned i;
	int rc = 0;

	if (txn == NULL)
		return -1;
	for (i = 0; rc == 0 && i < TIDE_REGIONS; i++)
		rc = find_region(o, txn, i, head, err);
	tide_txn_abort(txn);
	return rc == 0 ? check_place(o, path, head, err) : rc;
}

/* ---- making ------------------------------------------------------------ */

static int
reserve_region(
    struct opening *o, struct tide_txn *txn, unsigned i, struct tide_err *err)
{
	const char *name = tide_region[i].name, *start;
	size_t length = reserved_length(i, &o->head);
	struct tide_control *control;
	struct tide_map_head *head;
	uint64_t offset;
	void *room;

	room = tide_txn_reserve(
	    txn, 0, tide_bytes(name, strlen(name)), length, err);
	if (room == NULL)
		return -1;
	memset(room, 0, length);
	if (i != TIDE_REGION_CONTROL)
		return 0;
	if (region_start(tide_bytes(room, length), &start, &offset, err) < 0)
		return -1;
	head = (struct tide_map_head *)(uintptr_t)start;
	control = (struct tide_control *)(uintptr_t)(start + TIDE_PAGE);
	*head = o->head;
	atomic_store(&control->epoch, 1);
	return 0;
}

static int
reserve_regions(
    struct opening *o, struct tide_store *store, struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(store, true, err);
	unsigned i;

	if (txn == NULL)
		return -1;
	for (i = 0; i < TIDE_REGIONS; i++) {
		if (reserve_region(o, txn, i, err) < 0) {
			tide_txn_abort(txn);
			return -1;
		}
	}
	if (tide_txn_put(txn, 0,
		tide_bytes(COUNTER_NAMES, strlen(COUNTER_NAMES)),
		tide_bytes(tide_counters_names, strlen(tide_counters_names)),
		err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

/*
 * Is there room?  Asked first, for the sake of the answer.  Where there is none
 * beside a map that goes anyway, that one goes first; but not while it is being
 * replaced: it is still mapped then, and all we have.
 */
static int
check_room(const struct opening *o, size_t size, struct tide_err *err)
{
	char dir[TIDE_PATH_MAX];
	struct statvfs fs;
	uint64_t free_bytes;

	tide_files_dirname(o->path, dir, sizeof dir);
	if (statvfs(dir, &fs) < 0)
		return tide_err_errno(err, "%s", dir);
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes < size && !o->replace && unlink(o->path) == 0 &&
	    statvfs(dir, &fs) == 0)
		free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes >= size)
		return 0;
	return tide_err_set(err, "%s: needs %zu KiB and %s has %llu KiB free",
	    o->path, size / 1024, dir, (unsigned long long)free_bytes / 1024);
}

/* Where it is made: it gets its name when it is whole, so that a kill in the
 * middle leaves no half a map in its place. */
static void
new_path(const struct opening *o, char path[TIDE_PATH_MAX + 8])
{
	(void)snprintf(path, TIDE_PATH_MAX + 8, "%s.new", o->path);
}

static void
remove_new(const struct opening *o)
{
	char path[TIDE_PATH_MAX + 8], lock[TIDE_PATH_MAX + 16];

	new_path(o, path);
	(void)snprintf(lock, sizeof lock, "%s-lock", path);
	(void)unlink(path);
	(void)unlink(lock);
}

static int
make_file(struct opening *o, struct tide_err *err)
{
	size_t size = file_size(&o->head);
	char path[TIDE_PATH_MAX + 8];
	struct tide_store *store;
	int rc;

	remove_new(o);
	if (check_room(o, size, err) < 0)
		return -1;
	new_path(o, path);
	store = tide_store_open(path, TIDE_STORE_LIVE, size, tables, err);
	if (store == NULL)
		return -1;
	rc = reserve_regions(o, store, err);
	if (rc == 0)
		rc = find_regions(o, store, path, &o->head, err);
	tide_store_close(store);
	if (rc == 0 && rename(path, o->path) < 0)
		rc = tide_err_errno(err, "%s", o->path);
	return rc;
}

/* ---- trusting ---------------------------------------------------------- */

enum trust { RESUME, OUTGROWN, REMAKE, KEEP_ASIDE, REFUSE };

static enum trust
outgrown(const struct opening *o)
{
	return o->replace ? REMAKE : OUTGROWN;
}

static bool
has_our_sizes(const struct tide_map_head *h, const struct tide_map_head *want)
{
	return memcmp(&h->senders, &want->senders, sizeof h->senders) == 0 &&
	    memcmp(&h->recipients, &want->recipients, sizeof h->recipients) ==
	    0 &&
	    memcmp(&h->content, &want->content, sizeof h->content) == 0 &&
	    h->memory == want->memory &&
	    memcmp(&h->flow, &want->flow, sizeof h->flow) == 0 &&
	    memcmp(&h->addresses, &want->addresses, sizeof h->addresses) == 0 &&
	    memcmp(&h->bulk, &want->bulk, sizeof h->bulk) == 0 &&
	    memcmp(&h->spam, &want->spam, sizeof h->spam) == 0 &&
	    h->bans == want->bans && h->accounts == want->accounts &&
	    h->decisions == want->decisions && h->slots == want->slots;
}

/* A head that could be read, of whatever version. */
static enum trust
judge_head(const struct opening *o, const struct tide_map_head *h,
    struct tide_err *why)
{
	const struct tide_map_head *want = &o->head;

	if (want->boot_id[0] == '\0' ||
	    strcmp(h->boot_id, want->boot_id) != 0) {
		(void)tide_err_set(
		    why, "%s: is from before the machine was started", o->path);
		return REMAKE;
	}
	if (memcmp(&h->key, &want->key, sizeof h->key) != 0) {
		(void)tide_err_set(
		    why, "%s: belongs to another archive", o->path);
		return REMAKE;
	}
	if (o->is_old) {
		(void)tide_err_set(why,
		    "%s: was made by another version of Tidemark", o->path);
		return outgrown(o);
	}
	if (memcmp(&h->profiles, &want->profiles, sizeof h->profiles) != 0) {
		(void)tide_err_set(why,
		    "%s: has other profiles than the configuration, or in "
		    "another order",
		    o->path);
		return outgrown(o);
	}
	if (!has_our_sizes(h, want)) {
		(void)tide_err_set(
		    why, "%s: has other sizes than the configuration", o->path);
		return outgrown(o);
	}
	return RESUME;
}

/* Read the head, of this version or another one that we know. */
static bool
read_head(struct opening *o, const char *region, struct tide_map_head *head,
    struct tide_err *why)
{
	enum tide_head_state state = tide_map_head_read(head, region);

	o->words_at = TIDE_PAGE;
	o->is_old = state != TIDE_HEAD_SOUND;
	if (state == TIDE_HEAD_SOUND) {
		o->is_old = tide_map_head_differs(head) != NULL;
		return true;
	}
	o->words_at = TIDE_V01_WORDS_AT;
	if (tide_v01_head(region, head))
		return true;
	(void)tide_err_set(why,
	    state == TIDE_HEAD_OTHER
		? "%s: is of another version, or its head is damaged"
		: "%s: its head is damaged",
	    o->path);
	return false;
}

/* What the places in region counters of an old map count. */
static bool
read_counter_names(
    struct opening *o, struct tide_txn *txn, const struct tide_map_head *head)
{
	struct tide_bytes value;
	struct tide_err err;

	free(o->counter_names);
	o->counter_names = NULL;
	if (head->version == 1)
		o->counter_names = strdup(tide_v01_counters);
	else if (tide_txn_get(txn, 0,
		     tide_bytes(COUNTER_NAMES, strlen(COUNTER_NAMES)), &value,
		     &err) == 1)
		o->counter_names = strndup(value.data, value.size);
	return o->counter_names != NULL;
}

/* A collector that was killed while it replaced the map left it so. */
static enum trust
judge_control(struct opening *o, const char *region, size_t length,
    struct tide_map_head *head, struct tide_err *why)
{
	const struct tide_control *c;
	enum trust trust;

	if (!read_head(o, region, head, why))
		return KEEP_ASIDE;
	if (length < o->words_at + sizeof *c || !tide_map_head_sane(head)) {
		(void)tide_err_set(why, "%s: its head is damaged", o->path);
		return KEEP_ASIDE;
	}
	c = (const void *)(region + o->words_at);
	trust = judge_head(o, head, why);
	if (trust != RESUME || atomic_load(&c->current) != TIDE_MAP_RETIRED)
		return trust;
	(void)tide_err_set(why, "%s: was being replaced", o->path);
	return outgrown(o);
}

/* The value "control" of a whole LMDB file, if there is one. */
static enum trust
judge_store(struct opening *o, struct tide_store *store,
    struct tide_map_head *head, struct tide_err *why)
{
	struct tide_txn *txn = tide_txn_begin(store, false, why);
	struct tide_bytes value;
	enum trust trust = REFUSE;
	const char *start;
	uint64_t offset;

	if (txn == NULL)
		return KEEP_ASIDE;
	if (tide_txn_get(txn, 0, tide_bytes("control", 7), &value, why) != 1) {
		(void)tide_err_set(why,
		    "%s: is an LMDB file, but no map of Tidemark's; move it "
		    "away or set live_file",
		    o->path);
	} else if (value.size < 2 * TIDE_PAGE ||
	    region_start(value, &start, &offset, why) < 0) {
		(void)tide_err_set(why, "%s: its head is damaged", o->path);
		trust = KEEP_ASIDE;
	} else {
		trust =
		    judge_control(o, start, value.size - TIDE_PAGE, head, why);
	}
	if (trust == OUTGROWN && o->is_old &&
	    !read_counter_names(o, txn, head)) {
		(void)tide_err_set(
		    why, "%s: does not say what it counts", o->path);
		trust = KEEP_ASIDE;
	}
	tide_txn_abort(txn);
	return trust;
}

/* In a process of its own, before this one trusts the file. */
static int
check_store(void *path, struct tide_err *err)
{
	struct tide_store *store =
	    tide_store_open(path, TIDE_STORE_FROZEN, 0, tables, err);
	int rc;

	if (store == NULL)
		return -1;
	rc = tide_store_check(store, err);
	tide_store_close(store);
	return rc;
}

static enum trust
judge_whole(struct opening *o, struct tide_err *why)
{
	struct tide_map_head head;
	struct tide_store *store;
	enum trust trust;

	if (tide_store_apart(o->path, check_store, o->path, why) < 0)
		return KEEP_ASIDE;
	store = tide_store_open(o->path, TIDE_STORE_FROZEN, 0, tables, why);
	if (store == NULL)
		return KEEP_ASIDE;
	trust = judge_store(o, store, &head, why);
	if (trust == RESUME || trust == OUTGROWN) {
		if (find_regions(o, store, o->path, &head, why) < 0)
			trust = KEEP_ASIDE;
		else
			o->head = head; /* not ours, but the one in use */
	}
	tide_store_close(store);
	return trust;
}

static enum trust
judge_file(struct opening *o, struct tide_err *why)
{
	switch (tide_store_probe(o->path, why)) {
	case TIDE_STORE_ABSENT:
		(void)tide_err_set(why, "%s: is not there", o->path);
		return REMAKE;
	case TIDE_STORE_FOREIGN:
		return REFUSE;
	case TIDE_STORE_TRUNCATED:
	case TIDE_STORE_DAMAGED:
		return KEEP_ASIDE;
	case TIDE_STORE_WHOLE:
		break;
	}
	return judge_whole(o, why);
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

static int
publish(struct opening *o, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 8];

	complete_table(o);
	(void)snprintf(path, sizeof path, "%s/map", o->config->runtime_dir);
	return tide_files_replace(path, &o->table, sizeof o->table, 0640, err);
}

static int
remake(struct opening *o, enum trust trust, struct tide_err *err)
{
	if ((trust != KEEP_ASIDE || keep_aside(o, err) == 0) &&
	    make_file(o, err) == 0) {
		remove_new(o); /* its lock */
		remove_lock(o);
		return 0;
	}
	remove_new(o);
	return -1;
}

/* Nobody but the collector attaches to an old map: it is not published. */
static struct tide_map *
attach_old(struct opening *o, struct tide_err *err)
{
	const struct tide_map_old old = { .head = &o->head,
		.words_at = o->words_at,
		.counter_names = o->counter_names };

	complete_table(o);
	return tide_map_attach_old(&o->table, old, err);
}

static struct tide_map *
attach(struct opening *o, enum trust trust, struct tide_err *err)
{
	if (trust == OUTGROWN && o->is_old)
		return attach_old(o, err);
	if (trust != RESUME && trust != OUTGROWN && remake(o, trust, err) < 0)
		return NULL;
	if (publish(o, err) < 0)
		return NULL;
	return tide_map_attach(o->config->runtime_dir, TIDE_MAP_COLLECTOR, err);
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
	trust = judge_file(&o, why);
	if (trust != REFUSE)
		trust = open_or_remake(&o, key, trust, map, why);
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
