/*
 * backlog - whose connections are taken next, and whose have to wait.
 *
 * A connection that finds no worker waits in the kernel's backlog of its
 * socket.  Waiting long, a mail server goes on without us: that is a lapse.
 */
#include <poll.h>
#include <string.h>

#include "milter.h"
#include "shares.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static struct share share[LISTENERS_MAX];

unsigned
listener_service(const struct listener *l)
{
	return l->is_policy ? TIDE_SERVICE_POLICY(l->policy)
			    : TIDE_SERVICE_PROFILE(l->profile);
}

/* ---- shares ------------------------------------------------------------ */

void
backlog_plan(const struct acceptor_options *o, const struct tide_config *c)
{
	const struct listener *l;
	unsigned i;

	for (i = 0; i < o->listeners; i++) {
		l = &o->listener[i];
		share[i] = (struct share){
			.reserved = l->is_policy
			    ? c->policy[l->policy].workers_reserved
			    : c->profile[l->profile].workers_reserved,
			.most = l->is_policy
			    ? c->policy[l->policy].workers_most
			    : c->profile[l->profile].workers_most,
		};
	}
	shares_plan(share, o->listeners, c->max_workers);
}

bool
backlog_may_take(const struct acceptor_options *o, unsigned which)
{
	unsigned i;

	for (i = 0; i < o->listeners; i++)
		share[i].busy =
		    roster_serving(listener_service(&o->listener[i]));
	return share_has_room(share, o->listeners, which, roster_room());
}

/* ---- who waits --------------------------------------------------------- */

static bool
somebody_waits(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

static void
tell(struct listener *l, const char *name, const struct share *s)
{
	uint64_t now = tide_clock_mono_ms();
	const char *what = l->is_policy ? "policy" : "profile";

	if (l->told_ms != 0 && now < l->told_ms + TELL_EVERY_MS)
		return;
	l->told_ms = now;
	if (roster_room() == 0)
		tide_log(TIDE_LOG_WARNING,
		    "%s %s: all workers serve (max_workers): connections wait",
		    what, name);
	else
		tide_log(TIDE_LOG_WARNING,
		    "%s %s: has %u workers, at most %u, and the others are "
		    "kept for other sockets (workers_most, workers_reserved): "
		    "connections wait",
		    what, name, s->busy, s->most);
}

static void
begin_wait(struct listener *l, struct tide_map *map, struct tide_moment now)
{
	l->waits_since = now;
	if (map == NULL)
		return;
	tide_count(map->counters, TIDE_COUNT_BACKLOG_WAITS, 1);
	if (roster_room() > 0)
		tide_count_profile(
		    map->counters, l->profile, TIDE_COUNT_SHARE_WAITS, 1);
}

void
backlog_watch(struct acceptor_options *o, struct tide_map *map)
{
	struct tide_moment now = tide_moment_now();
	struct listener *l;
	uint32_t waiting = 0;
	unsigned i;

	for (i = 0; i < o->listeners; i++) {
		l = &o->listener[i];
		if (!backlog_may_take(o, i) && somebody_waits(l->fd)) {
			waiting |= 1u << (listener_service(l) - 1);
			if (l->waits_since.boot_ms == 0)
				begin_wait(l, map, now);
			tell(l, o->name[i], &share[i]);
		} else if (l->waits_since.boot_ms != 0) {
			if (now.boot_ms > l->waits_since.boot_ms + UNNOTICED_MS)
				lapse_between(
				    map, TIDE_LAPSE_FULL, l->waits_since, now);
			l->waits_since.boot_ms = 0;
		}
	}
	if (map != NULL)
		atomic_store(&map->acceptor->waiting, waiting);
}
