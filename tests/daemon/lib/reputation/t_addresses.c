/*
 * Addresses: sizes from n and p, both forms, keys, and what the archive gives
 * back, damaged or not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/addresses_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/exceptions_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/config.h"

static struct tide_hash_key key;

static struct tide_list_shape
shape_of(uint64_t n, double p, bool counting)
{
	return (struct tide_list_shape){ .bloom = tide_bloom_size(n, p),
		.counting = counting };
}

static tide_bloom_word *
new_words(const struct tide_list_shape *s)
{
	tide_bloom_word *w = calloc(1, tide_list_bytes(s));
	struct tide_err err;

	CHECK(w != NULL);
	if (key.secret[0] == 0)
		CHECK(tide_hash_key_draw(&key, &err) == 0);
	return w;
}

static struct tide_hash
element(uint64_t i)
{
	return tide_hash(&key, &i, sizeof i);
}

/* ---- cells ------------------------------------------------------------- */

/* m/n and k by the formulas; p = 0.01 is 9.6 bits and k = 6.7. */
static void
sizes(void)
{
	struct tide_list_shape s = shape_of(100000, 0.01, false);

	CHECK(fabs((double)s.bloom.bits / 100000 - 9.585) < 0.05);
	CHECK_INT(s.bloom.positions, 7);
	CHECK_INT(tide_list_bytes(&s), s.bloom.bits / 8);
	s.counting = 1;
	CHECK_INT(tide_list_bytes(&s), s.bloom.bits / 2);
}

static void
false_positives(bool counting)
{
	struct tide_list_shape s = shape_of(20000, 0.01, counting);
	tide_bloom_word *w = new_words(&s);
	uint64_t i, wrong = 0, estimate;

	for (i = 0; i < 20000; i++)
		(void)tide_list_add(&s, w, element(i));
	for (i = 0; i < 20000; i++)
		CHECK(tide_list_has(&s, w, element(i)));
	for (i = 20000; i < 120000; i++)
		wrong += tide_list_has(&s, w, element(i));
	/* 1000 expected; ten standard deviations are 320 */
	CHECK_MSG(wrong > 680 && wrong < 1320, "%llu of 100000",
	    (unsigned long long)wrong);
	estimate = tide_list_estimate(&s, tide_list_filled(&s, w));
	CHECK_MSG(estimate > 19600 && estimate < 20400, "estimated %llu",
	    (unsigned long long)estimate);
	free(w);
}

static void
errs_as_sized(void)
{
	false_positives(false);
	false_positives(true);
}

static void
taken_out(void)
{
	struct tide_list_shape s = shape_of(1000, 0.001, true);
	tide_bloom_word *w = new_words(&s);
	uint64_t i;

	for (i = 0; i < 1000; i++)
		(void)tide_list_add(&s, w, element(i));
	CHECK(!tide_list_del(&s, w, element(5000000)));
	for (i = 0; i < 1000; i += 2)
		CHECK(tide_list_del(&s, w, element(i)));
	for (i = 1; i < 1000; i += 2)
		CHECK_MSG(tide_list_has(&s, w, element(i)),
		    "%llu went with others", (unsigned long long)i);
	for (i = 1; i < 1000; i += 2)
		CHECK(tide_list_del(&s, w, element(i)));
	CHECK_INT(tide_list_filled(&s, w), 0);
	s.counting = 0;
	CHECK(!tide_list_del(&s, w, element(1)));
	free(w);
}

/* Sixteen times in: nobody knows how often to take it out again. */
static void
full_cells_stay(void)
{
	struct tide_list_shape s = shape_of(1000, 0.001, true);
	tide_bloom_word *w = new_words(&s);
	unsigned i;

	for (i = 0; i < 14; i++)
		(void)tide_list_add(&s, w, element(1));
	for (i = 0; i < 14; i++)
		CHECK(tide_list_del(&s, w, element(1)));
	CHECK(!tide_list_has(&s, w, element(1)));
	for (i = 0; i < 16; i++)
		(void)tide_list_add(&s, w, element(1));
	for (i = 0; i < 100; i++)
		(void)tide_list_del(&s, w, element(1));
	CHECK(tide_list_has(&s, w, element(1)));
	free(w);
}

