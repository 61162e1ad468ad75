/*
 * t_query_content - questions about content, over windows that are open,
 * sealed or in a checkpoint: found, certainly absent, not covered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "content.h"
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
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/text/text.h"

static struct tide_config config;
static struct tide_archive archive;
static struct tide_map *map;
static struct tide_sealer sealer;
static uint64_t now;

static void
start(enum tide_memory form)
{
	struct tide_err err = { "" };

	fixture_config(&config);
	config.memory = form;
	config.memory_size = 32768;
	fixture_open_archive(&config, &archive);
	CHECK_INT(tide_archive_name_profiles(&archive, &config, &err), 0);
	map = fixture_make_map(&config, &archive);
	now = 1000;
	CHECK_INT(
	    tide_sealer_open(&sealer, map, &archive, fixture_at(now), &err), 0);
}

static void
end(void)
{
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	tide_archive_close(&archive);
}

static void
seal(void)
{
	struct tide_err err = { "" };
	int i, sealed = 0;

	now += 1000;
	for (i = 0; i < 3; i++)
		sealed += tide_sealer_round(
		    &sealer, fixture_at(now), i == 0 ? 0 : UINT64_MAX, &err);
	CHECK_INT(sealed, 1);
}

/* Text number n: 1,000 letters. */
static char *
text_of(uint64_t n)
{
	static char text[1001];

	content_babble(text, 1000, n);
	return text;
}

/* One message through a profile; NULL leaves its text unread. */
static void
pass_most(
    unsigned profile, const char *from, const char *text, bool cut, size_t most)
{
	const struct tide_hash_key *key = map->key;
	const struct tide_part part = { .kind = TIDE_PART_TEXT };
	struct tide_samples *s = tide_samples_new(key, map->head->memory, most);
	struct tide_text_sink sink = tide_samples_sink(s);
	struct tide_hash sender[2];
	struct tide_harvest h;
	struct tide_traces t = {
		.sender = sender, .profile = profile, .cut = cut, .wire = 2000
	};

	tide_samples_begin(s, tide_hbf_profile(map->profiles->name[profile]));
	sink.begin(sink.arg, &part);
	if (text != NULL)
		sink.text(sink.arg, text, strlen(text));
	sink.end(sink.arg, &part);
	h = tide_samples_harvest(s);
	t.text = text != NULL ? &h : NULL;
	t.senders = tide_address_hashes(key, from, sender);
	CHECK(tide_window_remember(map, &map->slots[0], &t));
	tide_samples_free(s);
}

static void
pass(unsigned profile, const char *from, const char *text, bool cut)
{
	pass_most(profile, from, text, cut, 1000);
}

static struct tide_recall *
excerpt(const char *text, size_t length)
{
	struct tide_recall *r =
	    tide_recall_new(&archive.key, TIDE_RECALL_EXCERPT);
	struct tide_err err;

	CHECK(tide_recall_text(r, text, length, &err) == 0);
	CHECK_MSG(tide_recall_ready(r, &err) >= 0, "%s", err.text);
	return r;
}

static enum tide_verdict
ask(const char *from, uint64_t n, bool offline, struct tide_answer *a)
{
	struct tide_recall *r = excerpt(text_of(n) + 123, 200);
	struct tide_question q = {
		.from = from, .recall = r, .until_ms = now, .now_ms = now
	};
	enum tide_verdict v =
	    fixture_ask(&archive, offline ? NULL : map, &q, a);

	tide_recall_free(r);
	return v;
}

/* ---- found ------------------------------------------------------------- */

static void
open_sealed_and_saved(void)
{
	static const enum tide_memory forms[] = { TIDE_MEMORY_DEFAULT,
		TIDE_MEMORY_CLASSIC };
	struct tide_answer a;
	struct tide_err err;
	unsigned f;

	for (f = 0; f < 2; f++) {
		start(forms[f]);
		pass(0, "a@x.example", text_of(1), false);
		CHECK_INT(ask(NULL, 1, false, NULL), TIDE_FOUND);
		CHECK_INT(ask(NULL, 2, false, NULL), TIDE_ABSENT);
		seal();
		pass(1, "b@x.example", text_of(2), false);
		CHECK_INT(ask(NULL, 1, false, &a), TIDE_FOUND);
		CHECK_INT(a.hits, 1);
		CHECK_INT(a.hit[0].number, 1);
		CHECK(a.hit[0].sealed && a.hit[0].content.levels >= 2);
		CHECK(a.lookups > 0);
		CHECK_STR(a.hit[0].profiles, "external");
		CHECK_INT(a.hit[0].certain, forms[f] == TIDE_MEMORY_DEFAULT);
		tide_answer_free(&a);
		CHECK_INT(ask(NULL, 2, false, &a), TIDE_FOUND);
		CHECK_INT(a.hit[0].number, 2);
		CHECK(!a.hit[0].sealed);
		CHECK_STR(a.hit[0].profiles, "internal");
		tide_answer_free(&a);
		CHECK_INT(ask(NULL, 2, true, NULL), TIDE_ABSENT);
		CHECK_INT(tide_checkpoint_write(&archive, map, now, &err), 0);
		CHECK_INT(ask(NULL, 2, true, &a), TIDE_FOUND);
		CHECK_STR(a.hit[0].profiles, "internal");
		tide_answer_free(&a);
		CHECK_INT(ask(NULL, 3, false, NULL), TIDE_ABSENT);
		end();
	}
}

