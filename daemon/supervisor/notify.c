/*
 * notify - systemd's protocol, without its library.
 *
 * We tell the service manager how we are: one datagram to $NOTIFY_SOCKET.
 * Without one, nothing happens.  With a datagram we can also give it
 * descriptors to keep (FDSTORE=1); it hands them to whom it starts in our
 * place, from 3 on, with their names in $LISTEN_FDNAMES.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../daemon.h"

#define FIRST_PASSED 3
#define PASSED_MAX 64

/* ---- telling ----------------------------------------------------------- */

static bool
find_manager(struct sockaddr_un *to, socklen_t *size)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length;

	if (path == NULL || (path[0] != '/' && path[0] != '@') ||
	    strlen(path) >= sizeof to->sun_path)
		return false;
	length = strlen(path);
	memcpy(to->sun_path, path, length);
	if (path[0] == '@') /* an abstract address */
		to->sun_path[0] = '\0';
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	return true;
}

/* The text, and a descriptor unless it is -1. */
static void
tell(const char *text, int passed)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct iovec line = { .iov_base = (void *)(uintptr_t)text,
		.iov_len = strlen(text) };
	struct msghdr m = {
		.msg_name = &to, .msg_iov = &line, .msg_iovlen = 1
	};
	struct cmsghdr *c;
	int fd;

	if (!find_manager(&to, &m.msg_namelen))
		return;
	if (passed >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof passed);
		memcpy(CMSG_DATA(c), &passed, sizeof passed);
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendmsg(fd, &m, MSG_NOSIGNAL);
	(void)close(fd);
}

void
notify(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tell(text, -1);
}

unsigned
notify_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");

	if (usec == NULL || (pid != NULL && atoi(pid) != (int)getpid()))
		return 0;
	return (unsigned)(strtoul(usec, NULL, 10) / 2000);
}

/* ---- descriptors ------------------------------------------------------- */

static bool keeping;

static struct {
	bool looked;
	unsigned count;
	char name[PASSED_MAX][NOTIFY_NAME_MAX]; /* "": taken */
} passed;

bool
notify_keep(bool wanted)
{
	struct sockaddr_un to;
	socklen_t size;

	keeping = wanted && find_manager(&to, &size);
	return keeping;
}

/* FDPOLL=0: it would let go of a pipe whose other end nobody holds just now. */
void
notify_store(const char *name, int fd)
{
	char text[NOTIFY_NAME_MAX + 64];

	if (!keeping)
		return;
	(void)snprintf(
	    text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
	tell(text, fd);
}

static void
look_at_passed(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	unsigned i;
	size_t n;

	passed.looked = true;
	if (pid == NULL || count == NULL || names == NULL ||
	    atoi(pid) != (int)getpid())
		return;
	passed.count = (unsigned)strtoul(count, NULL, 10);
	if (passed.count > PASSED_MAX)
		passed.count = PASSED_MAX;
	for (i = 0; i < passed.count; i++) {
		(void)fcntl(FIRST_PASSED + (int)i, F_SETFD, FD_CLOEXEC);
		n = strcspn(names, ":");
		(void)snprintf(passed.name[i], sizeof passed.name[i], "%.*s",
		    (int)n, names);
		names += n + (names[n] == ':');
	}
}

int
notify_take(const char *name)
{
	unsigned i;

	if (!passed.looked)
		look_at_passed();
	for (i = 0; i < passed.count; i++) {
		if (strcmp(passed.name[i], name) != 0)
			continue;
		passed.name[i][0] = '\0';
		return FIRST_PASSED + (int)i;
	}
	return -1;
}

void
notify_drop(const char *name, int fd)
{
	notify("FDSTOREREMOVE=1\nFDNAME=%s", name);
	(void)close(fd);
}

void
notify_drop_rest(void)
{
	unsigned i;

	for (i = 0; i < passed.count; i++)
		if (passed.name[i][0] != '\0')
			notify_drop(passed.name[i], FIRST_PASSED + (int)i);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
}
