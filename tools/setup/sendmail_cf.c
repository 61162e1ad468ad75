/*
 * setup, sendmail cf - sendmail.cf.  See sendmail_cf.h.
 *
 * A line that begins with a blank continues the one before.  Fields are told
 * apart by their first letter alone, as sendmail does it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sendmail_cf.h"
#include "text.h"

static void
keep(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from);
}

/* ---- fields ------------------------------------------------------------ */

/* 5s, 5m, 5 (seconds). */
static uint64_t
seconds(const char *s)
{
	char *unit;
	uint64_t n = strtoull(s, &unit, 10) % 100000000;

	switch (*unit) {
	case 'm':
		return n * 60;
	case 'h':
		return n * 3600;
	case 'd':
		return n * 86400;
	case 'w':
		return n * 604800;
	default:
		return n;
	}
}

/* C:5s;S:10s;R:10s;E:60s */
static void
parse_times(struct sm_filter *f, char *times)
{
	char *one, *value;

	while ((one = setup_field(&times, ";,")) != NULL) {
		value = strchr(one, ':');
		if (value == NULL)
			continue;
		value++;
		switch (one[0]) {
		case 'C':
			f->connect = seconds(value);
			break;
		case 'S':
			f->send = seconds(value);
			break;
		case 'R':
			f->answer = seconds(value);
			break;
		case 'E':
			f->end = seconds(value);
			break;
		default:
			break;
		}
	}
}

/* Of several flags sendmail looks for R, then 4, then T. */
static char
strongest(const char *flags)
{
	static const char order[] = "R4T";
	size_t i;

	for (i = 0; i < sizeof order - 1; i++)
		if (strchr(flags, order[i]) != NULL)
			return order[i];
	return 0;
}

/* name, S=local:/path, F=T, T=C:5s;S:10s */
static void
parse_filter(struct sm_conf *c, char *rest, unsigned line)
{
	struct sm_filter *f = &c->filter[c->filter_count];
	char *field, *value;

	if (c->filter_count == SM_FILTERS_MAX)
		return;
	*f = (struct sm_filter){ .line = line,
		.connect = 300,
		.send = 10,
		.answer = 10,
		.end = 300 };
	field = setup_field(&rest, ",");
	keep(f->name, sizeof f->name, field);
	while ((field = setup_field(&rest, ",")) != NULL) {
		value = strchr(field, '=');
		if (value == NULL)
			continue;
		value = setup_trim(value + 1);
		if (field[0] == 'S')
			keep(f->socket, sizeof f->socket, value);
		else if (field[0] == 'F')
			f->flag = strongest(value);
		else if (field[0] == 'T')
			parse_times(f, value);
	}
	if (f->name[0] != '\0')
		c->filter_count++;
}

/* One field of a daemon; true if it was its list of filters. */
static bool
daemon_field(struct sm_daemon *d, const char *field, const char *value)
{
	switch (tolower((unsigned char)field[0])) {
	case 'n':
		keep(d->name, sizeof d->name, value);
		break;
	case 'p':
		keep(d->port, sizeof d->port, value);
		break;
	case 'm':
		keep(d->modifiers, sizeof d->modifiers, value);
		break;
	case 'i':
		keep(d->filters, sizeof d->filters, value);
		d->has_filters = true;
		return true;
	default:
		break;
	}
	return false;
}

void
sm_parse_daemon(struct sm_daemon *d, const char *options)
{
	char *copy = setup_copy(options, strlen(options));
	char *rest = copy, *field, *value;
	bool behind = false; /* of a list of filters */
	size_t n;

	*d = (struct sm_daemon){ .port = "smtp" };
	keep(d->text, sizeof d->text, setup_trim(rest));
	while ((field = setup_field(&rest, ",")) != NULL) {
		value = strchr(field, '=');
		if (value != NULL) {
			behind = daemon_field(d, field, setup_trim(value + 1));
		} else if (behind && field[0] != '\0') {
			n = strlen(d->lost);
			(void)snprintf(d->lost + n, sizeof d->lost - n, "%s%s",
			    n > 0 ? ";" : "", field);
		}
	}
	free(copy);
}

/* ---- lines ------------------------------------------------------------- */

