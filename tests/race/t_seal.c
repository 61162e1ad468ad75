/*
 * t_seal - windows are sealed while workers fill them, and everybody gets
 * killed.
 *
 * Real live file, real archive.  Workers remember one message after the other
 * and note each in a shared log: before the burst (with the window that was
 * open), and after it.  A collector seals as fast as it can and is killed at
 * random, as are the workers; we bury the dead as the acceptor would.  At the
 * end every sealed window is compared with the log:
 *   - nothing acknowledged is missing, no address and no block of content;
 *   - no bit stands in a window that no message of its time can have set.
 *
 * alone: those who race want all cores
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

#define WORKERS 3u
#define MESSAGES 100000u /* a worker's log */
#define WINDOWS 20000u
#define STORM_MS 6000
#define BLOCKS 8u /* of content, a message */

/* The filters that are compared. */
static const enum tide_filter compared[] = { TIDE_FILTER_SENDERS,
	TIDE_FILTER_CONTENT };
#define COMPARED (sizeof compared / sizeof *compared)

struct entry {
	_Atomic uint64_t before; /* open window before the burst */
	_Atomic uint64_t after;	 /* and after it, 0: not acknowledged */
};

static struct log {
	_Atomic uint64_t next[WORKERS]; /* the message each is at */
	atomic_bool stop;
	_Atomic uint64_t collector_ready;
	struct entry entry[WORKERS][MESSAGES];
} * shared;

static struct tide_config config;

/* ---- worker ------------------------------------------------------------ */

/* What a message leaves in a filter: number 0 in that of senders. */
static struct tide_hash
trace(const struct tide_hash_key *key, uint64_t worker, uint64_t i, uint64_t n)
{
	uint64_t name[3] = { worker, i, n };

	return tide_hash(key, name, sizeof name);
}

static unsigned
traces_in(enum tide_filter which)
{
	return which == TIDE_FILTER_CONTENT ? BLOCKS : 1;
}

static void
send_one(struct tide_map *map, unsigned worker, uint64_t i)
{
	const struct tide_hash_key *key = map->key;
	struct tide_hash h = trace(key, worker, i, 0), block[BLOCKS];
	struct tide_harvest text = {
		.element = block, .elements = BLOCKS, .longest = 1
	};
	struct tide_traces traces = { .sender = &h,
		.senders = 1,
		.recipient = &h,
		.recipients = 1,
		.text = &text };
	struct entry *e = &shared->entry[worker][i];
	unsigned n;

	for (n = 0; n < BLOCKS; n++)
		block[n] = trace(key, worker, i, n);
	atomic_store(&e->before, atomic_load(&map->control->current));
	CHECK(tide_window_remember(map, &map->slots[worker], &traces));
	atomic_store(&e->after, atomic_load(&map->control->current));
}

static void
work(struct tide_map *map, unsigned worker)
{
	uint64_t i;

	atomic_store(&map->slots[worker].state, TIDE_SLOT_SERVING);
	for (i = atomic_load(&shared->next[worker]);
	     i < MESSAGES && !atomic_load(&shared->stop); i++) {
		send_one(map, worker, i);
		atomic_store(&shared->next[worker], i + 1);
		if (i % 16 == 0)
			(void)usleep(1000); /* so the log lasts */
	}
}

static void
worker_process(unsigned worker)
{
	struct tide_err err;
	struct tide_map *map;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	map = tide_map_attach(config.runtime_dir, TIDE_MAP_ACCEPTOR, &err);
	CHECK_MSG(
	    map != NULL && tide_map_unlock_by(map, config.state_dir, &err) == 0,
	    "%s", err.text);
	tide_map_become_worker(map);
	work(map, worker);
	_exit(0);
}

/* ---- collector --------------------------------------------------------- */

static void
collector_process(void)
{
	struct tide_archive archive;
	struct tide_sealer sealer;
	struct tide_map *map;
	struct tide_err err;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK_MSG(tide_archive_open(&archive, config.state_dir,
		      TIDE_ARCHIVE_OWN, config.archive_map, &err) == 0,
	    "%s", err.text);
	CHECK_MSG(tide_live_open(&config, &archive.key, false, &map, &err) !=
		    TIDE_LIVE_ERROR &&
		tide_live_publish(&config, map, &err) == 0,
	    "%s", err.text);
	CHECK_MSG(tide_sealer_open(
		      &sealer, map, &archive, tide_moment_now(), &err) == 0,
	    "%s", err.text);
	atomic_store(&shared->collector_ready, (uint64_t)getpid());
	while (!atomic_load(&shared->stop))
		CHECK_MSG(
		    tide_sealer_round(&sealer, tide_moment_now(), 1, &err) >= 0,
		    "%s", err.text);
	_exit(0);
}

