/*
 * Checkpoint: written, loaded, restored; damaged on one side or on both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../daemon/lib/archive/checkpoint_priv.h"
#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"

#define T0 1000000ull

static struct tide_config config;
static struct tide_archive archive;
static struct tide_map *map;
static struct tide_sealer sealer;

static void
start(void)
{
	struct tide_err err = { "" };

	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	CHECK_INT(
	    tide_sealer_open(&sealer, map, &archive, fixture_at(T0), &err), 0);
}

static void
end(void)
{
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	tide_archive_close(&archive);
}

static void
write_at(uint64_t now_ms)
{
	struct tide_err err = { "" };

	CHECK_MSG(tide_checkpoint_write(&archive, map, now_ms, &err) == 0, "%s",
	    err.text);
}

/* The moment of the checkpoint that is loaded; 0 none, UINT64_MAX error. */
static uint64_t
loaded(struct tide_err *err)
{
	struct tide_checkpoint c;
	int rc = tide_checkpoint_load(&archive, &c, err);
	uint64_t taken = c.taken_ms;

	if (rc > 0)
		tide_checkpoint_free(&c);
	return rc > 0 ? taken : rc == 0 ? 0 : UINT64_MAX;
}

/* ---- there and back ---------------------------------------------------- */

static void
none_yet(void)
{
	struct tide_err err;
	struct tide_carried taken = { .taken_ms = 4711 };

	start();
	CHECK_INT(loaded(&err), 0);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &taken, &err), 0);
	CHECK_INT(taken.taken_ms, 4711);
	end();
}

static void
write_and_load(void)
{
	static struct tide_counters counters;
	struct tide_checkpoint c;
	struct tide_err err;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	tide_count_profile(map->counters, 1, TIDE_COUNT_MESSAGES, 7);
	atomic_store(&map->control->bypass_until_ms, 99);
	write_at(T0 + 50);
	CHECK(fixture_pass(map, "after@b.example", "c@d.example"));
	CHECK_INT(tide_checkpoint_load(&archive, &c, &err), 1);
	CHECK_INT(c.taken_ms, T0 + 50);
	CHECK_INT(c.bypass_until_ms, 99);
	(void)tide_counters_load(&counters, map->profiles,
	    c.carried.part[TIDE_CARRIED_COUNTERS].bytes,
	    c.carried.part[TIDE_CARRIED_COUNTERS].size, &c.carried.profiles);
	CHECK_INT(tide_counter_get(&counters, 2, TIDE_COUNT_MESSAGES), 7);
	CHECK_INT(c.windows, 1);
	CHECK_INT(c.record[0].number, 1);
	CHECK_INT(c.record[0].from_ms, T0);
	CHECK_INT(c.record[0].until_ms, T0 + 50);
	CHECK_INT(c.record[0].messages, 1);
	CHECK_INT(c.record[0].flags, TIDE_WINDOW_WAS_RESTORED);
	CHECK(tide_bloom_ones(&c.record[0].shape[0],
		  (tide_bloom_word *)c.words[0][0]) > 10);
	tide_checkpoint_free(&c);
	end();
}

