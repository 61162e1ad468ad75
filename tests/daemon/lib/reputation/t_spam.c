/*
 * Spam: what is reported is met, what is revoked is not, generations fade,
 * and the archive gives everything back.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/spam_archive.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/signature_text.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

static struct tide_slot slots[2];
static tide_epoch epoch = 1;
static const struct tide_workers workers = { slots, 2, &epoch };
static struct tide_hash_key key;

static struct tide_spam
new_spam(uint64_t reports, uint32_t generations)
{
	struct tide_spam_shape s = tide_spam_size(reports, 1e-6, generations);
	struct tide_spam m;
	void *region = aligned_alloc(4096, tide_spam_bytes(&s));

	CHECK(region != NULL);
	memset(region, 0, tide_spam_bytes(&s));
	tide_spam_attach(&m, region, &s);
	return m;
}

static void
begin(struct tide_spam *m, uint64_t number)
{
	struct tide_err err;

	CHECK_INT(tide_spam_begin_generation(
		      m, &workers, number, 1000 * number, 0, &err),
	    0);
}

static uint64_t
word(uint64_t a, uint64_t b)
{
	uint64_t name[2] = { a, b };

	return tide_hash(&key, name, sizeof name).low;
}

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Message number `which', with so many samples of its own replaced. */
static struct tide_signatures
message(uint64_t which, unsigned changed)
{
	struct tide_signatures s;
	size_t i;

	memset(&s, 0, sizeof s);
	s.has_text = true;
	s.text.low = word(which, 1000 + changed);
	s.text.high = word(which, 2000 + changed);
	s.files = 1;
	s.file[0].low = word(which, 3000);
	s.file[0].high = word(which, 4000);
	s.samples = TIDE_SKETCH;
	for (i = 0; i < TIDE_SKETCH; i++)
		s.sample[i] =
		    i < changed ? word(which, 5000 + i) : word(which, i);
	qsort(s.sample, TIDE_SKETCH, sizeof *s.sample, by_value);
	return s;
}

static enum tide_spam_how
look(const struct tide_spam *m, const struct tide_signatures *s)
{
	struct tide_spam_match match;
	bool spam = tide_spam_test(m, NULL, NULL, s, &match);

	CHECK(spam == (match.how != TIDE_SPAM_NOT));
	return match.how;
}

static struct tide_signatures
without_file(struct tide_signatures s)
{
	s.files = 0;
	return s;
}

/* ---- meeting ----------------------------------------------------------- */

static void
met(void)
{
	struct tide_spam m = new_spam(1000, 3);
	struct tide_signatures a = message(1, 0), b = message(2, 0), near, far;
	struct tide_spam_match match;

	CHECK_INT(look(&m, &a), TIDE_SPAM_NOT); /* no generation at all */
	begin(&m, 1);
	CHECK_INT(look(&m, &a), TIDE_SPAM_NOT);
	tide_spam_put(&m, 1, TIDE_SPAM_REPORTED, &a);
	CHECK_INT(look(&m, &a), TIDE_SPAM_TEXT);
	CHECK_INT(look(&m, &b), TIDE_SPAM_NOT);
	near = message(1, 8);
	CHECK_INT(look(&m, &near), TIDE_SPAM_FILE);
	near = without_file(near);
	CHECK_INT(look(&m, &near), TIDE_SPAM_NEAR);
	CHECK(tide_spam_test(&m, NULL, NULL, &near, &match));
	CHECK_INT(match.generation, 1);
	CHECK_INT(match.began_ms, 1000);
	CHECK(match.met >= match.needed && match.met < TIDE_PAIRS);
	far = without_file(message(1, 50));
	CHECK_INT(look(&m, &far), TIDE_SPAM_NOT);
	/* no text, no sketch: only the file speaks */
	a.has_text = false;
	a.samples = 0;
	CHECK_INT(look(&m, &a), TIDE_SPAM_FILE);
	free(m.head);
}

