/*
 * log - one line, one write.
 *
 * What others wrote into an address, a name or a file comes by here whatever
 * way it took: here, once for all, it is made harmless on a terminal.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/base/printable.h"

#define LINE_MAX_BYTES 4096

#define TO_SYSLOG (-1)

/*
 * One thread may take over a new configuration while others speak: each word
 * stands for itself.  The file keeps its descriptor for good (a new one is
 * put in its place by dup3), so that nobody writes to one just closed.
 */
static struct {
	const char *_Atomic who;
	atomic_int fd; /* or TO_SYSLOG */
	atomic_int level;
} out = { "tidemark", STDERR_FILENO, TIDE_LOG_INFO };

static int
open_file(const char *path)
{
	static atomic_int file = -1;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	int kept = atomic_load(&file);

	if (fd < 0)
		return STDERR_FILENO;
	if (kept < 0) {
		atomic_store(&file, fd);
		return fd;
	}
	(void)dup3(fd, kept, O_CLOEXEC);
	(void)close(fd);
	return kept;
}

void
tide_log_open(const char *who, const char *where, enum tide_log_level level)
{
	out.who = who;
	out.level = (int)level;
	if (strcmp(where, "syslog") == 0) {
		openlog(who, LOG_PID, LOG_MAIL);
		out.fd = TO_SYSLOG;
	} else if (strcmp(where, "stderr") == 0) {
		out.fd = STDERR_FILENO;
	} else {
		out.fd = open_file(where);
	}
}

bool
tide_log_wants(enum tide_log_level level)
{
	return (int)level <= out.level;
}

static void
to_fd(int fd, enum tide_log_level level, const char *line)
{
	static const char *const names[] = { "error: ", "warning: ", "",
		"debug: " };
	char text[LINE_MAX_BYTES + 128], when[32];
	int n;

	n = snprintf(text, sizeof text, "%s %s[%d]: %s%s\n",
	    tide_clock_show(tide_clock_wall_ms(), when, sizeof when), out.who,
	    (int)getpid(), names[level], line);
	if (n > 0 && write(fd, text, strnlen(text, sizeof text)) < 0)
		return; /* a full disk must not stop the mail */
}

void
tide_log(enum tide_log_level level, const char *fmt, ...)
{
	static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO,
		LOG_DEBUG };
	char said[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
	int fd = out.fd;
	va_list ap;

	if (!tide_log_wants(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(said, sizeof said, fmt, ap);
	va_end(ap);
	(void)tide_printable_escape(line, sizeof line, said);
	if (fd == TO_SYSLOG)
		syslog(priority[level], "%s", line);
	else
		to_fd(fd, level, line);
}
