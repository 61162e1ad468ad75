/*
 * facts - what is known while a verdict is reached.
 */
#include "charge.h"
#include "facts.h"
#include "session.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

struct tide_facts
facts_now(void)
{
	const struct tide_profile *p = session_profile();

	return (struct tide_facts){ .on_error = p->on_error,
		.ban_answer = p->ban_answer,
		.tokens_action = p->tokens_action,
		.bypassed = session.map != NULL &&
		    tide_map_bypassed(
			session.map, tide_map_now_ms(session.map)),
		.pulse_stale = session.map != NULL &&
		    tide_map_pulse_is_stale(
			session.map, session.config.pulse_stale) };
}

bool
facts_ban(struct tide_facts *f)
{
	struct tide_ban ban;
	uint64_t now;

	if (!charge_banned(&session.charge, &ban))
		return false;
	now = tide_map_now_ms(session.map);
	f->banned = true;
	f->banned_for_ms = ban.until_ms > now ? ban.until_ms - now : 0;
	return true;
}

void
facts_over(struct tide_facts *f, enum tide_group group)
{
	if (group >= TIDE_GROUPS)
		return;
	f->over = tide_group_name[group];
	f->put_off_ms = charge_put_off(&session.charge, group);
}

bool
facts_pass(const struct tide_verdict *v)
{
	return v->answer == TIDE_REPLY_ACCEPT || session.softened;
}
