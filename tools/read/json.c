/*
 * json - quote, nest, end.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "json.h"
#include "tidemark/base/clock.h"

/* ---- strings ----------------------------------------------------------- */

/* The length of the UTF-8 character at s, 0 if it is none (RFC 3629). */
static size_t
utf8_length(const unsigned char *s)
{
	size_t n, i;

	n = s[0] < 0x80			  ? 1
	    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
	    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
	    : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
					  : 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0; /* too long, a surrogate, or beyond U+10FFFF */
	return n;
}

static size_t
quote_one(FILE *f, const char *s)
{
	unsigned char c = (unsigned char)*s;
	size_t n = utf8_length((const unsigned char *)s);

	if (c == '"' || c == '\\')
		(void)fprintf(f, "\\%c", c);
	else if (c == '\n')
		(void)fputs("\\n", f);
	else if (c < ' ' || c == 0x7f)
		(void)fprintf(f, "\\u%04x", c);
	else if (n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0)
		(void)fprintf(f, "\\u%04x", (unsigned char)s[1]); /* C1 */
	else if (n > 0)
		(void)fwrite(s, 1, n, f);
	else
		(void)fputs("\\ufffd", f);
	return n > 0 ? n : 1;
}

void
json_quote(FILE *f, const char *s)
{
	(void)fputc('"', f);
	while (*s != '\0')
		s += quote_one(f, s);
	(void)fputc('"', f);
}

/* ---- structure --------------------------------------------------------- */

static void
begin(struct json *j, const char *key)
{
	if (j->filled[j->depth])
		(void)fputc(',', j->out);
	j->filled[j->depth] = true;
	if (key == NULL)
		return;
	json_quote(j->out, key);
	(void)fputc(':', j->out);
}

static void
deeper(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	(void)fputc(bracket, j->out);
	assert(j->depth < JSON_DEPTH);
	j->filled[++j->depth] = false;
}

static void
back(struct json *j, char bracket)
{
	assert(j->depth > 0);
	j->depth--;
	(void)fputc(bracket, j->out);
}

void
json_object(struct json *j, const char *key)
{
	deeper(j, key, '{');
}

void
json_object_end(struct json *j)
{
	back(j, '}');
}

void
json_array(struct json *j, const char *key)
{
	deeper(j, key, '[');
}

void
json_array_end(struct json *j)
{
	back(j, ']');
}

/* ---- values ------------------------------------------------------------ */

void
json_text(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	json_quote(j->out, value);
}

void
json_number(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	(void)fprintf(j->out, "%llu", (unsigned long long)value);
}

void
json_real(struct json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	begin(j, key);
	(void)fprintf(j->out, "%.6g", value);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	(void)fputs(value ? "true" : "false", j->out);
}

void
json_null(struct json *j, const char *key)
{
	begin(j, key);
	(void)fputs("null", j->out);
}

void
json_time(struct json *j, const char *key, uint64_t wall_ms)
{
	char text[32], name[40];

	if (wall_ms == 0)
		json_null(j, key);
	else
		json_text(j, key, tide_clock_show(wall_ms, text, sizeof text));
	(void)snprintf(name, sizeof name, "%s_ms", key);
	json_number(j, name, wall_ms);
}

/* ---- records ----------------------------------------------------------- */

struct json
json_record(FILE *out, const char *type)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_number(&j, "version", 1);
	json_text(&j, "type", type);
	return j;
}

void
json_record_end(struct json *j)
{
	json_object_end(j);
	(void)fputc('\n', j->out);
}
