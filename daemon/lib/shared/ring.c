/*
 * ring - put, get.  The steps are explained in ring.h.
 */
#include <string.h>

#include "tidemark/base/hash.h"
#include "tidemark/shared/ring.h"

/* For tests/race/t_ring.c, which stops and kills between any two steps. */
#ifndef TIDE_RING_STEP
#define TIDE_RING_STEP() ((void)0)
#endif

#define ERASE_TRIES 16

static const uint64_t nothing[TIDE_DECISION_WORDS]; /* an erased one */

const char *const tide_decided_name[TIDE_DECIDEDS] = { "accept", "tempfail",
	"reject" };

size_t
tide_ring_size(uint32_t capacity)
{
	return sizeof(struct tide_ring_region) +
	    capacity * sizeof(struct tide_ring_entry);
}

static struct tide_ring_entry *
entry_of(const struct tide_ring *r, uint64_t n)
{
	return &r->region->entry[n % r->capacity];
}

/* Of the words and of the number, so that no older record can pass. */
static uint64_t
check_of(const uint64_t word[TIDE_DECISION_WORDS], uint64_t n)
{
	return tide_hash_check(word, TIDE_DECISION_WORDS * 8) ^
	    (n + 1) * 0x9e3779b97f4a7c15u;
}

/* ---- writing ----------------------------------------------------------- */

static bool
cas(_Atomic uint64_t *p, uint64_t old, uint64_t new, memory_order order)
{
	return atomic_compare_exchange_strong_explicit(
	    p, &old, new, order, memory_order_relaxed);
}

/* W2 */
static bool
take_entry(const struct tide_ring *r, struct tide_ring_entry *e, uint64_t n)
{
	uint64_t s = atomic_load_explicit(&e->seq, memory_order_relaxed);

	if (s > 2 * n + 1)
		return false;
	if (s % 2 == 1 && (s - 1) / 2 + r->capacity >= n)
		return false;
	TIDE_RING_STEP();
	return cas(&e->seq, s, 2 * n + 1, memory_order_acquire);
}

static void
write_entry(struct tide_ring_entry *e, const struct tide_decision *d,
    uint64_t n) /* W3 */
{
	uint64_t word[TIDE_DECISION_WORDS];
	size_t i;

	memcpy(word, d, sizeof word);
	atomic_store_explicit(
	    &e->check, check_of(word, n), memory_order_release);
	for (i = 0; i < TIDE_DECISION_WORDS; i++) {
		TIDE_RING_STEP();
		atomic_store_explicit(
		    &e->word[i], word[i], memory_order_release);
	}
}

bool
tide_ring_put(const struct tide_ring *r, const struct tide_decision *d)
{
	uint64_t n = atomic_fetch_add_explicit(
	    &r->region->next, 1, memory_order_relaxed); /* W1 */
	struct tide_ring_entry *e = entry_of(r, n);

	TIDE_RING_STEP();
	if (take_entry(r, e, n)) {
		write_entry(e, d, n);
		TIDE_RING_STEP();
		if (cas(&e->seq, 2 * n + 1, 2 * n + 2,
			memory_order_release)) /* W4 */
			return true;
	}
	atomic_fetch_add_explicit(
	    &r->region->given_up, 1, memory_order_relaxed);
	return false;
}

/* ---- reading ----------------------------------------------------------- */

uint64_t
tide_ring_next(const struct tide_ring *r)
{
	return atomic_load_explicit(&r->region->next, memory_order_relaxed);
}

uint64_t
tide_ring_oldest(const struct tide_ring *r)
{
	uint64_t next = tide_ring_next(r);

	return next > r->capacity ? next - r->capacity : 0;
}

/* Whatever a broken writer put there, a reader's strings end. */
static void
end_texts(struct tide_decision *d)
{
	d->session[sizeof d->session - 1] = '\0';
	d->qid[sizeof d->qid - 1] = '\0';
	d->reason[sizeof d->reason - 1] = '\0';
	d->client[sizeof d->client - 1] = '\0';
	d->sender[sizeof d->sender - 1] = '\0';
}

