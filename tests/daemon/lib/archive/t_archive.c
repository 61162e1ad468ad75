/*
 * Archive: windows in and out, expiry, and what becomes of bent files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/head.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* Window i saw mail from sI@a.example to rI@b.example in second i. */
static void
store_windows(struct tide_archive *a, unsigned first, unsigned last)
{
	char from[64], to[64];
	unsigned i;

	for (i = first; i <= last; i++) {
		(void)snprintf(from, sizeof from, "s%u@a.example", i);
		(void)snprintf(to, sizeof to, "r%u@b.example", i);
		fixture_store(a, i, i * 1000ull, (i + 1) * 1000ull, from, to);
	}
}

static enum tide_verdict
ask_from(
    struct tide_archive *a, const char *from, uint64_t since, uint64_t until)
{
	struct tide_question q = { .from = from,
		.has_since = true,
		.since_ms = since,
		.until_ms = until,
		.now_ms = until };

	return fixture_ask(a, NULL, &q, NULL);
}

static int
open_it(const struct tide_config *c, struct tide_archive *a,
    enum tide_archive_mode mode, struct tide_err *err)
{
	return tide_archive_open(a, c->state_dir, mode, FIXTURE_MAP_SIZE, err);
}

/* ---- opening ----------------------------------------------------------- */

static void
create_and_reopen(void)
{
	struct tide_config c;
	struct tide_archive a, b;
	struct tide_err err = { "" };
	uint64_t newest = 4711;

	fixture_config(&c);
	CHECK_INT(tide_archive_verify(c.state_dir, &err), 0); /* not there */
	CHECK_INT(open_it(&c, &a, TIDE_ARCHIVE_READ, &err), -1);
	CHECK(strstr(err.text, "archive.mdb: No such file") != NULL);
	CHECK(access(fixture_archive_path(&c), F_OK) < 0);
	fixture_open_archive(&c, &a);
	CHECK_INT(tide_archive_newest(&a, &newest, &err), 0);
	CHECK_INT(newest, 0);
	store_windows(&a, 1, 3);
	tide_archive_close(&a);
	CHECK_INT(tide_archive_verify(c.state_dir, &err), 0);
	fixture_open_archive(&c, &b);
	CHECK(memcmp(&a.key, &b.key, sizeof a.key) == 0);
	CHECK_INT(tide_archive_newest(&b, &newest, &err), 0);
	CHECK_INT(newest, 3);
	CHECK_INT(tide_archive_has_window(&b, 2, &err), 1);
	CHECK_INT(tide_archive_has_window(&b, 4, &err), 0);
	tide_archive_close(&b);
}

/* Killed between the making of the file and its head: made again. */
static void
creation_cut_short(void)
{
	static const char *const none[] = { NULL };
	struct tide_config c;
	struct tide_archive a;
	struct tide_store *s;
	struct tide_err err = { "" };
	int i;

	for (i = 0; i < 2; i++) {
		fixture_config(&c);
		s = tide_store_open(fixture_archive_path(&c),
		    TIDE_STORE_DURABLE, 1 << 20,
		    i == 0 ? none : tide_archive_tables, &err);
		CHECK_MSG(s != NULL, "%s", err.text);
		tide_store_close(s);
		err.text[0] = '\0';
		CHECK_INT(open_it(&c, &a, TIDE_ARCHIVE_READ, &err), -1);
		CHECK(strstr(err.text, "archive.mdb: is empty") != NULL);
		fixture_open_archive(&c, &a);
		tide_archive_close(&a);
	}
}

/* ---- windows ----------------------------------------------------------- */

static void
put_and_look_up(void)
{
	struct tide_config c;
	struct tide_archive a;
	unsigned i;
	char from[64];

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	store_windows(&a, 1, 20);
	for (i = 1; i <= 20; i++) {
		(void)snprintf(from, sizeof from, "s%u@a.example", i);
		CHECK_INT(ask_from(&a, from, 1000, 21000), TIDE_FOUND);
		CHECK_INT(
		    ask_from(&a, from, i * 1000 + 1, i * 1000 + 2), TIDE_FOUND);
	}
	CHECK_INT(ask_from(&a, "nobody@a.example", 1000, 21000), TIDE_ABSENT);
	CHECK_INT(
	    ask_from(&a, "nobody@a.example", 999, 21000), TIDE_NOT_COVERED);
	CHECK_INT(
	    ask_from(&a, "nobody@a.example", 1000, 21001), TIDE_NOT_COVERED);
	tide_archive_close(&a);
}

