/*
 * collector - start up, keep the pulse, end in good order.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../daemon.h"
#include "collector.h"
#include "sharing.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/egress/egress.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"

#define PULSE_MS 5	     /* a new key's first drop shows after so long */
#define PREDECESSOR_MS 15000 /* how long an ending one may take */
#define RETIRE_MS 5000

/* ---- opening ----------------------------------------------------------- */

/* Only one collector at a time, also while an old one is still ending. */
static int
lock_state(const struct collector *c, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 32];

	(void)snprintf(
	    path, sizeof path, "%s/collector.lock", c->config.state_dir);
	return tide_files_lock(path, PREDECESSOR_MS, NULL, err);
}

static int
open_archive(struct collector *c, struct tide_err *err)
{
	if (tide_archive_verify(c->config.state_dir, err) < 0)
		return -1;
	if (tide_archive_open(&c->archive, c->config.state_dir,
		TIDE_ARCHIVE_OWN, c->config.archive_map, err) < 0)
		return -1;
	return tide_archive_name_profiles(&c->archive, &c->config, err);
}

/* A new and empty map: what the last checkpoint knows goes to the archive. */
static int
restore(struct collector *c, const char *why, struct tide_err *err)
{
	char when[32];
	int rc = tide_checkpoint_restore(&c->archive, c->map, &c->carried, err);

	if (rc > 0)
		tide_log(TIDE_LOG_WARNING,
		    "live map made anew (%s); restored the checkpoint of %s, "
		    "what came after it is a gap",
		    why,
		    tide_clock_show(c->carried.taken_ms, when, sizeof when));
	if (rc > 0 && err->text[0] != '\0')
		tide_log(
		    TIDE_LOG_WARNING, "not restored from it: %s", err->text);
	if (rc == 0)
		tide_log(TIDE_LOG_INFO, "live map made (%s)", why);
	if (rc < 0)
		tide_log(TIDE_LOG_ERROR,
		    "live map made anew (%s), without a checkpoint: %s", why,
		    err->text);
	return 0; /* a lost checkpoint must not keep us from going on */
}

/* Windows go to the archive; counters and what is known of senders are
 * carried over. */
static int
retire_map(struct collector *c, struct tide_err *err)
{
	uint64_t now = tide_clock_wall_ms();
	int rc = tide_sealer_retire(&c->sealer, now, RETIRE_MS, err);

	tide_sealer_close(&c->sealer);
	if (rc < 0)
		return -1;
	return tide_carried_take(&c->carried, c->map, now, err);
}

/* Bulk counts of the old map, if the new one's cells are the same. */
static void
carry_bulk(struct tide_map *to, const struct tide_map *from)
{
	if (from->bulk != NULL &&
	    memcmp(&to->head->bulk, &from->head->bulk, sizeof to->head->bulk) ==
		0)
		tide_bulk_carry(to->bulk, from->bulk);
	else
		tide_log(TIDE_LOG_WARNING, "bulk counts begin anew");
}

/* Rows go by a profile's place: only where these are the same. */
static void
carry_measurements(struct tide_map *to, const struct tide_map *from)
{
	if (memcmp(to->profiles, from->profiles, sizeof *to->profiles) != 0)
		return;
	if (from->latency != NULL)
		memcpy((void *)to->latency, (const void *)from->latency,
		    sizeof *to->latency);
	if (from->history != NULL)
		memcpy((void *)to->history, (const void *)from->history,
		    sizeof *to->history);
}

/* What an old map has in a form that this version cannot read. */
static void
tell_loss(const void *region, const char *what)
{
	if (region == NULL)
		tide_log(TIDE_LOG_WARNING,
		    "%s begin anew: those of the old map are of another form",
		    what);
}

/* The map has other sizes or profiles, or is of another version: a new one
 * with what the old one knew. */
static int
replace_outgrown(struct collector *c, const char *why, struct tide_err *err)
{
	struct tide_map *old = c->map;

	if (retire_map(c, err) < 0)
		return -1;
	if (tide_live_open(&c->config, &c->archive.key, true, &c->map, err) !=
	    TIDE_LIVE_MADE) {
		tide_map_detach(old);
		return -1;
	}
	tide_log(TIDE_LOG_INFO,
	    "live map made anew (%s); the list of decisions begins anew", why);
	tell_loss(old->flow, "buckets");
	tell_loss(old->tokens, "allowances");
	tell_loss(old->distinct, "estimates");
	carry_bulk(c->map, old);
	carry_measurements(c->map, old);
	if (tide_carried_count(&c->carried, c->map) > 0)
		tide_log(TIDE_LOG_WARNING,
		    "some counters of the old map are not known here");
	atomic_store(&c->map->control->bypass_until_ms,
	    atomic_load(&old->control->bypass_until_ms));
	tide_map_detach(old);
	return 0;
}

static int
put_aside(struct collector *c, const char *why, struct tide_err *err)
{
	char path[TIDE_PATH_MAX], aside[TIDE_PATH_MAX + 16];

	(void)tide_config_live(&c->config, path, sizeof path);
	(void)snprintf(aside, sizeof aside, "%s.damaged", path);
	tide_log(TIDE_LOG_ERROR, "%s; kept as %s", why, aside);
	tide_sealer_close(&c->sealer);
	tide_map_detach(c->map);
	if (rename(path, aside) < 0)
		return tide_err_errno(err, "%s", path);
	return 0;
}

