/*
 * distinct - HyperLogLog sketches that empty themselves.
 *
 *   tag    fingerprint:44 | period:20      of the last add
 *   word   period:10 | 9 registers of 6 bits
 *
 * Period p fills words[p % 2].  A word is of use in p if its 10 bits are
 * those of p or of p - 1 (their parity keeps the generations apart).
 *
 * PROTOCOL distinct: workers share, and inherit, sketches without clearing.
 *  D1 tag = sketch.tag                   acquire
 *  D2 ours, of an older period:
 *     CAS tag -> {ours, p}               relaxed   (still in use)
 *  D3 ours nowhere: CAS the first tag whose period is neither p - 1, p nor
 *     p + 1 -> {ours, p}                 acq_rel   (claim)
 *  D4 CAS word -> max of its register    relaxed
 * Why:   Within a period a sketch is only ever taken, never given free, so
 *        two claimants of one account meet at the same first free sketch and
 *        one finds the other's tag there.  Words of the former owner are of
 *        p - 2 or older and count as empty.  A register only grows, so the
 *        order of adds is of no account.
 *        D4 ends: a register grows at most 58 times, a word changes its
 *        period once; a worker gives up after as many tries.
 * Forgetting, by the collector:
 *  D5 CAS tag {account, p} -> {nobody, p} acq_rel   (found no more)
 *  D6 clear the words, then
 *     CAS tag {nobody, p} -> 0            release   (to be claimed)
 * Why:   between D5 and D6 nobody finds the sketch and nobody can claim it;
 *        who claims it after D6 (D3 acquires) has empty words.  A worker that
 *        found it before D5 may still raise one register: the next owner has
 *        one element too many, or the words of nobody one.  A sketch that
 *        becomes free within a period may make two claimants of another
 *        account miss each other, as at the turn of one.
 * Turn:  of the period: a worker still in p may pass a sketch that one in
 *        p + 1 claims, and claim another for the same account.  The first in
 *        order is found from then on; the other's few elements are lost, and
 *        it falls free after two periods.
 * Crash: after D3 an empty sketch, found by the account's next add.  After
 *        D5 one of nobody's, which falls free when its period is over.
 * Test:  tests/daemon/lib/flow/t_distinct.c, tests/race/t_forget.c
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"

#define PERIOD_BITS 20
#define PERIOD_MASK ((1u << PERIOD_BITS) - 1)
#define STAMP_SHIFT 54
#define STAMP_MASK 0x3ffu
#define BITS 6u
#define PER_WORD 9u
#define RANK_MAX 58u /* 64 - 7 bits of index, and one */
#define TRIES (RANK_MAX * PER_WORD + 2)

_Static_assert(TIDE_DISTINCT_WORDS *PER_WORD >= TIDE_DISTINCT_REGISTERS,
    "every register has a place");
_Static_assert(PER_WORD *BITS == STAMP_SHIFT, "registers, then the stamp");
_Static_assert(1u << 7 == TIDE_DISTINCT_REGISTERS, "RANK_MAX fits");

static uint64_t
period_at(const struct tide_distinct *t, uint64_t now_ms)
{
	return now_ms / t->period_ms + 2; /* a tag of 0 is long over */
}

static struct tide_distinct_sketch *
sketch_at(const struct tide_distinct *t, struct tide_hash account, unsigned i)
{
	uint64_t sets = t->capacity / TIDE_DISTINCT_SET;
	unsigned home = (unsigned)(account.low >> 60);

	return t->sketches + (account.low & (sets - 1)) * TIDE_DISTINCT_SET +
	    tide_standing_place(account, home, i, TIDE_DISTINCT_SET);
}

static uint64_t
tag_of(struct tide_hash account, uint64_t period)
{
	return account.high << PERIOD_BITS | (period & PERIOD_MASK);
}

static bool
same_account(uint64_t a, uint64_t b)
{
	return a >> PERIOD_BITS == b >> PERIOD_BITS;
}

/* Neither of this period nor of its neighbours: free. */
static bool
is_over(uint64_t tag, uint64_t period)
{
	uint64_t age = (period + 1 - tag) & PERIOD_MASK;

	return age > 2;
}

