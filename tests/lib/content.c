/*
 * content - a window's worth of memory.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "content.h"
#include "fixture.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

void
content_make(
    struct content *t, enum tide_memory form, uint64_t bytes, double error)
{
	unsigned i;

	memset(t, 0, sizeof *t);
	for (i = 0; i < sizeof t->key.secret; i++)
		t->key.secret[i] = (uint8_t)(i * 37 + 11);
	t->samples = tide_samples_new(&t->key, form, TIDE_SAMPLES_MOST);
	t->c.form = form;
	t->c.shape = tide_hbf_shape(form, bytes, error);
	t->words = calloc(1, tide_bloom_bytes(&t->c.shape));
	CHECK(t->samples != NULL && t->words != NULL);
	t->c.words = t->words;
}

void
content_free(struct content *t)
{
	tide_samples_free(t->samples);
	free(t->words);
}

static void
note_profile(struct content *t, uint32_t profile)
{
	unsigned i;

	for (i = 0; i < TIDE_PROFILES_MAX; i++) {
		if (t->c.profile[i] == 0)
			t->c.profile[i] = profile;
		if (t->c.profile[i] == profile)
			return;
	}
}

void
content_burst(struct content *t)
{
	struct tide_harvest h = tide_samples_harvest(t->samples);
	size_t i;

	for (i = 0; i < h.elements; i++)
		t->elements +=
		    tide_bloom_add(&t->c.shape, t->words, h.element[i]);
	if (h.longest > t->c.longest)
		t->c.longest = h.longest;
	t->c.ones = tide_bloom_ones(&t->c.shape, t->words);
}

void
content_put(
    struct content *t, uint32_t profile, const char *text, size_t length)
{
	struct tide_text_sink sink = tide_samples_sink(t->samples);
	const struct tide_part part = { .kind = TIDE_PART_TEXT };
	size_t n, at;

	note_profile(t, profile);
	tide_samples_begin(t->samples, profile);
	sink.begin(sink.arg, &part);
	for (at = 0; at < length; at += n) { /* in uneven pieces */
		n = 1 + (at * 7 + length) % 90;
		n = n < length - at ? n : length - at;
		sink.text(sink.arg, text + at, n);
	}
	sink.end(sink.arg, &part);
	content_burst(t);
}

struct tide_recollection
content_ask(struct content *t, const char *excerpt)
{
	struct tide_recall *r = tide_recall_new(&t->key, TIDE_RECALL_EXCERPT);
	struct tide_recollection a;
	struct tide_err err;
	size_t n;

	CHECK(r != NULL);
	for (; *excerpt != '\0'; excerpt += n + (excerpt[n] == '*')) {
		n = strcspn(excerpt, "*");
		CHECK(tide_recall_part(r, &err) == 0);
		CHECK(tide_recall_text(r, excerpt, n, &err) == 0);
	}
	CHECK_MSG(tide_recall_ready(r, &err) >= 0, "%s", err.text);
	tide_recall_look(r, &t->c, &a);
	tide_recall_free(r);
	return a;
}

void
content_babble(char *to, size_t n, uint64_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] =
		    "abcdefghijklmnopqrstuvwxyz012345"[fixture_random(&seed) %
			32];
	to[n] = '\0';
}