static int
open_map(struct collector *c, struct tide_err *err)
{
	struct tide_err why;

	switch (
	    tide_live_open(&c->config, &c->archive.key, false, &c->map, &why)) {
	case TIDE_LIVE_RESUMED:
		tide_log(TIDE_LOG_INFO, "live map resumed");
		return 0;
	case TIDE_LIVE_MADE:
		return restore(c, why.text, err);
	case TIDE_LIVE_OUTGROWN:
		if (tide_sealer_open(&c->sealer, c->map, &c->archive,
			tide_clock_wall_ms(), err) == 0)
			return replace_outgrown(c, why.text, err);
		why = *err; /* it contradicts itself */
		return put_aside(c, why.text, err) == 0 ? open_map(c, err) : -1;
	default:
		*err = why;
		return -1;
	}
}

/* Put a map that contradicts itself away and start from the checkpoint. */
static int
remake_map(struct collector *c, const char *why, struct tide_err *err)
{
	if (put_aside(c, why, err) < 0 || open_map(c, err) < 0)
		return -1;
	return tide_sealer_open(
	    &c->sealer, c->map, &c->archive, tide_clock_wall_ms(), err);
}

static int
open_everything(struct collector *c, struct tide_err *err)
{
	if (lock_state(c, err) < 0 || open_archive(c, err) < 0 ||
	    open_map(c, err) < 0)
		return -1;
	if (tide_sealer_open(&c->sealer, c->map, &c->archive,
		tide_clock_wall_ms(), err) < 0) {
		struct tide_err why = *err;

		if (remake_map(c, why.text, err) < 0)
			return -1;
	}
	if (keeper_open(c, err) < 0 || reputation_open(c, err) < 0 ||
	    spam_open(c, err) < 0)
		return -1;
	tide_bulk_open(c->map->bulk, tide_clock_wall_ms());
	sharing_open(c);
	atomic_store(&c->map->control->generation, c->generation);
	atomic_store(&c->map->control->collector_pid, (uint32_t)getpid());
	tide_count(c->map->counters, TIDE_COUNT_COLLECTOR_STARTS, 1);
	return 0;
}

/* ---- running ----------------------------------------------------------- */

static void
beat(struct collector *c)
{
	atomic_store_explicit(&c->map->control->pulse_ms, tide_clock_mono_ms(),
	    memory_order_relaxed);
}

static void
reload_and_log(struct collector *c)
{
	char *complaints = NULL;

	if (collector_reload(c, &complaints) == 0)
		return;
	tide_log(TIDE_LOG_ERROR, "the new configuration is not taken over: %s",
	    complaints != NULL ? complaints : "no memory");
	free(complaints);
}

/* True when it is time to end. */
static bool
wait_a_beat(struct collector *c, const sigset_t *signals)
{
	const struct timespec pulse = { .tv_nsec = PULSE_MS * 1000000L };
	int sig = sigtimedwait(signals, NULL, &pulse);

	if (sig == SIGHUP)
		reload_and_log(c);
	return sig == SIGTERM || sig == SIGINT;
}

static void
tell_ready(const struct collector *c)
{
	if (c->options->ready_fd < 0)
		return;
	if (write(c->options->ready_fd, "1", 1) != 1)
		tide_log(TIDE_LOG_WARNING, "the supervisor does not listen");
	(void)close(c->options->ready_fd);
}

static void
stop(struct collector *c, pthread_t archivist)
{
	/* nobody may take us for running while we put everything away */
	(void)shutdown(c->options->control_fd, SHUT_RDWR);
	(void)pthread_mutex_lock(&c->lock);
	c->stop = true;
	(void)pthread_cond_broadcast(&c->changed);
	(void)pthread_mutex_unlock(&c->lock);
	(void)pthread_join(archivist, NULL);
	atomic_store(&c->map->control->collector_pid, 0);
}

static int
run(struct collector *c, const sigset_t *signals)
{
	pthread_t archivist, control;

	beat(c);
	if (pthread_create(&archivist, NULL, archivist_run, c) != 0 ||
	    pthread_create(&control, NULL, control_run, c) != 0) {
		tide_log(TIDE_LOG_ERROR, "cannot start threads");
		return EX_OSERR;
	}
	tell_ready(c);
	do {
		beat(c);
		keeper_round(c);
	} while (!wait_a_beat(c, signals));
	stop(c, archivist);
	return 0;
}

int
collect(const struct options *options)
{
	static struct collector c = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.ban_lock = PTHREAD_MUTEX_INITIALIZER,
		.hand_lock = PTHREAD_MUTEX_INITIALIZER,
		.reputation.lock = PTHREAD_MUTEX_INITIALIZER,
		.bulk_lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.egress_lock = PTHREAD_MUTEX_INITIALIZER,
		.egress_changed = PTHREAD_COND_INITIALIZER };
	struct tide_err err;
	sigset_t signals;
	unsigned i;

	c.options = options;
	for (i = 0; i < TIDE_EGRESS_KINDS; i++) /* of this life of ours */
		c.egress_generation[i] = tide_clock_wall_ms() << 20;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (options->runtime == NULL ||
	    tide_config_published(
		options->runtime, &c.config, &c.generation, &err) < 0) {
		(void)fputs("tidemarkd: the collector is started by the "
			    "supervisor\n",
		    stderr);
		return EX_USAGE;
	}
	tide_log_open("tidemark-collector", c.config.log,
	    (enum tide_log_level)c.config.log_level);
	if (open_everything(&c, &err) < 0) {
		tide_log(TIDE_LOG_ERROR, "cannot start: %s", err.text);
		return EX_UNAVAILABLE;
	}
	return run(&c, &signals);
}
