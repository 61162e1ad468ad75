/*
 * spam - generations of filters: put in, look up, begin anew.
 */
#include <assert.h>
#include <string.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/slots.h"

/*
 * The exact hashes decide alone and must not err.  Of the pairs many must be
 * met: a stranger's 63 have three by chance when a filter is full.
 */
#define EXACT_EACH 2u /* a text and, now and then, a file */
#define PAIR_ERROR 0.05

/*
 * Of the 63 pairs of a full sketch so many make a near copy.  Over 6,046
 * mails and eight keys, with 5% of the words changed, 97% of the copies were
 * met, and of 4,145 strangers one every other time; single samples in the
 * same room did worse, as those of a mailing list's footer are everywhere.
 */
#define NEAR_PAIRS 29u
#define PAIRS_LEAST 16u /* of a smaller sketch nothing can be said */

const char *const tide_spam_how_name[TIDE_SPAM_HOWS] = { "no", "text", "file",
	"near copy" };

struct tide_spam_shape
tide_spam_size(uint64_t reports, double p, uint32_t generations)
{
	return (struct tide_spam_shape){ .exact = tide_bloom_size(
					     EXACT_EACH * reports, p),
		.pairs = tide_bloom_size(TIDE_PAIRS * reports, PAIR_ERROR),
		.generations = generations };
}

bool
tide_spam_sane(const struct tide_spam_shape *s)
{
	return tide_bloom_sane(&s->exact) && tide_bloom_sane(&s->pairs) &&
	    s->generations >= 1 && s->generations <= TIDE_SPAM_GENERATIONS;
}

/* ---- the region -------------------------------------------------------- */

_Static_assert(
    sizeof(struct tide_spam_head) <= TIDE_PAGE, "the head is one page");

const struct tide_bloom_shape *
tide_spam_part_shape(const struct tide_spam_shape *s, enum tide_spam_part part)
{
	return part == TIDE_SPAM_EXACT ? &s->exact : &s->pairs;
}

/* Both parts of one kind. */
static size_t
kind_bytes(const struct tide_spam_shape *s)
{
	return tide_pages(tide_bloom_bytes(&s->exact)) +
	    tide_pages(tide_bloom_bytes(&s->pairs));
}

size_t
tide_spam_bytes(const struct tide_spam_shape *s)
{
	return TIDE_PAGE +
	    (s->generations + 1) * TIDE_SPAM_KINDS * kind_bytes(s);
}

void
tide_spam_attach(
    struct tide_spam *m, void *region, const struct tide_spam_shape *s)
{
	*m = (struct tide_spam){ .head = region,
		.shape = *s,
		.filters = (char *)region + TIDE_PAGE };
}

static uint64_t
place_of(const struct tide_spam *m, uint64_t generation)
{
	return generation % (m->shape.generations + 1);
}

tide_bloom_word *
tide_spam_words(const struct tide_spam *m, uint64_t generation,
    enum tide_spam_kind kind, enum tide_spam_part part)
{
	char *at = m->filters +
	    (place_of(m, generation) * TIDE_SPAM_KINDS + kind) *
		kind_bytes(&m->shape);

	if (part == TIDE_SPAM_PAIRS)
		at += tide_pages(tide_bloom_bytes(&m->shape.exact));
	return (tide_bloom_word *)at;
}

struct tide_spam_generation *
tide_spam_generation(const struct tide_spam *m, uint64_t number)
{
	return &m->head->place[place_of(m, number)];
}

uint64_t
tide_spam_oldest(const struct tide_spam_shape *s, uint64_t newest)
{
	return newest > s->generations ? newest - s->generations + 1 : 1;
}

/* ---- elements ---------------------------------------------------------- */

/* Two neighbours of a sketch: what a near copy has in common with it. */
static struct tide_hash
pair_hash(const uint64_t *sample)
{
	uint64_t h = sample[0] * 0x9e3779b97f4a7c15ull ^
	    (sample[1] + 0x632be59bd9b4e019ull) * 0xbf58476d1ce4e5b9ull;

	h = (h ^ h >> 30) * 0x94d049bb133111ebull;
	h ^= h >> 31;
	return (struct tide_hash){ .low = h,
		.high = (h ^ sample[1]) * 0xd6e8feb86659fd93ull };
}

static size_t
pairs_of(const struct tide_signatures *s)
{
	size_t n = s->samples < TIDE_SKETCH ? s->samples : TIDE_SKETCH;

	return n > 0 ? n - 1 : 0;
}

void
tide_spam_put(struct tide_spam *m, uint64_t generation,
    enum tide_spam_kind kind, const struct tide_signatures *s)
{
	tide_bloom_word *exact, *pairs;
	size_t i;

	exact = tide_spam_words(m, generation, kind, TIDE_SPAM_EXACT);
	pairs = tide_spam_words(m, generation, kind, TIDE_SPAM_PAIRS);
	if (s->has_text)
		(void)tide_bloom_add(&m->shape.exact, exact, s->text);
	for (i = 0; i < s->files && i < TIDE_SIGNED_FILES; i++)
		(void)tide_bloom_add(&m->shape.exact, exact, s->file[i]);
	for (i = 0; i < pairs_of(s); i++)
		(void)tide_bloom_add(
		    &m->shape.pairs, pairs, pair_hash(&s->sample[i]));
}

/* ---- looking ----------------------------------------------------------- */

struct look {
	const struct tide_spam *m;
	uint64_t newest, oldest;
};

/* A number that was skipped has no filters; its place has another's. */
static bool
is_there(const struct look *l, uint64_t g)
{
	return atomic_load_explicit(&tide_spam_generation(l->m, g)->number,
		   memory_order_relaxed) == g;
}

