/*
 * setup, plan postfix - what main.cf and master.cf have to say for Tidemark.
 *
 * Each smtpd keeps the filters it has and gets Tidemark's behind them, in
 * master.cf, since a value there cannot refer to that of main.cf.  Services
 * are changed from the last to the first, so that line numbers hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../read/output.h"
#include "plan.h"
#include "postfix.h"
#include "postfix_cf.h"
#include "postfix_edit.h"
#include "postfix_list.h"
#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

struct draft {
	const struct setup *s;
	struct postfix p;
	char *main, *master; /* as they shall be */
	unsigned connections;
	bool mount;	 /* has to be brought up */
	bool unchrooted; /* one of them */
};

#define MOUNT "var-spool-postfix-run-tidemark.mount"

/* ---- a service --------------------------------------------------------- */

static int
profile_of(const struct draft *d, const struct pf_service *v)
{
	char buf[PF_VALUE_MAX];
	int by_name = setup_profile_by_name(d->s,
	    pf_value(
		&d->p.conf, v, "milter_macro_daemon_name", buf, sizeof buf));

	return by_name >= 0
	    ? by_name
	    : setup_profile_for(d->s, pf_is_internal(&d->p.conf, v));
}

/* Is it set in master.cf, for this service? */
static bool
has_own(const struct pf_service *v, const char *name)
{
	size_t i;

	for (i = 0; i < v->own.count; i++)
		if (strcmp(v->own.param[i].name, name) == 0)
			return true;
	return false;
}

static bool
set(struct draft *d, const struct pf_service *v, const char *name,
    const char *value)
{
	const struct pf_param *own =
	    v->own.count > 0 ? pf_set(&d->p.conf, v, name) : NULL;
	bool braces = own != NULL && has_own(v, name) &&
	    strpbrk(own->value, " \t") != NULL;

	if (braces) {
		complain("%s:%u: %s of %s is written in braces; change it by "
			 "hand to %s",
		    d->p.path[MASTER_CF], v->line, name, v->column[0], value);
		return false;
	}
	d->master = pf_edit_option(d->master, v->line, name, value);
	return true;
}

/*
 * Does it say what becomes of mail while we are away?  milter_default_action,
 * where somebody has set it, holds for us, too.
 */
static bool
is_settled(const struct draft *d, const struct pf_service *v,
    const struct pf_milter *m)
{
	return m->action[0] != '\0' ||
	    pf_set(&d->p.conf, v, "milter_default_action") != NULL;
}

static bool
is_ours(const struct draft *d, const struct pf_service *v,
    const struct pf_milter *m, const char *address)
{
	return pf_profile_of(d->s, &d->p.conf, v, m->address) >= 0 ||
	    strcmp(m->address, address) == 0;
}

static char *
one_more(char *list, const char *text)
{
	char *more =
	    setup_format("%s%s%s", list, list[0] != '\0' ? "," : "", text);

	free(list);
	return more;
}

/*
 * The filters it has, without blanks, and ours (in its own words: new) in its
 * place or last; NULL if it is there.  Not *fine if there are some that we
 * could not write again as they are.
 */
static char *
milters_with(const struct draft *d, const struct pf_service *v,
    const char *address, const char *new, bool *fine)
{
	char buf[PF_VALUE_MAX], *rest = buf, *list = setup_format("%s", "");
	bool written = false, there = false;
	struct pf_milter m;

	(void)pf_value(&d->p.conf, v, "smtpd_milters", buf, sizeof buf);
	*fine = strchr(buf, '$') == NULL;
	while (pf_next_milter(&rest, &m)) {
		bool ours = is_ours(d, v, &m, address);

		there = there || (ours && is_settled(d, v, &m));
		written = written || ours;
		if (!ours && strstr(m.address, "tidemark") != NULL)
			continue; /* a place that is none of ours any more */
		*fine = *fine && (ours || !m.complicated);
		list = one_more(list, ours ? new : m.text);
	}
	if (!written)
		list = one_more(list, new);
	if (!there)
		return list;
	free(list);
	*fine = true;
	return NULL;
}

