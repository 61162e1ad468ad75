/*
 * setup, check sendmail - what is wrong with sendmail's side of a set-up.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../read/output.h"
#include "findings.h"
#include "sendmail_cf.h"
#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

#define LIST_ENDS ";, \t"

/* ---- filters ----------------------------------------------------------- */

static bool
is_ours(const struct setup *s, const struct sm_filter *f)
{
	return setup_is_ours(s, f->name, setup_socket_path(f->socket));
}

static const char *
while_away(char flag)
{
	switch (flag) {
	case 'R':
		return "F=R: 550, and the client gives up";
	case 'T':
		return "F=T: 451, and the client tries again later";
	case '4':
		return "F=4: 421, and the connection is closed";
	default:
		return "no F=: mail passes, unseen; tidemark query says so "
		       "later";
	}
}

static void
check_flag(struct setup *s, const struct sm_filter *f)
{
	const char *path = setup_socket_path(f->socket);
	int profile = path != NULL ? setup_profile_by_path(s, path) : -1;

	setup_find(s, SETUP_WHILE_AWAY, s->cf, f->line, "%s: %s", f->name,
	    while_away(f->flag));
	if (f->flag == 'R' &&
	    (profile < 0 || profile == setup_profile_for(s, false)))
		setup_find(s, SETUP_FLAG_REFUSES, s->cf, f->line, "%s has F=R",
		    f->name);
}

static void
check_times(struct setup *s, const struct sm_filter *f)
{
	if (f->connect < 3 || f->send < 5 || f->answer < 5 || f->end < 10)
		setup_find(s, SETUP_TIMEOUT_SHORT, s->cf, f->line,
		    "%s: sendmail waits C:%llus S:%llus R:%llus E:%llus",
		    f->name, (unsigned long long)f->connect,
		    (unsigned long long)f->send, (unsigned long long)f->answer,
		    (unsigned long long)f->end);
	else if (f->end >= 300 || f->connect >= 300)
		setup_find(s, SETUP_TIMEOUT_LONG, s->cf, f->line,
		    "%s: sendmail waits C:%llus to connect and E:%llus for "
		    "the verdict",
		    f->name, (unsigned long long)f->connect,
		    (unsigned long long)f->end);
}

static void
check_filter_socket(struct setup *s, const struct sm_conf *c,
    const struct sm_filter *f, const struct setup_person *p)
{
	const char *path = setup_socket_path(f->socket);
	bool lenient =
	    setup_listed(c->blame, LIST_ENDS, "GroupWritableDirPathSafe");

	if (path == NULL) {
		setup_find(s, SETUP_SOCKET_INET, s->cf, f->line, "%s: S=%s",
		    f->name, f->socket);
		return;
	}
	if (setup_profile_by_path(s, path) < 0) {
		setup_find(s, SETUP_SOCKET_UNKNOWN, s->cf, f->line,
		    "%s: S=%s, but no profile in %s has that socket", f->name,
		    f->socket, s->conf_there ? s->conf : "the settings");
		return;
	}
	setup_check_socket(s, s->cf, f->line, f->name, path, p,
	    lenient ? CARE_WORLD : CARE_GROUP);
}

static bool
is_used(const struct sm_conf *c, const struct sm_filter *f)
{
	size_t i;

	for (i = 0; i < c->daemon_count; i++) {
		const struct sm_daemon *d = &c->daemon[i];

		if (setup_listed(sm_filters_of(c, d), LIST_ENDS, f->name) ||
		    setup_listed(d->lost, ";", f->name))
			return true; /* lost ones are told of as such */
	}
	return false;
}

static void
check_filter(struct setup *s, const struct sm_conf *c,
    const struct sm_filter *f, const struct setup_person *p)
{
	check_flag(s, f);
	check_times(s, f);
	check_filter_socket(s, c, f, p);
	if (!is_used(c, f))
		setup_find(s, SETUP_FILTER_UNUSED, s->cf, f->line,
		    "%s is in no daemon's list", f->name);
}