/* The record knows what its filter holds. */
static void
records_tell_of_content(void)
{
	struct tide_archive_summary sum;
	struct tide_err err;

	start(TIDE_MEMORY_DEFAULT);
	pass(0, "a@x.example", text_of(1), false);
	pass(0, "a@x.example", text_of(2), false);
	CHECK_INT(tide_window_elements(map->window[1], TIDE_FILTER_CONTENT),
	    2 * (31 + 15 + 7 + 3 + 1));
	seal();
	CHECK_INT(tide_archive_summary(&archive, &sum, &err), 0);
	CHECK_INT(sum.wire, 4000);
	CHECK_INT(sum.text, 2000);
	CHECK_INT(sum.kept, 512); /* folded, from 32,768 */
	end();
}

static void
combined_with_addresses(void)
{
	start(TIDE_MEMORY_DEFAULT);
	pass(0, "a@x.example", text_of(1), false);
	seal();
	pass(0, "b@x.example", text_of(2), false);
	CHECK_INT(ask("a@x.example", 1, false, NULL), TIDE_FOUND);
	CHECK_INT(ask("b@x.example", 1, false, NULL), TIDE_ABSENT);
	CHECK_INT(ask("b@x.example", 2, false, NULL), TIDE_FOUND);
	CHECK_INT(ask("no@x.example", 2, false, NULL), TIDE_ABSENT);
	end();
}

/* ---- not covered ------------------------------------------------------- */

static void
what_was_left_out_is_a_gap(void)
{
	struct tide_answer a;
	unsigned i;

	start(TIDE_MEMORY_DEFAULT);
	pass(0, "a@x.example", text_of(1), true);
	for (i = 0; i < 2; i++) { /* open, then sealed */
		CHECK_INT(ask(NULL, 1, false, NULL), TIDE_FOUND);
		CHECK_INT(ask(NULL, 9, false, &a), TIDE_NOT_COVERED);
		CHECK_INT(a.gaps, 1);
		CHECK_INT(a.gap[0].kind, TIDE_LAPSE_CUT);
		CHECK_INT(a.gap[0].from_ms, 1000);
		tide_answer_free(&a);
		/* of another sender nothing was left out */
		CHECK_INT(ask("b@x.example", 9, false, NULL), TIDE_ABSENT);
		if (i == 0)
			seal();
	}
	pass(0, "c@x.example", NULL, false);
	CHECK_INT(ask(NULL, 9, false, &a), TIDE_NOT_COVERED);
	CHECK_INT(a.gaps, 2);
	CHECK_INT(a.gap[1].kind, TIDE_LAPSE_UNREAD);
	tide_answer_free(&a);
	end();
}

static void
memory_off_covers_nothing(void)
{
	start(TIDE_MEMORY_OFF);
	CHECK_INT(ask(NULL, 1, false, NULL), TIDE_ABSENT); /* no mail yet */
	pass(0, "a@x.example", text_of(1), false);
	CHECK_INT(ask(NULL, 1, false, NULL), TIDE_NOT_COVERED);
	seal();
	CHECK_INT(ask(NULL, 1, false, NULL), TIDE_NOT_COVERED);
	end();
}

static bool
enough(void *arg, uint64_t done, uint64_t all)
{
	(void)all;
	return done <= *(const uint64_t *)arg;
}

static void
stopped_in_the_middle(void)
{
	struct tide_recall *r;
	struct tide_question q = { .go_on = enough };
	struct tide_answer a;
	uint64_t i, last = 2;

	start(TIDE_MEMORY_DEFAULT);
	for (i = 1; i <= 5; i++) {
		pass(0, "a@x.example", text_of(i), false);
		seal();
	}
	r = excerpt(text_of(2), 200);
	q.recall = r;
	q.until_ms = q.now_ms = now;
	q.arg = &last;
	CHECK_INT(fixture_ask(&archive, map, &q, &a), TIDE_FOUND);
	CHECK(a.stopped && a.gaps == 1);
	CHECK_INT(a.gap[0].kind, TIDE_LAPSE_STOPPED);
	CHECK_INT(a.gap[0].from_ms, 3000);
	tide_answer_free(&a);
	tide_recall_free(r);
	r = excerpt(text_of(4), 200);
	q.recall = r;
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_NOT_COVERED);
	tide_recall_free(r);
	end();
}

/* ---- other questions --------------------------------------------------- */