static int
first_record(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	(void)key;
	(void)err;
	CHECK(tide_window_record_read(value, arg) != NULL);
	return 1;
}

static struct tide_hash
element(uint64_t i)
{
	uint64_t state = i;
	uint64_t low = fixture_random(&state);

	return (struct tide_hash){ low, fixture_random(&state) };
}

/* Put n elements into a window sized for `capacity` of them; the record as
 * it is stored, and whether each element is found. */
static void
big_window(struct tide_archive *a, uint64_t number, uint64_t capacity,
    uint64_t n, struct tide_window_record *stored)
{
	struct tide_window_record r = { .number = number, .until_ms = 1 };
	uint64_t *words[TIDE_FILTERS], i;
	struct tide_err err = { "" };
	struct tide_txn *t;
	uint8_t key[8];

	for (i = 0; i < TIDE_FILTERS; i++) {
		r.shape[i] = tide_bloom_size(capacity, 0.001);
		words[i] = calloc(1, tide_bloom_bytes(&r.shape[i]));
		CHECK(words[i] != NULL);
	}
	for (i = 0; i < n; i++)
		(void)tide_bloom_add(
		    &r.shape[0], (tide_bloom_word *)words[0], element(i));
	CHECK_INT(tide_archive_put_window(a, &r, words, &err), 0);
	t = tide_txn_begin(a->store, false, &err);
	tide_key_number(key, number);
	CHECK_INT(tide_txn_walk(t, TIDE_TABLE_WINDOWS, tide_bytes(key, 8),
		      first_record, stored, &err),
	    0);
	for (i = 0; i < n; i += 1 + n / 500)
		CHECK_INT(tide_archive_lookup(t, stored, 0, element(i)), 1);
	CHECK_INT(tide_archive_lookup(t, stored, 1, element(0)), 0);
	for (i = 0; i < 50; i++) /* never written to, at most a chance hit */
		CHECK(tide_archive_lookup(t, stored, 0, element(n + i)) >= 0);
	tide_txn_abort(t);
	for (i = 0; i < TIDE_FILTERS; i++)
		free(words[i]);
}

/* 700,000 elements at 0.001 are 10 million bits: two chunks. */
static void
more_than_one_chunk(void)
{
	struct tide_window_record r;
	struct tide_config c;
	struct tide_archive a;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	big_window(&a, 1, 700000, 700000, &r);
	CHECK(tide_bloom_bytes(&r.shape[0]) > TIDE_CHUNK);
	CHECK_INT(r.shape[0].bits, tide_bloom_size(700000, 0.001).bits);
	CHECK(r.ones[0] > r.shape[0].bits / 3);
	big_window(&a, 2, 700000, 400000, &r); /* just not to be halved */
	CHECK(tide_bloom_bytes(&r.shape[0]) > TIDE_CHUNK);
	tide_archive_close(&a);
}

/* Small ones lie within a leaf page, at any alignment. */
static void
folded_and_unaligned(void)
{
	static const uint64_t counts[] = { 0, 1, 2, 3, 5, 10, 50, 100, 1000,
		4999, 10000 };
	struct tide_window_record r;
	struct tide_config c;
	struct tide_archive a;
	uint64_t bits = tide_bloom_size(10000, 0.001).bits, before = 0;
	size_t i;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	for (i = 0; i < LENGTH(counts); i++) {
		big_window(&a, i + 1, 10000, counts[i], &r);
		CHECK_INT(bits % r.shape[0].bits, 0);
		CHECK(r.shape[0].bits >= before);
		before = r.shape[0].bits;
	}
	CHECK_INT(before, bits);
	tide_archive_close(&a);
}

static void
damaged_record(void)
{
	struct tide_window_record r = { 0 }, copy;
	const struct tide_bytes whole = tide_bytes(&r, sizeof r);

	r.format = TIDE_WINDOW_FORMAT;
	r.shape[0] = r.shape[1] = r.shape[2] = tide_bloom_size(100, 0.01);
	r.check =
	    tide_hash_check(&r, offsetof(struct tide_window_record, check));
	CHECK(tide_window_record_read(whole, &copy) == &copy);
	CHECK(tide_window_record_read(tide_bytes(&r, sizeof r - 1), &copy) ==
	    NULL);
	CHECK(tide_window_record_read(tide_bytes(&r, 0), &copy) == NULL);
	r.messages ^= 1;
	CHECK(tide_window_record_read(whole, &copy) == NULL);
	r.messages ^= 1;
	r.shape[1].bits = 0; /* a right check on a wrong shape */
	r.check =
	    tide_hash_check(&r, offsetof(struct tide_window_record, check));
	CHECK(tide_window_record_read(whole, &copy) == NULL);
}

