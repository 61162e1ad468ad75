/*
 * setup, profile - Tidemark's own settings, as a mail server meets them.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

const char *
setup_socket_path(const char *socket)
{
	static const char *const local[] = { "local:", "unix:" };
	size_t i;

	for (i = 0; i < 2; i++)
		if (strncmp(socket, local[i], strlen(local[i])) == 0)
			return socket + strlen(local[i]);
	return socket[0] == '/' ? socket : NULL;
}

bool
setup_same_socket(const char *a, const char *b)
{
	const char *x = setup_socket_path(a), *y = setup_socket_path(b);

	return strcmp(x != NULL ? x : a, y != NULL ? y : b) == 0;
}

int
setup_profile_by_path(const struct setup *s, const char *path)
{
	const char *own;
	unsigned i;

	for (i = 0; i < s->config.profiles; i++) {
		own = setup_socket_path(s->config.profile[i].socket);
		if (own != NULL && strcmp(own, path) == 0)
			return (int)i;
	}
	return -1;
}

int
setup_profile_by_name(const struct setup *s, const char *daemon)
{
	unsigned i;

	for (i = 0; i < s->config.profiles; i++)
		if (tide_config_has_word(s->config.profile[i].daemons, daemon))
			return (int)i;
	return -1;
}

/*
 * Names first, as in the settings that are built in; else the first profile
 * is the world's and the second is ours.
 */
int
setup_profile_for(const struct setup *s, bool internal)
{
	int i =
	    tide_config_profile(&s->config, internal ? "internal" : "external");

	if (i >= 0 || s->config.profiles == 0)
		return i;
	return internal && s->config.profiles > 1 ? 1 : 0;
}

bool
setup_profile_fits(const struct setup *s, int profile, bool internal)
{
	return s->config.profiles < 2 ||
	    profile != setup_profile_for(s, !internal);
}

void
setup_filter_name(const struct setup *s, int profile, char *name, size_t size)
{
	const char *p = s->config.profile[profile].name;

	(void)snprintf(name, size, "tidemark-%s",
	    strcmp(p, "external") == 0	     ? "ext"
		: strcmp(p, "internal") == 0 ? "int"
					     : p);
}

bool
setup_is_ours(const struct setup *s, const char *name, const char *path)
{
	size_t n = strlen(s->config.runtime_dir);

	if (strncmp(name, "tidemark", 8) == 0)
		return true;
	if (path == NULL)
		return false;
	return setup_profile_by_path(s, path) >= 0 ||
	    (strncmp(path, s->config.runtime_dir, n) == 0 && path[n] == '/');
}

/* ---- groups ------------------------------------------------------------ */

static bool
unit_has_group(const char *path, const char *group)
{
	char *text = setup_read(path, NULL), *rest = text, *line;
	bool has = false;

	while (!has && (line = setup_field(&rest, "\n")) != NULL)
		has = strncmp(line, "SupplementaryGroups=", 20) == 0 &&
		    setup_listed(line + 20, " \t", group);
	free(text);
	return has;
}

/* Drop-ins of the unit, wherever systemd looks for them. */
static bool
dropin_has_group(const struct setup *s, const char *group)
{
	static const char *const places[] = { "/etc", "/run", "/usr/lib",
		"/usr/local/lib", "/lib" };
	bool has = false;
	size_t i, k;

	for (i = 0; i < sizeof places / sizeof *places && !has; i++) {
		char *pattern = setup_format("%s%s/systemd/system/"
					     "tidemark.service.d/*.conf",
		    s->root, places[i]);
		glob_t g = { 0 };

		if (glob(pattern, 0, NULL, &g) == 0)
			for (k = 0; k < g.gl_pathc && !has; k++)
				has = unit_has_group(g.gl_pathv[k], group);
		globfree(&g);
		free(pattern);
	}
	return has;
}

static const char *
daemon_user(const struct setup *s)
{
	return s->config.user[0] != '\0' ? s->config.user : "tidemark";
}

bool
setup_may_give(const struct setup *s, const char *group)
{
	struct setup_person p;
	gid_t gid;
	size_t i;

	if (dropin_has_group(s, group))
		return true;
	if (!setup_group(s, group, &gid) ||
	    !setup_person(s, daemon_user(s), "", &p))
		return false;
	for (i = 0; i < p.groups; i++)
		if (p.gid[i] == gid)
			return true;
	return false;
}

/*
 * As the daemon does it: what is set, else the mail servers'.  If neither is
 * to be had, it depends on who starts the daemon: nothing to count on.
 */
static bool
group_of_socket(const struct setup *s, const char *set, gid_t *gid)
{
	if (set[0] != '\0')
		return setup_group(s, set, gid);
	return setup_may_give(s, TIDE_MTA_GROUP) &&
	    setup_group(s, TIDE_MTA_GROUP, gid);
}

bool
setup_shares_group(
    const struct setup *s, const struct setup_person *p, const char *set)
{
	gid_t gid;
	size_t i;

	if (!group_of_socket(s, set, &gid))
		return false;
	for (i = 0; i < p->groups; i++)
		if (p->gid[i] == gid)
			return true;
	return p->uid == 0;
}
