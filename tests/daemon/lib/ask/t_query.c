/*
 * Query: found, certainly absent, and every way of not knowing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/address.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static struct tide_config config;
static struct tide_archive archive;
static struct tide_map *map;
static struct tide_sealer sealer;

/* Windows 1 (10..20), 2 (20..30), 4 (40..50); none of 30..40.  The map's
 * window 5 has been open since 50; it is 60 now. */
static void
start(void)
{
	struct tide_err err = { "" };

	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	fixture_store(&archive, 1, 10, 20, "one@a.example", "eins@z.example");
	fixture_store(&archive, 2, 20, 30, "two@a.example", "zwei@z.example");
	fixture_store(&archive, 4, 40, 50, "<>", "vier@z.example");
	map = fixture_make_map(&config, &archive);
	CHECK_INT(
	    tide_sealer_open(&sealer, map, &archive, fixture_at(50), &err), 0);
	CHECK(fixture_pass(map, "five@b.example", "fuenf@z.example"));
}

static void
end(void)
{
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	tide_archive_close(&archive);
}

#define MEMORY 0 /* no since: as far back as is remembered */

static enum tide_verdict
ask(const char *from, const char *to, uint64_t since, uint64_t until,
    struct tide_answer *a)
{
	struct tide_question q = { .from = from,
		.to = to,
		.has_since = since != MEMORY,
		.since_ms = since,
		.until_ms = until,
		.now_ms = 60 };

	return fixture_ask(&archive, map, &q, a);
}

/* ---- answers ----------------------------------------------------------- */

static void
answers(void)
{
	static const struct query_case {
		const char *name, *from, *to;
		uint64_t since, until;
		enum tide_verdict want;
	} cases[] = {
		{ "in a sealed window", "one@a.example", NULL, 10, 60,
		    TIDE_FOUND },
		{ "in the open window", "five@b.example", NULL, 50, 60,
		    TIDE_FOUND },
		{ "brackets and case", "<FIVE@b.Example>", NULL, 50, 60,
		    TIDE_FOUND },
		{ "by recipient", NULL, "zwei@z.example", 10, 60, TIDE_FOUND },
		{ "a whole domain", "@a.example", NULL, 20, 30, TIDE_FOUND },
		{ "the null sender", "<>", NULL, 40, 50, TIDE_FOUND },
		{ "from and to", "two@a.example", "zwei@z.example", 20, 30,
		    TIDE_FOUND },
		{ "from and to of different windows", "one@a.example",
		    "zwei@z.example", 10, 30, TIDE_ABSENT },
		{ "a recipient is no sender", "zwei@z.example", NULL, 10, 30,
		    TIDE_ABSENT },
		{ "never seen", "no@a.example", NULL, 10, 30, TIDE_ABSENT },
		{ "another domain", "@no.example", NULL, 10, 30, TIDE_ABSENT },
		{ "no null sender there", "<>", NULL, 10, 30, TIDE_ABSENT },
		{ "outside of its window", "one@a.example", NULL, 21, 30,
		    TIDE_ABSENT },
		{ "touching its window", "one@a.example", NULL, 20, 30,
		    TIDE_FOUND },
		{ "a point in time", "one@a.example", NULL, 15, 15,
		    TIDE_FOUND },
		{ "a gap between windows", "no@a.example", NULL, 10, 60,
		    TIDE_NOT_COVERED },
		{ "a gap, but found", "one@a.example", NULL, 10, 60,
		    TIDE_FOUND },
		{ "all within the gap", "one@a.example", NULL, 32, 38,
		    TIDE_NOT_COVERED },
		{ "before memory begins", "no@a.example", NULL, 9, 30,
		    TIDE_NOT_COVERED },
		{ "up to now, all covered", "no@a.example", NULL, 40, 60,
		    TIDE_ABSENT },
		{ "beyond now is up to now", "no@a.example", NULL, 40, 999,
		    TIDE_ABSENT },
		{ "default since", "one@a.example", NULL, MEMORY, 60,
		    TIDE_FOUND },
		{ "default since, with the gap", "no@a.example", NULL, MEMORY,
		    60, TIDE_NOT_COVERED },
		{ "default since, up to the gap", "no@a.example", NULL, MEMORY,
		    30, TIDE_ABSENT },
		{ "default since, up to before memory", "no@a.example", NULL,
		    MEMORY, 5, TIDE_NOT_COVERED },
		{ "a moment that is covered", "no@a.example", NULL, 15, 15,
		    TIDE_ABSENT },
		{ "a moment within the gap", "no@a.example", NULL, 35, 35,
		    TIDE_NOT_COVERED },
		{ "ends before it begins", "one@a.example", NULL, 30, 20,
		    TIDE_UNANSWERED },
		{ "begins after now", "one@a.example", NULL, 61, 99,
		    TIDE_UNANSWERED },
		{ "nothing asked", NULL, NULL, 10, 60, TIDE_UNANSWERED },
		{ "an empty address", "", NULL, 10, 60, TIDE_UNANSWERED },
	};
	size_t i;

	start();
	for (i = 0; i < LENGTH(cases); i++) {
		const struct query_case *c = &cases[i];
		enum tide_verdict v =
		    ask(c->from, c->to, c->since, c->until, NULL);

		CHECK_MSG(v == c->want, "%s: %d, not %d", c->name, (int)v,
		    (int)c->want);
	}
	end();
}

