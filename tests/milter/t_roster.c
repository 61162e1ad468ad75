/*
 * t_roster - the acceptor's book of workers: real processes, real maps.
 *
 * The cases play the acceptor: workers are children that do nothing but hold
 * their slot.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../milter/milter.h"
#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

#define SLOTS 4 /* fixture_config()'s */

static struct {
	struct tide_config config;
	struct tide_archive archive;
	struct tide_map *map; /* the acceptor's */
} at;

/* ---- the collector's part ---------------------------------------------- */

static struct tide_map *
attach_anew(void)
{
	struct tide_err err = { "" };
	struct tide_map *map =
	    tide_map_attach(at.config.runtime_dir, TIDE_MAP_ACCEPTOR, &err);

	CHECK_MSG(map != NULL, "%s", err.text);
	return map;
}

/* The fixture's workers are all at work; ours are yet to come. */
static void
make_map(void)
{
	struct tide_map *map = fixture_make_map(&at.config, &at.archive);
	uint32_t i;

	for (i = 0; i < map->head->slots; i++)
		atomic_store(&map->slots[i].state, TIDE_SLOT_FREE);
	tide_map_detach(map);
}

/* A collector that resumes its map publishes the table anew. */
static void
publish_again(void)
{
	char path[TIDE_PATH_MAX + 8], fresh[TIDE_PATH_MAX + 16];
	size_t size;
	void *table;

	(void)snprintf(path, sizeof path, "%s/map", at.config.runtime_dir);
	(void)snprintf(fresh, sizeof fresh, "%s.new", path);
	table = fixture_slurp(path, &size);
	fixture_spit(fresh, table, size);
	free(table);
	CHECK(rename(fresh, path) == 0);
	CHECK(!tide_map_is_current(at.map, at.config.runtime_dir));
}

/* What the case before has left. */
static void
put_away(void)
{
	roster_use_map(NULL);
	if (at.map != NULL)
		tide_map_detach(at.map);
	if (at.archive.store != NULL)
		tide_archive_close(&at.archive);
	memset(&at, 0, sizeof at);
}

static void
begin(uint32_t entries)
{
	put_away();
	fixture_config(&at.config);
	tide_log_open("t_roster", "/dev/null", TIDE_LOG_ERROR);
	fixture_open_archive(&at.config, &at.archive);
	make_map();
	at.map = attach_anew();
	roster_open(entries);
	roster_use_map(at.map);
}

/* What the acceptor does when the table is another one. */
static void
follow(void)
{
	roster_use_map(NULL);
	tide_map_detach(at.map);
	at.map = attach_anew();
	roster_use_map(at.map);
}

static uint64_t
counted(enum tide_counter id)
{
	return tide_counter_get(at.map->counters, 0, id);
}

static uint64_t
lapses(void)
{
	return atomic_load(&at.map->acceptor->lapse_head);
}

/* ---- workers ----------------------------------------------------------- */

struct worker {
	pid_t pid;
	int entry;
	int go;	   /* closed: it may register */
	int there; /* readable: it has */
};

/* It stays in the middle of a message, or ends well when it is told to. */
static void __attribute__((noreturn))
serve(struct tide_slot *slot, pid_t acceptor, int go, int there)
{
	char byte;

	(void)alarm(60); /* a case that fails leaves it behind */
	(void)!read(go, &byte, 1);
	roster_register_child(slot, acceptor);
	if (slot != NULL) {
		atomic_store(&slot->epoch, 1);
		atomic_store(&slot->stage, TIDE_STAGE_RCPT);
	}
	(void)!write(there, "1", 1);
	for (;;)
		(void)pause();
}

/* A worker that has not yet taken its slot. */
static struct worker
fork_worker(void)
{
	struct worker w = { .entry = roster_reserve(0, 1) };
	struct tide_slot *slot;
	pid_t acceptor = getpid();
	int go[2], there[2];

	CHECK(w.entry >= 0);
	CHECK(pipe(go) == 0 && pipe(there) == 0);
	slot = roster_slot(w.entry);
	w.pid = fork();
	CHECK(w.pid >= 0);
	if (w.pid == 0) {
		(void)close(go[1]);
		serve(slot, acceptor, go[0], there[1]);
	}
	roster_forked(w.entry, w.pid);
	(void)close(go[0]);
	(void)close(there[1]);
	w.go = go[1];
	w.there = there[0];
	return w;
}

static void
let_register(struct worker *w)
{
	char byte;

	(void)close(w->go);
	CHECK(read(w->there, &byte, 1) == 1);
	(void)close(w->there);
}

static struct worker
start_worker(void)
{
	struct worker w = fork_worker();

	let_register(&w);
	return w;
}

/* Kill it; wait, without reaping, until it is dead. */
static void
kill_worker(const struct worker *w)
{
	siginfo_t info;

	CHECK(kill(w->pid, SIGKILL) == 0);
	CHECK(waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT) == 0);
}

