/*
 * supervisor - opens the sockets, starts collector and acceptor, restarts
 * whichever dies while the other goes on.
 *
 * It parses nothing but its own configuration, once, and touches neither map
 * nor archive: there is little in it that could fail.  It is the subreaper of
 * workers that a dead acceptor leaves behind.
 *
 * Should it be killed itself, its children get SIGTERM from the kernel and
 * end; the service manager starts the whole anew, and until then the mail
 * server's own flags for an absent filter decide - unless the service manager
 * keeps our sockets.
 *
 * PROTOCOL handover: a restart that no mail server notices.
 *  H1 start: take the sockets and the pipe that were kept for us, or make them
 *     and have them kept (FDSTORE)
 *  H2 SIGTERM: tell the acceptor to leave (SIGUSR1); it accepts no more, tells
 *     its workers, ends.  Connections wait in the sockets' backlog.
 *  H3 end the collector; end, with the socket files in place
 *  H4 a restart: the successor does H1, its acceptor adopts the workers
 *     (roster.c) or finds them in no map of its own
 *     a stop: the service manager closes what it kept; the pipe ends
 *  W1 a worker that was told goes on for shutdown_grace, then ends between two
 *     messages; at once if the pipe ends or its map is not the present one
 * Why:   SIGTERM does not say which of the two it is, and only the service
 *        manager knows.  The pipe tells it to those who are left.
 * Crash: of us, anywhere: the sockets are kept all the same, the acceptor sees
 *        that we are gone and does as in H2.  Of the acceptor in H2: workers
 *        that were not told serve on until their sessions end.
 * Test:  tests/daemon/t_handover.sh; tests/deb/t_package.sh under systemd
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "../daemon.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MOST_MS 2000	/* mail servers wait no longer */
#define STEADY_MS 10000		/* up so long: the next fall is a new one */
#define STOP_MARGIN_MS 10000	/* beyond shutdown_grace */
#define LEAVE_MS 2000		/* an acceptor that leaves its sessions */
#define COLLECTOR_FIRST_MS 1500 /* so long the acceptor waits for it */

enum role { COLLECTOR, ACCEPTOR, ROLES };

static const char *const role_name[ROLES] = { "collector", "acceptor" };

struct child {
	pid_t pid;    /* 0: not running */
	int ready_fd; /* readable once it is ready; -1: known */
	bool ready;
	uint64_t started_ms;  /* monotonic */
	uint64_t start_at_ms; /* when it may be started (again) */
	unsigned backoff_ms;
};

static struct {
	const struct options *options;
	const struct tide_config *config;
	struct child child[ROLES];
	struct ground ground;
	struct beats beats; /* the collector's */
	bool told_disk;
	sigset_t open_mask;
	bool told_ready;
	bool stopping;
	uint64_t stop_by_ms;
} sv;

static volatile sig_atomic_t got_term, got_hup;

static void
on_signal(int sig)
{
	if (sig == SIGHUP)
		got_hup = 1;
	else if (sig != SIGCHLD)
		got_term++;
}

/* ---- starting a child -------------------------------------------------- */

static void
become(enum role role, pid_t parent, int ready_fd)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EX_TEMPFAIL); /* it died before we asked */
	(void)signal(SIGHUP, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &sv.open_mask, NULL);
	if (role == COLLECTOR)
		exec_collector(sv.options, sv.config, &sv.ground, ready_fd);
	else
		exec_acceptor(sv.config, &sv.ground, ready_fd);
	tide_log(TIDE_LOG_ERROR, "cannot run the %s from %s: %s",
	    role_name[role], sv.ground.bin, strerror(errno));
	_exit(EX_UNAVAILABLE);
}

static void
start(enum role role)
{
	struct child *c = &sv.child[role];
	pid_t parent = getpid();
	int fds[2];

	c->start_at_ms = tide_clock_mono_ms() + BACKOFF_MOST_MS;
	if (role == COLLECTOR) {
		beats_begin(&sv.beats, tide_clock_mono_ms());
		sv.ground.map_aside = beats_blame_map(&sv.beats);
	}
	if (pipe2(fds, O_CLOEXEC) < 0) {
		tide_log(TIDE_LOG_ERROR, "pipe: %s", strerror(errno));
		return;
	}
	c->pid = fork();
	if (c->pid == 0)
		become(role, parent, fds[1]);
	(void)close(fds[1]);
	if (c->pid < 0) {
		tide_log(TIDE_LOG_ERROR, "fork: %s", strerror(errno));
		c->pid = 0;
		(void)close(fds[0]);
		return;
	}
	c->ready_fd = fds[0];
	c->ready = false;
	c->started_ms = tide_clock_mono_ms();
}

/* ---- when one ends ----------------------------------------------------- */

static void
forget_ready_fd(struct child *c)
{
	if (c->ready_fd >= 0)
		(void)close(c->ready_fd);
	c->ready_fd = -1;
}

