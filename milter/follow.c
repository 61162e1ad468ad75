/*
 * follow - take over a configuration that the collector has published.
 */
#include <stdlib.h>

#include "allowance.h"
#include "session.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"

static void
take_over(const struct tide_config *fresh, uint64_t generation)
{
	int profile = tide_config_profile(fresh, session_profile()->name);

	if (profile < 0)
		return;
	session.config = *fresh;
	session.generation = generation;
	session.profile = (unsigned)profile;
	allowance_forget_overrides();
	tide_log_open("tidemark-milter", fresh->log,
	    (enum tide_log_level)fresh->log_level);
}

void
session_follow(void)
{
	struct tide_config *fresh;
	uint64_t generation;
	struct tide_err err;

	if (session.map == NULL ||
	    atomic_load(&session.map->control->generation) ==
		session.generation)
		return;
	fresh = malloc(sizeof *fresh);
	if (fresh != NULL &&
	    tide_config_published(
		session.config.runtime_dir, fresh, &generation, &err) == 0)
		take_over(fresh, generation);
	free(fresh);
}
