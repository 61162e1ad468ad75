/*
 * t_recall - excerpts, pieces, guesses, messages and files are found where
 * they were remembered, and found elsewhere as seldom as is said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "content.h"
#include "fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/text/text.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define TEXT 5000u

static struct content t;
static char text[TEXT + 1];

static const enum tide_memory forms[] = { TIDE_MEMORY_DEFAULT,
	TIDE_MEMORY_CLASSIC };

/* A window with one text of 5,000 letters, among others. */
static void
set_up(enum tide_memory form)
{
	char other[2001];
	uint64_t i;

	content_make(&t, form, 1 << 16, 0.0005);
	for (i = 0; i < 20; i++) {
		content_babble(other, 2000, 1000 + i);
		content_put(&t, 1 + (uint32_t)i % 2, other, 2000);
	}
	content_babble(text, TEXT, 1);
	content_put(&t, 2, text, TEXT);
}

static struct tide_recollection
ask_at(size_t at, size_t length)
{
	char excerpt[TEXT + 1];

	memcpy(excerpt, text + at, length);
	excerpt[length] = '\0';
	return content_ask(&t, excerpt);
}

/* ---- excerpts ---------------------------------------------------------- */

static void
every_excerpt_is_found(void)
{
	static const size_t lengths[] = { 63, 64, 95, 100, 127, 200, 511, 1024,
		2048, 4000 };
	struct tide_recollection a;
	size_t f, i, at;

	for (f = 0; f < LENGTH(forms); f++) {
		set_up(forms[f]);
		for (i = 0; i < LENGTH(lengths); i++) {
			for (at = 0; at + lengths[i] <= TEXT; at += 37) {
				a = ask_at(at, lengths[i]);
				CHECK_MSG(a.found, "%zu bytes at %zu, form %u",
				    lengths[i], at, forms[f]);
			}
			a = ask_at(TEXT - lengths[i], lengths[i]);
			CHECK(a.found); /* up to the very end */
		}
		content_free(&t);
	}
}

/* Each level that fits into the excerpt has to agree. */
static void
levels_are_climbed(void)
{
	static const struct {
		size_t length;
		unsigned least, most;
	} rows[] = { { 63, 1, 1 }, { 127, 2, 2 }, { 255, 3, 3 }, { 511, 4, 4 },
		{ 1023, 5, 5 }, { 2047, 6, 6 }, { 100, 1, 2 } };
	struct tide_recollection a;
	size_t f, i, at;

	for (f = 0; f < LENGTH(forms); f++) {
		set_up(forms[f]);
		for (i = 0; i < LENGTH(rows); i++) {
			for (at = 0; at < 700; at += 61) {
				a = ask_at(at, rows[i].length);
				CHECK_MSG(a.levels >= rows[i].least &&
					a.levels <= rows[i].most,
				    "%zu at %zu: %u levels", rows[i].length, at,
				    a.levels);
				CHECK(a.blocks >=
				    rows[i].length / TIDE_BLOCK - 1);
			}
		}
		content_free(&t);
	}
}

/* Its blocks are all there, but not side by side. */
static void
neighbours_must_be_neighbours(void)
{
	char mixed[257];
	size_t f;

	for (f = 0; f < LENGTH(forms); f++) {
		set_up(forms[f]);
		memcpy(mixed, text + 1024, 64); /* blocks 32, 33 */
		memcpy(mixed + 64, text + 64, 64);
		memcpy(mixed + 128, text + 2048, 128);
		mixed[256] = '\0';
		CHECK(!content_ask(&t, mixed).found);
		memcpy(mixed, text + 1024 + 64, 64); /* turned round */
		memcpy(mixed + 64, text + 1024, 64);
		mixed[128] = '\0';
		CHECK(!content_ask(&t, mixed).found);
		content_free(&t);
	}
}

static void
the_profile_is_told(void)
{
	struct tide_recollection a;
	char other[2001];

	set_up(TIDE_MEMORY_DEFAULT);
	a = ask_at(100, 200);
	CHECK(a.found);
	CHECK_INT(a.profiles, 1 << 1);
	content_babble(other, 2000, 1000); /* the first was the other's */
	other[300] = '\0';
	a = content_ask(&t, other + 100);
	CHECK(a.found);
	CHECK_INT(a.profiles, 1 << 0);
	content_put(&t, 1, text, TEXT); /* now by both */
	CHECK_INT(ask_at(100, 200).profiles, 3);
	content_free(&t);
	set_up(TIDE_MEMORY_CLASSIC);
	a = ask_at(100, 200);
	CHECK(a.found);
	CHECK_INT(a.profiles, 0); /* it cannot say */
	content_free(&t);
}

