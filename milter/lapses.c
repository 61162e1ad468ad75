/*
 * lapses - tell the collector about times in which mail may have passed
 * unseen.  PROTOCOL lapses, the producer: see map.h.
 *
 * What finds no room (or no map) is held here, joined into one, until it
 * does: too wide a lapse is honest, a forgotten one is not.  While there is no
 * map it is also kept in a file, since we may be stopped before there is one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "milter.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/counters.h"

static bool kept;	       /* what is held is in the file, too */
static struct tide_lapse held; /* kind 0: nothing is held */

static bool
deliver(struct tide_map *map, const struct tide_lapse *lapse)
{
	struct tide_acceptor *a;
	uint64_t head, tail;

	if (map == NULL)
		return false;
	a = map->acceptor;
	head = atomic_load_explicit(&a->lapse_head, memory_order_relaxed);
	tail = atomic_load_explicit(&a->lapse_tail, memory_order_acquire);
	if (head - tail >= TIDE_LAPSES)
		return false;
	a->lapse[head % TIDE_LAPSES] = *lapse; /* P1 */
	atomic_store_explicit(
	    &a->lapse_head, head + 1, memory_order_release); /* P2 */
	return true;
}

static void
hold(struct tide_map *map, const struct tide_lapse *lapse)
{
	if (held.kind == 0) {
		held = *lapse;
		kept = false;
		return;
	}
	if (lapse->from_ms < held.from_ms)
		held.from_ms = lapse->from_ms;
	if (lapse->until_ms > held.until_ms)
		held.until_ms = lapse->until_ms;
	held.kind = lapse->kind;
	kept = false;
	if (map != NULL)
		tide_count(map->counters, TIDE_COUNT_LAPSES_MERGED, 1);
}

void
lapse_flush(struct tide_map *map)
{
	if (held.kind != 0 && deliver(map, &held))
		held.kind = 0;
}

void
lapse_note(struct tide_map *map, enum tide_lapse_kind kind, uint64_t from_ms,
    uint64_t until_ms)
{
	struct tide_lapse lapse = { .from_ms = from_ms,
		.until_ms = until_ms < from_ms ? from_ms : until_ms,
		.kind = kind };

	lapse_flush(map);
	if (held.kind != 0 || !deliver(map, &lapse))
		hold(map, &lapse);
}

/*
 * The clock that nobody sets says how long it was.  If it was set, each moment
 * had one of two times: as it was shown before, or as it is shown since.
 */
void
lapse_between(struct tide_map *map, enum tide_lapse_kind kind,
    struct tide_moment from, struct tide_moment until)
{
	struct tide_clock_change c = tide_clock_between(from, until);

	if (!c.stepped) {
		lapse_note(map, kind, from.wall_ms, until.wall_ms);
		return;
	}
	lapse_note(map, kind, from.wall_ms, c.before_ms);
	lapse_note(map, kind, c.after_ms, until.wall_ms);
}

static void
file_path(const char *runtime_dir, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/lapse", runtime_dir);
}

void
lapse_keep(const char *runtime_dir)
{
	char path[TIDE_PATH_MAX + 16];
	struct tide_err err;

	if (held.kind == 0 || kept)
		return;
	file_path(runtime_dir, path, sizeof path);
	if (tide_files_replace(path, &held, sizeof held, 0640, &err) < 0)
		tide_log(TIDE_LOG_WARNING, "%s", err.text);
	kept = true;
}

void
lapse_recall(struct tide_map *map, const char *runtime_dir)
{
	char path[TIDE_PATH_MAX + 16];
	struct tide_lapse lapse;
	int fd;

	file_path(runtime_dir, path, sizeof path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, &lapse, sizeof lapse) == (ssize_t)sizeof lapse)
		lapse_note(
		    map, TIDE_LAPSE_ERROR, lapse.from_ms, lapse.until_ms);
	(void)close(fd);
	(void)unlink(path);
}
