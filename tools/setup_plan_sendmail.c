/*
 * setup_plan_sendmail - what sendmail.mc has to say for Tidemark.
 *
 * Every daemon keeps the filters it has and gets Tidemark's behind them: what
 * a filter behind us refuses would count as passed.  A daemon without a list
 * of its own runs the list of all; once it has one, that list has to be
 * copied into it.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "setup.h"
#include "setup_mc.h"
#include "setup_plan.h"
#include "setup_plan_sendmail.h"
#include "setup_text.h"

#define TIMES "T=C:10s;S:30s;R:30s;E:60s"

/* ---- names of filters -------------------------------------------------- */

/* The filter that has the profile's socket, or the name it shall have. */
static int
filter_for(const struct setup *s, const struct sm_conf *c, int profile,
    char *name, size_t size)
{
	const char *want = s->config.profile[profile].socket;
	const struct sm_filter *f;
	size_t i;

	for (i = 0; i < c->filter_count; i++) {
		f = &c->filter[i];
		if (setup_same_socket(f->socket, want)) {
			(void)snprintf(name, size, "%s", f->name);
			return 0;
		}
	}
	setup_filter_name(s, profile, name, size);
	f = sm_filter(c, name);
	if (f == NULL)
		return 1; /* to be defined */
	complain("%s: %s is defined with S=%s, but profile %s has %s; mend "
		 "one of them first",
	    s->mc, name, f->socket, s->config.profile[profile].name, want);
	return -1;
}

static int
profile_of(const struct setup *s, const struct sm_daemon *d)
{
	int profile = setup_profile_by_name(s, d->name);

	return profile >= 0 ? profile : setup_profile_for(s, sm_is_internal(d));
}

static bool
has_ours(const struct setup *s, const struct sm_conf *c, const char *list)
{
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *name;
	const struct sm_filter *f;
	bool has = false;

	while (!has && (name = setup_field(&rest, ";,")) != NULL) {
		f = sm_filter(c, name);
		has = setup_is_ours(
		    s, name, f != NULL ? setup_socket_path(f->socket) : NULL);
	}
	free(copy);
	return has;
}

/* ---- a daemon ---------------------------------------------------------- */

/* a, b; c -> a;b;c */
static void
put_list(FILE *f, const char *list, bool *any)
{
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *name;

	while ((name = setup_field(&rest, ";,")) != NULL) {
		if (name[0] != '\0')
			(void)fprintf(f, "%s%s", *any ? ";" : "", name);
		*any = *any || name[0] != '\0';
	}
	free(copy);
}

/* Its options without the list of filters, and what a comma cut off it. */
static void
put_others(FILE *f, const char *options)
{
	bool behind = false, any = false;
	size_t n;

	for (;; options += n + 1) {
		const char *is;

		n = strcspn(options, ",");
		is = memchr(options, '=', n);
		if (is != NULL)
			behind = options[strspn(options, " \t\n")] == 'I' ||
			    options[strspn(options, " \t\n")] == 'i';
		if (!behind && n > 0) {
			(void)fprintf(
			    f, "%s%.*s", any ? "," : "", (int)n, options);
			any = true;
		}
		if (options[n] == '\0')
			return;
	}
}

/*
 * The options that the daemon shall have; NULL if they can stay, or on an
 * error, with *code -1.
 */
static char *
better(const struct setup *s, const struct sm_conf *c,
    const struct sm_daemon *d, bool *needed, int *code)
{
	const char *list = sm_filters_of(c, d);
	int profile = profile_of(s, d);
	char name[SM_NAME_MAX], *text = NULL;
	bool any = false, ours;
	size_t length;
	FILE *f;

	ours = has_ours(s, c, list) || has_ours(s, c, d->lost);
	if (ours && d->lost[0] == '\0')
		return NULL;
	if (profile < 0 ||
	    (!ours &&
		(*code = filter_for(s, c, profile, name, sizeof name)) < 0)) {
		*code = -1;
		return NULL;
	}
	f = open_memstream(&text, &length);
	if (f == NULL)
		return NULL;
	put_others(f, d->text);
	(void)fprintf(f, ", InputMailFilters=");
	put_list(f, list, &any);
	put_list(f, d->lost, &any);
	if (!ours) {
		put_list(f, name, &any);
		needed[profile] = needed[profile] || *code == 1;
	}
	*code = 0;
	(void)fclose(f);
	return text;
}

/* ---- the file ---------------------------------------------------------- */

static void
put_filters(FILE *f, const struct setup *s, const bool *needed)
{
	char name[SM_NAME_MAX];
	unsigned i;

	for (i = 0; i < s->config.profiles; i++) {
		bool internal = (int)i == setup_profile_for(s, true) &&
		    s->config.profiles > 1;

		if (!needed[i])
			continue;
		setup_filter_name(s, (int)i, name, sizeof name);
		(void)fprintf(f, "MAIL_FILTER(`%s', `S=%s, %s" TIMES "')dnl\n",
		    name, s->config.profile[i].socket, internal ? "F=T, " : "");
	}
}

