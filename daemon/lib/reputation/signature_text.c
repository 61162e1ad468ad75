/*
 * signature_text - hex digits and back.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/signature_text.h"

static char *
put(char *at, uint64_t word)
{
	return at + snprintf(at, 17, "%016llx", (unsigned long long)word);
}

void
tide_signatures_show(
    const struct tide_signatures *s, struct tide_signature_words *out)
{
	char *at;
	size_t i;

	memset(out, 0, sizeof *out);
	if (s->has_text)
		(void)put(put(out->text, s->text.low), s->text.high);
	for (at = out->files, i = 0; i < s->files; i++)
		at = put(put(at, s->file[i].low), s->file[i].high);
	for (at = out->samples, i = 0; i < s->samples; i++)
		at = put(at, s->sample[i]);
}

static bool
get(const char *at, uint64_t *word)
{
	unsigned i;

	*word = 0;
	for (i = 0; i < 16; i++) {
		unsigned char c = (unsigned char)at[i];

		if (c >= '0' && c <= '9')
			*word = *word << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*word = *word << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* All words of it; how many, or -1. */
static int
get_all(const char *text, uint64_t *word, size_t room)
{
	size_t i, n = text == NULL ? 0 : strlen(text);

	if (n % 16 != 0 || n / 16 > room)
		return -1;
	for (i = 0; i < n / 16; i++)
		if (!get(text + 16 * i, &word[i]))
			return -1;
	return (int)(n / 16);
}

/* Ascending, as a sketch is. */
static bool
is_sketch(const struct tide_signatures *s)
{
	size_t i;

	for (i = 1; i < s->samples; i++)
		if (s->sample[i - 1] >= s->sample[i])
			return false;
	return true;
}

bool
tide_signatures_read(const char *text, const char *files, const char *samples,
    struct tide_signatures *out)
{
	uint64_t word[2 * TIDE_SIGNED_FILES];
	int i, n;

	memset(out, 0, sizeof *out);
	n = get_all(text, word, 2);
	if (n != 0 && n != 2)
		return false;
	out->has_text = n == 2;
	if (out->has_text)
		out->text = (struct tide_hash){ word[0], word[1] };
	n = get_all(files, word, 2 * TIDE_SIGNED_FILES);
	if (n < 0 || n % 2 != 0)
		return false;
	out->files = (size_t)n / 2;
	for (i = 0; i < n / 2; i++)
		out->file[i] =
		    (struct tide_hash){ word[2 * i], word[2 * i + 1] };
	n = get_all(samples, out->sample, TIDE_SKETCH);
	if (n < 0 || (n > 0 && !out->has_text))
		return false;
	out->samples = (size_t)n;
	return is_sketch(out);
}
