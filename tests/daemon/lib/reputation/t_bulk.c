/*
 * t_bulk - counts of copies in the map: generations, neighbours, checkpoints,
 * maps of other sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/epoch.h"

#define T0 1000000ull
#define SPAN 1000u

static struct tide_config config;
static struct tide_archive archive;
static struct tide_map *map;
static struct tide_bulk_turn turn;

static void
start(void)
{
	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	memset(&turn, 0, sizeof turn);
	tide_bulk_open(map->bulk, T0);
}

static void
end(void)
{
	tide_map_detach(map);
	tide_archive_close(&archive);
}

static struct tide_hash
message(const char *text)
{
	return tide_hash(map->key, text, strlen(text));
}

static struct tide_bulk_count
insert(const char *text, uint32_t copies)
{
	struct tide_bulk_count c;

	CHECK(tide_bulk_insert(map->bulk, &map->slots[1].epoch,
	    &map->control->epoch, 1, message(text), copies, &c));
	CHECK_INT(atomic_load(&map->slots[1].epoch), 0);
	return c;
}

static uint32_t
count(const char *text)
{
	struct tide_bulk_count c;

	CHECK(tide_bulk_look(map->bulk, message(text), &c));
	return tide_bulk_total(&c);
}

static bool
round_at(uint64_t now_ms)
{
	return tide_bulk_round(map->bulk, &map->workers, &turn, now_ms, SPAN);
}

static void
test_counts(void)
{
	struct tide_bulk_count c;
	char text[TIDE_BULK_TEXT];
	unsigned i;

	start();
	for (i = 1; i <= 27; i++)
		CHECK_INT(insert("newsletter", 1).own, i);
	c = insert("newsletter", 1);
	CHECK_STR(tide_bulk_show(&c, text), "28");
	CHECK_INT(c.since_ms, T0);
	CHECK_INT(count("another"), 0);
	c = insert("newsletter", 10);
	CHECK_STR(tide_bulk_show(&c, text), "31+");
	CHECK_INT(insert("to many", 12).own, 12);
	end();
}

static void
test_generations(void)
{
	struct tide_bulk_count c;
	char text[TIDE_BULK_TEXT];

	start();
	(void)insert("a", 10);
	CHECK(!round_at(T0 + SPAN - 1));
	CHECK(round_at(T0 + SPAN));
	CHECK_INT(count("a"), 10);
	c = insert("a", 10); /* half before the turn, half after it */
	CHECK_INT(c.own, 20);
	CHECK_INT(c.since_ms, T0);
	(void)insert("b", 3);
	CHECK(!round_at(T0 + 2 * SPAN - 1));
	CHECK(round_at(T0 + 2 * SPAN));
	CHECK_INT(count("a"), 10);
	CHECK_INT(count("b"), 3);
	CHECK_INT(insert("b", 25).since_ms, T0 + SPAN);
	CHECK(round_at(T0 + 3 * SPAN));
	CHECK_INT(count("a"), 0);
	CHECK_INT(count("b"), 25);
	c = insert("b", 20); /* more than a cell holds, but known */
	CHECK_STR(tide_bulk_show(&c, text), "45");
	end();
}

/* While a worker is inside, nothing it may look at is cleared. */
static void
test_grace(void)
{
	start();
	(void)insert("a", 7);
	CHECK(round_at(T0 + SPAN));
	tide_epoch_enter(&map->slots[2].epoch, &map->control->epoch);
	CHECK(!round_at(T0 + 2 * SPAN));
	CHECK_INT(tide_counting_used(&map->head->bulk, map->bulk->own[1]),
	    map->head->bulk.positions);
	CHECK_INT(insert("a", 1).own, 1); /* the one before is out already */
	CHECK(!round_at(T0 + 2 * SPAN));
	tide_epoch_leave(&map->slots[2].epoch);
	CHECK(round_at(T0 + 2 * SPAN + 5));
	CHECK_INT(tide_counting_used(&map->head->bulk, map->bulk->own[1]), 0);
	CHECK_INT(count("a"), 1);
	CHECK_INT(atomic_load(&map->bulk->head->turn), 3 << 1 | 1);
	end();
}

