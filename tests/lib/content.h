/*
 * content - one window's content in memory, for the tests of memory: texts go
 * in, questions are put to it.
 */
#ifndef TESTS_LIB_CONTENT_H
#define TESTS_LIB_CONTENT_H

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"

#define CONTENT_PROFILE 7u

struct content {
	struct tide_hash_key key;
	struct tide_samples *samples;
	struct tide_content c;
	tide_bloom_word *words;
	uint64_t elements;
};

/* Empty, of that form; bytes and error as in the settings. */
void
content_make(struct content *, enum tide_memory, uint64_t bytes, double error);
void content_free(struct content *);

/* A message of one part of normalised text, under a profile's tag; the next
 * free place of c.profile is taken for it if it is new. */
void content_put(
    struct content *, uint32_t profile, const char *text, size_t length);

/* Put what the samples hold into the filter. */
void content_burst(struct content *);

/* Ask for an excerpt; pieces are separated by '*'. */
struct tide_recollection content_ask(struct content *, const char *excerpt);

/* n letters that look random, and are the same for the same seed. */
void content_babble(char *to, size_t n, uint64_t seed);

#endif