/* Has somebody killed it, within a while? */
static bool
was_killed(const struct worker *w)
{
	int status, tries;

	for (tries = 0; tries < 3000; tries++) {
		if (waitpid(w->pid, &status, WNOHANG) == w->pid)
			return WIFSIGNALED(status);
		(void)usleep(1000);
	}
	return false;
}

static uint32_t
state_of(int slot)
{
	return atomic_load(&at.map->slots[slot].state);
}

static uint64_t
epoch_of(int slot)
{
	return atomic_load(&at.map->slots[slot].epoch);
}

/* ---- a collector starts anew ------------------------------------------- */

static void
resumed(void)
{
	struct worker serving, early;

	begin(SLOTS);
	serving = start_worker();
	early = fork_worker(); /* stopped before it takes its slot */
	publish_again();
	follow();
	CHECK(roster_slot(serving.entry) == &at.map->slots[serving.entry]);
	CHECK(roster_slot(early.entry) == &at.map->slots[early.entry]);
	CHECK_INT(state_of(early.entry), TIDE_SLOT_RESERVED);
	let_register(&early);
	CHECK_INT(state_of(early.entry), TIDE_SLOT_SERVING);
	CHECK_INT(roster_busy(), 2);
	kill_worker(&serving);
	kill_worker(&early);
	roster_reap();
	CHECK_INT(roster_busy(), 0);
	CHECK_INT(state_of(serving.entry), TIDE_SLOT_FREE);
	CHECK_INT(epoch_of(serving.entry), 0);
	CHECK_INT(state_of(early.entry), TIDE_SLOT_FREE);
	CHECK_INT(epoch_of(early.entry), 0);
	CHECK_INT(counted(TIDE_COUNT_WORKERS_CRASHED), 2);
	CHECK_INT(counted(TIDE_COUNT_WORKERS_ADOPTED), 0);
}

static void
ends_well(void)
{
	struct worker w;

	begin(SLOTS);
	w = start_worker();
	publish_again();
	follow();
	atomic_store(&at.map->slots[w.entry].finished, 1);
	kill_worker(&w);
	roster_reap();
	CHECK_INT(lapses(), 0);
	CHECK_INT(counted(TIDE_COUNT_WORKERS_CRASHED), 0);
}

static void
stuck_after_resume(void)
{
	struct worker w;

	begin(SLOTS);
	w = start_worker();
	publish_again();
	follow();
	atomic_store(&at.map->slots[w.entry].busy, 1);
	atomic_store(&at.map->slots[w.entry].touched_ms, 1);
	roster_check_deadlines(1, UINT32_MAX);
	CHECK(was_killed(&w));
	CHECK_INT(counted(TIDE_COUNT_WORKERS_STUCK), 1);
}

static void
ended_without_map(void)
{
	struct worker w;

	begin(SLOTS);
	w = start_worker();
	roster_use_map(NULL);
	kill_worker(&w);
	roster_reap();
	CHECK_INT(roster_busy(), 0);
	follow(); /* the same map again */
	CHECK_INT(roster_busy(), 0);
	CHECK_INT(state_of(w.entry), TIDE_SLOT_FREE);
	CHECK_INT(epoch_of(w.entry), 0);
}

static void
other_map(void)
{
	struct worker w;

	begin(SLOTS);
	w = start_worker();
	CHECK(unlink(fixture_live_path(&at.config)) == 0);
	make_map();
	follow();
	CHECK_INT(roster_busy(), 1);
	CHECK(roster_slot(w.entry) == NULL);
	/* the new map's slot of that number is not its */
	atomic_store(&at.map->slots[w.entry].epoch, 7);
	kill_worker(&w);
	roster_reap();
	CHECK_INT(roster_busy(), 0);
	CHECK_INT(epoch_of(w.entry), 7);
}

/* ---- max_workers is not the number of slots ---------------------------- */

static void
lowered(void)
{
	struct worker w[SLOTS];
	unsigned i;

	begin(SLOTS);
	for (i = 0; i < SLOTS; i++)
		w[i] = start_worker();
	kill_worker(&w[2]);
	roster_open(1); /* the next acceptor, with max_workers = 1 */
	roster_use_map(at.map);
	CHECK_INT(roster_busy(), SLOTS - 1);
	CHECK_INT(state_of(2), TIDE_SLOT_FREE);
	CHECK_INT(epoch_of(2), 0);
	CHECK_INT(roster_room(), 0);
	CHECK_INT(roster_reserve(0, 1), -1);
	kill_worker(&w[3]);
	roster_reap();
	CHECK_INT(state_of(3), TIDE_SLOT_FREE);
	CHECK_INT(epoch_of(3), 0);
	kill_worker(&w[0]);
	kill_worker(&w[1]);
	roster_reap();
	CHECK_INT(roster_busy(), 0);
	CHECK(roster_room() > 0);
}

