/*
 * reload - check a new configuration, take it over only if it is right.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../daemon.h"
#include "collector.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/egress/egress.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/settings/overrides.h"
#include "tidemark/settings/params.h"
#include "tidemark/shared/counters.h"

static char *
refuse(const char *fmt, const char *a, const char *b)
{
	char text[1024];

	(void)snprintf(text, sizeof text, fmt, a, b);
	return strdup(text);
}

/* What only a restart can change, in a sentence; NULL if there is nothing. */
static char *
needs_restart(const struct tide_config *old, const struct tide_config *new)
{
	const struct tide_param *p;
	char where[TIDE_NAME_MAX + 16] = "";
	int i;

	p = tide_params_need_restart(old, new, &i);
	if (p == NULL)
		return NULL;
	if (p->section == TIDE_OF_PROFILE)
		(void)snprintf(where, sizeof where, " of profile %s",
		    old->profile[i].name);
	if (p->section == TIDE_OF_POLICY)
		(void)snprintf(
		    where, sizeof where, " of policy %s", old->policy[i].name);
	return refuse("%s%s can only be changed by a restart of tidemarkd",
	    p->name, where);
}

static int
read_new(const struct options *o, struct tide_config *config, char **text)
{
	const char *path = o->conf != NULL ? o->conf : TIDE_CONF_PATH;
	struct tide_complaints complaints = { 0 };

	if (o->root != NULL || (o->conf == NULL && access(path, F_OK) != 0)) {
		tide_config_defaults(config, o->root);
		return 0;
	}
	if (tide_config_load(config, path, &complaints) == 0)
		return 0;
	*text = complaints.text;
	return -1;
}

static int
take_over(struct collector *c, const struct tide_config *config, char **text)
{
	struct tide_err err;
	uint64_t longest;

	if (tide_overrides_publish(config, &err) < 0 ||
	    tide_config_publish(config, c->generation + 1, &err) < 0) {
		*text = strdup(err.text);
		return -1;
	}
	longest = keeper_longest(config);
	(void)pthread_mutex_lock(&c->lock);
	c->config = *config;
	c->longest_ms = longest;
	c->classes_stale = true;
	c->generation++;
	(void)pthread_mutex_unlock(&c->lock);
	atomic_store(&c->map->control->generation, c->generation);
	tide_log_open("tidemark-collector", config->log,
	    (enum tide_log_level)config->log_level);
	tide_log(TIDE_LOG_INFO, "configuration taken over, generation %llu",
	    (unsigned long long)c->generation);
	return 0;
}

/*
 * Files are read and synced under a lock that nobody else waits for: the one
 * over the configuration is the keeper's each 5 ms.  Only we write to either.
 */
int
collector_reload(struct collector *c, char **text)
{
	struct tide_config *config = malloc(sizeof *config);
	int rc = -1;

	*text = NULL;
	if (config == NULL)
		return -1;
	(void)pthread_mutex_lock(&c->reload_lock);
	if (read_new(c->options, config, text) == 0) {
		*text = needs_restart(&c->config, config);
		if (*text == NULL)
			rc = take_over(c, config, text);
	}
	tide_count(c->map->counters,
	    rc == 0 ? TIDE_COUNT_RELOADS : TIDE_COUNT_RELOADS_REFUSED, 1);
	(void)pthread_mutex_unlock(&c->reload_lock);
	egress_touch(c, TIDE_EGRESS_KINDS);
	free(config);
	return rc;
}

void
collector_reload_log(struct collector *c)
{
	char *complaints = NULL;

	if (collector_reload(c, &complaints) == 0)
		return;
	tide_log(TIDE_LOG_ERROR, "the new configuration is not taken over: %s",
	    complaints != NULL ? complaints : "no memory");
	free(complaints);
}
