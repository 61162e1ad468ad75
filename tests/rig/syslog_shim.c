/*
 * syslog_shim - syslog into the file $RIG_LOG, for a preloaded program.
 *
 * A bare machine has no /dev/log, and one that has it should not see the
 * rig's mail.  The file is opened for each line: sendmail closes descriptors
 * it does not know.  The environment is read before main(), which wipes it.
 */
#undef _FORTIFY_SOURCE /* its syslog() is a macro, ours a function */

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

void __syslog_chk(int priority, int flag, const char *fmt, ...);
void __vsyslog_chk(int priority, int flag, const char *fmt, va_list ap);

static char path[512];

__attribute__((constructor)) static void
remember(void)
{
	const char *name = getenv("RIG_LOG");

	(void)snprintf(path, sizeof path, "%s", name != NULL ? name : "");
}

__attribute__((format(printf, 1, 0))) static void
put(const char *fmt, va_list ap)
{
	char line[4096];
	size_t n;
	struct timespec t;
	int fd, said;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	n = (size_t)snprintf(line, sizeof line, "mono_ns=%lld%09ld [%ld] ",
	    (long long)t.tv_sec, t.tv_nsec, (long)getpid());
	said = vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
	if (said < 0)
		return;
	n = strlen(line);
	if (line[n - 1] != '\n')
		line[n++] = '\n';
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd == -1)
		return;
	if (write(fd, line, n) == -1) {
		/* nowhere to complain to */
	}
	(void)close(fd);
}

void
vsyslog(int priority, const char *fmt, va_list ap)
{
	(void)priority;
	put(fmt, ap);
}

void
syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsyslog(priority, fmt, ap);
	va_end(ap);
}

void
__vsyslog_chk(int priority, int flag, const char *fmt, va_list ap)
{
	(void)flag;
	vsyslog(priority, fmt, ap);
}

void
__syslog_chk(int priority, int flag, const char *fmt, ...)
{
	va_list ap;

	(void)flag;
	va_start(ap, fmt);
	vsyslog(priority, fmt, ap);
	va_end(ap);
}
