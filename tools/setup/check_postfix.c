/*
 * setup, check postfix - what is wrong with Postfix's side of a set-up.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../read/output.h"
#include "findings.h"
#include "postfix.h"
#include "postfix_cf.h"
#include "postfix_list.h"
#include "setup.h"
#include "tidemark/settings/config.h"

struct inquiry {
	struct setup *s;
	struct postfix p;
	struct setup_person smtpd;
	unsigned connections; /* that there may be at once */
	bool policy;	      /* one is asked somewhere */
};

static const char *
value(const struct inquiry *q, const struct pf_service *v, const char *name)
{
	static char buf[PF_VALUE_MAX];

	return pf_value(&q->p.conf, v, name, buf, sizeof buf);
}

/* Where a setting of the service is made: file and line. */
static void
place(const struct inquiry *q, const struct pf_service *v, const char *name,
    const char **file, unsigned *line)
{
	const struct pf_param *p = pf_set(&q->p.conf, v, name);
	bool own = p != NULL && v != NULL && v->own.count > 0 &&
	    p >= v->own.param && p < v->own.param + v->own.count;

	*file = q->p.path[p == NULL || own ? MASTER_CF : MAIN_CF];
	*line = p != NULL ? p->line : v != NULL ? v->line : 0;
}

/* ---- sockets ----------------------------------------------------------- */

/* Of a chrooted service, the path that would be ours outside. */
static bool
lost_in_chroot(
    const struct inquiry *q, const struct pf_service *v, const char *address)
{
	const char *path = setup_socket_path(address);
	unsigned i;

	if (path == NULL || path[0] != '/' || !pf_is_chrooted(&q->p.conf, v))
		return false;
	if (setup_profile_by_path(q->s, path) >= 0)
		return true;
	for (i = 0; i < q->s->config.policies; i++)
		if (setup_same_socket(q->s->config.policy[i].socket, path))
			return true;
	return false;
}

/* True if the address is one of ours, be it wrong. */
static bool
check_address(struct inquiry *q, const struct pf_service *v, const char *name,
    const char *address, bool known)
{
	char *path = pf_socket_path(&q->p.conf, v, address);
	const char *file;
	bool ours = known || strstr(address, "tidemark") != NULL ||
	    (path != NULL && setup_is_ours(q->s, "", path));
	unsigned line;

	place(q, v, name, &file, &line);
	if (!known && lost_in_chroot(q, v, address)) {
		ours = true;
		setup_find(q->s, SETUP_CHROOT, q->p.path[MASTER_CF], v->line,
		    "%s runs chrooted and looks for %s in %s", v->column[0],
		    setup_socket_path(address), path != NULL ? path : "");
	} else if (ours && !known) {
		setup_find(q->s, SETUP_SOCKET_UNKNOWN, file, line,
		    "%s: %s, but nothing in %s has that socket", v->column[0],
		    address, q->s->conf_there ? q->s->conf : "the settings");
	} else if (ours && path == NULL) {
		setup_find(q->s, SETUP_SOCKET_INET, file, line, "%s: %s",
		    v->column[0], address);
	} else if (ours) {
		setup_check_socket(
		    q->s, file, line, v->column[0], path, &q->smtpd, CARE_NONE);
	}
	free(path);
	return ours;
}

/* ---- milters ----------------------------------------------------------- */

/* What Postfix does then; NULL for a word that it does not know. */
static const char *
while_away(const char *action)
{
	static const char *const table[][2] = {
		{ "accept",
		    "accept: mail passes, unseen; tidemark query says "
		    "so later" },
		{ "tempfail",
		    "tempfail: 451, and the client tries again "
		    "later" },
		{ "reject", "reject: 554, and the client gives up" },
		{ "quarantine",
		    "quarantine: mail is accepted, and put on "
		    "hold" },
		{ "shutdown", "shutdown: 421, and the connection is closed" },
	};
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(action, table[i][0]) == 0)
			return table[i][1];
	return NULL;
}

static void
check_action(struct inquiry *q, const struct pf_service *v,
    const struct pf_milter *m, int profile)
{
	bool own = m->action[0] != '\0';
	const char *action =
	    own ? m->action : value(q, v, "milter_default_action");
	const char *name = own ? "default_action" : "milter_default_action";
	const char *file, *does = while_away(action);
	unsigned line;

	place(q, v, own ? "smtpd_milters" : "milter_default_action", &file,
	    &line);
	if (does == NULL)
		setup_find(q->s, SETUP_ACTION_UNKNOWN, file, line,
		    "%s has %s = %s", v->column[0], name, action);
	else
		setup_find(q->s, SETUP_WHILE_AWAY, file, line, "%s: %s",
		    v->column[0], does);
	if (strcmp(action, "reject") == 0 &&
	    (profile < 0 || profile == setup_profile_for(q->s, false)))
		setup_find(q->s, SETUP_FLAG_REFUSES, file, line,
		    "%s has %s = reject", v->column[0], name);
}

