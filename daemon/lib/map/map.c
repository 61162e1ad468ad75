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

#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/map/window.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"

const char *const tide_region_name[TIDE_REGIONS] = { "control", "acceptor",
	"slots", "counters", "window0", "window1", "flow", "buckets",
	"mailboxes", "bans", "tokens", "distinct", "decisions", "addresses",
	"bulk", "neighbours", "latency", "history", "spam" };

uint32_t
tide_map_layout(void)
{
	static const uint32_t sizes[] = { sizeof(struct tide_control),
		sizeof(struct tide_acceptor), sizeof(struct tide_slot),
		sizeof(struct tide_counters), sizeof(struct tide_window),
		sizeof(struct tide_config), TIDE_COUNTER_COUNT,
		sizeof(struct tide_flow_head), sizeof(struct tide_class),
		sizeof(struct tide_mailbox), sizeof(struct tide_ban),
		sizeof(struct tide_tokens_slot),
		sizeof(struct tide_distinct_sketch),
		sizeof(struct tide_ring_entry), sizeof(struct tide_map_head),
		sizeof(struct tide_addresses_head),
		sizeof(struct tide_counting_desk), TIDE_COUNTING_STRIPES,
		sizeof(struct tide_bulk_head), sizeof(struct tide_latency),
		sizeof(struct tide_history), sizeof(struct tide_spam_head),
		TIDE_SKETCH };

	return (uint32_t)tide_hash_check(sizes, sizeof sizes);
}

size_t
tide_map_region_length(enum tide_region_id id, const struct tide_map_head *head)
{
	switch (id) {
	case TIDE_REGION_CONTROL:
		return TIDE_PAGE + tide_pages(sizeof(struct tide_control));
	case TIDE_REGION_ACCEPTOR:
		return tide_pages(sizeof(struct tide_acceptor));
	case TIDE_REGION_SLOTS:
		return tide_pages(head->slots * sizeof(struct tide_slot));
	case TIDE_REGION_COUNTERS:
		return tide_pages(sizeof(struct tide_counters));
	case TIDE_REGION_FLOW:
		return tide_pages(tide_flow_sizes(&head->flow).books);
	case TIDE_REGION_BUCKETS:
		return tide_pages(tide_flow_sizes(&head->flow).buckets);
	case TIDE_REGION_MAILBOXES:
		return tide_pages(tide_flow_sizes(&head->flow).mailboxes);
	case TIDE_REGION_BANS:
		return tide_pages(tide_bans_size(head->bans));
	case TIDE_REGION_TOKENS:
		return tide_pages(tide_tokens_bytes(head->accounts));
	case TIDE_REGION_DISTINCT:
		return tide_pages(tide_distinct_bytes(head->accounts));
	case TIDE_REGION_DECISIONS:
		return tide_pages(tide_ring_size(head->decisions));
	case TIDE_REGION_ADDRESSES:
		return tide_pages(tide_addresses_size(&head->addresses));
	case TIDE_REGION_BULK:
		return tide_pages(
		    tide_bulk_own_bytes(&head->bulk, head->slots));
	case TIDE_REGION_NEIGHBOURS:
		return tide_pages(tide_bulk_neighbours_bytes(&head->bulk));
	case TIDE_REGION_LATENCY:
		return tide_pages(sizeof(struct tide_latency));
	case TIDE_REGION_HISTORY:
		return tide_pages(sizeof(struct tide_history));
	case TIDE_REGION_SPAM:
		return tide_pages(tide_spam_bytes(&head->spam));
	default:
		return TIDE_PAGE +
		    tide_pages(tide_bloom_bytes(&head->senders)) +
		    tide_pages(tide_bloom_bytes(&head->recipients)) +
		    tide_pages(tide_bloom_bytes(&head->content));
	}
}

bool
tide_map_pulse_is_stale(const struct tide_map *map, uint64_t stale_ms)
{
	uint64_t beat =
	    atomic_load_explicit(&map->control->pulse_ms, memory_order_relaxed);
	uint64_t now = tide_clock_mono_ms();

	/* a beat ahead of the clock is of another boot */
	return beat > now || now - beat > stale_ms;
}