/* The text with each call's options replaced where that is needed. */
static char *
edit_calls(const struct setup *s, const struct sm_conf *c, const char *text,
    bool *needed, int *code)
{
	char *new = NULL, *options, *raw;
	struct sm_daemon d;
	struct mc_call call;
	size_t length;
	FILE *f = open_memstream(&new, &length);

	if (f == NULL)
		return NULL;
	for (; *code == 0 && mc_next(text, "DAEMON_OPTIONS", &call);
	     text = call.end) {
		raw = setup_copy(call.arg[0], call.length[0]);
		sm_parse_daemon(&d, raw);
		options = better(s, c, &d, needed, code);
		if (options == NULL)
			options = setup_format("%s", raw);
		(void)fprintf(f, "%.*s%s%.*s", (int)(call.arg[0] - text), text,
		    options,
		    (int)(call.end - call.arg[0] - (long)call.length[0]),
		    call.arg[0] + call.length[0]);
		free(options);
		free(raw);
	}
	(void)fputs(text, f);
	(void)fclose(f);
	return new;
}

/* A daemon that sendmail adds by itself gets a line of its own. */
static void
put_implied(FILE *f, const struct setup *s, const struct sm_conf *c,
    const char *options, bool *needed, int *code)
{
	struct sm_daemon d;
	char *text;

	sm_parse_daemon(&d, options);
	text = better(s, c, &d, needed, code);
	if (text != NULL)
		(void)fprintf(f, "DAEMON_OPTIONS(`%s')dnl\n", text);
	free(text);
}

/* Daemons that sendmail adds by itself; the last one unless it is told not to. */
static const char *const by_itself[] = { "Name=MTA", "Name=MTA-v4, Family=inet",
	"Name=MTA-v6, Family=inet6", "Port=587, Name=MSA, M=E" };

#define BY_ITSELF (sizeof by_itself / sizeof *by_itself)

static bool
cf_is_there(const struct sm_conf *cf)
{
	return cf->daemon_count > 0 && cf->daemon[0].line > 0;
}

/*
 * Did sendmail add it?  Without a .cf it will, unless the .mc says otherwise;
 * a .cf knows, also about files that the .mc includes.
 */
static bool
is_implied(const char *mc, const struct sm_conf *cf, size_t which)
{
	bool msa = which == BY_ITSELF - 1;
	struct mc_call call;
	size_t i;

	if (msa ? mc_has_feature(mc, "no_default_msa")
		: mc_next(mc, "DAEMON_OPTIONS", &call))
		return false;
	if (!cf_is_there(cf))
		return which == 0 || msa;
	for (i = 0; i < cf->daemon_count; i++)
		if (strcmp(cf->daemon[i].text, by_itself[which]) == 0)
			return true;
	return false;
}

static void
put_all_implied(FILE *f, const struct setup *s, const struct sm_conf *c,
    const char *mc, const struct sm_conf *cf, bool *needed, int *code)
{
	size_t i;

	for (i = 0; i < BY_ITSELF; i++) {
		if (!is_implied(mc, cf, i))
			continue;
		if (i == BY_ITSELF - 1)
			(void)fprintf(f, "FEATURE(`no_default_msa')dnl\n");
		put_implied(f, s, c, by_itself[i], needed, code);
	}
}

static bool
stands_in(const char *mc, const char *name)
{
	struct mc_call call;
	struct sm_daemon d;
	bool same = false;

	for (; !same && mc_next(mc, "DAEMON_OPTIONS", &call); mc = call.end) {
		char *options = setup_copy(call.arg[0], call.length[0]);

		sm_parse_daemon(&d, options);
		same = d.name[0] != '\0' ? strcmp(d.name, name) == 0
					 : strncmp(name, "Daemon", 6) == 0;
		free(options);
	}
	return same;
}

/* Daemons without us that stand in no line which we could change. */
static int
tell_of_others(const struct setup *s, const char *mc, const struct sm_conf *cf)
{
	const struct sm_daemon *d;
	size_t i, k;
	int rc = 0;

	for (i = 0; cf_is_there(cf) && i < cf->daemon_count; i++) {
		d = &cf->daemon[i];
		for (k = 0; k < BY_ITSELF && strcmp(d->text, by_itself[k]) != 0;
		     k++)
			;
		if (k < BY_ITSELF || has_ours(s, cf, sm_filters_of(cf, d)) ||
		    stands_in(mc, d->name))
			continue;
		complain("%s:%u: daemon %s has no filter of Tidemark, and no "
			 "DAEMON_OPTIONS in %s that can be read: change it by "
			 "hand, where it is",
		    s->cf, d->line, d->name, s->mc);
		rc = -1;
	}
	return rc;
}

/* The filters that only sendmail.cf knows: of files that .mc includes. */
static void
add_filters(struct sm_conf *c, const struct sm_conf *cf)
{
	size_t i;

	for (i = 0; i < cf->filter_count; i++)
		if (sm_filter(c, cf->filter[i].name) == NULL &&
		    c->filter_count < SM_FILTERS_MAX)
			c->filter[c->filter_count++] = cf->filter[i];
	if (c->filters[0] == '\0')
		memcpy(c->filters, cf->filters, sizeof c->filters);
}

