/*
 * samples - a message's elements, gathered while its text streams by.
 *
 * A part's tree is built as one counts in binary: a finished node waits for
 * its right neighbour, joins it, and the two are a finished node one level
 * up.  So a part of any length needs one waiting node a level.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/text/text.h"

/* One sequence of blocks. */
struct sequence {
	uint64_t blocks;
	size_t filled; /* bytes of the block that is being filled */
	char block[TIDE_BLOCK];
	char head[TIDE_WHOLE_MOST]; /* how the part begins */
	uint64_t length;
	struct tide_hash waiting[TIDE_HBF_LEVELS];
};

struct tide_samples {
	struct tide_hash_key key;
	enum tide_memory form;
	uint32_t profile;
	size_t most, room, count;
	struct tide_hash *element;
	uint64_t text, longest;
	bool cut;
	struct sequence part;
};

struct tide_samples *
tide_samples_new(
    const struct tide_hash_key *key, enum tide_memory form, size_t most)
{
	struct tide_samples *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->key = *key;
	s->form = form;
	s->most = most;
	return s;
}

void
tide_samples_free(struct tide_samples *s)
{
	if (s != NULL)
		free(s->element);
	free(s);
}

void
tide_samples_begin(struct tide_samples *s, uint32_t profile)
{
	s->profile = profile;
	s->count = 0;
	s->text = s->longest = 0;
	s->cut = false;
}

struct tide_harvest
tide_samples_harvest(const struct tide_samples *s)
{
	return (struct tide_harvest){ .element = s->element,
		.elements = s->count,
		.text = s->text,
		.longest = s->longest,
		.cut = s->cut };
}

/* ---- elements ---------------------------------------------------------- */

static bool
make_room(struct tide_samples *s)
{
	size_t room = s->room == 0 ? 512 : s->room * 2;
	struct tide_hash *more;

	if (s->count < s->room)
		return true;
	if (room > s->most)
		room = s->most;
	if (s->count >= room)
		return false;
	more = realloc(s->element, room * sizeof *more);
	if (more == NULL)
		return false;
	s->element = more;
	s->room = room;
	return true;
}

static void
add(struct tide_samples *s, struct tide_hash element)
{
	if (make_room(s))
		s->element[s->count++] = element;
	else
		s->cut = true;
}

/* ---- a sequence -------------------------------------------------------- */

static void
start(struct sequence *q)
{
	q->blocks = q->length = 0;
	q->filled = 0;
}

/* Block number q->blocks, and every node that it completes. */
static void
add_block(struct tide_samples *s, struct sequence *q, const char *block)
{
	struct tide_hash node = tide_hash(&s->key, block, TIDE_BLOCK);
	uint64_t index = q->blocks++, first = index;
	unsigned level = 0;

	add(s, tide_hbf_element(s->form, s->profile, node, 0, first));
	for (; (index >> level & 1) != 0 && level + 1 < TIDE_HBF_LEVELS;) {
		node = tide_hbf_pair(&s->key, q->waiting[level], node);
		first -= 1ull << level++;
		add(s,
		    tide_hbf_element(s->form, s->profile, node, level, first));
	}
	q->waiting[level] = node;
}

static void
keep_head(struct sequence *q, const char *text, size_t length)
{
	size_t n;

	if (q->length < sizeof q->head) {
		n = sizeof q->head - (size_t)q->length;
		memcpy(q->head + q->length, text, length < n ? length : n);
	}
	q->length += length;
}

static void
feed(
    struct tide_samples *s, struct sequence *q, const char *text, size_t length)
{
	size_t n;

	keep_head(q, text, length);
	while (length > 0) {
		if (q->filled == 0 && length >= TIDE_BLOCK) {
			add_block(s, q, text); /* without a copy */
			n = TIDE_BLOCK;
		} else {
			n = TIDE_BLOCK - q->filled;
			n = length < n ? length : n;
			memcpy(q->block + q->filled, text, n);
			q->filled += n;
			if (q->filled == TIDE_BLOCK) {
				add_block(s, q, q->block);
				q->filled = 0;
			}
		}
		text += n;
		length -= n;
	}
}

static void
finish(struct tide_samples *s, struct sequence *q)
{
	if (q->length > 0 && q->length <= TIDE_WHOLE_MOST)
		add(s,
		    tide_hbf_whole(s->form, s->profile,
			tide_hash(&s->key, q->head, (size_t)q->length)));
	if (q->blocks > s->longest)
		s->longest = q->blocks;
	s->text += q->length;
	start(q);
}

/* ---- the sink ---------------------------------------------------------- */

static void
on_begin(void *arg, const struct tide_part *part)
{
	struct tide_samples *s = arg;

	(void)part;
	start(&s->part);
}

static void
on_text(void *arg, const char *text, size_t length)
{
	struct tide_samples *s = arg;

	feed(s, &s->part, text, length);
}

static void
on_end(void *arg, const struct tide_part *part)
{
	struct tide_samples *s = arg;

	(void)part;
	finish(s, &s->part);
}

/* Comes while its text is open: a sequence of its own. */
static void
on_link(
    void *arg, const struct tide_part *part, const char *text, size_t length)
{
	struct tide_samples *s = arg;
	struct sequence link;

	(void)part;
	start(&link);
	feed(s, &link, text, length);
	finish(s, &link);
}

static void
on_file(void *arg, const struct tide_part *part, struct tide_hash digest,
    uint64_t bytes)
{
	struct tide_samples *s = arg;

	(void)part;
	if (bytes > 0) /* the digest of nothing is everybody's */
		add(s, tide_hbf_file(s->form, s->profile, digest));
}

struct tide_text_sink
tide_samples_sink(struct tide_samples *s)
{
	return (struct tide_text_sink){ .arg = s,
		.begin = on_begin,
		.text = on_text,
		.end = on_end,
		.link = on_link,
		.file = on_file };
}
