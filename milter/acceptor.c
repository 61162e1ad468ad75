/*
 * acceptor - accept, fork, reap, beat.
 *
 * Single-threaded and small, so that a fork is cheap; it never runs libmilter
 * itself.  The listening sockets are the supervisor's: if the acceptor dies,
 * whoever connects waits in the backlog for the next one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "milter.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

#define BEAT_MS 500
#define MAP_RETRY_MS 50
#define PREDECESSOR_MS 15000
#define ORPHANS_POLLED 64
#define ACCEPTS_A_ROUND 16

static struct {
	struct acceptor_options *options;
	struct tide_config config;
	uint64_t generation;
	struct tide_map *map;
	uint64_t map_tried_ms;
	uint64_t started_ms; /* wall; 0: no map knows of us yet */
	bool map_missed;
	uint64_t beat_ms;
	unsigned turn; /* the listener that is first this time */
	pid_t pid;
	sigset_t open_mask;
} ac;

static volatile sig_atomic_t stopping, leaving;

static void
on_signal(int sig)
{
	if (sig == SIGTERM || sig == SIGINT)
		stopping = 1;
	if (sig == SIGUSR1)
		leaving = 1;
}

/* ---- the map ----------------------------------------------------------- */

/* Which sockets we serve: a socket keeps its number, whoever holds it. */
static uint32_t
sockets_id(void)
{
	uint32_t id = 2166136261u;
	struct stat st;
	unsigned i;

	for (i = 0; i < ac.options->listeners; i++)
		if (fstat(ac.options->listener[i].fd, &st) == 0)
			id = (id ^ (uint32_t)st.st_ino) * 16777619u;
	return id;
}

/*
 * While nobody listened, mail may have gone by.  Of an acceptor that died and
 * came back, with somebody holding the sockets, mail servers notice nothing
 * unless it takes long; but where the sockets were gone, every moment counts.
 */
static void
note_downtime(void)
{
	struct tide_acceptor *a = ac.map->acceptor;
	struct tide_moment now = { tide_clock_wall_ms(), tide_clock_mono_ms() };
	struct tide_moment last = { atomic_load(&a->pulse_wall_ms),
		atomic_load(&a->pulse_ms) };
	bool same_sockets = atomic_load(&a->listening) != 0 &&
	    atomic_load(&a->sockets) == sockets_id();

	if (last.wall_ms != 0 &&
	    (!same_sockets || now.boot_ms > last.boot_ms + UNNOTICED_MS))
		lapse_between(ac.map, TIDE_LAPSE_DOWN, last, now);
	atomic_store(&a->sockets, sockets_id());
}

static void
attach_map(void)
{
	struct tide_err err;
	uint64_t now = tide_clock_mono_ms();

	if (ac.map_tried_ms != 0 && now < ac.map_tried_ms + MAP_RETRY_MS)
		return;
	ac.map_tried_ms = now;
	ac.map =
	    tide_map_attach(ac.config.runtime_dir, TIDE_MAP_ACCEPTOR, &err);
	if (ac.map != NULL &&
	    tide_map_unlock_by(ac.map, ac.config.state_dir, &err) < 0) {
		tide_map_detach(ac.map);
		ac.map = NULL;
	}
	if (ac.map == NULL) {
		if (!ac.map_missed)
			tide_log(TIDE_LOG_ERROR,
			    "no map (%s): mail is answered by on_error",
			    err.text);
		ac.map_missed = true;
		return;
	}
	ac.map_missed = false;
	note_downtime();
	lapse_recall(ac.map, ac.config.runtime_dir);
	atomic_store(&ac.map->acceptor->pid, (uint32_t)ac.pid);
	if (ac.started_ms == 0) { /* not once more for another map */
		ac.started_ms = tide_clock_wall_ms();
		tide_count(ac.map->counters, TIDE_COUNT_ACCEPTOR_STARTS, 1);
	}
	atomic_store(&ac.map->acceptor->started_ms, ac.started_ms);
	roster_use_map(ac.map);
	atomic_store(&ac.map->acceptor->listening, 1);
	tide_log(
	    TIDE_LOG_INFO, "map attached, %u workers serve", roster_busy());
}

/* The collector may have made a new map, or none yet. */
static void
follow_map(void)
{
	if (ac.map != NULL &&
	    !tide_map_is_current(ac.map, ac.config.runtime_dir)) {
		roster_use_map(NULL);
		tide_map_detach(ac.map);
		ac.map = NULL;
		ac.map_tried_ms = 0;
	}
	if (ac.map == NULL)
		attach_map();
}

static void
follow_configuration(void)
{
	struct tide_err err;

	if (ac.map == NULL ||
	    atomic_load(&ac.map->control->generation) == ac.generation)
		return;
	if (tide_config_published(
		ac.config.runtime_dir, &ac.config, &ac.generation, &err) < 0) {
		tide_log(TIDE_LOG_WARNING, "%s", err.text);
		return;
	}
	tide_log_open("tidemark-milter", ac.config.log,
	    (enum tide_log_level)ac.config.log_level);
	backlog_plan(ac.options, &ac.config);
}