static struct tide_distinct_sketch *
find(const struct tide_distinct *t, struct tide_hash account, uint64_t period)
{
	uint64_t tag, ours = tag_of(account, period);
	unsigned i;

	for (i = 0; i < TIDE_DISTINCT_SET; i++) {
		struct tide_distinct_sketch *s = sketch_at(t, account, i);

		tag = atomic_load_explicit(
		    &s->tag, memory_order_acquire); /* D1 */
		if (same_account(tag, ours) && !is_over(tag, period))
			return s;
	}
	return NULL;
}

/* D2, unless it is of this period already or we are the one behind. */
static void
touch(struct tide_distinct_sketch *s, uint64_t ours)
{
	uint64_t tag = atomic_load_explicit(&s->tag, memory_order_relaxed);

	if (same_account(tag, ours) && ((ours - tag) & PERIOD_MASK) == 1)
		(void)atomic_compare_exchange_strong_explicit(&s->tag, &tag,
		    ours, memory_order_relaxed, memory_order_relaxed); /* D2 */
}

static struct tide_distinct_sketch *
claim(const struct tide_distinct *t, struct tide_hash account, uint64_t period)
{
	unsigned i, reach = tide_standing_reach(account, TIDE_DISTINCT_SET);
	uint64_t ours = tag_of(account, period);

	for (i = 0; i < reach; i++) {
		struct tide_distinct_sketch *s = sketch_at(t, account, i);
		uint64_t tag =
		    atomic_load_explicit(&s->tag, memory_order_acquire);

		if (is_over(tag, period) &&
		    atomic_compare_exchange_strong_explicit(&s->tag, &tag, ours,
			memory_order_acq_rel, memory_order_acquire)) /* D3 */
			return s;
		if (same_account(tag, ours) && !is_over(tag, period))
			return s;
	}
	return NULL;
}

static unsigned
rank_of(uint64_t bits)
{
	unsigned rank = (unsigned)__builtin_clzll(bits | 1) + 1;

	return rank < RANK_MAX ? rank : RANK_MAX;
}

static unsigned
register_in(uint64_t word, unsigned i)
{
	return (unsigned)(word >> i * BITS) & ((1u << BITS) - 1);
}

/* The word with this register raised; the same if it is no lower. */
static uint64_t
raised(uint64_t word, uint64_t period, unsigned i, unsigned rank)
{
	uint64_t stamp = period & STAMP_MASK;

	if (word >> STAMP_SHIFT != stamp)
		word = stamp << STAMP_SHIFT;
	if (register_in(word, i) >= rank)
		return word;
	word &= ~((((uint64_t)1 << BITS) - 1) << i * BITS);
	return word | (uint64_t)rank << i * BITS;
}

static void
raise_register(struct tide_distinct_sketch *s, uint64_t period, unsigned reg,
    unsigned rank)
{
	_Atomic uint64_t *at = &s->words[period % 2][reg / PER_WORD];
	uint64_t old = atomic_load_explicit(at, memory_order_relaxed), new;
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		new = raised(old, period, reg % PER_WORD, rank);
		if (new == old ||
		    atomic_compare_exchange_weak_explicit(at, &old, new,
			memory_order_relaxed, memory_order_relaxed)) /* D4 */
			return;
	}
}

bool
tide_distinct_add(const struct tide_distinct *t, struct tide_hash account,
    struct tide_hash element, uint64_t now_ms)
{
	uint64_t period = period_at(t, now_ms);
	struct tide_distinct_sketch *s = find(t, account, period);

	if (s == NULL)
		s = claim(t, account, period);
	if (s == NULL)
		return false;
	touch(s, tag_of(account, period));
	raise_register(s, period,
	    (unsigned)(element.high & (TIDE_DISTINCT_REGISTERS - 1)),
	    rank_of(element.low));
	return true;
}

bool
tide_distinct_has_room(
    const struct tide_distinct *t, struct tide_hash account, uint64_t now_ms)
{
	unsigned i, reach = tide_standing_reach(account, TIDE_DISTINCT_SET);
	uint64_t period = period_at(t, now_ms);

	if (find(t, account, period) != NULL)
		return true;
	for (i = 0; i < reach; i++)
		if (is_over(atomic_load_explicit(&sketch_at(t, account, i)->tag,
				memory_order_relaxed),
			period))
			return true;
	return false;
}

