/*
 * b_reputation - what reputation costs: bits a signature, beside a table of
 * 160-bit signatures with an index; nanoseconds to test an address and a
 * message, beside one random cache line; how fast a list is built.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"
#include "tidemark/text/text.h"

#define ADDRESSES 1000000u
#define TESTS 2000000u
#define REPORTS 5000u

static struct tide_hash_key key;

static uint64_t
word(uint64_t a, uint64_t b)
{
	uint64_t name[2] = { a, b };

	return tide_hash(&key, name, sizeof name).low;
}

static struct tide_hash
element(uint64_t i)
{
	return tide_hash(&key, &i, sizeof i);
}

static void *
room(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (p == NULL)
		abort();
	memset(p, 0, bytes);
	return p;
}

static double
ns_since(uint64_t began, uint64_t n)
{
	return (double)(tide_clock_mono_ns() - began) / (double)n;
}

/* ---- a cache line ------------------------------------------------------ */

/* One load after another, each where the last one says. */
static double
cache_miss(size_t bytes)
{
	size_t n = bytes / 64, i, j;
	uint64_t *at = room(bytes), began, k = 0;

	for (i = 0; i < n; i++)
		at[i * 8] = i;
	for (i = n - 1; i > 0; i--) { /* one cycle through all (Sattolo) */
		uint64_t t = at[i * 8];

		j = word(1, i) % i;
		at[i * 8] = at[j * 8];
		at[j * 8] = t;
	}
	began = tide_clock_mono_ns();
	for (i = 0; i < 1000000; i++)
		k = at[k * 8];
	began = tide_clock_mono_ns() - began + (k == UINT64_MAX);
	free(at);
	return (double)began / 1e6;
}

/* ---- addresses --------------------------------------------------------- */

static void
addresses(bool counting)
{
	struct tide_list_shape s = { .bloom =
					 tide_bloom_size(ADDRESSES, 0.0001),
		.counting = counting };
	tide_bloom_word *words = room(tide_list_bytes(&s));
	uint64_t i, began = tide_clock_mono_ns(), found = 0;
	double add, in, out, line;
	char text[64];
	struct tide_key k;

	for (i = 0; i < ADDRESSES; i++) {
		(void)snprintf(text, sizeof text, "user%llu@host%llu.example\n",
		    (unsigned long long)i, (unsigned long long)(i % 9973));
		if (tide_address_entry(&key, text, &k) == 1)
			(void)tide_list_add(
			    &s, words, tide_address_hash(&key, &k));
	}
	line = ns_since(began, ADDRESSES);
	memset((void *)words, 0, tide_list_bytes(&s));
	began = tide_clock_mono_ns();
	for (i = 0; i < ADDRESSES; i++)
		(void)tide_list_add(&s, words, element(i));
	add = ns_since(began, ADDRESSES);
	began = tide_clock_mono_ns();
	for (i = 0; i < TESTS; i++)
		found += tide_list_has(&s, words, element(i % ADDRESSES));
	in = ns_since(began, TESTS);
	began = tide_clock_mono_ns();
	for (i = 0; i < TESTS; i++)
		found += tide_list_has(&s, words, element(ADDRESSES + i));
	out = ns_since(began, TESTS);
	printf("addresses, %s: %u in %.1f MiB (%.1f bits each); add %.0f ns, "
	       "test %.0f ns listed, %.0f ns not; %.2f million lines/s\n",
	    counting ? "counting" : "plain", ADDRESSES,
	    (double)tide_list_bytes(&s) / 1048576,
	    8.0 * (double)tide_list_bytes(&s) / ADDRESSES, add, in, out,
	    1e3 / line);
	if (found < TESTS)
		printf("but not all were found\n");
	free(words);
}

