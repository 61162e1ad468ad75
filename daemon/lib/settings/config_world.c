/*
 * config_world - is there what the settings name: users, groups, the hook?
 *
 * A start finds out as well, but too late, or not before the first ban.  These
 * may also be checked on another machine than theirs, so that none of it keeps
 * a tool from its work.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "config_read.h"
#include "tidemark/settings/config.h"

#define ENTRY_MAX 16384 /* bytes of an entry; groups have long ones */

/* Whoever cannot be asked is taken to know them. */
static bool
has_user(const char *name)
{
	struct passwd entry, *found = NULL;
	char buf[ENTRY_MAX];

	return getpwnam_r(name, &entry, buf, sizeof buf, &found) != 0 ||
	    found != NULL;
}

static bool
has_group(const char *name)
{
	struct group entry, *found = NULL;
	char buf[ENTRY_MAX];

	return getgrnam_r(name, &entry, buf, sizeof buf, &found) != 0 ||
	    found != NULL;
}

static void
check_group(struct reading *r, int section, const char *key, const char *name)
{
	const struct place *at = tide_reading_place(r, section, key);

	if (name[0] != '\0' && !at->bad && !has_group(name))
		tide_complain_passable(
		    r->complaints, at, "%s: there is no group «%s»", key, name);
}

/* Why the hook cannot be run; NULL if it can, or if we may not look. */
static const char *
hook_fault(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? NULL : strerrordesc_np(errno);
	if (!S_ISREG(st.st_mode))
		return "is not a file";
	return (st.st_mode & 0111) == 0 ? "is not executable" : NULL;
}

static void
check_hook(struct reading *r)
{
	const char *path = r->config->ban_hook;
	const struct place *at = tide_reading_place(r, IN_GLOBALS, "ban_hook");
	const char *fault = path[0] != '\0' ? hook_fault(path) : NULL;

	if (fault != NULL && !at->bad)
		tide_complain_passable(
		    r->complaints, at, "ban_hook: %s: %s", path, fault);
}

void
tide_reading_check_world(struct reading *r)
{
	const struct tide_config *c = r->config;
	const struct place *user = tide_reading_place(r, IN_GLOBALS, "user");

	if (c->user[0] != '\0' && !user->bad && !has_user(c->user))
		tide_complain_passable(r->complaints, user,
		    "user: there is no user «%s»", c->user);
	check_group(r, IN_GLOBALS, "control_group", c->control_group);
	check_group(r, IN_GLOBALS, "web_socket_group", c->web_socket_group);
	for (unsigned i = 0; i < c->profiles; i++)
		check_group(r, IN_PROFILE + (int)i, "socket_group",
		    c->profile[i].socket_group);
	for (unsigned i = 0; i < c->policies; i++)
		check_group(r, IN_POLICY + (int)i, "socket_group",
		    c->policy[i].socket_group);
	check_hook(r);
}