static pid_t
start_collector(void)
{
	pid_t pid = fork();

	if (pid == 0)
		collector_process();
	CHECK(pid > 0);
	while (atomic_load(&shared->collector_ready) != (uint64_t)pid) {
		CHECK_MSG(waitpid(pid, NULL, WNOHANG) == 0,
		    "the collector does not start");
		(void)usleep(200);
	}
	return pid;
}

/* ---- the storm --------------------------------------------------------- */

static pid_t
start_worker(unsigned worker)
{
	pid_t pid = fork();

	if (pid == 0)
		worker_process(worker);
	CHECK(pid > 0);
	return pid;
}

/*
 * Dead, so its last message got no further than the present window.  The
 * successor never sends it again, be it acknowledged or not: a second burst
 * would be logged over the first, whose bits then had no entry.
 */
static void
bury(struct tide_map *map, unsigned worker)
{
	uint64_t i = atomic_load(&shared->next[worker]);
	struct entry *e;

	tide_epoch_bury(&map->slots[worker].epoch);
	if (i >= MESSAGES)
		return;
	e = &shared->entry[worker][i];
	if (atomic_load(&e->before) == 0)
		return;			 /* not begun */
	if (atomic_load(&e->after) == 0) /* there or not, up to now */
		atomic_store(&e->after,
		    atomic_load(&map->control->current) | 1ull << 63);
	atomic_store(&shared->next[worker], i + 1);
}

struct storm {
	pid_t collector, worker[WORKERS];
	struct tide_map *map;
	unsigned collector_kills, worker_kills;
};

static void
kill_one(struct storm *s)
{
	unsigned w = (unsigned)rand() % (WORKERS + 1);

	(void)usleep((useconds_t)rand() % 12000);
	if (w == WORKERS) {
		(void)kill(s->collector, SIGKILL);
		CHECK(waitpid(s->collector, NULL, 0) == s->collector);
		s->collector = start_collector();
		s->collector_kills++;
		return;
	}
	(void)kill(s->worker[w], SIGKILL);
	CHECK(waitpid(s->worker[w], NULL, 0) == s->worker[w]);
	bury(s->map, w);
	s->worker[w] = start_worker(w);
	s->worker_kills++;
}

static void
set_up(void)
{
	size_t i;

	if (shared == NULL)
		shared = check_shared(sizeof *shared);
	for (i = 0; i < sizeof *shared / 8; i++)
		((_Atomic uint64_t *)(void *)shared)[i] = 0;
	tide_config_defaults(&config, check_tmpdir());
	(void)mkdir(config.runtime_dir, 0700);
	(void)mkdir(config.state_dir, 0700);
	config.max_workers = WORKERS;
	config.window_senders = config.window_recipients = 2000;
	config.memory_size = 4096; /* 2,000 blocks */
}

/* ---- comparing --------------------------------------------------------- */

struct audit {
	struct tide_archive archive;
	struct tide_txn *txn;
	uint64_t windows, acked, missing, ghosts;
	uint64_t first[WORKERS]; /* message that this window may hold */
	enum tide_filter which;	 /* is being compared */
	uint64_t *expected;	 /* bits that some message may have set */
};

/* May message i of the worker have left bits in window n?  And must it? */
static bool
may_be_in(const struct entry *e, uint64_t n, bool *must)
{
	uint64_t before = atomic_load(&e->before);
	uint64_t after = atomic_load(&e->after);
	bool acked = after != 0 && after >> 63 == 0;

	after &= ~(1ull << 63);
	*must = acked && before == after && before == n;
	return before != 0 && before <= n && n <= after;
}

static void
expect(struct audit *a, const struct tide_window_record *r, unsigned worker,
    uint64_t i)
{
	uint64_t at[TIDE_BLOOM_POSITIONS];
	struct tide_hash h;
	uint32_t k, n;
	unsigned t;
	bool must;

	if (!may_be_in(&shared->entry[worker][i], r->number, &must))
		return;
	for (t = 0; t < traces_in(a->which); t++) {
		h = trace(&a->archive.key, worker, i, t);
		a->acked += must;
		if (must && tide_archive_lookup(a->txn, r, a->which, h) != 1)
			a->missing++;
		n = tide_bloom_positions(&r->shape[a->which], h, at);
		for (k = 0; k < n; k++)
			a->expected[at[k] / 64] |= 1ull << (at[k] % 64);
	}
}

