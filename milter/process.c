/*
 * process - pidfds, and starts as /proc has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

#define SPARE_DESCRIPTORS 16 /* to accept connections, log, follow the map */

uint64_t
process_ticks(void)
{
	struct timespec t;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * hz +
	    (uint64_t)t.tv_nsec / (1000000000u / hz);
}

uint64_t
process_ms(uint64_t ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	return ticks / hz * 1000 + ticks % hz * 1000 / hz;
}

/* When it was started; 0 if /proc does not say. */
static uint64_t
start_of(pid_t pid)
{
	char path[32], text[1024], *p;
	unsigned long long ticks = 0;
	ssize_t n;
	int fd, i;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may hold anything */
	for (i = 0; p != NULL && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (p == NULL || sscanf(p, " %llu", &ticks) != 1)
		return 0;
	return ticks;
}

/* Not the last descriptors: with none left nobody could be served. */
static int
open_pidfd(pid_t pid)
{
	struct rlimit most;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &most) < 0 ||
	    (rlim_t)fd + SPARE_DESCRIPTORS < most.rlim_cur)
		return fd;
	(void)close(fd);
	errno = EMFILE;
	return -1;
}

bool
process_has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

enum process_state
process_hold(pid_t pid, uint64_t ticks, int *pidfd)
{
	enum process_state state = PROCESS_UNKNOWN;
	uint64_t start;
	int fd;

	*pidfd = -1;
	if (pid <= 0)
		return PROCESS_GONE;
	fd = open_pidfd(pid);
	if (fd < 0 && errno == ESRCH)
		return PROCESS_GONE;
	/* asked for after the pidfd: it is of this process, or it has ended */
	start = start_of(pid);
	if (start > ticks || (fd >= 0 && process_has_ended(fd)))
		state = PROCESS_GONE;
	else if (fd >= 0 && start != 0)
		state = PROCESS_LIVES;
	if (state == PROCESS_LIVES)
		*pidfd = fd;
	else if (fd >= 0)
		(void)close(fd);
	return state;
}

void
process_signal(int pidfd, int sig)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}
