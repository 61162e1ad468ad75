/*
 * opening - the map: resumed, made with what the last checkpoint knows, or
 * taken over from one of other sizes, profiles or formats.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../daemon.h"
#include "collector.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/history.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/slots.h"

#define RETIRE_MS 5000

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

static int
put_aside(struct collector *c, const char *why, struct tide_err *err)
{
	char path[TIDE_PATH_MAX], aside[TIDE_PATH_MAX + 16];

	(void)tide_config_live(&c->config, path, sizeof path);
	(void)snprintf(aside, sizeof aside, "%s.damaged", path);
	tide_log(TIDE_LOG_ERROR, "%s; kept as %s", why, aside);
	if (rename(path, aside) < 0)
		return tide_err_errno(err, "%s", path);
	return 0;
}

static int
open_windows(struct collector *c, struct tide_err *err)
{
	return tide_sealer_open(
	    &c->sealer, c->map, &c->archive, tide_moment_now(), err);
}

static void
close_windows(struct collector *c)
{
	tide_sealer_close(&c->sealer);
	c->sealer.map = NULL;
}

/* It contradicts itself: put it away, and start from the checkpoint. */
static int
remake(struct collector *c, const char *why, struct tide_err *err)
{
	close_windows(c);
	tide_map_detach(c->map);
	c->map = NULL;
	return put_aside(c, why, err) == 0 ? map_open(c, err) : -1;
}

/* ---- taking over an old map ---------------------------------------------- */

/* Sessions that a restart has left running write into the old map, and end
 * between two messages (PROTOCOL handover in supervisor.c). */
static bool
has_sessions(const struct tide_map *old)
{
	uint32_t i;
	pid_t pid;

	for (i = 0; old->slots != NULL && i < old->head->slots; i++) {
		pid = (pid_t)atomic_load(&old->slots[i].pid);
		if (atomic_load(&old->slots[i].state) == TIDE_SLOT_SERVING &&
		    pid > 0 && kill(pid, 0) == 0)
			return true;
	}
	return false;
}

/* Since the last beat; if the clock was set, by what it showed before, and by
 * what it shows. */
static int
keep_downtime(
    struct collector *c, struct tide_moment last, struct tide_err *err)
{
	struct tide_moment now = { tide_clock_wall_ms(), tide_clock_mono_ms() };
	struct tide_clock_change change = tide_clock_between(last, now);
	struct tide_lapse down[2] = { { .kind = TIDE_LAPSE_DOWN,
					  .from_ms = last.wall_ms,
					  .until_ms = change.before_ms },
		{ .kind = TIDE_LAPSE_DOWN,
		    .from_ms = change.after_ms,
		    .until_ms = now.wall_ms } };
	unsigned i, n = change.stepped ? 2 : 1;
	int rc = 0;

	if (has_sessions(c->map)) /* a message has twice the grace to end in */
		down[n - 1].until_ms += 2 * c->config.shutdown_grace;
	for (i = 0; rc == 0 && i < n; i++)
		rc = tide_archive_put_lapse(&c->archive, &down[i], err);
	tide_count(c->map->counters, TIDE_COUNT_LAPSES, rc == 0 ? n : 0);
	return rc;
}

/*
 * The times that the old map cannot speak of: lapses that were on their way,
 * and that in which nobody beat.  The pulse first: an acceptor that goes on
 * with the old map tells of its downtime before it beats there.
 */
static int
keep_lapses(struct collector *c, struct tide_err *err)
{
	struct tide_moment last = { atomic_load(
					&c->map->acceptor->pulse_wall_ms),
		atomic_load(&c->map->acceptor->pulse_ms) };
	int taken =
	    tide_archive_take_lapses(&c->archive, c->map->acceptor, err);

	if (taken < 0)
		return -1;
	tide_count(c->map->counters, TIDE_COUNT_LAPSES, (uint64_t)taken);
	return last.wall_ms != 0 ? keep_downtime(c, last, err) : 0;
}

/* Windows go to the archive. */
static int
retire_map(struct collector *c, struct tide_err *err)
{
	int rc = keep_lapses(c, err);

	if (rc == 0)
		rc = tide_sealer_retire(
		    &c->sealer, tide_moment_now(), RETIRE_MS, err);
	close_windows(c);
	return rc;
}

/*
 * From the moment the old map is gone until the new one is filled, the archive
 * is all there is (PROTOCOL filling, F1).  A map of another version that cannot
 * tell everything must not hide what its own last checkpoint has.
 */
static void
commit_old(struct collector *c, const struct tide_map *old)
{
	struct tide_err err;

	if (old->flow == NULL || old->tokens == NULL || old->distinct == NULL ||
	    old->bulk == NULL)
		return;
	if (tide_checkpoint_write(
		&c->archive, old, tide_clock_wall_ms(), &err) < 0)
		tide_log(TIDE_LOG_WARNING,
		    "%s; if the collector is killed before the new map is "
		    "filled, the last checkpoint counts",
		    err.text);
}

/* Bulk counts of the old map, if the new one's cells are the same. */
static bool
carry_bulk(struct tide_map *to, const struct tide_map *from)
{
	if (from->bulk == NULL ||
	    memcmp(&to->head->bulk, &from->head->bulk, sizeof to->head->bulk) !=
		0)
		return false;
	tide_bulk_carry(to->bulk, from->bulk);
	return true;
}

/* Rows go by a profile's place: only where these are the same. */
static bool
carry_measurements(struct tide_map *to, const struct tide_map *from)
{
	if (from->latency == NULL || from->history == NULL ||
	    memcmp(to->profiles, from->profiles, sizeof *to->profiles) != 0)
		return false;
	memcpy((void *)to->latency, (const void *)from->latency,
	    sizeof *to->latency);
	memcpy((void *)to->history, (const void *)from->history,
	    sizeof *to->history);
	return true;
}

