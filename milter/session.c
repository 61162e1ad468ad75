/*
 * session - gather facts, remember, decide.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "content_memory.h"
#include "explain.h"
#include "headers.h"
#include "session.h"
#include "signing.h"
#include "tidemark/clock.h"
#include "tidemark/log.h"
#include "tidemark/window.h"

struct session session;

static void
count(enum tide_counter id, uint64_t by)
{
	if (session.map != NULL && by > 0)
		tide_count_profile(
		    session.map->counters, session.profile, id, by);
}

static const char *
or_dash(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : "-";
}

/*
 * For the log: no control characters, no spaces, so that what a sender writes
 * cannot make up a line or a key of its own.
 */
void
session_printable(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; from[i] != '\0' && i + 1 < size; i++) {
		unsigned char c = (unsigned char)from[i];

		to[i] = c <= ' ' || c == 0x7f ? '?' : (char)c;
	}
	to[i] = '\0';
}

/* ---- beginning and bracketing ------------------------------------------ */

void
session_begin(const struct tide_config *config, uint64_t generation,
    unsigned profile, struct tide_map *map, struct tide_slot *slot)
{
	session.config = *config;
	session.generation = generation;
	session.profile = profile;
	session.map = map;
	session.slot = slot;
}

void
session_enter(enum tide_stage stage)
{
	session.stage = stage;
	session.entered_ns = tide_clock_mono_ns();
	if (session.slot == NULL)
		return;
	atomic_store_explicit(&session.slot->touched_ms,
	    session.entered_ns / 1000000, memory_order_relaxed);
	atomic_store_explicit(
	    &session.slot->stage, stage, memory_order_relaxed);
	atomic_store_explicit(&session.slot->busy, 1, memory_order_relaxed);
}

void
session_trace(void)
{
	if (tide_log_wants(TIDE_LOG_DEBUG))
		tide_log(TIDE_LOG_DEBUG,
		    "stage=%s profile=%s daemon=%s qid=%s mono_ns=%llu",
		    tide_stage_name[session.stage],
		    session.config.profile[session.profile].name,
		    or_dash(session.daemon), or_dash(session.message.qid),
		    (unsigned long long)session.entered_ns);
}

static void
measure(void)
{
	uint64_t us = (tide_clock_mono_ns() - session.entered_ns) / 1000;

	if (session.map != NULL && session.stage != TIDE_STAGE_NONE)
		tide_latency_add(&session.map->latency
				      ->at[session.profile][session.stage - 1],
		    us);
}

void
session_leave(void)
{
	measure();
	if (session.slot != NULL)
		atomic_store_explicit(
		    &session.slot->busy, 0, memory_order_relaxed);
}

/* ---- connection -------------------------------------------------------- */

/* Where two daemons share a socket, the daemon's name chooses the profile. */
static void
choose_profile(const char *daemon_name)
{
	unsigned i;

	for (i = 0; i < session.config.profiles; i++) {
		if (!tide_config_has_word(
			session.config.profile[i].daemons, daemon_name))
			continue;
		session.profile = i;
		if (session.slot != NULL)
			atomic_store_explicit(
			    &session.slot->profile, i, memory_order_relaxed);
		return;
	}
}

static void
show_client(const char *address)
{
	struct in6_addr in = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	uint64_t words[2];

	if (session.slot == NULL ||
	    (inet_pton(AF_INET, address, &in.s6_addr[12]) != 1 &&
		inet_pton(AF_INET6, address, &in) != 1))
		return;
	memcpy(words, &in, sizeof words);
	atomic_store(&session.slot->client[0], words[0]);
	atomic_store(&session.slot->client[1], words[1]);
}

void
session_connected(const char *client_address, const char *daemon_name)
{
	session_printable(
	    session.client, sizeof session.client, or_dash(client_address));
	session_printable(
	    session.daemon, sizeof session.daemon, or_dash(daemon_name));
	choose_profile(session.daemon);
	explain_begin();
	count(TIDE_COUNT_CONNECTIONS, 1);
	charge_client(&session.charge, session.client);
	show_client(session.client);
}

void
session_end(void)
{
	session_abort();
	if (session.slot != NULL)
		atomic_store(&session.slot->finished, 1);
}

/* ---- message ----------------------------------------------------------- */