/* The newest generation that has it, 0 for none. */
static uint64_t
find(const struct look *l, enum tide_spam_kind kind, enum tide_spam_part part,
    struct tide_hash h)
{
	const struct tide_bloom_shape *s =
	    tide_spam_part_shape(&l->m->shape, part);
	uint64_t g;

	for (g = l->newest; g >= l->oldest; g--)
		if (is_there(l, g) &&
		    tide_bloom_has(s, tide_spam_words(l->m, g, kind, part), h))
			return g;
	return 0;
}

static struct tide_spam_trace
trace(const struct look *l, struct tide_hash h)
{
	return (struct tide_spam_trace){ .reported = find(l, TIDE_SPAM_REPORTED,
					     TIDE_SPAM_EXACT, h),
		.revoked = find(l, TIDE_SPAM_REVOKED, TIDE_SPAM_EXACT, h) };
}

/* How many pairs are met in that generation, and how many were revoked. */
static void
meet(const struct look *l, const struct tide_signatures *s, uint64_t g,
    unsigned *met, unsigned *gone)
{
	const tide_bloom_word *words =
	    tide_spam_words(l->m, g, TIDE_SPAM_REPORTED, TIDE_SPAM_PAIRS);
	struct tide_hash h;
	size_t i;

	*met = *gone = 0;
	for (i = 0; i < pairs_of(s); i++) {
		h = pair_hash(&s->sample[i]);
		if (!tide_bloom_has(&l->m->shape.pairs, words, h))
			continue;
		++*met;
		*gone += find(l, TIDE_SPAM_REVOKED, TIDE_SPAM_PAIRS, h) != 0;
	}
}

static void
look_at_sketch(const struct look *l, const struct tide_signatures *s,
    struct tide_spam_match *out)
{
	unsigned met, gone;
	uint64_t g;

	/* of a sketch that holds the whole text three quarters must be met */
	if (pairs_of(s) < PAIRS_LEAST)
		return;
	out->needed = pairs_of(s) == TIDE_PAIRS
	    ? NEAR_PAIRS
	    : (unsigned)(pairs_of(s) * 3 + 3) / 4;
	for (g = l->newest; g >= l->oldest; g--) {
		if (!is_there(l, g))
			continue;
		meet(l, s, g, &met, &gone);
		if (met > out->met) {
			out->met = met;
			out->met_gone = gone;
		}
		if (met - gone >= out->needed && out->how == TIDE_SPAM_NOT) {
			out->how = TIDE_SPAM_NEAR;
			out->generation = g;
		}
	}
}

static void
judge(struct tide_spam_match *out, const struct tide_spam_trace *t,
    enum tide_spam_how how)
{
	if (out->how != TIDE_SPAM_NOT || t->reported == 0 || t->revoked != 0)
		return;
	out->how = how;
	out->generation = t->reported;
}

static void
look_at_all(const struct look *l, const struct tide_signatures *s,
    struct tide_spam_match *out)
{
	size_t i;

	if (s->has_text)
		out->text = trace(l, s->text);
	judge(out, &out->text, TIDE_SPAM_TEXT);
	for (i = 0; i < s->files && i < TIDE_SIGNED_FILES; i++) {
		out->file[i] = trace(l, s->file[i]);
		judge(out, &out->file[i], TIDE_SPAM_FILE);
	}
	/* a text that was revoked itself is no near copy of another */
	if (out->text.revoked == 0)
		look_at_sketch(l, s, out);
	if (out->generation != 0)
		out->began_ms = atomic_load_explicit(
		    &tide_spam_generation(l->m, out->generation)->began_ms,
		    memory_order_relaxed);
}

bool
tide_spam_test(const struct tide_spam *m, tide_epoch *mine, tide_epoch *now,
    const struct tide_signatures *s, struct tide_spam_match *out)
{
	struct look l = { .m = m };

	memset(out, 0, sizeof *out);
	if (mine != NULL)
		tide_epoch_enter(mine, now);
	l.newest = tide_epoch_current(&m->head->newest); /* W1 */
	l.oldest = tide_spam_oldest(&m->shape, l.newest);
	if (l.newest != 0)
		look_at_all(&l, s, out); /* W2 */
	if (mine != NULL)
		tide_epoch_leave(mine); /* W3 */
	return out->how != TIDE_SPAM_NOT;
}

/* ---- a new generation -------------------------------------------------- */

static void
zero(const struct tide_spam *m, uint64_t generation)
{
	tide_bloom_word *words =
	    tide_spam_words(m, generation, TIDE_SPAM_REPORTED, TIDE_SPAM_EXACT);
	size_t i, n = TIDE_SPAM_KINDS * kind_bytes(&m->shape) / sizeof *words;

	for (i = 0; i < n; i++)
		atomic_store_explicit(&words[i], 0, memory_order_relaxed);
}

int
tide_spam_begin_generation(struct tide_spam *m,
    const struct tide_workers *workers, uint64_t number, uint64_t began_ms,
    uint64_t wait_ms, struct tide_err *err)
{
	struct tide_spam_generation *g = tide_spam_generation(m, number);
	unsigned kind;

	assert(number > atomic_load(&m->head->newest));
	if (tide_workers_wait(workers, wait_ms, err) < 0)
		return -1; /* C1 */
	zero(m, number);   /* C2 */
	atomic_store(&g->number, number);
	atomic_store(&g->began_ms, began_ms);
	for (kind = 0; kind < TIDE_SPAM_KINDS; kind++)
		atomic_store(&g->messages[kind], 0);
	(void)tide_epoch_replace(
	    &m->head->newest, number, workers->epoch); /* C3 */
	return 0;
}
