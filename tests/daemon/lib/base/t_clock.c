/*
 * Clock: moments as people write them, and back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define NOW 1800000000000ull /* 2027-01-15T08:00:00Z */
#define NEVER UINT64_MAX

static void
use_zone(const char *zone)
{
	CHECK(setenv("TZ", zone, 1) == 0);
	tzset();
}

/* Local time is an hour before UTC, without a change in summer. */
static void
parse(void)
{
	static const struct parse_case {
		const char *text;
		uint64_t want; /* NEVER: refused */
	} cases[] = {
		{ "now", NOW },
		{ "2027-01-15T08:00:00Z", NOW },
		{ "2027-01-15T08:00Z", NOW },
		{ "2027-01-15 08:00:00Z", NOW },
		{ "2027-01-15T09:00:00", NOW },
		{ "2027-01-15 09:00", NOW },
		{ "2027-01-15Z", NOW - 8 * 3600000 },
		{ "2027-01-15", NOW - 9 * 3600000 },
		{ "2028-02-29Z", 1835395200000 },
		{ "1970-01-01Z", 0 },
		{ "@1800000000", NOW },
		{ "@0", 0 },
		{ "3h", NOW - 3 * 3600000 },
		{ "0", NOW },
		{ "90s", NOW - 90000 },
		{ "1000000w", 0 }, /* before 1970 is 1970 */
		{ "1960-01-01", NEVER },
		{ "2027-02-29", NEVER },
		{ "2027-02-31T10:00", NEVER },
		{ "2027-04-31", NEVER },
		{ "2027-13-01", NEVER },
		{ "2027-01-15T25:00", NEVER },
		{ "2027-01-15T08:00:00ZZ", NEVER },
		{ "2027-01-15T08:00 x", NEVER },
		{ "2027-01", NEVER },
		{ "@", NEVER },
		{ "@-1", NEVER },
		{ "@12x", NEVER },
		{ "@18446744073709551615", NEVER },
		{ "@99999999999999999999999", NEVER },
		{ "", NEVER },
		{ "yesterday", NEVER },
		{ "90", NEVER },
		{ "-3h", NEVER },
	};
	struct tide_err err;
	uint64_t got;
	size_t i;
	int rc;

	use_zone("XXX-1");
	for (i = 0; i < LENGTH(cases); i++) {
		got = 4711;
		rc = tide_clock_parse(cases[i].text, NOW, &got, &err);
		CHECK_MSG((rc == 0) == (cases[i].want != NEVER), "«%s» gave %d",
		    cases[i].text, rc);
		CHECK_MSG(rc != 0 || got == cases[i].want,
		    "«%s» is %llu, not %llu", cases[i].text,
		    (unsigned long long)got, (unsigned long long)cases[i].want);
	}
}

static void
complaint(void)
{
	struct tide_err err;
	uint64_t got;

	CHECK_INT(tide_clock_parse("soon", NOW, &got, &err), -1);
	CHECK_STR(err.text,
	    "«soon» is no moment: write 2026-11-16, 2026-11-16T12:37, 3h "
	    "(ago) or now");
}

/* In summer and in winter of a zone that has both. */
static void
summer_time(void)
{
	struct tide_err err;
	uint64_t got = 0;

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	CHECK_INT(tide_clock_parse("2027-01-15T09:00", NOW, &got, &err), 0);
	CHECK_INT(got, NOW);
	CHECK_INT(tide_clock_parse("2027-07-15T10:00", NOW, &got, &err), 0);
	CHECK_INT(got, NOW + 181ull * 86400000);
}

static void
show(void)
{
	static const struct show_case {
		uint64_t ms;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00Z" },
		{ NOW, "2027-01-15T08:00:00Z" },
		{ NOW + 999, "2027-01-15T08:00:00Z" },
		{ 253402300799000, "9999-12-31T23:59:59Z" },
	};
	char buf[32], small[8];
	size_t i;

	use_zone("XXX-1"); /* shown in UTC wherever we are */
	for (i = 0; i < LENGTH(cases); i++)
		CHECK_STR(tide_clock_show(cases[i].ms, buf, sizeof buf),
		    cases[i].text);
	(void)tide_clock_show(UINT64_MAX, buf, sizeof buf);
	CHECK(strlen(buf) < sizeof buf);
	(void)tide_clock_show(NOW, small, sizeof small);
	CHECK(strlen(small) < sizeof small);
}

static void
shown_reads_back(void)
{
	char buf[32];
	struct tide_err err;
	uint64_t ms, got;

	for (ms = 0; ms < 8000000000000; ms += 98765432000) {
		(void)tide_clock_show(ms, buf, sizeof buf);
		CHECK_INT(tide_clock_parse(buf, NOW, &got, &err), 0);
		CHECK_INT(got, ms);
	}
}