/* One window sealing, one open: both are in the checkpoint. */
static void
two_windows(void)
{
	struct tide_checkpoint c;
	struct tide_err err;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	atomic_store(&map->slots[0].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(tide_sealer_round(&sealer, fixture_at(T0 + 10), 0, &err), 0);
	tide_epoch_leave(&map->slots[0].epoch);
	CHECK(fixture_pass(map, "b@b.example", "c@d.example"));
	write_at(T0 + 50);
	CHECK_INT(tide_checkpoint_load(&archive, &c, &err), 1);
	CHECK_INT(c.windows, 2);
	CHECK_INT(c.record[0].number + c.record[1].number, 3);
	CHECK_INT(c.record[1].number == 1 ? c.record[1].until_ms
					  : c.record[0].until_ms,
	    T0 + 10);
	tide_checkpoint_free(&c);
	CHECK_INT(
	    tide_sealer_round(&sealer, fixture_at(T0 + 60), 1000, &err), 1);
	CHECK_INT(tide_checkpoint_load(&archive, &c, &err), 1);
	CHECK_INT(c.windows, 1); /* the archive has the other by now */
	CHECK_INT(c.record[0].number, 2);
	tide_checkpoint_free(&c);
	end();
}

/* The map is lost; a new one is made and the checkpoint restored. */
static void
restore(void)
{
	struct tide_question q = { .from = "a@b.example",
		.has_since = true,
		.since_ms = T0,
		.until_ms = T0 + 100,
		.now_ms = T0 + 100 };
	struct tide_err err = { "" };
	struct tide_carried taken;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	tide_count(map->counters, TIDE_COUNT_LAPSES, 4711);
	atomic_store(&map->control->bypass_until_ms, 99);
	write_at(T0 + 50);
	CHECK(fixture_pass(map, "lost@b.example", "c@d.example"));
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	CHECK(unlink(fixture_live_path(&config)) == 0);
	map = fixture_make_map(&config, &archive);
	tide_count(map->counters, TIDE_COUNT_LAPSES, 1); /* meanwhile */
	CHECK_INT(tide_checkpoint_restore(&archive, map, &taken, &err), 1);
	tide_carried_free(&taken);
	CHECK_INT(taken.taken_ms, T0 + 50);
	CHECK_INT(tide_counter_get(map->counters, 0, TIDE_COUNT_LAPSES), 4712);
	CHECK_INT(atomic_load(&map->control->bypass_until_ms), 99);
	CHECK_INT(
	    tide_sealer_open(&sealer, map, &archive, fixture_at(T0 + 80), &err),
	    0);
	CHECK_INT(atomic_load(&map->control->current), 2);
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_FOUND);
	q.from = "lost@b.example"; /* 50 to 80 is a gap, and is shown so */
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_NOT_COVERED);
	q.until_ms = T0 + 50;
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_ABSENT);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &taken, &err), 1);
	tide_carried_free(&taken);
	end();
}

/* Another boot, with the profiles in another order: numbers go by name. */
static void
restored_by_name(void)
{
	struct tide_allowance a;
	struct tide_take take = { .cost = 3000 };
	struct tide_carried taken;
	struct tide_profile first;
	struct tide_err err = { "" };

	start();
	CHECK(config.profiles >= 2);
	tide_count_profile(map->counters, 0, TIDE_COUNT_MESSAGES, 5);
	tide_count_profile(map->counters, 1, TIDE_COUNT_MESSAGES, 7);
	CHECK_INT(tide_allowance_make(
		      &a, 10, (struct tide_rate){ 10, 1000ull * 86400 }, &err),
	    0);
	take.key = tide_tokens_key(&archive.key, 1, "ann", 3);
	take.allowance = a;
	CHECK_INT(tide_tokens_take(map->tokens, &take, tide_clock_mono_ms()),
	    TIDE_TOKENS_TAKEN);
	write_at(T0 + 50);
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	CHECK(unlink(fixture_live_path(&config)) == 0);
	first = config.profile[0];
	config.profile[0] = config.profile[1];
	config.profile[1] = first;
	map = fixture_make_map(&config, &archive);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &taken, &err), 1);
	CHECK_STR(taken.profiles.name[0], first.name);
	CHECK_INT(tide_counter_get(map->counters, 1, TIDE_COUNT_MESSAGES), 7);
	CHECK_INT(tide_counter_get(map->counters, 2, TIDE_COUNT_MESSAGES), 5);
	CHECK_INT(
	    tide_tokens_load(map->tokens, taken.part[TIDE_CARRIED_TOKENS].bytes,
		taken.part[TIDE_CARRIED_TOKENS].size, tide_clock_mono_ms(), 0),
	    1);
	CHECK_INT(
	    tide_tokens_level(map->tokens, take.key, &a, tide_clock_mono_ms()) /
		1000,
	    7);
	tide_carried_free(&taken);
	CHECK_INT(
	    tide_sealer_open(&sealer, map, &archive, fixture_at(T0 + 80), &err),
	    0);
	end();
}

static void
sides_take_turns(void)
{
	struct tide_err err;
	uint64_t i;

	start();
	for (i = 1; i <= 7; i++) {
		write_at(T0 + i);
		CHECK_INT(loaded(&err), T0 + i);
	}
	end();
}

/* ---- chunks ------------------------------------------------------------ */

static int
add_bytes(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	uint64_t *sum = arg;

	(void)key;
	(void)err;
	*sum = *sum * 31 + tide_hash_check(value.data, value.size);
	return 0;
}

