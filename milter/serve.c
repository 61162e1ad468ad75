/*
 * serve - one accepted connection, one process, stock libmilter.
 *
 * libmilter has no call for "serve this descriptor": smfi_main() wants to
 * listen and accept by itself.  So it gets a dummy listening socket that has
 * one connection pending for ever, and when it calls accept() on that, the
 * accept() below - the program's own, to which the library's call binds -
 * hands it the connection we were forked for.  Its second accept() never
 * returns.
 *
 * smfi_setconn("fd:N") (Debian's addition) keeps libmilter from making, and
 * from ever unlinking, a socket of its own.
 *
 * Both functions must be visible to the dynamic linker; under
 * -fvisibility=hidden without the attribute the library would use the C
 * library's, and hang.  serve_self_test() finds that out at start.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmilter/mfapi.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "milter.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"

#define VISIBLE __attribute__((visibility("default")))
#define UNNEGOTIATED_CHECK_MS 100
#define LEAVING_CHECK_MS 100

static int dummy_fd = -1;
static int connection_fd = -1;
static uint64_t negotiate_by_ms; /* monotonic */
static bool is_worker;
static atomic_bool handed_over, negotiated;

/* ---- what libmilter's calls bind to ------------------------------------ */

/*
 * Nothing is left for the main thread to do.  xxfi_close ends the process;
 * only before the negotiation may libmilter drop a connection without it, and
 * only then is silence nobody's slow mail.
 */
static void __attribute__((noreturn)) park(void)
{
	const struct timespec nap = { .tv_nsec =
					  UNNEGOTIATED_CHECK_MS * 1000000L };

	while (!atomic_load(&negotiated)) {
		(void)nanosleep(&nap, NULL);
		if (!atomic_load(&negotiated) &&
		    fcntl(connection_fd, F_GETFD) < 0)
			_exit(EX_PROTOCOL);
		if (!atomic_load(&negotiated) &&
		    tide_clock_mono_ms() >= negotiate_by_ms)
			_exit(SERVE_SILENT);
	}
	for (;;)
		(void)pause();
}

VISIBLE int
accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
	if (!is_worker || fd != dummy_fd)
		return accept4(fd, address, length, 0);
	if (atomic_exchange(&handed_over, true))
		park();
	if (length != NULL && getpeername(connection_fd, address, length) < 0)
		*length = 0;
	if (length != NULL && *length == 0)
		*length = sizeof(sa_family_t);
	return connection_fd;
}

/* ---- when the acceptor leaves ------------------------------------------ */

static int alive = -1;
static uint64_t grace;

void
serve_until(int alive_fd, uint64_t grace_ms)
{
	alive = alive_fd;
	grace = grace_ms;
}

