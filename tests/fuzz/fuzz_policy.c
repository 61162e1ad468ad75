/*
 * Any bytes, in any pieces, are a request, part of one, or refused.
 *
 * What policy_request_length() says must not depend on how the bytes came.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../milter/policy/request.h"
#include "tidemark/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
check_text(const char *base, size_t n, const char *text)
{
	size_t length = strlen(text);

	/* "" of our own, or within the buffer and without a newline */
	assert(length == 0 || (text > base && text + length <= base + n));
	assert(strchr(text, '\n') == NULL);
}

static void
parse(const char *text, size_t n)
{
	char *copy = malloc(n);
	struct policy_request q;
	struct tide_err err;

	memcpy(copy, text, n);
	if (policy_request_parse(copy, n, &q, &err) == 0) {
		assert(q.instance[0] != '\0');
		check_text(copy, n, q.instance);
		check_text(copy, n, q.client);
		check_text(copy, n, q.user);
		check_text(copy, n, q.sender);
		check_text(copy, n, q.recipient);
		check_text(copy, n, q.queue_id);
	}
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	struct tide_err err;
	size_t seen = 0, have, step = n > 0 ? data[0] % 97 + 1u : 1;
	long at_once, bit_by_bit = 0;

	if (n > POLICY_REQUEST_MAX)
		n = POLICY_REQUEST_MAX; /* as the buffer is */
	at_once = policy_request_length(text, n, &seen, &err);
	seen = 0;
	for (have = step; bit_by_bit == 0; have += step) {
		bit_by_bit = policy_request_length(
		    text, have < n ? have : n, &seen, &err);
		if (have >= n)
			break;
	}
	assert(at_once == bit_by_bit);
	assert(at_once <= (long)n);
	if (at_once > 0)
		parse(text, (size_t)at_once);
	return 0;
}
