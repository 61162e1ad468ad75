/*
 * Store: what is told of a file before LMDB sees it, and that our picture of
 * LMDB's meta pages is LMDB's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define PAGE 4096u
#define MAP_SIZE (1u << 20)

static const char *const tables[] = { "one", "two", NULL };

static const char *
path_of(const char *name)
{
	static char path[600];

	(void)snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
	return path;
}

static struct tide_store *
opened(const char *path, enum tide_store_mode mode, size_t size)
{
	struct tide_err err = { "" };
	struct tide_store *s = tide_store_open(path, mode, size, tables, &err);

	CHECK_MSG(s != NULL, "%s", err.text);
	return s;
}

static void
put(struct tide_store *s, int table, const char *key, const char *value)
{
	struct tide_err err = { "" };
	struct tide_txn *t = tide_txn_begin(s, true, &err);

	CHECK(t != NULL);
	CHECK_INT(tide_txn_put(t, table, tide_bytes(key, strlen(key)),
		      tide_bytes(value, strlen(value)), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
}

/* A store of three commits: both meta pages are in use. */
static const char *
made(const char *name)
{
	const char *path = path_of(name);
	struct tide_store *s;

	(void)unlink(path);
	s = opened(path, TIDE_STORE_DURABLE, MAP_SIZE);
	put(s, 0, "a", "1");
	put(s, 0, "b", "2");
	put(s, 1, "c", "3");
	tide_store_close(s);
	return path;
}

/* ---- transactions ------------------------------------------------------ */

static void
put_get_del(void)
{
	struct tide_store *s =
	    opened(made("use"), TIDE_STORE_DURABLE, MAP_SIZE);
	struct tide_err err = { "" };
	struct tide_bytes value, key;
	struct tide_txn *t = tide_txn_begin(s, true, &err);

	CHECK(t != NULL);
	CHECK_INT(tide_txn_get(t, 0, tide_bytes("a", 1), &value, &err), 1);
	CHECK(value.size == 1 && memcmp(value.data, "1", 1) == 0);
	CHECK_INT(tide_txn_get(t, 0, tide_bytes("c", 1), &value, &err), 0);
	CHECK_INT(tide_txn_last(t, 0, &key, &value, &err), 1);
	CHECK(key.size == 1 && memcmp(key.data, "b", 1) == 0);
	CHECK_INT(tide_txn_del(t, 0, tide_bytes("b", 1), &err), 1);
	CHECK_INT(tide_txn_del(t, 0, tide_bytes("b", 1), &err), 0);
	CHECK(tide_txn_reserve(t, 0, tide_bytes("a", 1), 8, &err) == NULL);
	CHECK(tide_txn_reserve(t, 0, tide_bytes("z", 1), 8, &err) != NULL);
	tide_txn_abort(t);
	t = tide_txn_begin(s, false, &err);
	CHECK_INT(tide_txn_get(t, 0, tide_bytes("b", 1), &value, &err), 1);
	tide_txn_abort(t);
	tide_store_close(s);
}

struct seen {
	char keys[16];
	unsigned stop_after;
	int then;
};

static int
see(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct seen *seen = arg;

	(void)value;
	(void)strncat(seen->keys, key.data, key.size);
	if (strlen(seen->keys) < seen->stop_after)
		return 0;
	if (seen->then < 0)
		(void)tide_err_set(err, "enough");
	return seen->then;
}

static void
walk(void)
{
	static const struct walk_case {
		const char *from, *want;
		unsigned stop_after;
		int then, rc;
	} cases[] = {
		{ "", "abd", 9, 0, 0 },
		{ "b", "bd", 9, 0, 0 },
		{ "c", "d", 9, 0, 0 },
		{ "e", "", 9, 0, 0 },
		{ "", "ab", 2, 1, 0 },
		{ "", "ab", 2, -1, -1 },
	};
	struct tide_store *s =
	    opened(made("walk"), TIDE_STORE_DURABLE, MAP_SIZE);
	struct tide_err err = { "" };
	struct tide_txn *t;
	size_t i;

	put(s, 0, "d", "4");
	t = tide_txn_begin(s, false, &err);
	for (i = 0; i < LENGTH(cases); i++) {
		const struct walk_case *c = &cases[i];
		struct seen seen = { "", c->stop_after, c->then };

		CHECK_INT(
		    tide_txn_walk(t, 0, tide_bytes(c->from, strlen(c->from)),
			see, &seen, &err),
		    c->rc);
		CHECK_STR(seen.keys, c->want);
	}
	tide_txn_abort(t);
	tide_store_close(s);
}

