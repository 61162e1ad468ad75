/*
 * t_share - files of counts: packed, damaged, merged in and out of order;
 * what a neighbour's deltas add up to.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/archive/spam_archive.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"

#define SPAN 1000u
#define KEYS 40u

static struct tide_config config;
static struct tide_archive archive;
static struct tide_counting_shape shape;
static struct tide_share_ours ours;
static const struct tide_hash_key secret = { { 7, 8, 9 } };
static uint64_t seed = 7;

static void
start(void)
{
	fixture_config(&config);
	fixture_open_archive(&config, &archive);
	shape = tide_counting_size(200, 0.01, 5);
	ours = (struct tide_share_ours){ .key = &secret,
		.fingerprint = 77,
		.origin = 1,
		.span_ms = SPAN,
		.shape = shape };
}

static void
end(void)
{
	tide_archive_close(&archive);
}

/* ---- a server somewhere else ------------------------------------------- */

struct server {
	uint64_t origin, sequence, generation;
	struct tide_counting filter;
	void *books;
	tide_counting_word *cells;
	struct tide_share last; /* as it was exported */
};

static void
server_start(struct server *s, uint64_t origin)
{
	memset(s, 0, sizeof *s);
	s->origin = origin;
	s->generation = 10;
	s->books = aligned_alloc(64, tide_counting_books_bytes(4));
	memset(s->books, 0, tide_counting_books_bytes(4));
	s->cells = calloc(1, tide_counting_bytes(&shape));
	tide_counting_attach(&s->filter, &shape, 4, s->books);
}

static void
server_end(struct server *s)
{
	tide_share_free(&s->last);
	free(s->books);
	free((void *)s->cells);
}

