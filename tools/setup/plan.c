/*
 * setup, plan - put a plan together, and show it.  See plan.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "plan.h"
#include "text.h"
#include "tidemark/settings/config.h"

void
plan_file(
    struct setup_plan *p, char *path, char *old, char *new, const char *why)
{
	if ((old != NULL && strcmp(old, new) == 0) ||
	    p->files == PLAN_FILES_MAX) {
		free(path);
		free(old);
		free(new);
		return;
	}
	p->file[p->files++] = (struct plan_file){ path, old, new, why };
}

void
plan_command(struct setup_plan *p, const char *why, const char *fmt, ...)
{
	char *command;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&command, fmt, ap);
	va_end(ap);
	if (n >= 0 && p->commands < PLAN_COMMANDS_MAX)
		p->command[p->commands++] =
		    (struct plan_command){ command, why };
}

void
plan_free(struct setup_plan *p)
{
	size_t i;

	for (i = 0; i < p->files; i++) {
		free(p->file[i].path);
		free(p->file[i].old);
		free(p->file[i].new);
	}
	for (i = 0; i < p->commands; i++)
		free(p->command[i].command);
	*p = (struct setup_plan){ .files = 0 };
}

#define WRITTEN "# Written by tidemark setup.\n"
#define WORKERS_MOST 4096u /* params.c */

/* ---- groups ------------------------------------------------------------ */

static bool
includes_folder(const char *text)
{
	static const char line[] = "include conf.d/*.conf";
	const char *found = text != NULL ? strstr(text, line) : NULL;

	return found != NULL && (found == text || found[-1] == '\n');
}

/* The file that our settings go to: in conf.d where that is included. */
static char *
settings_path(const struct setup *s)
{
	char *text = setup_slurp(s, s->conf, NULL), *path;

	path = includes_folder(text)
	    ? setup_format("%.*s/conf.d/setup.conf",
		  (int)(strrchr(s->conf, '/') - s->conf), s->conf)
	    : setup_format("%s", s->conf);
	free(text);
	return path;
}

/* What a file says already, without an earlier number of workers of ours. */
static void
put_old(FILE *f, const char *old)
{
	const char *end;

	for (; old != NULL && *old != '\0'; old = end) {
		end = old + strcspn(old, "\n");
		if (strncmp(old, "max_workers = ", 14) != 0)
			(void)fprintf(f, "%.*s\n", (int)(end - old), old);
		end += *end == '\n';
	}
}

/*
 * Once one profile is named in a file, all have to be.  What holds for all
 * stands before the first of them.
 */
static void
plan_conf(const struct setup *s, struct setup_plan *p, const char *group,
    unsigned connections)
{
	const struct tide_config *c = &s->config;
	char *text = NULL, *path = settings_path(s);
	char *old = setup_slurp(s, path, NULL);
	size_t length;
	FILE *f = open_memstream(&text, &length);
	unsigned i;

	if (f == NULL)
		return;
	if (old == NULL || strstr(old, WRITTEN) == NULL)
		(void)fputs(WRITTEN, f);
	if (connections > 0)
		(void)fprintf(f, "max_workers = %u\n", connections);
	if (connections > 0)
		put_old(f, old);
	else
		(void)fputs(old != NULL ? old : "", f);
	for (i = 0; group != NULL && i < c->profiles; i++)
		(void)fprintf(f, "\n[profile %s]\nsocket_group = %s\n",
		    c->profile[i].name, group);
	for (i = 0; group != NULL && i < c->policies; i++)
		(void)fprintf(f, "\n[policy %s]\nsocket_group = %s\n",
		    c->policy[i].name, group);
	(void)fclose(f);
	plan_file(p, path, old, text,
	    group != NULL ? "the mail server's user has to get at the sockets"
			  : "a worker for each connection");
}

