/*
 * roster_deadlines - workers that take too long, and all of them at the end.
 */
#include <signal.h>
#include <stdint.h>

#include "milter.h"
#include "process.h"
#include "roster_priv.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static void
signal_worker(const struct entry *e, int sig)
{
	if (e->pidfd >= 0)
		process_signal(e->pidfd, sig);
	else if (e->pid > 0 && !e->orphan) /* else it may be anybody's pid */
		(void)kill(e->pid, sig);
}

static void
kill_worker(const struct entry *e)
{
	signal_worker(e, SIGKILL);
}

void
roster_tell_all(int sig)
{
	uint32_t i;

	for (i = 0; i < roster.entries; i++)
		signal_worker(&roster.entry[i], sig);
}

/* A worker without a slot shows nothing but its age. */
static void
check_unseen(const struct entry *e, uint64_t idle_ms)
{
	if (e->pid > 0 && tide_clock_boot_ms() > e->since.boot_ms + idle_ms)
		kill_worker(e);
}

void
roster_check_deadlines(uint64_t stuck_ms, uint64_t idle_ms)
{
	uint64_t now = tide_clock_mono_ms(), limit;
	const struct tide_slot *s;
	uint32_t i;

	for (i = 0; i < roster.entries; i++) {
		if (roster.entry[i].orphan && roster.entry[i].pidfd < 0)
			continue; /* it may be gone, and its pid another's */
		s = roster.entry[i].pid > 0 ? roster_slot((int)i) : NULL;
		if (s == NULL) {
			check_unseen(&roster.entry[i], idle_ms);
			continue;
		}
		limit = atomic_load(&s->busy) != 0 ? stuck_ms : idle_ms;
		if (now < atomic_load(&s->touched_ms) + limit)
			continue;
		tide_log(TIDE_LOG_WARNING,
		    "worker %d is %s for too long (stage %s): killed",
		    (int)roster.entry[i].pid,
		    atomic_load(&s->busy) != 0 ? "stuck" : "idle",
		    tide_stage_name[atomic_load(&s->stage) % TIDE_STAGES]);
		tide_count(roster.map->counters, TIDE_COUNT_WORKERS_STUCK, 1);
		kill_worker(&roster.entry[i]);
	}
}

void
roster_kill_all(void)
{
	uint32_t i;

	for (i = 0; i < roster.entries; i++)
		kill_worker(&roster.entry[i]);
}