/* ---- expiry ------------------------------------------------------------ */

static void
put_lapse(struct tide_archive *a, uint64_t from, uint64_t until)
{
	const struct tide_lapse lapse = { from, until, TIDE_LAPSE_CRASH, 0 };
	struct tide_err err;

	CHECK_INT(tide_archive_put_lapse(a, &lapse, &err), 0);
}

static struct tide_archive_summary
summary(struct tide_archive *a)
{
	struct tide_archive_summary sum;
	struct tide_err err;

	CHECK_INT(tide_archive_summary(a, &sum, &err), 0);
	return sum;
}

static unsigned
expire(struct tide_archive *a, uint64_t before_ms, uint64_t max_bytes)
{
	struct tide_err err = { "" };
	unsigned dropped;

	CHECK_MSG(
	    tide_archive_expire(a, before_ms, max_bytes, &dropped, &err) == 0,
	    "%s", err.text);
	return dropped;
}

static int
count_one(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	unsigned *n = arg;

	(void)key;
	(void)value;
	(void)err;
	++*n;
	return 0;
}

static unsigned
chunks_in(struct tide_archive *a)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(a->store, false, &err);
	unsigned n = 0;

	CHECK_INT(tide_txn_walk(t, TIDE_TABLE_FILTERS, tide_bytes("", 0),
		      count_one, &n, &err),
	    0);
	tide_txn_abort(t);
	return n;
}

/* Windows 1..10; window i is of i s to i + 1 s. */
static void
expire_by_age(void)
{
	struct tide_config c;
	struct tide_archive a;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	store_windows(&a, 1, 10);
	put_lapse(&a, 1500, 1600);
	put_lapse(&a, 3500, 4100); /* into a window that stays */
	put_lapse(&a, 8000, 8100);
	CHECK_INT(expire(&a, 2000, UINT64_MAX), 0); /* ended at 2 s: stays */
	CHECK_INT(summary(&a).lapses, 3);
	CHECK_INT(expire(&a, 4001, UINT64_MAX), 3);
	CHECK_INT(summary(&a).windows, 7);
	CHECK_INT(summary(&a).from_ms, 4000);
	CHECK_INT(summary(&a).until_ms, 11000);
	CHECK_INT(summary(&a).lapses, 2);
	CHECK_INT(chunks_in(&a), 7 * TIDE_FILTERS);
	CHECK_INT(ask_from(&a, "s1@a.example", 1000, 11000), TIDE_NOT_COVERED);
	CHECK_INT(ask_from(&a, "s4@a.example", 4000, 11000), TIDE_FOUND);
	tide_archive_close(&a);
}

static void
expire_by_size(void)
{
	struct tide_config c;
	struct tide_archive a;
	uint64_t each;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	store_windows(&a, 1, 10);
	put_lapse(&a, 1500, 1600);
	each = summary(&a).bytes / 10;
	CHECK_INT(expire(&a, 0, 10 * each), 0);
	CHECK_INT(expire(&a, 0, 10 * each - 1), 1);
	CHECK_INT(expire(&a, 0, 5 * each), 4);
	CHECK_INT(summary(&a).windows, 5);
	CHECK_INT(summary(&a).from_ms, 6000);
	CHECK_INT(summary(&a).lapses, 0);
	CHECK_INT(expire(&a, 0, 0), 5);
	CHECK_INT(summary(&a).windows, 0);
	CHECK_INT(chunks_in(&a), 0);
	CHECK_INT(expire(&a, UINT64_MAX, 0), 0);
	tide_archive_close(&a);
}

/* Everything has expired: lapses of that time, too, but not the latest. */
static void
expire_everything(void)
{
	struct tide_config c;
	struct tide_archive a;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	store_windows(&a, 1, 3);
	put_lapse(&a, 1500, 1600);
	put_lapse(&a, 9000, 9100);
	CHECK_INT(expire(&a, 8000, UINT64_MAX), 3);
	CHECK_INT(summary(&a).lapses, 1);
	tide_archive_close(&a);
}