static void
what_an_answer_says(void)
{
	struct tide_answer a;

	start();
	CHECK_INT(ask("@a.example", NULL, MEMORY, 999, &a), TIDE_FOUND);
	CHECK_INT(a.since_ms, 10);
	CHECK_INT(a.until_ms, 60);
	CHECK_INT(a.windows, 4);
	CHECK_INT(a.hits, 2);
	CHECK_INT(a.hit[0].number, 1);
	CHECK_INT(a.hit[0].from_ms, 10);
	CHECK_INT(a.hit[1].until_ms, 30);
	CHECK(a.hit[0].sealed && a.hit[1].sealed);
	CHECK(a.hit[0].error > 0 && a.hit[0].error < 0.01);
	CHECK(a.error >= a.hit[0].error + a.hit[1].error && a.error < 0.05);
	CHECK_INT(a.gaps, 1);
	CHECK_INT(a.gap[0].from_ms, 30);
	CHECK_INT(a.gap[0].until_ms, 40);
	CHECK_INT(a.gap[0].kind, 0);
	tide_answer_free(&a);
	CHECK_INT(ask("five@b.example", NULL, 55, 60, &a), TIDE_FOUND);
	CHECK_INT(a.hits, 1);
	CHECK(!a.hit[0].sealed);
	CHECK_INT(a.hit[0].number, 5);
	CHECK_INT(a.hit[0].until_ms, 60);
	tide_answer_free(&a);
	end();
}

static void
empty_archive(void)
{
	struct tide_question q = {
		.from = "a@b", .until_ms = 60, .now_ms = 60
	};

	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	CHECK_INT(fixture_ask(&archive, NULL, &q, NULL), TIDE_NOT_COVERED);
	q.has_since = true;
	CHECK_INT(fixture_ask(&archive, NULL, &q, NULL), TIDE_NOT_COVERED);
	tide_archive_close(&archive);
}

/* ---- gaps -------------------------------------------------------------- */

static void
lapses(void)
{
	static const struct lapse_case {
		const char *name;
		struct tide_lapse lapse;
		uint64_t since, until;
		enum tide_verdict want;
	} cases[] = {
		{ "down", { 12, 14, TIDE_LAPSE_DOWN, 0 }, 10, 20,
		    TIDE_NOT_COVERED },
		{ "crash", { 12, 14, TIDE_LAPSE_CRASH, 0 }, 10, 20,
		    TIDE_NOT_COVERED },
		{ "on_error", { 12, 14, TIDE_LAPSE_ERROR, 0 }, 10, 20,
		    TIDE_NOT_COVERED },
		{ "full", { 12, 14, TIDE_LAPSE_FULL, 0 }, 10, 20,
		    TIDE_NOT_COVERED },
		{ "of no length", { 12, 12, TIDE_LAPSE_CRASH, 0 }, 10, 20,
		    TIDE_NOT_COVERED },
		{ "reaching in", { 1, 10, TIDE_LAPSE_DOWN, 0 }, 10, 20,
		    TIDE_NOT_COVERED },
		{ "before", { 11, 12, TIDE_LAPSE_DOWN, 0 }, 13, 20,
		    TIDE_ABSENT },
		{ "after", { 28, 29, TIDE_LAPSE_DOWN, 0 }, 10, 20,
		    TIDE_ABSENT },
	};
	struct tide_answer a;
	struct tide_err err;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		const struct lapse_case *c = &cases[i];

		start();
		CHECK_INT(tide_archive_put_lapse(&archive, &c->lapse, &err), 0);
		CHECK_MSG(ask("no@a.example", NULL, c->since, c->until, &a) ==
			c->want,
		    "%s", c->name);
		CHECK(a.gaps == 0 ||
		    (a.gap[0].kind == c->lapse.kind &&
			a.gap[0].from_ms >= c->since &&
			a.gap[0].until_ms <= c->until));
		tide_answer_free(&a);
		CHECK_INT(ask("one@a.example", NULL, 10, 20, NULL), TIDE_FOUND);
		end();
	}
}

