/*
 * replay - the parts of `tidemark replay`: lines of a log, and leaky buckets
 * in private memory with the log's own clock.
 */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/epoch.h"

/* ---- lines ------------------------------------------------------------- */

/* One message, as session and log.c wrote it. */
struct replay_line {
	uint64_t wall_ms;
	char profile[TIDE_NAME_MAX];
	char client[64];
	char auth[256]; /* "" if it was - */
	char from[512];
	uint32_t recipients, unknown;
};

/*
 * False if the line is no message's.  Times as log.c writes them, or as
 * syslog does: ISO 8601, or "Nov 16 14:41:43" in the year before now_ms.
 */
bool replay_parse(const char *text, uint64_t now_ms, struct replay_line *);

/* ---- buckets ----------------------------------------------------------- */

/* Our own buckets: nobody else writes, the caller passes the time. */
struct basin {
	struct tide_flow flow;
	struct tide_pool pool;
	tide_epoch epoch, mine;
	void *region[3];
	size_t bytes[3];
};

int basin_make(struct basin *, uint32_t buckets, tide_on_overflow *, void *arg);
void basin_free(struct basin *);

/* Leak what is due; overflows are reported to the callback at once. */
void basin_leak(struct basin *, uint64_t now_ms);
void basin_add(
    struct basin *, unsigned class, const struct tide_key *, uint32_t drops);

/* Of a key that many share: would so many drops still fit? */
bool basin_has_room(
    struct basin *, unsigned class, const struct tide_key *, uint32_t drops);

/* depth + 1 after an overflow that has not been dealt with. */
uint32_t basin_level(struct basin *, unsigned class, const struct tide_key *);

#endif
