/*
 * bans settle - what comes of a new ban and of the one that stands.
 *
 * An overflow is settled once, however often it is told: the ban carries the
 * overflows that it is made of.
 */
#include <string.h>

#include "tidemark/flow/bans.h"
#include "tidemark/settings/config.h"

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool
is_of(const struct tide_ban *old, const struct tide_ban *new)
{
	unsigned i;

	if (old->map != new->map || new->cause[0] == 0)
		return false;
	for (i = 0; i < TIDE_BAN_CAUSES; i++)
		if (old->cause[i] == new->cause[0])
			return true;
	return false;
}

/* The new one's cause, if it has any, before those of the old one. */
static void
join_causes(struct tide_ban *new, const struct tide_ban *old)
{
	unsigned mine = new->cause[0] != 0;

	if (mine && old->map != new->map)
		return; /* of a map that is gone: nobody tells them again */
	new->map = old->map;
	memcpy(new->cause + mine, old->cause,
	    (TIDE_BAN_CAUSES - mine) * sizeof new->cause[0]);
}

/* Why it stands has not changed. */
static void
keep_reason(struct tide_ban *new, const struct tide_ban *old)
{
	new->group = old->group;
	memcpy(new->reason, old->reason, sizeof new->reason);
}

/*
 * A new ban lasts as its group says; SBSENDER lengthens the one that stands,
 * up to the most; any other overflow only sees to it that it does not end too
 * early.  One that two profiles have made stands everywhere.
 */
static void
join(struct tide_ban *new, const struct tide_ban *old,
    const struct tide_ban_terms *terms)
{
	bool lengthens = new->group == TIDE_SBSENDER;

	new->since_ms = old->since_ms;
	new->times += old->times;
	if (strcmp(new->profile, old->profile) != 0)
		memset(new->profile, 0, sizeof new->profile);
	if (lengthens)
		new->until_ms = sooner(old->until_ms + terms->lasts_ms,
		    terms->now_ms + terms->most_ms);
	new->until_ms = later(new->until_ms, old->until_ms);
	if (lengthens ||
	    (old->group == TIDE_BAN_MANUAL && new->group != TIDE_BAN_MANUAL))
		keep_reason(new, old);
	join_causes(new, old);
}

enum tide_ban_outcome
tide_ban_settle(struct tide_ban *new, const struct tide_ban *old,
    const struct tide_ban_terms *terms)
{
	if (old != NULL && is_of(old, new)) {
		*new = *old;
		return TIDE_BAN_KNOWN;
	}
	new->since_ms = terms->now_ms;
	if (new->group != TIDE_BAN_MANUAL)
		new->until_ms =
		    terms->now_ms + sooner(terms->lasts_ms, terms->most_ms);
	if (old == NULL || old->until_ms <= terms->now_ms)
		return new->group == TIDE_SBSENDER ? TIDE_BAN_VOID
						   : TIDE_BAN_MADE;
	join(new, old, terms);
	return TIDE_BAN_LENGTHENED;
}

/* Each settling adds to the times while it stands, or begins anew. */
bool
tide_ban_is_newer(const struct tide_ban *a, const struct tide_ban *b)
{
	return a->since_ms != b->since_ms ? a->since_ms > b->since_ms
					  : a->times > b->times;
}