/* For a reader a table that is not there is empty. */
static void
missing_tables(void)
{
	static const char *const other[] = { "one", "three", NULL };
	struct tide_err err = { "" };
	struct tide_store *s =
	    tide_store_open(made("missing"), TIDE_STORE_READ, 0, other, &err);
	struct tide_bytes key, value;
	struct seen seen = { "", 9, 0 };
	struct tide_txn *t;

	CHECK_MSG(s != NULL, "%s", err.text);
	t = tide_txn_begin(s, false, &err);
	CHECK_INT(tide_txn_get(t, 1, tide_bytes("a", 1), &value, &err), 0);
	CHECK_INT(tide_txn_last(t, 1, &key, &value, &err), 0);
	CHECK_INT(tide_txn_walk(t, 1, tide_bytes("", 0), see, &seen, &err), 0);
	CHECK_STR(seen.keys, "");
	tide_txn_abort(t);
	tide_store_close(s);
}

static void
map_full(void)
{
	struct tide_store *s =
	    opened(path_of("full"), TIDE_STORE_DURABLE, 64 * PAGE);
	struct tide_err err = { "" };
	struct tide_txn *t = tide_txn_begin(s, true, &err);

	CHECK(tide_txn_reserve(t, 0, tide_bytes("k", 1), 80 * PAGE, &err) ==
	    NULL);
	CHECK(strstr(err.text, "the map is full; raise archive_map") != NULL);
	tide_txn_abort(t);
	put(s, 0, "k", "v"); /* goes on after that */
	tide_store_close(s);
}

/* ---- probe ------------------------------------------------------------- */

static void
probe_must_say(const char *path, enum tide_store_state want, const char *what)
{
	struct tide_err err = { "" };
	enum tide_store_state got = tide_store_probe(path, &err);

	CHECK_MSG(got == want, "%s is %d, not %d (%s)", what, (int)got,
	    (int)want, err.text);
}

static void
whole_and_absent(void)
{
	char text[700];
	struct tide_err err;

	probe_must_say(made("whole"), TIDE_STORE_WHOLE, "a whole one");
	CHECK_INT(tide_store_probe(path_of("none"), &err), TIDE_STORE_ABSENT);
	(void)snprintf(text, sizeof text, "%s: No such file or directory",
	    path_of("none"));
	CHECK_STR(err.text, text);
	probe_must_say(check_tmpdir(), TIDE_STORE_FOREIGN, "a folder");
	CHECK_INT(tide_store_probe(path_of("whole/x"), &err),
	    TIDE_STORE_DAMAGED); /* not a folder: we cannot say it is absent */
}

static void
foreign(void)
{
	static const size_t sizes[] = { 1, 6, 30, 1000, PAGE + 100, 2 * PAGE,
		100000 };
	static char text[100000];
	const char *path = path_of("foreign");
	size_t i;

	memset(text, 'x', sizeof text);
	for (i = 0; i < LENGTH(sizes); i++) {
		fixture_spit(path, text, sizes[i]);
		probe_must_say(path, TIDE_STORE_FOREIGN, "text");
	}
	memset(text, 0, sizeof text);
	fixture_spit(path, text, sizeof text);
	probe_must_say(path, TIDE_STORE_FOREIGN, "zeros");
}

static void
truncated(void)
{
	size_t size, i;
	char *bytes = fixture_slurp(made("short"), &size);
	const size_t sizes[] = { 0, 1, 12, 24, 151, 152, PAGE - 1, PAGE,
		PAGE + 151, 2 * PAGE - 1, 2 * PAGE, 3 * PAGE, size - PAGE,
		size - 1 };
	const char *path = path_of("short");

	for (i = 0; i < LENGTH(sizes); i++) {
		fixture_spit(path, bytes, sizes[i]);
		probe_must_say(path, TIDE_STORE_TRUNCATED, "a short one");
	}
	fixture_spit(path, bytes, size);
	probe_must_say(path, TIDE_STORE_WHOLE, "all of it");
	free(bytes);
}

