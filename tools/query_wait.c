/*
 * query_wait - a long question: how far it is, on a terminal, and Ctrl-C,
 * which ends it with what was found.  A second one ends the program.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "query.h"
#include "tidemark/clock.h"

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

void
wait_begin(int fd)
{
	struct sigaction act = { .sa_handler = on_interrupt,
		.sa_flags = (int)SA_RESETHAND };

	daemon_fd = fd;
	told_ms = tide_clock_mono_ms();
	(void)sigaction(SIGINT, &act, NULL);
}

void
wait_progress(uint64_t done, uint64_t all)
{
	if (isatty(STDERR_FILENO) != 1)
		return;
	shown = true;
	fprintf(stderr, "\r%llu of %llu windows\033[K",
	    (unsigned long long)done, (unsigned long long)all);
}

bool
wait_go_on(void *arg, uint64_t done, uint64_t all)
{
	uint64_t now = tide_clock_mono_ms();

	(void)arg;
	if (now >= told_ms + PROGRESS_MS) {
		told_ms = now;
		wait_progress(done, all);
	}
	return !stopped;
}

void
wait_end(void)
{
	daemon_fd = -1;
	(void)signal(SIGINT, SIG_DFL);
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = false;
}
