/*
 * verdict - facts to answer.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/settings/config.h"
#include "tidemark/base/units.h"

#include "tidemark/flow/verdict.h"

static struct tide_verdict
accept_for(const char *reason)
{
	return (struct tide_verdict){ .answer = TIDE_REPLY_ACCEPT,
		.reason = reason };
}

static struct tide_verdict
refuse(enum tide_reply answer, const char *reason, const char *status4,
    const char *status5)
{
	bool now = answer == TIDE_REPLY_TEMPFAIL;

	return (struct tide_verdict){ .answer = answer,
		.reason = reason,
		.code = now ? "451" : "550",
		.status = now ? status4 : status5 };
}

/* The postmaster chose what happens when Tidemark cannot do its work. */
static struct tide_verdict
answer_for_error(uint32_t on_error)
{
	struct tide_verdict v;

	if (on_error == TIDE_ON_ERROR_ACCEPT)
		return accept_for("error");
	v = refuse(on_error == TIDE_ON_ERROR_TEMPFAIL ? TIDE_REPLY_TEMPFAIL
						      : TIDE_REPLY_REJECT,
	    "error", "4.3.0", "5.3.0");
	(void)snprintf(v.text, sizeof v.text, "Mail filter is unable to work%s",
	    v.answer == TIDE_REPLY_TEMPFAIL ? "; please try again later" : "");
	return v;
}

static enum tide_reply
ban_answer(const struct tide_facts *f)
{
	return f->ban_answer == TIDE_BAN_TEMPFAIL ? TIDE_REPLY_TEMPFAIL
						  : TIDE_REPLY_REJECT;
}

/* A reason that a sender can act on: how long, and whom to ask. */
static struct tide_verdict
answer_for_ban(const struct tide_facts *f)
{
	struct tide_verdict v =
	    refuse(ban_answer(f), "banned", "4.7.1", "5.7.1");
	char left[32];

	(void)snprintf(v.text, sizeof v.text,
	    "Too much mail was sent or refused; try again in %s%s",
	    tide_time_show(
		(f->banned_for_ms / 1000 + 1) * 1000, left, sizeof left),
	    f->at_mail ? "" : ", or write to postmaster");
	return v;
}

static const struct {
	const char *name, *text;
} shortages[] = { [TIDE_SHORT_OF_NOTHING] = { "-", "" },
	[TIDE_SHORT_OF_TOKENS] = { "tokens", "Not enough tokens available" },
	[TIDE_SHORT_OF_DISTINCT] = { "distinct",
	    "Too many different recipients in a day" },
	[TIDE_SHORT_OF_CLIENTS] = {
	    "clients", "Too many different client addresses in a day" } };

const char *
tide_shortage_name(enum tide_short_of of)
{
	return shortages[of].name;
}

/* Rounded up to what a person would say: 40s, 15min, 3h. */
static uint64_t
round_wait(uint64_t ms)
{
	uint64_t unit = ms <= 120000 ? 1000 : ms <= 7200000 ? 60000 : 3600000;

	return (ms / unit + (ms % unit != 0 || ms == 0)) * unit;
}

static struct tide_verdict
answer_for_shortage(const struct tide_facts *f)
{
	const struct tide_shortage *s = &f->shortage;
	bool later = f->tokens_action == TIDE_TOKENS_DELAY &&
	    s->come_back_ms != UINT64_MAX;
	struct tide_verdict v =
	    refuse(later ? TIDE_REPLY_TEMPFAIL : TIDE_REPLY_REJECT,
		tide_shortage_name(s->of), "4.7.1", "5.7.1");
	char wait[TIDE_UNITS_MAX] = "";

	if (later)
		(void)tide_time_show(
		    round_wait(s->come_back_ms), wait, sizeof wait);
	else
		v.code = "554";
	(void)snprintf(v.text, sizeof v.text, "%s%s%s", shortages[s->of].text,
	    later ? "; come back in " : "", wait);
	return v;
}

