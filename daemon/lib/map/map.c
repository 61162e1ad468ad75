/*
 * map - attach to the published regions.  No LMDB here: a table of places in
 * a file, and mmap().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/map/window.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"

bool
tide_map_pulse_is_stale(const struct tide_map *map, uint64_t stale_ms)
{
	uint64_t beat =
	    atomic_load_explicit(&map->control->pulse_ms, memory_order_relaxed);
	uint64_t now = tide_clock_mono_ms();

	/* a beat ahead of the clock is of another boot */
	return beat > now || now - beat > stale_ms;
}

uint64_t
tide_map_now_ms(const struct tide_map *map)
{
	int64_t lack = atomic_load_explicit(
	    &map->control->settled_ms, memory_order_relaxed);

	return lack != 0 ? (uint64_t)((int64_t)tide_clock_boot_ms() + lack)
			 : tide_clock_wall_ms();
}

bool
tide_map_bypassed(const struct tide_map *map, uint64_t now_ms)
{
	return now_ms < atomic_load_explicit(&map->control->bypass_until_ms,
			    memory_order_relaxed);
}

/* ---- the published table ----------------------------------------------- */

/* What changes whenever the table is published anew. */
static uint64_t
table_id(const struct stat *st)
{
	return (uint64_t)st->st_ino * 1000003 +
	    (uint64_t)st->st_mtim.tv_sec * 1000000007 +
	    (uint64_t)st->st_mtim.tv_nsec;
}

static int
read_table(const char *path, struct tide_map_table *t, uint64_t *id,
    struct tide_err *err)
{
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	n = read(fd, t, sizeof *t);
	if (fstat(fd, &st) < 0)
		n = -1;
	(void)close(fd);
	if (n > (ssize_t)offsetof(struct tide_map_table, pad) &&
	    t->magic == TIDE_MAP_MAGIC && t->version != TIDE_MAP_VERSION)
		return tide_err_set(
		    err, "%s: was made by another version of Tidemark", path);
	if (n != (ssize_t)sizeof *t || t->magic != TIDE_MAP_MAGIC ||
	    t->check !=
		tide_hash_check(t, offsetof(struct tide_map_table, check)))
		return tide_err_set(err, "%s: is no table of a map", path);
	t->live[sizeof t->live - 1] = '\0';
	*id = table_id(&st);
	return 0;
}

bool
tide_map_is_current(const struct tide_map *map, const char *runtime_dir)
{
	char path[TIDE_PATH_MAX + 8];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/map", runtime_dir);
	return stat(path, &st) == 0 && table_id(&st) == map->table_id;
}

/* ---- attaching --------------------------------------------------------- */

static int
protection(enum tide_map_role role, unsigned region)
{
	if (role == TIDE_MAP_TOOL ||
	    (role == TIDE_MAP_ACCEPTOR &&
		(region == TIDE_REGION_CONTROL || region == TIDE_REGION_FLOW ||
		    region == TIDE_REGION_BANS ||
		    region == TIDE_REGION_ADDRESSES ||
		    region == TIDE_REGION_NEIGHBOURS ||
		    region == TIDE_REGION_HISTORY ||
		    region == TIDE_REGION_SPAM)))
		return PROT_READ;
	return PROT_READ | PROT_WRITE;
}

/* What is behind the pointers of a map, if it is not in a region itself. */
struct attached {
	struct tide_map map;
	struct tide_map_head head;
	struct tide_map_table table;
	struct tide_flow flow;
	struct tide_tokens tokens;
	struct tide_distinct distinct;
	struct tide_ring ring;
	struct tide_addresses addresses;
	struct tide_bulk bulk;
	struct tide_spam spam;
	struct tide_hash_key key; /* once it is unlocked */
	/* of an old map alone */
	bool is_old;
	size_t words_at;
	struct tide_counters *counters; /* counted since it is ours */
	char *counter_names;
};

static const struct tide_region_place *
place_of(const struct tide_map_table *t, unsigned id)
{
	unsigned i;

	for (i = 0; i < TIDE_REGIONS_MOST; i++)
		if (strncmp(t->region[i].name, tide_region[id].name,
			sizeof t->region[i].name) == 0)
			return &t->region[i];
	return NULL;
}

