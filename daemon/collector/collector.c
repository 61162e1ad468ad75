/*
 * collector - start up, keep the pulse, end in good order.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../daemon.h"
#include "collector.h"
#include "sharing.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/egress/egress.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/shared/counters.h"

#define PULSE_MS 5	     /* a new key's first drop shows after so long */
#define TELL_MS 500	     /* between signs of life to the supervisor */
#define PREDECESSOR_MS 15000 /* how long an ending one may take */

/* PROTOCOL beats (supervisor/beats.c).  One that does not listen any more is
 * gone, and we shall be told. */
static void
tell_supervisor(const struct collector *c, const char *byte)
{
	if (c->options->ready_fd >= 0)
		(void)!write(c->options->ready_fd, byte, 1);
}

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

/* A full disk must not keep us from starting. */
static void
name_profiles(struct collector *c)
{
	struct tide_err err;

	if (tide_archive_name_profiles(&c->archive, &c->config, &err) < 0)
		tide_log(TIDE_LOG_WARNING,
		    "%s; answers show new profiles as \"?\" until the next "
		    "start",
		    err.text);
}

static int
open_archive(struct collector *c, struct tide_err *err)
{
	if (tide_archive_verify(c->config.state_dir, err) < 0)
		return -1;
	if (tide_archive_open(&c->archive, c->config.state_dir,
		TIDE_ARCHIVE_OWN, c->config.archive_map, err) < 0)
		return -1;
	name_profiles(c);
	return 0;
}

static int
open_everything(struct collector *c, struct tide_err *err)
{
	if (lock_state(c, err) < 0 || open_archive(c, err) < 0)
		return -1;
	tell_supervisor(c, "."); /* B1 */
	if (map_open(c, err) < 0)
		return -1;
	settled_open(c);
	if (keeper_open(c, err) < 0 || reputation_open(c, err) < 0 ||
	    spam_open(c, err) < 0)
		return -1;
	tide_bulk_open(c->map->bulk, tide_map_now_ms(c->map));
	sharing_open(c);
	atomic_store(&c->map->control->generation, c->generation);
	atomic_store(&c->map->control->collector_pid, (uint32_t)getpid());
	tide_count(c->map->counters, TIDE_COUNT_COLLECTOR_STARTS, 1);
	if (c->options->map_aside)
		tide_count(c->map->counters, TIDE_COUNT_MAPS_SET_ASIDE, 1);
	return map_publish(c, err);
}

/* ---- running ----------------------------------------------------------- */

static void
beat(struct collector *c)
{
	static uint64_t told_ms;
	uint64_t now = tide_clock_mono_ms();

	atomic_store_explicit(
	    &c->map->control->pulse_ms, now, memory_order_relaxed);
	if (now < told_ms + TELL_MS)
		return;
	told_ms = now;
	tell_supervisor(c, "."); /* B3 */
}

static void
want_reload(struct collector *c)
{
	(void)pthread_mutex_lock(&c->lock);
	c->reload_wanted = true;
	(void)pthread_cond_broadcast(&c->changed);
	(void)pthread_mutex_unlock(&c->lock);
}

/* True when it is time to end. */
static bool
wait_a_beat(struct collector *c, const sigset_t *signals)
{
	const struct timespec pulse = { .tv_nsec = PULSE_MS * 1000000L };
	int sig = sigtimedwait(signals, NULL, &pulse);

	if (sig == SIGHUP)
		want_reload(c);
	return sig == SIGTERM || sig == SIGINT;
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
	tell_supervisor(c, "1"); /* B2 */
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
		.reload_lock = PTHREAD_MUTEX_INITIALIZER,
		.ban_lock = PTHREAD_MUTEX_INITIALIZER,
		.hand_lock = PTHREAD_MUTEX_INITIALIZER,
		.reputation.lock = PTHREAD_MUTEX_INITIALIZER,
		.bulk_lock = PTHREAD_MUTEX_INITIALIZER,
		.egress_lock = PTHREAD_MUTEX_INITIALIZER };
	struct tide_err err;
	sigset_t signals;
	unsigned i;

	c.options = options;
	tide_clock_cond_init(&c.changed);
	tide_clock_cond_init(&c.egress_changed);
	for (i = 0; i < TIDE_EGRESS_KINDS; i++) /* of this life of ours */
		c.egress_generation[i] = tide_clock_wall_ms() << 20;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (options->ready_fd >= 0) { /* no hook's, and nobody to wait for */
		(void)fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC);
		(void)fcntl(options->ready_fd, F_SETFL, O_NONBLOCK);
	}
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
