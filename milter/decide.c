/*
 * decide - the end of a message: charge, decide, remember.
 */
#include <stddef.h>

#include "allowance.h"
#include "bulk.h"
#include "charge.h"
#include "content.h"
#include "content_memory.h"
#include "explain.h"
#include "facts.h"
#include "reputation.h"
#include "session.h"
#include "signing.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"
#include "tidemark/text/text.h"

/*
 * True if every trace of the message is in the map.  What we refuse leaves
 * none, unless the profile wants it.
 */
static bool
remember(const struct message *m, const struct tide_harvest *text,
    unsigned profile, const struct tide_verdict *v)
{
	const struct tide_profile *p = session_profile();
	const struct tide_traces traces = { .sender = m->from,
		.senders = m->froms,
		.recipient = m->to,
		.recipients = m->tos,
		.text = text,
		.profile = profile,
		.cut = m->cut != 0,
		.wire = m->wire };

	if (!facts_pass(v) && p->remember_refused == 0)
		return true;
	return session.map != NULL && session.slot != NULL &&
	    tide_window_remember(session.map, session.slot, &traces);
}

/* The time of this connection is not wholly covered: the acceptor says so. */
static void
note_lapse(void)
{
	if (session.slot != NULL)
		atomic_store(&session.slot->lapsed, 1);
}

static void
count_message(const struct message *m, const struct tide_verdict *v,
    const struct tide_facts *f)
{
	if (!session.bystander) { /* the other one counts it */
		session_count(TIDE_COUNT_MESSAGES, 1);
		session_count(
		    facts_pass(v) ? TIDE_COUNT_ACCEPTED : TIDE_COUNT_REFUSED,
		    1);
		session_count(TIDE_COUNT_RECIPIENTS, m->accepted);
	}
	session_count(TIDE_COUNT_RECIPIENTS_UNKNOWN, m->unknown);
	session_count(TIDE_COUNT_RECIPIENTS_REFUSED, m->refused);
	session_count(TIDE_COUNT_RECIPIENTS_FORGOTTEN, m->forgotten);
	session_count(TIDE_COUNT_CONTENT_BLOCKED, m->blocked);
	session_count(TIDE_COUNT_CONTENT_FLAGGED, m->flagged && !m->blocked);
	session_count(TIDE_COUNT_MESSAGES_CUT, m->cut != 0);
	session_count(TIDE_COUNT_BYPASSED, f->bypassed);
	session_count(TIDE_COUNT_FAILED_OPEN, !f->map_usable);
	session_count(TIDE_COUNT_MESSAGES_TOO_FAST,
	    f->over != NULL && f->put_off_ms == 0 &&
		v->answer != TIDE_REPLY_ACCEPT);
	session_count(
	    TIDE_COUNT_DEFERRED, f->put_off_ms > 0 && v->reason == f->over);
	session_count(
	    TIDE_COUNT_PULSE_STALE, f->over != NULL && f->pulse_stale);
	if (session.slot != NULL)
		atomic_fetch_add(&session.slot->messages, 1);
}

/*
 * A message about to be accepted is a drop for its sender and its client.
 * What one of them gets refused for is none for the other.  The group that
 * has overflowed, or TIDE_GROUPS.
 */
static enum tide_group
charge_accepted(const struct charge *c)
{
	bool full = charge_is_full(c, TIDE_OKIP);

	if (full && charge_group(c, TIDE_OKIP, 1))
		return TIDE_OKIP;
	if (charge_group(c, TIDE_OKSENDER, 1))
		return TIDE_OKSENDER;
	if (!full && charge_group(c, TIDE_OKIP, 1))
		return TIDE_OKIP;
	return TIDE_GROUPS;
}

/* A blocked one is a drop for both groups, whatever becomes of it. */
static enum tide_group
charge_blocked(const struct charge *c)
{
	bool sender = charge_group(c, TIDE_CBSENDER, 1);
	bool client = charge_group(c, TIDE_CBIP, 1);

	return sender ? TIDE_CBSENDER : client ? TIDE_CBIP : TIDE_GROUPS;
}

/* The end of the content: what was gathered of it, NULL if it is not read. */
static const struct tide_harvest *
end_content(struct message *m, struct tide_harvest *h, unsigned *profile)
{
	m->cut = content_end();
	if (!content_memory_harvest(h, profile))
		return NULL;
	if (h->cut)
		m->cut |= TIDE_CUT_BLOCKS;
	return h;
}

/*
 * What is known of the message's content and sender.  A finding of reputation
 * that blocks, or refuses for good, makes it one blocked for its content.
 * Copies do not: others may have sent the first twenty, so that nobody but the
 * text itself has anything to answer for.
 */
static void
find(struct message *m, struct tide_facts *f)
{
	const struct tide_signatures *signatures = signing_result();

	if (m->accepted <= m->open || f->bypassed)
		return;
	reputation_content(&m->repute, signatures, m->sender);
	bulk_count(&m->bulk, signatures, m->accepted, m->sender);
	f->found =
	    tide_verdict_weightier(reputation_found(&m->repute), m->bulk.found);
	m->blocked |= reputation_blocks(&m->repute);
}

/*
 * The group that has overflowed, or TIDE_GROUPS.  What is put off pays nothing; what
 * passes is a drop for the OK groups, blocked or not: no header buys a way
 * round them.
 */
static enum tide_group
charge_message(const struct message *m, const struct tide_facts *f)
{
	enum tide_group over =
	    m->blocked ? charge_blocked(&session.charge) : TIDE_GROUPS;

	if (over != TIDE_GROUPS || tide_verdict_is_refused(f))
		return over;
	return charge_accepted(&session.charge);
}

/* What is for postmaster and abuse alone is charged, but never put off. */
static void
charge_and_note(const struct message *m, struct tide_facts *f)
{
	enum tide_group over = charge_message(m, f);

	if (m->accepted > m->open || charge_put_off(&session.charge, over) == 0)
		facts_over(f, over);
}

static void
tag(const struct message *m)
{
	reputation_tag(&m->repute);
	bulk_tag(&m->bulk);
}

/*
 * In this order: charge, decide, remember.  What cannot be remembered is
 * answered by on_error.
 */
struct tide_verdict
session_decide(void)
{
	struct message *m = &session.message;
	struct tide_facts f = facts_now();
	struct tide_harvest harvest;
	unsigned profile = 0;
	const struct tide_harvest *text = end_content(m, &harvest, &profile);
	struct tide_verdict v;

	find(m, &f);
	/* a ban may have come since RCPT, and the bucket been emptied for it */
	if (m->accepted <= m->open || !facts_ban(&f))
		charge_and_note(m, &f);
	f.map_usable = session.map != NULL && session.slot != NULL;
	v = tide_verdict_message(&f);
	if (f.map_usable && !remember(m, text, profile, &v)) {
		f.map_usable = false;
		if (v.answer == TIDE_REPLY_ACCEPT)
			v = tide_verdict_message(&f);
	}
	if (!f.map_usable || m->forgotten > 0)
		note_lapse();
	count_message(m, &v, &f);
	if (!facts_pass(&v))
		allowance_give_back(&session.allowance, UINT32_MAX);
	else if (f.found.reason != NULL)
		tag(m);
	explain_message(&v);
	session_forget();
	return v;
}
