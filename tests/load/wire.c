/*
 * wire - see wire.h.  Sockets stay blocking for connect(2), because a full
 * backlog of a unix socket makes a non-blocking one fail at once instead of
 * waiting; reads and writes ask for MSG_DONTWAIT and poll.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_AT = 65536, FRAME_MAX = 1 << 20, READ_AT_ONCE = 4096 };

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
reserve(struct wire_buf *b, size_t more)
{
	if (b->room - b->len >= more)
		return;
	b->room = b->len + more + b->room;
	b->data = realloc(b->data, b->room);
	if (!b->data)
		abort();
}

static void
append(struct wire_buf *b, const void *data, size_t len)
{
	if (!len)
		return;
	reserve(b, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void
drop_front(struct wire_buf *b, size_t n)
{
	b->len -= n;
	if (b->len)
		memmove(b->data, b->data + n, b->len);
}

__attribute__((format(printf, 3, 4))) static enum wire_state
fail(struct wire *w, enum wire_state state, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, sizeof w->why, fmt, ap);
	va_end(ap);
	return state;
}

void
wire_init(struct wire *w, int timeout_ms)
{
	memset(w, 0, sizeof *w);
	w->fd = -1;
	w->timeout_ms = timeout_ms;
}

void
wire_close(struct wire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	w->out.len = w->in.len = w->frame = 0;
}

void
wire_free(struct wire *w)
{
	wire_close(w);
	free(w->out.data);
	free(w->in.data);
	free(w->taken.data);
}

/* ---- dialling ---- */

static enum wire_state
dial(struct wire *w, const char *name, const struct sockaddr *a, socklen_t len)
{
	const struct timeval limit = { w->timeout_ms / 1000,
		w->timeout_ms % 1000 * 1000 };
	const int on = 1;

	w->fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (w->fd < 0)
		return fail(w, WIRE_REFUSED, "socket: %s", strerror(errno));
	setsockopt(w->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (a->sa_family != AF_UNIX)
		setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(w->fd, a, len) == 0)
		return WIRE_OK;
	fail(w, WIRE_REFUSED, "%s: %s", name, strerror(errno));
	wire_close(w);
	return WIRE_REFUSED;
}

static enum wire_state
dial_local(struct wire *w, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof a.sun_path)
		return fail(w, WIRE_REFUSED, "%s: path too long", path);
	strcpy(a.sun_path, path);
	return dial(w, path, (struct sockaddr *)&a, sizeof a);
}

static enum wire_state
dial_inet(struct wire *w, int family, const char *spec)
{
	const struct addrinfo hints = { .ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV };
	const char *at = strchr(spec, '@');
	struct addrinfo *found;
	enum wire_state state;
	char port[8];
	int rc;

	snprintf(port, sizeof port, "%.*s", (int)strcspn(spec, "@"), spec);
	rc = getaddrinfo(at ? at + 1 : NULL, port, &hints, &found);
	if (rc)
		return fail(w, WIRE_REFUSED, "%s: %s", spec, gai_strerror(rc));
	state = dial(w, spec, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return state;
}

enum wire_state
wire_dial(struct wire *w, const char *where)
{
	wire_close(w);
	w->broken = WIRE_OK;
	if (strncmp(where, "inet:", 5) == 0)
		return dial_inet(w, AF_INET, where + 5);
	if (strncmp(where, "inet6:", 6) == 0)
		return dial_inet(w, AF_INET6, where + 6);
	if (strncmp(where, "local:", 6) == 0)
		return dial_local(w, where + 6);
	if (strncmp(where, "unix:", 5) == 0)
		return dial_local(w, where + 5);
	return dial_local(w, where);
}

/* ---- sending ---- */

void
wire_begin(struct wire *w, char cmd)
{
	const char head[5] = { 0, 0, 0, 0, cmd };

	w->frame = w->out.len;
	append(&w->out, head, sizeof head);
}

void
wire_add(struct wire *w, const void *data, size_t len)
{
	append(&w->out, data, len);
}

void
wire_add_str(struct wire *w, const char *s)
{
	append(&w->out, s, strlen(s) + 1);
}

enum wire_state
wire_end(struct wire *w)
{
	const uint32_t len = htonl((uint32_t)(w->out.len - w->frame - 4));

	memcpy(w->out.data + w->frame, &len, sizeof len);
	return w->out.len < FLUSH_AT ? WIRE_OK : wire_flush(w);
}

/* Wait until the socket is ready or the deadline is past. */
static enum wire_state
ready(struct wire *w, short events, int64_t deadline)
{
	struct pollfd p = { .fd = w->fd, .events = events };
	int64_t left;
	int rc;

	do {
		left = deadline - now_ms();
		rc = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return fail(w, WIRE_LATE, "nothing for %d ms", w->timeout_ms);
	return WIRE_OK; /* errors show in the next send or recv */
}

/* What a failed send or recv means: go on waiting, or the end. */
static enum wire_state
blocked(struct wire *w, short events, int64_t deadline)
{
	if (errno == EINTR)
		return WIRE_OK;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return ready(w, events, deadline);
	return fail(w, WIRE_LOST, "%s", strerror(errno));
}

enum wire_state
wire_flush(struct wire *w)
{
	const int64_t deadline = now_ms() + w->timeout_ms;
	enum wire_state state = WIRE_OK;
	size_t at = 0;
	ssize_t n;

	if (w->broken != WIRE_OK)
		return w->broken;
	assert(w->fd >= 0);
	while (at < w->out.len && state == WIRE_OK) {
		n = send(w->fd, w->out.data + at, w->out.len - at,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			state = blocked(w, POLLOUT, deadline);
		else
			at += (size_t)n;
	}
	w->out.len = 0;
	w->broken = state; /* part of a frame may have left */
	return state;
}

/* ---- receiving ---- */

/* Receive until at least need bytes lie in w->in. */
static enum wire_state
fill(struct wire *w, size_t need, int64_t deadline)
{
	enum wire_state state = WIRE_OK;
	ssize_t n;

	while (w->in.len < need && state == WIRE_OK) {
		reserve(&w->in, need > READ_AT_ONCE ? need : READ_AT_ONCE);
		n = recv(w->fd, w->in.data + w->in.len, w->in.room - w->in.len,
		    MSG_DONTWAIT);
		if (n == 0)
			return fail(w, WIRE_LOST, "closed by the filter");
		if (n < 0)
			state = blocked(w, POLLIN, deadline);
		else
			w->in.len += (size_t)n;
	}
	return state;
}

enum wire_state
wire_take(struct wire *w, char *cmd, const char **data, size_t *len)
{
	const int64_t deadline = now_ms() + w->timeout_ms;
	enum wire_state state = fill(w, 4, deadline);
	uint32_t size;

	if (state != WIRE_OK)
		return state;
	memcpy(&size, w->in.data, sizeof size);
	size = ntohl(size);
	if (size < 1 || size > FRAME_MAX)
		return fail(w, WIRE_BAD, "a frame of %u bytes", size);
	state = fill(w, 4 + (size_t)size, deadline);
	if (state != WIRE_OK)
		return state;
	w->taken.len = 0;
	append(&w->taken, w->in.data + 4, size);
	append(&w->taken, "", 1);
	drop_front(&w->in, 4 + (size_t)size);
	*cmd = w->taken.data[0];
	*data = w->taken.data + 1;
	*len = size - 1;
	return WIRE_OK;
}

bool
wire_unasked(struct wire *w)
{
	char c;

	if (w->in.len)
		return true;
	return recv(w->fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}
