/*
 * log - where Tidemark speaks to the postmaster: syslog (LOG_MAIL), stderr or
 * a file.  One line, one write: lines of many processes never mix.  Control
 * characters and bytes that are no UTF-8 are written as \u009b or \x9b.
 */
#ifndef TIDEMARK_LOG_H
#define TIDEMARK_LOG_H

#include <stdbool.h>

enum tide_log_level {
	TIDE_LOG_ERROR,
	TIDE_LOG_WARNING,
	TIDE_LOG_INFO,
	TIDE_LOG_DEBUG
};

/*
 * Speak as `who` from now on, to "syslog", "stderr" or a file.  May be called
 * again (reload, rotated file).  A file that cannot be opened leaves stderr.
 */
void tide_log_open(const char *who, const char *where, enum tide_log_level);

void tide_log(enum tide_log_level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Is anybody listening at this level?  (to save the making of a line) */
bool tide_log_wants(enum tide_log_level);

#endif