static void
parse_daemon_line(struct sm_conf *c, const char *options, unsigned line)
{
	struct sm_daemon *d = &c->daemon[c->daemon_count];

	if (c->daemon_count == SM_DAEMONS_MAX)
		return;
	sm_parse_daemon(d, options);
	d->line = line;
	if (d->name[0] == '\0')
		(void)snprintf(
		    d->name, sizeof d->name, "Daemon%zu", c->daemon_count);
	c->daemon_count++;
}

/* O Name=value; the letters of old are not for what we look at. */
static void
parse_option(struct sm_conf *c, char *rest, unsigned line)
{
	char *value = strchr(rest, '='), *name;

	if (rest[0] != ' ' || value == NULL)
		return;
	*value = '\0';
	value = setup_trim(value + 1);
	name = setup_trim(rest);
	if (strcasecmp(name, "DaemonPortOptions") == 0) {
		parse_daemon_line(c, value, line);
	} else if (strcasecmp(name, "InputMailFilters") == 0) {
		keep(c->filters, sizeof c->filters, value);
		c->filters_line = line;
	} else if (strcasecmp(name, "RunAsUser") == 0) {
		keep(c->run_as, sizeof c->run_as, value);
	} else if (strcasecmp(name, "DontBlameSendmail") == 0) {
		keep(c->blame, sizeof c->blame, value);
	} else if (strcasecmp(name, "MaxDaemonChildren") == 0) {
		c->most_children = seconds(value);
		c->most_children_line = line;
	}
}

/*
 * The next line with what continues it, joined in place; *number is where it
 * begins.  NULL at the end.
 */
static char *
next_line(char **at, unsigned *number, unsigned *next)
{
	char *line = *at, *end, *to;

	if (*line == '\0')
		return NULL;
	*number = *next;
	for (end = to = line; *end != '\0'; end++) {
		if (*end != '\n') {
			*to++ = *end;
			continue;
		}
		(*next)++;
		if (end[1] != ' ' && end[1] != '\t') {
			end++;
			break;
		}
	}
	*at = end;
	*to = '\0';
	return line;
}

void
sm_parse(struct sm_conf *c, const char *text, size_t n)
{
	char *copy = setup_copy(text, n), *at = copy, *line;
	unsigned number, next = 1;

	*c = (struct sm_conf){ .filter_count = 0 };
	while ((line = next_line(&at, &number, &next)) != NULL) {
		if (line[0] == 'X')
			parse_filter(c, line + 1, number);
		else if (line[0] == 'O')
			parse_option(c, line + 1, number);
	}
	if (c->daemon_count == 0)
		parse_daemon_line(c, "", 0); /* as sendmail does */
	free(copy);
}

/* ---- questions --------------------------------------------------------- */

const struct sm_filter *
sm_filter(const struct sm_conf *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->filter_count; i++)
		if (strcmp(c->filter[i].name, name) == 0)
			return &c->filter[i];
	return NULL;
}

const char *
sm_filters_of(const struct sm_conf *c, const struct sm_daemon *d)
{
	return d->has_filters ? d->filters : c->filters;
}

bool
sm_is_internal(const struct sm_daemon *d)
{
	static const char *const ports[] = { "submission", "submissions",
		"smtps", "587", "465" };
	size_t i;

	for (i = 0; i < sizeof ports / sizeof *ports; i++)
		if (strcasecmp(d->port, ports[i]) == 0)
			return true;
	return strchr(d->modifiers, 'a') != NULL;
}

/* The mailer that submits has A=TCP $h PORT; D{MTAHost} names the host. */
bool
sm_submit_route(const char *text, char *route, size_t size, unsigned *line)
{
	const char *host = strstr(text, "\nD{MTAHost}");
	const char *port = strstr(text, "\nMrelay");
	char h[SM_NAME_MAX], p[SM_NAME_MAX];

	port = port != NULL ? strstr(port, "A=TCP $h") : NULL;
	if (host == NULL ||
	    sscanf(host, "\nD{MTAHost}%63[^\n]", h) != 1) /* NOLINT */
		return false;
	if (port == NULL ||
	    sscanf(port, "A=TCP $h%*1[ ]%63[a-z0-9]", p) != 1) /* NOLINT */
		keep(p, sizeof p, "25");
	*line = setup_line_at(text, host + 1);
	(void)snprintf(route, size, "%s %s", h, p);
	return true;
}
