/*
 * Any bytes are a message: the pipeline ends, keeps its caps, and says the
 * same however the message is cut into chunks.
 *
 * The first byte chooses caps (a blank: generous ones), the second how it is
 * cut; the rest is the message.
 */
#include <assert.h>
#include <string.h>

#include "transcript.h"
#include "tidemark/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
choose(struct tide_text_caps *caps, uint8_t by)
{
	static const size_t header[] = { 65536, 300, 40, 0 };
	static const uint64_t total[] = { 1u << 30, 500, 60, 0 };

	by ^= ' ';
	*caps = transcript_caps;
	caps->header_bytes = header[by & 3];
	caps->total_bytes = total[by >> 2 & 3];
	if (by & 16)
		caps->depth = by >> 5;
	if (by & 64)
		caps->parts = by >> 5;
}

static void
compare(const struct tide_text_caps *caps, const char *message, size_t size,
    size_t most, uint64_t seed)
{
	struct transcript whole = { .hashes = true }, cut = { .hashes = true };

	transcript_run(&whole, caps, message, size, 0, 0, false);
	transcript_run(&cut, caps, message, size, most, seed, false);
	assert(strcmp(whole.text, cut.text) == 0);
	transcript_free(&whole);
	transcript_free(&cut);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tide_text_caps caps;
	struct transcript milter = { .hashes = true };
	const char *message = (const char *)data + 2;

	if (size < 2)
		return 0;
	choose(&caps, data[0]);
	compare(&caps, message, size - 2, 1 + data[1], data[1]);
	transcript_run(&milter, &caps, message, size - 2, 64, data[1], true);
	transcript_free(&milter);
	return 0;
}