static struct tide_counting_key
key_of(const struct tide_counting *f, unsigned key)
{
	struct tide_counting_key k;
	uint64_t x = (key + 1) * 0x9e3779b97f4a7c15ull;

	tide_counting_find(f,
	    (struct tide_hash){ x, (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull }, &k);
	return k;
}

static void
see(struct server *s, unsigned key, uint32_t copies)
{
	struct tide_counting_key k = key_of(&s->filter, key);

	(void)tide_counting_insert(&s->filter, s->cells, &k, 0, copies);
}

static uint32_t
count(const struct server *s, const tide_counting_word *cells, unsigned key)
{
	struct tide_counting_key k = key_of(&s->filter, key);

	return tide_counting_count(&s->filter, cells, &k);
}

/* A file, to be freed. */
static void *export(struct server *s, bool delta, size_t *size)
{
	struct tide_share now, whole;
	struct tide_err err;
	void *file;

	CHECK_INT(tide_share_alloc(&now, &shape, &err), 0);
	CHECK_INT(tide_share_alloc(&whole, &shape, &err), 0);
	now.head.fingerprint = 77;
	now.head.origin = s->origin;
	now.head.sequence = ++s->sequence;
	now.head.span_ms = SPAN;
	now.head.parts = 1;
	now.head.generation[0] = s->generation;
	memcpy(now.words[0], (void *)s->cells, tide_counting_bytes(&shape));
	memcpy(whole.words[0], (void *)s->cells, tide_counting_bytes(&shape));
	whole.head = now.head;
	if (delta) {
		now.head.since = s->sequence - 1;
		tide_share_subtract(&now, &s->last);
	}
	file = tide_share_pack(&now, &secret, size, &err);
	CHECK(file != NULL);
	tide_share_free(&now);
	tide_share_free(&s->last);
	s->last = whole;
	return file;
}

static int
merge(const void *file, size_t size, uint64_t oldest, struct tide_err *err)
{
	struct tide_share_place place = { .spam_generation = 1 };
	struct tide_share in;
	int rc = tide_share_unpack(&in, file, size, &ours, err);

	if (rc == 0) {
		place.oldest = oldest;
		rc = tide_archive_merge_share(&archive, &in, &place, err);
		tide_share_free(&in);
	}
	return rc;
}

static tide_counting_word *
sums(uint64_t generation, int want)
{
	tide_counting_word *to = calloc(1, tide_counting_bytes(&shape));
	struct tide_err err;

	CHECK_INT(tide_archive_sum_shares(
		      &archive, &shape, SPAN, generation, to, &err),
	    want);
	return to;
}

/* ---- the file ---------------------------------------------------------- */

/* Whatever is cut off or flipped: refused. */
static void
test_damage(void)
{
	struct server s;
	struct tide_share in;
	struct tide_err err;
	size_t size, i;
	char *file, *bad;

	start();
	server_start(&s, 5);
	see(&s, 1, 3);
	see(&s, 2, 31);
	file = export(&s, false, &size);
	bad = malloc(size + 1);
	CHECK_INT(tide_share_unpack(&in, file, size, &ours, &err), 0);
	CHECK(memcmp(in.words[0], (void *)s.cells,
		  tide_counting_bytes(&shape)) == 0);
	tide_share_free(&in);
	for (i = 0; i < size; i++) {
		memcpy(bad, file, size);
		CHECK(tide_share_unpack(&in, bad, i, &ours, &err) < 0);
	}
	for (i = 0; i < 8 * size; i++) {
		memcpy(bad, file, size);
		bad[i / 8] ^= (char)(1 << i % 8);
		CHECK(tide_share_unpack(&in, bad, size, &ours, &err) < 0);
	}
	memcpy(bad, file, size);
	bad[size] = 0;
	CHECK(tide_share_unpack(&in, bad, size + 1, &ours, &err) < 0);
	CHECK_STR(err.text, "is too long");
	free(bad);
	free(file);
	server_end(&s);
	end();
}

static void
refused(const void *file, size_t size, const struct tide_share_ours *o,
    const char *why)
{
	struct tide_share in;
	struct tide_err err = { "" };

	CHECK(tide_share_unpack(&in, file, size, o, &err) < 0);
	CHECK_MSG(
	    strstr(err.text, why) != NULL, "«%s», not «%s»", err.text, why);
}

/* What somebody without the key makes of a file that they have seen. */
static void
test_forged(void)
{
	static const struct tide_hash_key other = { { 7, 8, 10 } };
	struct tide_share_ours o;
	struct tide_share in;
	struct tide_err err;
	struct server s;
	size_t size;
	void *file, *forged;

	start();
	server_start(&s, 5);
	see(&s, 1, 3);
	file = export(&s, false, &size);
	CHECK_INT(tide_share_unpack(&in, file, size, NULL, &err), 0);
	in.head.origin = 6;
	memset(in.words[0], 0x11, tide_counting_bytes(&shape));
	forged = tide_share_pack(&in, &other, &size, &err);
	refused(forged, size, &ours, "seal");
	o = ours, o.key = &other; /* the checksums are right */
	tide_share_free(&in);
	CHECK_INT(tide_share_unpack(&in, forged, size, &o, &err), 0);
	tide_share_free(&in);
	free(file);
	free(forged);
	server_end(&s);
	end();
}

/* A file of 0.2 has none: a neighbour's is refused, our own is still read. */
static void
test_unsealed(void)
{
	struct tide_share_head *h;
	struct tide_share in;
	struct tide_err err;
	struct server s;
	size_t size;
	void *file;

	start();
	server_start(&s, 5);
	see(&s, 1, 3);
	file = export(&s, false, &size);
	h = file;
	h->format = TIDE_SHARE_UNSEALED;
	h->check = tide_hash_check(h, offsetof(struct tide_share_head, check));
	size -= TIDE_SEAL_SIZE;
	refused(file, size, &ours, "export anew");
	CHECK_INT(tide_share_unpack(&in, file, size, NULL, &err), 0);
	CHECK(memcmp(in.words[0], (void *)s.cells,
		  tide_counting_bytes(&shape)) == 0);
	tide_share_free(&in);
	free(file);
	server_end(&s);
	end();
}

static void
test_settings(void)
{
	struct tide_share_ours o;
	struct server s;
	size_t size;
	void *file;

	start();
	server_start(&s, 5);
	file = export(&s, false, &size);
	o = ours, o.fingerprint++;
	refused(file, size, &o, "another hash key");
	o = ours, o.span_ms++;
	refused(file, size, &o, "bulk_span");
	o = ours, o.shape.cells++;
	refused(file, size, &o, "bulk_keys");
	o = ours, o.shape.bits++;
	refused(file, size, &o, "bulk_bits");
	o = ours, o.origin = 5;
	refused(file, size, &o, "our own");
	free(file);
	server_end(&s);
	end();
}

/* ---- order ------------------------------------------------------------- */

static void
test_order(void)
{
	struct server s;
	struct tide_err err = { "" };
	tide_counting_word *sum;
	size_t size[4];
	void *file[4];
	unsigned i;

	start();
	server_start(&s, 5);
	for (i = 0; i < 4; i++) {
		see(&s, i, 2);
		file[i] = export(&s, i > 0, &size[i]);
	}
	CHECK(merge(file[1], size[1], 9, &err) < 0);
	CHECK(strstr(err.text, "delta to export 1") != NULL);
	CHECK_INT(merge(file[0], size[0], 9, &err), 0);
	CHECK(merge(file[0], size[0], 9, &err) < 0);
	CHECK(strstr(err.text, "was merged before") != NULL);
	CHECK(merge(file[2], size[2], 9, &err) < 0); /* 1 is missing */
	CHECK_INT(merge(file[1], size[1], 9, &err), 0);
	CHECK_INT(merge(file[2], size[2], 9, &err), 0);
	CHECK(merge(file[1], size[1], 9, &err) < 0);
	CHECK_INT(merge(file[3], size[3], 9, &err), 0);
	sum = sums(10, 1);
	CHECK(memcmp((void *)sum, (void *)s.cells,
		  tide_counting_bytes(&shape)) == 0);
	free((void *)sum);
	for (i = 0; i < 4; i++)
		free(file[i]);
	server_end(&s);
	end();
}

/* A whole file after deltas, with less in it: nothing is lost, or twice. */
static void
test_loss_at_origin(void)
{
	struct server s;
	struct tide_err err;
	tide_counting_word *sum;
	size_t size;
	void *file;

	start();
	server_start(&s, 5);
	see(&s, 1, 9);
	file = export(&s, false, &size);
	CHECK_INT(merge(file, size, 9, &err), 0);
	free(file);
	memset((void *)s.cells, 0, tide_counting_bytes(&shape));
	see(&s, 1, 4);
	see(&s, 2, 6);
	file = export(&s, false, &size);
	CHECK_INT(merge(file, size, 9, &err), 0);
	free(file);
	sum = sums(10, 1);
	CHECK_INT(count(&s, sum, 1), 9);
	CHECK_INT(count(&s, sum, 2), 6);
	free((void *)sum);
	server_end(&s);
	end();
}

/* Generations: apart, and gone when they are too old. */
static void
test_generations(void)
{
	struct server s;
	struct tide_err err;
	size_t size;
	void *file;

	start();
	server_start(&s, 5);
	see(&s, 1, 3);
	file = export(&s, false, &size);
	CHECK_INT(merge(file, size, 9, &err), 0);
	free(file);
	s.generation = 11;
	see(&s, 1, 1); /* cells go on: a delta of another generation is whole */
	file = export(&s, true, &size);
	CHECK_INT(merge(file, size, 10, &err), 0);
	free(file);
	free((void *)sums(10, 1));
	free((void *)sums(11, 1));
	file = export(&s, true, &size);
	CHECK_INT(merge(file, size, 11, &err), 0);
	free((void *)sums(10, 0));
	free((void *)sums(11, 1));
	free(file);
	file = export(&s, false, &size); /* too old: taken note of, no more */
	CHECK_INT(merge(file, size, 12, &err), 0);
	free((void *)sums(11, 0));
	free(file);
	file = export(&s, true, &size); /* and a delta to that: refused */
	CHECK(merge(file, size, 11, &err) < 0);
	CHECK(strstr(err.text, "gone or damaged") != NULL);
	free(file);
	server_end(&s);
	end();
}

/* ---- many exchanges ---------------------------------------------------- */

/*
 * Three servers see keys at random, and export deltas now and then.  A
 * difference of cells instead of the cells would fall short here.
 */
static void
test_exchange(void)
{
	struct server s[3];
	uint32_t seen[3][KEYS] = { { 0 } }, total, n;
	struct tide_err err = { "" };
	tide_counting_word *sum, *want;
	unsigned i, k, round;
	size_t size;
	void *file;

	start();
	want = calloc(1, tide_counting_bytes(&shape));
	for (i = 0; i < 3; i++)
		server_start(&s[i], 5 + i);
	for (round = 0; round < 30; round++) {
		for (i = 0; i < 3; i++) {
			for (n = 0; n < 10; n++) {
				k = (unsigned)(fixture_random(&seed) % KEYS);
				see(&s[i], k, 1);
				seen[i][k]++;
			}
			if (round < 29 && fixture_random(&seed) % 3 == 0)
				continue;
			file = export(&s[i], s[i].sequence > 0, &size);
			CHECK_MSG(
			    merge(file, size, 9, &err) == 0, "%s", err.text);
			free(file);
		}
	}
	sum = sums(10, 3);
	for (i = 0; i < 3; i++)
		tide_counting_sum(&shape, want, s[i].cells);
	CHECK(memcmp((void *)sum, (void *)want, tide_counting_bytes(&shape)) ==
	    0);
	for (k = 0; k < KEYS; k++) {
		total = seen[0][k] + seen[1][k] + seen[2][k];
		n = count(&s[0], sum, k);
		CHECK(n >= (total < 31 ? total : 31));
	}
	for (i = 0; i < 3; i++)
		server_end(&s[i]);
	free((void *)sum);
	free((void *)want);
	end();
}

/* ---- reports ----------------------------------------------------------- */

/* As the collector does it: from the archive into a file, and back. */
static void
test_reports(void)
{
	struct tide_signatures sig = { .has_text = true, .samples = 3 };
	struct tide_share s, base, in;
	struct tide_share_place place = { .spam_generation = 4,
		.spam_sequence = 20 };
	struct tide_stored_spam stored;
	struct tide_spam_shape spam = tide_spam_size(100, 0.01, 2);
	struct tide_err err = { "" };
	uint64_t i;
	size_t size;
	void *file;

	start();
	for (i = 1; i <= 5; i++) {
		sig.text.low = i;
		CHECK_INT(tide_archive_report_spam(&archive, i, 1,
			      i == 5 ? TIDE_SPAM_REVOKED : TIDE_SPAM_REPORTED,
			      &sig, &err),
		    0);
	}
	CHECK_INT(tide_share_alloc(&s, &shape, &err), 0);
	CHECK_INT(tide_share_alloc(&base, &shape, &err), 0);
	CHECK_INT(tide_archive_own_reports(&archive, 0, &s, &err), 0);
	CHECK_INT(s.head.reports, 5);
	CHECK_INT(s.head.reports_until, 5);
	base.head.reports_until = 2;
	tide_share_subtract(&s, &base);
	CHECK_INT(s.head.reports, 3);
	s.head.fingerprint = 77;
	s.head.span_ms = SPAN;
	s.head.origin = 9;
	s.head.sequence = 1;
	file = tide_share_pack(&s, &secret, &size, &err);
	CHECK_MSG(tide_share_unpack(&in, file, size, &ours, &err) == 0, "%s",
	    err.text);
	CHECK_INT(in.head.reports, 3);
	CHECK_INT(in.report[0].text.low, 3);
	CHECK_INT(in.report[2].kind, TIDE_SPAM_REVOKED);
	CHECK_INT(tide_archive_merge_share(&archive, &in, &place, &err), 0);
	CHECK_INT(in.head.reports, 3);
	(void)tide_archive_spam(&archive, &spam, &stored, &err);
	CHECK_INT(stored.sequence, 23);
	/* a whole file brings the others, too: those behind 5 alone are new */
	in.head.sequence = 2;
	CHECK_INT(tide_archive_merge_share(&archive, &in, &place, &err), 0);
	CHECK_INT(in.head.reports, 0);
	tide_share_free(&s);
	tide_share_free(&base);
	tide_share_free(&in);
	free(file);
	/* what came from there is not ours to tell */
	CHECK_INT(tide_share_alloc(&s, &shape, &err), 0);
	CHECK_INT(tide_archive_own_reports(&archive, 0, &s, &err), 0);
	CHECK_INT(s.head.reports, 5);
	tide_share_free(&s);
	end();
}

/* ---- words, keys ------------------------------------------------------- */

static void
test_max_word(void)
{
	uint64_t a, b, got;
	unsigned i, bits, shift;

	for (bits = 1; bits <= 8; bits++)
		for (i = 0; i < 2000; i++) {
			uint64_t full = (1ull << bits) - 1, used = 0;

			for (shift = 0; shift + bits <= 64; shift += bits)
				used |= full << shift;
			a = fixture_random(&seed) & used;
			b = fixture_random(&seed) & used;
			got = tide_counting_max_word(bits, a, b);
			CHECK((got & ~used) == 0);
			for (shift = 0; shift + bits <= 64; shift += bits) {
				uint64_t x = a >> shift & full;
				uint64_t y = b >> shift & full;

				CHECK((got >> shift & full) == (x > y ? x : y));
			}
		}
}

static void
test_me(void)
{
	struct tide_share_me me, again;
	struct tide_share out;
	struct server s;
	struct tide_err err;
	uint64_t i;
	size_t size;
	void *file;

	start();
	CHECK_INT(tide_archive_share_me(&archive, &me, &err), 0);
	CHECK(me.origin != 0);
	CHECK_INT(me.sequence, 0);
	server_start(&s, me.origin);
	for (i = 1; i <= TIDE_SHARE_KEPT + 1; i++) {
		file = export(&s, false, &size);
		me.sequence = i;
		CHECK_INT(tide_archive_keep_export(
			      &archive, &me, file, size, 0, &err),
		    0);
		free(file);
	}
	CHECK_INT(tide_archive_share_me(&archive, &again, &err), 0);
	CHECK(again.origin == me.origin);
	CHECK_INT(again.sequence, TIDE_SHARE_KEPT + 1);
	CHECK_INT(tide_archive_get_export(&archive, 1, &out, &err), 0);
	CHECK_INT(tide_archive_get_export(&archive, 2, &out, &err), 1);
	CHECK_INT(out.head.sequence, 2);
	tide_share_free(&out);
	server_end(&s);
	end();
}

CHECK_CASES({ "every truncation and bit flip is refused", test_damage },
    { "without the key nobody makes one", test_forged },
    { "without a seal: ours, or none", test_unsealed },
    { "other settings are refused, with which", test_settings },
    { "once each, and in order", test_order },
    { "a whole file after a loss at its origin", test_loss_at_origin },
    { "generations are apart, and go", test_generations },
    { "deltas of three servers add up", test_exchange },
    { "reports travel once, and only our own", test_reports },
    { "the larger cells of two words", test_max_word },
    { "our own name and exports", test_me })