static bool
reaches_all(const struct setup *s, const struct setup_person *who)
{
	const struct tide_config *c = &s->config;
	unsigned i;

	for (i = 0; i < c->profiles; i++)
		if (setup_socket_path(c->profile[i].socket) != NULL &&
		    !setup_shares_group(s, who, c->profile[i].socket_group))
			return false;
	for (i = 0; i < c->policies; i++)
		if (setup_socket_path(c->policy[i].socket) != NULL &&
		    !setup_shares_group(s, who, c->policy[i].socket_group))
			return false;
	return true;
}

static void
plan_dropin(const struct setup *s, struct setup_plan *p, const char *group)
{
	static const char path[] =
	    "/etc/systemd/system/tidemark.service.d/setup.conf";
	char *old = setup_slurp(s, path, NULL);

	plan_file(p, setup_format("%s", path), old,
	    setup_format("%s[Service]\nSupplementaryGroups=%s\n",
		old != NULL ? old : "", group),
	    "nobody can give a file to a group that he is not in");
	plan_command(
	    p, "the drop-in counts from then on", "systemctl daemon-reload");
}

void
plan_settings(const struct setup *s, struct setup_plan *p,
    const struct setup_person *who, unsigned connections)
{
	bool have = reaches_all(s, who);
	bool may = have || setup_may_give(s, who->group);
	unsigned wanted =
	    connections < WORKERS_MOST ? connections : WORKERS_MOST;
	bool enough = wanted <= s->config.max_workers;

	if (!have || !enough)
		plan_conf(s, p, have ? NULL : who->group, enough ? 0 : wanted);
	if (!may)
		plan_dropin(s, p, who->group);
	if (!have || !enough)
		plan_command(p, "sockets are made at its start",
		    "systemctl restart tidemark");
}

/* ---- show -------------------------------------------------------------- */

static void
put_file(const struct setup *s, const struct plan_file *f, bool general)
{
	char *text = NULL;
	size_t length;
	struct json j;
	FILE *m;

	if (!s->tool->json) {
		printf("%s%s%s: %s\n", tone(TONE_STRONG), f->path,
		    tone(TONE_PLAIN), f->why);
		if (f->old == NULL)
			printf("(a new file)\n");
		plan_diff(stdout, f->old != NULL ? f->old : "", f->new);
		(void)putchar('\n');
		return;
	}
	m = open_memstream(&text, &length);
	if (m == NULL)
		return;
	plan_diff(m, f->old != NULL ? f->old : "", f->new);
	(void)fclose(m);
	j = json_record(stdout, "change");
	json_text(&j, "file", f->path);
	json_bool(&j, "new", f->old == NULL);
	json_bool(&j, "general", general);
	json_text(&j, "why", f->why);
	json_text(&j, "diff", text);
	json_record_end(&j);
	free(text);
}

static void
put_command(const struct setup *s, const struct plan_command *c)
{
	struct json j;

	if (!s->tool->json) {
		printf("    %-34s # %s\n", c->command, c->why);
		return;
	}
	j = json_record(stdout, "command");
	json_text(&j, "command", c->command);
	json_text(&j, "why", c->why);
	json_record_end(&j);
}

void
plan_print_commands(const struct setup *s, const struct setup_plan *p)
{
	size_t i;

	for (i = 0; i < p->commands; i++)
		put_command(s, &p->command[i]);
}

void
plan_print(const struct setup *s, const struct setup_plan *p, bool done)
{
	struct json j;
	size_t i;

	for (i = 0; i < p->files; i++)
		put_file(s, &p->file[i], p->general);
	if (p->files == 0 && s->tool->json) {
		j = json_record(stdout, "nothing");
		json_text(&j, "what", "every line is there");
		json_record_end(&j);
	} else if (p->files == 0) {
		printf("every line is there; tidemark setup --check looks at "
		       "the rest\n");
	}
	if (p->files > 0 && p->commands > 0 && !s->tool->json)
		printf("%s:\n", done ? "Left to be done" : "Then");
	plan_print_commands(s, p);
	if (!done && p->files > 0 && !p->general && !s->tool->json)
		printf("\nNothing was changed; --apply does it.\n");
}