static void
beat(void)
{
	uint64_t now = tide_clock_mono_ms();

	if (now < ac.beat_ms + BEAT_MS)
		return;
	ac.beat_ms = now;
	follow_map();
	follow_configuration();
	if (ac.map == NULL) {
		lapse_keep(ac.config.runtime_dir);
		return;
	}
	atomic_store(&ac.map->acceptor->pulse_ms, now);
	atomic_store(&ac.map->acceptor->pulse_wall_ms, tide_clock_wall_ms());
	roster_look_after();
	roster_check_deadlines(ac.config.worker_stuck, ac.config.worker_idle);
	lapse_flush(ac.map);
}

/* ---- forking ----------------------------------------------------------- */

static void __attribute__((noreturn))
be_worker(int fd, int entry, const struct listener *l)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1 };
	const struct listener at = *l;
	struct tide_slot *slot = roster_slot(entry);
	sigset_t chld;
	unsigned i;

	roster_register_child(slot, ac.pid);
	for (i = 0; i < ac.options->listeners; i++)
		(void)close(ac.options->listener[i].fd);
	roster_close_descriptors();
	for (i = 0; i < sizeof sigs / sizeof *sigs; i++)
		(void)signal(sigs[i], SIG_DFL);
	sigemptyset(&chld); /* the others stay blocked for libmilter's thread */
	sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_UNBLOCK, &chld, NULL);
	if (ac.map != NULL)
		tide_map_become_worker(ac.map);
	serve_until(ac.options->alive_fd, ac.config.shutdown_grace);
	session_begin(&ac.config, ac.generation, at.profile,
	    slot != NULL ? ac.map : NULL, slot);
	if (at.is_policy)
		policy_connection(fd, at.policy);
	serve_connection(fd, &milter_filter, ac.config.worker_silent);
}

/* No process to be had: the mail server decides by its own flags. */
static void
fork_failed(int entry)
{
	tide_log(TIDE_LOG_ERROR, "fork: %s", strerror(errno));
	roster_cancel(entry);
	lapse_note(ac.map, TIDE_LAPSE_FULL, tide_clock_wall_ms(),
	    tide_clock_wall_ms());
	if (ac.map != NULL)
		tide_count(ac.map->counters, TIDE_COUNT_FORK_FAILURES, 1);
}

/* One connection of a listener; false if there was none. */
static bool
accept_one(unsigned which)
{
	const struct listener *l = &ac.options->listener[which];
	struct sockaddr_storage from = { 0 };
	socklen_t size = sizeof from;
	int fd, entry;
	pid_t pid;

	if (ac.map == NULL)
		attach_map(); /* it may have fewer slots than max_workers */
	if (!backlog_may_take(ac.options, which))
		return false;
	fd = accept4(l->fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
	if (fd < 0)
		return false;
	if (stranger_turned_away(ac.options, which, &ac.config, ac.map,
		(struct sockaddr *)&from)) {
		(void)close(fd); /* it has cost no worker: go on */
		return true;
	}
	entry = roster_reserve(l->profile, listener_service(l));
	if (entry < 0) {
		(void)close(fd);
		return false;
	}
	pid = fork();
	if (pid == 0)
		be_worker(fd, entry, l);
	(void)close(fd);
	if (pid < 0)
		fork_failed(entry);
	else
		roster_forked(entry, pid);
	return pid >= 0;
}

/* ---- the loop ---------------------------------------------------------- */

/* One connection of each in turn, and another one first the next time: no
 * listener's crowd keeps the others waiting. */
static void
accept_in_turn(struct pollfd *p, unsigned n)
{
	unsigned i, at, round, taken = n;

	for (round = 0; taken > 0 && round < ACCEPTS_A_ROUND; round++) {
		taken = 0;
		for (i = 0; i < n; i++) {
			at = (ac.turn + i) % n;
			if (p[at].revents == 0)
				continue;
			if (accept_one(at))
				taken++;
			else
				p[at].revents = 0;
		}
	}
	ac.turn++;
}

static void
wait_and_accept(void)
{
	struct pollfd p[LISTENERS_MAX + ORPHANS_POLLED];
	const struct timespec t = { .tv_nsec = BEAT_MS * 1000000L };
	unsigned i, k, n = ac.options->listeners;

	backlog_watch(ac.options, ac.map);
	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = backlog_may_take(ac.options, i)
			    ? ac.options->listener[i].fd
			    : -1,
			.events = POLLIN };
	k = n + roster_poll(p + n, ORPHANS_POLLED);
	if (ppoll(p, k, &t, &ac.open_mask) > 0)
		accept_in_turn(p, n);
}

