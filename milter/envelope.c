/*
 * envelope - the facts of a message as they come in, and each recipient's fate.
 */
#include <stdlib.h>
#include <string.h>

#include "allowance.h"
#include "charge.h"
#include "content.h"
#include "explain.h"
#include "facts.h"
#include "headers.h"
#include "reputation.h"
#include "session.h"
#include "signing.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/keys/address.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

/* ---- the message begins -------------------------------------------------- */

void
session_mail(const char *sender, const char *auth, uint64_t bytes)
{
	struct message *m = &session.message;

	session_abort();
	session_follow();
	session.bystander = session_profile()->charged_by != session.by;
	session.in_message = true;
	m->began_ns = tide_clock_mono_ns();
	session_printable(m->sender, sizeof m->sender, sender);
	session_printable(m->auth, sizeof m->auth, session_or_dash(auth));
	if (session.map == NULL)
		return;
	m->froms = tide_address_hashes(session.map->key, sender, m->from);
	charge_sender(&session.charge, sender, auth);
	reputation_sender(&m->repute, sender);
	allowance_begin(&session.allowance, &session.charge, sender, auth);
	allowance_size(&session.allowance, bytes);
	content_begin();
}

struct tide_verdict
session_judge_sender(void)
{
	struct tide_facts f = facts_now();
	struct tide_verdict v = { .answer = TIDE_REPLY_ACCEPT, .reason = "-" };

	if (session_profile()->ban_at != TIDE_BAN_AT_MAIL || f.bypassed ||
	    !facts_ban(&f))
		return v;
	f.at_mail = true;
	(void)charge_group(&session.charge, TIDE_SBSENDER, 1);
	session_count(TIDE_COUNT_SENDERS_BANNED, 1);
	v = tide_verdict_recipient(&f);
	explain_sender(&v);
	content_abort();
	session_forget(); /* nobody is told that it was given up */
	return v;
}

void
session_qid(const char *qid)
{
	if (qid != NULL)
		session_printable(
		    session.message.qid, sizeof session.message.qid, qid);
}

/* ---- recipients ---------------------------------------------------------- */

/* Room for two more hashes; false past the most we remember. */
static bool
make_room(struct message *m)
{
	size_t room = m->room == 0 ? 64 : m->room * 2;
	struct tide_hash *to;

	if (m->tos + 2 <= m->room)
		return true;
	if (m->tos + 2 > 2 * (size_t)RECIPIENTS_MOST)
		return false;
	to = realloc(m->to, room * sizeof *to);
	if (to == NULL)
		return false;
	m->to = to;
	m->room = room;
	return true;
}

static void
keep_recipient(struct message *m, const char *address)
{
	m->accepted++;
	if (session.map == NULL)
		return;
	if (!make_room(m)) {
		m->forgotten++;
		return;
	}
	m->tos +=
	    tide_address_hashes(session.map->key, address, m->to + m->tos);
}

/* Full, and shared: told before anything is taken for the recipient. */
static bool
is_put_off(struct tide_facts *f)
{
	if (f->pulse_stale)
		return false;
	facts_over(f, charge_full(&session.charge));
	return f->over != NULL;
}

/* A recipient that the mail server would take: do we? */
static struct tide_verdict
judge_recipient(const char *address, bool open)
{
	struct tide_facts f = facts_now();

	if (f.bypassed)
		return tide_verdict_recipient(&f);
	if (!open)
		f.found = session.message.repute.address;
	if (!open && facts_ban(&f)) {
		(void)charge_group(&session.charge, TIDE_SBSENDER, 1);
		session_count(TIDE_COUNT_RECIPIENTS_BANNED, 1);
	} else if (tide_verdict_is_refused(&f)) {
		session_count(TIDE_COUNT_RECIPIENTS_LISTED, 1);
	} else if (!open && is_put_off(&f)) {
		session_count(TIDE_COUNT_DEFERRED, 1);
	} else if (charge_protected(&session.charge, address)) {
		f.protected_to = true;
		(void)charge_group(&session.charge, TIDE_RBSENDER, 1);
		session_count(TIDE_COUNT_RECIPIENTS_PROTECTED, 1);
	} else if (!f.bypassed) {
		f.shortage = allowance_recipient(&session.allowance, address);
	}
	return tide_verdict_recipient(&f);
}

struct tide_verdict
session_recipient(const char *address, enum recipient_fate fate)
{
	struct message *m = &session.message;
	struct tide_verdict v = { .answer = TIDE_REPLY_ACCEPT };
	bool open = charge_always_open(address);

	switch (fate) {
	case RECIPIENT_ACCEPTED:
		v = judge_recipient(address, open);
		if (facts_pass(&v)) {
			m->open += open; /* held against accepted */
			keep_recipient(m, address);
			signing_recipient(address);
		}
		if (v.answer != TIDE_REPLY_ACCEPT) {
			m->held_off++;
			explain_recipient(&v, address);
		}
		break;
	case RECIPIENT_UNKNOWN: /* guessing is charged at once */
		m->unknown++;
		(void)charge_group(&session.charge, TIDE_UNSENDER, 1);
		(void)charge_group(&session.charge, TIDE_UNIP, 1);
		break;
	case RECIPIENT_REFUSED:
		m->refused++;
		break;
	}
	return v;
}

void
session_bad_recipients(const char *bad)
{
	if (bad != NULL)
		session.message.bad = (uint32_t)strtoul(bad, NULL, 10);
}

void
session_standing(uint32_t recipients, uint32_t repeats)
{
	struct message *m = &session.message;

	if (recipients == 0)
		return;
	if (recipients < m->accepted) {
		allowance_give_back(
		    &session.allowance, m->accepted - recipients);
		m->accepted = recipients;
	} else if (recipients - m->accepted > repeats) {
		m->forgotten += recipients - m->accepted;
		m->accepted = recipients;
	}
}

/* ---- headers ------------------------------------------------------------- */

void
session_header(const char *name, const char *value)
{
	const struct tide_profile *p = session_profile();

	if (!header_matches(p->content_blocked_header, name, value))
		return;
	session.message.flagged = true;
	if (header_has_mark(p->content_blocked_mark, value))
		session.message.blocked = true;
}

/* ---- an end without a verdict -------------------------------------------- */

void
session_keep(void)
{
	allowance_keep(&session.allowance);
}

void
session_forget(void)
{
	struct tide_hash *to = session.message.to;
	size_t room = session.message.room;

	memset(&session.message, 0, sizeof session.message);
	session.message.to = to; /* the array serves the next message, too */
	session.message.room = room;
	allowance_clear(&session.allowance);
	session.in_message = false;
}

void
session_abort(void)
{
	if (session.in_message) {
		session_count(TIDE_COUNT_ABORTED, 1);
		session_count(
		    TIDE_COUNT_RECIPIENTS_UNKNOWN, session.message.unknown);
		session_count(
		    TIDE_COUNT_RECIPIENTS_REFUSED, session.message.refused);
	}
	allowance_give_back(&session.allowance, UINT32_MAX);
	content_abort();
	session_forget();
}