/* ---- forgetting -------------------------------------------------------- */

bool
tide_distinct_known(
    const struct tide_distinct *t, struct tide_hash account, uint64_t now_ms)
{
	return find(t, account, period_at(t, now_ms)) != NULL;
}

static void
clear_words(struct tide_distinct_sketch *s)
{
	unsigned g, i;

	for (g = 0; g < 2; g++)
		for (i = 0; i < TIDE_DISTINCT_WORDS; i++)
			atomic_store_explicit(
			    &s->words[g][i], 0, memory_order_relaxed);
}

static void
set_free(struct tide_distinct_sketch *s, uint64_t nobody) /* D6 */
{
	clear_words(s);
	(void)atomic_compare_exchange_strong_explicit(
	    &s->tag, &nobody, 0, memory_order_release, memory_order_relaxed);
}

/* At the turn of a period it may have had two. */
bool
tide_distinct_forget(
    const struct tide_distinct *t, struct tide_hash account, uint64_t now_ms)
{
	uint64_t period = period_at(t, now_ms), tag;
	struct tide_distinct_sketch *s;
	unsigned tries;
	bool known = false;

	for (tries = 0; tries < TRIES; tries++) {
		s = find(t, account, period);
		if (s == NULL)
			break;
		known = true;
		tag = atomic_load_explicit(&s->tag, memory_order_acquire);
		if (same_account(tag, tag_of(account, period)) &&
		    atomic_compare_exchange_strong_explicit(&s->tag, &tag,
			tag & PERIOD_MASK, memory_order_acq_rel,
			memory_order_relaxed)) /* D5 */
			set_free(s, tag & PERIOD_MASK);
	}
	return known;
}

/* ---- reading ------------------------------------------------------------ */

static void
gather(const struct tide_distinct_sketch *s, uint64_t period, uint8_t *reg)
{
	unsigned i, r;
	uint64_t word;

	for (i = 0; i < TIDE_DISTINCT_REGISTERS; i++) {
		word = atomic_load_explicit(
		    &s->words[period % 2][i / PER_WORD], memory_order_relaxed);
		if (word >> STAMP_SHIFT != (period & STAMP_MASK))
			continue;
		r = register_in(word, i % PER_WORD);
		if (r > reg[i])
			reg[i] = (uint8_t)r;
	}
}

struct tide_estimate
tide_distinct_estimate(
    const struct tide_distinct *t, struct tide_hash account, uint64_t now_ms)
{
	uint64_t period = period_at(t, now_ms);
	const struct tide_distinct_sketch *s = find(t, account, period);
	uint8_t reg[TIDE_DISTINCT_REGISTERS] = { 0 };
	struct tide_estimate e = { 0, 0 };

	if (s == NULL)
		return e;
	gather(s, period, reg);
	e.current = tide_distinct_count(reg, TIDE_DISTINCT_REGISTERS);
	gather(s, period - 1, reg);
	e.both = tide_distinct_count(reg, TIDE_DISTINCT_REGISTERS);
	return e;
}

/* x + x^2 + 2 x^4 + 4 x^8 + ...: what empty registers are worth. */
static double
sigma(double x)
{
	double sum = x, factor = 1, before;

	do {
		x *= x;
		before = sum;
		sum += x * factor;
		factor += factor;
	} while (sum > before);
	return sum;
}

/*
 * O. Ertl's improved raw estimator ("New cardinality estimation algorithms
 * for HyperLogLog sketches", 2017): unbiased from 0 on, where the original
 * changes formula at 2.5 n and is off around it.
 */
double
tide_distinct_count(const uint8_t *reg, unsigned n)
{
	const double alpha = 0.72134752044448170368; /* 1 / (2 ln 2) */
	unsigned i, empty = 0;
	double sum = 0;

	for (i = 0; i < n; i++) {
		if (reg[i] == 0)
			empty++;
		else
			sum += 1.0 / (double)((uint64_t)1 << (reg[i] & 63));
	}
	if (empty == n)
		return 0;
	sum += n * sigma((double)empty / n);
	return alpha * n * n / sum;
}

