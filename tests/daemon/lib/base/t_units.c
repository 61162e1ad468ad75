/*
 * Units: what people write, what it means, how it is shown again.
 */
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/nearest.h"
#include "tidemark/base/units.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

typedef int (*parse_fn)(const char *, uint64_t *, struct tide_err *);
typedef const char *(*show_fn)(uint64_t, char *, size_t);

/* shown NULL: refused, with the message in says. */
struct number_case {
	const char *text;
	uint64_t want;
	const char *shown;
	const char *says;
};

static void
run_numbers(const struct number_case *c, size_t n, parse_fn parse, show_fn show)
{
	for (; n > 0; n--, c++) {
		struct tide_err err = { "" };
		char buf[TIDE_UNITS_MAX];
		uint64_t got = 4711, again = 0;
		int rc = parse(c->text, &got, &err);

		if (c->shown == NULL) {
			CHECK_MSG(rc == -1, "«%s» was accepted", c->text);
			CHECK_STR(err.text, c->says);
			CHECK_INT(got, 4711);
			continue;
		}
		CHECK_MSG(rc == 0, "«%s»: %s", c->text, err.text);
		CHECK_INT(got, c->want);
		CHECK_STR(show(got, buf, sizeof buf), c->shown);
		CHECK_INT(parse(buf, &again, &err), 0);
		CHECK_INT(again, got);
	}
}

#define TIMES ", such as 500ms, 90s, 5min, 1h, 180d or 2w"

static void
times(void)
{
	static const struct number_case cases[] = {
		{ "500ms", 500, "500ms", NULL },
		{ "90s", 90000, "90s", NULL },
		{ "60s", 60000, "1min", NULL },
		{ "5min", 300000, "5min", NULL },
		{ "5 MIN", 300000, "5min", NULL },
		{ "1h", 3600000, "1h", NULL },
		{ "180d", 15552000000, "180d", NULL },
		{ "2w", 1209600000, "2w", NULL },
		{ "14d", 1209600000, "2w", NULL },
		{ "0", 0, "0", NULL },
		{ "0s", 0, "0", NULL },
		{ "1001ms", 1001, "1001ms", NULL },
		{ "9223372036854775807ms", INT64_MAX, "9223372036854775807ms",
		    NULL },
		{ "9223372036854775808ms", 0, NULL,
		    "«9223372036854775808ms» is too large" },
		{ "99999999999999999999999w", 0, NULL,
		    "«99999999999999999999999w» is too large" },
		{ "90", 0, NULL, "«90» needs a unit" TIMES },
		{ "", 0, NULL, "«» is not a time" TIMES },
		{ "h", 0, NULL, "«h» is not a time" TIMES },
		{ "-1h", 0, NULL, "«-1h» is not a time" TIMES },
		{ "1.5h", 0, NULL, "«1.5h» is not a time" TIMES },
		{ "5m", 0, NULL, "«5m» is not a time" TIMES },
		{ "1h30min", 0, NULL, "«1h30min» is not a time" TIMES },
	};

	run_numbers(cases, LENGTH(cases), tide_time_parse, tide_time_show);
}

static void
sizes(void)
{
	static const struct number_case cases[] = {
		{ "512", 512, "512", NULL },
		{ "1024", 1024, "1K", NULL },
		{ "64M", 64u << 20, "64M", NULL },
		{ "64m", 64u << 20, "64M", NULL },
		{ "1G", 1u << 30, "1G", NULL },
		{ "1536M", 1536u << 20, "1536M", NULL },
		{ "2T", 2ull << 40, "2T", NULL },
		{ "8388607T", 8388607ull << 40, "8388607T", NULL },
		{ "8388608T", 0, NULL, "«8388608T» is too large" },
		{ "64MB", 0, NULL,
		    "«64MB» is not a size, such as 512K, 64M or 1G" },
	};

	run_numbers(cases, LENGTH(cases), tide_size_parse, tide_size_show);
}

static void
counts(void)
{
	static const struct number_case cases[] = {
		{ "0", 0, "0", NULL },
		{ "256", 256, "256", NULL },
		{ "4096", 4096, "4096", NULL },
		{ "100k", 100000, "100k", NULL },
		{ "100000", 100000, "100k", NULL },
		{ "5m", 5000000, "5m", NULL },
		{ "1g", 1000000000, "1g", NULL },
		{ "0x10", 0, NULL,
		    "«0x10» is not a count, such as 256, 100k or 5m" },
	};

	run_numbers(cases, LENGTH(cases), tide_count_parse, tide_count_show);
}

