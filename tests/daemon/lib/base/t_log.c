/*
 * Log lines, the table of counters, hashes.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/log.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

static const char *
log_path(const char *name)
{
	static char path[600];

	(void)snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
	return path;
}

static unsigned
lines_in(const char *path)
{
	size_t size, i;
	char *text = fixture_slurp(path, &size);
	unsigned n = 0;

	for (i = 0; i < size; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

/* ---- log --------------------------------------------------------------- */

static void
levels(void)
{
	const char *path = log_path("levels");
	size_t size;
	char *text;

	tide_log_open("tester", path, TIDE_LOG_WARNING);
	CHECK(tide_log_wants(TIDE_LOG_ERROR));
	CHECK(!tide_log_wants(TIDE_LOG_INFO));
	tide_log(TIDE_LOG_ERROR, "one %d", 1);
	tide_log(TIDE_LOG_WARNING, "two");
	tide_log(TIDE_LOG_INFO, "three");
	tide_log_open("tester", "stderr", TIDE_LOG_INFO);
	text = fixture_slurp(path, &size);
	CHECK(strstr(text, "]: error: one 1\n") != NULL);
	CHECK(strstr(text, "]: warning: two\n") != NULL);
	CHECK(strstr(text, " tester[") != NULL);
	CHECK(strstr(text, "three") == NULL);
	CHECK_INT(lines_in(path), 2);
	free(text);
}

/* A rotated file: after tide_log_open() lines go to the new one. */
static void
rotated(void)
{
	char old[700];
	const char *path = log_path("rotated");

	(void)snprintf(old, sizeof old, "%s.1", path);
	tide_log_open("tester", path, TIDE_LOG_INFO);
	tide_log(TIDE_LOG_INFO, "before");
	CHECK(rename(path, old) == 0);
	tide_log(TIDE_LOG_INFO, "still the old one");
	tide_log_open("tester", path, TIDE_LOG_INFO);
	tide_log(TIDE_LOG_INFO, "after");
	tide_log_open("tester", "stderr", TIDE_LOG_INFO);
	CHECK_INT(lines_in(old), 2);
	CHECK_INT(lines_in(path), 1);
}

static void
long_line(void)
{
	const char *path = log_path("long");
	static char much[20000];
	size_t size;

	memset(much, 'x', sizeof much - 1);
	tide_log_open("tester", path, TIDE_LOG_INFO);
	tide_log(TIDE_LOG_INFO, "%s", much);
	tide_log(TIDE_LOG_INFO, "next");
	tide_log_open("tester", "stderr", TIDE_LOG_INFO);
	CHECK_INT(lines_in(path), 2);
	free(fixture_slurp(path, &size));
	CHECK(size < 5000);
}

/* Whatever a sender wrote, and by whichever way it came here. */
static void
controls(void)
{
	const char *path = log_path("controls");
	size_t size;
	char *text;

	tide_log_open("tester", path, TIDE_LOG_INFO);
	tide_log(TIDE_LOG_INFO, "from=%s to=%s auth=%s name=%s",
	    "a\xc2\x9b"
	    "2J@b",
	    "x\xe2\x80\xae@y",
	    "p\x9b"
	    "q",
	    "m\xc3\xbcller\n");
	tide_log_open("tester", "stderr", TIDE_LOG_INFO);
	text = fixture_slurp(path, &size);
	CHECK_MSG(strstr(text,
		      "]: from=a\\u009b2J@b to=x\\u202e@y auth=p\\x9bq "
		      "name=m\xc3\xbcller\\x0a\n") != NULL,
	    "%s", text);
	CHECK_INT(lines_in(path), 1);
	free(text);
}

static void
no_such_folder(void)
{
	tide_log_open("tester", log_path("no/such"), TIDE_LOG_ERROR);
	tide_log(TIDE_LOG_INFO, "not wanted, and nowhere to go");
	tide_log_open("tester", "stderr", TIDE_LOG_INFO);
}

#define SPEAKERS 4
#define LINES 2000

static void *
speak(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < LINES; i++)
		tide_log(TIDE_LOG_INFO, "line %d", i);
	return NULL;
}

