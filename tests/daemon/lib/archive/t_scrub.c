/*
 * t_scrub - what deleted records leave in a store's file is overwritten, and
 * nothing else is: after hundreds of changes no deleted text is in the file,
 * every record is as it was, and LMDB finds the file whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/keys/subject.h"

#define RECORDS 400u
#define MAP_SIZE (64u << 20)

static const char *const tables[] = { "small", "large", NULL };
static bool there[2][RECORDS];
static bool forgotten[RECORDS];
static char path[600];
static unsigned rewritten;

static struct tide_bytes
key_of(unsigned n)
{
	static char text[64];

	(void)snprintf(text, sizeof text, "somebody%05u@example.org", n);
	return tide_bytes(text, strlen(text));
}

/* In a large table a value fills pages of its own, and names its record. */
static struct tide_bytes
value_of(int table, unsigned n)
{
	static char text[20000];
	size_t size = table == 0 ? 100 : 5000 + n * 30;

	memset(text, 'x', size);
	memcpy(text + size / 2, key_of(n).data, key_of(n).size);
	return tide_bytes(text, size);
}

static struct tide_store *
opened(enum tide_store_mode mode)
{
	struct tide_err err = { "" };
	struct tide_store *s =
	    tide_store_open(path, mode, MAP_SIZE, tables, &err);

	CHECK_MSG(s != NULL, "%s", err.text);
	return s;
}

static void
change(struct tide_store *s, uint64_t *seed, unsigned changes)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(s, true, &err);

	CHECK(t != NULL);
	while (changes-- > 0) {
		uint64_t r = fixture_random(seed);
		unsigned n = (unsigned)(r >> 8) % RECORDS;
		int table = (int)(r & 1);
		bool put = (r >> 1 & 1) != 0;

		CHECK((put ? tide_txn_put(
				 t, table, key_of(n), value_of(table, n), &err)
			   : tide_txn_del(t, table, key_of(n), &err)) >= 0);
		there[table][n] = put;
		forgotten[n] = forgotten[n] && !put;
	}
	CHECK(tide_txn_commit(t, &err) == 0);
}

/* So that the last two states have it no more. */
static void delete (struct tide_store *s, unsigned n)
{
	struct tide_err err;
	struct tide_txn *t;
	int table;

	for (table = 0; table < 2; table++) {
		t = tide_txn_begin(s, true, &err);
		CHECK(t != NULL);
		CHECK(tide_txn_del(t, table, key_of(n), &err) >= 0);
		CHECK(tide_txn_commit(t, &err) == 0);
		there[table][n] = false;
	}
}

static bool
is_in_file(unsigned n)
{
	size_t size;
	char *bytes = fixture_slurp(path, &size);
	bool found =
	    memmem(bytes, size, key_of(n).data, key_of(n).size) != NULL;

	free(bytes);
	return found;
}

/* Nor do later changes bring anybody back. */
static void
check_forgotten(void)
{
	unsigned n;

	for (n = 0; n < RECORDS; n++)
		CHECK_MSG(!forgotten[n] || !is_in_file(n),
		    "record %u is in the file again", n);
}

static void
check_records(struct tide_store *s)
{
	struct tide_err err = { "" };
	struct tide_txn *t = tide_txn_begin(s, false, &err);
	struct tide_bytes value;
	unsigned n;
	int table;

	CHECK(t != NULL);
	for (table = 0; table < 2; table++)
		for (n = 0; n < RECORDS; n++) {
			CHECK_INT(
			    tide_txn_get(t, table, key_of(n), &value, &err),
			    there[table][n]);
			if (!there[table][n])
				continue;
			CHECK_INT(value.size, value_of(table, n).size);
			CHECK(memcmp(value.data, value_of(table, n).data,
				  value.size) == 0);
		}
	tide_txn_abort(t);
	CHECK_MSG(tide_store_check(s, &err) == 0, "%s", err.text);
}