static void
modes(void)
{
	static const struct number_case cases[] = {
		{ "0660", 0660, "0660", NULL },
		{ "666", 0666, "0666", NULL },
		{ "0", 0, "0000", NULL },
		{ "0777", 0777, "0777", NULL },
		{ "1777", 0, NULL,
		    "«1777» is not a mode, such as 0660 (octal)" },
		{ "0680", 0, NULL,
		    "«0680» is not a mode, such as 0660 (octal)" },
		{ "", 0, NULL, "«» is not a mode, such as 0660 (octal)" },
		{ "7777777777777777777777777777777", 0, NULL,
		    "«7777777777777777777777777777777» is not a mode, "
		    "such as 0660 (octal)" },
	};

	run_numbers(cases, LENGTH(cases), tide_mode_parse, tide_mode_show);
}

static void
rates(void)
{
	static const struct {
		const char *text;
		uint64_t count, period_ms; /* period 0: refused */
		const char *shown;
	} cases[] = {
		{ "10/min", 10, 60000, "10/min" },
		{ "10/60s", 10, 60000, "10/min" },
		{ "100/5min", 100, 300000, "100/5min" },
		{ "1k/h", 1000, 3600000, "1k/h" },
		{ "0/d", 0, 86400000, "0/d" },
		{ "3/1500ms", 3, 1500, "3/1500ms" },
		{ "10", 0, 0, NULL },
		{ "/min", 0, 0, NULL },
		{ "10/", 0, 0, NULL },
		{ "10/0s", 0, 0, NULL },
		{ "10/0", 0, 0, NULL },
		{ "10/min/h", 0, 0, NULL },
		{ "10/fortnight", 0, 0, NULL },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct tide_rate r = { 1, 2 };
		struct tide_err err = { "" };
		char buf[TIDE_UNITS_MAX];
		int rc = tide_rate_parse(cases[i].text, &r, &err);

		CHECK_MSG(rc == (cases[i].period_ms == 0 ? -1 : 0), "«%s»: %d",
		    cases[i].text, rc);
		if (rc == -1) {
			CHECK(strstr(err.text, "10/min, 100/5min") != NULL);
			continue;
		}
		CHECK_INT(r.count, cases[i].count);
		CHECK_INT(r.period_ms, cases[i].period_ms);
		CHECK_STR(tide_rate_show(r, buf, sizeof buf), cases[i].shown);
	}
}

static void
shares(void)
{
	static const struct {
		const char *text;
		double want; /* 0: refused */
		const char *shown;
	} cases[] = {
		{ "0.001", 0.001, "0.001" },
		{ "0.1%", 0.001, "0.001" },
		{ ".5", 0.5, "0.5" },
		{ "50%", 0.5, "0.5" },
		{ "0.000001", 0.000001, "0.000001" },
		{ "0.0123456789", 0.0123456789, "0.0123456789" },
		{ "0.3", 0.3, "0.3" },
		{ "0", 0, NULL },
		{ "1", 0, NULL },
		{ "100%", 0, NULL },
		{ "0.0", 0, NULL },
		{ "0,001", 0, NULL },
		{ "1e-3", 0, NULL },
		{ "0.5.", 0, NULL },
		{ "%", 0, NULL },
		{ "nan", 0, NULL },
		{ "-0.1", 0, NULL },
		{ "0.00000000000000000001", 0, NULL },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct tide_err err = { "" };
		char buf[TIDE_UNITS_MAX];
		double p = 0;
		int rc = tide_share_parse(cases[i].text, &p, &err);

		CHECK_MSG(rc == (cases[i].shown == NULL ? -1 : 0), "«%s»: %d",
		    cases[i].text, rc);
		if (rc == -1)
			continue;
		CHECK_MSG(!(p < cases[i].want) && !(p > cases[i].want),
		    "«%s» is %.17g", cases[i].text, p);
		CHECK_STR(tide_share_show(p, buf, sizeof buf), cases[i].shown);
	}
}

static void
nearest(void)
{
	static const char *const words[] = { "accept", "tempfail", "reject",
		"log", "log_level" };
	static const struct {
		const char *word, *want;
	} cases[] = {
		{ "acept", "accept" },
		{ "tempfial", "tempfail" },
		{ "REJECT", "reject" },
		{ "temp", "tempfail" },
		{ "lgo", "log" },
		{ "log level", "log_level" },
		{ "lo", "log" },
		{ "foo", NULL },
		{ "", NULL },
		{ "discard", NULL },
		{ "a-very-long-word-that-nobody-would-write-for-any-of-them",
		    NULL },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *got =
		    tide_nearest(cases[i].word, words, LENGTH(words));

		CHECK_STR(got ? got : "-", cases[i].want ? cases[i].want : "-");
	}
}

CHECK_CASES({ "times", times }, { "sizes", sizes }, { "counts", counts },
    { "modes", modes }, { "rates", rates }, { "shares", shares },
    { "did you mean", nearest })