/* No acceptor has beaten since 56: nobody took connections. */
static void
silent_acceptor(void)
{
	struct tide_question q = { .from = "no@b.example",
		.has_since = true,
		.since_ms = 50,
		.until_ms = 3600056,
		.now_ms = 3600056 };
	struct tide_answer a;

	start();
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_ABSENT);
	atomic_store(&map->acceptor->pulse_wall_ms, 56);
	CHECK_INT(fixture_ask(&archive, map, &q, &a), TIDE_NOT_COVERED);
	CHECK_INT(a.gaps, 1);
	CHECK_INT(a.gap[0].kind, TIDE_LAPSE_DOWN);
	CHECK_INT(a.gap[0].from_ms, 56);
	tide_answer_free(&a);
	q.until_ms = 55;
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_ABSENT);
	end();
}

static void
reasons_have_words(void)
{
	uint32_t k;

	for (k = 0; k <= TIDE_LAPSE_DAMAGE; k++)
		CHECK(strcmp(tide_gap_reason(k), "unknown") != 0);
	CHECK_STR(tide_gap_reason(4711), "unknown");
}

/* Overwrite a record or a chunk with bytes that are none. */
static void
spoil(int table, const void *key, size_t size, size_t length)
{
	static const char junk[1024] = "junk";
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(archive.store, true, &err);

	CHECK_INT(tide_txn_put(t, table, tide_bytes(key, size),
		      tide_bytes(junk, length), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
}

static void
spoil_record(uint64_t number)
{
	uint8_t key[8];

	tide_key_number(key, number);
	spoil(TIDE_TABLE_WINDOWS, key, 8, sizeof(struct tide_window_record));
}

static void
damaged_records(void)
{
	static const struct damage_case {
		const char *name;
		uint64_t number, since, until;
		enum tide_verdict want;
	} cases[] = {
		{ "the oldest, by memory", 1, MEMORY, 30, TIDE_NOT_COVERED },
		{ "the oldest, asked for", 1, 10, 20, TIDE_NOT_COVERED },
		{ "a middle one", 2, 10, 30, TIDE_NOT_COVERED },
		{ "the last one", 4, 40, 60, TIDE_NOT_COVERED },
		{ "one that is not asked for", 4, 10, 20, TIDE_ABSENT },
	};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		start();
		spoil_record(cases[i].number);
		CHECK_MSG(ask("no@a.example", NULL, cases[i].since,
			      cases[i].until, NULL) == cases[i].want,
		    "%s", cases[i].name);
		end();
	}
}

/* Its time is also another's, so nothing is uncovered; it is a gap still. */
static void
damaged_and_overlapped(void)
{
	start();
	fixture_store(&archive, 3, 5, 35, "wide@a.example", "x@z.example");
	spoil_record(2);
	CHECK_INT(ask("two@a.example", NULL, 10, 30, NULL), TIDE_NOT_COVERED);
	end();
}

static void
damaged_chunk(void)
{
	const uint8_t key[17] = { 0, 0, 0, 0, 0, 0, 0, 2, 0 };
	struct tide_answer a;

	start();
	spoil(TIDE_TABLE_FILTERS, key, sizeof key, 8 + 512);
	CHECK_INT(ask("two@a.example", NULL, 20, 30, &a), TIDE_NOT_COVERED);
	CHECK_INT(a.gaps, 1);
	CHECK_INT(a.gap[0].kind, TIDE_LAPSE_DAMAGE);
	CHECK_INT(a.gap[0].from_ms, 20);
	CHECK_INT(a.gap[0].until_ms, 30);
	tide_answer_free(&a);
	CHECK_INT(ask(NULL, "zwei@z.example", 20, 30, NULL), TIDE_FOUND);
	end();
}

static void
damaged_lapse(void)
{
	const struct tide_lapse lapse = { 12, 14, TIDE_LAPSE_DOWN, 0 };
	uint8_t key[16];
	struct tide_err err;

	start();
	CHECK_INT(tide_archive_put_lapse(&archive, &lapse, &err), 0);
	tide_key_number(key, 12);
	tide_key_number(key + 8, TIDE_LAPSE_DOWN);
	spoil(TIDE_TABLE_LAPSES, key, 16, sizeof lapse);
	CHECK_INT(ask("no@a.example", NULL, 20, 30, NULL), TIDE_NOT_COVERED);
	CHECK_INT(ask("two@a.example", NULL, 20, 30, NULL), TIDE_FOUND);
	end();
}

/* ---- the map ----------------------------------------------------------- */

/* In the map and in the archive at once: one hit. */
static void
sealed_while_asking(void)
{
	struct tide_answer a;
	struct tide_err err;

	start();
	CHECK_INT(tide_sealer_round(&sealer, fixture_at(60), 0, &err), 1);
	CHECK_INT(ask("five@b.example", NULL, 40, 60, &a), TIDE_FOUND);
	CHECK_INT(a.hits, 1);
	CHECK(a.hit[0].sealed);
	tide_answer_free(&a);
	CHECK_INT(ask("no@b.example", NULL, 40, 60, NULL), TIDE_ABSENT);
	/* as if S5 were done and S6 not: the bits are in both */
	atomic_store(&map->window[1]->state, TIDE_WINDOW_SEALING);
	atomic_store(&map->control->window[1].number, 5);
	CHECK_INT(ask("five@b.example", NULL, 40, 60, &a), TIDE_FOUND);
	CHECK_INT(a.hits, 1);
	tide_answer_free(&a);
	atomic_store(&map->window[1]->state, TIDE_WINDOW_CLEARING);
	CHECK_INT(ask("five@b.example", NULL, 40, 60, NULL), TIDE_FOUND);
	end();
}

#define SEALS 200

static void *
seal_on(void *arg)
{
	struct tide_err err;
	uint64_t i;

	for (i = 1; i <= SEALS; i++) {
		if (tide_sealer_round(&sealer, fixture_at(60 + i), 0, &err) < 0)
			return arg;
		if (!fixture_pass(map, "more@b.example", "x@z.example"))
			return arg;
	}
	return NULL;
}

/* The archivist seals as fast as it can while a control thread asks: what was
 * there at the start is found every time. */
static void
asked_while_sealing(void)
{
	struct tide_question q = { .from = "five@b.example",
		.has_since = true,
		.since_ms = 40,
		.until_ms = 60 + SEALS,
		.now_ms = 60 + SEALS };
	pthread_t thread;
	void *failed = NULL;
	unsigned i, missed = 0;

	start();
	CHECK(pthread_create(&thread, NULL, seal_on, &q) == 0);
	for (i = 0; i < 2000; i++)
		missed += fixture_ask(&archive, map, &q, NULL) != TIDE_FOUND;
	CHECK(pthread_join(thread, &failed) == 0);
	CHECK(failed == NULL);
	CHECK_INT(missed, 0);
	end();
}

static void
sealing_window_ends_at_its_close(void)
{
	struct tide_answer a;
	struct tide_err err;

	start();
	atomic_store(&map->slots[2].epoch, atomic_load(&map->control->epoch));
	CHECK_INT(tide_sealer_round(&sealer, fixture_at(55), 0, &err), 0);
	CHECK_INT(ask("five@b.example", NULL, 40, 60, &a), TIDE_FOUND);
	CHECK_INT(a.hit[0].until_ms, 55);
	CHECK_INT(a.gaps, 0); /* the next one covers the rest */
	tide_answer_free(&a);
	end();
}

/* ---- offline ----------------------------------------------------------- */

static void
checkpoint_offline(void)
{
	struct tide_question q = { .from = "five@b.example",
		.has_since = true,
		.since_ms = 40,
		.until_ms = 57,
		.now_ms = 60 };
	struct tide_err err;

	start();
	CHECK_INT(fixture_ask(&archive, NULL, &q, NULL), TIDE_NOT_COVERED);
	CHECK_INT(tide_checkpoint_write(&archive, map, 57, &err), 0);
	CHECK_INT(fixture_ask(&archive, NULL, &q, NULL), TIDE_FOUND);
	q.from = "no@b.example";
	CHECK_INT(fixture_ask(&archive, NULL, &q, NULL), TIDE_ABSENT);
	q.until_ms = 58; /* past the checkpoint */
	CHECK_INT(fixture_ask(&archive, NULL, &q, NULL), TIDE_NOT_COVERED);
	end();
}

/* ---- addresses --------------------------------------------------------- */

static bool
same(struct tide_hash a, struct tide_hash b)
{
	return a.low == b.low && a.high == b.high;
}

static void
addresses(void)
{
	static const struct address_case {
		const char *name, *address;
		size_t hashes;
		const char *asked;  /* finds hash 0; NULL: nothing does */
		const char *domain; /* finds hash 1 */
	} cases[] = {
		{ "plain", "a@b.example", 2, "a@b.example", "@b.example" },
		{ "brackets", "<a@b.example>", 2, "a@b.example", "@b.example" },
		{ "case", "A.B@B.Example", 2, "a.b@b.EXAMPLE", "@B.example" },
		{ "spaces", "  <a@b>  ", 2, "a@b", "<@b>" },
		{ "null sender", "<>", 1, "<>", NULL },
		{ "null sender in spaces", " <> ", 1, "<>", NULL },
		{ "no domain", "postmaster", 1, "<postmaster>", NULL },
		{ "a domain alone", "@b.example", 1, "@b.example", NULL },
		{ "two @", "\"a@x\"@b", 2, "\"a@x\"@b", "@b" },
		{ "a source route", "<@x,@y:a@b>", 2, "@x,@y:a@b", "@b" },
		{ "eight bits", "m\xc3\xbcller@b", 2, "m\xc3\xbcller@b", "@b" },
		{ "empty", "", 0, NULL, NULL },
		{ "blank", "   ", 0, NULL, NULL },
	};
	struct tide_hash_key key;
	struct tide_hash h[2], q[2];
	struct tide_err err;
	size_t i;

	CHECK_INT(tide_hash_key_draw(&key, &err), 0);
	for (i = 0; i < LENGTH(cases); i++) {
		const struct address_case *c = &cases[i];

		CHECK_MSG(tide_address_hashes(&key, c->address, h) == c->hashes,
		    "%s", c->name);
		CHECK_MSG(c->hashes > 0 ||
			!tide_address_question(&key, c->address, q),
		    "%s", c->name);
		if (c->asked != NULL)
			CHECK_MSG(tide_address_question(&key, c->asked, q) &&
				same(q[0], h[0]),
			    "%s", c->name);
		if (c->domain != NULL)
			CHECK_MSG(tide_address_question(&key, c->domain, q) &&
				same(q[0], h[1]),
			    "%s: its domain", c->name);
	}
}

static void
long_addresses(void)
{
	struct tide_hash_key key;
	struct tide_hash h[2], q[2];
	struct tide_err err;
	char text[3000];
	size_t n;

	CHECK_INT(tide_hash_key_draw(&key, &err), 0);
	for (n = 900; n < sizeof text; n += 31) {
		memset(text, 'A', n);
		memcpy(text + n - 2, "@b", 3);
		if (tide_address_hashes(&key, text, h) == 0)
			CHECK(!tide_address_question(&key, text, q));
		else
			CHECK(tide_address_question(&key, text, q) &&
			    same(q[0], h[0]));
	}
}

CHECK_CASES({ "answers", answers },
    { "what an answer says", what_an_answer_says },
    { "an empty archive", empty_archive }, { "lapses", lapses },
    { "an acceptor that is silent", silent_acceptor },
    { "gaps have reasons", reasons_have_words },
    { "damaged records are gaps", damaged_records },
    { "a damaged record whose time is another's", damaged_and_overlapped },
    { "a damaged chunk is a gap", damaged_chunk },
    { "a damaged lapse is a gap", damaged_lapse },
    { "a window sealed while asking is one hit", sealed_while_asking },
    { "asked by one thread while another seals", asked_while_sealing },
    { "a sealing window ends at its close", sealing_window_ends_at_its_close },
    { "offline, from the checkpoint", checkpoint_offline },
    { "addresses", addresses }, { "long addresses", long_addresses })