/* The clock was in 2100 for a while: that window does not keep others. */
static void
expire_past_a_wrong_clock(void)
{
	struct tide_config c;
	struct tide_archive a;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	fixture_store(&a, 1, 4102444800000, 4102444800000, "a@b", "c@d");
	store_windows(&a, 2, 5);
	CHECK_INT(expire(&a, 5500, UINT64_MAX), 3); /* 2, 3, 4 */
	CHECK_INT(summary(&a).windows, 2);
	tide_archive_close(&a);
}

static void
expire_many(void)
{
	struct tide_config c;
	struct tide_archive a;
	unsigned n = 0, rounds = 0, dropped;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	store_windows(&a, 1, 300); /* more than one call drops */
	put_lapse(&a, 1500, 1600);
	do {
		dropped = expire(&a, 290000, UINT64_MAX);
		n += dropped;
	} while (dropped > 0 && ++rounds < 9);
	CHECK_INT(n, 288);
	CHECK_INT(summary(&a).windows, 12);
	CHECK_INT(summary(&a).lapses, 0);
	tide_archive_close(&a);
}

/* ---- refusals ---------------------------------------------------------- */

/* An archive of three windows and a checkpoint's place, in memory. */
static char *
small_archive(struct tide_config *c, size_t *size)
{
	struct tide_archive a;

	fixture_config(c);
	fixture_open_archive(c, &a);
	store_windows(&a, 1, 3);
	put_lapse(&a, 1, 2);
	(void)expire(&a, 0, summary(&a).bytes - 1); /* some free pages */
	store_windows(&a, 4, 5);
	tide_archive_close(&a);
	return fixture_slurp(fixture_archive_path(c), size);
}

/* The file as it now is must be refused by all, and left as it is. */
static void
must_refuse(const struct tide_config *c, const char *says)
{
	struct tide_archive a;
	struct tide_err err = { "" };
	size_t size;
	void *before = fixture_slurp(fixture_archive_path(c), &size);

	CHECK_MSG(tide_archive_verify(c->state_dir, &err) == -1,
	    "verified, and should be: %s", says);
	CHECK_MSG(strstr(err.text, says) != NULL, "«%s» says not «%s»",
	    err.text, says);
	CHECK_INT(open_it(c, &a, TIDE_ARCHIVE_OWN, &err), -1);
	CHECK_MSG(strstr(err.text, says) != NULL, "«%s» says not «%s»",
	    err.text, says);
	CHECK_INT(open_it(c, &a, TIDE_ARCHIVE_READ, &err), -1);
	CHECK_MSG(fixture_is(fixture_archive_path(c), before, size),
	    "the refusal changed it: %s", says);
	free(before);
}

static void
refuse_foreign(void)
{
	struct tide_config c;

	fixture_config(&c);
	fixture_spit(fixture_archive_path(&c), "my diary\n", 9);
	must_refuse(&c, "is no LMDB 0.9 file");
}

static void
refuse_foreign_lmdb(void)
{
	static const char *const other[] = { "postfix", NULL };
	static const char *const ours[] = { "meta", NULL };
	const char *const *tables[] = { other, ours };
	struct tide_config c;
	struct tide_err err;
	struct tide_store *s;
	struct tide_txn *t;
	size_t i;

	for (i = 0; i < LENGTH(tables); i++) {
		fixture_config(&c);
		s = tide_store_open(fixture_archive_path(&c),
		    TIDE_STORE_DURABLE, 1 << 20, tables[i], &err);
		t = tide_txn_begin(s, true, &err);
		CHECK_INT(tide_txn_put(t, 0, tide_bytes("k", 1),
			      tide_bytes("v", 1), &err),
		    0);
		CHECK_INT(tide_txn_commit(t, &err), 0);
		tide_store_close(s);
		must_refuse(&c, "no archive of Tidemark's");
	}
}

/* Somebody's empty table is somebody's file all the same. */
static void
refuse_foreign_empty(void)
{
	static const char *const other[] = { "postfix", NULL };
	struct tide_config c;
	struct tide_err err;

	fixture_config(&c);
	tide_store_close(tide_store_open(fixture_archive_path(&c),
	    TIDE_STORE_DURABLE, 1 << 20, other, &err));
	must_refuse(&c, "no archive of Tidemark's");
}

