/*
 * replay, log - a message's line, taken apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replay.h"

/* ---- times ------------------------------------------------------------- */

/* +01:00, +0100 or Z, in seconds; local time without any of them. */
static bool
read_zone(const char *text, struct tm *tm, time_t *seconds)
{
	int h, m, n;

	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if (*text != '+' && *text != '-') {
		*seconds = *text == 'Z' ? timegm(tm) : mktime(tm);
		return *text == 'Z' || *text == ' ';
	}
	n = sscanf(text + 1, "%2d:%2d", &h, &m);
	if (n != 2)
		n = sscanf(text + 1, "%2d%2d", &h, &m);
	if (n != 2)
		return false;
	*seconds = timegm(tm) - (*text == '-' ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

/* Without a year it is the last such day. */
static bool
read_plain(const char *text, uint64_t now_ms, time_t *seconds)
{
	time_t now = (time_t)(now_ms / 1000);
	struct tm tm, today;

	if (localtime_r(&now, &today) == NULL)
		return false;
	tm = today;
	if (strptime(text, "%b %d %H:%M:%S", &tm) == NULL)
		return false;
	tm.tm_isdst = -1;
	*seconds = mktime(&tm);
	if (*seconds > now + 86400) {
		tm.tm_year--;
		tm.tm_isdst = -1;
		*seconds = mktime(&tm);
	}
	return true;
}

static bool
read_time(const char *text, uint64_t now_ms, uint64_t *wall_ms)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t seconds = 0;

	tm.tm_isdst = -1;
	if (rest != NULL ? !read_zone(rest, &tm, &seconds)
			 : !read_plain(text, now_ms, &seconds))
		return false;
	if (seconds <= 0)
		return false;
	*wall_ms = (uint64_t)seconds * 1000;
	return true;
}

/* ---- fields ------------------------------------------------------------ */

/* The word behind " name="; false if it is not there or too long. */
static bool
read_word(const char *line, const char *name, char *out, size_t size)
{
	const char *at = strstr(line, name);
	size_t n;

	if (at == NULL)
		return false;
	at += strlen(name);
	n = strcspn(at, " \r\n");
	if (n >= size)
		return false;
	memcpy(out, at, n);
	out[n] = '\0';
	return true;
}

static bool
read_count(const char *line, const char *name, uint32_t *out)
{
	char text[16], *end;
	unsigned long n;

	if (!read_word(line, name, text, sizeof text) || text[0] == '-')
		return false;
	n = strtoul(text, &end, 10);
	*out = (uint32_t)n;
	return end != text && *end == '\0' && n <= 1000000;
}

bool
replay_parse(const char *text, uint64_t now_ms, struct replay_line *l)
{
	const char *who = strstr(text, "tidemark-milter["), *line;

	memset(l, 0, sizeof *l);
	line = who == NULL ? NULL : strstr(who, ": profile=");
	if (line == NULL || !read_time(text, now_ms, &l->wall_ms) ||
	    !read_word(line, " profile=", l->profile, sizeof l->profile) ||
	    !read_word(line, " client=", l->client, sizeof l->client) ||
	    !read_word(line, " auth=", l->auth, sizeof l->auth) ||
	    !read_word(line, " from=", l->from, sizeof l->from) ||
	    !read_count(line, " rcpts=", &l->recipients) ||
	    !read_count(line, " unknown=", &l->unknown))
		return false;
	if (strcmp(l->auth, "-") == 0)
		l->auth[0] = '\0';
	return true;
}