/* ---- signatures -------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct tide_signatures
message(uint64_t which)
{
	struct tide_signatures s;
	uint64_t i;

	memset(&s, 0, sizeof s);
	s.has_text = true;
	s.text = element(which);
	s.samples = TIDE_SKETCH;
	for (i = 0; i < TIDE_SKETCH; i++)
		s.sample[i] = word(which, i);
	qsort(s.sample, TIDE_SKETCH, sizeof *s.sample, by_value);
	return s;
}

static double
test_all(const struct tide_spam *m, const struct tide_signatures *s, unsigned n)
{
	uint64_t began = tide_clock_mono_ns();
	struct tide_spam_match match;
	unsigned i;

	for (i = 0; i < n; i++)
		(void)tide_spam_test(m, NULL, NULL, &s[i], &match);
	return ns_since(began, n) / 1000;
}

static void
signatures(void)
{
	struct tide_spam_shape shape = tide_spam_size(REPORTS, 1e-6, 4);
	struct tide_signatures *s = calloc(2 * REPORTS, sizeof *s);
	double exact = (double)shape.exact.bits, pairs;
	struct tide_slot *slots = room(sizeof *slots);
	tide_epoch epoch = 1;
	struct tide_workers workers = { slots, 1, &epoch };
	struct tide_spam m;
	struct tide_err err;
	unsigned i, g;

	if (s == NULL)
		abort();
	for (i = 0; i < 2 * REPORTS; i++)
		s[i] = message(i);
	tide_spam_attach(&m, room(tide_spam_bytes(&shape)), &shape);
	for (g = 1; g <= 4; g++) {
		(void)tide_spam_begin_generation(&m, &workers, g, 1, 0, &err);
		for (i = 0; i < REPORTS; i++)
			tide_spam_put(&m, g, TIDE_SPAM_REPORTED, &s[i]);
	}
	exact /= (double)shape.exact.capacity;
	pairs = (double)shape.pairs.bits / REPORTS;
	printf("signatures: %.1f bits for an exact one at 1 error in a "
	       "million, where a table takes 160 and an index of at least "
	       "%u: 1:%.1f\n",
	    exact, 32u, (160 + 32) / exact);
	printf("  a near copy's sketch: %.0f bits (%.1f a pair), where 64 "
	       "samples take %u: 1:%.1f\n",
	    pairs, pairs / TIDE_PAIRS, 64u * 64u, 64 * 64 / pairs);
	printf("  a report in all: %.0f bytes of the map\n",
	    (2 * exact + pairs) / 8);
	printf("  test, four full generations: %.2f us of what was reported, "
	       "%.2f us of what was not\n",
	    test_all(&m, s, REPORTS), test_all(&m, s + REPORTS, REPORTS));
	free(s);
	free(slots);
	free(m.head);
}

/* ---- signing ----------------------------------------------------------- */

static void
signing(void)
{
	static char text[1 << 20];
	const struct tide_part part = {
		.kind = TIDE_PART_TEXT, .name = "", .type = ""
	};
	struct tide_signer *signer = tide_signer_new(&key);
	struct tide_text_sink sink = tide_signer_sink(signer);
	struct tide_signatures s;
	uint64_t began;
	size_t i;
	int with;

	for (i = 0; i < sizeof text; i++)
		text[i] = (char)('a' + word(3, i) % 26);
	for (with = 0; with < 2; with++) {
		tide_signer_begin(signer);
		if (with)
			tide_signer_recipient(signer, "<ann@example.org>");
		began = tide_clock_mono_ns();
		sink.begin(sink.arg, &part);
		sink.text(sink.arg, text, sizeof text);
		sink.end(sink.arg, &part);
		tide_signer_end(signer, &s);
		printf("signing%s: %.0f MB/s of normalised text\n",
		    with ? ", a recipient's address taken out" : "",
		    1000 / ns_since(began, sizeof text));
	}
	tide_signer_free(signer);
}

int
main(void)
{
	struct tide_err err;

	if (tide_hash_key_draw(&key, &err) < 0)
		return 1;
	printf("one random cache line of 64 MiB: %.0f ns\n",
	    cache_miss(64u << 20));
	addresses(false);
	addresses(true);
	signatures();
	signing();
	return 0;
}
