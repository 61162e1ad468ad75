/*
 * top, draw - numbers as pictures of text: block characters where the locale
 * has them, letters where not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "../read/output.h"
#include "top.h"

#define SPAN_MOST 1e15 /* milliseconds; beyond, all is eternity */

/* ---- text in columns --------------------------------------------------- */

/* One character: bytes it takes, columns it fills; '?' for what has none. */
static size_t
take_character(const char *s, char *out, int *columns)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, s, strlen(s), &state);
	int w = n == (size_t)-1 || n == (size_t)-2 || !iswprint((wint_t)c)
	    ? -1
	    : wcwidth(c);

	if (w < 0) {
		(void)snprintf(out, 8, "?");
		*columns = 1;
		return 1;
	}
	memcpy(out, s, n);
	out[n] = '\0';
	*columns = w;
	return n;
}

static void
put_spaces(char *out, size_t *at, int n)
{
	while (n-- > 0 && *at + 1 < TOP_TEXT)
		out[(*at)++] = ' ';
	out[*at] = '\0';
}

int
draw_columns(const char *text)
{
	char one[16];
	int all = 0, columns;

	while (*text != '\0') {
		text += take_character(text, one, &columns);
		all += columns;
	}
	return all;
}

size_t
draw_fits(const char *text, int width)
{
	const char *s = text;
	char one[16];
	int used = 0, columns;
	size_t n;

	while (*s != '\0') {
		n = take_character(s, one, &columns);
		if (used + columns > width && s > text)
			break;
		used += columns;
		s += n;
	}
	return (size_t)(s - text);
}

void
draw_fit(char out[TOP_TEXT], const char *text, int width, bool right)
{
	char kept[TOP_TEXT] = "", one[16];
	size_t length = 0, at = 0, n;
	int used = 0, columns;

	while (*text != '\0') {
		n = take_character(text, one, &columns);
		if (used + columns > width ||
		    length + strlen(one) + 1 > TOP_TEXT)
			break;
		(void)strcpy(kept + length, one);
		length += strlen(one);
		used += columns;
		text += n;
	}
	out[0] = '\0';
	if (right)
		put_spaces(out, &at, width - used);
	if (at + length + 1 <= TOP_TEXT) {
		memcpy(out + at, kept, length + 1);
		at += length;
	}
	if (!right)
		put_spaces(out, &at, width - used);
}

/* ---- bars and sparks --------------------------------------------------- */

static const char *const eighths_up[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆",
	"▇", "█" };
static const char *const eighths_right[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊",
	"▉", "█" };
static const char *const letters[] = { " ", ".", ".", ":", "-", "=", "+", "*",
	"#" };

static const char *
upward(const struct top *t, unsigned eighths)
{
	return t->ascii ? letters[eighths] : eighths_up[eighths];
}

/* Room is left for one more character of any kind. */
static void
append(char *out, size_t *at, const char *s)
{
	size_t n = strlen(s);

	if (*at + n + 1 > TOP_TEXT)
		return;
	memcpy(out + *at, s, n + 1);
	*at += n;
}

void
draw_bar(const struct top *t, struct cell *out, double share, int width)
{
	double whole = (share < 0 ? 0 : share > 1 ? 1 : share) * width, rest;
	unsigned part;
	size_t at = 0;
	int i;

	out->text[0] = '\0';
	out->picture = true;
	out->tone = share >= TOP_BAD ? TONE_BAD
	    : share >= TOP_WARN	     ? TONE_WARN
				     : TONE_GOOD;
	for (i = 0; i < width; i++) {
		rest = whole - i;
		part = rest >= 1 ? 8 : rest <= 0 ? 0 : (unsigned)(rest * 8);
		if (i == 0 && share > 0 && part == 0)
			part = 1; /* little is not nothing */
		append(out->text, &at,
		    !t->ascii	    ? eighths_right[part]
			: part >= 4 ? "#"
				    : ".");
	}
}

