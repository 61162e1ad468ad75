/*
 * roster - who serves: slots, reaping, deadlines.
 *
 * PROTOCOL roster: a worker's slot from fork to burial.
 *  A1 state = RESERVED, the rest cleared     before the fork
 *  F  fork
 *  K1 PR_SET_PDEATHSIG = SIGKILL; is the acceptor still our parent?
 *  K2 pid, started, then state = SERVING     release
 *  K3 PR_SET_PDEATHSIG = none
 *  A2 waitpid() says it is gone
 *  A3 note a lapse; epoch = 0, off the books of bulk counts (counting.h),
 *     state = FREE                           release, in this order
 * Why:   only the acceptor gives slots away and only it buries, so that
 *        nobody clears the epoch of a slot that has a new tenant (epoch.h).
 *        A3 after A2: a process that may still run one instruction is never
 *        buried.
 * Crash: of the worker, anywhere: A2 and A3.  Of the acceptor between A1 and
 *        K3: the kernel kills the child (K1), its slot stays RESERVED or
 *        SERVING with a dead pid, and the next acceptor frees it at start.
 *        After K3 the worker goes on as an orphan; the next acceptor finds
 *        it SERVING, and asks (process.h) whether its pid is gone or a later
 *        process's: then it is buried (A3).  If it lives, a pidfd is held on
 *        it, and A2 is that this becomes readable.  If the system cannot say,
 *        the slot stays as it is, nobody is signalled, and it is asked again
 *        each beat.
 * Map:   an entry knows which map (instance) its slot is in.  A collector that
 *        resumes its map publishes the table anew; attached again, it is the
 *        same map, and the entries keep their slots, also those whose child
 *        has not come to K2 yet.  In another map the workers of the old one
 *        have no slot: they are known by their pids alone, and what they let
 *        pass is a lapse.
 * Test:  tests/race/t_processes.sh
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "milter.h"
#include "process.h"
#include "roster_priv.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

struct roster roster;

static void
grow(uint32_t entries)
{
	uint32_t i;

	if (entries <= roster.entries)
		return;
	roster.entry =
	    reallocarray(roster.entry, entries, sizeof *roster.entry);
	if (roster.entry == NULL)
		abort();
	for (i = roster.entries; i < entries; i++)
		roster.entry[i] = (struct entry){ .pidfd = -1 };
	roster.entries = entries;
}

void
roster_open(uint32_t max_workers)
{
	free(roster.entry);
	memset(&roster, 0, sizeof roster);
	roster.most = max_workers;
	grow(max_workers);
}

unsigned
roster_busy(void)
{
	return roster.busy;
}

unsigned
roster_serving(unsigned service)
{
	return roster.serving[service];
}

/* ---- the child's part -------------------------------------------------------- */

void
roster_register_child(struct tide_slot *slot, pid_t acceptor)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* K1 */
	if (getppid() != acceptor)
		_exit(1);
	if (slot != NULL) {
		atomic_store(&slot->pid, (uint32_t)getpid());
		atomic_store(&slot->started, process_ticks());
		atomic_store_explicit(&slot->state, TIDE_SLOT_SERVING,
		    memory_order_release); /* K2 */
	}
	(void)prctl(PR_SET_PDEATHSIG, 0); /* K3 */
}

/* ---- giving slots away ------------------------------------------------- */

struct tide_slot *
roster_slot(int entry)
{
	if (roster.map == NULL ||
	    roster.entry[entry].instance != roster.map->head->instance)
		return NULL;
	return &roster.map->slots[entry];
}

static void
clear_slot(struct tide_slot *s, unsigned profile, uint64_t now_ms)
{
	atomic_store(&s->epoch, 0);
	atomic_store(&s->pid, 0);
	atomic_store(&s->started, 0);
	atomic_store(&s->since_ms, now_ms);
	atomic_store(&s->touched_ms, tide_clock_mono_ms());
	atomic_store(&s->busy, 0);
	atomic_store(&s->stage, TIDE_STAGE_NONE);
	atomic_store(&s->profile, profile);
	atomic_store(&s->messages, 0);
	atomic_store(&s->client[0], 0);
	atomic_store(&s->client[1], 0);
	atomic_store(&s->lapsed, 0);
	atomic_store(&s->finished, 0);
	atomic_store(&s->state, TIDE_SLOT_RESERVED); /* A1 */
}

/*
 * A map attached may be of fewer slots than we have entries: it was made before
 * max_workers was raised.
 */
static uint32_t
usable(void)
{
	return roster.map != NULL ? roster.map->head->slots : roster.entries;
}