/* The collector is killed at T2: the next one starts there again. */
static void
test_resumed(void)
{
	start();
	(void)insert("a", 7);
	CHECK(round_at(T0 + SPAN));
	(void)insert("a", 2);
	tide_epoch_enter(&map->slots[2].epoch, &map->control->epoch);
	CHECK(!round_at(T0 + 2 * SPAN));
	memset(&turn, 0, sizeof turn);
	tide_bulk_open(map->bulk, T0 + 2 * SPAN);
	CHECK(!round_at(T0 + 2 * SPAN));
	tide_epoch_leave(&map->slots[2].epoch);
	CHECK(round_at(T0 + 2 * SPAN));
	CHECK_INT(count("a"), 2);
	end();
}

static void
neighbours_saw(const char *text, uint32_t copies, unsigned array)
{
	struct tide_counting_key key;

	tide_counting_find(&map->bulk->filter, message(text), &key);
	(void)tide_counting_insert(
	    &map->bulk->filter, map->bulk->neighbours[array], &key, 0, copies);
}

static void
test_neighbours(void)
{
	struct tide_bulk_count c;

	start();
	neighbours_saw("a", 5, 1);
	c = insert("a", 1);
	CHECK_INT(c.own, 1);
	CHECK_INT(c.neighbours, 5);
	CHECK(round_at(T0 + SPAN));
	neighbours_saw("a", 3, 0);
	c = insert("a", 1);
	CHECK_INT(c.own, 2);
	CHECK_INT(c.neighbours, 8);
	CHECK(round_at(T0 + 2 * SPAN));
	CHECK_INT(count("a"), 4);
	end();
}

static void
test_not_open(void)
{
	struct tide_bulk_count c;

	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	CHECK(!tide_bulk_insert(map->bulk, &map->slots[1].epoch,
	    &map->control->epoch, 1, message("a"), 1, &c));
	CHECK(!tide_bulk_look(map->bulk, message("a"), &c));
	CHECK(!round_at(T0));
	end();
}

/* ---- carried over ------------------------------------------------------ */

static void
new_map(bool of_same_size)
{
	struct tide_err err;

	tide_map_detach(map);
	CHECK(remove(fixture_live_path(&config)) == 0);
	if (!of_same_size)
		config.bulk_keys *= 2;
	CHECK_INT(tide_live_open(&config, &archive.key, false, &map, &err),
	    TIDE_LIVE_MADE);
	memset(&turn, 0, sizeof turn);
}

static void
test_checkpoint(void)
{
	struct tide_carried carried = { 0 };
	struct tide_err err = { "" };

	start();
	(void)insert("a", 7);
	CHECK(round_at(T0 + SPAN));
	(void)insert("a", 2);
	neighbours_saw("a", 4, 0);
	CHECK_INT(tide_checkpoint_write(&archive, map, T0 + SPAN, &err), 0);
	(void)insert("a", 2); /* lost with the map */
	new_map(true);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &carried, &err), 1);
	tide_bulk_open(map->bulk, T0 + 5 * SPAN);
	CHECK_INT(count("a"), 9); /* neighbours: see t_share */
	CHECK_INT(insert("a", 1).since_ms, T0);
	CHECK(!round_at(T0 + 2 * SPAN - 1)); /* time goes on */
	CHECK(round_at(T0 + 2 * SPAN));
	CHECK_INT(count("a"), 3); /* 2 of them carried */
	tide_carried_free(&carried);
	end();
}

static void
test_other_size(void)
{
	struct tide_carried carried = { 0 };
	struct tide_err err = { "" };

	start();
	(void)insert("a", 7);
	CHECK_INT(tide_checkpoint_write(&archive, map, T0 + SPAN, &err), 0);
	new_map(false);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &carried, &err), 1);
	tide_bulk_open(map->bulk, T0);
	CHECK_INT(count("a"), 0);
	CHECK_INT(insert("a", 1).own, 1);
	tide_carried_free(&carried);
	end();
}

CHECK_CASES({ "copies are counted, to 31 and no further", test_counts },
    { "two generations count, older ones do not", test_generations },
    { "nothing is cleared while a worker is inside", test_grace },
    { "a turn that was broken off is taken up again", test_resumed },
    { "what neighbours saw is added", test_neighbours },
    { "before the first generation nothing is counted", test_not_open },
    { "a checkpoint brings the counts back", test_checkpoint },
    { "counts of another size begin anew", test_other_size })