static void
raised(void)
{
	struct worker w[SLOTS];
	unsigned i;

	begin(SLOTS + 1000);
	for (i = 0; i < SLOTS; i++) {
		CHECK(roster_room() > 0);
		w[i] = start_worker();
		CHECK(roster_slot(w[i].entry) != NULL);
	}
	CHECK_INT(roster_room(), 0);
	CHECK_INT(roster_reserve(0, 1), -1);
	kill_worker(&w[1]);
	roster_reap();
	CHECK(roster_room() > 0);
	CHECK_INT(roster_reserve(0, 1), w[1].entry);
}

static void
raised_without_map(void)
{
	struct worker w;
	unsigned i;

	begin(SLOTS + 2);
	roster_use_map(NULL);
	for (i = 0; i < SLOTS + 2; i++) {
		CHECK(roster_room() > 0);
		w = start_worker();
		CHECK(roster_slot(w.entry) == NULL);
	}
	CHECK_INT(roster_room(), 0);
	roster_use_map(at.map);
	kill_worker(&w); /* the last: its entry has no slot here */
	roster_reap();
	CHECK_INT(roster_busy(), SLOTS + 1);
	CHECK_INT(roster_room(), 0);
}

/* ---- the system does not say who lives --------------------------------- */

/* Four workers that another acceptor has left behind. */
static void
leave_behind(struct worker w[SLOTS])
{
	unsigned i;

	begin(SLOTS);
	for (i = 0; i < SLOTS; i++)
		w[i] = start_worker();
	roster_open(SLOTS);
}

/* Nobody was buried, nobody is killed on a guess. */
static void
still_serve(const struct worker w[SLOTS])
{
	unsigned i;

	roster_kill_all();
	roster_reap();
	CHECK_INT(roster_busy(), SLOTS);
	CHECK_INT(lapses(), 0);
	for (i = 0; i < SLOTS; i++) {
		CHECK_INT(state_of(w[i].entry), TIDE_SLOT_SERVING);
		CHECK_INT(epoch_of(w[i].entry), 1);
		CHECK(kill(w[i].pid, 0) == 0);
	}
}

/* Once it says so again: one that ended meanwhile, three that go on. */
static void
known_again(const struct worker w[SLOTS])
{
	roster_look_after();
	CHECK_INT(roster_busy(), SLOTS - 1);
	CHECK_INT(roster_serving(1), SLOTS - 1);
	CHECK_INT(counted(TIDE_COUNT_WORKERS_ADOPTED), SLOTS - 1);
	CHECK_INT(state_of(w[0].entry), TIDE_SLOT_FREE);
	CHECK_INT(epoch_of(w[0].entry), 0);
	kill_worker(&w[1]);
	roster_reap();
	CHECK_INT(state_of(w[1].entry), TIDE_SLOT_FREE);
	roster_kill_all();
	CHECK(was_killed(&w[2]) && was_killed(&w[3]));
	roster_reap();
	CHECK_INT(roster_busy(), 0);
}

static void
no_descriptors(void)
{
	struct worker w[SLOTS];
	struct rlimit usual, none;

	leave_behind(w);
	CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0);
	none = usual;
	none.rlim_cur = 3;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	roster_use_map(at.map);
	roster_look_after();
	CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
	CHECK_INT(counted(TIDE_COUNT_WORKERS_ADOPTED), 0);
	still_serve(w);
	kill_worker(&w[0]);
	known_again(w);
}

/* Some descriptors are left for connections. */
static void
few_descriptors(void)
{
	struct worker w[SLOTS];
	struct rlimit usual, few;
	int next = dup(0);

	CHECK(next >= 0 && close(next) == 0);
	leave_behind(w);
	CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0);
	few = usual;
	few.rlim_cur = (rlim_t)next + 12;
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	roster_use_map(at.map);
	next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
	CHECK(next >= 0 && close(next) == 0);
	still_serve(w);
	kill_worker(&w[0]);
	known_again(w);
}

static void
no_proc(void)
{
	struct worker w[SLOTS];

	fixture_needs_mounts();
	leave_behind(w);
	fixture_tiny_disk("/proc", 64); /* for this process alone */
	roster_use_map(at.map);
	roster_look_after();
	still_serve(w);
	kill_worker(&w[0]);
	CHECK(umount("/proc") == 0);
	known_again(w);
}

CHECK_CASES({ "a map resumed: workers keep their slots", resumed },
    { "a map resumed: a session that ends well is no lapse", ends_well },
    { "a map resumed: a stuck worker is still killed", stuck_after_resume },
    { "a worker that ended while there was no map is buried later",
	ended_without_map },
    { "another map: workers of the old one touch no slot", other_map },
    { "max_workers lowered: slots above it are buried, too", lowered },
    { "max_workers raised: no more workers than the map has slots", raised },
    { "max_workers raised, no map at first: nobody has a slot out of bounds",
	raised_without_map },
    { "out of descriptors: no living worker is buried", no_descriptors },
    { "few descriptors: some are left for connections", few_descriptors },
    { "no /proc: no living worker is buried", no_proc })
