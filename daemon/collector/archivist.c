/*
 * archivist - the thread that may wait for a disk: lapses, sealing,
 * checkpoints, expiry; and what takes long, as clearing old bulk counts.
 * Mail never waits for it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector.h"
#include "sharing.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/archive/archive_egress.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/bans.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

#define ROUND_MS 100
#define EXPIRE_EVERY_MS 60000
#define COMPLAIN_EVERY_MS 60000
#define ERRAND_WAIT_MS 30000

struct archivist {
	struct collector *c;
	struct tide_config config; /* a copy for this round */
	uint64_t want[ERRANDS];	   /* errands seen at its start */
	bool asked[ERRANDS];
	bool reload;
	uint64_t checkpoint_ms; /* monotonic; the last one */
	uint64_t expired_ms;
	uint64_t complained_ms;
	uint64_t failures; /* in a row */
	struct tide_bulk_turn bulk;
	uint64_t unread; /* windows that cannot be read, as last told */
};

/* ---- trouble ----------------------------------------------------------- */

static void
went_wrong(struct archivist *a, const struct tide_err *err)
{
	uint64_t now = tide_clock_mono_ms();

	a->failures++;
	tide_count(a->c->map->counters, TIDE_COUNT_ARCHIVE_FAILURES, 1);
	atomic_store(&a->c->map->control->archive_failing, a->failures);
	if (a->failures > 1 && now < a->complained_ms + COMPLAIN_EVERY_MS)
		return;
	a->complained_ms = now;
	tide_log(
	    TIDE_LOG_ERROR, "archive: %s (will be tried again)", err->text);
}

static void
went_well(struct archivist *a)
{
	if (a->failures > 0)
		tide_log(TIDE_LOG_INFO,
		    "archive: working again after %llu "
		    "failures",
		    (unsigned long long)a->failures);
	a->failures = 0;
	atomic_store(&a->c->map->control->archive_failing, 0);
}

/* ---- what it does ------------------------------------------------------ */

/* What tools may read without asking us. */
static void
publish_summary(struct archivist *a)
{
	struct tide_control *control = a->c->map->control;
	struct tide_archive_summary sum;
	struct tide_err err;

	if (tide_archive_summary(&a->c->archive, &sum, &err) < 0)
		return;
	if (sum.unread > a->unread)
		tide_log(TIDE_LOG_WARNING,
		    "archive: %llu windows cannot be read, damaged or of a "
		    "newer version; their time is not covered",
		    (unsigned long long)sum.unread);
	a->unread = sum.unread;
	atomic_store(&control->archive_windows, sum.windows);
	atomic_store(&control->archive_bytes, sum.bytes);
	atomic_store(&control->archive_from_ms, sum.from_ms);
	atomic_store(&control->archive_until_ms, sum.until_ms);
	atomic_store(&control->archive_wire, sum.wire);
	atomic_store(&control->archive_text, sum.text);
	atomic_store(&control->archive_kept, sum.kept);
}

static int
take_lapses(struct archivist *a, struct tide_err *err)
{
	int taken =
	    tide_archive_take_lapses(&a->c->archive, a->c->map->acceptor, err);

	if (taken > 0)
		tide_count(
		    a->c->map->counters, TIDE_COUNT_LAPSES, (uint64_t)taken);
	return taken < 0 ? -1 : 0;
}

static int
seal(struct archivist *a, uint64_t span_ms, struct tide_err *err)
{
	int sealed =
	    tide_sealer_round(&a->c->sealer, tide_moment_now(), span_ms, err);

	if (sealed > 0) {
		went_well(a);
		publish_summary(a);
	}
	return sealed;
}

/* Seal what is open, for an errand or at the end. */
static int
seal_now(struct archivist *a, struct tide_err *err)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	int tries, rc = seal(a, 0, err);

	for (tries = 0; rc == 0 && tries < 1000; tries++) {
		(void)nanosleep(&nap, NULL);
		rc = seal(a, UINT64_MAX / 2, err);
	}
	if (rc == 0)
		return tide_err_set(err,
		    "workers are still filling the window; it will be sealed "
		    "when they are done");
	return rc < 0 ? -1 : 0;
}

static int
checkpoint(struct archivist *a, struct tide_err *err)
{
	uint64_t now = tide_clock_wall_ms();

	a->checkpoint_ms = tide_clock_mono_ms();
	if (tide_checkpoint_write(&a->c->archive, a->c->map, now, err) < 0)
		return -1;
	atomic_store(&a->c->map->control->checkpoint_ms, now);
	tide_count(a->c->map->counters, TIDE_COUNT_CHECKPOINTS, 1);
	went_well(a);
	return settled_keep(a->c, err);
}

static void
leave_ban(void *arg, const struct tide_ban *ban)
{
	(void)arg;
	(void)ban;
}

