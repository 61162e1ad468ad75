/*
 * Live: made, resumed, outgrown; what becomes of a file that is not whole.
 *
 * takes: 9s
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static struct tide_hash_key key = {
	"a hash key of 192 bytes, which nobody else has"
};

/* Open it, publish what is not to be replaced; the map is detached again.  What
 * it says goes to why. */
static enum tide_live_result
open_live(const struct tide_config *c, bool replace, struct tide_err *why)
{
	struct tide_map *map = NULL;
	enum tide_live_result r;

	why->text[0] = '\0';
	r = tide_live_open(c, &key, replace, &map, why);
	if (r == TIDE_LIVE_MADE || r == TIDE_LIVE_RESUMED)
		CHECK_INT(tide_live_publish(c, map, why), 0);
	tide_map_detach(map);
	return r;
}

static struct tide_map *
attached(const struct tide_config *c, enum tide_map_role role)
{
	struct tide_err err = { "" };
	struct tide_map *map = tide_map_attach(c->runtime_dir, role, &err);

	CHECK_MSG(map != NULL, "%s", err.text);
	return map;
}

static const char *
beside(const struct tide_config *c, const char *suffix)
{
	static char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s%s", fixture_live_path(c), suffix);
	return path;
}

static const char *
table_path(const struct tide_config *c)
{
	static char path[TIDE_PATH_MAX + 8];

	(void)snprintf(path, sizeof path, "%s/map", c->runtime_dir);
	return path;
}

#define MARK 4711

/* A map that has been in use: a mark in the counters. */
static void
make_used(struct tide_config *c)
{
	struct tide_err why;
	struct tide_map *map;

	fixture_config(c);
	CHECK_INT(open_live(c, false, &why), TIDE_LIVE_MADE);
	map = attached(c, TIDE_MAP_COLLECTOR);
	tide_count(map->counters, TIDE_COUNT_LAPSES, MARK);
	tide_map_detach(map);
}

static uint64_t
mark(const struct tide_config *c)
{
	struct tide_map *map = attached(c, TIDE_MAP_TOOL);
	uint64_t n = tide_counter_get(map->counters, 0, TIDE_COUNT_LAPSES);

	tide_map_detach(map);
	return n;
}

/* ---- made and resumed -------------------------------------------------- */

/* Who can read the map has the key's id; the key must be brought. */
static void
check_keyless(struct tide_map *map)
{
	struct tide_hash_key other = key;
	struct tide_err err;
	unsigned i;

	CHECK(map->key == NULL);
	for (i = 0; i < TIDE_REGIONS; i++)
		CHECK_MSG(memmem(map->base[i], map->length[i], key.secret,
			      16) == NULL,
		    "the key is in region %u", i);
	other.secret[5] ^= 1;
	CHECK(tide_map_unlock(map, &other, &err) < 0 && map->key == NULL);
	CHECK_INT(tide_map_unlock(map, &key, &err), 0);
	CHECK(memcmp(map->key, &key, sizeof key) == 0);
	CHECK(memmem(map->base[TIDE_REGION_FLOW], map->length[TIDE_REGION_FLOW],
		  map->flow->secret, sizeof map->flow->secret) == NULL);
}

static void
made(void)
{
	struct tide_config c;
	struct tide_err why;
	struct tide_map *map;
	struct stat st;

	fixture_config(&c);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK(strstr(why.text, "live.mdb: is not there") != NULL);
	map = attached(&c, TIDE_MAP_TOOL);
	CHECK_INT(map->head->slots, 4);
	CHECK_INT(map->head->senders.bits, 4096);
	CHECK_INT(atomic_load(&map->control->epoch), 1);
	CHECK_INT(atomic_load(&map->control->current), 0);
	CHECK_INT(atomic_load(&map->window[0]->state), TIDE_WINDOW_IDLE);
	check_keyless(map);
	tide_map_detach(map);
	CHECK(stat(fixture_live_path(&c), &st) == 0);
	CHECK_MSG(st.st_blocks * 512 >= st.st_size, "the file is sparse");
}