/* Is the package's mount there, and not masked? */
static bool
has_mount(const struct setup *s)
{
	static const char *const places[] = { "/usr/lib/systemd/system/" MOUNT,
		"/lib/systemd/system/" MOUNT, NULL };
	char *own = setup_real(s, "/etc/systemd/system/" MOUNT);
	struct stat st;
	bool masked = lstat(own, &st) == 0 && S_ISLNK(st.st_mode);

	free(own);
	return !masked && setup_which(s, places) != NULL;
}

/*
 * Does a chrooted smtpd get at the socket?  A mount can show it the folder;
 * without one it leaves the chroot.
 */
static void
plan_chroot(struct draft *d, const struct pf_service *v, const char *address)
{
	const char *path = setup_socket_path(address);
	char buf[PF_VALUE_MAX];

	if (path == NULL || path[0] != '/' || !pf_is_chrooted(&d->p.conf, v) ||
	    pf_is_shown(d->s, &d->p.conf, path))
		return;
	if (has_mount(d->s) &&
	    strncmp(path, "/run/tidemark/", strlen("/run/tidemark/")) == 0 &&
	    strcmp(
		pf_value(&d->p.conf, NULL, "queue_directory", buf, sizeof buf),
		"/var/spool/postfix") == 0)
		d->mount = true;
	else
		d->master = pf_edit_chroot(d->master, v->line);
	d->unchrooted = d->unchrooted || !d->mount;
}

/* A name of its own may be another filter's sign (ORIGINATING). */
static bool
plan_name(
    struct draft *d, const struct pf_service *v, const struct tide_profile *p)
{
	char buf[PF_VALUE_MAX], *word;
	bool fine;

	(void)pf_value(
	    &d->p.conf, v, "milter_macro_daemon_name", buf, sizeof buf);
	if (p->daemons[0] == '\0' || tide_config_has_word(p->daemons, buf) ||
	    pf_set(&d->p.conf, v, "milter_macro_daemon_name") != NULL)
		return true;
	word = setup_copy(p->daemons, strcspn(p->daemons, " "));
	fine = set(d, v, "milter_macro_daemon_name", word);
	free(word);
	return fine;
}

/*
 * What becomes of mail while we are away is said of our filter alone: main.cf
 * says it of all filters at once, and the others are not ours to speak for.
 */
static bool
plan_milter(struct draft *d, const struct pf_service *v, int profile)
{
	const struct tide_profile *p = &d->s->config.profile[profile];
	char *address = pf_address(&d->p.conf, p->socket);
	char *new = setup_format("{%s,default_action=%s}", address,
	    pf_is_internal(&d->p.conf, v) ? "tempfail" : "accept");
	bool fine;
	char *list = milters_with(d, v, address, new, &fine);

	plan_chroot(d, v, address);
	if (!fine)
		complain("%s:%u: smtpd_milters of %s is more than we can write "
			 "again; add %s to it by hand",
		    d->p.path[MASTER_CF], v->line, v->column[0], new);
	if (fine && list != NULL)
		fine = set(d, v, "smtpd_milters", list);
	fine = fine && plan_name(d, v, p);
	free(list);
	free(new);
	free(address);
	return fine;
}

/* ---- policy ------------------------------------------------------------ */

/*
 * Behind what refuses recipients, before what would let them pass: so that
 * only what stands is charged, and all of it.
 */
static char *
restrictions_with(const char *list, bool recipients)
{
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *w;
	char *new = setup_format("%s", ""), *more;
	bool in = false;

	while ((w = setup_field(&rest, ", \t\n")) != NULL) {
		bool ends = strncmp(w, "permit", 6) == 0 ||
		    strcmp(w, "reject") == 0 || strcmp(w, "defer") == 0;

		if (w[0] == '\0')
			continue;
		more = setup_format("%s%s%s%s", new,
		    ends && !in && recipients ? "$tidemark_policy, " : "", w,
		    rest != NULL ? ", " : "");
		in = in || (ends && recipients);
		free(new);
		new = more;
	}
	if (!in) {
		more = setup_format(
		    "%s%s$tidemark_policy", new, new[0] != '\0' ? ", " : "");
		free(new);
		new = more;
	}
	free(copy);
	return new;
}

