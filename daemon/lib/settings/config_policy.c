/*
 * config_policy - does every policy server charge somebody, at a socket of its
 * own?
 */
#include <stddef.h>
#include <string.h>

#include "config_read.h"
#include "tidemark/base/listen.h"
#include "tidemark/settings/config.h"

#define HEADER_CHARS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

static const struct place *
blame_policy(const struct reading *r, unsigned i, const char *key)
{
	return tide_reading_blame(r, IN_POLICY + (int)i, key);
}

static void
check_policy_socket(struct reading *r, unsigned i)
{
	const struct tide_config *c = r->config;
	const char *at = c->policy[i].socket;
	const struct place *place = blame_policy(r, i, "socket");

	if (place->bad)
		return;
	if (strncmp(at, "local:", 6) == 0 &&
	    strlen(at + 6) > TIDE_LOCAL_SOCKET_MAX)
		tide_complain(r->complaints, place,
		    "socket: the path of a local socket has at most %d bytes, "
		    "not %zu",
		    TIDE_LOCAL_SOCKET_MAX, strlen(at + 6));
	for (unsigned k = 0; k < c->profiles; k++)
		if (strcmp(c->profile[k].socket, at) == 0)
			tide_complain(r->complaints, place,
			    "socket: %s is already the socket of [profile %s]",
			    at, c->profile[k].name);
	for (unsigned k = 0; k < i; k++)
		if (strcmp(c->policy[k].socket, at) == 0)
			tide_complain(r->complaints, place,
			    "socket: %s is already the socket of [policy %s]",
			    at, c->policy[k].name);
}

/*
 * It would charge nobody.  Where the milter is asked, too, that is what they
 * want who have said so.
 */
static void
check_policy_charges(struct reading *r, unsigned i, unsigned profile)
{
	const struct tide_profile *p = &r->config->profile[profile];

	if (p->charged_by == TIDE_CHARGED_BY_MILTER &&
	    tide_reading_place(r, IN_PROFILE + (int)profile, "charged_by")
		    ->file == NULL)
		tide_complain_passable(r->complaints,
		    blame_policy(r, i, "profile"),
		    "profile: [profile %s] is charged by its milter, so that "
		    "this policy server charges nobody; set charged_by = "
		    "policy there, or charged_by = milter if Postfix asks "
		    "that, too",
		    p->name);
}

static void
check_policy(struct reading *r, unsigned i)
{
	const struct tide_policy *p = &r->config->policy[i];
	int profile = tide_config_profile(r->config, p->profile);

	check_policy_socket(r, i);
	if (profile >= 0)
		check_policy_charges(r, i, (unsigned)profile);
	else
		tide_complain(r->complaints, blame_policy(r, i, "profile"),
		    "profile: there is no [profile %s]", p->profile);
	if (p->prepend_header[0] == '\0' ||
	    strspn(p->prepend_header, HEADER_CHARS) !=
		strlen(p->prepend_header))
		tide_complain(r->complaints,
		    blame_policy(r, i, "prepend_header"),
		    "prepend_header: «%s» is no name for a header",
		    p->prepend_header);
}

/* What nobody serves would charge nobody. */
static void
check_charged_by(struct reading *r, unsigned i)
{
	const struct tide_config *c = r->config;

	if (c->profile[i].charged_by != TIDE_CHARGED_BY_POLICY)
		return;
	for (unsigned k = 0; k < c->policies; k++)
		if (strcmp(c->policy[k].profile, c->profile[i].name) == 0)
			return;
	tide_complain(r->complaints,
	    tide_reading_blame(r, IN_PROFILE + (int)i, "charged_by"),
	    "charged_by: no [policy NAME] has profile = %s",
	    c->profile[i].name);
}

void
tide_reading_check_policies(struct reading *r)
{
	for (unsigned i = 0; i < r->config->profiles; i++)
		check_charged_by(r, i);
	for (unsigned i = 0; i < r->config->policies; i++)
		check_policy(r, i);
}
