/*
 * recall - prepare a question.
 */
#include <stdlib.h>
#include <string.h>

#include "recall_priv.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

struct tide_recall *
tide_recall_new(const struct tide_hash_key *key, enum tide_recall_kind kind)
{
	struct tide_recall *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->key = *key;
	r->kind = kind;
	return r;
}

void
tide_stretch_free(struct stretch *s)
{
	unsigned i;

	free(s->text);
	for (i = 0; i < TIDE_HBF_LEVELS; i++)
		free(s->node[i]);
	memset(s, 0, sizeof *s);
}

void
tide_recall_free(struct tide_recall *r)
{
	size_t i;

	if (r == NULL)
		return;
	for (i = 0; i < r->parts; i++)
		tide_stretch_free(&r->part[i]);
	for (i = 0; i < r->guesses; i++)
		free(r->guess[i].text);
	free(r->part);
	free(r->file);
	free(r->guess);
	free(r);
}

enum tide_recall_kind
tide_recall_kind(const struct tide_recall *r)
{
	return r->kind;
}

bool
tide_recall_is_short(const struct tide_recall *r)
{
	return r->is_short;
}

size_t
tide_recall_guesses(const struct tide_recall *r)
{
	return r->guesses;
}

/* ---- saying it --------------------------------------------------------- */

/* Room for one more at the end of an array; NULL if there is none. */
static void *
one_more(void *array, size_t n, size_t size)
{
	if ((n & (n - 1)) != 0)
		return array;
	return realloc(array, (n == 0 ? 1 : n * 2) * size);
}

static int
no_memory(struct tide_err *err)
{
	return tide_err_set(err, "no memory left for the question");
}

int
tide_recall_part(struct tide_recall *r, struct tide_err *err)
{
	struct stretch *more;

	if (r->kind == TIDE_RECALL_EXCERPT && r->parts == TIDE_PIECES_MOST)
		return tide_err_set(
		    err, "an excerpt has at most %u pieces", TIDE_PIECES_MOST);
	if (r->parts == TIDE_RECALL_PARTS_MOST)
		return tide_err_set(err, "the message has more than %u parts",
		    TIDE_RECALL_PARTS_MOST);
	if (r->parts > 0 && r->part[r->parts - 1].length == 0)
		return 0; /* nothing was in it: it serves again */
	more = one_more(r->part, r->parts, sizeof *more);
	if (more == NULL)
		return no_memory(err);
	r->part = more;
	memset(&more[r->parts++], 0, sizeof *more);
	return 0;
}

static uint64_t
most_text(const struct tide_recall *r)
{
	return r->kind == TIDE_RECALL_MESSAGE ? TIDE_RECALL_MOST
					      : TIDE_EXCERPT_MOST;
}

int
tide_recall_text(struct tide_recall *r, const char *text, size_t length,
    struct tide_err *err)
{
	struct stretch *s;
	char *more;

	if (length == 0)
		return 0;
	if (r->parts == 0 && tide_recall_part(r, err) < 0)
		return -1;
	if (r->length + length > most_text(r))
		return tide_err_set(err,
		    "the question is too long: at most %llu letters and "
		    "digits",
		    (unsigned long long)most_text(r));
	s = &r->part[r->parts - 1];
	if (s->length + length > s->room) {
		size_t room = 2 * (s->length + length) + 256;

		more = realloc(s->text, room);
		if (more == NULL)
			return no_memory(err);
		s->text = more;
		s->room = room;
	}
	memcpy(s->text + s->length, text, length);
	s->length += length;
	r->length += length;
	return 0;
}

int
tide_recall_file(
    struct tide_recall *r, struct tide_hash digest, struct tide_err *err)
{
	struct tide_hash *more;

	if (r->files == TIDE_RECALL_PARTS_MOST)
		return tide_err_set(err, "the message has more than %u files",
		    TIDE_RECALL_PARTS_MOST);
	more = one_more(r->file, r->files, sizeof *more);
	if (more == NULL)
		return no_memory(err);
	r->file = more;
	more[r->files++] = digest;
	return 0;
}

int
tide_recall_guess(struct tide_recall *r, const char *text, size_t length,
    struct tide_err *err)
{
	struct guess *more;
	char *copy;