static void
clocks_run(void)
{
	uint64_t wall = tide_clock_wall_ms(), mono = tide_clock_mono_ms();
	uint64_t ns = tide_clock_mono_ns();

	CHECK(wall > 1600000000000);
	CHECK(ns / 1000000 - mono < 1000);
	CHECK(tide_clock_mono_ns() >= ns);
	CHECK(tide_clock_mono_ms() >= mono);
}

/* ---- two clocks -------------------------------------------------------- */

#define BOOT 70000ull
#define HOUR 3600000ll

static void
between(void)
{
	static const struct between_case {
		const char *name;
		int64_t step;
		uint64_t passed;
		bool stepped;
	} cases[] = {
		{ "as it should be", 0, 100, false },
		{ "nothing has passed", 0, 0, false },
		{ "a little back", -2000, 100, false },
		{ "a little ahead", 2000, 100, false },
		{ "back", -2001, 100, true },
		{ "ahead", 2001, 100, true },
		{ "an hour back, seen late", -HOUR, 7200000, true },
	};
	const struct tide_moment then = { NOW, BOOT };
	struct tide_clock_change c;
	struct tide_moment now;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		now.boot_ms = BOOT + cases[i].passed;
		now.wall_ms = NOW + cases[i].passed + (uint64_t)cases[i].step;
		c = tide_clock_between(then, now);
		CHECK_MSG(c.stepped == cases[i].stepped, "%s", cases[i].name);
		CHECK_INT(c.before_ms, NOW + cases[i].passed);
		CHECK_INT(c.after_ms, NOW + (uint64_t)cases[i].step);
	}
}

/* What the clock does, and what time it is then by the settled one. */
static void
settled(void)
{
	static const struct settled_case {
		const char *name;
		int64_t off; /* the clock's, from what it should show */
		uint64_t passes;
		enum tide_settling want;
		int64_t want_off; /* the settled time's */
	} cases[] = {
		{ "all is well", 0, 1000, TIDE_CLOCK_AGREES, 0 },
		{ "it is slewed", 1500, 1000, TIDE_CLOCK_AGREES, 1500 },
		{ "and back", 0, 1000, TIDE_CLOCK_AGREES, 0 },
		{ "set ahead", HOUR, 1000, TIDE_CLOCK_WAS_SET, 0 },
		{ "it stands so", HOUR, HOUR - 1, TIDE_CLOCK_AGREES, 0 },
		{ "and is set right", 0, 1000, TIDE_CLOCK_IS_BACK, 0 },
		{ "ahead again", HOUR, 1000, TIDE_CLOCK_WAS_SET, 0 },
		{ "further", 2 * HOUR, HOUR, TIDE_CLOCK_WAS_SET, 0 },
		{ "not an hour", 2 * HOUR, HOUR - 1, TIDE_CLOCK_AGREES, 0 },
		{ "back", -HOUR, HOUR, TIDE_CLOCK_WAS_SET, 0 },
		{ "to and fro", 2 * HOUR, HOUR, TIDE_CLOCK_WAS_SET, 0 },
		{ "an hour", 2 * HOUR, HOUR, TIDE_CLOCK_CONFIRMED, 2 * HOUR },
		{ "is right", 2 * HOUR, 1000, TIDE_CLOCK_AGREES, 2 * HOUR },
		{ "and set back", 0, 1000, TIDE_CLOCK_WAS_SET, 2 * HOUR },
		{ "for an hour", 0, HOUR, TIDE_CLOCK_CONFIRMED, 0 },
	};
	struct tide_moment now = { NOW, BOOT };
	uint64_t passed = 0;
	struct tide_settled s;
	size_t i;

	tide_settled_begin(&s, now, NOW);
	for (i = 0; i < LENGTH(cases); i++) {
		passed += cases[i].passes;
		now.boot_ms = BOOT + passed;
		now.wall_ms = NOW + passed + (uint64_t)cases[i].off;
		CHECK_MSG(tide_settled_round(&s, now) == cases[i].want, "%s",
		    cases[i].name);
		CHECK_MSG(
		    (int64_t)(NOW - BOOT) + cases[i].want_off == s.lack_ms,
		    "%s", cases[i].name);
	}
}

CHECK_CASES({ "two readings of the clock", between },
    { "the time by which things expire", settled },
    { "moments are read", parse }, { "the complaint", complaint },
    { "summer and winter", summer_time }, { "moments are shown", show },
    { "what is shown reads back", shown_reads_back },
    { "the clocks run", clocks_run })