static void
resumed(void)
{
	struct tide_config c;
	struct tide_err why;
	int i;

	make_used(&c);
	for (i = 0; i < 3; i++) {
		CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
		CHECK_INT(mark(&c), 4711);
	}
	CHECK(access(beside(&c, "-lock"), F_OK) < 0); /* nobody needs it */
	CHECK(access(beside(&c, ".new"), F_OK) < 0);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_RESUMED);
	CHECK_INT(mark(&c), 4711);
}

static void
outgrown(void)
{
	struct tide_config c;
	struct tide_err why;
	struct tide_map *map;

	make_used(&c);
	c.window_senders = 5000;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK(strstr(why.text, "has other sizes") != NULL);
	CHECK_INT(mark(&c), 4711); /* the old one, to be retired */
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
	map = attached(&c, TIDE_MAP_TOOL);
	CHECK_INT(map->head->senders.capacity, 5000);
	tide_map_detach(map);
	CHECK_INT(mark(&c), 0);
	c.max_workers = 5;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
	c.memory_size *= 2;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
	c.memory = TIDE_MEMORY_CLASSIC;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
	/* its windows are of other profiles */
	(void)snprintf(c.profile[1].name, sizeof c.profile[1].name, "other");
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
}

/* Numbers of classes and profiles in it would mean others. */
static void
other_profiles(void)
{
	struct tide_config c;
	struct tide_err why;
	struct tide_profile first;

	make_used(&c);
	CHECK(c.profiles >= 2);
	first = c.profile[0];
	c.profile[0] = c.profile[1];
	c.profile[1] = first;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK(strstr(why.text, "has other profiles") != NULL);
	CHECK_INT(mark(&c), 4711);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	c.profiles--;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
}

/* Killed while it was replaced, and started with the old sizes again. */
static void
retired(void)
{
	struct tide_config c;
	struct tide_err why;
	struct tide_map *map;

	make_used(&c);
	map = attached(&c, TIDE_MAP_COLLECTOR);
	atomic_store(&map->control->current, TIDE_MAP_RETIRED);
	tide_map_detach(map);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK(strstr(why.text, "was being replaced") != NULL);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
}

/* Killed while a new one was being filled: it holds nothing that counts, and
 * nobody has seen it. */
static void
half_filled(void)
{
	struct tide_config c, narrow;
	struct tide_err why;
	struct tide_map *map;
	int i;

	fixture_config(&c);
	narrow = c;
	narrow.max_workers--;
	for (i = 0; i < 4; i++) {
		map = NULL;
		CHECK_INT(tide_live_open(i % 2 == 0 ? &c : &narrow, &key, false,
			      &map, &why),
		    TIDE_LIVE_MADE);
		if (i > 0)
			CHECK(strstr(why.text, "before it held anything") !=
			    NULL);
		CHECK(access(table_path(&c), F_OK) < 0);
		tide_count(map->counters, TIDE_COUNT_LAPSES, MARK);
		tide_map_detach(map);
	}
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK_INT(mark(&c), 0);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	CHECK(access(beside(&c, ".damaged"), F_OK) < 0);
}

static void
other_archive(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	key.secret[5] ^= 1;
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	key.secret[5] ^= 1;
	CHECK(strstr(why.text, "belongs to another archive") != NULL);
	CHECK_INT(mark(&c), 0);
}

/* ---- the head, changed behind its back --------------------------------- */

/* Where the head lies in the file. */
static size_t
head_at(const char *bytes, size_t size)
{
	const uint64_t magic = TIDE_MAP_MAGIC;
	size_t at;

	for (at = 0; at + 4096 <= size; at += 4096)
		if (memcmp(bytes + at, &magic, sizeof magic) == 0)
			return at;
	CHECK_MSG(false, "there is no head in the file");
	return 0;
}

static void
check_head(struct tide_map_head *h)
{
	const size_t from = offsetof(struct tide_map_head, instance);

	h->check = tide_hash_check((char *)h + from, h->size - from);
}

