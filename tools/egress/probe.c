/*
 * egress, probe - does a registered server still speak SMTP, and does it still
 * refuse to relay for strangers?
 *
 * The null sender and one recipient elsewhere, then RSET and QUIT: no DATA is
 * ever sent, so nothing can be delivered.  Everything has one deadline.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress.h"
#include "tidemark/base/clock.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"

#define REPLY_MOST 4096 /* bytes of one reply, all its lines */

struct talk {
	int fd;
	uint64_t deadline_ms; /* monotonic */
	char buf[REPLY_MOST];
	size_t have;
	char *said; /* the last line of the last reply */
	size_t size;
};

/* ---- waiting ----------------------------------------------------------- */

static bool
wait_for(const struct talk *t, short events)
{
	struct pollfd p = { .fd = t->fd, .events = events };
	uint64_t now = tide_clock_mono_ms();
	int rc;

	do {
		if (now >= t->deadline_ms)
			return false;
		rc = poll(&p, 1, (int)(t->deadline_ms - now));
		now = tide_clock_mono_ms();
	} while (rc < 0 && errno == EINTR);
	return rc > 0;
}

static socklen_t
socket_address(
    const struct tide_ip *ip, uint16_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };

	memset(to, 0, sizeof *to);
	if (tide_ip_is_v4(ip)) {
		memcpy(&v4.sin_addr, ip->byte + 12, 4);
		memcpy(to, &v4, sizeof v4);
		return sizeof v4;
	}
	memcpy(&v6.sin6_addr, ip->byte, 16);
	memcpy(to, &v6, sizeof v6);
	return sizeof v6;
}

static bool
reach(struct talk *t, const struct tide_ip *ip, uint16_t port)
{
	struct sockaddr_storage to;
	socklen_t length = socket_address(ip, port, &to), size = sizeof(int);
	int error = 0;

	t->fd =
	    socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd < 0)
		return false;
	if (connect(t->fd, (struct sockaddr *)&to, length) == 0)
		return true;
	if (errno == EINPROGRESS && !wait_for(t, POLLOUT))
		errno = ETIMEDOUT;
	else if (errno == EINPROGRESS &&
	    getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0)
		errno = error;
	if (errno != 0)
		(void)snprintf(t->said, t->size, "%s", strerror(errno));
	return errno == 0;
}

/* ---- a reply ----------------------------------------------------------- */

/* It is shown on a terminal. */
static void
keep_line(struct talk *t, const char *line, size_t n)
{
	size_t i;

	if (n >= t->size)
		n = t->size - 1;
	for (i = 0; i < n; i++)
		t->said[i] =
		    (char)(isprint((unsigned char)line[i]) ? line[i] : '?');
	t->said[n] = '\0';
}

/* The code of a line that ends a reply, 0 of one that does not, -1. */
static int
code_of(const char *line, size_t n)
{
	if (n < 3 || !isdigit((unsigned char)line[0]) ||
	    !isdigit((unsigned char)line[1]) ||
	    !isdigit((unsigned char)line[2]) ||
	    (n > 3 && line[3] != ' ' && line[3] != '-'))
		return -1;
	if (n > 3 && line[3] == '-')
		return 0;
	return (line[0] - '0') * 100 + (line[1] - '0') * 10 + line[2] - '0';
}

/* The next line, if it is whole: its code as above; -2 if more must come. */
static int
take_line(struct talk *t)
{
	const char *end = memchr(t->buf, '\n', t->have);
	size_t n, all;
	int code;

	if (end == NULL)
		return t->have == sizeof t->buf ? -1 : -2;
	all = (size_t)(end - t->buf) + 1;
	n = all - 1;
	if (n > 0 && t->buf[n - 1] == '\r')
		n--;
	code = code_of(t->buf, n);
	keep_line(t, t->buf, n);
	memmove(t->buf, t->buf + all, t->have - all);
	t->have -= all;
	return code;
}

/* The code of the next reply, -1 if none comes in time or it is no SMTP. */
static int
hear(struct talk *t)
{
	ssize_t n;
	int code;

	for (;;) {
		code = take_line(t);
		if (code == 0)
			continue;
		if (code != -2)
			return code;
		if (!wait_for(t, POLLIN))
			return -1;
		n = recv(t->fd, t->buf + t->have, sizeof t->buf - t->have, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -1;
		t->have += (size_t)n;
	}
}

/* Say it; the code of the reply. */
static int
say(struct talk *t, const char *what, const char *rest)
{
	char line[512];
	int n = snprintf(line, sizeof line, "%s%s\r\n", what, rest);

	if (n >= (int)sizeof line || !wait_for(t, POLLOUT) ||
	    send(t->fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		return -1;
	return hear(t);
}

/* ---- the probe --------------------------------------------------------- */

static const char *
own_name(char *buf, size_t size)
{
	if (gethostname(buf, size) != 0 || strchr(buf, '.') == NULL)
		(void)snprintf(buf, size, "[127.0.0.1]");
	buf[size - 1] = '\0';
	return buf;
}

/* A refusal is what we hope for; a temporary one says nothing. */
static enum tide_egress_verdict
judge(int code)
{
	if (code < 0)
		return TIDE_EGRESS_SILENT;
	return code >= 500 ? TIDE_EGRESS_GOOD : TIDE_EGRESS_UNCLEAR;
}

static enum tide_egress_verdict
converse(struct talk *t, const char *rcpt)
{
	char name[256], to[300];
	int code = hear(t);

	if (code < 0)
		return TIDE_EGRESS_SILENT;
	if (code / 100 != 2)
		return TIDE_EGRESS_UNCLEAR; /* it speaks, but not with us */
	code = say(t, "EHLO ", own_name(name, sizeof name));
	if (code / 100 == 5)
		code = say(t, "HELO ", name);
	if (code / 100 != 2)
		return code < 0 ? TIDE_EGRESS_SILENT : TIDE_EGRESS_UNCLEAR;
	code = say(t, "MAIL FROM:<", ">");
	if (code / 100 != 2)
		return judge(code);
	(void)snprintf(to, sizeof to, "%s>", rcpt);
	code = say(t, "RCPT TO:<", to);
	return code / 100 == 2 ? TIDE_EGRESS_RELAY : judge(code);
}

enum tide_egress_verdict
egress_probe(const struct tide_ip *ip, const struct egress_options *o,
    char *said, size_t size)
{
	struct talk t;
	enum tide_egress_verdict verdict = TIDE_EGRESS_UNREACHABLE;
	char ignored[8];

	memset(&t, 0, sizeof t);
	t.deadline_ms = tide_clock_mono_ms() + o->timeout_ms;
	t.said = said;
	t.size = size;
	said[0] = '\0';
	if (reach(&t, ip, o->port)) {
		verdict = converse(&t, o->rcpt);
		t.said = ignored;
		t.size = sizeof ignored;
		if (verdict != TIDE_EGRESS_SILENT && say(&t, "RSET", "") >= 0)
			(void)say(&t, "QUIT", "");
	}
	if (t.fd >= 0)
		(void)close(t.fd);
	return verdict;
}