static int
map_region(struct tide_map *map, int fd, const struct tide_map_table *t,
    enum tide_map_role role, unsigned id, struct tide_err *err)
{
	const struct tide_region_place *r = place_of(t, id);
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", t->live);
	if (r == NULL)
		return tide_err_set(err,
		    "%s: was made by another version of "
		    "Tidemark: it has no region %s",
		    t->live, tide_region[id].name);
	if (r->offset % tide_page_size() != 0 || r->length == 0 ||
	    r->offset > (uint64_t)st.st_size ||
	    r->length > (uint64_t)st.st_size - r->offset)
		return tide_err_set(err,
		    "%s: is truncated: region %s lies beyond its end", t->live,
		    tide_region[id].name);
	p = mmap(NULL, r->length, protection(role, id), MAP_SHARED, fd,
	    (off_t)r->offset);
	if (p == MAP_FAILED)
		return tide_err_errno(
		    err, "%s: region %s", t->live, tide_region[id].name);
	map->base[id] = p;
	map->length[id] = r->length;
	return 0;
}

/* The head comes first: it says what the other regions are. */
static int
map_head(struct attached *a, int fd, const struct tide_map_table *t,
    enum tide_map_role role, struct tide_err *err)
{
	struct tide_map *map = &a->map;
	const char *base, *differs;

	if (map_region(map, fd, t, role, TIDE_REGION_CONTROL, err) < 0)
		return -1;
	base = map->base[TIDE_REGION_CONTROL];
	if (!a->is_old) {
		if (tide_map_head_read(&a->head, base) != TIDE_HEAD_SOUND ||
		    a->head.instance != t->instance)
			return tide_err_set(
			    err, "%s: its head is damaged", t->live);
		differs = tide_map_head_differs(&a->head);
		if (differs != NULL)
			return tide_err_set(err,
			    "%s: was made by another "
			    "version of Tidemark: region %s is another one",
			    t->live, differs);
		a->words_at = TIDE_PAGE;
	} else if (a->head.version == TIDE_MAP_VERSION &&
	    tide_map_head_format(&a->head, TIDE_REGION_CONTROL) !=
		tide_region_format(TIDE_REGION_CONTROL)) {
		return tide_err_set(
		    err, "%s: its control words are of another form", t->live);
	}
	map->head = &a->head;
	if (map->length[TIDE_REGION_CONTROL] <
	    a->words_at + sizeof(struct tide_control))
		return tide_err_set(
		    err, "%s: region control is too short", t->live);
	map->control = (struct tide_control *)(uintptr_t)(base + a->words_at);
	return 0;
}

/* Of an old map, only what can be read. */
static bool
is_wanted(const struct attached *a, unsigned id)
{
	return !a->is_old || id == TIDE_REGION_COUNTERS ||
	    tide_map_head_format(&a->head, id) == tide_region_format(id);
}

/* Counters of an old map are as long as there are names. */
static int
check_length(struct attached *a, const struct tide_map_table *t, unsigned id,
    struct tide_err *err)
{
	size_t want = tide_map_region_length(id, &a->head);

	if (a->is_old && id == TIDE_REGION_COUNTERS)
		want = tide_pages(tide_counters_bytes(a->counter_names));
	if (a->map.length[id] == want)
		return 0;
	/* an old map knows only what was reserved */
	if (a->is_old && a->map.length[id] == tide_kernel_pages(want)) {
		a->map.length[id] = want;
		return 0;
	}
	return tide_err_set(err, "%s: region %s is %zu bytes long, not %zu",
	    t->live, tide_region[id].name, a->map.length[id], want);
}

static int
map_regions(struct attached *a, int fd, const struct tide_map_table *t,
    enum tide_map_role role, struct tide_err *err)
{
	unsigned i;

