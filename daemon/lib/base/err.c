/*
 * err - the sentence that says what went wrong.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tidemark/base/err.h"

void
tide_err_say(struct tide_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
}

void
tide_err_say_errno(struct tide_err *err, const char *fmt, ...)
{
	char why[128];
	const char *reason = strerror_r(errno, why, sizeof why);
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	(void)snprintf(err->text + n, sizeof err->text - n, ": %s", reason);
}
