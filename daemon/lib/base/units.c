/*
 * units - numbers as people write them, and back.  See units.h.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tidemark/base/err.h"
#include "tidemark/base/units.h"

/* Signed arithmetic on a parsed number stays safe. */
#define LIMIT ((uint64_t)INT64_MAX)
#define SHARE_DIGITS 15 /* as many decimals as a double keeps */

struct unit {
	const char *name;
	uint64_t factor;
};

/* Smallest first; a NULL name ends a table. */
static const struct unit time_units[] = { { "ms", 1 }, { "s", 1000 },
	{ "min", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	{ "w", 604800000 }, { NULL, 0 } };
static const struct unit size_units[] = { { "", 1 }, { "K", 1ull << 10 },
	{ "M", 1ull << 20 }, { "G", 1ull << 30 }, { "T", 1ull << 40 },
	{ NULL, 0 } };
static const struct unit count_units[] = { { "", 1 }, { "k", 1000 },
	{ "m", 1000000 }, { "g", 1000000000 }, { NULL, 0 } };

enum outcome { FINE, NO_NUMBER, NO_UNIT, TOO_LARGE };

/* Read digits; the rest of the text, or NULL if there are none. */
static const char *
take_digits(const char *s, uint64_t *n)
{
	uint64_t sum = 0;

	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++) {
		unsigned digit = (unsigned)(*s - '0');

		/* past the limit the sum stays just above it */
		if (sum > (LIMIT - digit) / 10)
			sum = LIMIT + 1;
		else
			sum = sum * 10 + digit;
	}
	*n = sum;
	return s;
}

static const struct unit *
find_unit(const struct unit *u, const char *name)
{
	for (; u->name != NULL; u++)
		if (strcasecmp(u->name, name) == 0)
			return u;
	return NULL;
}

static enum outcome
parse_scaled(const char *text, const struct unit *units, uint64_t *out)
{
	const struct unit *unit;
	const char *rest;
	uint64_t n;

	rest = take_digits(text, &n);
	if (rest == NULL)
		return NO_NUMBER;
	if (n == 0 && *rest == '\0') {
		*out = 0;
		return FINE;
	}
	while (*rest == ' ')
		rest++;
	unit = find_unit(units, rest);
	if (unit == NULL)
		return *rest == '\0' ? NO_UNIT : NO_NUMBER;
	if (n > LIMIT / unit->factor)
		return TOO_LARGE;
	*out = n * unit->factor;
	return FINE;
}

static int
refuse(enum outcome why, const char *text, const char *kind,
    const char *examples, struct tide_err *err)
{
	if (why == TOO_LARGE)
		return tide_err_set(err, "«%.64s» is too large", text);
	if (why == NO_UNIT)
		return tide_err_set(
		    err, "«%.64s» needs a unit, such as %s", text, examples);
	return tide_err_set(
	    err, "«%.64s» is not a %s, such as %s", text, kind, examples);
}

int
tide_time_parse(const char *text, uint64_t *ms, struct tide_err *err)
{
	enum outcome o = parse_scaled(text, time_units, ms);

	if (o == FINE)
		return 0;
	return refuse(o, text, "time", "500ms, 90s, 5min, 1h, 180d or 2w", err);
}

int
tide_size_parse(const char *text, uint64_t *bytes, struct tide_err *err)
{
	enum outcome o = parse_scaled(text, size_units, bytes);

	if (o == FINE)
		return 0;
	return refuse(o, text, "size", "512K, 64M or 1G", err);
}

int
tide_count_parse(const char *text, uint64_t *n, struct tide_err *err)
{
	enum outcome o = parse_scaled(text, count_units, n);

	if (o == FINE)
		return 0;
	return refuse(o, text, "count", "256, 100k or 5m", err);
}

/* A period is a time, or a unit alone: 10/min. */
static enum outcome
parse_period(const char *text, uint64_t *ms)
{
	const struct unit *unit = find_unit(time_units, text);
	enum outcome o = FINE;

	if (unit != NULL)
		*ms = unit->factor;
	else
		o = parse_scaled(text, time_units, ms);
	return o == FINE && *ms == 0 ? NO_NUMBER : o;
}