/* Where LMDB keeps what we look at; page is that of the meta page. */
static const struct field {
	const char *name;
	size_t at, size;
} fields[] = { { "page number", 0, 8 }, { "flags", 10, 2 }, { "magic", 16, 4 },
	{ "version", 20, 4 }, { "page size", 40, 4 } };

/* One bent bit in either meta page's fixed words: never "whole". */
static void
bent_meta_pages(void)
{
	size_t size, i, byte;
	char *bytes = fixture_slurp(made("meta"), &size);
	const char *path = path_of("meta");
	struct tide_err err;
	unsigned page, bit;

	for (page = 0; page < 2; page++)
		for (i = 0; i < LENGTH(fields); i++)
			for (bit = 0; bit < fields[i].size * 8; bit++) {
				byte = page * PAGE + fields[i].at + bit / 8;
				fixture_spit(path, bytes, size);
				fixture_flip(path, byte, bit % 8);
				CHECK_MSG(tide_store_probe(path, &err) ==
					TIDE_STORE_DAMAGED,
				    "bit %u of the %s of page %u", bit,
				    fields[i].name, page);
			}
	free(bytes);
}

static uint64_t
word(const char *bytes, size_t at)
{
	uint64_t w;

	memcpy(&w, bytes + at, sizeof w);
	return w;
}

/* The newest meta page of a file, as an offset. */
static size_t
newest_meta(const char *bytes)
{
	return word(bytes, 144) < word(bytes, PAGE + 144) ? PAGE : 0;
}

static void
bent_roots(void)
{
	size_t size, meta, root;
	char *bytes = fixture_slurp(made("root"), &size);
	const char *path = path_of("root");
	unsigned bit;

	meta = newest_meta(bytes);
	root = word(bytes, meta + 128);
	CHECK(root >= 2 && root < size / PAGE);
	for (bit = 0; bit < 64; bit++) { /* the root's own number */
		fixture_spit(path, bytes, size);
		fixture_flip(path, root * PAGE + bit / 8, bit % 8);
		probe_must_say(path, TIDE_STORE_DAMAGED, "a bent root page");
	}
	for (bit = 0; bit < 64; bit++) { /* which page is the root */
		struct tide_err err;

		fixture_spit(path, bytes, size);
		fixture_flip(path, meta + 128 + bit / 8, bit % 8);
		(void)tide_store_probe(path, &err); /* 2 -> 3 may be a page */
	}
	fixture_spit(path, bytes, size);
	fixture_flip(path, root * PAGE + 10, 1); /* a leaf no more */
	probe_must_say(path, TIDE_STORE_DAMAGED, "a root of no kind");
	free(bytes);
}

/*
 * Our picture against LMDB's own figures: the pages in use, the number of
 * tables, the page of the root.
 */
static void
picture_is_true(void)
{
	const char *path = made("picture");
	struct tide_store *s;
	size_t size, meta;
	char *bytes;
	unsigned i;

	for (i = 0; i < 8; i++) { /* each commit uses the other meta page */
		s = opened(path, TIDE_STORE_DURABLE, MAP_SIZE);
		put(s, 0, "key", i % 2 == 0 ? "even" : "odd");
		bytes = fixture_slurp(path, &size);
		meta = newest_meta(bytes);
		CHECK_INT(word(bytes, meta + 24 + 8), MAP_SIZE);
		CHECK_INT(
		    (word(bytes, meta + 136) + 1) * PAGE, tide_store_used(s));
		CHECK_INT(word(bytes, meta + 120), 2); /* tables */
		CHECK_INT(word(bytes, meta + 40) & UINT32_MAX, PAGE);
		CHECK_INT(word(bytes, word(bytes, meta + 128) * PAGE),
		    word(bytes, meta + 128));
		free(bytes);
		tide_store_close(s);
	}
}

/* ---- the live mode ----------------------------------------------------- */

