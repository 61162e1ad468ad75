/*
 * explain - log line, ring, reply.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allowance.h"
#include "bulk.h"
#include "charge.h"
#include "explain.h"
#include "reputation.h"
#include "session.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"
#include "tidemark/text/text.h"

_Static_assert((int)TIDE_REPLY_ACCEPT == TIDE_DECIDED_ACCEPT &&
	(int)TIDE_REPLY_TEMPFAIL == TIDE_DECIDED_TEMPFAIL &&
	(int)TIDE_REPLY_REJECT == TIDE_DECIDED_REJECT,
    "an answer is written into the ring as it is");

void
explain_begin(void)
{
	struct timespec t;
	uint32_t slot = (uint32_t)getpid();

	if (session.map != NULL && session.slot != NULL)
		slot = (uint32_t)(session.slot - session.map->slots);
	(void)clock_gettime(CLOCK_REALTIME, &t);
	tide_session_id(
	    (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000, slot,
	    session.id);
}

/* ---- the ring ---------------------------------------------------------- */

static bool
is_charged(enum tide_group g)
{
	const struct tide_profile *p = session_profile();

	return !session.charge.exempt && p->group[g].mode != TIDE_MODE_OFF;
}

/* Whom a message that came to its end was charged to, if anybody. */
static enum tide_group
payer(void)
{
	static const enum tide_group order[] = { TIDE_CBSENDER, TIDE_CBIP,
		TIDE_OKSENDER };
	size_t i;

	for (i = session.message.blocked ? 0 : 2;
	     i < sizeof order / sizeof *order; i++)
		if (is_charged(order[i]) &&
		    (session.charge.has_sender || order[i] == TIDE_CBIP))
			return order[i];
	return TIDE_OKIP;
}

/* Which group paid: the one that overflowed, or the first that was charged. */
static uint8_t
group_of(const struct tide_verdict *v, enum tide_stage stage)
{
	enum tide_group g;
	unsigned i;

	for (i = 0; i < TIDE_GROUPS; i++)
		if (strcmp(v->reason, tide_group_name[i]) == 0)
			return (uint8_t)i;
	if (strcmp(v->reason, "listed") == 0 ||
	    (strcmp(v->reason, "bulk") == 0 && v->answer != TIDE_REPLY_ACCEPT))
		return TIDE_DECISION_NO_GROUP;
	if (strcmp(v->reason, "spam") == 0)
		return is_charged(TIDE_CBSENDER) ? TIDE_CBSENDER
						 : TIDE_DECISION_NO_GROUP;
	if (stage != TIDE_STAGE_EOM)
		g = strcmp(v->reason, "banned") == 0 ? TIDE_SBSENDER
						     : TIDE_RBSENDER;
	else
		g = payer();
	return is_charged(g) ? (uint8_t)g : TIDE_DECISION_NO_GROUP;
}

static void
put(const struct tide_verdict *v, enum tide_stage stage)
{
	const struct charge *c = &session.charge;
	struct tide_decision d;
	struct tide_key client;

	if (session.map == NULL)
		return;
	memset(&d, 0, sizeof d);
	d.wall_ms = tide_clock_wall_ms();
	d.profile = (uint8_t)session.profile;
	d.stage = (uint8_t)stage;
	d.verdict = (uint8_t)v->answer;
	d.group = group_of(v, stage);
	d.recipients = session.message.accepted;
	(void)snprintf(d.session, sizeof d.session, "%s", session.id);
	(void)snprintf(d.qid, sizeof d.qid, "%.31s", session.message.qid);
	(void)snprintf(d.reason, sizeof d.reason, "%.15s", v->reason);
	tide_key_client(c->has_client ? &c->ip : NULL, 128, &client);
	(void)snprintf(d.client, sizeof d.client, "%.47s", client.text);
	(void)snprintf(d.sender, sizeof d.sender, "%s",
	    c->has_sender ? c->sender.text : "<>");
	(void)tide_ring_put(session.map->ring, &d);
}

