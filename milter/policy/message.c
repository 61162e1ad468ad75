/*
 * policy_message - from requests to facts.  Nothing is decided here.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../session.h"
#include "message.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

#define UNFINISHED_MANY 50 /* in a row: no accident */

static struct {
	unsigned policy;
	bool open; /* between its first request and its last */
	char instance[128];
	char client[64], port[16]; /* of the SMTP session */
	uint32_t repeats;	   /* requests for the recipient just asked */
	unsigned unfinished; /* messages in a row without a last request */

	/* the request before, should it be asked again */
	enum policy_state asked;
	char recipient[512];
	char answer[POLICY_ANSWER_MAX];
	size_t answer_length;
} now;

const struct tide_policy *
policy_section(void)
{
	return &session.config.policy[now.policy];
}

void
policy_message_begin(unsigned policy)
{
	now.policy = policy;
	session.by = TIDE_CHARGED_BY_POLICY;
}

bool
policy_message_is_open(void)
{
	return now.open;
}

/* Without a map, or with one that is given up, while there is another. */
bool
policy_message_is_stale(void)
{
	char path[TIDE_PATH_MAX + 8];

	if (session.map != NULL)
		return atomic_load(&session.map->control->current) ==
		    TIDE_MAP_RETIRED &&
		    !tide_map_is_current(
			session.map, session.config.runtime_dir);
	(void)snprintf(path, sizeof path, "%s/map", session.config.runtime_dir);
	return access(path, R_OK) == 0;
}

/* ---- a message begins and ends ----------------------------------------- */

/*
 * Where Postfix is not set up to ask at the end, everything would be given
 * back, and no limit would hold: that must not go unnoticed.
 */
static void
note_unfinished(void)
{
	if (session.message.accepted == 0 ||
	    ++now.unfinished != UNFINISHED_MANY)
		return;
	tide_log(TIDE_LOG_WARNING,
	    "policy %s: %u messages in a row were given back because Postfix "
	    "did not ask at their end; is check_policy_service in "
	    "smtpd_end_of_data_restrictions, or last_request to be set?",
	    policy_section()->name, now.unfinished);
}

/* It did not get to its last request, or has none. */
static void
end_message(void)
{
	if (!now.open)
		return;
	now.open = false;
	if (session.bystander) {
		session_forget();
	} else if (policy_section()->last_request == TIDE_LAST_RCPT) {
		if (session.message.accepted > 0)
			(void)session_decide(); /* nobody hears it */
		else
			session_abort();
	} else {
		note_unfinished();
		session_abort();
	}
}

static bool
is_same_client(const struct policy_request *q)
{
	return strcmp(now.client, q->client) == 0 &&
	    strcmp(now.port, q->port) == 0;
}

static void
note_client(const struct policy_request *q)
{
	char daemon[TIDE_NAME_MAX + 8];

	if (now.client[0] != '\0' && is_same_client(q))
		return;
	(void)snprintf(now.client, sizeof now.client, "%s", q->client);
	(void)snprintf(now.port, sizeof now.port, "%s", q->port);
	(void)snprintf(
	    daemon, sizeof daemon, "policy:%s", policy_section()->name);
	session_connected(q->client, daemon);
}

/* As milters get it. */
static const char *
in_brackets(const char *address, char *out, size_t size)
{
	(void)snprintf(out, size, "<%s>", address);
	return out;
}

static void
begin_message(const struct policy_request *q)
{
	char sender[1024];

	note_client(q);
	session_mail(in_brackets(q->sender, sender, sizeof sender),
	    q->user[0] != '\0' ? q->user : NULL,
	    q->state == POLICY_RCPT ? q->size : 0);
	session.softened = policy_section()->action != TIDE_POLICY_REFUSE;
	now.open = true;
	now.repeats = 0;
	now.asked = POLICY_OTHER;
}

/* ---- the stages -------------------------------------------------------- */

/* Without a map the profile's on_error answers, at once. */
static bool
is_unable(struct tide_verdict *v)
{
	const struct tide_facts f = { .on_error = session_profile()->on_error };

	if (session.map != NULL && session.slot != NULL)
		return false;
	*v = tide_verdict_message(&f);
	return true;
}

static struct tide_verdict
ask_recipient(const struct policy_request *q)
{
	struct tide_verdict v;
	char recipient[1024];

	if (is_unable(&v) && v.answer != TIDE_REPLY_ACCEPT)
		return v;
	return session_recipient(
	    in_brackets(q->recipient, recipient, sizeof recipient),
	    RECIPIENT_ACCEPTED);
}

static struct tide_verdict
ask_end(const struct policy_request *q)
{
	struct tide_verdict v = { .answer = TIDE_REPLY_ACCEPT, .reason = "-" };

	(void)q;
	now.open = false;
	now.unfinished = 0;
	if (session.bystander)
		session_forget();
	else
		v = session_decide();
	return v;
}

static bool
is_last(const struct policy_request *q)
{
	return q->state == POLICY_END ||
	    (q->state == POLICY_DATA &&
		policy_section()->last_request == TIDE_LAST_DATA);
}

static struct tide_verdict
ask(const struct policy_request *q)
{
	if (q->queue_id[0] != '\0')
		session_qid(q->queue_id);
	if (q->state == POLICY_RCPT)
		return ask_recipient(q);
	if (!session.bystander)
		session_standing(q->recipients, now.repeats);
	if (is_last(q))
		return ask_end(q);
	return (
	    struct tide_verdict){ .answer = TIDE_REPLY_ACCEPT, .reason = "-" };
}

/* ---- one request after another ----------------------------------------- */

/*
 * The same restriction may stand in several places, and is then asked for the
 * same thing several times over: it is charged once, and answered alike.
 */
static bool
is_repeated(const struct policy_request *q)
{
	/* one that was cut short equals none: it would be free */
	return q->state == now.asked &&
	    (q->state != POLICY_RCPT ||
		strcmp(now.recipient, q->recipient) == 0);
}

static size_t
repeat_answer(char answer[POLICY_ANSWER_MAX])
{
	now.repeats++;
	memcpy(answer, now.answer, now.answer_length);
	return now.answer_length;
}

static size_t
say_nothing(const struct policy_request *q, char answer[POLICY_ANSWER_MAX])
{
	const struct tide_verdict v = { .answer = TIDE_REPLY_ACCEPT };

	return policy_answer(policy_section(), q->state, &v, answer);
}

static bool
is_of_another(const struct policy_request *q)
{
	return strncmp(now.instance, q->instance, sizeof now.instance - 1) != 0;
}

size_t
policy_message_ask(
    const struct policy_request *q, char answer[POLICY_ANSWER_MAX])
{
	struct tide_verdict v;

	if (is_of_another(q)) {
		end_message();
		(void)snprintf(
		    now.instance, sizeof now.instance, "%s", q->instance);
		now.asked = POLICY_OTHER;
	} else if (q->state != POLICY_OTHER && is_repeated(q)) {
		return repeat_answer(answer);
	}
	if (q->state == POLICY_OTHER ||
	    (q->state != POLICY_RCPT && !now.open && now.asked != POLICY_OTHER))
		return say_nothing(q, answer); /* too early, or too late */
	if (!now.open)
		begin_message(q);
	v = ask(q);
	now.asked = q->state;
	(void)snprintf(now.recipient, sizeof now.recipient, "%s", q->recipient);
	now.answer_length =
	    policy_answer(policy_section(), q->state, &v, now.answer);
	memcpy(answer, now.answer, now.answer_length);
	return now.answer_length;
}

void
policy_message_end(bool kept)
{
	if (kept && now.open)
		session_keep();
	end_message();
	session_end();
}