/* A list that was cut short, or is more than words, is not ours to rewrite. */
static bool
is_plain(const char *list)
{
	return strlen(list) + 1 < PF_VALUE_MAX && strpbrk(list, "{}$") == NULL;
}

/*
 * Set a parameter of our own in main.cf.  False if another service has it
 * with another value: one name cannot be two lists.
 */
static bool
set_main(struct draft *d, const char *name, const char *value)
{
	struct pf_params now = { .count = 0 };
	bool fine = true;
	size_t i;

	pf_parse_main(&now, d->main, strlen(d->main));
	for (i = 0; i < now.count; i++)
		if (strcmp(now.param[i].name, name) == 0)
			fine = strcmp(now.param[i].value, value) == 0;
	pf_params_free(&now);
	if (fine)
		d->main = pf_edit_main(d->main, name, value);
	return fine;
}

/* One of the three places: a list of its own in main.cf, named here. */
static bool
plan_restriction(struct draft *d, const struct pf_service *v, unsigned k,
    const char *line, const char *old)
{
	static const char *const names[] = { "tidemark_recipient",
		"tidemark_data", "tidemark_end_of_data" };
	char *list = restrictions_with(old, k == 0), *value;
	bool alone = strcmp(list, "$tidemark_policy") == 0;
	bool fine = is_plain(old) && set_main(d, "tidemark_policy", line) &&
	    (alone || set_main(d, names[k], list));

	if (!fine)
		complain("%s:%u: %s of %s cannot be written beside those of "
			 "other services; add %s to it by hand",
		    d->p.path[MASTER_CF], v->line, pf_places[k], v->column[0],
		    line);
	value = setup_format("$%s", alone ? "tidemark_policy" : names[k]);
	fine = fine && set(d, v, pf_places[k], value);
	free(value);
	free(list);
	return fine;
}

static bool
plan_policy(struct draft *d, const struct pf_service *v, int profile)
{
	const struct tide_config *c = &d->s->config;
	unsigned i, k;
	char buf[PF_VALUE_MAX], *address, *line;
	bool fine = true;

	for (i = 0; i < c->policies; i++)
		if (strcmp(c->policy[i].profile, c->profile[profile].name) == 0)
			break;
	if (i == c->policies)
		return true;
	address = pf_address(&d->p.conf, c->policy[i].socket);
	plan_chroot(d, v, address);
	line = setup_format("check_policy_service %s", address);
	for (k = 0; k < 3 && fine; k++) {
		char *there;

		(void)pf_value(&d->p.conf, v, pf_places[k], buf, sizeof buf);
		there = pf_policy_in(buf);
		if (there != NULL &&
		    pf_policy_of(d->s, &d->p.conf, v, there) >= 0) {
			free(there);
			continue;
		}
		free(there);
		fine = plan_restriction(d, v, k, line, buf);
	}
	if (pf_set(&d->p.conf, NULL, "smtpd_policy_service_default_action") ==
	    NULL)
		d->main = pf_edit_main(
		    d->main, "smtpd_policy_service_default_action", "DUNNO");
	d->connections += pf_processes(&d->p.conf, v);
	free(line);
	free(address);
	return fine;
}

/* ---- main.cf ----------------------------------------------------------- */

static void
plan_main(struct draft *d)
{
	const struct pf_conf *c = &d->p.conf;
	char buf[PF_VALUE_MAX];

	if (pf_set(c, NULL, "milter_protocol") != NULL &&
	    atoi(pf_value(c, NULL, "milter_protocol", buf, sizeof buf)) < 6)
		d->main = pf_edit_main(d->main, "milter_protocol", "6");
}

/* ---- the plan ---------------------------------------------------------- */

