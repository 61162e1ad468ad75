/*
 * bans_room - whose ban finds a place in the table.
 *
 * The collector's, before it stores a new ban.  Of max_bans, outsiders get
 * three quarters: the rest is for bans by hand and those of accounts, which
 * nobody outside can make.  Those of one profile get half, and those of one
 * network (/24, of IPv6 /48) in it a 64th, but at least 16: who makes up
 * senders fills no more than that.  Senders and clients are counted apart, and
 * an eighth of max_bans is for clients alone: made-up senders do not keep the
 * client who made them up from being banned.
 */
#ifndef TIDEMARK_BANS_ROOM_H
#define TIDEMARK_BANS_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "tidemark/flow/bans.h"

#define TIDE_BAN_ROOM_MOST 64u /* new bans at once */

struct tide_ban_room {
	uint32_t most;
	uint32_t all, outsiders, senders;
	unsigned tallies; /* of profiles and networks that are asked for */
	struct {
		uint64_t id;
		uint32_t count;
	} tally[2 * TIDE_BAN_ROOM_MOST];
};

/* By hand, or of an account. */
bool tide_ban_is_favoured(const struct tide_ban *);

/* Say who will be asked for; count those that stand; then ask. */
void tide_ban_room_open(struct tide_ban_room *, uint32_t most);
void tide_ban_room_watch(struct tide_ban_room *, const struct tide_ban *);
void tide_ban_room_note(struct tide_ban_room *, const struct tide_ban *);
void tide_ban_room_count(struct tide_ban_room *, const struct tide_bans *);

/* NULL if there is a place, which is then taken; else what is full. */
const char *tide_ban_room_take(struct tide_ban_room *, const struct tide_ban *);

#endif