static void
unite_as(bool counting)
{
	struct tide_list_shape s = shape_of(2000, 0.0001, counting);
	tide_bloom_word *a = new_words(&s), *b = new_words(&s);
	uint64_t i;

	for (i = 0; i < 1000; i++)
		(void)tide_list_add(&s, a, element(i));
	for (i = 900; i < 1900; i++)
		(void)tide_list_add(&s, b, element(i));
	tide_list_unite(&s, a, b);
	for (i = 0; i < 1900; i++)
		CHECK(tide_list_has(&s, a, element(i)));
	/* one side's element goes without taking the other's along */
	for (i = 0; counting && i < 900; i++)
		CHECK(tide_list_del(&s, a, element(i)));
	for (i = 900; i < 1900; i++)
		CHECK(tide_list_has(&s, a, element(i)));
	free(a);
	free(b);
}

static void
united(void)
{
	unite_as(false);
	unite_as(true);
}

/* ---- keys -------------------------------------------------------------- */

static const struct entry_case {
	const char *line;
	int want;
	const char *key;
} entries[] = {
	{ "a@b.example\n", 1, "a@b.example" },
	{ "  A@B.Example \r\n", 1, "a@b.example" },
	{ "<a@b.example> # why", 1, "a@b.example" },
	{ "a+tag@b.example", 1, "a@b.example" },
	{ "@B.example", 1, "@b.example" },
	{ "SRS0=abcd=TT=orig.example=bob@fwd.example", 1, "bob@orig.example" },
	{ "", 0, NULL },
	{ "# a@b.example", 0, NULL },
	{ "   \t\r\n", 0, NULL },
	{ "b.example", -1, NULL },
	{ "a@", -1, NULL },
	{ "<>", -1, NULL },
	{ "a@b.example c@d.example", -1, NULL },
	{ "a@b.example, c", -1, NULL },
};

static void
entries_of_lists(void)
{
	struct tide_key k;
	size_t i;
	int rc;

	for (i = 0; i < sizeof entries / sizeof *entries; i++) {
		rc = tide_address_entry(&key, entries[i].line, &k);
		CHECK_MSG(
		    rc == entries[i].want, "«%s»: %d", entries[i].line, rc);
		if (rc == 1)
			CHECK_STR(k.text, entries[i].key);
	}
}

static void
forms_of_senders(void)
{
	struct tide_sender_forms f;

	tide_sender_forms(&key, "<Ann+x@Example.org>", &f);
	CHECK_INT(f.count, 2);
	CHECK_STR(f.key[0].text, "ann@example.org");
	CHECK_STR(f.key[1].text, "@example.org");
	tide_sender_forms(
	    &key, "<SRS0=abcd=TT=orig.example=bob@fwd.example>", &f);
	CHECK_INT(f.count, 3);
	CHECK_STR(f.key[2].text, "bob@orig.example");
	tide_sender_forms(&key, "<>", &f);
	CHECK_INT(f.count, 0);
	tide_sender_forms(&key, "", &f);
	CHECK_INT(f.count, 0);
}

/* ---- the archive ------------------------------------------------------- */

static struct tide_config config;
static struct tide_archive archive;

static void
open_archive(void)
{
	struct tide_err err;

	CHECK_MSG(tide_archive_open(&archive, config.state_dir,
		      TIDE_ARCHIVE_OWN, FIXTURE_MAP_SIZE, &err) == 0,
	    "%s", err.text);
}

static void
store(const struct tide_list_shape *s, uint64_t version, uint64_t sequence,
    uint64_t from, uint64_t to)
{
	tide_bloom_word *w = new_words(s);
	struct tide_addresses_fresh f = { .words = w,
		.version = version,
		.sequence = sequence,
		.loaded_ms = 77,
		.elements = to - from };
	struct tide_err err;

	for (; from < to; from++)
		(void)tide_list_add(s, w, element(from));
	CHECK_MSG(
	    tide_archive_put_list(&archive, s, &f, &err) == 0, "%s", err.text);
	free(w);
}