/* Whoever else shares its key is not to blame: later, whatever bans are. */
static struct tide_verdict
answer_for_full(const struct tide_facts *f)
{
	struct tide_verdict v =
	    refuse(TIDE_REPLY_TEMPFAIL, f->over, "4.7.1", "5.7.1");
	char wait[TIDE_UNITS_MAX];

	(void)snprintf(v.text, sizeof v.text,
	    "Too much mail at once from senders like this one (%s); come back "
	    "in %s",
	    f->over,
	    tide_time_show(round_wait(f->put_off_ms), wait, sizeof wait));
	return v;
}

struct tide_finding
tide_verdict_weightier(struct tide_finding a, struct tide_finding b)
{
	static const unsigned weight[] = { [TIDE_ACTION_TAG] = 1,
		[TIDE_ACTION_BLOCK] = 2,
		[TIDE_ACTION_TEMPFAIL] = 3,
		[TIDE_ACTION_REJECT] = 4 };

	if (a.reason == NULL || b.reason == NULL)
		return a.reason != NULL ? a : b;
	return weight[b.action % 4] > weight[a.action % 4] ? b : a;
}

/* Does the finding refuse? */
bool
tide_verdict_is_refused(const struct tide_facts *f)
{
	return f->found.reason != NULL &&
	    (f->found.action == TIDE_ACTION_REJECT ||
		f->found.action == TIDE_ACTION_TEMPFAIL);
}

static const struct {
	const char *reason, *text;
} findings[] = {
	{ "listed", "Your address is on a list of spam senders" },
	{ "bulk", "Too many copies of this message have been seen" },
	{ "spam", "This message was reported as spam" },
};

/* Whom to ask is always said: a filter errs now and then. */
static struct tide_verdict
answer_for_finding(const struct tide_facts *f)
{
	bool later = f->found.action == TIDE_ACTION_TEMPFAIL;
	struct tide_verdict v =
	    refuse(later ? TIDE_REPLY_TEMPFAIL : TIDE_REPLY_REJECT,
		f->found.reason, "4.7.1", "5.7.1");
	const char *text = "This message is not wanted here";
	size_t i;

	for (i = 0; i < sizeof findings / sizeof *findings; i++)
		if (strcmp(findings[i].reason, f->found.reason) == 0)
			text = findings[i].text;
	(void)snprintf(v.text, sizeof v.text,
	    "%s; write to postmaster if that is wrong", text);
	return v;
}

struct tide_verdict
tide_verdict_recipient(const struct tide_facts *f)
{
	struct tide_verdict v;

	if (f->bypassed)
		return accept_for("bypass");
	if (f->banned)
		return answer_for_ban(f);
	if (tide_verdict_is_refused(f))
		return answer_for_finding(f);
	if (f->over != NULL && f->put_off_ms > 0 && !f->pulse_stale)
		return answer_for_full(f);
	if (f->shortage.of != TIDE_SHORT_OF_NOTHING)
		return answer_for_shortage(f);
	if (!f->protected_to)
		return accept_for("-");
	v = refuse(TIDE_REPLY_REJECT, "protected", "4.7.1", "5.7.1");
	(void)snprintf(
	    v.text, sizeof v.text, "This mailbox does not take mail from you");
	return v;
}

struct tide_verdict
tide_verdict_message(const struct tide_facts *f)
{
	struct tide_verdict v;

	if (f->bypassed)
		return accept_for("bypass");
	if (!f->map_usable)
		return answer_for_error(f->on_error);
	if (f->banned)
		return answer_for_ban(f);
	if (tide_verdict_is_refused(f))
		return answer_for_finding(f);
	if (f->over == NULL)
		return accept_for(
		    f->found.reason != NULL ? f->found.reason : "-");
	if (f->pulse_stale)
		return accept_for("stale");
	if (f->put_off_ms > 0)
		return answer_for_full(f);
	v = refuse(ban_answer(f), f->over, "4.7.1", "5.7.1");
	(void)snprintf(v.text, sizeof v.text,
	    "Too many messages in too short a time (%s); slow down, or write "
	    "to postmaster",
	    f->over);
	return v;
}

const char *
tide_verdict_name(enum tide_reply answer)
{
	switch (answer) {
	case TIDE_REPLY_TEMPFAIL:
		return "tempfail";
	case TIDE_REPLY_REJECT:
		return "reject";
	default:
		return "accept";
	}
}
