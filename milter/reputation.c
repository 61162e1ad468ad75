/*
 * reputation - the list of spam addresses, and the exceptions.
 */
#include <stdio.h>
#include <string.h>

#include "reputation.h"
#include "session.h"
#include "tags.h"
#include "tidemark/addresses.h"
#include "tidemark/exceptions.h"
#include "tidemark/log.h"

static struct tide_exceptions exceptions;

static const struct tide_profile *
profile(void)
{
	return &session.config.profile[session.profile];
}

static void
count(enum tide_counter id)
{
	tide_count_profile(session.map->counters, session.profile, id, 1);
}

/* ---- exceptions -------------------------------------------------------- */

/* A new list, if there is one; what cannot be read is asked for again. */
static void
follow_exceptions(void)
{
	uint64_t now = atomic_load_explicit(
	    &session.map->addresses.head->exceptions, memory_order_acquire);
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
	tide_sender_forms(&session.map->control->head.key, sender, &forms);
	return is_excepted(&forms);
}

/* ---- the sender -------------------------------------------------------- */

static void
note_listed(struct repute *r, const struct tide_key *as)
{
	r->listed = true;
	(void)snprintf(r->listed_as, sizeof r->listed_as, "%s", as->text);
	count(TIDE_COUNT_ADDRESSES_LISTED);
	if (profile()->addresses_mode == TIDE_MODE_ENFORCE)
		r->found = (struct finding){ .reason = "listed",
			.action = profile()->addresses_action };
}

void
reputation_sender(struct repute *r, const char *sender)
{
	struct tide_sender_forms forms;
	int form;

	memset(r, 0, sizeof *r);
	if (session.map == NULL || session.slot == NULL ||
	    session.charge.exempt || profile()->addresses_mode == TIDE_MODE_OFF)
		return;
	tide_sender_forms(&session.map->control->head.key, sender, &forms);
	form =
	    tide_addresses_find(&session.map->addresses, &session.slot->epoch,
		&session.map->control->epoch, forms.hash, forms.count);
	if (form < 0)
		return;
	r->excepted = is_excepted(&forms);
	if (r->excepted)
		count(TIDE_COUNT_ADDRESSES_EXCEPTED);
	else
		note_listed(r, &forms.key[form]);
}

/* ---- what is seen of it ------------------------------------------------ */

void
reputation_tag(const struct repute *r)
{
	if (r->found.reason != NULL &&
	    (r->found.action == TIDE_ACTION_TAG ||
		r->found.action == TIDE_ACTION_BLOCK))
		tags_set("Address", r->listed_as);
}

const char *
reputation_show(const struct repute *r, char *buf, size_t size)
{
	buf[0] = '\0';
	if (r->listed)
		(void)snprintf(buf, size, " listed=%s", r->listed_as);
	return buf;
}
