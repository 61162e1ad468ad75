/*
 * From facts to answers: each row what is known, and what is said.
 */
#include <string.h>

#include "tidemark/flow/verdict.h"
#include "check.h"
#include "tidemark/settings/config.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

struct verdict_case {
	const char *name;
	struct tide_facts facts;
	enum tide_reply answer;
	const char *reason, *code, *status, *text; /* text: a part of it */
};

static const struct verdict_case recipients[] = {
	{ "nothing against it", { .map_usable = true }, TIDE_REPLY_ACCEPT, "-",
	    NULL, NULL, NULL },
	{ "without a map, too", { .on_error = TIDE_ON_ERROR_REJECT },
	    TIDE_REPLY_ACCEPT, "-", NULL, NULL, NULL },
	{ "a ban", { .banned = true, .banned_for_ms = 59000 },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1", "try again in 1min" },
	{ "a ban's last millisecond", { .banned = true, .banned_for_ms = 1 },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1", "in 1s" },
	{ "a ban, for now", { .banned = true, .ban_answer = TIDE_BAN_TEMPFAIL },
	    TIDE_REPLY_TEMPFAIL, "banned", "451", "4.7.1", "postmaster" },
	{ "a ban at MAIL, where postmaster is shut out",
	    { .banned = true, .banned_for_ms = 59000, .at_mail = true },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1",
	    "refused; try again in 1min" },
	{ "a protected mailbox", { .protected_to = true }, TIDE_REPLY_REJECT,
	    "protected", "550", "5.7.1", "does not take mail from you" },
	{ "protected is for good whatever bans are",
	    { .protected_to = true, .ban_answer = TIDE_BAN_TEMPFAIL },
	    TIDE_REPLY_REJECT, "protected", "550", "5.7.1", NULL },
	{ "the ban comes first", { .banned = true, .protected_to = true },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1", NULL },
	{ "many share the full bucket: later, whatever bans are",
	    { .over = "OKSENDER", .put_off_ms = 600000 }, TIDE_REPLY_TEMPFAIL,
	    "OKSENDER", "451", "4.7.1", "(OKSENDER); come back in 10min" },
	{ "who is banned is banned",
	    { .over = "OKSENDER", .put_off_ms = 600000, .banned = true },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1", NULL },
	{ "nobody is put off while nobody leaks",
	    { .over = "OKSENDER", .put_off_ms = 1, .pulse_stale = true },
	    TIDE_REPLY_ACCEPT, "-", NULL, NULL, NULL },
	{ "nor with the bypass on",
	    { .over = "OKSENDER", .put_off_ms = 1, .bypassed = true },
	    TIDE_REPLY_ACCEPT, "bypass", NULL, NULL, NULL },
	{ "bypass wins over a ban", { .bypassed = true, .banned = true },
	    TIDE_REPLY_ACCEPT, "bypass", NULL, NULL, NULL },
	{ "bypass wins over protection",
	    { .bypassed = true, .protected_to = true }, TIDE_REPLY_ACCEPT,
	    "bypass", NULL, NULL, NULL },
	{ "a ban stands while the pulse is stale",
	    { .banned = true, .pulse_stale = true }, TIDE_REPLY_REJECT,
	    "banned", "550", "5.7.1", NULL },
	{ "no tokens, for good",
	    { .shortage = { TIDE_SHORT_OF_TOKENS, 40000 } }, TIDE_REPLY_REJECT,
	    "tokens", "554", "5.7.1", "Not enough tokens" },
	{ "too many recipients, for now",
	    { .shortage = { TIDE_SHORT_OF_DISTINCT, 7200001 },
		.tokens_action = TIDE_TOKENS_DELAY },
	    TIDE_REPLY_TEMPFAIL, "distinct", "451", "4.7.1",
	    "different recipients in a day; come back in 3h" },
	{ "too many clients, for good",
	    { .shortage = { TIDE_SHORT_OF_CLIENTS, 40000 } }, TIDE_REPLY_REJECT,
	    "clients", "554", "5.7.1", "different client addresses in a day" },
	{ "a listed sender", { .found = { "listed", TIDE_ACTION_REJECT } },
	    TIDE_REPLY_REJECT, "listed", "550", "5.7.1",
	    "list of spam senders" },
	{ "a listed sender, for now",
	    { .found = { "listed", TIDE_ACTION_TEMPFAIL } },
	    TIDE_REPLY_TEMPFAIL, "listed", "451", "4.7.1",
	    "write to postmaster" },
	{ "a listed sender that is only tagged",
	    { .found = { "listed", TIDE_ACTION_TAG } }, TIDE_REPLY_ACCEPT, "-",
	    NULL, NULL, NULL },
	{ "the ban comes before the list",
	    { .banned = true, .found = { "listed", TIDE_ACTION_REJECT } },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1", NULL },
	{ "bypass wins over the list",
	    { .bypassed = true, .found = { "listed", TIDE_ACTION_REJECT } },
	    TIDE_REPLY_ACCEPT, "bypass", NULL, NULL, NULL },
	{ "what will never fit is not put off",
	    { .shortage = { TIDE_SHORT_OF_TOKENS, UINT64_MAX },
		.tokens_action = TIDE_TOKENS_DELAY },
	    TIDE_REPLY_REJECT, "tokens", "554", "5.7.1", "Not enough tokens" },
};

static const struct verdict_case messages[] = {
	{ "bulk mail is refused",
	    { .map_usable = true, .found = { "bulk", TIDE_ACTION_REJECT } },
	    TIDE_REPLY_REJECT, "bulk", "550", "5.7.1",
	    "Too many copies of this message" },
	{ "bulk mail is put off",
	    { .map_usable = true, .found = { "bulk", TIDE_ACTION_TEMPFAIL } },
	    TIDE_REPLY_TEMPFAIL, "bulk", "451", "4.7.1", "postmaster" },
	{ "bulk mail passes, tagged",
	    { .map_usable = true, .found = { "bulk", TIDE_ACTION_TAG } },
	    TIDE_REPLY_ACCEPT, "bulk", NULL, NULL, NULL },
	{ "nothing against it", { .map_usable = true }, TIDE_REPLY_ACCEPT, "-",
	    NULL, NULL, NULL },
	{ "an overflow", { .map_usable = true, .over = "OKIP" },
	    TIDE_REPLY_REJECT, "OKIP", "550", "5.7.1", "(OKIP); slow down" },
	{ "an overflow, for now",
	    { .map_usable = true,
		.over = "OKSENDER",
		.ban_answer = TIDE_BAN_TEMPFAIL },
	    TIDE_REPLY_TEMPFAIL, "OKSENDER", "451", "4.7.1", "(OKSENDER)" },
	{ "many share the full bucket: later, whatever bans are",
	    { .map_usable = true, .over = "CBSENDER", .put_off_ms = 1 },
	    TIDE_REPLY_TEMPFAIL, "CBSENDER", "451", "4.7.1",
	    "senders like this one (CBSENDER); come back in 1s" },
	{ "nobody is put off while nobody leaks",
	    { .map_usable = true,
		.over = "CBSENDER",
		.put_off_ms = 1,
		.pulse_stale = true },
	    TIDE_REPLY_ACCEPT, "stale", NULL, NULL, NULL },
	{ "an overflow that nobody could leak",
	    { .map_usable = true, .over = "OKIP", .pulse_stale = true },
	    TIDE_REPLY_ACCEPT, "stale", NULL, NULL, NULL },
	{ "a stale pulse alone is no reason",
	    { .map_usable = true, .pulse_stale = true }, TIDE_REPLY_ACCEPT, "-",
	    NULL, NULL, NULL },
	{ "bypass wins over an overflow",
	    { .map_usable = true, .over = "OKIP", .bypassed = true },
	    TIDE_REPLY_ACCEPT, "bypass", NULL, NULL, NULL },
	{ "a ban that was made since RCPT",
	    { .map_usable = true, .banned = true, .banned_for_ms = 1 },
	    TIDE_REPLY_REJECT, "banned", "550", "5.7.1", "in 1s" },
	{ "bypass wins over an error",
	    { .on_error = TIDE_ON_ERROR_REJECT, .bypassed = true },
	    TIDE_REPLY_ACCEPT, "bypass", NULL, NULL, NULL },
	{ "an error, accepted", { .on_error = TIDE_ON_ERROR_ACCEPT },
	    TIDE_REPLY_ACCEPT, "error", NULL, NULL, NULL },
	{ "an error, for now", { .on_error = TIDE_ON_ERROR_TEMPFAIL },
	    TIDE_REPLY_TEMPFAIL, "error", "451", "4.3.0", "try again later" },
	{ "an error, for good", { .on_error = TIDE_ON_ERROR_REJECT },
	    TIDE_REPLY_REJECT, "error", "550", "5.3.0", "unable to work" },
	{ "found, and refused",
	    { .map_usable = true,
		.over = "OKIP",
		.found = { "spam", TIDE_ACTION_REJECT } },
	    TIDE_REPLY_REJECT, "spam", "550", "5.7.1", "postmaster" },
	{ "found, and tagged",
	    { .map_usable = true, .found = { "listed", TIDE_ACTION_TAG } },
	    TIDE_REPLY_ACCEPT, "listed", NULL, NULL, NULL },
	{ "found, blocked, and too many of them",
	    { .map_usable = true,
		.over = "CBIP",
		.found = { "listed", TIDE_ACTION_BLOCK } },
	    TIDE_REPLY_REJECT, "CBIP", "550", "5.7.1", NULL },
	{ "an error comes before an overflow",
	    { .on_error = TIDE_ON_ERROR_ACCEPT, .over = "OKIP" },
	    TIDE_REPLY_ACCEPT, "error", NULL, NULL, NULL },
};

static bool
is(const char *got, const char *want)
{
	return got == NULL || want == NULL ? got == want
					   : strcmp(got, want) == 0;
}

static void
check_verdict(const struct verdict_case *c, struct tide_verdict v)
{
	CHECK_MSG(v.answer == c->answer && strcmp(v.reason, c->reason) == 0,
	    "%s: %s for %s", c->name, tide_verdict_name(v.answer), v.reason);
	CHECK_MSG(is(v.code, c->code) && is(v.status, c->status), "%s: %s %s",
	    c->name, v.code ? v.code : "-", v.status ? v.status : "-");
	CHECK_MSG(c->text == NULL || strstr(v.text, c->text) != NULL,
	    "%s: «%s»", c->name, v.text);
	/* libmilter refuses a reply with a lone % or a line end */
	CHECK_MSG(
	    strpbrk(v.text, "%\r\n") == NULL, "%s: «%s»", c->name, v.text);
}

static void
at_rcpt(void)
{
	for (size_t i = 0; i < LENGTH(recipients); i++)
		check_verdict(&recipients[i],
		    tide_verdict_recipient(&recipients[i].facts));
}

static void
at_end_of_message(void)
{
	for (size_t i = 0; i < LENGTH(messages); i++)
		check_verdict(
		    &messages[i], tide_verdict_message(&messages[i].facts));
}

static void
names(void)
{
	CHECK_STR(tide_verdict_name(TIDE_REPLY_ACCEPT), "accept");
	CHECK_STR(tide_verdict_name(TIDE_REPLY_TEMPFAIL), "tempfail");
	CHECK_STR(tide_verdict_name(TIDE_REPLY_REJECT), "reject");
}

static void
test_weightier(void)
{
	static const struct tide_finding none = { NULL, TIDE_ACTION_REJECT },
					 tag = { "tag", TIDE_ACTION_TAG },
					 block = { "block", TIDE_ACTION_BLOCK },
					 later = { "later",
						 TIDE_ACTION_TEMPFAIL },
					 never = { "never",
						 TIDE_ACTION_REJECT };
	const struct tide_finding *by_weight[] = { &none, &tag, &block, &later,
		&never };
	unsigned i, k;

	for (i = 0; i < LENGTH(by_weight); i++)
		for (k = 0; k < i; k++) {
			CHECK(
			    tide_verdict_weightier(*by_weight[i], *by_weight[k])
				.reason == by_weight[i]->reason);
			CHECK(
			    tide_verdict_weightier(*by_weight[k], *by_weight[i])
				.reason == by_weight[i]->reason);
		}
}

CHECK_CASES({ "of two findings the weightier counts", test_weightier },
    { "at RCPT", at_rcpt }, { "at the end of message", at_end_of_message },
    { "answers have names", names })