void
session_forget(void)
{
	struct tide_hash *to = session.message.to;
	size_t room = session.message.room;

	memset(&session.message, 0, sizeof session.message);
	session.message.to = to; /* the array serves the next message, too */
	session.message.room = room;
	memset(&session.allowance, 0, sizeof session.allowance);
	session.in_message = false;
}

void
session_keep(void)
{
	allowance_keep(&session.allowance);
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

void
session_bad_recipients(const char *bad)
{
	if (bad != NULL)
		session.message.bad = (uint32_t)strtoul(bad, NULL, 10);
}

void
session_qid(const char *qid)
{
	if (qid != NULL)
		session_printable(
		    session.message.qid, sizeof session.message.qid, qid);
}

void
session_mail(const char *sender, const char *auth, uint64_t bytes)
{
	struct message *m = &session.message;

	session_abort();
	session_follow();
	session.bystander =
	    session.config.profile[session.profile].charged_by != session.by;
	session.in_message = true;
	m->began_ns = tide_clock_mono_ns();
	session_printable(m->sender, sizeof m->sender, sender);
	session_printable(m->auth, sizeof m->auth, or_dash(auth));
	if (session.map == NULL)
		return;
	m->froms = tide_address_hashes(
	    &session.map->control->head.key, sender, m->from);
	charge_sender(&session.charge, sender, auth);
	reputation_sender(&m->repute, sender);
	allowance_begin(&session.allowance, &session.charge, sender, auth);
	allowance_size(&session.allowance, bytes);
	content_begin();
}

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
	m->tos += tide_address_hashes(
	    &session.map->control->head.key, address, m->to + m->tos);
}

/* What we know at any point of a message. */
static struct tide_facts
facts_now(void)
{
	const struct tide_profile *p = &session.config.profile[session.profile];

	return (struct tide_facts){ .on_error = p->on_error,
		.ban_answer = p->ban_answer,
		.tokens_action = p->tokens_action,
		.bypassed = session.map != NULL &&
		    tide_map_bypassed(session.map, tide_clock_wall_ms()),
		.pulse_stale = session.map != NULL &&
		    tide_map_pulse_is_stale(
			session.map, session.config.pulse_stale) };
}

/* Is there a ban?  Then it is a fact. */
static bool
note_ban(struct tide_facts *f)
{
	uint64_t now = tide_clock_wall_ms();
	struct tide_ban ban;

	if (!charge_banned(&session.charge, &ban))
		return false;
	f->banned = true;
	f->banned_for_ms = ban.until_ms > now ? ban.until_ms - now : 0;
	return true;
}

/* A recipient that the mail server would take: do we? */
static struct tide_verdict
judge_recipient(const char *address)
{
	struct tide_facts f = facts_now();
	bool open = charge_always_open(address);

	session.message.open += open;
	if (f.bypassed)
		return tide_verdict_recipient(&f);
	if (!open)
		f.found = session.message.repute.address;
	if (!open && note_ban(&f)) {
		(void)charge_group(&session.charge, TIDE_SBSENDER, 1);
		count(TIDE_COUNT_RECIPIENTS_BANNED, 1);
	} else if (tide_verdict_is_refused(&f)) {
		count(TIDE_COUNT_RECIPIENTS_LISTED, 1);
	} else if (charge_protected(&session.charge, address)) {
		f.protected_to = true;
		(void)charge_group(&session.charge, TIDE_RBSENDER, 1);
		count(TIDE_COUNT_RECIPIENTS_PROTECTED, 1);
	} else if (!f.bypassed) {
		f.shortage = allowance_recipient(&session.allowance, address);
	}
	return tide_verdict_recipient(&f);
}

static bool
passes(const struct tide_verdict *v)
{
	return v->answer == TIDE_REPLY_ACCEPT || session.softened;
}