/* What is said of chance is what happens. */
static void
chance_is_as_said(void)
{
	char absent[201];
	double expected;
	unsigned hits, tries = 3000, i;
	struct tide_recollection a;

	content_make(&t, TIDE_MEMORY_DEFAULT, 1 << 16, 0.01);
	for (i = 0; t.elements < t.c.shape.capacity; i++) {
		content_babble(text, TEXT, 500 + i);
		content_put(&t, 1, text, TEXT);
	}
	for (hits = i = 0, expected = 0; i < tries; i++) {
		content_babble(absent, 100, 100000 + i);
		a = content_ask(&t, absent);
		hits += a.found;
		expected += a.chance;
	}
	printf("# %u of %u by chance, %.1f expected\n", hits, tries, expected);
	CHECK(expected > 20); /* a test that can fail */
	CHECK(hits < expected * 1.6 && hits > expected / 1.6);
	for (hits = i = 0; i < tries; i++) {
		content_babble(absent, 200, 200000 + i);
		hits += content_ask(&t, absent).found;
	}
	CHECK_INT(hits, 0);
	content_free(&t);
}

/* ---- short ones, pieces, guesses --------------------------------------- */

static void
short_ones_are_found_as_a_whole(void)
{
	struct tide_recall *r;
	struct tide_err err = { "" };

	set_up(TIDE_MEMORY_DEFAULT);
	content_put(&t, 1, "youraccountisblocked", 20);
	CHECK(content_ask(&t, "youraccountisblocked").whole);
	CHECK(!content_ask(&t, "youraccountis").found);
	r = tide_recall_new(&t.key, TIDE_RECALL_EXCERPT);
	CHECK(tide_recall_text(r, text, 62, &err) == 0);
	CHECK_INT(tide_recall_ready(r, &err), 1);
	CHECK(tide_recall_is_short(r));
	CHECK_MSG(strstr(err.text, "63") != NULL, "%s", err.text);
	tide_recall_free(r);
	r = tide_recall_new(&t.key, TIDE_RECALL_EXCERPT);
	CHECK_INT(tide_recall_ready(r, &err), -1); /* nothing is in it */
	tide_recall_free(r);
	content_free(&t);
}

static void
pieces_are_found_in_order(void)
{
	struct tide_recollection a;
	char pieces[300];
	size_t f;

	for (f = 0; f < LENGTH(forms); f++) {
		set_up(forms[f]);
		(void)snprintf(pieces, sizeof pieces, "%.100s*%.90s",
		    text + 300, text + 2000);
		a = content_ask(&t, pieces);
		CHECK(a.found);
		CHECK_INT(a.distance,
		    forms[f] == TIDE_MEMORY_CLASSIC ? 1600 : 1600 % 256);
		/* the wrong way round: only offsets can tell */
		(void)snprintf(pieces, sizeof pieces, "%.90s*%.100s",
		    text + 2000, text + 300);
		CHECK_INT(content_ask(&t, pieces).found,
		    forms[f] != TIDE_MEMORY_CLASSIC);
		/* one that is not there */
		(void)snprintf(pieces, sizeof pieces, "%.100s*%.90s",
		    text + 300,
		    "thisneverpassedhereandneverwillinthelifeofany"
		    "oneofusorofthosewhocomeafteruswhoevertheybe");
		CHECK(!content_ask(&t, pieces).found);
		content_free(&t);
	}
}

static void
the_right_guess_fits(void)
{
	static const char *const wrong[] = { "sesame", "xyzzy", "opensesameo",
		"opensesam" };
	struct tide_recollection a;
	struct tide_recall *r;
	struct tide_err err;
	char secret[TEXT + 1];
	size_t f, i;

	for (f = 0; f < LENGTH(forms); f++) {
		set_up(forms[f]);
		memcpy(secret, text, 1000);
		memcpy(secret + 400, "opensesame", 10);
		content_put(&t, 1, secret, 1000);
		r = tide_recall_new(&t.key, TIDE_RECALL_EXCERPT);
		CHECK(tide_recall_part(r, &err) == 0 &&
		    tide_recall_text(r, secret + 300, 100, &err) == 0 &&
		    tide_recall_part(r, &err) == 0 &&
		    tide_recall_text(r, secret + 410, 100, &err) == 0);
		for (i = 0; i < LENGTH(wrong); i++)
			CHECK(tide_recall_guess(
				  r, wrong[i], strlen(wrong[i]), &err) == 0);
		CHECK(tide_recall_guess(r, "opensesame", 10, &err) == 0);
		CHECK_INT(tide_recall_ready(r, &err), 0);
		CHECK_INT(tide_recall_guesses(r), LENGTH(wrong) + 1);
		for (i = 0; i < LENGTH(wrong); i++) {
			tide_recall_look_guess(r, i, &t.c, &a);
			CHECK_MSG(!a.found, "%s", wrong[i]);
		}
		tide_recall_look_guess(r, LENGTH(wrong), &t.c, &a);
		CHECK(a.found);
		CHECK(a.levels >= 2);
		tide_recall_free(r);
		content_free(&t);
	}
}

/* ---- messages and files ------------------------------------------------ */

static struct tide_recollection
ask_message(const char *message)
{
	struct tide_recall *r = tide_recall_new(&t.key, TIDE_RECALL_MESSAGE);
	struct tide_recollection a;
	struct tide_err err;

	CHECK(r != NULL && tide_recall_part(r, &err) == 0 &&
	    tide_recall_text(r, message, strlen(message), &err) == 0);
	CHECK_INT(tide_recall_ready(r, &err), 0);
	tide_recall_look(r, &t.c, &a);
	tide_recall_free(r);
	return a;
}

