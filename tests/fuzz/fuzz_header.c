/*
 * Any bytes are the value of a header: of a Subject (encoded words), and of
 * the fields that say what a part is (parameters, RFC 2231).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transcript.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct tide_hash_key key;

/* What a name may be: bounded, printable UTF-8. */
static void
on_file(void *arg, const struct tide_part *p, struct tide_hash hash, uint64_t n)
{
	size_t i;

	(void)arg;
	(void)hash;
	assert(n == 3);
	assert(strlen(p->name) < 256 && strlen(p->type) < 80);
	for (i = 0; p->name[i] != '\0'; i++)
		assert((unsigned char)p->name[i] >= ' ');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tide_text_sink sink = { .file = on_file };
	struct tide_text *t =
	    tide_text_new(&key, &transcript_caps, "Subject", &sink);
	char *value = strndup((const char *)data, size);

	assert(t != NULL && value != NULL);
	tide_text_header(t, "Subject", value);
	tide_text_header(t, "Content-Disposition", value);
	tide_text_header(t, "Content-Type", value);
	tide_text_header(t, "Content-Transfer-Encoding", "8bit");
	tide_text_body(t, "abc", 3);
	(void)tide_text_end(t);
	tide_text_free(t);
	free(value);
	return 0;
}