	if (r->guesses == TIDE_GUESSES_MOST || length > TIDE_EXCERPT_MOST)
		return tide_err_set(err,
		    "at most %u candidates of at most %u letters and digits "
		    "can be tried",
		    TIDE_GUESSES_MOST, TIDE_EXCERPT_MOST);
	more = one_more(r->guess, r->guesses, sizeof *more);
	if (more == NULL)
		return no_memory(err);
	r->guess = more;
	copy = malloc(length + 1);
	if (copy == NULL)
		return no_memory(err);
	memcpy(copy, text, length);
	copy[length] = '\0';
	more[r->guesses++] = (struct guess){ .text = copy, .length = length };
	return 0;
}

/* ---- hashing ----------------------------------------------------------- */

size_t
tide_stretch_nodes(size_t length, unsigned level)
{
	size_t size = (size_t)TIDE_BLOCK << level;

	return length >= size ? length - size + 1 : 0;
}

static int
hash_level(struct stretch *s, const struct tide_hash_key *key, unsigned level)
{
	size_t n = tide_stretch_nodes(s->length, level), i;
	size_t half = ((size_t)TIDE_BLOCK << level) / 2;
	struct tide_hash *node = malloc(n * sizeof *node);

	if (node == NULL)
		return -1;
	s->node[level] = node;
	for (i = 0; i < n; i++)
		node[i] = level == 0 ? tide_hash(key, s->text + i, TIDE_BLOCK)
				     : tide_hbf_pair(key, s->node[level - 1][i],
					   s->node[level - 1][i + half]);
	return 0;
}

/* How many lookups a place takes, on the levels whose nodes it tells. */
static unsigned
tests_at(const struct stretch *s, size_t at)
{
	size_t skip = (TIDE_BLOCK - at % TIDE_BLOCK) % TIDE_BLOCK;
	size_t first = (at + skip) / TIDE_BLOCK, blocks, start;
	unsigned level, n = 0;

	blocks = s->length > skip ? (s->length - skip) / TIDE_BLOCK : 0;
	for (level = 0; level < ALIGNED_LEVELS; level++) {
		start = -first & ((1u << level) - 1);
		if (blocks > start)
			n += (unsigned)((blocks - start) >> level);
	}
	return n;
}

/* All places together: of how few lookups are they made? */
static void
count_tests(struct stretch *s)
{
	unsigned n, at;

	s->least = UINT32_MAX;
	memset(s->places, 0, sizeof s->places);
	for (at = 0; at < PHASES; at++) {
		n = tests_at(s, at);
		s->least = n < s->least ? n : s->least;
	}
	for (at = 0; at < PHASES; at++) {
		n = tests_at(s, at) - s->least;
		s->places[n < TESTS_MOST ? n : TESTS_MOST - 1]++;
	}
}

int
tide_stretch_hash(
    struct stretch *s, const struct tide_hash_key *key, unsigned levels)
{
	unsigned level;

	s->whole = tide_hash(key, s->text, s->length);
	for (level = 0; level < levels && level < TIDE_HBF_LEVELS; level++) {
		if (tide_stretch_nodes(s->length, level) == 0)
			break;
		if (hash_level(s, key, level) < 0)
			return -1;
		s->levels = level + 1;
	}
	count_tests(s);
	return 0;
}

/* ---- can it be answered? ----------------------------------------------- */

static int
hash_parts(struct tide_recall *r, unsigned levels, struct tide_err *err)
{
	size_t i;

	for (i = 0; i < r->parts; i++)
		if (r->part[i].length > 0 &&
		    tide_stretch_hash(&r->part[i], &r->key, levels) < 0)
			return no_memory(err);
	return 0;
}

static int
too_short(const struct stretch *s, size_t pieces, struct tide_err *err)
{
	return tide_err_set(err,
	    "%s is too short: %zu letters and digits are left of it, and the "
	    "shortest that can be answered has %u (bytes of UTF-8)",
	    pieces > 1 ? "a piece of the excerpt" : "the excerpt", s->length,
	    TIDE_EXCERPT_LEAST);
}

static int
check_excerpt(struct tide_recall *r, struct tide_err *err)
{
	size_t i;

	if (r->length == 0)
		return tide_err_set(err,
		    "nothing is left of the excerpt: it has no letters and no "
		    "digits");
	if (r->guesses > 0 && r->parts != 2)
		return tide_err_set(err,
		    "candidates can be tried for one * between two pieces");
	if (r->parts == 1 && r->length < TIDE_EXCERPT_LEAST) {
		r->is_short = true;
		(void)too_short(&r->part[0], 1, err);
		return 1;
	}
	for (i = 0; i < r->parts; i++)
		if (r->part[i].length < TIDE_EXCERPT_LEAST)
			return too_short(&r->part[i], r->parts, err);
	return 0;
}