static int
draft_services(struct draft *d)
{
	const struct pf_conf *c = &d->p.conf;
	size_t i;

	for (i = c->service_count; i-- > 0;) {
		const struct pf_service *v = &c->service[i];
		int profile = pf_is_smtpd(v) ? profile_of(d, v) : -1;

		if (profile < 0 || pf_is_left_alone(c, v))
			continue;
		if (pf_has_no_milters(c, v)) {
			complain("%s:%u: receive_override_options = no_milters "
				 "switches the filters of %s off; take it out "
				 "by hand",
			    d->p.path[MASTER_CF], v->line, v->column[0]);
			return -1;
		}
		if (!plan_milter(d, v, profile) || !plan_policy(d, v, profile))
			return -1;
		d->connections += pf_processes(c, v);
	}
	return 0;
}

/* A Postfix in general: two services, and nothing else. */
static void
imagine(const struct setup *s, struct postfix *p)
{
	static const char master[] = "smtp       inet n - y - - smtpd\n"
				     "submission inet n - y - - smtpd\n"
				     "  -o smtpd_sasl_auth_enable=yes\n";

	postfix_free(p);
	*p = (struct postfix){
		.path = { setup_format("%s/main.cf", s->main_dir),
		    setup_format("%s/master.cf", s->main_dir) },
		.text = { setup_format("%s", ""), setup_format("%s", master) }
	};
	pf_parse_main(&p->conf.main, "", 0);
	pf_parse_master(&p->conf, master, sizeof master - 1);
}

static void
plan_owner(struct draft *d, struct setup_plan *p)
{
	char buf[PF_VALUE_MAX];
	struct setup_person owner;
	const char *name =
	    pf_value(&d->p.conf, NULL, "mail_owner", buf, sizeof buf);

	if (!setup_person(d->s, name, "", &owner)) { /* in general */
		owner = (struct setup_person){ .uid = (uid_t)-1 };
		(void)snprintf(owner.group, sizeof owner.group, "%s", name);
	}
	plan_settings(d->s, p, &owner, d->connections);
}

int
setup_plan_postfix(struct setup *s, struct setup_plan *p, bool apply)
{
	struct draft d = { .s = s };
	int rc = postfix_load(s, &d.p);
	bool there = rc == 0;

	if (!there && (apply || setup_exists(s, d.p.path[MAIN_CF]))) {
		complain("there is no Postfix in %s%s that can be read",
		    s->root, s->main_dir);
	} else if (!there) {
		complain("there is no Postfix in %s%s; lines in general:",
		    s->root, s->main_dir);
		imagine(s, &d.p);
		p->general = true;
		rc = 0;
	}
	if (rc == 0) {
		d.main = setup_format("%s", d.p.text[MAIN_CF]);
		d.master = setup_format("%s", d.p.text[MASTER_CF]);
		plan_main(&d);
		rc = draft_services(&d);
	}
	if (rc == 0 && apply &&
	    (strcmp(d.main, d.p.text[MAIN_CF]) != 0 ||
		strcmp(d.master, d.p.text[MASTER_CF]) != 0))
		rc = postfix_try(s, &d.p, d.main, d.master);
	if (rc == 0) {
		plan_file(p, setup_format("%s", d.p.path[MAIN_CF]),
		    setup_format("%s", d.p.text[MAIN_CF]),
		    setup_format("%s", d.main), "what holds for every smtpd");
		plan_file(p, setup_format("%s", d.p.path[MASTER_CF]),
		    setup_format("%s", d.p.text[MASTER_CF]),
		    setup_format("%s", d.master),
		    d.unchrooted ? "a filter for each smtpd, Tidemark's last; "
				   "a chrooted smtpd does not see /run"
				 : "a filter for each smtpd, Tidemark's last");
		plan_owner(&d, p);
		if (d.mount)
			plan_command(p, "shows the sockets inside its chroot",
			    "systemctl start " MOUNT);
		if (p->files > 0)
			plan_command(p, "a reload does not end what runs",
			    "postfix reload");
	}
	free(d.main);
	free(d.master);
	postfix_free(&d.p);
	return rc;
}
