/*
 * sheet - cells and their quotes.
 */
#include <math.h>
#include <string.h>

#include "../read/json.h"
#include "sheet.h"

static void
put_quoted(FILE *out, const char *s)
{
	(void)fputc('"', out);
	if (s[0] != '\0' && strchr("=+-@\t\r", s[0]) != NULL)
		(void)fputc('\'', out);
	for (; *s != '\0'; s++) {
		if (*s == '"')
			(void)fputc('"', out);
		(void)fputc(*s, out);
	}
	(void)fputc('"', out);
}

/* The comma before a cell, or its name. */
static const char *
begin(struct sheet *s)
{
	if (s->csv && s->at > 0)
		(void)fputc(',', s->out);
	return s->column[s->at++];
}

void
sheet_head(struct sheet *s)
{
	unsigned i;

	for (i = 0; s->csv && s->column[i] != NULL; i++)
		fprintf(s->out, "%s%s", i > 0 ? "," : "", s->column[i]);
	if (s->csv)
		(void)fputs("\r\n", s->out);
}

void
sheet_row(struct sheet *s)
{
	s->at = 0;
	if (!s->csv)
		s->json = json_record(s->out, s->record);
}

void
sheet_text(struct sheet *s, const char *text)
{
	const char *name = begin(s);

	if (s->csv)
		put_quoted(s->out, text);
	else
		json_text(&s->json, name, text);
}

void
sheet_number(struct sheet *s, uint64_t n)
{
	const char *name = begin(s);

	if (s->csv)
		fprintf(s->out, "%llu", (unsigned long long)n);
	else
		json_number(&s->json, name, n);
}

void
sheet_real(struct sheet *s, double value)
{
	const char *name = begin(s);

	if (!s->csv)
		json_real(&s->json, name, value);
	else if (isfinite(value))
		fprintf(s->out, "%.6g", value);
}

void
sheet_end(struct sheet *s)
{
	if (s->csv)
		(void)fputs("\r\n", s->out);
	else
		json_record_end(&s->json);
}
