/*
 * recall excerpt - try every place that an excerpt may have had.
 *
 * A place is the offset of the excerpt's first byte in its part: modulo 256
 * in the default form, since a block's position is known modulo 8; from 0 to
 * the longest text of the window in the classic one.  The place tells which
 * bytes are blocks, and which blocks are pairs, as far up as it is known; above
 * that (level 4 in the default form) both possibilities are followed.
 */
#include <math.h>

#include "recall_priv.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

/* One excerpt, or piece, under one profile of one window. */
struct trial {
	const struct stretch *s;
	const struct tide_content *c;
	uint32_t profile;
	size_t skip;	/* bytes before the first block */
	uint64_t first; /* number of that block, as far as known */
	struct tide_recollection *a;
};

/* Are all nodes of that level there?  How many, or -1. */
static int
level_agrees(const struct trial *t, unsigned level, uint64_t first)
{
	uint64_t j = -first & ((1ull << level) - 1);
	size_t at;
	int n = 0;

	for (;; j += 1ull << level, n++) {
		at = t->skip + (size_t)j * TIDE_BLOCK;
		if (at + ((size_t)TIDE_BLOCK << level) > t->s->length)
			return n;
		if (!tide_content_has(t->c, t->a,
			tide_hbf_element(t->c->form, t->profile,
			    t->s->node[level][at], level, first + j)))
			return -1;
	}
}

/*
 * The levels whose nodes the place leaves open: its first block is known up
 * to the node one level below.  The highest that agrees, or -1 if none of the
 * possibilities holds.
 */
static int
climb(const struct trial *t, unsigned level, uint64_t first)
{
	int n, up, best = -1;
	unsigned k;

	if (level >= t->s->levels)
		return 0;
	for (k = 0; k < 2; k++) {
		uint64_t guess = first + k * (1ull << (level - 1));

		n = level_agrees(t, level, guess);
		if (n < 0)
			continue;
		up = climb(t, level + 1, guess);
		if (up == 0 && n > 0)
			up = (int)level;
		best = up > best ? up : best;
	}
	return best;
}

/* Levels that agree, all that there are; 0 if one does not. */
static unsigned
agrees(const struct trial *t, unsigned *blocks)
{
	unsigned level, known = t->s->levels, top = 0;
	int n;

	if (t->c->form != TIDE_MEMORY_CLASSIC && known > ALIGNED_LEVELS)
		known = ALIGNED_LEVELS;
	for (level = 0; level < known; level++) {
		n = level_agrees(t, level, t->first);
		if (n < 0)
			return 0;
		if (level == 0)
			*blocks = (unsigned)n;
		if (n > 0)
			top = level + 1;
	}
	if (known == t->s->levels)
		return top;
	n = climb(t, known, t->first);
	if (n < 0)
		return 0;
	return n > 0 ? (unsigned)n + 1 : top;
}

/* The first place from `from` on, or -1. */
static int64_t
find_place(struct trial *t, int64_t from, int64_t end, unsigned *levels,
    unsigned *blocks)
{
	int64_t at;

	for (at = from; at < end; at++) {
		t->skip = (size_t)(-(uint64_t)at % TIDE_BLOCK);
		t->first = ((uint64_t)at + t->skip) / TIDE_BLOCK;
		*levels = agrees(t, blocks);
		if (*levels > 0)
			return at;
	}
	return -1;
}

static int64_t
places(const struct tide_content *c)
{
	return c->form == TIDE_MEMORY_CLASSIC
	    ? (int64_t)(c->longest * TIDE_BLOCK)
	    : (int64_t)PHASES;
}

/*
 * All pieces, in order.  The classic form tells where each begins: not before
 * the last one's end.  In the default form a place modulo 256 says nothing of
 * order, but it does say how far apart they are, up to multiples of 256.
 */
static bool
find_pieces(const struct stretch *s, size_t pieces, struct trial *t,
    struct tide_recollection *a)
{
	bool classic = t->c->form == TIDE_MEMORY_CLASSIC;
	unsigned levels, blocks = 0, least = UINT32_MAX, sum = 0;
	int64_t at, end = 0, distance = -1;
	size_t i;

	for (i = 0; i < pieces; i++) {
		t->s = &s[i];
		at = find_place(
		    t, classic ? end : 0, places(t->c), &levels, &blocks);
		if (at < 0)
			return false;
		if (i == 1)
			distance = classic ? at - end
					   : (at - end) & (int64_t)(PHASES - 1);
		end = at + (int64_t)s[i].length;
		least = levels < least ? levels : least;
		sum += blocks;
	}
	if (least > a->levels) {
		a->levels = least;
		a->blocks = sum;
		a->distance = distance;
	}
	return true;
}

/* Of finding one piece, under one profile, where it never was. */
static double
chance_of_piece(
    const struct stretch *s, const struct tide_content *c, double error)
{
	double sum = 0;
	unsigned i;

	for (i = 0; i < TESTS_MOST; i++)
		sum += s->places[i] * pow(error, s->least + i);
	if (c->form == TIDE_MEMORY_CLASSIC)
		sum *= (double)c->longest / TIDE_HBF_CLASSES;
	return -expm1(-sum); /* at least one of so many as are expected */
}

static double
chance_of_pieces(
    const struct stretch *s, size_t pieces, const struct tide_content *c)
{
	double error = tide_bloom_error(&c->shape, c->ones), all = 1, whole = 0;
	size_t i;

	if (pieces == 1 && s->length <= TIDE_WHOLE_MOST)
		whole = error;
	for (i = 0; i < pieces; i++)
		all *= chance_of_piece(&s[i], c, error);
	if (pieces == 1 && s->length < TIDE_EXCERPT_LEAST)
		all = 0;
	all = (all + whole) * tide_content_profiles(c);
	return all < 1 ? all : 1;
}

/* Under one profile: as an excerpt, or as a part of its own. */
static bool
is_there(const struct stretch *s, size_t pieces, struct trial *t)
{
	bool found = false;

	if (pieces == 1 && s->length <= TIDE_WHOLE_MOST &&
	    tide_content_has(
		t->c, t->a, tide_hbf_whole(t->c->form, t->profile, s->whole)))
		found = t->a->whole = true;
	if ((pieces > 1 || s->length >= TIDE_EXCERPT_LEAST) &&
	    find_pieces(s, pieces, t, t->a))
		found = true;
	return found;
}

void
tide_look_for_excerpt(const struct stretch *s, size_t pieces,
    const struct tide_content *c, struct tide_recollection *a)
{
	struct trial t = { .c = c, .a = a };
	unsigned p;

	a->chance = chance_of_pieces(s, pieces, c);
	if (c->form == TIDE_MEMORY_CLASSIC) {
		a->found = is_there(s, pieces, &t);
		return;
	}
	for (p = 0; p < TIDE_PROFILES_MAX; p++) {
		t.profile = c->profile[p];
		if (t.profile != 0 && is_there(s, pieces, &t)) {
			a->found = true;
			a->profiles |= 1u << p;
		}
	}
}