static void
plan_restart(struct child *c)
{
	uint64_t now = tide_clock_mono_ms();

	if (c->backoff_ms == 0 || now - c->started_ms > STEADY_MS)
		c->backoff_ms = BACKOFF_FIRST_MS;
	else if (c->backoff_ms < BACKOFF_MOST_MS / 2)
		c->backoff_ms *= 2;
	else
		c->backoff_ms = BACKOFF_MOST_MS;
	c->start_at_ms = now + c->backoff_ms;
}

static void
note_end(enum role role, int status)
{
	struct child *c = &sv.child[role];

	c->pid = 0;
	c->ready = false;
	forget_ready_fd(c);
	if (sv.stopping)
		return;
	plan_restart(c);
	if (WIFSIGNALED(status))
		tide_log(TIDE_LOG_ERROR,
		    "the %s was killed by signal %d; a new one starts in "
		    "%u ms",
		    role_name[role], WTERMSIG(status), c->backoff_ms);
	else
		tide_log(TIDE_LOG_ERROR,
		    "the %s ended with status %d; a new one starts in %u ms",
		    role_name[role], WEXITSTATUS(status), c->backoff_ms);
	notify("STATUS=the %s is being restarted", role_name[role]);
}

/* Also takes in workers whose acceptor has died. */
static void
reap(void)
{
	unsigned role;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (role = 0; role < ROLES; role++)
			if (pid == sv.child[role].pid)
				note_end(role, status);
}

/* ---- the loop ---------------------------------------------------------- */

static void
hear_ready(enum role role)
{
	struct child *c = &sv.child[role];
	char bytes[64];
	ssize_t n = read(c->ready_fd, bytes, sizeof bytes);

	if (role == COLLECTOR && n > 0) {
		beats_hear(&sv.beats, bytes, (size_t)n, tide_clock_mono_ms());
		sv.told_disk = false;
		if (c->ready || !sv.beats.ready)
			return; /* nothing new */
	} else {
		forget_ready_fd(c);
	}
	c->ready = n > 0;
	if (role == COLLECTOR)
		sv.child[ACCEPTOR].start_at_ms = 0; /* there is a map now */
	if (sv.child[ACCEPTOR].ready && !sv.told_ready) {
		sv.told_ready = true;
		notify("READY=1\nMAINPID=%d", (int)getpid());
	}
	if (sv.child[COLLECTOR].ready && sv.child[ACCEPTOR].ready)
		notify("STATUS=collector and acceptor are running");
}

/* PROTOCOL beats, S1 */
static void
check_beats(uint64_t now)
{
	pid_t pid = sv.child[COLLECTOR].pid;

	if (pid <= 0 ||
	    !beats_are_missing(&sv.beats, sv.options->silent_ms, now))
		return;
	if (beats_waits_for_disk(pid)) {
		if (!sv.told_disk)
			tide_log(TIDE_LOG_ERROR,
			    "the collector waits for its disk, for %u s now",
			    sv.options->silent_ms / 1000);
		sv.told_disk = true;
		return;
	}
	tide_log(TIDE_LOG_ERROR,
	    "the collector has given no sign of life for %u s: killed",
	    sv.options->silent_ms / 1000);
	beats_note_kill(&sv.beats, now);
	(void)kill(pid, SIGKILL);
}