static void
kept(void)
{
	struct tide_list_shape s = shape_of(700000, 0.001, false), other;
	struct tide_stored_list got;
	struct tide_err err;

	fixture_config(&config);
	open_archive();
	CHECK_INT(tide_archive_get_list(&archive, &s, &got, &err), 0);
	CHECK(tide_list_bytes(&s) > TIDE_CHUNK); /* two chunks */
	store(&s, 1, 0, 0, 1000);
	CHECK_INT(
	    tide_archive_change_list(&archive, 1, true, element(5000), &err),
	    0);
	tide_archive_close(&archive);
	open_archive();
	CHECK_INT(tide_archive_get_list(&archive, &s, &got, &err), 1);
	CHECK_INT(got.version, 1);
	CHECK_INT(got.base, 0);
	CHECK_INT(got.sequence, 1);
	CHECK_INT(got.elements, 1001);
	CHECK_INT(got.loaded_ms, 77);
	CHECK(tide_list_has(&s, got.words, element(999)));
	CHECK(tide_list_has(&s, got.words, element(5000)));
	CHECK(!tide_list_has(&s, got.words, element(5001)));
	free(got.words);

	/* a new list forgets the changes behind the old one */
	store(&s, 2, 1, 2000, 2010);
	CHECK_INT(tide_archive_get_list(&archive, &s, &got, &err), 1);
	CHECK_INT(got.sequence, 1);
	CHECK(!tide_list_has(&s, got.words, element(5000)));
	free(got.words);

	/* one of other sizes is not ours, but its numbers go on */
	other = shape_of(1000, 0.001, false);
	CHECK_INT(tide_archive_get_list(&archive, &other, &got, &err), -1);
	CHECK(strstr(err.text, "addresses_capacity") != NULL);
	CHECK_INT(got.version, 2);
	store(&other, 3, 1, 0, 5);
	CHECK_INT(tide_archive_get_list(&archive, &other, &got, &err), 1);
	free(got.words);
	tide_archive_close(&archive);
}