enum tide_ring_found
tide_ring_get(const struct tide_ring *r, uint64_t n, struct tide_decision *d)
{
	const struct tide_ring_entry *e = entry_of(r, n);
	uint64_t word[TIDE_DECISION_WORDS], check, seq;
	size_t i;

	seq = atomic_load_explicit(&e->seq, memory_order_acquire); /* R1 */
	if (seq != 2 * n + 2)
		return seq < 2 * n + 2 ? TIDE_RING_NOT_YET : TIDE_RING_GONE;
	check = atomic_load_explicit(&e->check, memory_order_acquire); /* R2 */
	for (i = 0; i < TIDE_DECISION_WORDS; i++) {
		TIDE_RING_STEP();
		word[i] =
		    atomic_load_explicit(&e->word[i], memory_order_acquire);
	}
	if (atomic_load_explicit(&e->seq, memory_order_relaxed) !=
		2 * n + 2 ||		/* R3 */
	    check != check_of(word, n)) /* R4 */
		return TIDE_RING_GONE;
	memcpy(d, word, sizeof *d);
	end_texts(d);
	return memcmp(word, nothing, sizeof word) != 0 ? TIDE_RING_HERE
						       : TIDE_RING_ERASED;
}

/* ---- erasing ----------------------------------------------------------- */

/* E1: false if the entry does not hold one that is meant. */
static bool
is_meant(const struct tide_ring_entry *e, tide_ring_means *means, void *arg,
    uint64_t *seq)
{
	uint64_t word[TIDE_DECISION_WORDS] = { 0 };
	struct tide_decision d;
	size_t i;

	*seq = atomic_load_explicit(&e->seq, memory_order_acquire);
	for (i = 0; i < TIDE_DECISION_WORDS; i++)
		word[i] =
		    atomic_load_explicit(&e->word[i], memory_order_acquire);
	if (*seq == 0 || memcmp(word, nothing, sizeof word) == 0)
		return false;
	memcpy(&d, word, sizeof d);
	end_texts(&d);
	return means(arg, &d);
}

/* False: somebody has written there meanwhile. */
static bool
blank(struct tide_ring_entry *e, uint64_t seq)
{
	static const struct tide_decision none;
	size_t i;

	if (seq % 2 == 1) { /* E3 */
		for (i = 0; i < TIDE_DECISION_WORDS; i++)
			atomic_store_explicit(
			    &e->word[i], 0, memory_order_release);
		return true;
	}
	if (!cas(&e->seq, seq, seq - 1, memory_order_acquire)) /* E2 */
		return false;
	TIDE_RING_STEP();
	write_entry(e, &none, seq / 2 - 1);
	TIDE_RING_STEP();
	(void)cas(&e->seq, seq - 1, seq, memory_order_release);
	return true;
}

unsigned
tide_ring_erase(
    const struct tide_ring *r, tide_ring_means *means, void *arg, bool dry)
{
	struct tide_ring_entry *e;
	unsigned n = 0, tries;
	uint32_t i;
	uint64_t seq;

	for (i = 0; i < r->capacity; i++) {
		e = &r->region->entry[i];
		for (tries = 0; tries < ERASE_TRIES; tries++) {
			if (!is_meant(e, means, arg, &seq))
				break;
			if (!dry && !blank(e, seq))
				continue;
			n++;
			break;
		}
	}
	return n;
}

/* ---- session ids ------------------------------------------------------- */

/* 64 bits, five at a time, in an alphabet without 0 O 1 I. */
void
tide_session_id(uint64_t wall_us, uint32_t slot, char id[16])
{
	static const char letter[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
	uint64_t n = wall_us << 12 | (slot & 0xfff);
	int i;

	for (i = 12; i >= 0; i--, n >>= 5)
		id[i] = letter[n & 31];
	memset(id + 13, 0, 3);
}