/* ---- daemons ----------------------------------------------------------- */

/* What only signs refuses nothing. */
static bool
may_refuse(const char *name)
{
	return strcasestr(name, "dkim") == NULL &&
	    strcasestr(name, "arc") == NULL && strcasestr(name, "sign") == NULL;
}

static void
check_list(struct setup *s, const struct sm_conf *c, const struct sm_daemon *d)
{
	const char *list = sm_filters_of(c, d);
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *name;
	const struct sm_filter *f, *ours = NULL;
	unsigned line = d->has_filters ? d->line : c->filters_line;

	while (
	    (name = setup_field(&rest, d->has_filters ? ";" : ";,")) != NULL) {
		if (name[0] == '\0')
			continue;
		f = sm_filter(c, name);
		if (f == NULL)
			setup_find(s, SETUP_FILTER_UNDEFINED, s->cf, line,
			    "%s names %s, and no MAIL_FILTER defines it",
			    d->name, name);
		else if (is_ours(s, f))
			ours = f;
		else if (ours != NULL && may_refuse(name))
			setup_find(s, SETUP_ORDER, s->cf, line,
			    "%s: %s stands before %s", d->name, ours->name,
			    name);
	}
	free(copy);
}

/* Tidemark's filter of a daemon; NULL if it has none. */
static const struct sm_filter *
our_filter(const struct setup *s, const struct sm_conf *c, const char *list)
{
	size_t i;

	for (i = 0; i < c->filter_count; i++)
		if (is_ours(s, &c->filter[i]) &&
		    setup_listed(list, LIST_ENDS, c->filter[i].name))
			return &c->filter[i];
	return NULL;
}

static bool
is_default_msa(const struct sm_daemon *d)
{
	return strcmp(d->name, "MSA") == 0 && !d->has_filters &&
	    strcmp(d->port, "587") == 0 && strcmp(d->modifiers, "E") == 0;
}

static bool
shares_name(const struct sm_conf *c, const struct sm_daemon *d)
{
	size_t i;

	for (i = 0; i < c->daemon_count; i++)
		if (&c->daemon[i] != d &&
		    strcmp(c->daemon[i].name, d->name) == 0)
			return true;
	return false;
}

static void
check_profile(struct setup *s, const struct sm_conf *c,
    const struct sm_daemon *d, const struct sm_filter *f)
{
	const char *path = setup_socket_path(f->socket);
	int by_path = path != NULL ? setup_profile_by_path(s, path) : -1;
	int by_name = setup_profile_by_name(s, d->name);

	if (by_path < 0)
		return;
	if (by_name >= 0 && by_name != by_path)
		setup_find(s,
		    shares_name(c, d) ? SETUP_DAEMON_SAME
				      : SETUP_DAEMON_PROFILE,
		    s->cf, d->line,
		    "daemon %s is in daemons = of profile %s, but its filter "
		    "%s has the socket of %s",
		    d->name, s->config.profile[by_name].name, f->name,
		    s->config.profile[by_path].name);
	else if (by_name < 0 &&
	    !setup_profile_fits(s, by_path, sm_is_internal(d)))
		setup_find(s, SETUP_DAEMON_UNNAMED, s->cf, d->line,
		    "daemon %s (port %s) gets profile %s", d->name, d->port,
		    s->config.profile[by_path].name);
}

static void
check_daemon(
    struct setup *s, const struct sm_conf *c, const struct sm_daemon *d)
{
	const struct sm_filter *f = our_filter(s, c, sm_filters_of(c, d));

	if (d->lost[0] != '\0')
		setup_find(s, SETUP_FILTERS_COMMA, s->cf, d->line,
		    "%s: InputMailFilters=%s, and %s is dropped", d->name,
		    d->filters, d->lost);
	check_list(s, c, d);
	if (f != NULL)
		check_profile(s, c, d, f);
	else if (our_filter(s, c, d->lost) != NULL)
		return; /* it is there, but for the comma */
	else if (is_default_msa(d))
		setup_find(s, SETUP_MSA_UNFILTERED, s->cf, d->line,
		    "%s (port %s) has no filter of Tidemark", d->name, d->port);
	else
		setup_find(s, SETUP_DAEMON_UNFILTERED, s->cf, d->line,
		    "%s (port %s) has no filter of Tidemark", d->name, d->port);
}

