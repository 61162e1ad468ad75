/*
 * log - one line, one write.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "tidemark/clock.h"
#include "tidemark/log.h"

#define LINE_MAX_BYTES 4096

static struct {
	const char *who;
	int fd; /* -1: syslog */
	enum tide_log_level level;
} out = { "tidemark", STDERR_FILENO, TIDE_LOG_INFO };

void
tide_log_open(const char *who, const char *where, enum tide_log_level level)
{
	int fd = STDERR_FILENO, old = out.fd;

	out.who = who;
	out.level = level;
	if (strcmp(where, "syslog") == 0) {
		openlog(who, LOG_PID, LOG_MAIL);
		fd = -1;
	} else if (strcmp(where, "stderr") != 0) {
		fd = open(
		    where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
		if (fd < 0)
			fd = STDERR_FILENO;
	}
	out.fd = fd;
	if (old > STDERR_FILENO)
		(void)close(old);
}

bool
tide_log_wants(enum tide_log_level level)
{
	return level <= out.level;
}

static void
to_fd(enum tide_log_level level, const char *line)
{
	static const char *const names[] = { "error: ", "warning: ", "",
		"debug: " };
	char text[LINE_MAX_BYTES + 128], when[32];
	int n;

	n = snprintf(text, sizeof text, "%s %s[%d]: %s%s\n",
	    tide_clock_show(tide_clock_wall_ms(), when, sizeof when), out.who,
	    (int)getpid(), names[level], line);
	if (n > 0 && write(out.fd, text, strnlen(text, sizeof text)) < 0)
		return; /* a full disk must not stop the mail */
}

void
tide_log(enum tide_log_level level, const char *fmt, ...)
{
	static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO,
		LOG_DEBUG };
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (!tide_log_wants(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (out.fd < 0)
		syslog(priority[level], "%s", line);
	else
		to_fd(level, line);
}
