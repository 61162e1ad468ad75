/*
 * setup, mc - sendmail.mc.  See mc.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mc.h"

/* A quoted argument; NULL if it is something else, which we leave alone. */
static const char *
argument(const char *s, const char **arg, size_t *length)
{
	unsigned deep = 1;

	s += strspn(s, " \t\n");
	if (*s != '`')
		return NULL;
	*arg = ++s;
	for (; *s != '\0'; s++) {
		deep += *s == '`';
		deep -= *s == '\'';
		if (deep == 0)
			break;
	}
	*length = (size_t)(s - *arg);
	return *s == '\'' ? s + 1 + strspn(s + 1, " \t\n") : NULL;
}

static int
parse_call(const char *line, const char *macro, struct mc_call *c)
{
	const char *s = line + strspn(line, " \t");
	size_t n = strlen(macro);
	unsigned i;

	*c = (struct mc_call){ .begin = line };
	if (strncmp(s, macro, n) != 0 || s[n] != '(')
		return 0;
	s += n + 1;
	for (i = 0; i < MC_ARGUMENTS; i++) {
		s = argument(s, &c->arg[i], &c->length[i]);
		if (s == NULL)
			return 0;
		if (*s != ',')
			break;
		s++;
	}
	s = strchr(s, ')');
	c->end = s != NULL ? s + 1 : NULL;
	return s != NULL;
}

int
mc_next(const char *at, const char *macro, struct mc_call *c)
{
	while (*at != '\0') {
		if (parse_call(at, macro, c))
			return 1;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return 0;
}

/* FEATURE(`name'), or, as in old files, FEATURE(name). */
int
mc_has_feature(const char *text, const char *name)
{
	static const char call[] = "FEATURE(";
	size_t n = strlen(name);
	const char *s;

	for (; *text != '\0'; text += *text == '\n') {
		s = text + strspn(text, " \t");
		text += strcspn(text, "\n");
		if (strncmp(s, call, strlen(call)) != 0)
			continue;
		s += strlen(call);
		s += strspn(s, " \t`");
		if (strncmp(s, name, n) == 0 && strchr("',) \t", s[n]) != NULL)
			return 1;
	}
	return 0;
}

const char *
mc_place(const char *text)
{
	static const char *const before[] = { "DAEMON_OPTIONS", "MAILER",
		"MAILER_DEFINITIONS" };
	struct mc_call c;
	const char *line;
	unsigned i;

	for (i = 0; i < 2; i++)
		if (mc_next(text, before[i], &c)) {
			line = strstr(text, "\nMAILER_DEFINITIONS");
			return i == 1 && line != NULL && line < c.begin
			    ? line + 1
			    : c.begin;
		}
	return text + strlen(text);
}

/* ---- as sendmail.cf would have it -------------------------------------- */

/* One line of text, whatever m4 would make of the newlines in it. */
static void
put_flat(FILE *f, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)fputc(s[i] == '\n' ? ' ' : s[i], f);
}

static void
put_filters(FILE *f, const char *text, const char *macro)
{
	struct mc_call c;

	for (; mc_next(text, macro, &c); text = c.end) {
		if (c.arg[1] == NULL)
			continue;
		(void)fprintf(f, "X%.*s, ", (int)c.length[0], c.arg[0]);
		put_flat(f, c.arg[1], c.length[1]);
		(void)fputc('\n', f);
	}
}

static void
put_daemons(FILE *f, const char *text)
{
	struct mc_call c;

	for (; mc_next(text, "DAEMON_OPTIONS", &c); text = c.end) {
		(void)fprintf(f, "O DaemonPortOptions=");
		put_flat(f, c.arg[0], c.length[0]);
		(void)fputc('\n', f);
	}
}

/* define() sets the list of all daemons, INPUT_MAIL_FILTER adds to it. */
static void
put_list(FILE *f, const char *text)
{
	struct mc_call d, i;
	const char *from = text;
	bool defined = false, any = false;

	for (; mc_next(from, "define", &d); from = d.end) {
		if (d.arg[1] == NULL ||
		    strncmp(d.arg[0], "confINPUT_MAIL_FILTERS'", 23) != 0)
			continue;
		(void)fprintf(
		    f, "O InputMailFilters=%.*s\n", (int)d.length[1], d.arg[1]);
		defined = true;
	}
	for (from = text; !defined && mc_next(from, "INPUT_MAIL_FILTER", &i);
	     from = i.end) {
		(void)fprintf(f, "%s%.*s",
		    any ? ", " : "O InputMailFilters=", (int)i.length[0],
		    i.arg[0]);
		any = true;
	}
	(void)fputc('\n', f);
}

void
mc_parse(struct sm_conf *conf, const char *text)
{
	char *cf = NULL;
	size_t length;
	FILE *f = open_memstream(&cf, &length);

	if (f == NULL)
		return;
	put_filters(f, text, "MAIL_FILTER");
	put_filters(f, text, "INPUT_MAIL_FILTER");
	put_list(f, text);
	put_daemons(f, text);
	(void)fclose(f);
	sm_parse(conf, cf, length);
	free(cf);
}
