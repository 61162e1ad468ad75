/*
 * A policy request: where it ends, what it says, and how it is answered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../milter/policy/answer.h"
#include "../../../milter/policy/request.h"
#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/settings/config.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define HEAD "request=smtpd_access_policy\n"

/* As Postfix 3.7 writes it. */
static const char whole[] =
    HEAD "protocol_state=RCPT\nprotocol_name=ESMTP\nclient_address=192.0.2.7\n"
	 "client_name=unknown\nclient_port=4711\nhelo_name=a=b\n"
	 "sender=ann@from.test\nrecipient=bob@to.test\nrecipient_count=0\n"
	 "queue_id=\ninstance=1a2b.5.6.0\nsize=12345\netrn_domain=\nstress=\n"
	 "sasl_method=plain\nsasl_username=ann\nsasl_sender=\nnew_in_4=x\n\n";

/* ---- where it ends ------------------------------------------------------- */

static void
whole_in_pieces(void)
{
	struct tide_err err;
	size_t n = sizeof whole - 1, seen = 0, i;

	for (i = 0; i < n; i++)
		CHECK_INT(policy_request_length(whole, i, &seen, &err), 0);
	CHECK_INT(policy_request_length(whole, n, &seen, &err), n);
	seen = 0;
	CHECK_INT(policy_request_length(whole, n, &seen, &err), n);
}

static void
two_at_once(void)
{
	char both[2 * sizeof whole];
	struct tide_err err;
	size_t n = sizeof whole - 1, seen = 0;

	(void)snprintf(both, sizeof both, "%s%s", whole, whole);
	CHECK_INT(policy_request_length(both, 2 * n, &seen, &err), n);
	seen = 0;
	CHECK_INT(policy_request_length(both + n, n, &seen, &err), n);
}

static void
says(const char *text, size_t n, const char *want)
{
	struct tide_err err = { "" };
	size_t seen = 0;

	CHECK_INT(policy_request_length(text, n, &seen, &err), -1);
	CHECK_STR(err.text, want);
}

static void
too_much(void)
{
	char *text = malloc(POLICY_REQUEST_MAX + 1);
	struct tide_err err;
	size_t seen = 0;

	memset(text, 'x', POLICY_REQUEST_MAX + 1);
	CHECK_INT(policy_request_length(text, POLICY_LINE_MAX, &seen, &err), 0);
	says(text, POLICY_LINE_MAX + 1, "a line of more than 8192 bytes");
	text[POLICY_LINE_MAX + 1] = '\n';
	says(text, POLICY_LINE_MAX + 2, "a line of more than 8192 bytes");
	for (size_t i = 99; i <= POLICY_REQUEST_MAX; i += 100)
		text[i] = '\n';
	seen = 0;
	CHECK_INT(
	    policy_request_length(text, POLICY_REQUEST_MAX - 1, &seen, &err),
	    0);
	says(text, POLICY_REQUEST_MAX, "a request of more than 65535 bytes");
	says("\n", 1, "an empty request");
	free(text);
}

/* ---- what it says -------------------------------------------------------- */

static int
parse(const char *text, size_t n, struct policy_request *q, char *copy,
    struct tide_err *err)
{
	memcpy(copy, text, n);
	return policy_request_parse(copy, n, q, err);
}

static void
all_of_it(void)
{
	struct policy_request q;
	struct tide_err err;
	char copy[sizeof whole];

	CHECK_INT(parse(whole, sizeof whole - 1, &q, copy, &err), 0);
	CHECK_INT(q.state, POLICY_RCPT);
	CHECK_STR(q.instance, "1a2b.5.6.0");
	CHECK_STR(q.client, "192.0.2.7");
	CHECK_STR(q.port, "4711");
	CHECK_STR(q.user, "ann");
	CHECK_STR(q.sender, "ann@from.test");
	CHECK_STR(q.recipient, "bob@to.test");
	CHECK_STR(q.queue_id, "");
	CHECK_INT(q.recipients, 0);
	CHECK_INT(q.size, 12345);
}

static void
little_of_it(void)
{
	static const struct {
		const char *text;
		enum policy_state state;
		const char *sender;
		uint32_t recipients;
	} cases[] = {
		{ "protocol_state=DATA\ninstance=1\nrecipient_count=3\n",
		    POLICY_DATA, "", 3 },
		{ "protocol_state=BDAT\ninstance=1\n", POLICY_DATA, "", 0 },
		{ "protocol_state=END-OF-MESSAGE\ninstance=1\n"
		  "recipient_count=99999999999\n",
		    POLICY_END, "", UINT32_MAX },
		{ "protocol_state=ETRN\ninstance=1\n", POLICY_OTHER, "", 0 },
		{ "protocol_state=NEW\ninstance=1\nsize=\n", POLICY_OTHER, "",
		    0 },
		{ "sender=a=b\nprotocol_state=RCPT\ninstance=1\n", POLICY_RCPT,
		    "a=b", 0 },
		{ "sender=a\nsender=b\nprotocol_state=RCPT\ninstance=1\n",
		    POLICY_RCPT, "b", 0 },
		{ "Sender=a\nsender2=b\nprotocol_state=RCPT\ninstance=1\n",
		    POLICY_RCPT, "", 0 },
	};
	struct policy_request q;
	struct tide_err err = { "" };
	char text[512], copy[512];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		int n = snprintf(text, sizeof text, HEAD "%s\n", cases[i].text);

		CHECK_MSG(parse(text, (size_t)n, &q, copy, &err) == 0, "%s: %s",
		    cases[i].text, err.text);
		CHECK_INT(q.state, cases[i].state);
		CHECK_STR(q.sender, cases[i].sender);
		CHECK_INT(q.recipients, cases[i].recipients);
		CHECK_STR(q.user, "");
	}
}

