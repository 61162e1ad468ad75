/*
 * bulk - count copies, hold them against the threshold.
 */
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "charge.h"
#include "reputation.h"
#include "session.h"
#include "tags.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

/* One signature; of several, the one seen most often counts. */
static void
count_one(struct bulk *b, struct tide_hash hash, uint32_t copies)
{
	uint32_t slot = (uint32_t)(session.slot - session.map->slots);
	struct tide_bulk_count c;

	if (!tide_bulk_insert(session.map->bulk, &session.slot->epoch,
		&session.map->control->epoch, slot, hash, copies, &c))
		return;
	if (!b->counted || tide_bulk_total(&c) > tide_bulk_total(&b->count))
		b->count = c;
	b->counted = true;
}

/* The text; where there is none to speak of, each attachment. */
static void
count_all(struct bulk *b, const struct tide_signatures *s, uint32_t copies)
{
	size_t i;

	if (s->has_text)
		count_one(b, s->text, copies);
	else
		for (i = 0; i < s->files; i++)
			count_one(b, s->file[i], copies);
}

/* While nobody turns the generations, no count is held against anybody. */
static void
judge(struct bulk *b, const char *sender)
{
	if (tide_bulk_total(&b->count) < session_profile()->bulk_threshold ||
	    session.charge.exempt)
		return;
	if (reputation_excepts(sender)) {
		session_count(TIDE_COUNT_BULK_EXCEPTED, 1);
		return;
	}
	session_count(TIDE_COUNT_BULK_MET, 1);
	if (session_profile()->bulk_mode == TIDE_MODE_ENFORCE &&
	    !tide_map_pulse_is_stale(session.map, session.config.pulse_stale))
		b->found = (struct tide_finding){ .reason = "bulk",
			.action = session_profile()->bulk_action };
}

void
bulk_count(struct bulk *b, const struct tide_signatures *s, uint32_t recipients,
    const char *sender)
{
	uint32_t copies =
	    session_profile()->bulk_counts == TIDE_BULK_RECIPIENT &&
		recipients > 1
	    ? recipients
	    : 1;

	memset(b, 0, sizeof *b);
	if (s == NULL || session.map == NULL || session.slot == NULL ||
	    session_profile()->bulk_mode == TIDE_MODE_OFF)
		return;
	count_all(b, s, copies);
	if (b->counted) {
		session_count(TIDE_COUNT_BULK_COPIES, copies);
		judge(b, sender);
	} else {
		session_count(TIDE_COUNT_BULK_UNSIGNED, 1);
	}
}

void
bulk_tag(const struct bulk *b)
{
	char text[TIDE_BULK_TEXT];

	if (b->found.reason != NULL)
		tags_set("Bulk", tide_bulk_show(&b->count, text));
}

const char *
bulk_show(const struct bulk *b, char *buf, size_t size)
{
	char text[TIDE_BULK_TEXT];

	buf[0] = '\0';
	if (b->counted)
		(void)snprintf(
		    buf, size, " bulk=%s", tide_bulk_show(&b->count, text));
	return buf;
}
