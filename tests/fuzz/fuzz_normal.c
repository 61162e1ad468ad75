/*
 * Any bytes have a normal form, which is its own: letters, digits and marks
 * in UTF-8, no longer than Unicode lets it grow.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct tide_hash_key key;

struct kept {
	char *text;
	size_t length;
};

static void
keep(void *arg, const char *text, size_t n)
{
	struct kept *k = arg;

	k->text = realloc(k->text, k->length + n);
	assert(k->text != NULL);
	memcpy(k->text + k->length, text, n);
	k->length += n;
}

static struct kept
normalise(const char *text, size_t n)
{
	static const struct tide_text_caps caps = { 1, 1, 16, 1 };
	struct kept k = { NULL, 0 };
	struct tide_text_sink sink = { .arg = &k, .text = keep };
	struct tide_text *t = tide_text_new(&key, &caps, "", &sink);

	assert(t != NULL);
	tide_text_excerpt(t, text, n);
	tide_text_free(t);
	return k;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kept once = normalise((const char *)data, size);
	struct kept twice = normalise(once.text, once.length);
	size_t i;

	assert(once.length <= 18 * size + 8);
	for (i = 0; i < once.length; i++) {
		unsigned char c = (unsigned char)once.text[i];

		assert(c >= 0x80 || (c >= '0' && c <= '9') ||
		    (c >= 'a' && c <= 'z'));
	}
	assert(once.length == twice.length);
	assert(once.length == 0 ||
	    memcmp(once.text, twice.text, once.length) == 0);
	free(once.text);
	free(twice.text);
	return 0;
}