static void
forget(struct tide_store *s, unsigned n, struct tide_scrub *sum)
{
	struct tide_bytes text;
	struct tide_err err = { "" };
	char name[64];

	delete (s, n);
	(void)snprintf(name, sizeof name, "%s", (const char *)key_of(n).data);
	text = tide_bytes(name, strlen(name));
	CHECK_MSG(tide_store_scrub(s, path, &text, 1, sum, &err) == 0, "%s",
	    err.text);
	if (sum->branches > 0) {
		rewritten++;
		CHECK(tide_store_rewrite(s, 0, &err) == 0);
		CHECK(tide_store_rewrite(s, 1, &err) == 0);
		CHECK(tide_store_scrub(s, path, &text, 1, sum, &err) == 0);
	}
	CHECK_INT(sum->records, 0);
	CHECK(!sum->waits);
	CHECK_MSG(!is_in_file(n), "record %u is in the file still", n);
	forgotten[n] = true;
}

/* Each case has a store of its own. */
static struct tide_store *
fresh(const char *name)
{
	(void)snprintf(path, sizeof path, "%s/%s.mdb", check_tmpdir(), name);
	memset(there, 0, sizeof there);
	memset(forgotten, 0, sizeof forgotten);
	return opened(TIDE_STORE_DURABLE);
}

static void
put(struct tide_txn *t, int table, unsigned n)
{
	struct tide_err err;

	CHECK(tide_txn_put(t, table, key_of(n), value_of(table, n), &err) == 0);
	there[table][n] = true;
}

/* With all records in the first table, and one in the second. */
static struct tide_store *
filled(const char *name)
{
	struct tide_store *s = fresh(name);
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(s, true, &err);
	unsigned n;

	for (n = 0; n < RECORDS; n++)
		put(t, 0, n);
	put(t, 1, 1);
	CHECK(tide_txn_commit(t, &err) == 0);
	return s;
}

static void
test_forgotten(void)
{
	uint64_t seed = 4711;
	struct tide_scrub sum;
	struct tide_store *s = fresh("scrub");
	unsigned i, wiped = 0, branches = 0;

	for (i = 0; i < 60; i++) {
		change(s, &seed, 50);
		check_forgotten();
		forget(s, (unsigned)(fixture_random(&seed) % RECORDS), &sum);
		wiped += sum.wiped;
		branches += sum.branches;
		check_records(s);
	}
	CHECK(wiped > 30);
	CHECK_INT(branches, 0);
	printf("# %u places overwritten\n", wiped);
	tide_store_close(s);
	CHECK_INT(
	    tide_store_probe(path, &(struct tide_err){ "" }), TIDE_STORE_WHOLE);
	s = opened(TIDE_STORE_READ);
	check_records(s);
	tide_store_close(s);
}

/* The keys of deleted records may live on in the tree's branches. */
static void
test_branches(void)
{
	struct tide_store *s = filled("branches");
	struct tide_scrub sum;
	unsigned n;

	rewritten = 0;
	for (n = 0; n < RECORDS; n += 3)
		forget(s, n, &sum);
	check_records(s);
	CHECK(rewritten > 0);
	printf("# tables rewritten %u times\n", rewritten);
	tide_store_close(s);
}

/* A part of another's name is left, and said. */
static void
test_others(void)
{
	struct tide_store *s = filled("others");
	struct tide_bytes text = tide_bytes("body00001@example.org", 21);
	struct tide_scrub sum;
	struct tide_err err;

	CHECK(tide_store_scrub(s, path, &text, 1, &sum, &err) == 0);
	CHECK(sum.records + sum.branches >= 4);
	check_records(s);
	tide_store_close(s);
}

/* Who reads an older state is not disturbed. */
static void
test_reader(void)
{
	struct tide_store *s = filled("reader");
	struct tide_bytes value, text;
	struct tide_txn *old;
	struct tide_scrub sum;
	struct tide_err err;
	char name[64];

	old = tide_txn_begin(s, false, &err);
	CHECK_INT(tide_txn_get(old, 1, key_of(1), &value, &err), 1);
	delete (s, 1);
	(void)snprintf(name, sizeof name, "%s", (const char *)key_of(1).data);
	text = tide_bytes(name, strlen(name));
	CHECK(tide_store_scrub(s, path, &text, 1, &sum, &err) == 0);
	CHECK(sum.waits && sum.wiped == 0);
	CHECK(memcmp(value.data, value_of(1, 1).data, value.size) == 0);
	tide_txn_abort(old);
	forget(s, 1, &sum);
	check_records(s);
	tide_store_close(s);
}