/* ---- as records --------------------------------------------------------- */

struct record {
	uint64_t place; /* in a table of this capacity: */
	uint64_t capacity;
	uint64_t print;
	uint64_t into_ms; /* the period, when it was saved */
	uint8_t reg[2][TIDE_DISTINCT_REGISTERS]; /* of this period, before */
};

static bool
describe(const struct tide_distinct *t, uint64_t i, uint64_t now_ms,
    struct record *r)
{
	const struct tide_distinct_sketch *s = &t->sketches[i];
	uint64_t tag = atomic_load_explicit(&s->tag, memory_order_acquire);
	uint64_t period = period_at(t, now_ms);

	if (tag >> PERIOD_BITS == 0 || is_over(tag, period))
		return false;
	memset(r, 0, sizeof *r);
	r->place = i;
	r->capacity = t->capacity;
	r->print = tag >> PERIOD_BITS;
	r->into_ms = now_ms % t->period_ms;
	gather(s, period, r->reg[0]);
	gather(s, period - 1, r->reg[1]);
	return true;
}

int
tide_distinct_save(const struct tide_distinct *t, uint64_t now_ms, char **bytes,
    size_t *size, struct tide_err *err)
{
	size_t n = 0, room = 16;
	struct record *all = malloc(room * sizeof *all), *more;
	uint64_t i;

	for (i = 0; all != NULL && i < t->capacity; i++) {
		if (!describe(t, i, now_ms, &all[n]) || ++n < room)
			continue;
		room *= 2;
		more = realloc(all, room * sizeof *all);
		if (more == NULL)
			free(all);
		all = more;
	}
	*bytes = (char *)all;
	*size = n * sizeof *all;
	return all != NULL ? 0 : tide_err_errno(err, "saving the estimates");
}

/* Registers only grow: what workers have noted already stays. */
static bool
load_into(const struct tide_distinct *t, const struct record *r, uint64_t set,
    uint64_t period, unsigned turns)
{
	unsigned place = (unsigned)(r->place % TIDE_DISTINCT_SET), k, i;
	struct tide_hash account =
	    tide_standing_set((struct tide_hash){ .high = r->print,
				  .low = set | (uint64_t)place << 60 },
		tide_standing_at(place, TIDE_DISTINCT_SET));
	struct tide_distinct_sketch *s = find(t, account, period);

	if (s == NULL)
		s = claim(t, account, period);
	if (s == NULL)
		return false;
	for (k = 0; k + turns < 2; k++)
		for (i = 0; i < TIDE_DISTINCT_REGISTERS; i++)
			if (r->reg[k][i] > 0 && r->reg[k][i] <= RANK_MAX)
				raise_register(
				    s, period - k - turns, i, r->reg[k][i]);
	return true;
}

static bool
load_one(const struct tide_distinct *t, const struct record *r, uint64_t now_ms,
    uint64_t elapsed_ms)
{
	uint64_t sets = t->capacity / TIDE_DISTINCT_SET;
	uint64_t step = r->capacity / TIDE_DISTINCT_SET;
	uint64_t turns, set = r->place / TIDE_DISTINCT_SET % sets;
	bool taken = false;

	if (step == 0 || (r->capacity & (r->capacity - 1)) != 0 ||
	    r->place >= r->capacity || elapsed_ms > 2 * t->period_ms)
		return false;
	turns = (r->into_ms % t->period_ms + elapsed_ms) / t->period_ms;
	if (turns > 1)
		return false;
	for (; set < sets; set += step)
		taken |=
		    load_into(t, r, set, period_at(t, now_ms), (unsigned)turns);
	return taken;
}

unsigned
tide_distinct_load(const struct tide_distinct *t, const char *bytes,
    size_t size, uint64_t now_ms, uint64_t elapsed_ms)
{
	unsigned taken = 0;
	struct record r;
	size_t at;

	for (at = 0; at + sizeof r <= size; at += sizeof r) {
		memcpy(&r, bytes + at, sizeof r);
		taken += load_one(t, &r, now_ms, elapsed_ms);
	}
	return taken;
}
