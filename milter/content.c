/*
 * content - one pipeline, and its readers.
 */
#include <string.h>

#include "content.h"
#include "session.h"
#include "signing.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

#define READERS 8u /* room for so many, and a NULL */

/* Everyone who reads; each is asked whether the profile has it. */
static const struct content_reader *const readers[READERS + 1] = { &content_log,
	&content_memory, &content_signing };

#define SKIP_WORTH (4u << 20) /* bytes of body; see content.h */

/* libmilter may call from one thread after another, never from two at once. */
static struct {
	struct tide_text *pipeline;
	struct tide_text_caps caps; /* what it was made with */
	char headers[TIDE_WORDS_MAX];
	bool asked;  /* the mail server was told to send bodies */
	bool active; /* in a message that somebody reads */
	const struct content_reader *reader[READERS];
	const struct tide_text_sink *sink[READERS];
	unsigned count; /* of those who read this message */
} content;

/* ---- to every reader --------------------------------------------------- */

#define EACH(function, ...)                                             \
	do {                                                            \
		for (unsigned i = 0; i < content.count; i++)            \
			if (content.sink[i]->function != NULL)          \
				content.sink[i]->function(              \
				    content.sink[i]->arg, __VA_ARGS__); \
	} while (0)

static void
on_begin(void *arg, const struct tide_part *part)
{
	(void)arg;
	EACH(begin, part);
}

static void
on_text(void *arg, const char *text, size_t length)
{
	(void)arg;
	EACH(text, text, length);
}

static void
on_end(void *arg, const struct tide_part *part)
{
	(void)arg;
	EACH(end, part);
}

static void
on_link(void *arg, const struct tide_part *part, const char *text, size_t n)
{
	(void)arg;
	EACH(link, part, text, n);
}

static void
on_file(void *arg, const struct tide_part *part, struct tide_hash hash,
    uint64_t bytes)
{
	(void)arg;
	EACH(file, part, hash, bytes);
}

/* ---- the pipeline ------------------------------------------------------ */

static bool
is_same(const struct tide_text_caps *a, const struct tide_text_caps *b)
{
	return a->depth == b->depth && a->parts == b->parts &&
	    a->header_bytes == b->header_bytes &&
	    a->total_bytes == b->total_bytes;
}

/* Made at the first message that somebody reads, and when settings change. */
static bool
have_pipeline(void)
{
	static const struct tide_text_sink sink = { NULL, on_begin, on_text,
		on_end, on_link, on_file };
	struct tide_text_caps caps = tide_text_caps(&session.config);

	if (content.pipeline != NULL && is_same(&caps, &content.caps) &&
	    strcmp(content.headers, session.config.text_headers) == 0)
		return true;
	tide_text_free(content.pipeline);
	content.pipeline = tide_text_new(
	    session.map->key, &caps, session.config.text_headers, &sink);
	if (content.pipeline == NULL)
		return false;
	content.caps = caps;
	memcpy(content.headers, session.config.text_headers,
	    sizeof content.headers);
	return true;
}

/* ---- what the session calls -------------------------------------------- */

bool
content_wanted(void)
{
	unsigned i, k;

	session_follow();
	content.asked = false;
	for (i = 0; i < session.config.profiles; i++)
		for (k = 0; readers[k] != NULL; k++)
			content.asked |=
			    readers[k]->wants(&session.config.profile[i]);
	return content.asked;
}

bool
content_would_skip(void)
{
	return session.config.text_total_bytes <= SKIP_WORTH;
}

void
content_begin(void)
{
	const struct tide_profile *p = session_profile();
	unsigned i;

	content_abort();
	content.count = 0;
	if (!content.asked || session.map == NULL)
		return;
	for (i = 0; readers[i] != NULL; i++) {
		if (!readers[i]->wants(p) ||
		    (content.count == 0 && !have_pipeline()))
			continue;
		content.reader[content.count] = readers[i];
		content.sink[content.count] = readers[i]->begin();
		content.count += content.sink[content.count] != NULL;
	}
	content.active = content.count > 0;
}

void
content_header(const char *name, const char *value)
{
	unsigned i;

	session.message.wire += strlen(name) + strlen(value) + 4;
	if (!content.active)
		return;
	for (i = 0; i < content.count; i++)
		if (content.reader[i]->header != NULL)
			content.reader[i]->header(name, value);
	tide_text_header(content.pipeline, name, value);
}

void
content_body(const void *bytes, size_t length)
{
	session.message.wire += length;
	if (content.active)
		tide_text_body(content.pipeline, bytes, length);
}

bool
content_full(void)
{
	return !content.active || tide_text_full(content.pipeline);
}

unsigned
content_end(void)
{
	if (!content.active)
		return 0;
	content.active = false;
	return tide_text_end(content.pipeline);
}

void
content_abort(void)
{
	unsigned i;

	if (!content.active)
		return;
	content.active = false;
	tide_text_abort(content.pipeline);
	for (i = 0; i < content.count; i++)
		if (content.reader[i]->abort != NULL)
			content.reader[i]->abort();
}
