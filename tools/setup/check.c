/*
 * setup, check - what is looked at beside any mail server.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

/* Read once more, for the complaints; it is about what keeps the daemon from
 * starting. */
void
setup_check_conf(struct setup *s)
{
	struct tide_complaints complaints = { 0 };
	struct tide_config config;
	char *real, *first, *rest;

	if (!s->conf_there)
		return;
	real = setup_real(s, s->conf);
	if (tide_config_load(&config, real, &complaints) != 0 &&
	    !tide_complaints_pass(&complaints)) {
		rest = complaints.text;
		first = setup_field(&rest, "\n");
		if (first != NULL &&
		    strncmp(first, s->root, strlen(s->root)) == 0)
			first += strlen(s->root);
		setup_find(s, SETUP_CONF_WRONG, s->conf, 0, "%s",
		    first != NULL ? first : "it cannot be read");
	}
	tide_complaints_free(&complaints);
	free(real);
}

void
setup_check_socket(struct setup *s, const char *file, unsigned line,
    const char *who, const char *path, const struct setup_person *p,
    enum setup_care care)
{
	static const enum setup_finding findings[] = {
		[REACH_MISSING] = SETUP_SOCKET_MISSING,
		[REACH_NO_SOCKET] = SETUP_SOCKET_KIND,
		[REACH_LINK] = SETUP_SOCKET_LINK,
		[REACH_DEAF] = SETUP_SOCKET_DEAF,
		[REACH_RIGHTS] = SETUP_SOCKET_RIGHTS,
		[REACH_FOLDER] = SETUP_SOCKET_FOLDER,
	};
	enum setup_reach reach;
	char why[1024];

	reach = setup_reach(s, path, p, care, why, sizeof why);
	if (reach != REACH_FINE)
		setup_find(s, findings[reach], file, line, "%s: %s", who, why);
}

/* Can the daemon give its sockets to whom the settings say? */
static void
check_group_of(struct setup *s, const char *what, const char *group)
{
	gid_t gid;

	if (group[0] == '\0')
		return;
	if (!setup_group(s, group, &gid))
		setup_find(s, SETUP_GROUP_UNKNOWN, s->conf, 0,
		    "%s: socket_group = %s, and there is no such group", what,
		    group);
	else if (!setup_may_give(s, group))
		setup_find(s, SETUP_GROUP_DENIED, s->conf, 0,
		    "%s: socket_group = %s, and neither is the daemon's user "
		    "in it nor does a drop-in of tidemark.service have "
		    "SupplementaryGroups=%s",
		    what, group, group);
}

/* Profiles first, then policy servers. */
static const char *
group_at(const struct tide_config *c, unsigned i, const char **who)
{
	bool policy = i >= c->profiles;
	unsigned k = policy ? i - c->profiles : i;

	if (who != NULL)
		*who = policy ? c->policy[k].name : c->profile[k].name;
	return policy ? c->policy[k].socket_group : c->profile[k].socket_group;
}

/* Each group once, and first by whoever names it. */
void
setup_check_groups(struct setup *s)
{
	const struct tide_config *c = &s->config;
	const char *group, *who;
	unsigned i, k;

	for (i = 0; i < c->profiles + c->policies; i++) {
		for (k = 0; k < i; k++)
			if (strcmp(group_at(c, k, NULL),
				group_at(c, i, NULL)) == 0)
				break;
		group = group_at(c, i, &who);
		if (k == i)
			check_group_of(s, who, group);
	}
}