/* Which transaction was the last: it tells how many were written. */
static uint64_t
commits(void)
{
	size_t size;
	char *bytes = fixture_slurp(fixture_archive_path(&config), &size);
	uint64_t a, b;

	memcpy(&a, bytes + 144, 8); /* see t_store.c */
	memcpy(&b, bytes + 4096 + 144, 8);
	free(bytes);
	return a > b ? a : b;
}

static void
unchanged_chunks_are_skipped(void)
{
	uint64_t before, first, again;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	before = commits();
	write_at(T0 + 1);
	first = commits() - before; /* manifest off, chunks, manifest on */
	write_at(T0 + 2);
	before = commits();
	write_at(T0 + 3);
	again = commits() - before; /* manifests, the window's end */
	/* a window and its filters, bulk and neighbours, counters; there is
	 * nothing to take off at first */
	CHECK_INT(first, 4 + 2 + 1 + 1);
	CHECK_INT(again, 3);
	CHECK(fixture_pass(map, "x@b.example", "c@d.example"));
	before = commits();
	write_at(T0 + 4);
	CHECK_INT(commits() - before, 3 + 2); /* window, senders, counters */
	end();
}

/* Windows of several chunks each. */
static void
large_windows(void)
{
	struct tide_checkpoint c;
	struct tide_err err = { "" };
	tide_bloom_word *words;

	fixture_config(&config);
	config.window_senders = 2000000; /* 2.4 MB at 1% */
	fixture_open_archive(&config, &archive);
	map = fixture_make_map(&config, &archive);
	CHECK_INT(
	    tide_sealer_open(&sealer, map, &archive, fixture_at(T0), &err), 0);
	words = tide_window_words(map, map->window[1], TIDE_FILTER_SENDERS);
	atomic_store(&words[0], 1);
	atomic_store(&words[200000], 2);
	atomic_store(&words[map->head->senders.bits / 64 - 1], 3);
	write_at(T0 + 1);
	CHECK_INT(tide_checkpoint_load(&archive, &c, &err), 1);
	CHECK_INT(c.words[0][0][0], 1);
	CHECK_INT(c.words[0][0][200000], 2);
	CHECK_INT(c.words[0][0][map->head->senders.bits / 64 - 1], 3);
	tide_checkpoint_free(&c);
	end();
}

/* ---- damage ------------------------------------------------------------ */

/* Change a value of the archive behind its back; its old first byte. */
static void
bend(int table, const void *key, size_t size, size_t byte)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(archive.store, true, &err);
	struct tide_bytes value;
	char *copy;

	CHECK_INT(
	    tide_txn_get(t, table, tide_bytes(key, size), &value, &err), 1);
	copy = malloc(value.size);
	CHECK(copy != NULL);
	memcpy(copy, value.data, value.size);
	copy[byte % value.size] ^= 16;
	CHECK_INT(tide_txn_put(t, table, tide_bytes(key, size),
		      tide_bytes(copy, value.size), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
	free(copy);
}

/* Parts, in their order: window 1 lies in the second place. */
enum { WINDOW = 4, SENDERS, RECIPIENTS, CONTENT, BULK, COUNTERS = 13 };

static void
bend_chunk(uint8_t side, uint8_t part, size_t byte)
{
	const uint8_t key[10] = { side, part };

	bend(TIDE_TABLE_CHECKPOINT, key, sizeof key, byte);
}

static void
bend_manifest(int side)
{
	bend(
	    TIDE_TABLE_META, side == 0 ? "checkpoint0" : "checkpoint1", 11, 20);
}

/* Side 0 of T0 + 1 and side 1 of T0 + 2. */
static void
start_with_two(void)
{
	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	write_at(T0 + 1);
	write_at(T0 + 2);
}

static void
damaged_newest(void)
{
	static const uint8_t part[] = { WINDOW, SENDERS, RECIPIENTS, COUNTERS };
	struct tide_err err;
	size_t i, byte;

	for (i = 0; i < sizeof part; i++) {
		for (byte = 0; byte < 3; byte++) { /* check, middle, end */
			start_with_two();
			bend_chunk(1, part[i], byte * 150);
			CHECK_INT(loaded(&err), T0 + 1);
			end();
		}
	}
	start_with_two();
	bend_manifest(1);
	CHECK_INT(loaded(&err), T0 + 1);
	end();
}

static void
damaged_both(void)
{
	struct tide_err err = { "" };
	struct tide_carried taken;

	start_with_two();
	bend_chunk(0, SENDERS, 300);
	bend_chunk(1, RECIPIENTS, 300);
	CHECK(loaded(&err) == UINT64_MAX);
	CHECK(strstr(err.text, "is damaged") != NULL);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &taken, &err), -1);
	write_at(T0 + 3); /* and a new one makes it good */
	CHECK_INT(loaded(&err), T0 + 3);
	end();
	start_with_two();
	bend_manifest(0);
	bend_manifest(1);
	CHECK(loaded(&err) == UINT64_MAX); /* not as if there were none */
	CHECK(strstr(err.text, "newer version, or damaged") != NULL);
	end();
}

