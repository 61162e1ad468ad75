/*
 * json - quote, nest, end.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "json.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/printable.h"

/* ---- strings ----------------------------------------------------------- */

static void
put_escape(FILE *f, uint32_t c)
{
	if (c > 0xffff) { /* as two halves */
		(void)fprintf(f, "\\u%04x", (unsigned)(0xd7c0 + (c >> 10)));
		c = 0xdc00 + (c & 0x3ff);
	}
	(void)fprintf(f, "\\u%04x", (unsigned)c);
}

/* A record is read on terminals, too. */
static size_t
quote_one(FILE *f, const char *s, size_t left)
{
	uint32_t c = 0xfffd;
	size_t n = tide_printable_decode(s, left, &c);

	if (c == '"' || c == '\\')
		(void)fprintf(f, "\\%c", (int)c);
	else if (c == '\n')
		(void)fputs("\\n", f);
	else if (n > 0 && tide_printable_character(s, left) > 0)
		(void)fwrite(s, 1, n, f);
	else
		put_escape(f, c);
	return n > 0 ? n : 1;
}

void
json_quote(FILE *f, const char *s)
{
	size_t n = strlen(s), step;

	(void)fputc('"', f);
	for (; n > 0; s += step, n -= step)
		step = quote_one(f, s, n);
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