static void
change_head(const struct tide_config *c, void (*change)(struct tide_map_head *),
    bool right_check)
{
	size_t size, at;
	char *bytes = fixture_slurp(fixture_live_path(c), &size);
	struct tide_map_head h;

	at = head_at(bytes, size);
	memcpy(&h, bytes + at, sizeof h);
	change(&h);
	if (right_check)
		check_head(&h);
	memcpy(bytes + at, &h, sizeof h);
	fixture_spit(fixture_live_path(c), bytes, size);
	free(bytes);
}

static void
other_boot(struct tide_map_head *h)
{
	h->boot_id[0] = h->boot_id[0] == 'f' ? 'e' : 'f';
}

static void
newer_version(struct tide_map_head *h)
{
	h->version++;
}

static void
no_magic(struct tide_map_head *h)
{
	h->magic = 0;
}

static void
absurd_slots(struct tide_map_head *h)
{
	h->slots = 4000000000u;
}

static void
changed_heads(void)
{
	static const struct head_case {
		const char *name;
		void (*change)(struct tide_map_head *);
		bool right_check, kept_aside;
		const char *says;
	} cases[] = {
		{ "another boot", other_boot, true, false,
		    "is from before the machine was started" },
		{ "a bent boot id", other_boot, false, true,
		    "its head is damaged" },
		{ "another version", newer_version, true, true,
		    "is of another version, or its head is damaged" },
		{ "no magic", no_magic, true, true, "its head is damaged" },
		{ "bent slots", absurd_slots, false, true,
		    "its head is damaged" },
	};
	struct tide_config c;
	struct tide_err why;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		make_used(&c);
		change_head(&c, cases[i].change, cases[i].right_check);
		CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
		CHECK_MSG(strstr(why.text, cases[i].says) != NULL, "%s: %s",
		    cases[i].name, why.text);
		CHECK_INT(mark(&c), 0);
		CHECK_MSG((access(beside(&c, ".damaged"), F_OK) == 0) ==
			cases[i].kept_aside,
		    "%s", cases[i].name);
		CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	}
}

/* ---- maps of another version -------------------------------------------- */

static void
other_history(struct tide_map_head *h)
{
	h->region[TIDE_REGION_HISTORY].format++;
}

/* As if this version had a region more than that one. */
static void
no_tokens(struct tide_map_head *h)
{
	memcpy(h->region[TIDE_REGION_TOKENS].name, "gone", 5);
}

static void
other_flow(struct tide_map_head *h)
{
	h->region[TIDE_REGION_FLOW].format = 77;
}

static void
other_counters(struct tide_map_head *h)
{
	h->region[TIDE_REGION_COUNTERS].format ^= 1;
}

static void
shorter_head(struct tide_map_head *h)
{
	h->size -= 4 * (uint32_t)sizeof h->region[0];
}

static void
other_windows(struct tide_map_head *h)
{
	h->region[TIDE_REGION_WINDOW0].format++;
}

/* What can be read of it is attached, for the collector alone. */
static void
other_regions(void)
{
	static const struct region_case {
		const char *name;
		void (*change)(struct tide_map_head *);
		bool history, tokens, flow;
	} cases[] = {
		{ "another history", other_history, false, true, true },
		{ "no tokens", no_tokens, true, false, true },
		{ "other books of buckets", other_flow, true, true, false },
		{ "other counters", other_counters, true, true, true },
	};
	struct tide_config c;
	struct tide_map *map;
	struct tide_err why;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		make_used(&c);
		change_head(&c, cases[i].change, true);
		CHECK(unlink(table_path(&c)) == 0);
		CHECK_INT(tide_live_open(&c, &key, false, &map, &why),
		    TIDE_LIVE_OUTGROWN);
		CHECK(strstr(why.text, "made by another version") != NULL);
		CHECK(access(table_path(&c), F_OK) < 0);
		CHECK_INT(map->history != NULL, cases[i].history);
		CHECK_INT(map->tokens != NULL, cases[i].tokens);
		CHECK_INT(map->flow != NULL, cases[i].flow);
		CHECK(map->window[0] != NULL && map->slots != NULL);
		CHECK_INT(atomic_load(&map->control->epoch), 1);
		CHECK(
		    strcmp(map->old_counters.names, tide_counters_names) == 0);
		CHECK_INT(
		    tide_counter_get((const void *)map->old_counters.value, 0,
			TIDE_COUNT_LAPSES),
		    MARK);
		CHECK_INT(
		    tide_counter_get(map->counters, -1, TIDE_COUNT_LAPSES), 0);
		tide_map_detach(map);
		CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
		CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	}
}