/* ---- the whole --------------------------------------------------------- */

static void
check_ages(struct setup *s)
{
	char *mc = setup_real(s, s->mc), *cf = setup_real(s, s->cf);
	struct stat a, b;

	if (stat(mc, &a) == 0 && stat(cf, &b) == 0 &&
	    (a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
		(a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
		    a.st_mtim.tv_nsec > b.st_mtim.tv_nsec)))
		setup_find(s, SETUP_CF_OLDER, s->mc, 0, "%s is older than %s",
		    s->cf, s->mc);
	free(mc);
	free(cf);
}

static void
check_workers(struct setup *s, const struct sm_conf *c)
{
	if (c->most_children == 0)
		setup_find(s, SETUP_WORKERS, s->cf, c->most_children_line,
		    "MaxDaemonChildren sets no limit, and max_workers is %u",
		    s->config.max_workers);
	else if (c->most_children > s->config.max_workers)
		setup_find(s, SETUP_WORKERS, s->cf, c->most_children_line,
		    "MaxDaemonChildren is %llu, and max_workers is %u",
		    (unsigned long long)c->most_children,
		    s->config.max_workers);
}

static void
check_route(struct setup *s, const struct sm_conf *c)
{
	char *text = setup_slurp(s, s->submit, NULL), route[256];
	const char *port;
	unsigned line;
	size_t i;

	if (text != NULL && sm_submit_route(text, route, sizeof route, &line)) {
		port = strrchr(route, ' ') + 1;
		for (i = 0; i < c->daemon_count; i++)
			if (strcmp(c->daemon[i].port, port) == 0 ||
			    (strcmp(port, "25") == 0 &&
				strcmp(c->daemon[i].port, "smtp") == 0))
				break;
		setup_find(s, SETUP_LOCAL_ROUTE, s->submit, line,
		    "mail of this machine itself goes to %s%s%s", route,
		    i < c->daemon_count ? ", and so in through " : "",
		    i < c->daemon_count ? c->daemon[i].name : "");
	}
	free(text);
}

/* Who opens the sockets: root, unless RunAsUser says otherwise. */
static bool
who_opens(struct setup *s, const struct sm_conf *c, struct setup_person *p)
{
	char *copy, *rest, *user, *group;
	bool known;

	if (c->run_as[0] == '\0') {
		*p = (struct setup_person){ .name = "root", .groups = 1 };
		return true;
	}
	rest = copy = setup_copy(c->run_as, strlen(c->run_as));
	user = setup_field(&rest, ":.");
	group = setup_field(&rest, ":.");
	known = setup_person(s, user, group != NULL ? group : "", p);
	p->groups = 1; /* sendmail takes no other */
	if (!known)
		complain(
		    "RunAsUser=%s: there is no such user or group", c->run_as);
	free(copy);
	return known;
}

int
setup_check_sendmail(struct setup *s)
{
	static struct sm_conf c;
	struct setup_person p;
	size_t i, length;
	char *text = setup_slurp(s, s->cf, &length);

	if (text == NULL) {
		complain("there is no %s%s that can be read", s->root, s->cf);
		return -1;
	}
	sm_parse(&c, text, length);
	free(text);
	if (!who_opens(s, &c, &p))
		return -1;
	setup_check_conf(s);
	setup_check_groups(s);
	check_ages(s);
	for (i = 0; i < c.filter_count; i++)
		if (is_ours(s, &c.filter[i]))
			check_filter(s, &c, &c.filter[i], &p);
	for (i = 0; i < c.daemon_count; i++)
		check_daemon(s, &c, &c.daemon[i]);
	check_workers(s, &c);
	check_route(s, &c);
	return 0;
}