bool
tide_map_bypassed(const struct tide_map *map, uint64_t wall_ms)
{
	return wall_ms < atomic_load_explicit(&map->control->bypass_until_ms,
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
	if (n != (ssize_t)sizeof *t || t->magic != TIDE_MAP_MAGIC ||
	    t->check !=
		tide_hash_check(t, offsetof(struct tide_map_table, check)))
		return tide_err_set(err, "%s: is no table of a map", path);
	if (t->version != TIDE_MAP_VERSION || t->layout != tide_map_layout())
		return tide_err_set(
		    err, "%s: was made by another version of Tidemark", path);
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

static int
map_regions(struct tide_map *map, int fd, const struct tide_map_table *t,
    enum tide_map_role role, struct tide_err *err)
{
	struct stat st;
	unsigned i;
	void *p;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", t->live);
	for (i = 0; i < TIDE_REGIONS; i++) {
		const struct tide_region_place *r = &t->region[i];

		if (r->offset % TIDE_PAGE != 0 || r->length == 0 ||
		    r->offset > (uint64_t)st.st_size ||
		    r->length > (uint64_t)st.st_size - r->offset)
			return tide_err_set(err,
			    "%s: is truncated: region %s lies beyond its end",
			    t->live, tide_region_name[i]);
		p = mmap(NULL, r->length, protection(role, i), MAP_SHARED, fd,
		    (off_t)r->offset);
		if (p == MAP_FAILED)
			return tide_err_errno(
			    err, "%s: region %s", t->live, tide_region_name[i]);
		map->base[i] = p;
		map->length[i] = r->length;
	}
	return 0;
}

static int
check_regions(const struct tide_map *map, const struct tide_map_table *t,
    struct tide_err *err)
{
	const struct tide_map_head *h = map->head;
	unsigned i;

	if (h->magic != TIDE_MAP_MAGIC || h->instance != t->instance ||
	    h->check !=
		tide_hash_check(h, offsetof(struct tide_map_head, check)))
		return tide_err_set(err, "%s: its head is damaged", t->live);
	for (i = 0; i < TIDE_REGIONS; i++)
		if (map->length[i] != tide_map_region_length(i, h))
			return tide_err_set(err,
			    "%s: region %s is %zu bytes long, not %zu", t->live,
			    tide_region_name[i], map->length[i],
			    tide_map_region_length(i, h));
	return 0;
}

/* What is behind the pointers of a map, if it is not in a region itself. */
struct attached {
	struct tide_map map;
	struct tide_flow flow;
	struct tide_tokens tokens;
	struct tide_distinct distinct;
	struct tide_ring ring;
	struct tide_addresses addresses;
	struct tide_bulk bulk;
	struct tide_spam spam;
};

static void
name_flow(struct attached *a)
{
	struct tide_map *map = &a->map;
	const struct tide_map_head *h = map->head;

	tide_flow_attach(&a->flow, map->base[TIDE_REGION_FLOW],
	    map->base[TIDE_REGION_BUCKETS], map->base[TIDE_REGION_MAILBOXES],
	    &h->flow);
	a->flow.epoch = &map->control->epoch;
	map->flow = &a->flow;
	map->bans = map->base[TIDE_REGION_BANS];
	a->tokens =
	    (struct tide_tokens){ .slots = map->base[TIDE_REGION_TOKENS],
		    .capacity = h->accounts };
	map->tokens = &a->tokens;
	a->distinct =
	    (struct tide_distinct){ .sketches = map->base[TIDE_REGION_DISTINCT],
		    .capacity = h->accounts,
		    .period_ms = TIDE_DISTINCT_PERIOD_MS };
	map->distinct = &a->distinct;
}

static void
name_reputation(struct attached *a)
{
	struct tide_map *map = &a->map;
	const struct tide_map_head *h = map->head;

	tide_addresses_attach(
	    &a->addresses, map->base[TIDE_REGION_ADDRESSES], &h->addresses);
	map->addresses = &a->addresses;
	tide_bulk_attach(&a->bulk, &h->bulk, h->slots,
	    map->base[TIDE_REGION_BULK], map->base[TIDE_REGION_NEIGHBOURS]);
	map->bulk = &a->bulk;
	tide_spam_attach(&a->spam, map->base[TIDE_REGION_SPAM], &h->spam);
	map->spam = &a->spam;
}

static void
name_regions(struct attached *a)
{
	struct tide_map *map = &a->map;
	const struct tide_map_head *h = map->head;

	map->key = &h->key;
	map->profiles = &h->profiles;
	map->acceptor = map->base[TIDE_REGION_ACCEPTOR];
	map->slots = map->base[TIDE_REGION_SLOTS];
	map->workers =
	    (struct tide_workers){ map->slots, h->slots, &map->control->epoch };
	map->counters = map->base[TIDE_REGION_COUNTERS];
	map->window[0] = map->base[TIDE_REGION_WINDOW0];
	map->window[1] = map->base[TIDE_REGION_WINDOW1];
	a->ring = (struct tide_ring){
		.region = map->base[TIDE_REGION_DECISIONS],
		.capacity = h->decisions,
	};
	map->ring = &a->ring;
	map->latency = map->base[TIDE_REGION_LATENCY];
	map->history = map->base[TIDE_REGION_HISTORY];
	name_flow(a);
	name_reputation(a);
}

static int
attach(struct attached *a, const struct tide_map_table *t,
    enum tide_map_role role, struct tide_err *err)
{
	struct tide_map *map = &a->map;
	int fd, rc;

	fd = open(
	    t->live, (role == TIDE_MAP_TOOL ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (fd < 0)
		return tide_err_errno(err, "%s", t->live);
	rc = map_regions(map, fd, t, role, err);
	(void)close(fd);
	if (rc == 0) {
		map->head = map->base[TIDE_REGION_CONTROL];
		map->control = (void *)((char *)map->base[TIDE_REGION_CONTROL] +
		    TIDE_PAGE);
		rc = check_regions(map, t, err);
	}
	if (rc == 0)
		name_regions(a);
	return rc;
}

struct tide_map *
tide_map_attach(
    const char *runtime_dir, enum tide_map_role role, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 8];
	struct tide_map_table table;
	struct attached *a;
	uint64_t id = 0;

	(void)snprintf(path, sizeof path, "%s/map", runtime_dir);
	if (read_table(path, &table, &id, err) < 0)
		return NULL;
	a = calloc(1, sizeof *a);
	if (a == NULL) {
		(void)tide_err_errno(err, "%s", path);
		return NULL;
	}
	a->map.table_id = id;
	if (attach(a, &table, role, err) == 0)
		return &a->map;
	tide_map_detach(&a->map);
	return NULL;
}

void
tide_map_detach(struct tide_map *map)
{
	unsigned i;

	if (map == NULL)
		return;
	for (i = 0; i < TIDE_REGIONS; i++)
		if (map->base[i] != NULL)
			(void)munmap(map->base[i], map->length[i]);
	free(map); /* the first of what is attached */
}

void
tide_map_become_worker(struct tide_map *map)
{
	(void)munmap(
	    map->base[TIDE_REGION_ACCEPTOR], map->length[TIDE_REGION_ACCEPTOR]);
	map->base[TIDE_REGION_ACCEPTOR] = NULL;
	map->acceptor = NULL;
}