/* Without its windows there is nothing to retire: kept aside, made anew. */
static void
unreadable_windows(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	change_head(&c, other_windows, true);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK_MSG(
	    strstr(why.text, "windows or workers are of another form") != NULL,
	    "%s", why.text);
	CHECK(access(beside(&c, ".damaged"), F_OK) == 0);
	CHECK_INT(mark(&c), 0);
}

static void
other_control(struct tide_map_head *h)
{
	h->region[TIDE_REGION_CONTROL].format++;
}

/* Nor without its control words: a bypass would be read out of others. */
static void
unreadable_control(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	change_head(&c, other_control, true);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK(access(beside(&c, ".damaged"), F_OK) == 0);
	CHECK_INT(mark(&c), 0);
}

/* As if this version lacked a region of that one. */
static void
one_more(struct tide_map_head *h)
{
	memcpy(h->region[TIDE_REGIONS].name, "novelty", 8);
	h->region[TIDE_REGIONS].format = 1;
}

static void
unknown_region(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	change_head(&c, one_more, true);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_OUTGROWN);
	CHECK_INT(open_live(&c, true, &why), TIDE_LIVE_MADE);
}

/* Killed while it was made: what is left of it is in nobody's way. */
static void
half_made(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	CHECK(rename(fixture_live_path(&c), beside(&c, ".new")) == 0);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK_INT(mark(&c), 0);
	CHECK(access(beside(&c, ".new"), F_OK) < 0);
	fixture_spit(beside(&c, ".new"), "half", 4);
	CHECK(unlink(fixture_live_path(&c)) == 0);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
}

/* Rows that it has no room for are empty: all regions are there. */
static void
growing_heads(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	change_head(&c, shorter_head, true);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	CHECK_INT(mark(&c), MARK);
}

static void
cells_of_no_bits(struct tide_map_head *h)
{
	h->bulk.bits = 0;
}

/* Sizes that no map has, with a right check: no region fits them. */
static void
impossible_sizes(void)
{
	struct tide_config c;
	struct tide_err why;

	make_used(&c);
	change_head(&c, absurd_slots, true);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
	CHECK(strstr(why.text, "region slots has") != NULL);
	CHECK(access(beside(&c, ".damaged"), F_OK) == 0);
	make_used(&c);
	change_head(&c, cells_of_no_bits, true);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
}

/* ---- files that are not whole ------------------------------------------ */

/* The last page that a region takes; behind it is slack. */
static size_t
last_region_end(const struct tide_config *c)
{
	char path[TIDE_PATH_MAX + 8];
	struct tide_map_table *t;
	size_t size, i, end = 0;

	(void)snprintf(path, sizeof path, "%s/map", c->runtime_dir);
	t = fixture_slurp(path, &size);
	for (i = 0; i < TIDE_REGIONS; i++)
		if (t->region[i].offset + t->region[i].length > end)
			end = t->region[i].offset + t->region[i].length;
	free(t);
	return end;
}

static void
truncated(void)
{
	struct tide_config c;
	struct tide_err why;
	size_t size, n, end;
	char *bytes;

	make_used(&c);
	end = last_region_end(&c);
	bytes = fixture_slurp(fixture_live_path(&c), &size);
	CHECK(end > 40960 && end < size);
	for (n = 0; n < end; n += n == 0 ? 1 : 5001) {
		fixture_spit(fixture_live_path(&c), bytes, n);
		CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_MADE);
		CHECK_MSG(strstr(why.text, "is truncated") != NULL,
		    "%zu bytes: %s", n, why.text);
		CHECK(fixture_is(beside(&c, ".damaged"), bytes, n));
		CHECK_INT(mark(&c), 0);
	}
	fixture_spit(fixture_live_path(&c), bytes, size - 4096);
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	CHECK_INT(mark(&c), 4711); /* only slack was lost */
	free(bytes);
}

