/*
 * clock - waits that no clock step lengthens; moments, as people write and
 * read them.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"

/* By the second clock; one that ran backwards is of another boot. */
struct tide_clock_change
tide_clock_between(struct tide_moment then, struct tide_moment now)
{
	uint64_t passed =
	    now.boot_ms > then.boot_ms ? now.boot_ms - then.boot_ms : 0;
	struct tide_clock_change c = { .before_ms = then.wall_ms + passed,
		.after_ms = now.wall_ms > passed ? now.wall_ms - passed : 0 };
	uint64_t off = now.wall_ms > c.before_ms ? now.wall_ms - c.before_ms
						 : c.before_ms - now.wall_ms;

	c.stepped = off > TIDE_CLOCK_SLACK_MS;
	return c;
}

uint64_t
tide_clock_earliest(
    const struct tide_clock_change *c, uint64_t began_ms, uint64_t now_ms)
{
	uint64_t behind = c->before_ms > now_ms ? c->before_ms - now_ms : 0;

	if (c->after_ms >= began_ms)
		return began_ms; /* there already, long before */
	return began_ms > behind ? began_ms - behind : 0;
}

static int64_t
lack(struct tide_moment m)
{
	return (int64_t)m.wall_ms - (int64_t)m.boot_ms;
}

static bool
is_near(int64_t a, int64_t b)
{
	return (a > b ? a - b : b - a) <= TIDE_CLOCK_SLACK_MS;
}

void
tide_settled_begin(
    struct tide_settled *s, struct tide_moment now, uint64_t settled_ms)
{
	*s = (struct tide_settled){ .lack_ms = lack((struct tide_moment){
					settled_ms, now.boot_ms }) };
}

enum tide_settling
tide_settled_round(struct tide_settled *s, struct tide_moment now)
{
	int64_t other = lack(now);
	bool was = s->doubted;

	if (is_near(other, s->lack_ms)) {
		s->lack_ms = other;
		s->doubted = false;
		return was ? TIDE_CLOCK_IS_BACK : TIDE_CLOCK_AGREES;
	}
	if (!was || !is_near(other, s->other_ms)) {
		s->doubted = true;
		s->other_ms = other;
		s->since_ms = now.boot_ms;
		return TIDE_CLOCK_WAS_SET;
	}
	s->other_ms = other;
	if (now.boot_ms - s->since_ms < TIDE_CLOCK_CONFIRM_MS)
		return TIDE_CLOCK_AGREES;
	s->lack_ms = other;
	s->doubted = false;
	return TIDE_CLOCK_CONFIRMED;
}

struct timespec
tide_clock_deadline(uint64_t ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

void
tide_clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int rc = pthread_condattr_init(&attr);

	assert(rc == 0);
	rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	assert(rc == 0);
	rc = pthread_cond_init(cond, &attr);
	assert(rc == 0);
	(void)pthread_condattr_destroy(&attr);
}

const char *
tide_clock_show(uint64_t wall_ms, char *buf, size_t size)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(
		    buf, size, "@%llu", (unsigned long long)(wall_ms / 1000));
	return buf;
}

/* True if the whole text is of the form, with or without a final Z. */
static bool
matches(const char *text, const char *form, struct tm *tm, bool *utc)
{
	const char *end;

	*tm = (struct tm){ .tm_isdst = -1 };
	end = strptime(text, form, tm);
	if (end == NULL)
		return false;
	*utc = *end == 'Z';
	return end[*utc ? 1 : 0] == '\0';
}

static bool
parse_calendar(const char *text, uint64_t *wall_ms)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S",
		"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
		"%Y-%m-%d" };
	struct tm tm;
	time_t seconds;
	bool utc;
	size_t i;
	int day;

	for (i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (!matches(text, forms[i], &tm, &utc))
			continue;
		day = tm.tm_mday;
		seconds = utc ? timegm(&tm) : mktime(&tm);
		if (seconds < 0 || tm.tm_mday != day)
			return false; /* 31 February is not 3 March */
		*wall_ms = (uint64_t)seconds * 1000;
		return true;
	}
	return false;
}

static bool
parse_seconds(const char *text, uint64_t *wall_ms)
{
	unsigned long long seconds;
	char *end;

	if (text[0] != '@' || text[1] < '0' || text[1] > '9')
		return false;
	seconds = strtoull(text + 1, &end, 10);
	if (*end != '\0' || seconds > UINT64_MAX / 1000)
		return false;
	*wall_ms = seconds * 1000;
	return true;
}

int
tide_clock_parse(
    const char *text, uint64_t now_ms, uint64_t *wall_ms, struct tide_err *err)
{
	uint64_t ago;

	if (strcmp(text, "now") == 0) {
		*wall_ms = now_ms;
		return 0;
	}
	if (parse_calendar(text, wall_ms) || parse_seconds(text, wall_ms))
		return 0;
	if (tide_time_parse(text, &ago, err) == 0) {
		*wall_ms = ago < now_ms ? now_ms - ago : 0;
		return 0;
	}
	return tide_err_set(err,
	    "«%s» is no moment: write 2026-11-16, 2026-11-16T12:37, 3h "
	    "(ago) or now",
	    text);
}