static void
tell_loss(bool kept, const char *what)
{
	if (!kept)
		tide_log(TIDE_LOG_WARNING,
		    "%s begin anew: those of the old map do not fit", what);
}

static bool
has(const struct collector *c, enum tide_carried_id id)
{
	return c->carried.part[id].bytes != NULL;
}

/* What the old map has in a form of its own, the last checkpoint may have in
 * one that we read. */
static bool
complete(struct collector *c, bool bulk)
{
	struct tide_checkpoint last;
	struct tide_err err;

	if (tide_checkpoint_load(&c->archive, &last, &err) <= 0)
		return bulk;
	tide_carried_complete(&c->carried, &last.carried);
	if (!bulk) {
		tide_checkpoint_bulk(&last, c->map);
		bulk = atomic_load(&c->map->bulk->head->turn) != 0;
	}
	tide_checkpoint_free(&last);
	return bulk;
}

/* `old' is NULL if it had to go first. */
static void
carry_over(struct collector *c, const struct tide_map *old, uint64_t bypass_ms)
{
	bool bulk = old != NULL && carry_bulk(c->map, old);

	if (!bulk || !has(c, TIDE_CARRIED_BUCKETS) ||
	    !has(c, TIDE_CARRIED_TOKENS) || !has(c, TIDE_CARRIED_DISTINCT))
		bulk = complete(c, bulk);
	tell_loss(bulk, "bulk counts");
	tell_loss(has(c, TIDE_CARRIED_BUCKETS), "levels of buckets");
	tell_loss(has(c, TIDE_CARRIED_TOKENS), "allowances");
	tell_loss(has(c, TIDE_CARRIED_DISTINCT), "estimates");
	tell_loss(old != NULL && carry_measurements(c->map, old),
	    "latencies and the last hour's figures");
	if (tide_carried_count(&c->carried, c->map) > 0)
		tide_log(TIDE_LOG_WARNING,
		    "some counters of the old map are not known here");
	atomic_store(&c->map->control->bypass_until_ms, bypass_ms);
	if (bypass_ms > tide_map_now_ms(c->map))
		tide_log(TIDE_LOG_WARNING, "the bypass that is on stays on");
}

static int
open_new(struct collector *c, bool replace, struct tide_err *err)
{
	return tide_live_open(&c->config, &c->archive.key, replace, &c->map,
		   err) == TIDE_LIVE_MADE
	    ? 0
	    : -1;
}

/* There is room for one map only: the old one goes first, with what was not
 * taken from it. */
static int
open_instead(struct collector *c, struct tide_map **old, struct tide_err *err)
{
	char path[TIDE_PATH_MAX];

	tide_log(TIDE_LOG_WARNING, "%s; the old map goes first", err->text);
	tide_map_detach(*old);
	*old = NULL;
	(void)tide_config_live(&c->config, path, sizeof path);
	if (unlink(path) < 0)
		return tide_err_errno(err, "%s", path);
	return open_new(c, false, err);
}

/*
 * The map has other sizes or profiles, or is of another version: a new one
 * with what the old one knew.  Windows that cannot be stored (the disk is
 * full) must not keep us from starting: that file is kept, and its time is not
 * covered.
 */
static int
replace_outgrown(struct collector *c, const char *why, struct tide_err *err)
{
	struct tide_map *old = c->map;
	uint64_t bypass = atomic_load(&old->control->bypass_until_ms);
	struct tide_err cause;
	bool stored = retire_map(c, &cause) == 0;
	int rc = tide_carried_take(&c->carried, old, tide_clock_wall_ms(), err);

	commit_old(c, old); /* F1 */
	if (rc == 0 && !stored)
		rc = put_aside(c, cause.text, err);
	if (rc == 0 && open_new(c, stored, err) < 0)
		rc = stored ? open_instead(c, &old, err) : -1;
	if (rc == 0) {
		tide_log(TIDE_LOG_INFO,
		    "live map made anew (%s); the list of decisions begins "
		    "anew",
		    why);
		carry_over(c, old, bypass);
	}
	tide_map_detach(old);
	return rc;
}

/* The supervisor says that two before us went round in it for ever. */
static int
heed_supervisor(struct collector *c, struct tide_err *err)
{
	char path[TIDE_PATH_MAX];

	if (!c->options->map_aside ||
	    access(tide_config_live(&c->config, path, sizeof path), F_OK) != 0)
		return 0;
	return put_aside(c, "two collectors in a row hung with this map", err);
}

int
map_open(struct collector *c, struct tide_err *err)
{
	struct tide_err why;

	if (heed_supervisor(c, err) < 0)
		return -1;
	switch (
	    tide_live_open(&c->config, &c->archive.key, false, &c->map, &why)) {
	case TIDE_LIVE_RESUMED:
		if (open_windows(c, &why) < 0)
			return remake(c, why.text, err);
		tide_log(TIDE_LOG_INFO, "live map resumed");
		return 0;
	case TIDE_LIVE_MADE:
		return restore(c, why.text, err);
	case TIDE_LIVE_OUTGROWN:
		if (open_windows(c, err) == 0)
			return replace_outgrown(c, why.text, err);
		why = *err;
		return remake(c, why.text, err);
	default:
		*err = why;
		return -1;
	}
}

/* A new map's first window begins only now: what passed before is not in it. */
int
map_publish(struct collector *c, struct tide_err *err)
{
	if (c->sealer.map == NULL && open_windows(c, err) < 0)
		return -1;
	return tide_live_publish(&c->config, c->map, err);
}