int
tide_rate_parse(const char *text, struct tide_rate *rate, struct tide_err *err)
{
	static const char examples[] = "10/min, 100/5min or 1k/h";
	const char *slash = strchr(text, '/');
	struct tide_rate r;
	char count[TIDE_UNITS_MAX];
	enum outcome o = NO_NUMBER;

	if (slash != NULL && (size_t)(slash - text) < sizeof count) {
		memcpy(count, text, (size_t)(slash - text));
		count[slash - text] = '\0';
		o = parse_scaled(count, count_units, &r.count);
		if (o == FINE)
			o = parse_period(slash + 1, &r.period_ms);
	}
	if (o != FINE)
		return refuse(o, text, "rate", examples, err);
	*rate = r;
	return 0;
}

int
tide_mode_parse(const char *text, uint64_t *mode, struct tide_err *err)
{
	size_t digits = strspn(text, "01234567");
	uint64_t m = 0;

	for (const char *s = text; s < text + digits && m <= 0777; s++)
		m = m * 8 + (uint64_t)(*s - '0');
	if (digits == 0 || text[digits] != '\0' || m > 0777)
		return refuse(NO_NUMBER, text, "mode", "0660 (octal)", err);
	*mode = m;
	return 0;
}

/*
 * Digits over a power of ten: with at most SHARE_DIGITS of either the division
 * rounds once, so the result is the double that strtod() would give.
 */
int
tide_share_parse(const char *text, double *share, struct tide_err *err)
{
	uint64_t n = 0;
	double scale = 1;
	int digits = 0, decimals = 0;
	bool point = false;
	const char *s;

	for (s = text; isdigit((unsigned char)*s) || (*s == '.' && !point);
	     s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		n = n * 10 + (uint64_t)(*s - '0');
		decimals += point;
		if (++digits > SHARE_DIGITS)
			break;
	}
	if (*s == '%' && s > text) {
		decimals += 2;
		s++;
	}
	for (int i = 0; i < decimals; i++)
		scale *= 10;
	if (*s != '\0' || (double)n <= 0 || (double)n >= scale)
		return refuse(NO_NUMBER, text, "share between 0 and 1",
		    "0.001 or 0.1%", err);
	*share = (double)n / scale;
	return 0;
}

static const struct unit *
largest_whole(uint64_t n, const struct unit *u)
{
	while (n != 0 && u[1].name != NULL && n % u[1].factor == 0)
		u++;
	return u;
}

static const char *
show_scaled(uint64_t n, const struct unit *units, char *buf, size_t size)
{
	const struct unit *u = largest_whole(n, units);

	(void)snprintf(buf, size, "%llu%s", (unsigned long long)(n / u->factor),
	    n == 0 ? "" : u->name);
	return buf;
}

const char *
tide_time_show(uint64_t ms, char *buf, size_t size)
{
	return show_scaled(ms, time_units, buf, size);
}

const char *
tide_size_show(uint64_t bytes, char *buf, size_t size)
{
	return show_scaled(bytes, size_units, buf, size);
}

const char *
tide_count_show(uint64_t n, char *buf, size_t size)
{
	return show_scaled(n, count_units, buf, size);
}

const char *
tide_rate_show(struct tide_rate rate, char *buf, size_t size)
{
	const struct unit *u = largest_whole(rate.period_ms, time_units);
	char count[TIDE_UNITS_MAX], period[TIDE_UNITS_MAX];

	tide_count_show(rate.count, count, sizeof count);
	tide_time_show(rate.period_ms, period, sizeof period);
	(void)snprintf(buf, size, "%s/%s", count,
	    rate.period_ms == u->factor ? u->name : period);
	return buf;
}

const char *
tide_mode_show(uint64_t mode, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%04llo", (unsigned long long)mode);
	return buf;
}

/* The fewest decimals that read back as the same share. */
const char *
tide_share_show(double share, char *buf, size_t size)
{
	double scale = 1;
	uint64_t n = 0;
	int decimals = 0;

	do {
		scale *= 10;
		decimals++;
		n = (uint64_t)(share * scale + 0.5);
	} while ((double)n / scale != share && decimals < SHARE_DIGITS);
	(void)snprintf(buf, size, "0.%0*llu", decimals, (unsigned long long)n);
	return buf;
}
