/*
 * policy - one connection of Postfix's policy client, one process.
 *
 * The connection is Postfix's to keep: it asks for one message after another,
 * for hours if it likes.  No request may hold us up, though: it has a time and
 * a size that it must keep to, and so has the wait for the next one.  Whatever
 * does not is told of in one line, and its connection closed; Postfix then
 * tries again, and at last answers by smtpd_policy_service_default_action.
 *
 * SIGTERM and SIGUSR1 ask us to end between two messages.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../milter.h"
#include "../session.h"
#include "answer.h"
#include "message.h"
#include "request.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static struct {
	int fd;
	char text[POLICY_REQUEST_MAX];
	size_t have;	     /* bytes of it */
	size_t seen;	     /* of these, looked at for the request's end */
	bool asked;	     /* there was a request */
	uint64_t begun_ms;   /* when the request's first byte came */
	uint64_t receive_ms; /* the socket's timeout, as set */
} conn;

static volatile sig_atomic_t asked_to_end;

static void
on_term(int sig)
{
	(void)sig;
	asked_to_end = 1;
}

/* ---- the end ----------------------------------------------------------- */

/* Postfix closed it, or we do so between two messages. */
static void __attribute__((noreturn)) finish(void)
{
	policy_message_end(false);
	_exit(0);
}

static void __attribute__((noreturn)) give_up(const char *why)
{
	tide_log(TIDE_LOG_WARNING,
	    "policy %s: %s: connection closed (client=%s from=%s)",
	    policy_section()->name, why,
	    session.client[0] != '\0' ? session.client : "-",
	    policy_message_is_open() ? session.message.sender : "-");
	if (session.map != NULL)
		tide_count_profile(session.map->counters, session.profile,
		    TIDE_COUNT_POLICY_CLOSED, 1);
	policy_message_end(true);
	_exit(0);
}

/* ---- reading ----------------------------------------------------------- */

/* The timeout for the first byte is the socket's own: no call but recv(). */
static void
set_idle_timeout(void)
{
	uint64_t ms = policy_section()->idle_timeout;
	struct timeval t;

	if (!conn.asked && ms > session.config.worker_silent)
		ms = session.config.worker_silent;
	if (conn.receive_ms == ms)
		return;
	t = (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };
	(void)setsockopt(conn.fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	conn.receive_ms = ms;
}

/* Wait for more of a request that has begun. */
static void
await_more(void)
{
	uint64_t until = conn.begun_ms + policy_section()->request_timeout;
	uint64_t t = tide_clock_mono_ms();
	struct pollfd p = { .fd = conn.fd, .events = POLLIN };

	if (t >= until)
		give_up("a request took longer than request_timeout");
	(void)poll(&p, 1, (int)(until - t));
}

/* What recv() says when it brings nothing. */
static void
note_silence(ssize_t got)
{
	bool idle = conn.have == 0;

	if (got == 0 && idle)
		finish();
	if (got == 0)
		give_up("it ended within a request");
	if (errno == EINTR || (errno == EAGAIN && !idle))
		return;
	if (errno == EAGAIN && !conn.asked &&
	    conn.receive_ms < policy_section()->idle_timeout)
		give_up("no request within worker_silent");
	if (errno == EAGAIN && !policy_message_is_open())
		finish(); /* nothing is wrong with that */
	give_up(errno == EAGAIN
		? "no request for longer than idle_timeout, amid a message"
		: strerror(errno));
}

static void
read_more(void)
{
	ssize_t got;

	if (asked_to_end && conn.have == 0 && !policy_message_is_open())
		finish();
	if (conn.have > 0)
		await_more();
	got = recv(conn.fd, conn.text + conn.have, sizeof conn.text - conn.have,
	    conn.have > 0 ? MSG_DONTWAIT : 0);
	if (got <= 0) {
		note_silence(got);
		return;
	}
	if (conn.have == 0)
		conn.begun_ms = tide_clock_mono_ms();
	conn.have += (size_t)got;
}

/* Its length, once it is there. */
static size_t
await_request(void)
{
	struct tide_err err;
	long length;

	for (;;) {
		length = policy_request_length(
		    conn.text, conn.have, &conn.seen, &err);
		if (length < 0)
			give_up(err.text);
		if (length > 0)
			return (size_t)length;
		read_more();
	}
}

/* ---- answering --------------------------------------------------------- */

static void
send_all(const char *text, size_t length)
{
	struct pollfd p = { .fd = conn.fd, .events = POLLOUT };
	uint64_t until =
	    tide_clock_mono_ms() + policy_section()->request_timeout;
	ssize_t sent;

	while (length > 0) {
		sent = send(conn.fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0) {
			text += sent;
			length -= (size_t)sent;
		} else if (errno == EAGAIN && tide_clock_mono_ms() < until) {
			(void)poll(&p, 1, 100);
		} else if (errno == EPIPE || errno == ECONNRESET) {
			finish();
		} else if (errno != EINTR) {
			give_up("an answer was not taken");
		}
	}
}

static enum tide_stage
stage_of(enum policy_state state)
{
	switch (state) {
	case POLICY_RCPT:
		return TIDE_STAGE_RCPT;
	case POLICY_DATA:
	case POLICY_END:
		return TIDE_STAGE_EOM;
	default:
		return TIDE_STAGE_MAIL;
	}
}

static void
answer_request(size_t length)
{
	char answer[POLICY_ANSWER_MAX];
	struct policy_request q;
	struct tide_err err;
	size_t n;

	if (policy_request_parse(conn.text, length, &q, &err) < 0)
		give_up(err.text);
	conn.asked = true;
	session_enter(stage_of(q.state));
	n = policy_message_ask(&q, answer);
	if (session.map != NULL)
		tide_count_profile(session.map->counters, session.profile,
		    TIDE_COUNT_POLICY_REQUESTS, 1);
	session_leave();
	send_all(answer, n);
	conn.have -= length;
	memmove(conn.text, conn.text + length, conn.have);
	conn.seen = 0;
	if (conn.have > 0)
		conn.begun_ms = tide_clock_mono_ms();
}

/* ---- a worker's life --------------------------------------------------- */

static void
set_signals(void)
{
	struct sigaction sa = { .sa_handler = on_term }; /* no SA_RESTART */
	sigset_t term;

	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGUSR1);
	(void)sigprocmask(SIG_UNBLOCK, &term, NULL);
}

void
policy_connection(int fd, unsigned policy)
{
	conn.fd = fd;
	set_signals();
	policy_message_begin(policy);
	session_follow(); /* the acceptor may not have yet */
	for (;;) {
		set_idle_timeout();
		answer_request(await_request());
		if (!policy_message_is_open() && conn.have == 0 &&
		    policy_message_is_stale())
			finish(); /* the next worker has a better map */
	}
}