static void
revoked(void)
{
	struct tide_spam m = new_spam(1000, 3);
	struct tide_signatures a = without_file(message(1, 0)),
			       near = without_file(message(1, 8)),
			       b = without_file(message(2, 0)),
			       near_b = without_file(message(2, 8));

	begin(&m, 1);
	tide_spam_put(&m, 1, TIDE_SPAM_REPORTED, &a);
	tide_spam_put(&m, 1, TIDE_SPAM_REPORTED, &b);
	begin(&m, 2);
	tide_spam_put(&m, 2, TIDE_SPAM_REVOKED, &a);
	CHECK_INT(look(&m, &a), TIDE_SPAM_NOT);
	CHECK_INT(look(&m, &near), TIDE_SPAM_NOT);
	CHECK_INT(look(&m, &b), TIDE_SPAM_TEXT);
	CHECK_INT(look(&m, &near_b), TIDE_SPAM_NEAR);
	/* a near copy revoked: it and its like go, the reported text stays */
	tide_spam_put(&m, 2, TIDE_SPAM_REVOKED, &near_b);
	CHECK_INT(look(&m, &near_b), TIDE_SPAM_NOT);
	CHECK_INT(look(&m, &b), TIDE_SPAM_TEXT);
	/* the report fades before its revocation */
	begin(&m, 3);
	CHECK_INT(look(&m, &a), TIDE_SPAM_NOT);
	begin(&m, 4);
	CHECK_INT(look(&m, &a), TIDE_SPAM_NOT);
	begin(&m, 5);
	CHECK_INT(look(&m, &a), TIDE_SPAM_NOT);
	free(m.head);
}

static void
fading(void)
{
	struct tide_spam m = new_spam(1000, 3);
	struct tide_signatures s[8];
	uint64_t g, old;

	for (g = 1; g < 8; g++) {
		s[g] = message(g, 0);
		begin(&m, g);
		tide_spam_put(&m, g, TIDE_SPAM_REPORTED, &s[g]);
		for (old = 1; old <= g; old++)
			CHECK_INT(look(&m, &s[old]),
			    old + 3 > g ? TIDE_SPAM_TEXT : TIDE_SPAM_NOT);
	}
	/* numbers that are left out have nothing */
	begin(&m, 9);
	CHECK_INT(look(&m, &s[7]), TIDE_SPAM_TEXT);
	CHECK_INT(look(&m, &s[6]), TIDE_SPAM_NOT);
	CHECK_INT(look(&m, &s[5]), TIDE_SPAM_NOT);
	free(m.head);
}

/* A full generation: strangers are not met. */
static void
full(void)
{
	struct tide_spam m = new_spam(1000, 1);
	struct tide_signatures s;
	unsigned i, wrong = 0;

	begin(&m, 1);
	for (i = 0; i < 1000; i++) {
		s = message(i, 0);
		tide_spam_put(&m, 1, TIDE_SPAM_REPORTED, &s);
	}
	for (i = 0; i < 1000; i++) {
		s = without_file(message(i, 8));
		CHECK_INT(look(&m, &s), TIDE_SPAM_NEAR);
		s = message(100000 + i, 0);
		wrong += look(&m, &s) != TIDE_SPAM_NOT;
	}
	CHECK_INT(wrong, 0);
	free(m.head);
}

/* ---- words for the control socket -------------------------------------- */

static void
words(void)
{
	struct tide_signatures s = message(3, 0), got;
	struct tide_signature_words w;
	char spoilt[sizeof w.samples];

	tide_signatures_show(&s, &w);
	CHECK(tide_signatures_read(w.text, w.files, w.samples, &got));
	CHECK(memcmp(&s, &got, sizeof s) == 0);
	CHECK(tide_signatures_read(NULL, w.files, "", &got));
	CHECK(!got.has_text && got.files == 1);
	CHECK(!tide_signatures_read("", w.files, w.samples, &got));
	CHECK(!tide_signatures_read("12", NULL, NULL, &got));
	CHECK(!tide_signatures_read(w.samples, NULL, NULL, &got));
	memcpy(spoilt, w.samples, sizeof spoilt);
	spoilt[5] = 'g';
	CHECK(!tide_signatures_read(w.text, NULL, spoilt, &got));
	memcpy(spoilt, w.samples + 16, 16);
	memcpy(spoilt + 16, w.samples, 16);
	CHECK(!tide_signatures_read(w.text, NULL, spoilt, &got));
}

/* ---- the archive ------------------------------------------------------- */

static struct tide_config config;
static struct tide_archive archive;

static void
open_archive(void)
{
	struct tide_err err;

	CHECK_MSG(tide_archive_open(&archive, config.state_dir,
		      TIDE_ARCHIVE_OWN, FIXTURE_MAP_SIZE, &err) == 0,
	    "%s", err.text);
}