static void
reload(void)
{
	got_hup = 0;
	tide_log_open("tidemarkd", sv.config->log,
	    (enum tide_log_level)sv.config->log_level); /* rotated, perhaps */
	if (sv.child[COLLECTOR].pid > 0) /* it checks, and publishes */
		(void)kill(sv.child[COLLECTOR].pid, SIGHUP);
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Start what is due; the time until the next thing is. */
static int
start_what_is_due(uint64_t now)
{
	uint64_t wait = sv.options->silent_ms / 4;
	unsigned watchdog = notify_watchdog_ms();
	unsigned role;

	for (role = 0; !sv.stopping && role < ROLES; role++) {
		struct child *c = &sv.child[role];

		if (c->pid > 0)
			continue;
		if (now >= c->start_at_ms)
			start(role);
		else
			wait = sooner(wait, c->start_at_ms - now);
	}
	if (watchdog > 0)
		wait = sooner(wait, watchdog);
	return (int)wait;
}

static void
wait_for_something(int timeout_ms)
{
	struct pollfd p[ROLES];
	struct timespec t = { .tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L };
	unsigned i;

	for (i = 0; i < ROLES; i++)
		p[i] = (struct pollfd){ .fd = sv.child[i].ready_fd,
			.events = POLLIN };
	if (ppoll(p, ROLES, &t, &sv.open_mask) <= 0)
		return;
	for (i = 0; i < ROLES; i++)
		if (p[i].revents != 0)
			hear_ready(i);
}

static void
signal_child(enum role role, int sig)
{
	if (sv.child[role].pid > 0)
		(void)kill(sv.child[role].pid, sig);
}

static void
close_sockets(void)
{
	uint32_t i;

	for (i = 0; i < sv.config->profiles; i++) {
		unlink_socket(sv.config->profile[i].socket);
		(void)close(sv.ground.milter_fd[i]);
	}
	for (i = 0; i < sv.config->policies; i++) {
		unlink_socket(sv.config->policy[i].socket);
		(void)close(sv.ground.policy_fd[i]);
	}
}

static void
remove_control_socket(void)
{
	char path[TIDE_PATH_MAX + 16];

	(void)snprintf(
	    path, sizeof path, "%s/control.sock", sv.config->runtime_dir);
	(void)unlink(path);
}

/* shutdown_grace, as last published: a reload may have changed it. */
static uint64_t
grace(void)
{
	struct tide_config now;
	uint64_t generation;
	struct tide_err err;

	if (tide_config_published(
		sv.config->runtime_dir, &now, &generation, &err) < 0)
		return sv.config->shutdown_grace;
	return now.shutdown_grace;
}

static bool
is_kept(void)
{
	return sv.ground.alive_fd[0] >= 0;
}

/* H2 */
static void
begin_leave(void)
{
	sv.stop_by_ms = tide_clock_mono_ms() + LEAVE_MS;
	notify("STOPPING=1\nSTATUS=leaving running sessions to finish");
	tide_log(TIDE_LOG_INFO,
	    "stopping: the sockets are kept, running sessions go on");
	signal_child(ACCEPTOR, SIGUSR1);
}

/* First the acceptor and its sessions, then the collector. */
static void
begin_stop(void)
{
	sv.stopping = true;
	if (is_kept()) {
		begin_leave();
		return;
	}
	sv.stop_by_ms = tide_clock_mono_ms() + grace() + STOP_MARGIN_MS;
	notify("STOPPING=1\nSTATUS=letting running sessions finish");
	tide_log(TIDE_LOG_INFO, "stopping: letting running sessions finish");
	close_sockets();
	signal_child(ACCEPTOR, SIGTERM);
}

static void
run_until_stopped(void)
{
	while (got_term == 0) {
		wait_for_something(start_what_is_due(tide_clock_mono_ms()));
		reap();
		check_beats(tide_clock_mono_ms());
		if (got_hup)
			reload();
		notify("WATCHDOG=1");
	}
	begin_stop();
	while (sv.child[ACCEPTOR].pid > 0) {
		if (got_term > 1 || tide_clock_mono_ms() > sv.stop_by_ms)
			signal_child(ACCEPTOR, SIGKILL);
		wait_for_something(100);
		reap();
	}
	if (!is_kept())
		kill_orphans(sv.child[COLLECTOR].pid);
	signal_child(COLLECTOR, SIGTERM);
	sv.stop_by_ms = tide_clock_mono_ms() + STOP_MARGIN_MS;
	while (sv.child[COLLECTOR].pid > 0) {
		if (tide_clock_mono_ms() > sv.stop_by_ms)
			signal_child(COLLECTOR, SIGKILL);
		wait_for_something(100);
		reap();
	}
}

/* ---- before the loop --------------------------------------------------- */

static void
set_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static const int sigs[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	sigset_t blocked;
	size_t i;

	sigemptyset(&blocked);
	for (i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		(void)sigaction(sigs[i], &sa, NULL);
		sigaddset(&blocked, sigs[i]);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigprocmask(SIG_BLOCK, &blocked, &sv.open_mask);
}

/* One a line; the daemon goes on as well as it can. */
static void
log_warnings(char *text)
{
	char *rest = NULL, *line;

	if (text == NULL)
		return;
	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		tide_log(TIDE_LOG_WARNING,
		    "%s (configtest and reload refuse this)", line);
}

int
supervise(const struct options *options, const struct tide_config *config)
{
	struct tide_err err;
	int i;

	sv.options = options;
	sv.config = config;
	for (i = 0; i < ROLES; i++)
		sv.child[i].ready_fd = -1;
	if (prepare_ground(options, config, &sv.ground, &err) < 0) {
		(void)fprintf(stderr, "tidemarkd: %s\n", err.text);
		return EX_CANTCREAT;
	}
	tide_log_open(
	    "tidemarkd", config->log, (enum tide_log_level)config->log_level);
	if (geteuid() == 0)
		tide_log(TIDE_LOG_WARNING,
		    "running as root; set user = to drop privileges");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	set_signals();
	/* mail is better remembered from the first, but never kept waiting */
	sv.child[ACCEPTOR].start_at_ms =
	    tide_clock_mono_ms() + COLLECTOR_FIRST_MS;
	tide_log(TIDE_LOG_INFO, "tidemarkd " TIDE_VERSION " starts");
	log_warnings(options->warnings);
	run_until_stopped();
	remove_control_socket();
	tide_log(TIDE_LOG_INFO, "tidemarkd stops");
	return 0;
}
