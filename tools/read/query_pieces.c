/*
 * query_pieces - where a text that somebody copied has a middle that nobody
 * remembers.  Copied texts have stars of their own: bullets, *bold*, 5*3.
 */
#include <string.h>

#include "query.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

static bool
is_edge(char c)
{
	return c == '\0' || c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next * between blanks, or the end. */
static const char *
next_star(const char *text, const char *begin)
{
	for (; *text != '\0'; text++)
		if (*text == '*' && is_edge(text[1]) &&
		    (text == begin || is_edge(text[-1])))
			return text;
	return text;
}

static void
count_letters(void *arg, const char *text, size_t length)
{
	(void)text;
	*(size_t *)arg += length;
}

/* How much of it is left to ask for. */
static size_t
letters(struct tide_text *t, size_t *count, const char *text, size_t length)
{
	*count = 0;
	tide_text_excerpt(t, text, length);
	return *count;
}

/* The last piece takes what is over: then it is refused, with a sentence. */
static size_t
cut(struct tide_text *t, size_t *count, const char *text,
    struct piece out[TIDE_PIECES_MOST + 1], bool *star)
{
	const char *begin = text, *from = text, *at = next_star(text, text);
	size_t n = 0;

	for (; *at != '\0'; at = next_star(at + 1, begin)) {
		if (n == TIDE_PIECES_MOST ||
		    letters(t, count, from, (size_t)(at - from)) <
			TIDE_EXCERPT_LEAST ||
		    letters(t, count, at + 1, strlen(at + 1)) <
			TIDE_EXCERPT_LEAST) {
			*star = true;
			continue;
		}
		out[n++] = (struct piece){ from, (size_t)(at - from) };
		from = at + 1;
	}
	out[n++] = (struct piece){ from, strlen(from) };
	return n;
}

size_t
query_pieces(const struct tide_config *config, const char *text,
    struct piece out[TIDE_PIECES_MOST + 1], bool *star)
{
	static const struct tide_hash_key none;
	struct tide_text_caps caps = tide_text_caps(config);
	size_t count = 0, n;
	const struct tide_text_sink sink = { .arg = &count,
		.text = count_letters };
	struct tide_text *t =
	    tide_text_new(&none, &caps, config->text_headers, &sink);

	*star = false;
	if (t == NULL)
		return 0;
	n = cut(t, &count, text, out, star);
	tide_text_free(t);
	return n;
}
