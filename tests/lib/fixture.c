/*
 * fixture - small maps, small archives, bent files.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/live.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/address.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/slots.h"

void
fixture_config(struct tide_config *c)
{
	static unsigned count;
	char root[128];

	(void)snprintf(root, sizeof root, "%s/%u", check_tmpdir(), ++count);
	CHECK(mkdir(root, 0755) == 0);
	tide_config_defaults(c, root);
	CHECK(mkdir(c->runtime_dir, 0755) == 0);
	CHECK(mkdir(c->state_dir, 0755) == 0);
	c->max_workers = 4;
	c->max_buckets = 64;
	c->max_bans = 64;
	c->max_accounts = 64;
	c->addresses_capacity = 1000;
	c->spam_reports = 100;
	c->spam_generations = 1;
	c->bulk_keys = 1000;
	c->window_senders = 100;
	c->window_recipients = 100;
	c->window_error = 0.01;
	c->memory_size = 4096;
}

const char *
fixture_archive_path(const struct tide_config *c)
{
	static char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/archive.mdb", c->state_dir);
	return path;
}

const char *
fixture_live_path(const struct tide_config *c)
{
	static char path[TIDE_PATH_MAX];

	return tide_config_live(c, path, sizeof path);
}

/* ---- files ------------------------------------------------------------- */

void *
fixture_slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	char *bytes;

	CHECK_MSG(f != NULL && fstat(fileno(f), &st) == 0, "%s", path);
	*size = (size_t)st.st_size;
	bytes = malloc(*size + 1);
	CHECK(bytes != NULL && fread(bytes, 1, *size, f) == *size);
	bytes[*size] = '\0';
	(void)fclose(f);
	return bytes;
}

void
fixture_spit(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "we");

	CHECK_MSG(f != NULL, "%s", path);
	CHECK(fwrite(bytes, 1, size, f) == size);
	CHECK(fclose(f) == 0);
}

bool
fixture_is(const char *path, const void *bytes, size_t size)
{
	size_t n;
	void *now = fixture_slurp(path, &n);
	bool same = n == size && memcmp(now, bytes, n) == 0;

	free(now);
	return same;
}

void
fixture_flip(const char *path, size_t byte, unsigned bit)
{
	FILE *f = fopen(path, "r+e");
	int c;

	CHECK_MSG(f != NULL, "%s", path);
	CHECK(fseek(f, (long)byte, SEEK_SET) == 0);
	c = fgetc(f);
	CHECK(c != EOF && fseek(f, (long)byte, SEEK_SET) == 0);
	CHECK(fputc(c ^ 1 << bit, f) != EOF);
	CHECK(fclose(f) == 0);
}

/* ---- sanitizers: a child's signal is to be seen, not reported ----------- */

#define SEEN_BY_SANITIZERS __attribute__((visibility("default")))

SEEN_BY_SANITIZERS const char *__asan_default_options(void);
SEEN_BY_SANITIZERS const char *__tsan_default_options(void);

#define LET_SIGNALS_BE \
	"handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0"

const char *
__asan_default_options(void)
{
	return LET_SIGNALS_BE;
}

const char *
__tsan_default_options(void)
{
	return LET_SIGNALS_BE ":die_after_fork=0";
}

/* ---- processes --------------------------------------------------------- */

int
fixture_child(void (*run)(void *), void *arg)
{
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		run(arg);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

void
fixture_tiny_disk(const char *folder, unsigned kib)
{
	char options[32];

	(void)snprintf(options, sizeof options, "size=%uk", kib);
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("tmpfs", folder, "tmpfs", 0, options) == 0);
}

static void
try_mount(void *arg)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", arg, "tmpfs", 0, "size=64k") < 0)
		_exit(1);
}

void
fixture_needs_mounts(void)
{
	char folder[] = "/tmp";

	if (geteuid() != 0)
		check_skip("needs root, to mount a tiny file system");
	if (fixture_child(try_mount, folder) != 0)
		check_skip("no mount is allowed here");
}

/* ---- archive and map --------------------------------------------------- */

void
fixture_open_archive(const struct tide_config *c, struct tide_archive *a)
{
	struct tide_err err = { "" };

	CHECK_MSG(tide_archive_open(a, c->state_dir, TIDE_ARCHIVE_OWN,
		      FIXTURE_MAP_SIZE, &err) == 0,
	    "%s", err.text);
}

struct tide_map *
fixture_make_map(const struct tide_config *c, const struct tide_archive *a)
{
	struct tide_err why = { "" };
	struct tide_map *map = NULL;

	CHECK_MSG(
	    tide_live_open(c, &a->key, false, &map, &why) == TIDE_LIVE_MADE &&
		tide_live_publish(c, map, &why) == 0,
	    "%s", why.text);
	atomic_store(&map->acceptor->pulse_wall_ms, UINT64_MAX / 2);
	fixture_serve(&map->workers);
	atomic_store(&map->acceptor->listening, 1);
	atomic_store(&map->acceptor->pid, (uint32_t)getpid());
	return map;
}

void
fixture_serve(const struct tide_workers *w)
{
	uint32_t i;

	for (i = 0; i < w->count; i++)
		atomic_store(&w->slot[i].state, TIDE_SLOT_SERVING);
}

bool
fixture_pass(struct tide_map *map, const char *from, const char *to)
{
	const struct tide_hash_key *key = map->key;
	struct tide_hash sender[2], recipient[2];
	struct tide_traces t = { .sender = sender, .recipient = recipient };

	t.senders = tide_address_hashes(key, from, sender);
	t.recipients = tide_address_hashes(key, to, recipient);
	return tide_window_remember(map, &map->slots[0], &t);
}

static uint64_t *
filter_of(const struct tide_bloom_shape *s, const struct tide_hash_key *key,
    const char *address)
{
	uint64_t *words = calloc(1, tide_bloom_bytes(s));
	struct tide_hash h[2];
	size_t i, n = tide_address_hashes(key, address, h);

	CHECK(words != NULL);
	for (i = 0; i < n; i++)
		(void)tide_bloom_add(s, (tide_bloom_word *)words, h[i]);
	return words;
}

void
fixture_store(struct tide_archive *a, uint64_t number, uint64_t from_ms,
    uint64_t until_ms, const char *from, const char *to)
{
	struct tide_window_record r = { .number = number,
		.from_ms = from_ms,
		.until_ms = until_ms,
		.messages = 1,
		.elements = { 2, 2 } };
	uint64_t *words[TIDE_FILTERS];
	struct tide_err err = { "" };
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++)
		r.shape[i] = tide_bloom_size(100, 0.01);
	r.memory = TIDE_MEMORY_DEFAULT;
	words[0] = filter_of(&r.shape[0], &a->key, from);
	words[1] = filter_of(&r.shape[1], &a->key, to);
	words[2] = calloc(1, tide_bloom_bytes(&r.shape[2]));
	CHECK(words[2] != NULL);
	CHECK_MSG(
	    tide_archive_put_window(a, &r, words, &err) == 0, "%s", err.text);
	free(words[0]);
	free(words[1]);
	free(words[2]);
}

enum tide_verdict
fixture_ask(struct tide_archive *a, const struct tide_map *map,
    const struct tide_question *q, struct tide_answer *answer)
{
	struct tide_answer mine;
	struct tide_err err;
	enum tide_verdict v;

	if (tide_query(a, map, q, &mine, &err) < 0)
		return TIDE_UNANSWERED;
	v = tide_answer_verdict(&mine);
	if (answer != NULL)
		*answer = mine;
	else
		tide_answer_free(&mine);
	return v;
}

uint64_t
fixture_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}
