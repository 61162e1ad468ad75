/*
 * setup, plan sendmail - what has to be changed beside sendmail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "plan_sendmail.h"
#include "text.h"
#include "tidemark/settings/config.h"

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
plan_generic(const struct setup *s, struct setup_plan *p)
{
	char *new;

	complain("there is no %s%s; lines for a sendmail.mc in general:",
	    s->root, s->mc);
	new = generic(s);
	if (new == NULL)
		return -1;
	plan_file(p, setup_format("%s", s->mc), NULL, new,
	    "Tidemark's filters, and each daemon's list, before the MAILER "
	    "lines");
	return 0;
}

/* Written by hand, or made elsewhere: who knows should do it. */
static int
plan_cf(const struct setup *s, struct setup_plan *p, const char *cf,
    const struct sm_conf *c)
{
	char *new = setup_edit_cf(s, cf, c);

	complain("there is no %s%s (--mc FILE names another); lines for %s:",
	    s->root, s->mc, s->cf);
	if (new == NULL)
		return -1;
	plan_file(p, setup_format("%s", s->cf), setup_format("%s", cf), new,
	    "to be changed by hand: Tidemark's filters, and each daemon's "
	    "list, Tidemark last in it");
	return 0;
}

static int
plan_without_mc(const struct setup *s, struct setup_plan *p, const char *cf,
    const struct sm_conf *c, bool apply)
{
	if (setup_exists(s, s->mc))
		return -1; /* it is said already why it cannot be read */
	p->general = true;
	if (!apply)
		return cf != NULL ? plan_cf(s, p, cf, c) : plan_generic(s, p);
	complain("there is no %s%s to change; --mc FILE names another", s->root,
	    s->mc);
	return -1;
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
		rc = plan_without_mc(s, p, cf, &c, apply);
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
	if (rc == 0 && mc != NULL && setup_tell_of_others(s, mc, &c) != 0 &&
	    (apply || p->files == 0))
		rc = -1;
	if (rc == 0)
		plan_user(s, p, &c);
	if (rc == 0 && p->files > 0 && (mc != NULL || cf == NULL) && !apply)
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