static void
must_refuse(const struct tide_config *c, const char *says)
{
	struct tide_err why;
	size_t size;
	void *before = fixture_slurp(fixture_live_path(c), &size);
	int i;

	for (i = 0; i < 2; i++) {
		CHECK_INT(open_live(c, i == 1, &why), TIDE_LIVE_ERROR);
		CHECK_MSG(strstr(why.text, says) != NULL, "%s", why.text);
		CHECK(fixture_is(fixture_live_path(c), before, size));
		CHECK(access(beside(c, ".damaged"), F_OK) < 0);
	}
	free(before);
}

static void
foreign(void)
{
	static char text[100000];
	struct tide_config c;

	fixture_config(&c);
	memset(text, 'x', sizeof text);
	fixture_spit(fixture_live_path(&c), text, sizeof text);
	must_refuse(&c, "is no LMDB 0.9 file");
	fixture_spit(fixture_live_path(&c), "small\n", 6);
	must_refuse(&c, "is no LMDB 0.9 file");
}

static void
foreign_lmdb(void)
{
	static const char *const other[] = { "postfix", NULL };
	struct tide_config c;
	struct tide_err err;

	fixture_config(&c);
	tide_store_close(tide_store_open(
	    fixture_live_path(&c), TIDE_STORE_DURABLE, 1 << 20, other, &err));
	must_refuse(&c, "is an LMDB file, but no map of Tidemark's");
}

static int
flips(int usual)
{
	const char *more = getenv("TIDE_TEST_FLIPS");

	return more != NULL ? atoi(more) : usual;
}

static void
open_bent(void *arg)
{
	const struct tide_config *c = arg;
	struct tide_err why;
	enum tide_live_result r = open_live(c, false, &why);

	_exit(r == TIDE_LIVE_ERROR		? 10
		: r == TIDE_LIVE_OUTGROWN	? 11
		: why.text[0] == '\0' && r != 0 ? 12
						: 0);
}

/* Bits bent in the pages of the trees: made anew or resumed, never a crash
 * (a collector that crashes at its start would do so for ever). */
static void
bent_trees(void)
{
	struct tide_config c;
	uint64_t state = 7;
	size_t size, byte;
	char *bytes;
	int i, status;

	make_used(&c);
	bytes = fixture_slurp(fixture_live_path(&c), &size);
	for (i = 0; i < flips(400); i++) {
		size_t page = fixture_random(&state) % 8; /* 2 meta, trees */

		byte = page * 4096 +
		    fixture_random(&state) % (i % 2 == 0 ? 200 : 4096);
		fixture_spit(fixture_live_path(&c), bytes, size);
		fixture_flip(fixture_live_path(&c), byte,
		    (unsigned)(fixture_random(&state) % 8));
		status = fixture_child(open_bent, &c);
		CHECK_MSG(WIFEXITED(status), "byte %zu: signal %d", byte,
		    WTERMSIG(status));
		CHECK_MSG(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 10,
		    "byte %zu: %d", byte, WEXITSTATUS(status));
	}
	free(bytes);
}

/* ---- a full disk ------------------------------------------------------- */

struct tight {
	struct tide_config c;
	unsigned kib;
};

static void
make_on_tight_disk(void *arg)
{
	struct tight *t = arg;
	struct tide_err why;
	enum tide_live_result r;

	fixture_tiny_disk(t->c.runtime_dir, t->kib);
	r = open_live(&t->c, false, &why);
	if (r == TIDE_LIVE_MADE)
		_exit(0);
	CHECK_MSG(strstr(why.text, "KiB free") != NULL ||
		strstr(why.text, "No space left on device") != NULL,
	    "%s", why.text);
	if (strstr(why.text, "/map.") != NULL)
		_exit(1); /* a whole map, but no room to say where */
	CHECK(access(fixture_live_path(&t->c), F_OK) < 0);
	CHECK(access(beside(&t->c, "-lock"), F_OK) < 0);
	_exit(1);
}