/* Windows and messages come in the same order: begin where the last began. */
static void
expect_all(struct audit *a, const struct tide_window_record *r, unsigned worker)
{
	const struct entry *e = shared->entry[worker];
	uint64_t i = a->first[worker];

	while (i < MESSAGES && atomic_load(&e[i].before) != 0 &&
	    (atomic_load(&e[i].after) & ~(1ull << 63)) < r->number)
		i++;
	a->first[worker] = i;
	for (; i < MESSAGES && atomic_load(&e[i].before) != 0 &&
	     atomic_load(&e[i].before) <= r->number;
	     i++)
		expect(a, r, worker, i);
}

static int
audit_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct audit *a = arg;
	struct tide_window_record r;
	struct tide_bytes filter;
	uint8_t fkey[17];
	uint64_t i, word;
	unsigned w;

	(void)key;
	CHECK(tide_window_record_read(value, &r) != NULL);
	a->windows++;
	memset(a->expected, 0, tide_bloom_bytes(&r.shape[a->which]));
	for (w = 0; w < WORKERS; w++)
		expect_all(a, &r, w);
	memset(fkey, 0, sizeof fkey);
	tide_key_number(fkey, r.number);
	fkey[8] = (uint8_t)a->which;
	CHECK(tide_txn_get(a->txn, TIDE_TABLE_FILTERS,
		  tide_bytes(fkey, sizeof fkey), &filter, err) == 1);
	for (i = 0; i < r.shape[a->which].bits / 64; i++) {
		memcpy(&word, (const char *)filter.data + 8 + i * 8, 8);
		a->ghosts +=
		    (uint64_t)__builtin_popcountll(word & ~a->expected[i]);
	}
	return 0;
}

/* A message's burst goes into one window, whole. */
static int
has_all(const struct audit *a, const struct tide_window_record *r,
    unsigned worker, uint64_t i)
{
	unsigned t;

	for (t = 0; t < traces_in(a->which); t++)
		if (tide_archive_lookup(a->txn, r, a->which,
			trace(&a->archive.key, worker, i, t)) != 1)
			return 0;
	return 1;
}

/* Acknowledged across a seal: in one of the two windows, then. */
static void
audit_straddlers(struct audit *a)
{
	struct tide_window_record r[2];
	struct tide_bytes value;
	struct tide_err err;
	uint8_t key[8];
	uint64_t i, before, after, n;
	unsigned w;
	int found;

	for (w = 0; w < WORKERS; w++) {
		for (i = 0; i < MESSAGES; i++) {
			before = atomic_load(&shared->entry[w][i].before);
			after = atomic_load(&shared->entry[w][i].after);
			if (before == 0 || after >> 63 != 0 || before == after)
				continue;
			found = 0;
			for (n = before; n <= after; n++) {
				tide_key_number(key, n);
				if (tide_txn_get(a->txn, TIDE_TABLE_WINDOWS,
					tide_bytes(key, 8), &value,
					&err) == 1 &&
				    tide_window_record_read(value, &r[0]))
					found |= has_all(a, &r[0], w, i);
			}
			a->acked++;
			a->missing += !found;
		}
	}
}

static void
audit_filter(enum tide_filter which)
{
	struct audit a = { .which = which };
	struct tide_err err;

	CHECK_MSG(tide_archive_open(&a.archive, config.state_dir,
		      TIDE_ARCHIVE_READ, 0, &err) == 0,
	    "%s", err.text);
	a.txn = tide_txn_begin(a.archive.store, false, &err);
	a.expected = malloc(1 << 20);
	CHECK(a.txn != NULL && a.expected != NULL);
	CHECK_MSG(tide_txn_walk(a.txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0),
		      audit_window, &a, &err) == 0,
	    "%s", err.text);
	audit_straddlers(&a);
	tide_txn_abort(a.txn);
	tide_archive_close(&a.archive);
	free(a.expected);
	printf(
	    "# filter %u: %llu windows, %llu acknowledged, %llu missing, %llu "
	    "ghosts\n",
	    which, (unsigned long long)a.windows, (unsigned long long)a.acked,
	    (unsigned long long)a.missing, (unsigned long long)a.ghosts);
	CHECK_INT(a.missing, 0);
	CHECK_INT(a.ghosts, 0);
	CHECK(a.windows > 20 && a.acked > 1000);
}