char *
setup_edit_mc(const struct setup *s, const char *mc, const struct sm_conf *cf)
{
	bool needed[TIDE_PROFILES_MAX] = { false };
	static struct sm_conf c;
	char *edited, *lines = NULL, *implied = NULL, *new = NULL;
	const char *place;
	size_t length;
	int code = 0;
	FILE *f;

	mc_parse(&c, mc);
	add_filters(&c, cf);
	edited = edit_calls(s, &c, mc, needed, &code);
	f = open_memstream(&implied, &length);
	if (f != NULL && code == 0)
		put_all_implied(f, s, &c, mc, cf, needed, &code);
	if (f != NULL)
		(void)fclose(f);
	f = open_memstream(&lines, &length);
	if (f != NULL) {
		put_filters(f, s, needed);
		(void)fclose(f);
	}
	if (code == 0 && edited != NULL && implied != NULL && lines != NULL) {
		place = mc_place(edited);
		new = setup_format("%.*s%s%s%s%s", (int)(place - edited),
		    edited, lines[0] != '\0' ? "dnl Tidemark\n" : "", lines,
		    implied, place);
	}
	free(edited);
	free(implied);
	free(lines);
	return new;
}

/* ---- the plan ---------------------------------------------------------- */

/* For a machine without sendmail: what the lines would be. */
static char *
generic(const struct setup *s)
{
	static const struct sm_conf none;
	const char *ext =
	    s->config.profile[setup_profile_for(s, false)].daemons;
	const char *own = s->config.profile[setup_profile_for(s, true)].daemons;
	char *mc = setup_format(
	    "FEATURE(`no_default_msa')dnl\n"
	    "DAEMON_OPTIONS(`Name=%.*s, Port=smtp, Listen=512')dnl\n"
	    "DAEMON_OPTIONS(`Name=%.*s, Port=submission, M=Ea, "
	    "Listen=512')dnl\n",
	    ext[0] != '\0' ? (int)strcspn(ext, " ") : 7,
	    ext[0] != '\0' ? ext : "MTA-ext",
	    own[0] != '\0' ? (int)strcspn(own, " ") : 7,
	    own[0] != '\0' ? own : "MTA-int");
	char *new = setup_edit_mc(s, mc, &none);

	free(mc);
	return new;
}

/* RunAsUser=user or user:group: whoever opens the sockets. */
static void
plan_user(const struct setup *s, struct setup_plan *p, const struct sm_conf *c)
{
	char *copy = setup_copy(c->run_as, strlen(c->run_as)), *rest = copy;
	const char *user = setup_field(&rest, ":.");
	const char *group = setup_field(&rest, ":.");
	struct setup_person person;

	if (user[0] != '\0' && strcmp(user, "root") != 0 &&
	    setup_person(s, user, group != NULL ? group : "", &person)) {
		person.groups = 1; /* it takes no other */
		plan_settings(s, p, &person, 0);
	}
	free(copy);
}

static int
plan_generic(const struct setup *s, struct setup_plan *p, bool apply)
{
	char *new;

	if (apply) {
		complain("there is no %s%s that can be read", s->root, s->mc);
		return -1;
	}
	if (setup_exists(s, s->mc))
		return -1; /* it is said already why it cannot be read */
	complain("there is no %s%s; lines for a sendmail.mc in general:",
	    s->root, s->mc);
	p->general = true;
	new = generic(s);
	if (new == NULL)
		return -1;
	plan_file(p, setup_format("%s", s->mc), NULL, new,
	    "Tidemark's filters, and each daemon's list, before the MAILER "
	    "lines");
	return 0;
}

int
setup_plan_sendmail(struct setup *s, struct setup_plan *p, bool apply)
{
	static struct sm_conf c;
	char *mc = setup_slurp(s, s->mc, NULL), *new;
	size_t length = 0;
	char *cf = setup_slurp(s, s->cf, &length);
	int rc = 0;

	sm_parse(&c, cf != NULL ? cf : "", length);
	new = mc != NULL ? setup_edit_mc(s, mc, &c) : NULL;
	if (mc == NULL) {
		rc = plan_generic(s, p, apply);
	} else if (new == NULL) {
		rc = -1;
	} else if (strcmp(mc, new) != 0) {
		plan_file(p, setup_format("%s", s->mc), setup_format("%s", mc),
		    setup_format("%s", new),
		    "Tidemark's filters, and each daemon's list, Tidemark "
		    "last in it");
		if (apply) /* behind it, so that it is the newer one */
			rc = setup_build_cf(s, p, mc, new, cf);
	}
	if (rc == 0 && mc != NULL && tell_of_others(s, mc, &c) != 0 &&
	    (apply || p->files == 0))
		rc = -1;
	if (rc == 0)
		plan_user(s, p, &c);
	if (rc == 0 && p->files > 0 && !apply)
		plan_command(
		    p, "makes sendmail.cf of sendmail.mc", "make -C /etc/mail");
	if (rc == 0 && p->files > 0)
		plan_command(p, "it reads its configuration at its start alone",
		    "systemctl restart sendmail");
	free(cf);
	free(mc);
	free(new);
	return rc;
}