static void
close_listeners(void)
{
	unsigned i;

	for (i = 0; i < ac.options->listeners; i++) {
		(void)close(ac.options->listener[i].fd);
		ac.options->listener[i].fd = -1;
	}
	if (ac.map != NULL)
		atomic_store(&ac.map->acceptor->listening, 0);
}

static void
keep_lapses(void)
{
	lapse_flush(ac.map);
	if (ac.map == NULL)
		lapse_keep(ac.config.runtime_dir);
}

/* The sockets stay open elsewhere, and so they count as listened to: whoever
 * takes them up tells how long that took (note_downtime). */
static void
leave(void)
{
	ac.beat_ms = 0;
	beat();
	roster_tell_all(SIGUSR1);
	keep_lapses();
}

/*
 * Let running sessions finish.  If the supervisor is gone, though, a new one
 * is on its way: leave the workers to the acceptor it will start.
 */
static void
finish(pid_t supervisor)
{
	uint64_t until = tide_clock_mono_ms() + ac.config.shutdown_grace;

	close_listeners();
	while (roster_busy() > 0 && getppid() == supervisor) {
		roster_tell_all(SIGTERM); /* it may have come too early */
		if (tide_clock_mono_ms() > until) {
			tide_log(TIDE_LOG_WARNING,
			    "%u sessions did not finish in time",
			    roster_busy());
			roster_kill_all();
			until = UINT64_MAX;
		}
		wait_and_accept();
		roster_reap();
		beat();
	}
	keep_lapses();
}

/* ---- starting ---------------------------------------------------------- */

static void
set_signals(void)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1 };
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t blocked;
	size_t i;

	sigemptyset(&blocked);
	for (i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		(void)sigaction(sigs[i], &sa, NULL);
		sigaddset(&blocked, sigs[i]);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigprocmask(SIG_BLOCK, &blocked, &ac.open_mask);
}

/* A policy server alone, with the profile's default, would charge nothing. */
static void
tell_of_bystander(const struct tide_policy *p)
{
	int i = tide_config_profile(&ac.config, p->profile);

	if (i >= 0 && ac.config.profile[i].charged_by == TIDE_CHARGED_BY_MILTER)
		tide_log(TIDE_LOG_INFO,
		    "policy %s: profile %s has charged_by = milter, so it "
		    "answers for bans and protected mailboxes only",
		    p->name, p->profile);
}

/* Which profile each descriptor of the command line is for. */
static int
name_listener(struct listener *l, const char *name, struct tide_err *err)
{
	int policy, profile;

	if (l->is_policy) {
		policy = tide_config_policy(&ac.config, name);
		if (policy < 0)
			return tide_err_set(
			    err, "there is no policy «%s»", name);
		l->policy = (unsigned)policy;
		name = ac.config.policy[policy].profile;
		tell_of_bystander(&ac.config.policy[policy]);
	}
	profile = tide_config_profile(&ac.config, name);
	if (profile < 0)
		return tide_err_set(err, "there is no profile «%s»", name);
	l->profile = (unsigned)profile;
	return 0;
}

static int
name_listeners(struct tide_err *err)
{
	unsigned i;

	for (i = 0; i < ac.options->listeners; i++)
		if (name_listener(
			&ac.options->listener[i], ac.options->name[i], err) < 0)
			return -1;
	return 0;
}

static int
lock_runtime(struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 32];

	(void)snprintf(
	    path, sizeof path, "%s/acceptor.lock", ac.config.runtime_dir);
	return tide_files_lock(path, PREDECESSOR_MS, NULL, err);
}

static int
prepare(struct tide_err *err)
{
	if (tide_config_published(
		ac.options->runtime, &ac.config, &ac.generation, err) < 0)
		return -1;
	tide_log_open("tidemark-milter", ac.config.log,
	    (enum tide_log_level)ac.config.log_level);
	if (name_listeners(err) < 0 || lock_runtime(err) < 0 ||
	    serve_prepare(err) < 0 || serve_self_test(&milter_filter, err) < 0)
		return -1;
	roster_open(ac.config.max_workers);
	backlog_plan(ac.options, &ac.config);
	return 0;
}

int
acceptor_run(struct acceptor_options *options)
{
	pid_t supervisor = getppid();
	struct tide_err err;

	ac.options = options;
	ac.pid = getpid();
	set_signals();
	if (prepare(&err) < 0) {
		tide_log(TIDE_LOG_ERROR, "cannot start: %s", err.text);
		return EX_UNAVAILABLE;
	}
	beat();
	if (options->ready_fd >= 0) {
		if (write(options->ready_fd, "1", 1) != 1)
			tide_log(
			    TIDE_LOG_WARNING, "the supervisor does not listen");
		(void)close(options->ready_fd);
	}
	while (!stopping && !leaving) {
		wait_and_accept();
		roster_reap();
		beat();
	}
	if (leaving || (options->alive_fd >= 0 && getppid() != supervisor))
		leave();
	else
		finish(supervisor);
	return 0;
}