/* Spoil a byte of the value under that key. */
static void
spoil(struct tide_bytes k)
{
	struct tide_txn *t;
	struct tide_bytes value;
	struct tide_err err;
	char *copy;

	t = tide_txn_begin(archive.store, true, &err);
	CHECK(t != NULL);
	CHECK_INT(tide_txn_get(t, TIDE_TABLE_ADDRESSES, k, &value, &err), 1);
	copy = malloc(value.size);
	CHECK(copy != NULL);
	memcpy(copy, value.data, value.size);
	copy[3] ^= 4;
	CHECK_INT(tide_txn_put(t, TIDE_TABLE_ADDRESSES, k,
		      tide_bytes(copy, value.size), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
	free(copy);
}

static void
damaged(void)
{
	static const char *const keys[] = { "c\0\0\0\0\0\0\0\0",
		"j\0\0\0\0\0\0\0\1", "head" };
	static const size_t lengths[] = { 9, 9, 4 };
	struct tide_list_shape s = shape_of(1000, 0.001, true);
	struct tide_stored_list got;
	struct tide_err err;
	unsigned i;

	for (i = 0; i < 3; i++) {
		fixture_config(&config);
		open_archive();
		store(&s, 1, 0, 0, 10);
		CHECK_INT(tide_archive_change_list(
			      &archive, 1, false, element(3), &err),
		    0);
		CHECK_INT(tide_archive_get_list(&archive, &s, &got, &err), 1);
		CHECK_INT(got.elements, 9);
		CHECK(!tide_list_has(&s, got.words, element(3)));
		free(got.words);
		spoil(tide_bytes(keys[i], lengths[i]));
		CHECK_INT(tide_archive_get_list(&archive, &s, &got, &err), -1);
		CHECK(got.words == NULL);
		/* and can be stored anew */
		store(&s, 2, 1, 0, 10);
		CHECK_INT(tide_archive_get_list(&archive, &s, &got, &err), 1);
		free(got.words);
		tide_archive_close(&archive);
	}
}

/* ---- files ------------------------------------------------------------- */

static void
files(void)
{
	struct tide_list_shape s = shape_of(1000, 0.001, false), t;
	struct tide_addresses_fresh f = { .words = new_words(&s) };
	struct tide_hash_key other = key;
	struct tide_list_file head;
	struct tide_err err;

	tide_list_file_make(&head, &s, tide_key_fingerprint(&key), &f);
	CHECK_INT(
	    tide_list_file_check(&head, &s, tide_key_fingerprint(&key), &err),
	    0);
	t = s;
	t.counting = 1;
	CHECK(tide_list_file_check(
		  &head, &t, tide_key_fingerprint(&key), &err) < 0);
	t = shape_of(2000, 0.001, false);
	CHECK(tide_list_file_check(
		  &head, &t, tide_key_fingerprint(&key), &err) < 0);
	other.secret[0] ^= 1;
	CHECK(tide_list_file_check(
		  &head, &s, tide_key_fingerprint(&other), &err) < 0);
	CHECK(strstr(err.text, "hash key") != NULL);
	head.elements++;
	CHECK(tide_list_file_check(
		  &head, &s, tide_key_fingerprint(&key), &err) < 0);
	free((void *)f.words);
}

/* ---- exceptions -------------------------------------------------------- */

static struct tide_exception
exception(const char *text)
{
	struct tide_exception e;

	memset(&e, 0, sizeof e);
	e.since_ms = 5;
	(void)snprintf(e.key, sizeof e.key, "%s", text);
	(void)snprintf(e.reason, sizeof e.reason, "because of %.20s", text);
	return e;
}

static void
exceptions(void)
{
	struct tide_exception e[3] = { exception("zoe@example.org"),
		exception("@example.net"), exception("ann@example.org") };
	struct tide_exceptions x = { 0 };
	struct tide_sender_forms f;
	struct tide_key k = { 0 };
	struct tide_err err;

	fixture_config(&config);
	open_archive();
	CHECK_INT(tide_archive_put_exceptions(&archive, e, 3, &err), 0);
	CHECK_INT(
	    tide_exceptions_publish(&archive, config.runtime_dir, &err), 0);
	CHECK_INT(tide_exceptions_attach(&x, config.runtime_dir, &err), 0);
	CHECK_INT(x.count, 3);
	CHECK(tide_exceptions_find(&x, "ann@example.org") != NULL);
	CHECK(tide_exceptions_find(&x, "zoe@example.org") != NULL);
	CHECK(tide_exceptions_find(&x, "bob@example.org") == NULL);
	tide_sender_forms(&key, "<any@example.net>", &f);
	CHECK_STR(
	    tide_exceptions_for(&x, &f)->reason, "because of @example.net");
	tide_sender_forms(&key, "<any@sub.example.net>", &f);
	CHECK(tide_exceptions_for(&x, &f) == NULL);

	/* made again, it keeps its time */
	e[0].since_ms = 9;
	CHECK_INT(tide_archive_put_exceptions(&archive, e, 1, &err), 0);
	k.length = 15;
	memcpy(k.text, "ann@example.org", 15);
	CHECK_INT(tide_archive_del_exception(&archive, &k, &err), 1);
	CHECK_INT(tide_archive_del_exception(&archive, &k, &err), 0);
	CHECK_INT(
	    tide_exceptions_publish(&archive, config.runtime_dir, &err), 0);
	CHECK_INT(x.count, 3); /* the old file is still whole */
	CHECK_INT(tide_exceptions_attach(&x, config.runtime_dir, &err), 0);
	CHECK_INT(x.count, 2);
	CHECK_INT(tide_exceptions_find(&x, "zoe@example.org")->since_ms, 5);
	tide_exceptions_detach(&x);
	tide_archive_close(&archive);
}

CHECK_CASES({ "sizes", sizes }, { "errs as it was sized", errs_as_sized },
    { "what is taken out is out, the rest stays", taken_out },
    { "a full cell is never counted down", full_cells_stay },
    { "two lists unite", united }, { "entries of lists", entries_of_lists },
    { "forms of a sender", forms_of_senders },
    { "the archive gives it back", kept }, { "damage is noticed", damaged },
    { "files say what they are", files },
    { "exceptions are exact and stay", exceptions })
