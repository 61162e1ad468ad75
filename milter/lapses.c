/*
 * lapses - tell the collector about times in which mail may have passed
 * unseen.  PROTOCOL lapses, the producer: see map.h.
 *
 * What finds no room (or no map) is held here, joined into one, until it
 * does: too wide a lapse is honest, a forgotten one is not.
 */
#include "milter.h"
#include "tidemark/clock.h"
#include "tidemark/log.h"

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
		return;
	}
	if (lapse->from_ms < held.from_ms)
		held.from_ms = lapse->from_ms;
	if (lapse->until_ms > held.until_ms)
		held.until_ms = lapse->until_ms;
	held.kind = lapse->kind;
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
