/*
 * profile names - what numbers of profiles stand for.
 */
#include <string.h>

#include "tidemark/settings/config.h"

void
tide_config_names(const struct tide_config *c, struct tide_profile_names *names)
{
	unsigned i;

	memset(names, 0, sizeof *names);
	for (i = 0; i < c->profiles && i < TIDE_PROFILES_MAX; i++)
		memcpy(names->name[i], c->profile[i].name,
		    strnlen(c->profile[i].name, TIDE_NAME_MAX - 1));
}

/* Names may come from a map or an archive: no end to them is believed. */
static bool
is_name(const char name[TIDE_NAME_MAX])
{
	size_t length = strnlen(name, TIDE_NAME_MAX);

	return length > 0 && length < TIDE_NAME_MAX;
}

unsigned
tide_names_count(const struct tide_profile_names *names)
{
	unsigned n = 0;

	while (n < TIDE_PROFILES_MAX && is_name(names->name[n]))
		n++;
	return n;
}

int
tide_names_translate(const struct tide_profile_names *from, unsigned i,
    const struct tide_profile_names *to)
{
	unsigned k, n = tide_names_count(to);

	if (i >= tide_names_count(from))
		return -1;
	for (k = 0; k < n; k++)
		if (strcmp(from->name[i], to->name[k]) == 0)
			return (int)k;
	return -1;
}