uint32_t
roster_room(void)
{
	uint32_t n = usable(), inside = roster.busy, room, i;

	for (i = n; i < roster.entries; i++)
		inside -= roster.entry[i].pid != 0;
	room = n - inside;
	if (roster.busy >= roster.most)
		return 0;
	return room < roster.most - roster.busy ? room
						: roster.most - roster.busy;
}

static int
find_free(void)
{
	uint32_t i, at, n = usable();

	for (i = 0; i < n; i++) {
		at = (roster.hint + i) % n;
		if (roster.entry[at].pid == 0)
			return (int)at;
	}
	return -1;
}

/* The books of who has how many. */
static void
take_entry(uint32_t at, struct entry e)
{
	roster.entry[at] = e;
	roster.busy++;
	roster.serving[e.service]++;
}

int
roster_reserve(unsigned profile, unsigned service)
{
	struct tide_moment now = tide_moment_now();
	struct entry e = {
		.pid = -1, .pidfd = -1, .since = now, .service = service
	};
	int at = roster_room() > 0 ? find_free() : -1;

	if (at < 0)
		return -1;
	roster.hint = (uint32_t)at + 1;
	if (roster.map != NULL) {
		e.instance = roster.map->head->instance;
		clear_slot(&roster.map->slots[at], profile, now.wall_ms);
		atomic_store(&roster.map->slots[at].service, service);
	}
	take_entry((uint32_t)at, e);
	return at;
}

void
roster_forked(int entry, pid_t pid)
{
	roster.entry[entry].pid = pid;
	if (roster.map != NULL)
		tide_count(roster.map->counters, TIDE_COUNT_WORKERS_FORKED, 1);
}

/* ---- burying ----------------------------------------------------------- */

static void
free_slot(struct tide_slot *s)
{
	tide_epoch_bury(&s->epoch);
	tide_counting_bury(
	    &roster.map->bulk->filter, (uint32_t)(s - roster.map->slots));
	atomic_store(&s->client[0], 0); /* whom it served is over */
	atomic_store(&s->client[1], 0);
	atomic_store_explicit(&s->state, TIDE_SLOT_FREE, memory_order_release);
}

static void
free_entry(struct entry *e)
{
	if (e->pidfd >= 0)
		(void)close(e->pidfd);
	roster.busy--;
	roster.serving[e->service]--;
	*e = (struct entry){ .pidfd = -1 };
}

void
roster_cancel(int entry)
{
	struct tide_slot *s = roster_slot(entry);

	if (s != NULL)
		free_slot(s);
	free_entry(&roster.entry[entry]);
}

/* What its end means for what we can say about that time. */
static void
note_end(const struct entry *e, const struct tide_slot *s, const char *how)
{
	struct tide_moment now = tide_moment_now();

	if (s != NULL && atomic_load(&s->finished) != 0) {
		if (atomic_load(&s->lapsed) != 0)
			lapse_between(
			    roster.map, TIDE_LAPSE_ERROR, e->since, now);
		return;
	}
	if (s == NULL && how == NULL) {
		/* it had no map: all it let pass went unseen */
		lapse_between(roster.map, TIDE_LAPSE_ERROR, e->since, now);
		return;
	}
	if (s != NULL && how == NULL && atomic_load(&s->messages) == 0 &&
	    atomic_load(&s->stage) == TIDE_STAGE_NONE)
		return; /* it never got beyond the negotiation */
	tide_log(TIDE_LOG_WARNING, "worker %d died within its connection%s%s",
	    (int)e->pid, how != NULL ? ": " : "", how != NULL ? how : "");
	lapse_between(roster.map, TIDE_LAPSE_CRASH, e->since, now);
	if (roster.map != NULL)
		tide_count(roster.map->counters, TIDE_COUNT_WORKERS_CRASHED, 1);
}

static void
bury(uint32_t at, const char *how)
{
	struct entry *e = &roster.entry[at];
	struct tide_slot *s = roster_slot((int)at);

	note_end(e, s, how);
	if (s != NULL) {
		/* it may have died between an overflow and its notice */
		if (atomic_load(&s->finished) == 0)
			tide_flow_bury(roster.map->flow, at);
		free_slot(s); /* A3 */
	}
	free_entry(e);
}