/* A chunk damaged in its place is not "unchanged": it is written again. */
static void
damage_is_repaired(void)
{
	struct tide_err err;
	uint64_t i;

	start_with_two();
	bend_chunk(0, SENDERS, 300);
	bend_chunk(1, SENDERS, 300);
	for (i = 3; i <= 6; i++) {
		write_at(T0 + i);
		CHECK_INT(loaded(&err), T0 + i);
	}
	end();
}

/* ---- written by another version ------------------------------------------ */

static struct manifest manifest;

/* Read the manifest of side 0, or put it back with its check. */
static void
take_manifest(void)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(archive.store, false, &err);
	struct tide_bytes value;

	CHECK_INT(tide_txn_get(t, TIDE_TABLE_META,
		      tide_bytes("checkpoint0", 11), &value, &err),
	    1);
	memset(&manifest, 0, sizeof manifest);
	memcpy(&manifest, value.data, value.size);
	tide_txn_abort(t);
}

static void
put_manifest(void)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(archive.store, true, &err);

	manifest.check = tide_checkpoint_check(&manifest);
	CHECK_INT(
	    tide_txn_put(t, TIDE_TABLE_META, tide_bytes("checkpoint0", 11),
		tide_bytes(&manifest, tide_checkpoint_size(&manifest)), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
}

static struct checkpoint_part *
part(const char *name)
{
	unsigned i;

	for (i = 0; i < manifest.parts; i++)
		if (strcmp(manifest.part[i].name, name) == 0)
			return &manifest.part[i];
	CHECK_MSG(false, "there is no part %s", name);
	return NULL;
}

static void
start_with_one(void)
{
	struct tide_allowance a;
	struct tide_take take = { .cost = 3000 };
	struct tide_err err;

	start();
	CHECK(fixture_pass(map, "a@b.example", "c@d.example"));
	tide_count(map->counters, TIDE_COUNT_LAPSES, 7);
	CHECK_INT(tide_allowance_make(
		      &a, 10, (struct tide_rate){ 1, 86400000 }, &err),
	    0);
	take.allowance = a;
	take.key = tide_tokens_key(map->key, 0, "ann", 3);
	CHECK_INT(
	    tide_tokens_take(map->tokens, &take, 1000), TIDE_TOKENS_TAKEN);
	write_at(T0 + 1);
	take_manifest();
}

/* Restore what was written into a map of our own; what it lacks. */
static const char *
restored(struct tide_carried *taken)
{
	static struct tide_err lacks;

	lacks.text[0] = '\0';
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	CHECK(unlink(fixture_live_path(&config)) == 0);
	map = fixture_make_map(&config, &archive);
	CHECK_INT(tide_checkpoint_restore(&archive, map, taken, &lacks), 1);
	CHECK_INT(tide_sealer_open(
		      &sealer, map, &archive, fixture_at(T0 + 9), &lacks),
	    0);
	return lacks.text;
}

static uint64_t
lapses(void)
{
	return tide_counter_get(map->counters, 0, TIDE_COUNT_LAPSES);
}

static void
nothing_lacks(void)
{
	struct tide_carried taken;

	start_with_one();
	CHECK(restored(&taken)[0] == '\0');
	CHECK_INT(lapses(), 7);
	CHECK(taken.part[TIDE_CARRIED_TOKENS].size > 0);
	tide_carried_free(&taken);
	end();
}

/* A part more than we know, and one less than we have. */
static void
other_parts(void)
{
	struct tide_carried taken;

	start_with_one();
	memcpy(part("tokens")->name, "novelty", 8);
	put_manifest();
	CHECK(strcmp(restored(&taken), "novelty (not known here)") == 0);
	CHECK_INT(lapses(), 7);
	CHECK(taken.part[TIDE_CARRIED_TOKENS].bytes == NULL);
	tide_carried_free(&taken);
	end();
}

static void
newer_formats(void)
{
	static const char *const names[] = { "tokens", "buckets", "distinct",
		"bulk", "neighbours", "window1" };
	struct tide_carried taken;
	char says[64];
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		start_with_one();
		part(names[i])->format = 77;
		put_manifest();
		(void)snprintf(
		    says, sizeof says, "%s (of a newer format)", names[i]);
		CHECK(strcmp(restored(&taken), says) == 0);
		CHECK_INT(lapses(), 7);
		tide_carried_free(&taken);
		end();
	}
}