static int
expire(struct archivist *a, struct tide_err *err)
{
	uint64_t now = tide_map_now_ms(a->c->map);
	uint64_t before =
	    now > a->config.retain_for ? now - a->config.retain_for : 0;
	unsigned dropped;

	a->expired_ms = tide_clock_mono_ms();
	(void)tide_store_reap(a->c->archive.store);
	if (tide_archive_expire(&a->c->archive, before, a->config.retain_size,
		&dropped, err) < 0)
		return -1;
	tide_count(a->c->map->counters, TIDE_COUNT_WINDOWS_EXPIRED, dropped);
	publish_summary(a);
	if (tide_archive_walk_bans(&a->c->archive, now, leave_ban, NULL, err) <
	    0)
		return -1;
	expire_bans(a->c, now);
	return tide_archive_expire_egress(&a->c->archive, now, err) < 0 ? -1
									: 0;
}

/* ---- errands ----------------------------------------------------------- */

int
archivist_ask(struct collector *c, enum errand errand, struct tide_err *err)
{
	struct timespec until = tide_clock_deadline(ERRAND_WAIT_MS);
	uint64_t mine;
	int rc = 0;

	(void)pthread_mutex_lock(&c->lock);
	mine = ++c->wanted[errand];
	(void)pthread_cond_broadcast(&c->changed);
	while (rc == 0 && c->done[errand] < mine && !c->stop)
		rc = pthread_cond_timedwait(&c->changed, &c->lock, &until);
	if (c->done[errand] < mine)
		rc = tide_err_set(err, "it is not done yet");
	else if (c->failure[errand].text[0] != '\0')
		rc = tide_err_set(err, "%s", c->failure[errand].text);
	else
		rc = 0;
	(void)pthread_mutex_unlock(&c->lock);
	return rc;
}

static void
report(
    struct archivist *a, enum errand errand, int rc, const struct tide_err *err)
{
	if (!a->asked[errand])
		return;
	(void)pthread_mutex_lock(&a->c->lock);
	a->c->done[errand] = a->want[errand];
	a->c->failure[errand] = *err;
	if (rc == 0)
		a->c->failure[errand].text[0] = '\0';
	(void)pthread_cond_broadcast(&a->c->changed);
	(void)pthread_mutex_unlock(&a->c->lock);
}

/* ---- the rounds -------------------------------------------------------- */

static void
do_round(struct archivist *a)
{
	uint64_t now = tide_clock_mono_ms();
	struct tide_err err = { "" };
	int rc;

	if (a->reload)
		collector_reload_log(a->c);
	settled_round(a->c);
	if (take_lapses(a, &err) < 0)
		went_wrong(a, &err);
	reputation_round(a->c);
	spam_round(a->c, a->config.spam_generation);
	if (commit_bans(a->c, &a->config, &err) < 0)
		went_wrong(a, &err);
	rc = a->asked[ERRAND_SEAL] ? seal_now(a, &err)
				   : seal(a, a->config.window_span, &err);
	if (rc < 0 && !a->asked[ERRAND_SEAL])
		went_wrong(a, &err);
	report(a, ERRAND_SEAL, rc < 0 ? -1 : 0, &err);
	if (sharing_turn(a->c, &a->bulk, a->config.bulk_span))
		tide_count(a->c->map->counters, TIDE_COUNT_BULK_TURNS, 1);
	if (a->asked[ERRAND_CHECKPOINT] || rc > 0 ||
	    now >= a->checkpoint_ms + a->config.checkpoint_every) {
		rc = checkpoint(a, &err);
		if (rc < 0)
			went_wrong(a, &err);
		report(a, ERRAND_CHECKPOINT, rc, &err);
	}
	if (now >= a->expired_ms + EXPIRE_EVERY_MS && expire(a, &err) < 0)
		went_wrong(a, &err);
}

/* Sleep until the next round or until somebody wants something; true when
 * it is time to end. */
static bool
wait_for_round(struct archivist *a)
{
	struct collector *c = a->c;
	struct timespec until = tide_clock_deadline(ROUND_MS);
	bool stop;
	int i, rc = 0;

	(void)pthread_mutex_lock(&c->lock);
	while (rc == 0 && !c->stop && !c->bans_queued && !c->reload_wanted &&
	    c->wanted[0] == c->done[0] && c->wanted[1] == c->done[1])
		rc = pthread_cond_timedwait(&c->changed, &c->lock, &until);
	a->config = c->config;
	a->reload = c->reload_wanted;
	c->reload_wanted = false;
	for (i = 0; i < ERRANDS; i++) {
		a->want[i] = c->wanted[i];
		a->asked[i] = c->wanted[i] != c->done[i];
	}
	stop = c->stop;
	(void)pthread_mutex_unlock(&c->lock);
	return stop;
}

/* At the end everything goes to the archive, so that a stopped daemon can be
 * asked with --offline and nothing depends on the live file. */
static void
put_everything_away(struct archivist *a)
{
	struct tide_err err;

	if (take_lapses(a, &err) < 0 || seal_now(a, &err) < 0 ||
	    checkpoint(a, &err) < 0)
		tide_log(TIDE_LOG_ERROR, "archive: at the end: %s", err.text);
}

void *
archivist_run(void *arg)
{
	struct archivist a = { .c = arg };

	a.checkpoint_ms = tide_clock_mono_ms();
	publish_summary(&a);
	while (!wait_for_round(&a))
		do_round(&a);
	put_everything_away(&a);
	return NULL;
}