/* A reload while others speak loses no line and mixes none. */
static void
reopened_while_spoken_to(void)
{
	pthread_t speaker[SPEAKERS];
	const char *path = log_path("threads");
	int i;

	tide_log_open("tester", path, TIDE_LOG_INFO);
	for (i = 0; i < SPEAKERS; i++)
		CHECK(pthread_create(&speaker[i], NULL, speak, NULL) == 0);
	for (i = 0; i < 200; i++)
		tide_log_open("tester", path, TIDE_LOG_INFO);
	for (i = 0; i < SPEAKERS; i++)
		CHECK(pthread_join(speaker[i], NULL) == 0);
	tide_log_open("tester", "stderr", TIDE_LOG_INFO);
	CHECK_INT(lines_in(path), SPEAKERS * LINES);
}

/* ---- counters ---------------------------------------------------------- */

static void
counter_table(void)
{
	unsigned i, k;

	for (i = 0; i < TIDE_COUNTER_COUNT; i++) {
		const struct tide_counter_info *c = &tide_counter_info[i];
		const char *p;

		for (p = c->name; *p != '\0'; p++)
			CHECK_MSG(islower((unsigned char)*p) || *p == '_', "%s",
			    c->name);
		CHECK_MSG(
		    c->help[0] != '\0' && c->help[strlen(c->help) - 1] != '.',
		    "%s", c->name);
		for (k = 0; k < i; k++)
			CHECK_MSG(
			    strcmp(c->name, tide_counter_info[k].name) != 0,
			    "%s is there twice", c->name);
	}
}

static void
counting(void)
{
	static struct tide_counters c;

	tide_count(&c, TIDE_COUNT_LAPSES, 2);
	tide_count_profile(&c, 0, TIDE_COUNT_MESSAGES, 3);
	tide_count_profile(&c, TIDE_PROFILES_MAX - 1, TIDE_COUNT_MESSAGES, 4);
	CHECK_INT(tide_counter_get(&c, 0, TIDE_COUNT_LAPSES), 2);
	CHECK_INT(tide_counter_get(&c, 0, TIDE_COUNT_MESSAGES), 0);
	CHECK_INT(tide_counter_get(&c, 1, TIDE_COUNT_MESSAGES), 3);
	CHECK_INT(
	    tide_counter_get(&c, TIDE_PROFILES_MAX, TIDE_COUNT_MESSAGES), 4);
	CHECK_INT(tide_counter_get(&c, -1, TIDE_COUNT_MESSAGES), 7);
	CHECK_INT(tide_counter_get(&c, -1, TIDE_COUNT_CONNECTIONS), 0);
}

/* ---- hash -------------------------------------------------------------- */

static void
keys_differ(void)
{
	struct tide_hash_key a, b;
	struct tide_hash x, y;
	struct tide_err err;

	CHECK_INT(tide_hash_key_draw(&a, &err), 0);
	CHECK_INT(tide_hash_key_draw(&b, &err), 0);
	CHECK(memcmp(&a, &b, sizeof a) != 0);
	x = tide_hash(&a, "x@y", 3);
	y = tide_hash(&a, "x@y", 3);
	CHECK(x.low == y.low && x.high == y.high);
	y = tide_hash(&b, "x@y", 3);
	CHECK(x.low != y.low && x.high != y.high);
	y = tide_hash(&a, "x@z", 3);
	CHECK(x.low != y.low && x.high != y.high);
}

/* What is on disk was written with this function: it must never change. */
static void
check_is_fixed(void)
{
	CHECK(tide_hash_check("", 0) == 0x2d06800538d394c2ull);
	CHECK(tide_hash_check("tidemark", 8) != tide_hash_check("tidemarl", 8));
}

CHECK_CASES({ "levels", levels }, { "a rotated file", rotated },
    { "a long line is cut, and ends", long_line },
    { "no control reaches a terminal", controls },
    { "a file that cannot be opened", no_such_folder },
    { "reopened while threads speak", reopened_while_spoken_to },
    { "the table of counters", counter_table }, { "counting", counting },
    { "keys make hashes differ", keys_differ },
    { "checksums do not change", check_is_fixed })