static void
offsets(void)
{
	struct tide_store *s =
	    opened(path_of("live"), TIDE_STORE_LIVE, MAP_SIZE);
	struct tide_err err = { "" };
	struct tide_txn *t = tide_txn_begin(s, true, &err);
	char *room = tide_txn_reserve(t, 0, tide_bytes("k", 1), 3 * PAGE, &err);
	uint64_t offset = 0;
	size_t size;
	char *bytes;

	CHECK(room != NULL);
	memset(room, 0, 3 * PAGE);
	(void)strcpy(room, "here I am");
	CHECK_INT(tide_store_offset(room, &offset, &err), 0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
	bytes = fixture_slurp(path_of("live"), &size);
	CHECK_INT(size, MAP_SIZE); /* all of it is allocated */
	CHECK_STR(bytes + offset, "here I am");
	CHECK_INT(tide_store_offset((void *)16, &offset, &err), -1);
	free(bytes);
	tide_store_close(s);
}

/* ---- a full disk ------------------------------------------------------- */

struct tight {
	enum tide_store_mode mode;
	unsigned kib;
};

/* In the child: 0 opened, 1 a clear error; anything else is a signal. */
static void
open_on_tight_disk(void *arg)
{
	const struct tight *tight = arg;
	struct tide_err err = { "" };
	struct tide_store *s;

	fixture_tiny_disk(path_of("tight"), tight->kib);
	s = tide_store_open(
	    path_of("tight/s"), tight->mode, MAP_SIZE, tables, &err);
	tide_store_close(s);
	if (s != NULL)
		_exit(0);
	_exit(strstr(err.text, "No space left on device") != NULL ? 1 : 98);
}

static void
try_tight_disks(enum tide_store_mode mode, unsigned most_kib)
{
	struct tight tight = { .mode = mode };
	bool fits = false;
	int status;

	for (tight.kib = 4; tight.kib <= most_kib; tight.kib += 4) {
		status = fixture_child(open_on_tight_disk, &tight);
		CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) <= 1,
		    "with %u KiB: status %x", tight.kib, (unsigned)status);
		CHECK_MSG(!fits || WEXITSTATUS(status) == 0,
		    "%u KiB is too little, less was not", tight.kib);
		fits = WEXITSTATUS(status) == 0;
	}
	CHECK_MSG(fits, "even %u KiB are too little", most_kib);
}

/* In the child: a store that is open, and a disk that fills. */
static void
fill_disk(void *arg)
{
	static char value[40000];
	struct tide_err err = { "" };
	struct tide_store *s;
	unsigned i;

	(void)arg;
	fixture_tiny_disk(path_of("fills"), 512);
	s = tide_store_open(
	    path_of("fills/s"), TIDE_STORE_DURABLE, MAP_SIZE, tables, &err);
	for (i = 0; s != NULL && i < 100; i++) {
		struct tide_txn *txn = tide_txn_begin(s, true, &err);

		if (txn == NULL ||
		    tide_txn_put(txn, 0, tide_bytes(&i, sizeof i),
			tide_bytes(value, sizeof value), &err) < 0 ||
		    tide_txn_commit(txn, &err) < 0)
			break;
	}
	(void)fprintf(stderr, "# after %u: %s\n", i, err.text);
	_exit(i > 0 && strstr(err.text, "No space left on device") != NULL
		? 0
		: 98);
}

static void
disk_fills(void)
{
	fixture_needs_mounts();
	CHECK(mkdir(path_of("fills"), 0755) == 0);
	CHECK_INT(fixture_child(fill_disk, NULL), 0);
}

static void
disk_full(void)
{
	fixture_needs_mounts();
	CHECK(mkdir(path_of("tight"), 0755) == 0);
	try_tight_disks(TIDE_STORE_DURABLE, 64);
	try_tight_disks(TIDE_STORE_LIVE, MAP_SIZE / 1024 + 64);
}

CHECK_CASES({ "put, get, delete, reserve", put_get_del }, { "walk", walk },
    { "a reader's missing table is empty", missing_tables },
    { "a full map", map_full },
    { "probe: whole, absent, a folder", whole_and_absent },
    { "probe: foreign files, small ones too", foreign },
    { "probe: truncated at many lengths", truncated },
    { "probe: every bit of the meta pages' fixed words", bent_meta_pages },
    { "probe: bent roots", bent_roots },
    { "the picture of a meta page is LMDB's", picture_is_true },
    { "a value's place in the live file", offsets },
    { "a full disk is an error, never a signal", disk_full },
    { "a disk that fills is called full", disk_fills })