/* Counters that cannot be read cost the counters, and no more. */
static void
newer_counters(void)
{
	struct tide_carried taken = { 0 };

	start_with_one();
	part("counters")->format = 77;
	put_manifest();
	CHECK(strcmp(restored(&taken), "counters (of a newer format)") == 0);
	CHECK_INT(lapses(), 0);
	CHECK(taken.part[TIDE_CARRIED_TOKENS].size > 0);
	tide_carried_free(&taken);
	end();
}

/* Two parts of one name: the second would be hidden by the first. */
static void
part_twice(void)
{
	struct tide_carried taken;

	start_with_one();
	memcpy(part("distinct")->name, "tokens", 7);
	put_manifest();
	CHECK(strcmp(restored(&taken), "tokens (there twice)") == 0);
	CHECK(taken.part[TIDE_CARRIED_TOKENS].bytes != NULL);
	CHECK(taken.part[TIDE_CARRIED_DISTINCT].bytes == NULL);
	tide_carried_free(&taken);
	end();
}

/* What an old map could not give comes from the checkpoint, with its time. */
static void
completed(void)
{
	struct tide_carried c;
	struct tide_checkpoint last;
	struct tide_err err;
	char *own;

	start_with_one();
	CHECK_INT(tide_carried_take(&c, map, T0 + 7, &err), 0);
	free(c.part[TIDE_CARRIED_TOKENS].bytes);
	c.part[TIDE_CARRIED_TOKENS].bytes = NULL;
	own = c.part[TIDE_CARRIED_COUNTERS].bytes;
	CHECK_INT(tide_checkpoint_load(&archive, &last, &err), 1);
	last.carried.profiles.name[0][0] ^= 1; /* of other profiles: not */
	tide_carried_complete(&c, &last.carried);
	CHECK(c.part[TIDE_CARRIED_TOKENS].bytes == NULL);
	last.carried.profiles.name[0][0] ^= 1;
	tide_carried_complete(&c, &last.carried);
	CHECK(c.part[TIDE_CARRIED_TOKENS].bytes != NULL);
	CHECK_INT(c.part[TIDE_CARRIED_TOKENS].taken_ms, T0 + 1);
	CHECK(c.part[TIDE_CARRIED_COUNTERS].bytes == own);
	CHECK_INT(c.part[TIDE_CARRIED_COUNTERS].taken_ms, T0 + 7);
	tide_checkpoint_free(&last);
	tide_carried_free(&c);
	end();
}

/* Lapses that wait in a map are stored, once. */
static void
pending_lapses(void)
{
	struct tide_archive_summary sum;
	struct tide_err err;
	unsigned i;

	start();
	for (i = 0; i < 3; i++)
		map->acceptor->lapse[i] =
		    (struct tide_lapse){ .from_ms = T0 + i,
			    .until_ms = T0 + i + 1,
			    .kind = TIDE_LAPSE_CRASH };
	atomic_store(&map->acceptor->lapse_head, 3);
	CHECK_INT(tide_archive_take_lapses(&archive, map->acceptor, &err), 3);
	CHECK_INT(tide_archive_take_lapses(&archive, map->acceptor, &err), 0);
	CHECK_INT(tide_archive_summary(&archive, &sum, &err), 0);
	CHECK_INT(sum.lapses, 3);
	end();
}

