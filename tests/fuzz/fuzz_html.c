/*
 * Any bytes are HTML: the same is seen of it however it is cut, and no markup
 * gets through.
 *
 * The first byte says how it is cut, the rest is the HTML.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const char header[] = "Content-Type: text/html; charset=utf-8\n\n";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct transcript whole = { .hashes = true }, cut = { .hashes = true };
	size_t n = sizeof header - 1;
	char *message = malloc(n + size);

	assert(message != NULL);
	if (size == 0) {
		free(message);
		return 0;
	}
	memcpy(message, header, n);
	memcpy(message + n, data + 1, size - 1);
	n += size - 1;
	transcript_run(&whole, &transcript_caps, message, n, 0, 0, false);
	transcript_run(
	    &cut, &transcript_caps, message, n, 1 + data[0], data[0], false);
	assert(strcmp(whole.text, cut.text) == 0);
	assert(strpbrk(whole.text, "<>&\"") == NULL);
	transcript_free(&whole);
	transcript_free(&cut);
	free(message);
	return 0;
}