static void
malformed(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "hello\n\n", "a line that is not name=value" },
		{ "=x\n\n", "a line that is not name=value" },
		{ HEAD "protocol_state=RCPT\n\n", "no instance" },
		{ HEAD "instance=1\n\n", "no protocol_state" },
		{ HEAD "instance=\nprotocol_state=RCPT\n\n", "no instance" },
		{ "protocol_state=RCPT\ninstance=1\n\n",
		    "«request» is not smtpd_access_policy" },
		{ "request=junk\nprotocol_state=RCPT\ninstance=1\n\n",
		    "«request» is not smtpd_access_policy" },
		{ HEAD "protocol_state=DATA\ninstance=1\n"
		       "recipient_count=-1\n\n",
		    "recipient_count or size is no number" },
		{ HEAD "protocol_state=DATA\ninstance=1\nsize=1k\n\n",
		    "recipient_count or size is no number" },
		{ HEAD "protocol_state=DATA\ninstance=1\n"
		       "size=99999999999999999999999\n\n",
		    "recipient_count or size is no number" },
	};
	static const char nul[] =
	    HEAD "protocol_state=RCPT\ninstance=1\nsender=a\0b\n\n";
	struct policy_request q;
	struct tide_err err;
	char copy[512];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		CHECK_INT(
		    parse(cases[i].text, strlen(cases[i].text), &q, copy, &err),
		    -1);
		CHECK_STR(err.text, cases[i].want);
	}
	CHECK_INT(parse(nul, sizeof nul - 1, &q, copy, &err), -1);
	CHECK_STR(err.text, "a NUL byte");
}

/* ---- how it is answered -------------------------------------------------- */

static void
answers(void)
{
	static const struct tide_verdict yes = { .answer = TIDE_REPLY_ACCEPT };
	static const struct tide_verdict no = { .answer = TIDE_REPLY_REJECT,
		.reason = "tokens",
		.code = "554",
		.status = "5.7.1",
		.text = "Not enough tokens available" };
	static const struct tide_verdict later = { .answer =
						       TIDE_REPLY_TEMPFAIL,
		.reason = "tokens",
		.code = "451",
		.status = "4.7.1",
		.text = "come back in 3h" };
	static const struct {
		uint32_t action;
		enum policy_state state;
		const struct tide_verdict *v;
		const char *want;
	} cases[] = {
		{ TIDE_POLICY_REFUSE, POLICY_RCPT, &yes, "DUNNO" },
		{ TIDE_POLICY_REFUSE, POLICY_RCPT, &no,
		    "554 5.7.1 Not enough tokens available" },
		{ TIDE_POLICY_REFUSE, POLICY_END, &later,
		    "DEFER_IF_PERMIT 4.7.1 come back in 3h" },
		{ TIDE_POLICY_HOLD, POLICY_RCPT, &yes, "DUNNO" },
		{ TIDE_POLICY_HOLD, POLICY_RCPT, &no,
		    "HOLD tokens: Not enough tokens available" },
		{ TIDE_POLICY_HOLD, POLICY_END, &later,
		    "HOLD tokens: come back in 3h" },
		{ TIDE_POLICY_PREPEND, POLICY_RCPT, &no,
		    "PREPEND X-T: tokens; Not enough tokens available" },
		{ TIDE_POLICY_PREPEND, POLICY_END, &no, "DUNNO" },
	};
	struct tide_policy p = { .prepend_header = "X-T" };
	char got[POLICY_ANSWER_MAX], want[POLICY_ANSWER_MAX];
	size_t n;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		p.action = cases[i].action;
		n = policy_answer(&p, cases[i].state, cases[i].v, got);
		(void)snprintf(
		    want, sizeof want, "action=%s\n\n", cases[i].want);
		CHECK_STR(got, want);
		CHECK_INT(n, strlen(want));
	}
}

CHECK_CASES({ "a request, byte by byte", whole_in_pieces },
    { "two requests at once", two_at_once },
    { "lines and requests that are too long", too_much },
    { "everything that Postfix says", all_of_it },
    { "requests that say little", little_of_it },
    { "malformed requests", malformed },
    { "verdicts in Postfix's words", answers })