static void
refuse_truncated(void)
{
	struct tide_config c;
	size_t size, n;
	char *bytes = small_archive(&c, &size);

	for (n = 0; n < size; n += 2048) {
		fixture_spit(fixture_archive_path(&c), bytes, n);
		must_refuse(&c, "is truncated");
	}
	free(bytes);
}

struct head { /* as archive.c has it */
	uint64_t magic;
	uint32_t format, pad;
	uint64_t made_ms;
	struct tide_hash_key key;
	uint64_t check;
};

static void
put_head(const struct tide_config *c, const struct head *h)
{
	struct tide_err err;
	struct tide_store *s = tide_store_open(fixture_archive_path(c),
	    TIDE_STORE_DURABLE, 0, tide_archive_tables, &err);
	struct tide_txn *t = tide_txn_begin(s, true, &err);

	CHECK_INT(tide_txn_put(t, TIDE_TABLE_META, tide_bytes("head", 4),
		      tide_bytes(h, sizeof *h), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
	tide_store_close(s);
}

static void
refuse_other_formats(void)
{
	struct head h = { .magic = TIDE_MAP_MAGIC,
		.format = TIDE_ARCHIVE_FORMAT + 1 };
	struct tide_config c;
	size_t size;

	free(small_archive(&c, &size));
	h.check = tide_hash_check(&h, offsetof(struct head, check));
	put_head(&c, &h);
	must_refuse(&c, "has format 4, and this Tidemark reads format 3");
	h.format = TIDE_ARCHIVE_FORMAT;
	put_head(&c, &h);
	must_refuse(&c, "its head is damaged");
	h.magic = 0;
	put_head(&c, &h);
	must_refuse(&c, "its head is damaged");
}

static void
cannot_be_read(void)
{
	struct tide_config c;
	struct tide_err err = { "" };

	fixture_config(&c);
	CHECK(mkdir(fixture_archive_path(&c), 0755) == 0);
	CHECK_INT(tide_archive_verify(c.state_dir, &err), -1);
	CHECK(strstr(err.text, "is no regular file") != NULL);
}

/* ---- bent bits --------------------------------------------------------- */

enum { SAW_REFUSED, SAW_RIGHT, SAW_WRONG };

/* The senders of windows 2..5 are in it: each is found, or it is said that
 * there is a gap. */
static int
what_it_says(struct tide_archive *a)
{
	char from[64];
	enum tide_verdict v;
	unsigned i;

	for (i = 2; i <= 5; i++) {
		struct tide_question q = {
			.from = from, .until_ms = 6000, .now_ms = 6000
		};

		(void)snprintf(from, sizeof from, "s%u@a.example", i);
		v = ask_from(a, from, 2000, 6000);
		if (v == TIDE_ABSENT)
			return SAW_WRONG;
		v = fixture_ask(a, NULL, &q, NULL); /* since it remembers */
		if (v == TIDE_ABSENT)
			return SAW_WRONG;
	}
	return SAW_RIGHT;
}

/* What a collector does at its start, and what it is then asked. */
static void
use_bent_file(void *arg)
{
	const struct tide_config *c = arg;
	struct tide_archive_summary sum;
	struct tide_checkpoint checkpoint;
	struct tide_archive a;
	struct tide_err err;
	int saw;

	if (tide_archive_verify(c->state_dir, &err) < 0 ||
	    open_it(c, &a, TIDE_ARCHIVE_OWN, &err) < 0)
		_exit(SAW_REFUSED);
	saw = what_it_says(&a);
	(void)tide_archive_summary(&a, &sum, &err);
	if (tide_checkpoint_load(&a, &checkpoint, &err) > 0)
		tide_checkpoint_free(&checkpoint);
	tide_archive_close(&a);
	_exit(saw);
}

static void
try_bit(struct tide_config *c, const char *bytes, size_t size, size_t byte,
    unsigned bit, unsigned tally[3])
{
	struct tide_archive a;
	struct tide_err err;
	int status;

	fixture_spit(fixture_archive_path(c), bytes, size);
	fixture_flip(fixture_archive_path(c), byte, bit);
	status = fixture_child(use_bent_file, c);
	CHECK_MSG(WIFEXITED(status), "byte %zu, bit %u: signal %d", byte, bit,
	    WTERMSIG(status));
	CHECK_MSG(WEXITSTATUS(status) == SAW_REFUSED ||
		WEXITSTATUS(status) == SAW_RIGHT,
	    "byte %zu, bit %u: certainly absent, and it is not (%d)", byte, bit,
	    WEXITSTATUS(status));
	tally[WEXITSTATUS(status)]++;
	if (WEXITSTATUS(status) != SAW_REFUSED)
		return;
	fixture_spit(fixture_archive_path(c), bytes, size);
	fixture_flip(fixture_archive_path(c), byte, bit);
	if (tide_archive_verify(c->state_dir, &err) == 0)
		CHECK_INT(open_it(c, &a, TIDE_ARCHIVE_OWN, &err), -1);
	fixture_flip(fixture_archive_path(c), byte, bit);
	CHECK_MSG(fixture_is(fixture_archive_path(c), bytes, size),
	    "byte %zu, bit %u: the refusal changed the file", byte, bit);
}

/* Half of the bits anywhere, half of them among the first 64 bytes of a page
 * and among the keys, where the trees are. */
static void
bent_bits(void)
{
	struct tide_config c;
	unsigned i, tally[3] = { 0, 0, 0 };
	uint64_t state = 20261116;
	size_t size, byte;
	char *bytes = small_archive(&c, &size);
	const char *more = getenv("TIDE_TEST_FLIPS");
	unsigned rounds = more != NULL ? (unsigned)atoi(more) : 600;

	for (i = 0; i < rounds; i++) {
		byte = fixture_random(&state) % size;
		if (i % 2 == 0)
			byte = byte / 4096 * 4096 + byte % 64;
		try_bit(&c, bytes, size, byte,
		    (unsigned)(fixture_random(&state) % 8), tally);
	}
	printf("# %u bent bits: %u refused, %u answered rightly\n", rounds,
	    tally[SAW_REFUSED], tally[SAW_RIGHT]);
	CHECK(tally[SAW_REFUSED] > 0 && tally[SAW_RIGHT] > 0);
	free(bytes);
}

/* A chunk under its neighbour's key (one bit away) is not its neighbour. */
static void
bent_keys(void)
{
	struct tide_config c;
	unsigned tally[3] = { 0, 0, 0 }, found = 0;
	size_t size, i;
	char *bytes = small_archive(&c, &size);
	static const char key[9] = { 0, 0, 0, 0, 0, 0, 0, 4 };

	for (i = 2 * 4096; i + 17 < size; i++) {
		if (memcmp(bytes + i, key, 8) != 0)
			continue;
		found++;
		try_bit(&c, bytes, size, i + 7, 0, tally); /* 4 -> 5 */
		try_bit(&c, bytes, size, i + 8, 0, tally); /* senders -> */
	}
	CHECK_MSG(found >= 3, "%u keys", found);
	free(bytes);
}

/* A start on a full disk: what is there already is not written again. */
static void
names_once(void)
{
	struct tide_config c;
	struct tide_archive a;
	struct tide_err err;
	size_t before, after;
	void *was, *is;

	fixture_config(&c);
	CHECK_INT(open_it(&c, &a, TIDE_ARCHIVE_OWN, &err), 0);
	CHECK_INT(tide_archive_name_profiles(&a, &c, &err), 0);
	was = fixture_slurp(a.path, &before);
	CHECK_INT(tide_archive_name_profiles(&a, &c, &err), 0);
	is = fixture_slurp(a.path, &after);
	CHECK(before == after && memcmp(was, is, before) == 0);
	free(was);
	free(is);
	tide_archive_close(&a);
}

CHECK_CASES({ "made, read again", create_and_reopen },
    { "names of profiles are written once", names_once },
    { "a creation cut short is made good", creation_cut_short },
    { "windows go in and are found", put_and_look_up },
    { "filters of more than one chunk", more_than_one_chunk },
    { "folded filters, small values", folded_and_unaligned },
    { "a damaged record is none", damaged_record },
    { "expiry by age", expire_by_age }, { "expiry by size", expire_by_size },
    { "everything expires", expire_everything },
    { "a window of the future keeps nothing back", expire_past_a_wrong_clock },
    { "many expire in several calls", expire_many },
    { "foreign: refused, untouched", refuse_foreign },
    { "foreign LMDB: refused, untouched", refuse_foreign_lmdb },
    { "foreign LMDB with empty tables: refused, untouched",
	refuse_foreign_empty },
    { "truncated: refused, untouched", refuse_truncated },
    { "newer format, damaged head: refused, untouched", refuse_other_formats },
    { "a folder in its place", cannot_be_read },
    { "bent bits: refused, found or a gap, never a crash", bent_bits },
    { "bent keys", bent_keys })
