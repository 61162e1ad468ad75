/*
 * setup, postfix cf - main.cf and master.cf.  See postfix_cf.h.
 *
 * A line that begins with a blank continues the one before; lines that are
 * empty, or begin with # after blanks, are no lines at all.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postfix_cf.h"
#include "text.h"

#define DEEP_MAX 20 /* $names in $names */

/* ---- lines ------------------------------------------------------------- */

static bool
is_nothing(const char *line)
{
	line += strspn(line, " \t\r");
	return *line == '\0' || *line == '\n' || *line == '#';
}

/* Where the next physical line begins. */
static char *
behind(char *line)
{
	line += strcspn(line, "\n");
	return *line == '\n' ? line + 1 : line;
}

/*
 * The next logical line, joined in place, and where it begins.  NULL at the
 * end.  *next counts the physical lines that were passed.
 */
static char *
next_line(char **at, unsigned *number, unsigned *next)
{
	char *from = *at, *line = NULL, *to = NULL, *end;
	size_t n;

	while (*from != '\0') {
		if (line != NULL && !is_nothing(from) && *from != ' ' &&
		    *from != '\t')
			break;
		end = behind(from);
		if (!is_nothing(from)) {
			n = strcspn(from, "\n");
			if (line == NULL) {
				line = to = from;
				*number = *next;
			}
			memmove(to, from, n);
			to += n;
		}
		(*next)++;
		from = end;
	}
	*at = from;
	if (line != NULL && to < from)
		*to = '\0'; /* behind it there was a newline at least */
	return line;
}

static void
add(struct pf_params *p, const char *name, const char *value, unsigned line)
{
	p->param = setup_grow(p->param, p->count + 1, sizeof *p->param);
	p->param[p->count++] =
	    (struct pf_param){ .name = name, .value = value, .line = line };
}

/* name = value, cut in place; false if it is none. */
static bool
cut(char *line, char **name, char **value)
{
	char *is = strchr(line, '=');

	if (is == NULL)
		return false;
	*is = '\0';
	*name = setup_trim(line);
	*value = setup_trim(is + 1);
	return **name != '\0';
}

void
pf_parse_main(struct pf_params *p, const char *text, size_t n)
{
	char *at, *line, *name, *value;
	unsigned number, next = 1;

	*p = (struct pf_params){ .text = setup_copy(text, n) };
	at = p->text;
	while ((line = next_line(&at, &number, &next)) != NULL)
		if (cut(line, &name, &value))
			add(p, name, value, number);
}

/* ---- master.cf --------------------------------------------------------- */

/* The next word; { a word with blanks }. */
static char *
word(char **rest)
{
	char *s = *rest + strspn(*rest, " \t\r"), *end;

	if (*s == '\0')
		return NULL;
	end = *s == '{' ? setup_closing(s) : NULL;
	if (end != NULL) {
		*end = '\0';
		*rest = end + 1;
		return setup_trim(s + 1);
	}
	end = s + strcspn(s, " \t\r");
	*rest = *end != '\0' ? end + 1 : end;
	*end = '\0';
	return s;
}

/* The arguments: -o name=value, or -oname=value. */
static void
parse_arguments(struct pf_service *s, char *rest, unsigned line)
{
	char *w, *name, *value;

	while ((w = word(&rest)) != NULL) {
		if (strncmp(w, "-o", 2) != 0)
			continue;
		w = w[2] != '\0' ? w + 2 : word(&rest);
		if (w != NULL && cut(w, &name, &value))
			add(&s->own, name, value, line);
	}
}

static bool
parse_service(struct pf_service *s, char *line, unsigned number)
{
	unsigned i;

	*s = (struct pf_service){ .line = number };
	for (i = 0; i < PF_COLUMNS; i++) {
		s->column[i] = word(&line);
		if (s->column[i] == NULL)
			return false;
	}
	parse_arguments(s, line, number);
	return true;
}

void
pf_parse_master(struct pf_conf *c, const char *text, size_t n)
{
	unsigned number, next = 1;
	struct pf_service s;
	char *at, *line;

	c->text = setup_copy(text, n);
	at = c->text;
	while ((line = next_line(&at, &number, &next)) != NULL) {
		if (!parse_service(&s, line, number))
			continue;
		c->service = setup_grow(
		    c->service, c->service_count + 1, sizeof *c->service);
		c->service[c->service_count++] = s;
	}
}

void
pf_params_free(struct pf_params *p)
{
	free(p->param);
	free(p->text);
}

void
pf_free(struct pf_conf *c)
{
	size_t i;

	for (i = 0; i < c->service_count; i++)
		pf_params_free(&c->service[i].own);
	free(c->service);
	free(c->text);
	pf_params_free(&c->main);
	pf_params_free(&c->defaults);
	*c = (struct pf_conf){ .service_count = 0 };
}

/* ---- values ------------------------------------------------------------ */

static const struct pf_param *
find(const struct pf_params *p, const char *name)
{
	size_t i;

	for (i = p->count; i > 0; i--)
		if (strcmp(p->param[i - 1].name, name) == 0)
			return &p->param[i - 1];
	return NULL;
}

const struct pf_param *
pf_set(const struct pf_conf *c, const struct pf_service *s, const char *name)
{
	const struct pf_param *p = s != NULL ? find(&s->own, name) : NULL;

	return p != NULL ? p : find(&c->main, name);
}