static bool
shares_name(
    const struct inquiry *q, const struct pf_service *v, const char *name)
{
	const struct pf_conf *c = &q->p.conf;
	char buf[PF_VALUE_MAX];
	size_t i;

	for (i = 0; i < c->service_count; i++)
		if (&c->service[i] != v && pf_is_smtpd(&c->service[i]) &&
		    strcmp(pf_value(c, &c->service[i],
			       "milter_macro_daemon_name", buf, sizeof buf),
			name) == 0)
			return true;
	return false;
}

static void
check_profile(struct inquiry *q, const struct pf_service *v, int by_path)
{
	const char *daemon = value(q, v, "milter_macro_daemon_name"), *file;
	int by_name = setup_profile_by_name(q->s, daemon);
	unsigned line;

	place(q, v, "milter_macro_daemon_name", &file, &line);
	if (by_path < 0)
		return;
	if (by_name >= 0 && by_name != by_path)
		setup_find(q->s,
		    shares_name(q, v, daemon) ? SETUP_DAEMON_SAME
					      : SETUP_DAEMON_PROFILE,
		    file, line,
		    "%s: the name %s is in daemons = of profile %s, but the "
		    "socket is that of %s",
		    v->column[0], daemon, q->s->config.profile[by_name].name,
		    q->s->config.profile[by_path].name);
	else if (by_name < 0 &&
	    !setup_profile_fits(q->s, by_path, pf_is_internal(&q->p.conf, v)))
		setup_find(q->s, SETUP_DAEMON_UNNAMED, file, line,
		    "%s gets profile %s", v->column[0],
		    q->s->config.profile[by_path].name);
}

/* What only signs refuses nothing. */
static bool
may_refuse(const char *address)
{
	return strcasestr(address, "dkim") == NULL &&
	    strcasestr(address, "arc") == NULL &&
	    strcasestr(address, "sign") == NULL;
}

static void
check_milters(struct inquiry *q, const struct pf_service *v)
{
	char buf[PF_VALUE_MAX], *rest;
	const char *file;
	struct pf_milter m;
	bool ours = false;
	unsigned line;
	int profile;

	(void)pf_value(&q->p.conf, v, "smtpd_milters", buf, sizeof buf);
	rest = buf;
	place(q, v, "smtpd_milters", &file, &line);
	while (pf_next_milter(&rest, &m)) {
		profile = pf_profile_of(q->s, &q->p.conf, v, m.address);
		if (check_address(
			q, v, "smtpd_milters", m.address, profile >= 0)) {
			ours = true;
			check_action(q, v, &m, profile);
			check_profile(q, v, profile);
		} else if (ours && may_refuse(m.address)) {
			setup_find(q->s, SETUP_ORDER, file, line,
			    "%s: Tidemark stands before %s", v->column[0],
			    m.address);
		}
	}
	if (ours && pf_has_no_milters(&q->p.conf, v))
		setup_find(q->s, SETUP_DAEMON_UNFILTERED, q->p.path[MASTER_CF],
		    v->line,
		    "%s has receive_override_options = no_milters, which "
		    "switches every filter off",
		    v->column[0]);
	else if (ours)
		q->connections += pf_processes(&q->p.conf, v);
	else
		setup_find(q->s, SETUP_DAEMON_UNFILTERED, q->p.path[MASTER_CF],
		    v->line, "%s has no filter of Tidemark", v->column[0]);
}

/* ---- numbers ----------------------------------------------------------- */

/* 30s, 5m; 30 is seconds. */
static unsigned long
seconds(const char *time)
{
	char *unit;
	unsigned long n = strtoul(time, &unit, 10);

	return *unit == 'm' ? n * 60
	    : *unit == 'h'  ? n * 3600
	    : *unit == 'd'  ? n * 86400
			    : n;
}

/* Of all services (NULL), or what one has set for itself. */
static void
check_numbers(struct inquiry *q, const struct pf_service *v)
{
	static const struct {
		const char *name;
		unsigned long least, most;
	} times[] = { { "milter_connect_timeout", 3, 299 },
		{ "milter_command_timeout", 5, 299 },
		{ "milter_content_timeout", 10, 300 } };
	const struct pf_param *p;
	const char *file;
	unsigned long n;
	unsigned line;
	size_t i;

	for (i = 0; i < sizeof times / sizeof *times; i++) {
		place(q, v, times[i].name, &file, &line);
		p = pf_set(&q->p.conf, v, times[i].name);
		n = seconds(value(q, v, times[i].name));
		if (p == NULL || (v != NULL && file == q->p.path[MAIN_CF]))
			continue;
		if (n < times[i].least || n > times[i].most)
			setup_find(q->s,
			    n < times[i].least ? SETUP_TIMEOUT_SHORT
					       : SETUP_TIMEOUT_LONG,
			    file, line, "%s = %s", p->name, p->value);
	}
	place(q, v, "milter_protocol", &file, &line);
	p = pf_set(&q->p.conf, v, "milter_protocol");
	if (p != NULL && (v == NULL || file == q->p.path[MASTER_CF]) &&
	    strtoul(value(q, v, "milter_protocol"), NULL, 10) < 6)
		setup_find(q->s, SETUP_PROTOCOL, file, line,
		    "milter_protocol = %s", p->value);
}