static void
too_short_is_no_answer(void)
{
	struct tide_recall *r;
	struct tide_question q = { 0 };
	struct tide_answer a;
	struct tide_err err;

	start(TIDE_MEMORY_DEFAULT);
	pass(0, "a@x.example", "urgentinvoice", false);
	q.until_ms = q.now_ms = now;
	q.recall = r = excerpt("urgentinvoice", 13);
	CHECK_INT(fixture_ask(&archive, map, &q, NULL), TIDE_FOUND);
	tide_recall_free(r);
	q.recall = r = excerpt("urgentinvoic", 12);
	CHECK_INT(tide_query(&archive, map, &q, &a, &err), -1);
	CHECK_MSG(strstr(err.text, "63") != NULL, "%s", err.text);
	tide_recall_free(r);
	end();
}

static void
candidates(void)
{
	struct tide_recall *r;
	struct tide_question q = { 0 };
	struct tide_answer a;
	struct tide_err err;
	char text[1001];

	start(TIDE_MEMORY_DEFAULT);
	memcpy(text, text_of(1), 1001);
	pass(0, "a@x.example", text_of(7), false);
	seal();
	pass(0, "a@x.example", text, false);
	seal();
	r = tide_recall_new(&archive.key, TIDE_RECALL_EXCERPT);
	CHECK(tide_recall_text(r, text, 100, &err) == 0 &&
	    tide_recall_part(r, &err) == 0 &&
	    tide_recall_text(r, text + 108, 100, &err) == 0 &&
	    tide_recall_guess(r, "nonsense", 8, &err) == 0 &&
	    tide_recall_guess(r, text + 100, 8, &err) == 0);
	CHECK_INT(tide_recall_ready(r, &err), 0);
	q.recall = r;
	q.until_ms = q.now_ms = now;
	CHECK_INT(fixture_ask(&archive, map, &q, &a), TIDE_FOUND);
	CHECK_INT(a.hits, 1);
	CHECK_INT(a.hit[0].content.distance, 8);
	CHECK_INT(a.fits, 1);
	CHECK_INT(a.fit[0].guess, 1);
	CHECK_INT(a.fit[0].window, 2);
	CHECK(a.fit[0].error < a.hit[0].error);
	tide_answer_free(&a);
	tide_recall_free(r);
	end();
}

/* A window that gets as much content as it was sized for is due. */
static void
content_fills_a_window(void)
{
	struct tide_err err = { "" };
	uint64_t i;

	start(TIDE_MEMORY_CLASSIC);
	for (i = 0; !tide_window_is_full(map, map->window[1]); i++) {
		CHECK_INT(tide_sealer_round(
			      &sealer, fixture_at(now), UINT64_MAX / 2, &err),
		    0);
		pass(0, "a@x.example", text_of(i), false);
		CHECK(i < 1000);
	}
	CHECK_INT(i, (TIDE_CLASSIC_SATURATION + 56) / 57);
	CHECK_INT(
	    tide_sealer_round(&sealer, fixture_at(now), UINT64_MAX / 2, &err),
	    1);
	end();
}

/* One burst may be more than a window: it is said, and its chance is. */
static void
a_large_message_overfills(void)
{
	static char large[200001];
	struct tide_window_record r;
	struct tide_bytes key, value;
	struct tide_txn *txn;
	struct tide_err err;

	start(TIDE_MEMORY_CLASSIC);
	content_babble(large, 200000, 5);
	pass_most(0, "a@x.example", large, false, TIDE_SAMPLES_MOST);
	CHECK_INT(
	    tide_sealer_round(&sealer, fixture_at(now), UINT64_MAX / 2, &err),
	    1);
	CHECK_INT(
	    tide_counter_get(map->counters, 0, TIDE_COUNT_WINDOWS_OVERFILLED),
	    1);
	txn = tide_txn_begin(archive.store, false, &err);
	CHECK_INT(
	    tide_txn_last(txn, TIDE_TABLE_WINDOWS, &key, &value, &err), 1);
	CHECK(tide_window_record_read(value, &r) != NULL);
	CHECK(r.flags & TIDE_WINDOW_WAS_OVERFILLED);
	CHECK_INT(r.longest, 200000 / 32);
	CHECK_INT(r.shape[TIDE_FILTER_CONTENT].bits, TIDE_CLASSIC_BITS);
	tide_txn_abort(txn);
	end();
}

CHECK_CASES(
    { "open, sealed, saved: found, with the profile", open_sealed_and_saved },
    { "records tell of content", records_tell_of_content },
    { "text and addresses, in one window", combined_with_addresses },
    { "what was left out is a gap", what_was_left_out_is_a_gap },
    { "memory off covers nothing", memory_off_covers_nothing },
    { "stopped in the middle", stopped_in_the_middle },
    { "too short is no answer", too_short_is_no_answer },
    { "candidates for a gap", candidates },
    { "content fills a window", content_fills_a_window },
    { "a large message overfills", a_large_message_overfills })