	if (map_head(a, fd, t, role, err) < 0)
		return -1;
	for (i = 0; i < TIDE_REGIONS; i++) {
		if (i == TIDE_REGION_CONTROL && a->is_old)
			continue;
		if (!is_wanted(a, i))
			continue;
		if (a->map.base[i] == NULL &&
		    map_region(&a->map, fd, t, role, i, err) < 0)
			return -1;
		if (check_length(a, t, i, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- naming ------------------------------------------------------------ */

static bool
has(const struct tide_map *map, unsigned id)
{
	return map->base[id] != NULL;
}

static void
name_flow(struct attached *a)
{
	struct tide_map *map = &a->map;
	const struct tide_map_head *h = map->head;

	if (has(map, TIDE_REGION_FLOW) && has(map, TIDE_REGION_BUCKETS) &&
	    has(map, TIDE_REGION_MAILBOXES)) {
		tide_flow_attach(&a->flow, map->base[TIDE_REGION_FLOW],
		    map->base[TIDE_REGION_BUCKETS],
		    map->base[TIDE_REGION_MAILBOXES], &h->flow);
		a->flow.epoch = &map->control->epoch;
		map->flow = &a->flow;
	}
	map->bans = map->base[TIDE_REGION_BANS];
	a->tokens =
	    (struct tide_tokens){ .slots = map->base[TIDE_REGION_TOKENS],
		    .capacity = h->accounts };
	if (has(map, TIDE_REGION_TOKENS))
		map->tokens = &a->tokens;
	a->distinct =
	    (struct tide_distinct){ .sketches = map->base[TIDE_REGION_DISTINCT],
		    .capacity = h->accounts,
		    .period_ms = TIDE_DISTINCT_PERIOD_MS };
	if (has(map, TIDE_REGION_DISTINCT))
		map->distinct = &a->distinct;
}

static void
name_reputation(struct attached *a)
{
	struct tide_map *map = &a->map;
	const struct tide_map_head *h = map->head;

	if (has(map, TIDE_REGION_ADDRESSES)) {
		tide_addresses_attach(&a->addresses,
		    map->base[TIDE_REGION_ADDRESSES], &h->addresses);
		map->addresses = &a->addresses;
	}
	if (has(map, TIDE_REGION_BULK) && has(map, TIDE_REGION_NEIGHBOURS)) {
		tide_bulk_attach(&a->bulk, &h->bulk, h->slots,
		    map->base[TIDE_REGION_BULK],
		    map->base[TIDE_REGION_NEIGHBOURS]);
		map->bulk = &a->bulk;
	}
	if (has(map, TIDE_REGION_SPAM)) {
		tide_spam_attach(
		    &a->spam, map->base[TIDE_REGION_SPAM], &h->spam);
		map->spam = &a->spam;
	}
}

static void
name_counters(struct attached *a)
{
	struct tide_map *map = &a->map;

	map->counters = map->base[TIDE_REGION_COUNTERS];
	if (!a->is_old)
		return;
	map->old_counters.value = map->base[TIDE_REGION_COUNTERS];
	map->old_counters.names = a->counter_names;
	map->counters = a->counters;
}

static void
name_regions(struct attached *a)
{
	struct tide_map *map = &a->map;
	const struct tide_map_head *h = map->head;

	map->profiles = &h->profiles;
	map->acceptor = map->base[TIDE_REGION_ACCEPTOR];
	map->slots = map->base[TIDE_REGION_SLOTS];
	map->workers =
	    (struct tide_workers){ map->slots, h->slots, &map->control->epoch };
	map->window[0] = map->base[TIDE_REGION_WINDOW0];
	map->window[1] = map->base[TIDE_REGION_WINDOW1];
	a->ring = (struct tide_ring){
		.region = map->base[TIDE_REGION_DECISIONS],
		.capacity = h->decisions,
	};
	if (has(map, TIDE_REGION_DECISIONS))
		map->ring = &a->ring;
	map->latency = map->base[TIDE_REGION_LATENCY];
	map->history = map->base[TIDE_REGION_HISTORY];
	name_counters(a);
	name_flow(a);
	name_reputation(a);
}

static int
attach(struct attached *a, const struct tide_map_table *t,
    enum tide_map_role role, struct tide_err *err)
{
	int fd, rc;

	fd = open(
	    t->live, (role == TIDE_MAP_TOOL ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (fd < 0)
		return tide_err_errno(err, "%s", t->live);
	rc = map_regions(a, fd, t, role, err);
	(void)close(fd);
	a->table = *t;
	a->map.table = &a->table;
	if (rc == 0)
		name_regions(a);
	return rc;
}

static bool
can_be_retired(const struct tide_map *map)
{
	return map->slots != NULL && map->acceptor != NULL &&
	    map->window[0] != NULL && map->window[1] != NULL;
}

struct tide_map *
tide_map_attach_old(const struct tide_map_table *t, struct tide_map_old old,
    struct tide_err *err)
{
	struct attached *a = calloc(1, sizeof *a);

	if (a != NULL) {
		a->is_old = true;
		a->head = *old.head;
		a->words_at = old.words_at;
		a->counter_names = strdup(old.counter_names);
		a->counters = calloc(1, sizeof *a->counters);
	}
	if (a == NULL || a->counter_names == NULL || a->counters == NULL) {
		(void)tide_err_errno(err, "%s", t->live);
	} else if (attach(a, t, TIDE_MAP_COLLECTOR, err) == 0) {
		if (can_be_retired(&a->map))
			return &a->map;
		(void)tide_err_set(err,
		    "%s: its windows or workers are of another form", t->live);
	}
	if (a != NULL)
		tide_map_detach(&a->map);
	return NULL;
}

struct tide_map *
tide_map_attach_table(const struct tide_map_table *t, enum tide_map_role role,
    struct tide_err *err)
{
	struct attached *a = calloc(1, sizeof *a);

	if (a == NULL) {
		(void)tide_err_errno(err, "%s", t->live);
		return NULL;
	}
	if (attach(a, t, role, err) == 0)
		return &a->map;
	tide_map_detach(&a->map);
	return NULL;
}

struct tide_map *
tide_map_attach(
    const char *runtime_dir, enum tide_map_role role, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 8];
	struct tide_map_table table;
	struct tide_map *map;
	uint64_t id = 0;

	(void)snprintf(path, sizeof path, "%s/map", runtime_dir);
	if (read_table(path, &table, &id, err) < 0)
		return NULL;
	map = tide_map_attach_table(&table, role, err);
	if (map != NULL)
		map->table_id = id;
	return map;
}

void
tide_map_detach(struct tide_map *map)
{
	struct attached *a;
	unsigned i;

	if (map == NULL)
		return;
	for (i = 0; i < TIDE_REGIONS; i++)
		if (map->base[i] != NULL)
			(void)munmap(map->base[i], map->length[i]);
	a = (struct attached *)(void *)map; /* its first */
	explicit_bzero(&a->key, sizeof a->key);
	free(a->counter_names);
	free(a->counters);
	free(a);
}

int
tide_map_unlock(
    struct tide_map *map, const struct tide_hash_key *key, struct tide_err *err)
{
	struct attached *a = (struct attached *)(void *)map; /* its first */
	struct tide_key_id id = tide_hash_key_id(key);

	if (!tide_key_id_equal(&id, &map->head->key_id))
		return tide_err_set(err,
		    "%s: was made with another hash key than hash.key",
		    map->table->live);
	a->key = *key;
	map->key = &a->key;
	if (map->flow != NULL && map->head->version == TIDE_MAP_VERSION)
		tide_hash_key_tables(
		    key, map->head->instance, map->flow->secret);
	else if (map->flow != NULL) /* of 0.2: drawn, and within the map */
		memcpy(map->flow->secret, map->flow->head->unused,
		    sizeof map->flow->secret);
	return 0;
}

int
tide_map_unlock_by(
    struct tide_map *map, const char *state_dir, struct tide_err *err)
{
	struct tide_hash_key key;
	int rc = tide_hash_key_read(&key, state_dir, err);

	if (rc == 0)
		rc = tide_err_set(
		    err, "%s/hash.key: there is no hash key", state_dir);
	else if (rc > 0)
		rc = tide_map_unlock(map, &key, err);
	explicit_bzero(&key, sizeof key);
	return rc;
}

void
tide_map_become_worker(struct tide_map *map)
{
	(void)munmap(
	    map->base[TIDE_REGION_ACCEPTOR], map->length[TIDE_REGION_ACCEPTOR]);
	map->base[TIDE_REGION_ACCEPTOR] = NULL;
	map->acceptor = NULL;
}