/* The rest of a record goes with the text, however that was written. */
static void
test_rest(void)
{
	static const char shout[] = "for SomeBody00001@Example.ORG, secretly";
	static const char *const keys[] = { "a", "b", "c" };
	struct tide_bytes text = tide_bytes("somebody00001@example.org", 25);
	struct tide_scrub sum;
	struct tide_store *s;
	struct tide_err err = { "" };
	struct tide_txn *t;
	size_t size;
	char *bytes;
	unsigned i;

	(void)snprintf(path, sizeof path, "%s/rest.mdb", check_tmpdir());
	s = opened(TIDE_STORE_DURABLE);
	for (i = 0; i < 5; i++) {
		t = tide_txn_begin(s, true, &err);
		CHECK(t != NULL);
		if (i < 3)
			CHECK(tide_txn_put(t, 0, tide_bytes(keys[i], 1),
				  tide_bytes(shout, sizeof shout), &err) == 0);
		else
			CHECK(tide_txn_del(
				  t, 0, tide_bytes(keys[i - 2], 1), &err) == 1);
		CHECK(tide_txn_commit(t, &err) == 0);
	}
	CHECK(tide_store_scrub(s, path, &text, 1, &sum, &err) == 0);
	CHECK_INT(sum.records, 1);
	CHECK(sum.wiped > 0);
	bytes = fixture_slurp(path, &size);
	for (i = 0, text.data = bytes; text.data != NULL; i++) {
		text.data = memmem(text.data,
		    (size_t)(bytes + size - (const char *)text.data),
		    shout + 27, sizeof shout - 28);
		if (text.data != NULL)
			text.data = (const char *)text.data + 1;
	}
	CHECK_INT(i - 1, 1); /* of the one that stands */
	free(bytes);
	tide_store_close(s);
}

/* ---- subjects ---------------------------------------------------------- */

static const struct means_case {
	const char *subject, *key;
	bool means;
} means_cases[] = {
	{ "bob@x.example", "bob@x.example", true },
	{ "Bob+tag@X.Example", "bob@x.example", true },
	{ "bob@x.example", "bob@x.example|192.0.2.0/24", true },
	{ "bob@x.example", "auth:bob@x.example", true },
	{ "bob@x.example", "notbob@x.example", false },
	{ "bob@x.example", "bob@x.example.org", false },
	{ "bob@x.example", "@x.example", false },
	{ "bob@x.example", "192.0.2.1", false },
	{ "@x.example", "@x.example", true },
	{ "@x.example", "bob@x.example|192.0.2.0/24", true },
	{ "@x.example", "auth:bob@x.example", true },
	{ "@x.example", "bob@y.x.example", false },
	{ "@x.example", "bob@xx.example", false },
	{ "192.0.2.7", "192.0.2.7", true },
	{ "192.0.2.7", "192.0.2.70", false },
	{ "192.0.2.7", "192.0.2.0/24", false },
	{ "192.0.2.7", "a@b|192.0.2.0/24", false },
	{ "192.0.2.0/24", "192.0.2.7", true },
	{ "192.0.2.0/24", "192.0.2.0/24", true },
	{ "192.0.2.0/24", "192.0.0.0/16", false },
	{ "192.0.2.0/24", "192.0.3.1", false },
	{ "2001:db8::1", "2001:db8::1", true },
	{ "2001:db8::1", "2001:db8::/64", true },
	{ "2001:db8::1", "2001:db8::/48", false },
	{ "auth:bob", "auth:bob", true },
	{ "auth:bob", "auth:bobby", false },
	{ "bob@x.example|192.0.2.0/24", "bob@x.example|192.0.2.0/24", true },
	{ "bob@x.example|192.0.2.0/24", "bob@x.example", false },
};

