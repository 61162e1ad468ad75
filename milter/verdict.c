/*
 * verdict - facts to answer.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/config.h"
#include "tidemark/units.h"

#include "verdict.h"

static struct verdict
accept_for(const char *reason)
{
	return (struct verdict){ .answer = ANSWER_ACCEPT, .reason = reason };
}

static struct verdict
refuse(enum verdict_answer answer, const char *reason, const char *status4,
    const char *status5)
{
	bool now = answer == ANSWER_TEMPFAIL;

	return (struct verdict){ .answer = answer,
		.reason = reason,
		.code = now ? "451" : "550",
		.status = now ? status4 : status5 };
}

/* The postmaster chose what happens when Tidemark cannot do its work. */
static struct verdict
answer_for_error(uint32_t on_error)
{
	struct verdict v;

	if (on_error == TIDE_ON_ERROR_ACCEPT)
		return accept_for("error");
	v = refuse(on_error == TIDE_ON_ERROR_TEMPFAIL ? ANSWER_TEMPFAIL
						      : ANSWER_REJECT,
	    "error", "4.3.0", "5.3.0");
	(void)snprintf(v.text, sizeof v.text, "Mail filter is unable to work%s",
	    v.answer == ANSWER_TEMPFAIL ? "; please try again later" : "");
	return v;
}

static enum verdict_answer
ban_answer(const struct facts *f)
{
	return f->ban_answer == TIDE_BAN_TEMPFAIL ? ANSWER_TEMPFAIL
						  : ANSWER_REJECT;
}

/* A reason that a sender can act on: how long, and whom to ask. */
static struct verdict
answer_for_ban(const struct facts *f)
{
	struct verdict v = refuse(ban_answer(f), "banned", "4.7.1", "5.7.1");
	char left[32];

	(void)snprintf(v.text, sizeof v.text,
	    "Too much mail was sent or refused; try again in %s, or write to "
	    "postmaster",
	    tide_time_show(
		(f->banned_for_ms / 1000 + 1) * 1000, left, sizeof left));
	return v;
}

static const struct {
	const char *name, *text;
} shortages[] = { [SHORT_OF_NOTHING] = { "-", "" },
	[SHORT_OF_TOKENS] = { "tokens", "Not enough tokens available" },
	[SHORT_OF_DISTINCT] = { "distinct",
	    "Too many different recipients in a day" },
	[SHORT_OF_CLIENTS] = {
	    "clients", "Too many different client addresses in a day" } };

const char *
shortage_name(enum short_of of)
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

static struct verdict
answer_for_shortage(const struct facts *f)
{
	const struct shortage *s = &f->shortage;
	bool later = f->tokens_action == TIDE_TOKENS_DELAY &&
	    s->come_back_ms != UINT64_MAX;
	struct verdict v = refuse(later ? ANSWER_TEMPFAIL : ANSWER_REJECT,
	    shortage_name(s->of), "4.7.1", "5.7.1");
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

struct finding
verdict_weightier(struct finding a, struct finding b)
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
verdict_is_refused(const struct facts *f)
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
static struct verdict
answer_for_finding(const struct facts *f)
{
	bool later = f->found.action == TIDE_ACTION_TEMPFAIL;
	struct verdict v = refuse(later ? ANSWER_TEMPFAIL : ANSWER_REJECT,
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

struct verdict
verdict_recipient(const struct facts *f)
{
	struct verdict v;

	if (f->bypassed)
		return accept_for("bypass");
	if (f->banned)
		return answer_for_ban(f);
	if (verdict_is_refused(f))
		return answer_for_finding(f);
	if (f->shortage.of != SHORT_OF_NOTHING)
		return answer_for_shortage(f);
	if (!f->protected_to)
		return accept_for("-");
	v = refuse(ANSWER_REJECT, "protected", "4.7.1", "5.7.1");
	(void)snprintf(
	    v.text, sizeof v.text, "This mailbox does not take mail from you");
	return v;
}

struct verdict
verdict_message(const struct facts *f)
{
	struct verdict v;

	if (f->bypassed)
		return accept_for("bypass");
	if (!f->map_usable)
		return answer_for_error(f->on_error);
	if (f->banned)
		return answer_for_ban(f);
	if (verdict_is_refused(f))
		return answer_for_finding(f);
	if (f->over == NULL)
		return accept_for(
		    f->found.reason != NULL ? f->found.reason : "-");
	if (f->pulse_stale)
		return accept_for("stale");
	v = refuse(ban_answer(f), f->over, "4.7.1", "5.7.1");
	(void)snprintf(v.text, sizeof v.text,
	    "Too many messages in too short a time (%s); slow down, or write "
	    "to postmaster",
	    f->over);
	return v;
}

const char *
verdict_name(enum verdict_answer answer)
{
	switch (answer) {
	case ANSWER_TEMPFAIL:
		return "tempfail";
	case ANSWER_REJECT:
		return "reject";
	default:
		return "accept";
	}
}