/* A window of a format to come is counted, not passed over. */
static void
unread_windows(void)
{
	const uint8_t key[8] = { 0, 0, 0, 0, 0, 0, 0, 1 };
	struct tide_archive_summary sum;
	struct tide_err err;

	start();
	fixture_store(&archive, 1, T0, T0 + 1, "a@b.example", "c@d.example");
	fixture_store(&archive, 2, T0, T0 + 1, "a@b.example", "c@d.example");
	CHECK_INT(tide_archive_summary(&archive, &sum, &err), 0);
	CHECK_INT(sum.windows, 2);
	CHECK_INT(sum.unread, 0);
	bend(TIDE_TABLE_WINDOWS, key, sizeof key, 0); /* its format */
	CHECK_INT(tide_archive_summary(&archive, &sum, &err), 0);
	CHECK_INT(sum.windows, 1);
	CHECK_INT(sum.unread, 1);
	end();
}

/* A manifest of a form to come is no reason to begin without a word. */
static void
newer_manifest(void)
{
	struct tide_err err;

	start_with_one();
	manifest.format++;
	put_manifest();
	CHECK(loaded(&err) == UINT64_MAX);
	CHECK(strstr(err.text, "newer version, or damaged") != NULL);
	write_at(T0 + 5);
	CHECK_INT(loaded(&err), T0 + 5);
	end();
}

/* Killed while it writes: that side is invalid, the other stands. */
static void
cut_short(void)
{
	struct tide_err err;
	struct tide_txn *t;

	start_with_two();
	t = tide_txn_begin(archive.store, true, &err);
	CHECK_INT(tide_txn_del(
		      t, TIDE_TABLE_META, tide_bytes("checkpoint0", 11), &err),
	    1);
	CHECK_INT(tide_txn_commit(t, &err), 0);
	CHECK_INT(loaded(&err), T0 + 2);
	write_at(T0 + 3);
	CHECK_INT(loaded(&err), T0 + 3);
	bend_chunk(0, WINDOW, 90);
	CHECK_INT(loaded(&err), T0 + 2);
	end();
}

static void
archive_is_the_same_when_read(void)
{
	struct tide_err err;
	struct tide_txn *t;
	uint64_t a = 0, b = 0;

	start_with_two();
	t = tide_txn_begin(archive.store, false, &err);
	(void)tide_txn_walk(
	    t, TIDE_TABLE_CHECKPOINT, tide_bytes("", 0), add_bytes, &a, &err);
	tide_txn_abort(t);
	CHECK_INT(loaded(&err), T0 + 2);
	t = tide_txn_begin(archive.store, false, &err);
	(void)tide_txn_walk(
	    t, TIDE_TABLE_CHECKPOINT, tide_bytes("", 0), add_bytes, &b, &err);
	tide_txn_abort(t);
	CHECK(a == b && a != 0);
	end();
}

/* Of other sizes than the configuration of today: loaded all the same. */
static void
of_other_sizes(void)
{
	struct tide_err err = { "" };
	struct tide_carried taken;

	start_with_two();
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	CHECK(unlink(fixture_live_path(&config)) == 0);
	config.window_senders = 5000;
	map = fixture_make_map(&config, &archive);
	CHECK_INT(tide_checkpoint_restore(&archive, map, &taken, &err), 1);
	tide_carried_free(&taken);
	CHECK_INT(tide_archive_has_window(&archive, 1, &err), 1);
	end();
}

CHECK_CASES({ "none yet", none_yet }, { "written and loaded", write_and_load },
    { "two windows; one the archive has is left out", two_windows },
    { "restored into a new map; what came after is a gap", restore },
    { "profiles and accounts go by name", restored_by_name },
    { "two sides take turns", sides_take_turns },
    { "unchanged chunks are skipped", unchanged_chunks_are_skipped },
    { "windows of several chunks", large_windows },
    { "the newest is damaged: the older one", damaged_newest },
    { "both are damaged: an error", damaged_both },
    { "damage is repaired by the next", damage_is_repaired },
    { "ours lacks nothing", nothing_lacks },
    { "a part more, a part less", other_parts },
    { "parts of a newer format are left out and named", newer_formats },
    { "counters of a newer format cost only the counters", newer_counters },
    { "a part that is there twice is named", part_twice },
    { "what is lacking comes from the checkpoint", completed },
    { "lapses that wait in a map are stored once", pending_lapses },
    { "windows that cannot be read are counted", unread_windows },
    { "a manifest of a newer format", newer_manifest },
    { "cut short: the other side stands", cut_short },
    { "loading changes nothing", archive_is_the_same_when_read },
    { "of other sizes", of_other_sizes })