static void
test_subjects(void)
{
	static const char *const nobody[] = { "<>", "local", "0.0.0.0/0",
		"::/0", "nonsense", "" };
	static const struct tide_hash_key secret = { "secret" };
	struct tide_key_rules rules;
	struct tide_keys keys = { &rules, &secret };
	struct tide_subject s;
	struct tide_err err;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < sizeof means_cases / sizeof *means_cases; i++) {
		const struct means_case *c = &means_cases[i];

		CHECK_MSG(tide_subject_parse(&s, &keys, c->subject, &err) == 0,
		    "%s: %s", c->subject, err.text);
		CHECK_MSG(
		    tide_subject_means(&s, c->key, strlen(c->key)) == c->means,
		    "%s and %s", c->subject, c->key);
	}
	for (i = 0; i < sizeof nobody / sizeof *nobody; i++)
		CHECK_MSG(tide_subject_parse(&s, &keys, nobody[i], &err) < 0,
		    "«%s»", nobody[i]);
}

static const struct begins_case {
	const char *net, *begins;
} begins_cases[] = {
	{ "192.0.2.0/24", "192.0.2." },
	{ "10.1.16.0/20", "10.1." },
	{ "10.0.0.0/8", "10." },
	{ "128.0.0.0/1", "" },
	{ "2001:db8::/32", "2001:db8:" },
	{ "2001:db8:0:5::/64", "2001:db8:" },
	{ "2001:db8:10::/44", "2001:db8:" },
	{ "2001:db8:a:b::/64", "2001:db8:a:b:" },
};

static void
test_begins(void)
{
	static const struct tide_hash_key secret = { "secret" };
	struct tide_key_rules rules;
	struct tide_keys keys = { &rules, &secret };
	struct tide_subject s;
	struct tide_key text;
	struct tide_err err;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < sizeof begins_cases / sizeof *begins_cases; i++) {
		CHECK(tide_subject_parse(
			  &s, &keys, begins_cases[i].net, &err) == 0);
		tide_subject_begins(&s, &text);
		CHECK_STR(text.text, begins_cases[i].begins);
		CHECK_INT(text.length, strlen(text.text));
	}
}

/* Of a sender's key that had to be cut nobody knows whose it is. */
static void
test_long(void)
{
	static const struct tide_hash_key secret = { "secret" };
	struct tide_key_rules rules;
	struct tide_keys keys = { &rules, &secret };
	struct tide_key_facts facts = { NULL, NULL, NULL };
	struct tide_subject s;
	struct tide_ip client;
	struct tide_key key;
	struct tide_err err;
	char address[200];
	int n;

	tide_key_rules_defaults(&rules);
	CHECK(tide_ip_parse("192.0.2.1", &client));
	facts.client = &client;
	facts.sender = address;
	for (n = 20; n < 120; n++) {
		(void)snprintf(
		    address, sizeof address, "%0*d@long.example", n, 0);
		address[3] = 'x';
		CHECK(tide_key_sender(&keys, &facts, &key));
		CHECK(tide_subject_parse(&s, &keys, address, &err) == 0);
		CHECK_MSG(tide_subject_means(&s, key.text, key.length) !=
			tide_subject_may_mean(&s, key.text, key.length),
		    "%d: %s", n, key.text);
		CHECK(n > 70 || tide_subject_means(&s, key.text, key.length));
		if (tide_key_is_cut(key.text, key.length)) {
			CHECK(
			    tide_subject_parse(&s, &keys, key.text, &err) == 0);
			CHECK(tide_subject_means(&s, key.text, key.length));
		}
		address[5] = 'y';
		CHECK(tide_subject_parse(&s, &keys, address, &err) == 0);
		CHECK(!tide_subject_means(&s, key.text, key.length));
		CHECK(!tide_subject_may_mean(&s, key.text, key.length));
	}
}

CHECK_CASES({ "deleted, and then not in the file", test_forgotten },
    { "nor as keys of branches", test_branches },
    { "a part of another's record is left", test_others },
    { "a reader of an older state is not disturbed", test_reader },
    { "what stood beside it goes as well", test_rest },
    { "which keys are about whom", test_subjects },
    { "how what is within a network begins", test_begins },
    { "names that were cut", test_long })
