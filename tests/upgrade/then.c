/*
 * then - preloaded, lets a program live at another time on another machine:
 * its clocks are off by THEN_WALL_MS and THEN_MONO_MS (milliseconds to add),
 * and the kernel's boot id is THEN_BOOT_ID.
 *
 * CLOCK_BOOTTIME stays: what it is compared with is in /proc.  Deadlines are
 * turned back into the kernel's time, by whichever clock they are near to.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define SECOND 1000000000ll

static int64_t
from_environment(const char *name)
{
	const char *text = getenv(name);

	return text == NULL ? 0 : atoll(text) * 1000000;
}

/* ---- clocks ------------------------------------------------------------ */

static int64_t
real_ns(clockid_t id)
{
	struct timespec t = { 0 };

	(void)syscall(SYS_clock_gettime, id, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static int64_t
then_ns(clockid_t id)
{
	static int64_t wall, mono;

	if (wall == 0)
		wall = from_environment("THEN_WALL_MS");
	if (mono == 0)
		mono = from_environment("THEN_MONO_MS");
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return real_ns(id) + wall;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
		return real_ns(id) + mono;
	default:
		return real_ns(id);
	}
}

static struct timespec
spec(int64_t ns)
{
	return (
	    struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

int
clock_gettime(clockid_t id, struct timespec *t)
{
	*t = spec(then_ns(id));
	return 0;
}

time_t
time(time_t *t)
{
	time_t now = (time_t)(then_ns(CLOCK_REALTIME) / SECOND);

	if (t != NULL)
		*t = now;
	return now;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	int64_t us = then_ns(CLOCK_REALTIME) / 1000;

	(void)zone;
	*t =
	    (struct timeval){ .tv_sec = us / 1000000, .tv_usec = us % 1000000 };
	return 0;
}

/* ---- deadlines --------------------------------------------------------- */

int
pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id,
    const struct timespec *until)
{
	int64_t left = until->tv_sec * SECOND + until->tv_nsec - then_ns(id);
	struct timespec t =
	    spec(real_ns(CLOCK_MONOTONIC) + (left > 0 ? left : 0));

	return REAL(pthread_cond_clockwait)(c, m, CLOCK_MONOTONIC, &t);
}

int
pthread_cond_timedwait(
    pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	int64_t middle =
	    then_ns(CLOCK_REALTIME) / 2 + then_ns(CLOCK_MONOTONIC) / 2;

	return pthread_cond_clockwait(c, m,
	    until->tv_sec > middle / SECOND ? CLOCK_REALTIME : CLOCK_MONOTONIC,
	    until);
}

/* ---- the boot id ------------------------------------------------------- */

/* A file that holds it, or -1 if another one is meant. */
static int
boot_id(const char *path)
{
	const char *id = getenv("THEN_BOOT_ID");
	int fd;

	if (id == NULL || strcmp(path, "/proc/sys/kernel/random/boot_id") != 0)
		return -1;
	fd = memfd_create("boot_id", MFD_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%s\n", id) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	return fd;
}

FILE *
fopen(const char *restrict path, const char *restrict mode)
{
	int fd = boot_id(path);

	return fd >= 0 ? fdopen(fd, "r") : REAL(fopen)(path, mode);
}

int
open(const char *path, int flags, ...)
{
	int fd = boot_id(path);
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fd >= 0 ? fd : REAL(open)(path, flags, mode);
}

/* What open() without a mode becomes under _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int
__open_2(const char *path, int flags)
{
	return open(path, flags);
}