/* ---- the reply --------------------------------------------------------- */

static void
sign(struct tide_verdict *v)
{
	size_t n = strnlen(v->text, sizeof v->text);

	if (v->answer != TIDE_REPLY_ACCEPT)
		(void)snprintf(
		    v->text + n, sizeof v->text - n, " [%s]", session.id);
}

/* ---- what the session calls -------------------------------------------- */

void
explain_sender(struct tide_verdict *v)
{
	const struct message *m = &session.message;

	tide_log(TIDE_LOG_INFO,
	    "%s: stage=mail profile=%s session=%s daemon=%s client=%s "
	    "auth=%s from=%s verdict=%s reason=%s",
	    session_or_dash(m->qid), session_profile()->name, session.id,
	    session.daemon, session.client, m->auth, m->sender,
	    tide_verdict_name(v->answer), v->reason);
	put(v, TIDE_STAGE_MAIL);
	sign(v);
}

void
explain_recipient(struct tide_verdict *v, const char *address)
{
	const struct message *m = &session.message;
	char to[256], left[32], listed[192];

	session_printable(to, sizeof to, address);
	tide_log(TIDE_LOG_INFO,
	    "%s: stage=rcpt profile=%s session=%s daemon=%s client=%s "
	    "auth=%s from=%s to=%s verdict=%s reason=%s%s%s%s",
	    session_or_dash(m->qid), session_profile()->name, session.id,
	    session.daemon, session.client, m->auth, m->sender, to,
	    tide_verdict_name(v->answer), v->reason,
	    allowance_show(&session.allowance, left, sizeof left),
	    reputation_show(&m->repute, listed, sizeof listed),
	    session.softened ? " softened=yes" : "");
	put(v, TIDE_STAGE_RCPT);
	sign(v);
}

/* What few messages have. */
static void
show_rare(const struct tide_verdict *v, char *out, size_t size)
{
	int n = 0;

	out[0] = '\0';
	if (session.message.bad > 0)
		n = snprintf(out, size, " nbadrcpts=%u", session.message.bad);
	if (session.softened && v->answer != TIDE_REPLY_ACCEPT)
		(void)snprintf(out + n, size - (size_t)n, " softened=yes");
}

void
explain_message(struct tide_verdict *v)
{
	const struct message *m = &session.message;
	double ms = (double)(tide_clock_mono_ns() - m->began_ns) / 1e6;
	char left[32], bad[48], cut[TIDE_CUT_MAX], listed[192], bulk[24];

	show_rare(v, bad, sizeof bad);
	/* one line a message has "profile=" first: tidemark replay counts it */
	tide_log(TIDE_LOG_INFO,
	    "%s: %sprofile=%s session=%s daemon=%s client=%s auth=%s from=%s "
	    "rcpts=%u unknown=%u refused=%u banned=%u verdict=%s reason=%s%s "
	    "ms=%.1f%s%s%s%s%s%s%s",
	    session_or_dash(m->qid), session.bystander ? "stage=eom " : "",
	    session_profile()->name, session.id, session.daemon, session.client,
	    m->auth, m->sender, m->accepted, m->unknown, m->refused,
	    m->held_off - session.allowance.refused,
	    tide_verdict_name(v->answer), v->reason,
	    allowance_show(&session.allowance, left, sizeof left), ms, bad,
	    m->blocked	     ? " content=blocked"
		: m->flagged ? " content=flagged"
			     : "",
	    m->forgotten > 0 ? " forgotten=some" : "",
	    m->cut != 0 ? " cut=" : "", tide_text_cut_show(m->cut, cut),
	    reputation_show(&m->repute, listed, sizeof listed),
	    bulk_show(&m->bulk, bulk, sizeof bulk));
	if (!session.bystander || v->answer != TIDE_REPLY_ACCEPT)
		put(v, TIDE_STAGE_EOM);
	sign(v);
}