/* ---- policy ------------------------------------------------------------ */

static void
judge_policy(
    struct inquiry *q, const struct pf_service *v, int policy, unsigned places)
{
	static const unsigned want[] = { [TIDE_LAST_RCPT] = 1,
		[TIDE_LAST_DATA] = 3,
		[TIDE_LAST_END_OF_MESSAGE] = 7 };
	const struct tide_policy *y = &q->s->config.policy[policy];
	int profile = tide_config_profile(&q->s->config, y->profile);
	unsigned missing = want[y->last_request % 3] & ~places, i;

	for (i = 0; i < 3; i++)
		if ((missing & 1u << i) != 0)
			setup_find(q->s, SETUP_POLICY_PLACES,
			    q->p.path[MASTER_CF], v->line,
			    "%s: %s does not ask the policy server %s",
			    v->column[0], pf_places[i], y->name);
	if (profile >= 0 &&
	    q->s->config.profile[profile].charged_by == TIDE_CHARGED_BY_MILTER)
		setup_find(q->s, SETUP_POLICY_CHARGED, q->s->conf, 0,
		    "policy %s: its profile %s has charged_by = milter",
		    y->name, y->profile);
}

static void
check_policy(struct inquiry *q, const struct pf_service *v)
{
	unsigned i, places = 0;
	int policy = -1, found;
	bool told = false;
	char *address;

	for (i = 0; i < 3; i++) {
		address = pf_policy_in(value(q, v, pf_places[i]));
		if (address == NULL)
			continue;
		found = pf_policy_of(q->s, &q->p.conf, v, address);
		if (!told)
			told = check_address(
			    q, v, pf_places[i], address, found >= 0);
		if (found >= 0) {
			policy = found;
			places |= 1u << i;
		}
		free(address);
	}
	if (policy < 0)
		return;
	q->policy = true;
	q->connections += pf_processes(&q->p.conf, v);
	judge_policy(q, v, policy, places);
}

/* ---- the whole --------------------------------------------------------- */

static void
check_services(struct inquiry *q)
{
	const struct pf_conf *c = &q->p.conf;
	size_t i;

	for (i = 0; i < c->service_count; i++) {
		if (!pf_is_smtpd(&c->service[i]))
			continue;
		if (pf_is_left_alone(c, &c->service[i])) {
			setup_find(q->s, SETUP_LEFT_ALONE, q->p.path[MASTER_CF],
			    c->service[i].line,
			    "%s: its filters are switched off",
			    c->service[i].column[0]);
			continue;
		}
		check_milters(q, &c->service[i]);
		check_numbers(q, &c->service[i]);
		check_policy(q, &c->service[i]);
	}
	check_numbers(q, NULL);
	if (q->policy &&
	    pf_set(c, NULL, "smtpd_policy_service_default_action") == NULL)
		setup_find(q->s, SETUP_POLICY_ACTION, q->p.path[MAIN_CF], 0,
		    "smtpd_policy_service_default_action is not set");
	if (q->connections > q->s->config.max_workers)
		setup_find(q->s, SETUP_WORKERS, q->p.path[MASTER_CF], 0,
		    "there may be %u connections of smtpd at once, and "
		    "max_workers is %u",
		    q->connections, q->s->config.max_workers);
	if (value(q, NULL, "non_smtpd_milters")[0] == '\0')
		setup_find(q->s, SETUP_LOCAL_ROUTE, q->p.path[MAIN_CF], 0,
		    "mail of this machine itself (cron, sendmail -t) is seen "
		    "by no filter: non_smtpd_milters is empty");
}

int
setup_check_postfix(struct setup *s)
{
	struct inquiry q = { .s = s };
	const char *owner;
	int rc = postfix_load(s, &q.p);

	if (rc != 0) {
		complain("there is no Postfix in %s%s that can be read",
		    s->root, s->main_dir);
	} else {
		owner = value(&q, NULL, "mail_owner");
		if (!setup_person(s, owner, "", &q.smtpd)) {
			complain(
			    "mail_owner = %s: there is no such user", owner);
			rc = -1;
		}
	}
	if (rc == 0) {
		setup_check_conf(s);
		setup_check_groups(s);
		check_services(&q);
	}
	postfix_free(&q.p);
	return rc;
}