static bool
nobody_follows(void)
{
	struct pollfd p = { .fd = alive, .events = POLLIN };

	return alive >= 0 && poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* PROTOCOL handover, W1.  A message has as long again to get to its end. */
static void __attribute__((noreturn)) finish_up(void)
{
	const struct timespec nap = { .tv_nsec = LEAVING_CHECK_MS * 1000000L };
	uint64_t since = tide_clock_mono_ms(), now = since;

	for (;;) {
		if (now >= since + grace || nobody_follows() ||
		    session_is_stale())
			if (session_is_idle() || now >= since + 2 * grace)
				break;
		(void)nanosleep(&nap, NULL);
		now = tide_clock_mono_ms();
	}
	session_cut();
	_exit(0);
}

/* A worker lets its session finish: TERM and HUP are for the acceptor. */
VISIBLE int
sigwait(const sigset_t *restrict set, int *restrict sig)
{
	sigset_t mine = *set;
	int got;

	if (is_worker)
		sigaddset(&mine, SIGUSR1);
	for (;;) {
		got = sigwaitinfo(&mine, NULL);
		if (got == SIGUSR1 && is_worker)
			finish_up();
		if (got > 0 && !is_worker) {
			*sig = got;
			return 0;
		}
		if (got < 0 && errno != EINTR)
			return errno;
	}
}

void
serve_negotiated(void)
{
	atomic_store(&negotiated, true);
}

void
serve_finished(void)
{
	_exit(0);
}

/* ---- a worker's life --------------------------------------------------- */

/* A listening socket that poll() always finds readable. */
int
serve_prepare(struct tide_err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t length = sizeof at;
	int client;

	dummy_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (dummy_fd < 0 || client < 0 ||
	    bind(dummy_fd, (struct sockaddr *)&at, sizeof(sa_family_t)) < 0 ||
	    listen(dummy_fd, 1) < 0 ||
	    getsockname(dummy_fd, (struct sockaddr *)&at, &length) < 0 ||
	    connect(client, (struct sockaddr *)&at, length) < 0)
		return tide_err_errno(err, "preparing a dummy socket");
	return 0; /* the client's end stays open for ever */
}

void
serve_connection(int fd, const struct smfiDesc *filter, uint64_t silent_ms)
{
	char address[24];

	is_worker = true;
	negotiate_by_ms = tide_clock_mono_ms() + silent_ms;
	connection_fd = fd;
	(void)snprintf(address, sizeof address, "fd:%d", dummy_fd);
	if (smfi_register(*filter) == MI_FAILURE ||
	    smfi_setconn(address) == MI_FAILURE)
		_exit(EX_SOFTWARE);
	_exit(smfi_main() == MI_SUCCESS ? 0 : EX_SOFTWARE);
}

/* ---- the self-test ----------------------------------------------------- */

#define SELF_TEST_MS 5000

static bool
readable_within(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* Play the mail server: offer everything, and expect an answer to it. */
static int
negotiate(int fd, struct tide_err *err)
{
	struct {
		uint32_t length;
		char command;
		char payload[12];
	} __attribute__((packed))
	offer = { .length = htonl(13), .command = 'O' };
	const uint32_t words[3] = { htonl(6), htonl(0x1ff), htonl(0x1fffff) };
	char answer[512];
	ssize_t n;

	memcpy(offer.payload, words, sizeof words);
	if (send(fd, &offer, sizeof offer, MSG_NOSIGNAL) !=
	    (ssize_t)sizeof offer)
		return tide_err_errno(err, "self-test: sending");
	if (!readable_within(fd, SELF_TEST_MS))
		return tide_err_set(err,
		    "self-test: libmilter did not take the connection we "
		    "handed it");
	n = recv(fd, answer, sizeof answer, 0);
	if (n < 17 || answer[4] != 'O')
		return tide_err_set(err,
		    "self-test: libmilter answered the negotiation with %zd "
		    "bytes",
		    n);
	return 0;
}

static int
await_end(pid_t pid, struct tide_err *err)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	uint64_t until = tide_clock_mono_ms() + SELF_TEST_MS;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (tide_clock_mono_ms() > until) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			return tide_err_set(err,
			    "self-test: the worker did not end with its "
			    "connection");
		}
		(void)nanosleep(&nap, NULL);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return tide_err_set(err,
		    "self-test: the worker ended with status %#x",
		    (unsigned)status);
	return 0;
}

int
serve_self_test(const struct smfiDesc *filter, struct tide_err *err)
{
	struct tide_err ignored;
	int fds[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return tide_err_errno(err, "self-test");
	pid = fork();
	if (pid == 0) {
		(void)close(fds[0]);
		serve_connection(fds[1], filter, 2 * SELF_TEST_MS);
	}
	(void)close(fds[1]);
	rc =
	    pid < 0 ? tide_err_errno(err, "self-test") : negotiate(fds[0], err);
	(void)close(fds[0]);
	if (pid > 0) {
		if (rc < 0)
			(void)kill(pid, SIGKILL);
		if (await_end(pid, rc < 0 ? &ignored : err) < 0)
			rc = -1;
	}
	return rc;
}