static void
report(struct tide_spam *m, uint64_t sequence, uint64_t generation,
    enum tide_spam_kind kind, struct tide_signatures s)
{
	struct tide_err err;

	CHECK_INT(tide_archive_report_spam(
		      &archive, sequence, generation, kind, &s, &err),
	    0);
	tide_spam_put(m, generation, kind, &s);
	atomic_fetch_add(
	    &tide_spam_generation(m, generation)->messages[kind], 1);
}

static void
load(struct tide_spam *m, struct tide_stored_spam *stored)
{
	struct tide_err err;

	CHECK_INT(tide_archive_spam(&archive, &m->shape, stored, &err), 1);
	CHECK_MSG(tide_archive_load_spam(&archive, m, stored, &err) == 0, "%s",
	    err.text);
}

static void
kept(void)
{
	struct tide_spam m = new_spam(1000, 2), fresh, other;
	struct tide_stored_spam stored;
	struct tide_signatures a = message(1, 0), b = message(2, 0),
			       c = message(3, 0);
	struct tide_err err;

	fixture_config(&config);
	open_archive();
	CHECK_INT(tide_archive_spam(&archive, &m.shape, &stored, &err), 0);
	CHECK_INT(tide_archive_begin_spam(
		      &archive, &m.shape, 1, 1000, 1, false, &err),
	    0);
	begin(&m, 1);
	report(&m, 1, 1, TIDE_SPAM_REPORTED, a);
	report(&m, 2, 1, TIDE_SPAM_REPORTED, b);
	CHECK_INT(tide_archive_save_spam(&archive, &m, 1, 2, &err), 0);
	report(&m, 3, 1, TIDE_SPAM_REPORTED, c);
	report(&m, 4, 1, TIDE_SPAM_REVOKED, b);
	tide_archive_close(&archive);
	open_archive();
	fresh = new_spam(1000, 2);
	load(&fresh, &stored);
	CHECK_INT(stored.newest, 1);
	CHECK_INT(stored.base, 2);
	CHECK_INT(stored.sequence, 4);
	CHECK_INT(look(&fresh, &a), TIDE_SPAM_TEXT);
	CHECK_INT(look(&fresh, &b), TIDE_SPAM_NOT);
	CHECK_INT(look(&fresh, &c), TIDE_SPAM_TEXT);
	CHECK_INT(tide_spam_generation(&fresh, 1)->messages[0], 3);
	CHECK_INT(tide_spam_generation(&fresh, 1)->messages[1], 1);
	CHECK_INT(tide_spam_generation(&fresh, 1)->began_ms, 1000);

	/* records that the map has already change nothing */
	CHECK_INT(tide_archive_replay_spam(&archive, &fresh, &stored, &err), 0);
	CHECK_INT(tide_spam_generation(&fresh, 1)->messages[0], 3);
	free(fresh.head);

	/* the oldest goes with the third generation */
	CHECK_INT(tide_archive_save_spam(&archive, &m, 1, 4, &err), 0);
	CHECK_INT(tide_archive_begin_spam(
		      &archive, &m.shape, 2, 2000, 1, false, &err),
	    0);
	CHECK_INT(tide_archive_begin_spam(
		      &archive, &m.shape, 3, 3000, 2, false, &err),
	    0);
	fresh = new_spam(1000, 2);
	load(&fresh, &stored);
	CHECK_INT(stored.newest, 3);
	CHECK_INT(look(&fresh, &a), TIDE_SPAM_NOT);
	free(fresh.head);

	/* other sizes: refused, but numbers go on */
	other = new_spam(2000, 2);
	CHECK_INT(tide_archive_spam(&archive, &other.shape, &stored, &err), -1);
	CHECK(strstr(err.text, "spam_reports") != NULL);
	CHECK_INT(stored.newest, 3);
	CHECK_INT(tide_archive_begin_spam(
		      &archive, &other.shape, 4, 4000, 4, true, &err),
	    0);
	load(&other, &stored);
	CHECK_INT(stored.base, stored.sequence);
	free(other.head);
	free(m.head);
	tide_archive_close(&archive);
}

CHECK_CASES({ "reported is met, near copies too", met },
    { "revoked is not, nor its near copies", revoked },
    { "generations fade", fading },
    { "a full generation does not meet strangers", full },
    { "words and back", words }, { "the archive gives it back", kept })