/* Told at most once a minute: whoever does this, does it often. */
static void
note_silent(const struct entry *e)
{
	static uint64_t told_ms;
	uint64_t now = tide_clock_mono_ms();
	uint32_t profile = e->service - 1;

	if (roster.map == NULL || profile >= TIDE_PROFILES_MAX)
		return;
	tide_count_profile(
	    roster.map->counters, profile, TIDE_COUNT_CONNECTIONS_SILENT, 1);
	if (told_ms != 0 && now < told_ms + TELL_EVERY_MS)
		return;
	told_ms = now;
	tide_log(TIDE_LOG_WARNING,
	    "profile %.31s: a connection on which nobody spoke for "
	    "worker_silent was closed",
	    roster.map->profiles->name[profile]);
}

static void
bury_child(pid_t pid, int status)
{
	char how[48];
	uint32_t i;

	if (WIFSIGNALED(status))
		(void)snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
	for (i = 0; i < roster.entries; i++) {
		if (roster.entry[i].pid == pid && !roster.entry[i].orphan) {
			if (WIFEXITED(status) &&
			    WEXITSTATUS(status) == SERVE_SILENT)
				note_silent(&roster.entry[i]);
			bury(i, WIFSIGNALED(status) ? how : NULL);
			return;
		}
	}
}

void
roster_reap(void)
{
	int status;
	pid_t pid;
	uint32_t i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) /* A2 */
		bury_child(pid, status);
	for (i = 0; i < roster.entries; i++)
		if (roster.entry[i].pidfd >= 0 &&
		    process_has_ended(roster.entry[i].pidfd))
			bury(i, NULL);
}

/* ---- adopting ---------------------------------------------------------- */

/*
 * Hold it, or bury it.  If the system does not say whether it lives, its entry
 * and its slot stay as they are until it does: an epoch cleared under a living
 * worker would let the collector reclaim what it reads.
 */
static void
settle(uint32_t at, const char *how)
{
	struct entry *e = &roster.entry[at];

	switch (process_hold(e->pid, e->started, &e->pidfd)) {
	case PROCESS_GONE:
		bury(at, how);
		break;
	case PROCESS_LIVES:
		tide_count(roster.map->counters, TIDE_COUNT_WORKERS_ADOPTED, 1);
		break;
	case PROCESS_UNKNOWN:
		if (!roster.unknown_told)
			tide_log(TIDE_LOG_WARNING,
			    "cannot see whether worker %d still serves (no "
			    "descriptors, no memory, no /proc?); asked again "
			    "until it is known",
			    (int)e->pid);
		roster.unknown_told = true;
		break;
	}
}

static void
adopt(uint32_t at)
{
	struct tide_slot *s = &roster.map->slots[at];
	uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);
	uint64_t started = atomic_load(&s->started);
	uint32_t service = atomic_load(&s->service);

	if (state == TIDE_SLOT_FREE)
		return;
	take_entry(at,
	    (struct entry){ .pid = (pid_t)atomic_load(&s->pid),
		.pidfd = -1,
		.orphan = true,
		.started = started,
		.instance = roster.map->head->instance,
		.since = { atomic_load(&s->since_ms), process_ms(started) },
		.service = service < TIDE_SERVICES ? service : 0 });
	if (state == TIDE_SLOT_SERVING)
		settle(at, "its acceptor died");
	else
		roster_cancel((int)at);
}

/*
 * A slot without an entry is an earlier acceptor's, or that of a worker which
 * ended while there was no map.  Also those above max_workers, of a map made
 * before it was lowered.
 */
void
roster_look_after(void)
{
	const struct entry *e;
	uint32_t i;

	if (roster.map == NULL)
		return;
	for (i = 0; i < roster.entries; i++) {
		e = &roster.entry[i];
		if (e->orphan && e->pidfd < 0)
			settle(i, NULL);
		else if (e->pid == 0 && i < roster.map->head->slots)
			adopt(i);
	}
}

void
roster_use_map(struct tide_map *map)
{
	roster.map = map;
	if (map == NULL)
		return;
	grow(map->head->slots);
	roster_look_after();
}

/* ---- descriptors ------------------------------------------------------- */

unsigned
roster_poll(struct pollfd *p, unsigned room)
{
	unsigned n = 0;
	uint32_t i;

	for (i = 0; i < roster.entries && n < room; i++)
		if (roster.entry[i].pidfd >= 0)
			p[n++] = (struct pollfd){ .fd = roster.entry[i].pidfd,
				.events = POLLIN };
	return n;
}

void
roster_close_descriptors(void)
{
	uint32_t i;

	for (i = 0; i < roster.entries; i++)
		if (roster.entry[i].pidfd >= 0)
			(void)close(roster.entry[i].pidfd);
}