static void
audit_archive(void)
{
	size_t i;

	for (i = 0; i < COMPARED; i++)
		audit_filter(compared[i]);
}

/* Everything that is still in the map goes to the archive. */
static void
seal_the_rest(void)
{
	struct tide_archive archive;
	struct tide_sealer sealer;
	struct tide_map *map;
	struct tide_err err;
	int i;

	CHECK(tide_archive_open(&archive, config.state_dir, TIDE_ARCHIVE_OWN,
		  config.archive_map, &err) == 0);
	CHECK(tide_live_open(&config, &archive.key, false, &map, &err) ==
	    TIDE_LIVE_RESUMED);
	CHECK_MSG(tide_sealer_open(
		      &sealer, map, &archive, tide_moment_now(), &err) == 0,
	    "%s", err.text);
	for (i = 0; i < 3; i++)
		CHECK(tide_sealer_round(&sealer, tide_moment_now(), 0, &err) >=
		    0);
	tide_sealer_close(&sealer);
	tide_map_detach(map);
	tide_archive_close(&archive);
}

static void
test_storm(void)
{
	struct storm s = { 0 };
	struct tide_err err;
	uint64_t until;
	unsigned w;

	set_up();
	s.collector = start_collector();
	s.map = tide_map_attach(config.runtime_dir, TIDE_MAP_COLLECTOR, &err);
	CHECK_MSG(s.map != NULL, "%s", err.text);
	for (w = 0; w < WORKERS; w++)
		s.worker[w] = start_worker(w);
	until = tide_clock_mono_ms() + STORM_MS;
	while (tide_clock_mono_ms() < until)
		kill_one(&s);
	atomic_store(&shared->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(waitpid(s.worker[w], NULL, 0) == s.worker[w]);
	CHECK(waitpid(s.collector, NULL, 0) == s.collector);
	printf("# killed %u collectors, %u workers\n", s.collector_kills,
	    s.worker_kills);
	tide_map_detach(s.map);
	seal_the_rest();
	audit_archive();
}

/* ---- the same code in threads, for TSan -------------------------------- */

static struct tide_map *thread_map;

static void *
worker_thread(void *arg)
{
	work(thread_map, (unsigned)(uintptr_t)arg);
	return NULL;
}

static void
test_threads(void)
{
	struct tide_archive archive;
	struct tide_sealer sealer;
	struct tide_err err;
	pthread_t t[WORKERS];
	uintptr_t w;
	int i;

	set_up();
	(void)snprintf(config.state_dir + strlen(config.state_dir), 8, "2");
	(void)snprintf(config.runtime_dir + strlen(config.runtime_dir), 8, "2");
	(void)mkdir(config.runtime_dir, 0700);
	(void)mkdir(config.state_dir, 0700);
	CHECK_MSG(tide_archive_open(&archive, config.state_dir,
		      TIDE_ARCHIVE_OWN, config.archive_map, &err) == 0,
	    "%s", err.text);
	CHECK_MSG(tide_live_open(&config, &archive.key, false, &thread_map,
		      &err) == TIDE_LIVE_MADE,
	    "%s", err.text);
	CHECK(tide_sealer_open(
		  &sealer, thread_map, &archive, tide_moment_now(), &err) == 0);
	for (w = 0; w < WORKERS; w++)
		CHECK(
		    pthread_create(&t[w], NULL, worker_thread, (void *)w) == 0);
	while (atomic_load(
		   &thread_map->counters->value[0][TIDE_COUNT_WINDOWS_SEALED]) <
	    60)
		CHECK(tide_sealer_round(&sealer, tide_moment_now(), 1, &err) >=
		    0);
	atomic_store(&shared->stop, true);
	for (w = 0; w < WORKERS; w++)
		CHECK(pthread_join(t[w], NULL) == 0);
	for (i = 0; i < 3; i++)
		CHECK(tide_sealer_round(&sealer, tide_moment_now(), 0, &err) >=
		    0);
	tide_sealer_close(&sealer);
	tide_map_detach(thread_map);
	tide_archive_close(&archive);
	audit_archive();
}

CHECK_CASES(
    { "kill storm: nothing lost, nothing in the wrong window", test_storm },
    { "the same in threads", test_threads })
