/*
 * reputation - the list of spam addresses, reported spam, and the exceptions.
 */
#include <stdio.h>
#include <string.h>

#include "charge.h"
#include "reputation.h"
#include "session.h"
#include "tags.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static struct tide_exceptions exceptions;

/* ---- exceptions -------------------------------------------------------- */

/* A new list, if there is one; what cannot be read is asked for again. */
static void
follow_exceptions(void)
{
	uint64_t now = atomic_load_explicit(
	    &session.map->addresses->head->exceptions, memory_order_acquire);
	struct tide_err err;

	if (now == exceptions.generation)
		return;
	if (tide_exceptions_attach(
		&exceptions, session.config.runtime_dir, &err) == 0)
		exceptions.generation = now;
	else
		tide_log(TIDE_LOG_WARNING, "%s", err.text);
}

static bool
is_excepted(const struct tide_sender_forms *forms)
{
	follow_exceptions();
	return tide_exceptions_for(&exceptions, forms) != NULL;
}

bool
reputation_excepts(const char *sender)
{
	struct tide_sender_forms forms;

	if (session.map == NULL)
		return false;
	tide_sender_forms(session.map->key, sender, &forms);
	return is_excepted(&forms);
}

/* ---- the sender -------------------------------------------------------- */

static void
note_listed(struct repute *r, const struct tide_key *as)
{
	r->listed = true;
	(void)snprintf(r->listed_as, sizeof r->listed_as, "%s", as->text);
	session_count(TIDE_COUNT_ADDRESSES_LISTED, 1);
	if (session_profile()->addresses_mode == TIDE_MODE_ENFORCE)
		r->address = (struct tide_finding){ .reason = "listed",
			.action = session_profile()->addresses_action };
}

void
reputation_sender(struct repute *r, const char *sender)
{
	struct tide_sender_forms forms;
	int form;

	memset(r, 0, sizeof *r);
	if (session.map == NULL || session.slot == NULL ||
	    session.charge.exempt ||
	    session_profile()->addresses_mode == TIDE_MODE_OFF)
		return;
	tide_sender_forms(session.map->key, sender, &forms);
	form = tide_addresses_find(session.map->addresses, &session.slot->epoch,
	    &session.map->control->epoch, forms.hash, forms.count);
	if (form < 0)
		return;
	r->excepted = is_excepted(&forms);
	if (r->excepted)
		session_count(TIDE_COUNT_ADDRESSES_EXCEPTED, 1);
	else
		note_listed(r, &forms.key[form]);
}

/* ---- the content ------------------------------------------------------- */

static void
note_spam(struct repute *r, const struct tide_spam_match *match)
{
	r->spam = true;
	r->match = *match;
	session_count(TIDE_COUNT_SPAM_MET, 1);
	if (match->how == TIDE_SPAM_NEAR)
		session_count(TIDE_COUNT_SPAM_MET_NEAR, 1);
	if (session_profile()->spam_mode == TIDE_MODE_ENFORCE)
		r->content = (struct tide_finding){ .reason = "spam",
			.action = session_profile()->spam_action };
}

void
reputation_content(
    struct repute *r, const struct tide_signatures *s, const char *sender)
{
	struct tide_spam_match match;

	if (s == NULL || session.slot == NULL || session.charge.exempt ||
	    session_profile()->spam_mode == TIDE_MODE_OFF)
		return;
	if (!tide_spam_test(session.map->spam, &session.slot->epoch,
		&session.map->control->epoch, s, &match))
		return;
	if (reputation_excepts(sender))
		session_count(TIDE_COUNT_SPAM_EXCEPTED, 1);
	else
		note_spam(r, &match);
}

/* ---- what comes of it -------------------------------------------------- */

struct tide_finding
reputation_found(const struct repute *r)
{
	return tide_verdict_weightier(r->address, r->content);
}

/* What is put off will come again, and is counted then. */
bool
reputation_blocks(const struct repute *r)
{
	return (r->address.reason != NULL &&
		   r->address.action == TIDE_ACTION_BLOCK) ||
	    (r->content.reason != NULL &&
		(r->content.action == TIDE_ACTION_BLOCK ||
		    r->content.action == TIDE_ACTION_REJECT));
}

/* ---- what is seen of it ------------------------------------------------ */

static bool
is_tagged(struct tide_finding f)
{
	return f.reason != NULL &&
	    (f.action == TIDE_ACTION_TAG || f.action == TIDE_ACTION_BLOCK);
}

void
reputation_tag(const struct repute *r)
{
	if (is_tagged(r->address))
		tags_set("Address", r->listed_as);
	if (is_tagged(r->content))
		tags_set("Spam", tide_spam_how_name[r->match.how]);
}

const char *
reputation_show(const struct repute *r, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	if (r->listed)
		n = (size_t)snprintf(buf, size, " listed=%s", r->listed_as);
	if (r->spam && n < size)
		(void)snprintf(buf + n, size - n, " spam=%s generation=%llu",
		    r->match.how == TIDE_SPAM_NEAR
			? "near"
			: tide_spam_how_name[r->match.how],
		    (unsigned long long)r->match.generation);
	return buf;
}
