/*
 * decision - one record, shown.  What a sender wrote was made printable when
 * its key was made; a damaged record is made so here.
 */
#include <stdio.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "decision.h"
#include "tidemark/base/printable.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"

const char *
profile_name(const struct view *v, unsigned profile)
{
	return profile < v->config.profiles ? v->config.profile[profile].name
					    : "?";
}

const char *
group_name(unsigned group)
{
	return group < TIDE_GROUPS ? tide_group_name[group] : "-";
}

static const char *
stage_name(unsigned stage)
{
	return stage < TIDE_STAGES ? tide_stage_name[stage] : "?";
}

static const char *
verdict_name(unsigned verdict)
{
	return verdict < TIDE_DECIDEDS ? tide_decided_name[verdict] : "?";
}

static const char *
or_dash(const char *text)
{
	return text[0] != '\0' ? text : "-";
}

const char *
decision_show(
    const struct view *v, const struct tide_decision *d, char *buf, size_t size)
{
	char when[SHOW_MAX];

	(void)snprintf(buf, size,
	    "%s %s %s: profile=%s stage=%s client=%s sender=%s rcpts=%u "
	    "verdict=%s reason=%s group=%s",
	    show_moment(d->wall_ms, when, sizeof when), or_dash(d->session),
	    or_dash(d->qid), profile_name(v, d->profile), stage_name(d->stage),
	    or_dash(d->client), or_dash(d->sender), d->recipients,
	    verdict_name(d->verdict), or_dash(d->reason), group_name(d->group));
	tide_printable_disarm(buf);
	return buf;
}

void
decision_json(
    struct json *j, const struct view *v, const struct tide_decision *d)
{
	json_time(j, "time", d->wall_ms);
	json_text(j, "session", d->session);
	json_text(j, "queue_id", d->qid);
	json_text(j, "profile", profile_name(v, d->profile));
	json_text(j, "stage", stage_name(d->stage));
	json_text(j, "client", d->client);
	json_text(j, "sender", d->sender);
	json_number(j, "recipients", d->recipients);
	json_text(j, "verdict", verdict_name(d->verdict));
	json_text(j, "reason", d->reason);
	json_text(j, "group", group_name(d->group));
}