int
tide_recall_ready(struct tide_recall *r, struct tide_err *err)
{
	int rc = 0;

	if (r->parts > 0 && r->part[r->parts - 1].length == 0)
		r->parts--; /* opened, and nothing came */
	switch (r->kind) {
	case TIDE_RECALL_EXCERPT:
		rc = check_excerpt(r, err);
		if (rc >= 0 && hash_parts(r, TIDE_HBF_LEVELS, err) < 0)
			rc = -1;
		return rc;
	case TIDE_RECALL_MESSAGE:
		if (r->length == 0 && r->files == 0)
			return tide_err_set(
			    err, "nothing is left of the message to ask for");
		return hash_parts(r, 1, err);
	default:
		return r->files > 0
		    ? 0
		    : tide_err_set(err, "there is no file to ask for");
	}
}

/* ---- looking ----------------------------------------------------------- */

bool
tide_content_has(const struct tide_content *c, struct tide_recollection *a,
    struct tide_hash element)
{
	a->lookups++;
	return tide_bloom_has(&c->shape, c->words, element);
}

unsigned
tide_content_profiles(const struct tide_content *c)
{
	unsigned p, n = 0;

	if (c->form == TIDE_MEMORY_CLASSIC)
		return 1; /* it does not tell them apart */
	for (p = 0; p < TIDE_PROFILES_MAX; p++)
		n += c->profile[p] != 0;
	return n;
}

/* The profiles under which it is there, a bit each. */
static uint32_t
profiles_with_file(const struct tide_content *c, struct tide_recollection *a,
    struct tide_hash digest)
{
	uint32_t bits = 0;
	unsigned p;

	if (c->form == TIDE_MEMORY_CLASSIC)
		return tide_content_has(
		    c, a, tide_hbf_file(c->form, 0, digest));
	for (p = 0; p < TIDE_PROFILES_MAX; p++)
		if (c->profile[p] != 0 &&
		    tide_content_has(
			c, a, tide_hbf_file(c->form, c->profile[p], digest)))
			bits |= 1u << p;
	return bits;
}

static void
look_for_files(const struct tide_recall *r, const struct tide_content *c,
    struct tide_recollection *a)
{
	uint32_t bits;
	size_t i;

	a->files_asked = (unsigned)r->files;
	for (i = 0; i < r->files; i++) {
		bits = profiles_with_file(c, a, r->file[i]);
		a->files += bits != 0;
		a->profiles |= bits;
	}
	if (r->kind == TIDE_RECALL_FILE) {
		a->found = a->files > 0;
		a->chance = tide_bloom_error(&c->shape, c->ones) *
		    tide_content_profiles(c) * (double)r->files;
		if (a->chance > 1)
			a->chance = 1;
	}
}

void
tide_recall_look(const struct tide_recall *r, const struct tide_content *c,
    struct tide_recollection *a)
{
	memset(a, 0, sizeof *a);
	a->distance = -1;
	if (c->form == TIDE_MEMORY_OFF)
		return;
	if (r->kind == TIDE_RECALL_EXCERPT)
		tide_look_for_excerpt(r->part, r->parts, c, a);
	else if (r->kind == TIDE_RECALL_MESSAGE)
		tide_look_for_message(r, c, a);
	if (r->kind != TIDE_RECALL_EXCERPT)
		look_for_files(r, c, a);
	if (r->kind == TIDE_RECALL_MESSAGE)
		a->found = a->share >= TIDE_SHARE_LEAST || a->files > 0;
	if (c->form == TIDE_MEMORY_CLASSIC)
		a->profiles = 0; /* it does not tell them apart */
}

void
tide_recall_look_guess(const struct tide_recall *r, size_t i,
    const struct tide_content *c, struct tide_recollection *a)
{
	const struct stretch *head = &r->part[0], *tail = &r->part[1];
	const struct guess *g = &r->guess[i];
	struct stretch s = { .length =
				 head->length + g->length + tail->length };

	memset(a, 0, sizeof *a);
	a->distance = -1;
	s.text = malloc(s.length);
	if (s.text == NULL || c->form == TIDE_MEMORY_OFF) {
		free(s.text);
		return;
	}
	memcpy(s.text, head->text, head->length);
	memcpy(s.text + head->length, g->text, g->length);
	memcpy(s.text + head->length + g->length, tail->text, tail->length);
	if (tide_stretch_hash(&s, &r->key, TIDE_HBF_LEVELS) == 0)
		tide_look_for_excerpt(&s, 1, c, a);
	tide_stretch_free(&s);
}