static void
shares_of_a_message(void)
{
	char near[TEXT + 100], half[TEXT + 1];
	struct tide_recollection a;

	set_up(TIDE_MEMORY_DEFAULT);
	a = ask_message(text);
	CHECK(a.found && a.share > 0.999 && a.chance < 1e-9);
	CHECK_INT(a.profiles, 2);
	/* a word more in the middle: the rest is aligned anew */
	(void)snprintf(
	    near, sizeof near, "%.2500snewword%s", text, text + 2500);
	a = ask_message(near);
	CHECK_MSG(a.found && a.share > 0.98, "%f", a.share);
	/* half of it is something else */
	content_babble(half, TEXT, 77);
	memcpy(half, text, TEXT / 2);
	a = ask_message(half);
	CHECK_MSG(a.found && a.share > 0.48 && a.share < 0.55, "%f", a.share);
	content_babble(half, TEXT, 78);
	a = ask_message(half);
	CHECK_MSG(!a.found && a.share < 0.05, "%f", a.share);
	/* nor would it be by mistake: it has no say in the chance of others */
	CHECK_MSG(a.chance < 1e-6, "%g", a.chance);
	content_free(&t);
	set_up(TIDE_MEMORY_CLASSIC);
	a = ask_message(text);
	CHECK(a.found && a.share > 0.999);
	content_free(&t);
}

static void
files_are_found(void)
{
	const struct tide_part part = { .kind = TIDE_PART_FILE };
	const struct tide_hash known = { 11, 22 }, unknown = { 33, 44 };
	struct tide_recollection a;
	struct tide_text_sink sink;
	struct tide_recall *r;
	struct tide_err err;
	size_t f;

	for (f = 0; f < LENGTH(forms); f++) {
		set_up(forms[f]);
		tide_samples_begin(t.samples, 2);
		sink = tide_samples_sink(t.samples);
		sink.file(sink.arg, &part, known, 1000);
		content_burst(&t);
		r = tide_recall_new(&t.key, TIDE_RECALL_FILE);
		CHECK(tide_recall_ready(r, &err) == -1);
		CHECK(tide_recall_file(r, known, &err) == 0);
		CHECK_INT(tide_recall_ready(r, &err), 0);
		tide_recall_look(r, &t.c, &a);
		CHECK(a.found && a.files == 1);
		CHECK_INT(a.profiles, forms[f] == TIDE_MEMORY_DEFAULT ? 2 : 0);
		tide_recall_free(r);
		r = tide_recall_new(&t.key, TIDE_RECALL_FILE);
		CHECK(tide_recall_file(r, unknown, &err) == 0);
		CHECK_INT(tide_recall_ready(r, &err), 0);
		tide_recall_look(r, &t.c, &a);
		CHECK(!a.found);
		tide_recall_free(r);
		content_free(&t);
	}
}

/* ---- bounds ------------------------------------------------------------ */

static void
too_much_is_refused(void)
{
	struct tide_recall *r;
	struct tide_err err;
	unsigned i;

	set_up(TIDE_MEMORY_DEFAULT);
	r = tide_recall_new(&t.key, TIDE_RECALL_EXCERPT);
	for (i = 0; i < 3; i++)
		CHECK(tide_recall_text(r, text, TEXT, &err) == 0);
	CHECK(tide_recall_text(r, text, TEXT, &err) == -1);
	tide_recall_free(r);
	r = tide_recall_new(&t.key, TIDE_RECALL_EXCERPT);
	for (i = 0; i < TIDE_PIECES_MOST; i++)
		CHECK(tide_recall_part(r, &err) == 0 &&
		    tide_recall_text(r, text, 100, &err) == 0);
	CHECK(tide_recall_part(r, &err) == -1);
	CHECK(tide_recall_guess(r, "a", 1, &err) == 0);
	CHECK(tide_recall_ready(r, &err) == -1); /* for which gap? */
	tide_recall_free(r);
	content_free(&t);
}

static void
off_finds_nothing(void)
{
	struct tide_recollection a;

	set_up(TIDE_MEMORY_DEFAULT);
	t.c.form = TIDE_MEMORY_OFF;
	a = ask_at(0, 100);
	CHECK(!a.found && a.lookups == 0);
	content_free(&t);
}

CHECK_CASES(
    { "every excerpt is found, wherever it begins", every_excerpt_is_found },
    { "every level that fits agrees", levels_are_climbed },
    { "neighbours must be neighbours", neighbours_must_be_neighbours },
    { "the profile is told", the_profile_is_told },
    { "chance is as it is said", chance_is_as_said },
    { "short ones are found as a whole", short_ones_are_found_as_a_whole },
    { "pieces, their order, their distance", pieces_are_found_in_order },
    { "the right guess fits", the_right_guess_fits },
    { "how much of a message was seen", shares_of_a_message },
    { "files are found by their digest", files_are_found },
    { "too much is refused", too_much_is_refused },
    { "off finds nothing", off_finds_nothing })
