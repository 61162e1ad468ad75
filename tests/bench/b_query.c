/*
 * b_query - how long a question about content takes, against the number of
 * windows: an excerpt of 100 letters, and a message of 4,000.
 *
 * The windows are real ones of a real archive, each as full as the settings
 * make an hour's: read, checked and tried one after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "content.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

#define ELEMENTS 30000u /* about half a megabyte of text */
#define MESSAGE 4000u

static struct tide_config config;
static struct tide_archive archive;
static uint64_t stored;

/* One window, with elements that are nobody's text. */
static void
store_window(enum tide_memory form, uint64_t elements)
{
	struct tide_window_record r = { .number = stored,
		.from_ms = stored * 10,
		.until_ms = stored * 10 + 10,
		.messages = 1,
		.memory = form,
		.longest = 500,
		.profile = { 1, 2 } };
	uint64_t *words[TIDE_FILTERS], seed = stored, i;
	struct tide_err err;

	r.shape[0] = r.shape[1] = tide_bloom_size(100, 0.01);
	r.shape[2] = tide_hbf_shape(form, 1 << 20, 0.0005);
	for (i = 0; i < TIDE_FILTERS; i++)
		words[i] = calloc(1, tide_bloom_bytes(&r.shape[i]));
	for (i = 0; i < elements; i++) {
		struct tide_hash h = { fixture_random(&seed),
			fixture_random(&seed) };

		(void)tide_bloom_add(
		    &r.shape[2], (tide_bloom_word *)words[2], h);
	}
	CHECK_MSG(tide_archive_put_window(&archive, &r, words, &err) == 0, "%s",
	    err.text);
	for (i = 0; i < TIDE_FILTERS; i++)
		free(words[i]);
}

/* Milliseconds a question, the best of a few. */
static double
ask(enum tide_recall_kind kind, size_t length, uint64_t *lookups)
{
	struct tide_recall *recall = tide_recall_new(&archive.key, kind);
	struct tide_question q = { .recall = recall,
		.until_ms = UINT64_MAX / 2,
		.now_ms = UINT64_MAX / 2 };
	char text[MESSAGE + 1];
	struct tide_answer a;
	struct tide_err err;
	double best = 1e9, ms;
	uint64_t began;
	int i;

	content_babble(text, length, 7);
	CHECK(tide_recall_part(recall, &err) == 0 &&
	    tide_recall_text(recall, text, length, &err) == 0 &&
	    tide_recall_ready(recall, &err) == 0);
	for (i = 0; i < 5; i++) {
		began = tide_clock_mono_ns();
		CHECK(tide_query(&archive, NULL, &q, &a, &err) == 0);
		ms = (double)(tide_clock_mono_ns() - began) / 1e6;
		best = ms < best ? ms : best;
		*lookups = a.lookups;
		tide_answer_free(&a);
	}
	tide_recall_free(recall);
	return best;
}

static void
measure(const char *name, enum tide_memory form, uint64_t elements)
{
	static const uint64_t windows[] = { 10, 100, 1000 };
	uint64_t n, l1, l2;
	double excerpt, message;
	unsigned i;

	fixture_config(&config);
	CHECK(tide_archive_open(&archive, config.state_dir, TIDE_ARCHIVE_OWN,
		  1ull << 30, &(struct tide_err){ "" }) == 0);
	for (i = 0, n = stored = 0; i < sizeof windows / sizeof *windows; i++) {
		for (; n < windows[i]; n++) {
			stored++;
			store_window(form, elements);
		}
		excerpt = ask(TIDE_RECALL_EXCERPT, 100, &l1);
		message = ask(TIDE_RECALL_MESSAGE, MESSAGE, &l2);
		printf("%-8s %7llu | %9.2f %9.1f %9llu | %9.2f %9.1f %9llu\n",
		    name, (unsigned long long)n, excerpt,
		    excerpt * 1000 / (double)n, (unsigned long long)l1, message,
		    message * 1000 / (double)n, (unsigned long long)l2);
		(void)fflush(stdout);
	}
	tide_archive_close(&archive);
}

int
main(void)
{
	printf("== questions about content: an excerpt of 100 letters, a "
	       "message of %u\n"
	       "form     windows |        ms us/window   lookups |        ms "
	       "us/window   lookups\n",
	    MESSAGE);
	measure("default", TIDE_MEMORY_DEFAULT, ELEMENTS);
	measure("classic", TIDE_MEMORY_CLASSIC, TIDE_CLASSIC_SATURATION);
	return 0;
}
