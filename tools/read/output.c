/*
 * output - tones, moments, and the end of stdout.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "tidemark/base/printable.h"

static bool colored;
static _Thread_local FILE *talk; /* NULL: stderr */
static _Thread_local const char *subject;
static int write_error; /* the first one of stdout */

static bool
wanted_by_itself(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || no[0] == '\0') &&
	    (term == NULL || strcmp(term, "dumb") != 0) &&
	    isatty(STDOUT_FILENO);
}

bool
output_color(const char *when)
{
	if (strcmp(when, "auto") == 0)
		colored = wanted_by_itself();
	else if (strcmp(when, "always") == 0)
		colored = true;
	else if (strcmp(when, "never") == 0)
		colored = false;
	else
		return false;
	return true;
}

bool
output_is_colored(void)
{
	return colored;
}

const char *
tone(enum tone t)
{
	static const char *const codes[] = { [TONE_PLAIN] = "\033[0m",
		[TONE_GOOD] = "\033[32m",
		[TONE_BAD] = "\033[1;31m",
		[TONE_STRONG] = "\033[1m",
		[TONE_FAINT] = "\033[2m",
		[TONE_WARN] = "\033[33m" };

	return colored ? codes[t] : "";
}

const char *
show_moment(uint64_t wall_ms, char *buf, size_t size)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (wall_ms == 0)
		(void)snprintf(buf, size, "never");
	else if (localtime_r(&seconds, &tm) == NULL ||
	    strftime(buf, size, "%Y-%m-%d %H:%M:%S %Z", &tm) == 0)
		(void)snprintf(
		    buf, size, "@%llu", (unsigned long long)(wall_ms / 1000));
	return buf;
}

const char *
show_span(uint64_t ms, char *buf, size_t size)
{
	unsigned long long s = (ms + 500) / 1000, min = s / 60, h = min / 60;

	if (s < 10)
		(void)snprintf(buf, size, "%.1f s", (double)ms / 1000);
	else if (s < 120)
		(void)snprintf(buf, size, "%llu s", s);
	else if (min < 60)
		(void)snprintf(buf, size, "%llu min", min);
	else if (h < 48)
		(void)snprintf(buf, size, "%llu h %llu min", h, min % 60);
	else
		(void)snprintf(buf, size, "%llu d %llu h", h / 24, h % 24);
	return buf;
}

const char *
show_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
		"TiB" };
	double n = (double)bytes;
	unsigned i = 0;

	while (n >= 1024 && i + 1 < sizeof units / sizeof *units) {
		n /= 1024;
		i++;
	}
	(void)snprintf(buf, size, i == 0 ? "%.0f %s" : "%.1f %s", n, units[i]);
	return buf;
}

const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *
show_chance(double p, char *buf, size_t size)
{
	if (p >= 0.0005)
		(void)snprintf(buf, size, "%.2g%%", p * 100);
	else if (p >= 1e-6)
		(void)snprintf(buf, size, "1 in %.0f thousand", 1e-3 / p);
	else if (p >= 1e-9)
		(void)snprintf(buf, size, "1 in %.0f million", 1e-6 / p);
	else
		(void)snprintf(buf, size, "less than 1 in a billion");
	return buf;
}

bool
output_flush(void)
{
	if (fflush(stdout) == 0)
		return true;
	if (write_error == 0)
		write_error = errno;
	return false;
}

void
complain_to(FILE *f)
{
	talk = f;
}

void
complain_about(const char *what)
{
	subject = what;
}

void
put_foreign(FILE *to, const char *s)
{
	size_t n = strlen(s), step;

	for (; n > 0; s += step, n -= step) {
		step = *s == '\n' || *s == '\t'
		    ? 1
		    : tide_printable_character(s, n);
		if (step > 0) {
			(void)fwrite(s, 1, step, to);
			continue;
		}
		step = tide_printable_stumble(s, n);
		(void)fputc('?', to);
	}
}

void
complain(const char *fmt, ...)
{
	FILE *to = talk != NULL ? talk : stderr;
	char *text = NULL;
	va_list ap;
	int n;

	(void)output_flush(); /* talk comes after data */
	if (talk == NULL)
		(void)fputs("tidemark: ", stderr);
	if (subject != NULL) {
		put_foreign(to, subject);
		(void)fputs(": ", to);
	}
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	put_foreign(to, n >= 0 ? text : fmt);
	(void)fputc('\n', to);
	if (n >= 0)
		free(text);
}

int
output_finish(int code)
{
	bool failed = ferror(stdout) != 0;

	errno = 0;
	if (fflush(stdout) == 0 && !failed)
		return code;
	if (write_error == 0)
		write_error = errno;
	complain("cannot write the output: %s",
	    write_error != 0 ? strerror(write_error) : "a write failed");
	return TOOL_ERROR;
}