struct tide_verdict
session_recipient(const char *address, enum recipient_fate fate)
{
	struct message *m = &session.message;
	struct tide_verdict v = { .answer = TIDE_REPLY_ACCEPT };

	switch (fate) {
	case RECIPIENT_ACCEPTED:
		v = judge_recipient(address);
		if (passes(&v)) {
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

bool
session_wants_headers(void)
{
	unsigned i;

	session_follow();
	for (i = 0; i < session.config.profiles; i++)
		if (session.config.profile[i].content_blocked_header[0] != '\0')
			return true;
	return false;
}

void
session_header(const char *name, const char *value)
{
	const char *rules =
	    session.config.profile[session.profile].content_blocked_header;

	if (header_matches(rules, name, value))
		session.message.blocked = true;
}

void
session_abort(void)
{
	if (session.in_message) {
		count(TIDE_COUNT_ABORTED, 1);
		count(TIDE_COUNT_RECIPIENTS_UNKNOWN, session.message.unknown);
		count(TIDE_COUNT_RECIPIENTS_REFUSED, session.message.refused);
	}
	allowance_give_back(&session.allowance, UINT32_MAX);
	content_abort();
	session_forget();
}

/* ---- the end of the message -------------------------------------------- */

/*
 * True if every trace of the message is in the map.  What we refuse leaves
 * none, unless the profile wants it.
 */
static bool
remember(const struct message *m, const struct tide_harvest *text,
    unsigned profile, const struct tide_verdict *v)
{
	const struct tide_profile *p = &session.config.profile[session.profile];
	const struct tide_traces traces = { .sender = m->from,
		.senders = m->froms,
		.recipient = m->to,
		.recipients = m->tos,
		.text = text,
		.profile = profile,
		.cut = m->cut != 0,
		.wire = m->wire };

	if (!passes(v) && p->remember_refused == 0)
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
		count(TIDE_COUNT_MESSAGES, 1);
		count(passes(v) ? TIDE_COUNT_ACCEPTED : TIDE_COUNT_REFUSED, 1);
		count(TIDE_COUNT_RECIPIENTS, m->accepted);
	}
	count(TIDE_COUNT_RECIPIENTS_UNKNOWN, m->unknown);
	count(TIDE_COUNT_RECIPIENTS_REFUSED, m->refused);
	count(TIDE_COUNT_RECIPIENTS_FORGOTTEN, m->forgotten);
	count(TIDE_COUNT_CONTENT_BLOCKED, m->blocked);
	count(TIDE_COUNT_MESSAGES_CUT, m->cut != 0);
	count(TIDE_COUNT_BYPASSED, f->bypassed);
	count(TIDE_COUNT_FAILED_OPEN, !f->map_usable);
	count(TIDE_COUNT_MESSAGES_TOO_FAST,
	    f->over != NULL && v->answer != TIDE_REPLY_ACCEPT);
	count(TIDE_COUNT_PULSE_STALE, f->over != NULL && f->pulse_stale);
	if (session.slot != NULL)
		atomic_fetch_add(&session.slot->messages, 1);
}

/*
 * A message about to be accepted is a drop for its sender and its client.
 * What one of them gets refused for is none for the other.  The group that
 * has overflowed, or NULL.
 */
static const char *
charge_accepted(const struct charge *c)
{
	bool full = charge_is_full(c, TIDE_OKIP);

	if (full && charge_group(c, TIDE_OKIP, 1))
		return tide_group_name[TIDE_OKIP];
	if (charge_group(c, TIDE_OKSENDER, 1))
		return tide_group_name[TIDE_OKSENDER];
	if (!full && charge_group(c, TIDE_OKIP, 1))
		return tide_group_name[TIDE_OKIP];
	return NULL;
}

/* A blocked one is a drop for both, whatever becomes of it. */
static const char *
charge_blocked(const struct charge *c)
{
	bool sender = charge_group(c, TIDE_CBSENDER, 1);
	bool client = charge_group(c, TIDE_CBIP, 1);

	return sender ? tide_group_name[TIDE_CBSENDER]
	    : client  ? tide_group_name[TIDE_CBIP]
		      : NULL;
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
 * What is known of the message's content and sender.  A finding that blocks,
 * or refuses for good, makes it one blocked for its content.
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
	if (m->bulk.found.reason != NULL &&
	    (m->bulk.found.action == TIDE_ACTION_BLOCK ||
		m->bulk.found.action == TIDE_ACTION_REJECT))
		m->blocked = true;
}

/* The group that has overflowed, or NULL.  What is put off pays nothing. */
static const char *
charge_message(const struct message *m, const struct tide_facts *f)
{
	if (m->blocked)
		return charge_blocked(&session.charge);
	return tide_verdict_is_refused(f) ? NULL
					  : charge_accepted(&session.charge);
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
	if (m->accepted <= m->open || !note_ban(&f))
		f.over = charge_message(m, &f);
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
	if (!passes(&v))
		allowance_give_back(&session.allowance, UINT32_MAX);
	else if (f.found.reason != NULL)
		tag(m);
	explain_message(&v);
	session_forget();
	return v;
}
