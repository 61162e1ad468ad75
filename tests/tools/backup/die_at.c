/*
 * die_at - preloaded, kills its program before the DIE_AT-th call that changes
 * a file or a folder; with DIE_ERRNO, that call fails instead, and says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* True if the call is to fail. */
static int
step(void)
{
	static int n;
	const char *at = getenv("DIE_AT"), *fault = getenv("DIE_ERRNO");

	if (at == NULL || ++n != atoi(at))
		return 0;
	if (fault == NULL)
		(void)kill(getpid(), SIGKILL);
	(void)dprintf(STDERR_FILENO, "die_at: step %d fails\n", n);
	errno = fault != NULL ? atoi(fault) : 0;
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define CALL1(type, name, t1)                             \
	type name(t1 a)                                   \
	{                                                 \
		return step() ? (type)-1 : REAL(name)(a); \
	}
#define CALL2(type, name, t1, t2)                            \
	type name(t1 a, t2 b)                                \
	{                                                    \
		return step() ? (type)-1 : REAL(name)(a, b); \
	}
#define CALL3(type, name, t1, t2, t3)                           \
	type name(t1 a, t2 b, t3 c)                             \
	{                                                       \
		return step() ? (type)-1 : REAL(name)(a, b, c); \
	}

CALL1(int, fsync, int)
CALL1(int, unlink, const char *)
CALL1(int, rmdir, const char *)
CALL2(int, rename, const char *, const char *)
CALL2(int, link, const char *, const char *)
CALL2(int, mkdir, const char *, mode_t)
CALL2(int, fchmod, int, mode_t)
CALL3(int, fchown, int, uid_t, gid_t)

ssize_t
sendfile(int to, int from, off_t *at, size_t n)
{
	return step() ? -1 : REAL(sendfile)(to, from, at, n);
}

/* Of files: terminals and pipes change nothing. */
ssize_t
write(int fd, const void *bytes, size_t n)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && step())
		return -1;
	return REAL(write)(fd, bytes, n);
}

int
open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if ((flags & O_CREAT) != 0 && step())
		return -1;
	return REAL(open)(path, flags, mode);
}