static void
disk_full(void)
{
	struct tight t;
	bool fits = false;
	int status;

	fixture_needs_mounts();
	fixture_config(&t.c);
	for (t.kib = 4; t.kib < 32768; t.kib += t.kib < 256 ? 12
		 : t.kib < 4096				    ? 128
							    : 2048) {
		status = fixture_child(make_on_tight_disk, &t);
		CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) <= 1,
		    "with %u KiB: status %x", t.kib, (unsigned)status);
		CHECK(!fits || WEXITSTATUS(status) == 0);
		fits = WEXITSTATUS(status) == 0;
	}
	CHECK(fits);
}

/* ---- attaching --------------------------------------------------------- */

static void
scribble(void *arg)
{
	*(volatile char *)arg = 1;
}

/* What workers read and the collector alone writes. */
static bool
is_collectors(unsigned region)
{
	return region == TIDE_REGION_FLOW || region == TIDE_REGION_BANS ||
	    region == TIDE_REGION_ADDRESSES ||
	    region == TIDE_REGION_NEIGHBOURS || region == TIDE_REGION_HISTORY ||
	    region == TIDE_REGION_SPAM;
}

static bool
can_write(void *address)
{
	int status = fixture_child(scribble, address);

	CHECK(WIFEXITED(status) ||
	    (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
	return WIFEXITED(status);
}

static void
who_may_write(void)
{
	static const struct role_case {
		enum tide_map_role role;
		bool control, others;
	} cases[] = {
		{ TIDE_MAP_TOOL, false, false },
		{ TIDE_MAP_ACCEPTOR, false, true },
		{ TIDE_MAP_COLLECTOR, true, true },
	};
	struct tide_config c;
	struct tide_map *map;
	unsigned i, k;

	make_used(&c);
	for (i = 0; i < LENGTH(cases); i++) {
		map = attached(&c, cases[i].role);
		CHECK_INT(
		    can_write((char *)map->control + 4000), cases[i].control);
		for (k = TIDE_REGION_ACCEPTOR; k < TIDE_REGIONS; k++)
			CHECK_INT(can_write((char *)map->base[k] + 4000),
			    is_collectors(k) ? cases[i].control
					     : cases[i].others);
		tide_map_detach(map);
	}
}

static void
worker(void)
{
	struct tide_config c;
	struct tide_map *map;
	void *acceptor;

	make_used(&c);
	map = attached(&c, TIDE_MAP_ACCEPTOR);
	acceptor = map->acceptor;
	tide_map_become_worker(map);
	CHECK(map->acceptor == NULL);
	CHECK(!can_write(map->control));
	CHECK(!can_write(acceptor));
	CHECK(!can_write(map->bans));
	CHECK(!can_write(map->flow->head));
	CHECK(can_write(&map->flow->bucket[1]));
	CHECK(can_write(map->flow->mailbox));
	CHECK(can_write(map->slots));
	CHECK(can_write(map->counters));
	CHECK(can_write((char *)map->window[0] + 5000));
	tide_map_detach(map);
}

static void
current_table(void)
{
	struct tide_config c;
	struct tide_err why;
	struct tide_map *map;

	make_used(&c);
	map = attached(&c, TIDE_MAP_ACCEPTOR);
	CHECK(tide_map_is_current(map, c.runtime_dir));
	CHECK_INT(open_live(&c, false, &why), TIDE_LIVE_RESUMED);
	CHECK(!tide_map_is_current(map, c.runtime_dir));
	tide_map_detach(map);
}

static void
must_not_attach(const struct tide_config *c, const char *says)
{
	struct tide_err err = { "" };

	CHECK(tide_map_attach(c->runtime_dir, TIDE_MAP_TOOL, &err) == NULL);
	CHECK_MSG(strstr(err.text, says) != NULL, "«%s» says not «%s»",
	    err.text, says);
}

static void
put_table(const struct tide_config *c, struct tide_map_table *t)
{
	t->check = tide_hash_check(t, offsetof(struct tide_map_table, check));
	fixture_spit(table_path(c), t, sizeof *t);
}

/* Tables that would have us map what is not there. */
static void
hostile_tables(void)
{
	struct tide_config c;
	struct tide_map_table *t, bad;
	size_t size;

	make_used(&c);
	t = fixture_slurp(table_path(&c), &size);
	CHECK_INT(size, sizeof *t);
	fixture_flip(table_path(&c), 300, 3);
	must_not_attach(&c, "is no table of a map");
	fixture_spit(table_path(&c), t, size - 8);
	must_not_attach(&c, "is no table of a map");
	bad = *t;
	bad.version++;
	put_table(&c, &bad);
	must_not_attach(&c, "was made by another version");
	bad = *t;
	bad.region[2].offset = UINT64_MAX - 4095;
	put_table(&c, &bad);
	must_not_attach(&c, "region slots lies beyond its end");
	bad = *t;
	bad.region[3].length = UINT64_MAX;
	put_table(&c, &bad);
	must_not_attach(&c, "region counters lies beyond its end");
	bad = *t;
	bad.region[4].length -= 4096;
	put_table(&c, &bad);
	must_not_attach(&c, "region window0 is");
	bad = *t;
	bad.region[0].offset += 4096;
	put_table(&c, &bad);
	must_not_attach(&c, "its head is damaged");
	bad = *t;
	bad.instance++;
	put_table(&c, &bad);
	must_not_attach(&c, "its head is damaged");
	put_table(&c, t);
	CHECK_INT(mark(&c), 4711);
	CHECK(truncate(fixture_live_path(&c), 100000) == 0);
	must_not_attach(&c, "is truncated: region");
	CHECK(unlink(fixture_live_path(&c)) == 0);
	must_not_attach(&c, "live.mdb: No such file");
	CHECK(unlink(table_path(&c)) == 0);
	must_not_attach(&c, "/map: No such file");
	free(t);
}

static void
pulse_and_bypass(void)
{
	struct tide_config c;
	struct tide_map *map;

	make_used(&c);
	map = attached(&c, TIDE_MAP_COLLECTOR);
	CHECK(
	    tide_map_pulse_is_stale(map, 0) || tide_map_pulse_is_stale(map, 1));
	atomic_store(&map->control->pulse_ms, tide_clock_mono_ms());
	CHECK(!tide_map_pulse_is_stale(map, 60000));
	CHECK(!tide_map_bypassed(map, 0));
	atomic_store(&map->control->bypass_until_ms, 1000);
	CHECK(tide_map_bypassed(map, 999));
	CHECK(!tide_map_bypassed(map, 1000));
	tide_map_detach(map);
}

CHECK_CASES({ "made where there is none", made }, { "resumed", resumed },
    { "outgrown, then replaced", outgrown },
    { "other profiles, or in another order", other_profiles },
    { "retired, but not yet replaced", retired },
    { "of another archive", other_archive },
    { "heads changed: another boot, version, damage", changed_heads },
    { "regions of another format, or none", other_regions },
    { "windows of another format", unreadable_windows },
    { "control words of another format", unreadable_control },
    { "a region that is not known here", unknown_region },
    { "killed while it was made", half_made },
    { "killed while it was filled", half_filled },
    { "a head that is shorter", growing_heads },
    { "sizes that no map has", impossible_sizes },
    { "truncated at many lengths", truncated },
    { "foreign: refused, untouched", foreign },
    { "foreign LMDB: refused, untouched", foreign_lmdb },
    { "bent trees: never a crash", bent_trees },
    { "a full disk: a clear error, no signal, nothing left", disk_full },
    { "who may write where", who_may_write },
    { "a worker cannot write control", worker },
    { "a table published anew is noticed", current_table },
    { "hostile tables", hostile_tables },
    { "pulse and bypass", pulse_and_bypass })