/* Postfix's own, for what we look at; `postconf -d' knows better. */
static const char *
built_in(const char *name)
{
	static const char *const table[][2] = {
		{ "queue_directory", "/var/spool/postfix" },
		{ "mail_owner", "postfix" },
		{ "default_process_limit", "100" },
		{ "milter_default_action", "tempfail" },
		{ "milter_protocol", "6" },
		{ "milter_connect_timeout", "30s" },
		{ "milter_command_timeout", "30s" },
		{ "milter_content_timeout", "300s" },
		{ "milter_macro_daemon_name", "$myhostname" },
		{ "smtpd_policy_service_default_action",
		    "451 4.3.5 Server configuration problem" },
	};
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i][0], name) == 0)
			return table[i][1];
	return "";
}

struct expansion {
	const struct pf_conf *conf;
	const struct pf_service *service;
	char *buf;
	size_t size, used;
	unsigned budget; /* a value may name itself, or double each time */
};

static void
put(struct expansion *e, const char *s, size_t n)
{
	if (n > e->size - 1 - e->used)
		n = e->size - 1 - e->used;
	memcpy(e->buf + e->used, s, n);
	e->used += n;
	e->buf[e->used] = '\0';
}

static void expand(struct expansion *, const char *value, unsigned deep);

static void
expand_name(struct expansion *e, const char *name, unsigned deep)
{
	const struct pf_param *p = pf_set(e->conf, e->service, name);

	if (p == NULL)
		p = find(&e->conf->defaults, name);
	expand(e, p != NULL ? p->value : built_in(name), deep);
}

/* $name, ${name}, $(name); anything cleverer is left as it is. */
static const char *
reference(const char *s, char *name, size_t size)
{
	const char *from = s, *end = "";
	size_t n;

	if (*s == '{' || *s == '(') {
		end = *s == '{' ? "}" : ")";
		s++;
	}
	for (n = 0; isalnum((unsigned char)s[n]) || s[n] == '_'; n++)
		;
	if (n == 0 || n >= size || (*end != '\0' && s[n] != *end))
		return from;
	memcpy(name, s, n);
	name[n] = '\0';
	return s + n + (*end != '\0');
}

static void
expand(struct expansion *e, const char *value, unsigned deep)
{
	char name[128];
	const char *next;
	size_t n;

	while (*value != '\0' && e->budget > 0) {
		e->budget--;
		n = strcspn(value, "$");
		put(e, value, n);
		value += n;
		if (*value != '$')
			break;
		next = reference(value + 1, name, sizeof name);
		if (next == value + 1 || deep == DEEP_MAX)
			put(e, value, (size_t)(next - value));
		else
			expand_name(e, name, deep + 1);
		value = next;
	}
}

const char *
pf_value(const struct pf_conf *c, const struct pf_service *s, const char *name,
    char *buf, size_t size)
{
	struct expansion e = { c, s, buf, size, 0, 1000 };

	buf[0] = '\0';
	expand_name(&e, name, 0);
	return setup_trim(buf);
}

/* ---- questions --------------------------------------------------------- */

bool
pf_is_smtpd(const struct pf_service *s)
{
	return strcmp(s->column[7], "smtpd") == 0;
}

bool
pf_is_internal(const struct pf_conf *c, const struct pf_service *s)
{
	const char *port = strrchr(s->column[0], ':');
	char buf[PF_VALUE_MAX];

	port = port != NULL ? port + 1 : s->column[0];
	if (setup_listed("submission submissions smtps 587 465", " ", port))
		return true;
	return find(&s->own, "smtpd_sasl_auth_enable") != NULL &&
	    strcmp(pf_value(c, s, "smtpd_sasl_auth_enable", buf, sizeof buf),
		"yes") == 0;
}

bool
pf_has_no_milters(const struct pf_conf *c, const struct pf_service *s)
{
	char buf[PF_VALUE_MAX];

	return setup_listed(
	    pf_value(c, s, "receive_override_options", buf, sizeof buf), ", \t",
	    "no_milters");
}

static bool
is_inside(const struct pf_service *s)
{
	static const char *const loopback[] = { "127.",
		"localhost:", "[::1]:", "::1:" };
	size_t i;

	for (i = 0; i < sizeof loopback / sizeof *loopback; i++)
		if (strncmp(s->column[0], loopback[i], strlen(loopback[i])) ==
		    0)
			return true;
	return strcmp(s->column[1], "inet") != 0;
}

/* It counts what the service says for itself: main.cf is about all of them. */
bool
pf_is_left_alone(const struct pf_conf *c, const struct pf_service *s)
{
	const struct pf_param *own = find(&s->own, "smtpd_milters");

	if (own != NULL && own->value[0] != '\0')
		return false;
	if (find(&s->own, "receive_override_options") != NULL &&
	    pf_has_no_milters(c, s))
		return true;
	return own != NULL && is_inside(s);
}

/* `-' was y before compatibility level 1. */
bool
pf_is_chrooted(const struct pf_conf *c, const struct pf_service *s)
{
	char buf[PF_VALUE_MAX];

	if (s->column[4][0] != '-')
		return s->column[4][0] == 'y';
	return atof(pf_value(c, NULL, "compatibility_level", buf, sizeof buf)) <
	    1;
}

unsigned
pf_processes(const struct pf_conf *c, const struct pf_service *s)
{
	char buf[PF_VALUE_MAX];
	const char *n = s->column[6];

	if (n[0] == '-')
		n = pf_value(c, NULL, "default_process_limit", buf, sizeof buf);
	return (unsigned)strtoul(n, NULL, 10);
}