/* The mean of those that fall into column i of width; NAN if none is known. */
static double
mean_of(const double *values, unsigned count, int i, int width)
{
	unsigned from = (unsigned)i * count / (unsigned)width;
	unsigned to = ((unsigned)i + 1) * count / (unsigned)width, n = 0;
	double sum = 0;

	for (to = to > from ? to : from + 1; from < to && from < count; from++)
		if (!isnan(values[from])) {
			sum += values[from];
			n++;
		}
	return n > 0 ? sum / n : NAN;
}

void
draw_spark(const struct top *t, char out[TOP_TEXT], const double *values,
    unsigned count, int width)
{
	double most = 0, mean;
	size_t at = 0;
	int i;

	out[0] = '\0';
	if (width > (int)count)
		width = (int)count;
	for (i = 0; i < width; i++) {
		mean = mean_of(values, count, i, width);
		most = mean > most ? mean : most;
	}
	for (i = 0; i < width; i++) {
		mean = mean_of(values, count, i, width);
		append(out, &at,
		    isnan(mean) ? " "
			: mean <= 0
			? (t->ascii ? "_" : "▁")
			: upward(t, 1 + (unsigned)(7 * mean / most)));
	}
}

/* ---- the water --------------------------------------------------------- */

/* Few and many stand side by side: each doubling is as high as the last. */
static double
height_of(uint32_t n, uint32_t most)
{
	return n == 0 ? 0 : most == 1 ? 1 : (1 + log2(n)) / (1 + log2(most));
}

void
draw_water(const struct top *t, struct banner *b, const uint32_t *bins,
    unsigned count, unsigned height)
{
	uint32_t most = 0;
	unsigned i, row;
	double up;
	size_t at;

	for (i = 0; i < count; i++)
		most = bins[i] > most ? bins[i] : most;
	for (row = height; row > 0 && b->lines < TOP_LINES; row--) {
		struct cell *line = &b->line[b->lines++];

		line->tone = TONE_GOOD;
		line->picture = true;
		line->text[0] = '\0';
		for (at = 0, i = 0; i < count; i++) {
			up = height_of(bins[i], most) * height * 8 -
			    (row - 1) * 8.0;
			append(line->text, &at,
			    upward(t,
				up >= 8	      ? 8
				    : up <= 0 ? 0
					      : (unsigned)up));
		}
	}
}

/* ---- numbers ----------------------------------------------------------- */

void
draw_rate(char out[TOP_TEXT], double per_second)
{
	static const struct {
		double times;
		const char *unit;
	} units[] = { { 1, "s" }, { 60, "min" }, { 3600, "h" } };
	unsigned i = 0;

	out[0] = '\0';
	if (isnan(per_second))
		return;
	if (per_second * 3600 < 0.05) {
		(void)snprintf(out, TOP_TEXT, "-");
		return;
	}
	while (i < 2 && per_second * units[i].times < 1)
		i++;
	per_second *= units[i].times;
	(void)snprintf(out, TOP_TEXT, per_second < 9.95 ? "%.1f/%s" : "%.0f/%s",
	    per_second, units[i].unit);
}

void
draw_us(char out[TOP_TEXT], double us)
{
	if (us <= 0)
		(void)snprintf(out, TOP_TEXT, "-");
	else if (us < 1000)
		(void)snprintf(out, TOP_TEXT, "%.0f us", us);
	else if (us < 1000000)
		(void)snprintf(out, TOP_TEXT, "%.1f ms", us / 1000);
	else
		(void)snprintf(out, TOP_TEXT, "%.1f s", us / 1000000);
}

const char *
draw_span(double ms, char out[SHOW_MAX])
{
	uint64_t s = ms < SPAN_MOST ? (uint64_t)(ms / 1000 + 0.5) : 0;
	uint64_t min = s / 60, h = min / 60;

	if (!(ms < SPAN_MOST))
		(void)snprintf(out, SHOW_MAX, "ever");
	else if (s < 120)
		(void)snprintf(out, SHOW_MAX, "%us", (unsigned)s);
	else if (min < 60)
		(void)snprintf(out, SHOW_MAX, "%umin", (unsigned)min);
	else if (h < 48)
		(void)snprintf(out, SHOW_MAX, "%uh%02um", (unsigned)h,
		    (unsigned)(min % 60));
	else
		(void)snprintf(
		    out, SHOW_MAX, "%llud", (unsigned long long)(h / 24));
	return out;
}
