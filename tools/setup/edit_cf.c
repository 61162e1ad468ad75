/*
 * setup, edit cf - what sendmail.cf has to say for Tidemark, where there is no
 * sendmail.mc that it is made from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "plan_sendmail.h"
#include "sendmail_cf.h"
#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

/* Behind the line and what continues it. */
static const char *
behind(const char *line)
{
	do {
		line += strcspn(line, "\n");
		line += *line == '\n';
	} while (*line == ' ' || *line == '\t');
	return line;
}

static const struct sm_daemon *
daemon_at(const struct sm_conf *c, unsigned line)
{
	size_t i;

	for (i = 0; i < c->daemon_count; i++)
		if (c->daemon[i].line == line)
			return &c->daemon[i];
	return NULL;
}

/* Line by line, with other options for the daemons that need them. */
static void
put_lines(FILE *f, const struct setup *s, const char *cf,
    const struct sm_conf *c, bool *needed, int *code)
{
	const struct sm_daemon *d;
	const char *line, *end;
	char *options;

	for (line = cf; *line != '\0' && *code == 0; line = end) {
		end = behind(line);
		d = daemon_at(c, setup_line_at(cf, line));
		options = d != NULL ? sm_better(s, c, d, needed, code) : NULL;
		if (options != NULL)
			(void)fprintf(f, "O DaemonPortOptions=%s\n", options);
		else
			(void)fprintf(f, "%.*s", (int)(end - line), line);
		free(options);
	}
	if (line > cf && line[-1] != '\n')
		(void)fputc('\n', f);
}

char *
setup_edit_cf(const struct setup *s, const char *cf, const struct sm_conf *c)
{
	bool needed[TIDE_PROFILES_MAX] = { false };
	struct sm_daemon only;
	char *new = NULL, *options;
	size_t length;
	int code = 0;
	FILE *f = open_memstream(&new, &length);

	if (f == NULL)
		return NULL;
	put_lines(f, s, cf, c, needed, &code);
	if (code == 0 && c->daemon[0].line == 0) { /* as it is without a line */
		sm_parse_daemon(&only, "Name=MTA");
		options = sm_better(s, c, &only, needed, &code);
		if (options != NULL)
			(void)fprintf(f, "O DaemonPortOptions=%s\n", options);
		free(options);
	}
	sm_put_filters(f, s, needed, "X", ", ", "\n");
	(void)fclose(f);
	if (code == 0)
		return new;
	free(new);
	return NULL;
}
