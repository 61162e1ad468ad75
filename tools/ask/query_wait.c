/*
 * query_wait - a long question: how far it is, on a terminal, and Ctrl-C,
 * which ends it with what was found.  A second one ends the program.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../read/query.h"
#include "tidemark/base/clock.h"

#define PROGRESS_MS 250

static volatile sig_atomic_t stopped;
static volatile sig_atomic_t daemon_fd = -1;
static bool shown;
static uint64_t told_ms;

/* The daemon stops at any word. */
static void
on_interrupt(int sig)
{
	(void)sig;
	stopped = 1;
	if (daemon_fd >= 0 && write(daemon_fd, "stop\n", 5) < 0)
		daemon_fd = -1;
}

static void
begin(void *arg, int fd)
{
	struct sigaction act = { .sa_handler = on_interrupt,
		.sa_flags = (int)SA_RESETHAND };

	(void)arg;
	daemon_fd = fd;
	told_ms = tide_clock_mono_ms();
	(void)sigaction(SIGINT, &act, NULL);
}

static bool
progress(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	if (isatty(STDERR_FILENO) != 1)
		return true;
	shown = true;
	fprintf(stderr, "\r%llu of %llu windows\033[K",
	    (unsigned long long)done, (unsigned long long)all);
	return true; /* Ctrl-C has told the daemon itself */
}

bool
query_terminal_go_on(void *arg, uint64_t done, uint64_t all)
{
	uint64_t now = tide_clock_mono_ms();

	if (now >= told_ms + PROGRESS_MS) {
		told_ms = now;
		(void)progress(arg, done, all);
	}
	return !stopped;
}

static void
end(void *arg)
{
	(void)arg;
	daemon_fd = -1;
	(void)signal(SIGINT, SIG_DFL);
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = false;
}

const struct query_wait query_terminal = {
	.begin = begin, .progress = progress, .end = end
};
