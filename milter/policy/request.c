/*
 * policy_request - where a request ends, and what it says.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "request.h"
#include "tidemark/base/err.h"

/* ---- where it ends ----------------------------------------------------- */

long
policy_request_length(
    const char *text, size_t n, size_t *seen, struct tide_err *err)
{
	const char *line = text + *seen, *end = text + n, *newline;

	if (n > 0 && text[0] == '\n')
		return tide_err_set(err, "an empty request");
	while (line < end) {
		newline = memchr(line, '\n', (size_t)(end - line));
		if ((size_t)((newline != NULL ? newline : end) - line) >
		    POLICY_LINE_MAX)
			return tide_err_set(err, "a line of more than %u bytes",
			    POLICY_LINE_MAX);
		if (newline == NULL)
			break;
		if (newline == line)
			return newline + 1 - text;
		line = newline + 1;
		*seen = (size_t)(line - text); /* whole lines only */
	}
	if (n >= POLICY_REQUEST_MAX)
		return tide_err_set(err, "a request of more than %u bytes",
		    POLICY_REQUEST_MAX - 1);
	return 0;
}

/* ---- what it says ------------------------------------------------------ */

enum attribute {
	REQUEST,
	PROTOCOL_STATE,
	INSTANCE,
	CLIENT_ADDRESS,
	CLIENT_PORT,
	SASL_USERNAME,
	SENDER,
	RECIPIENT,
	QUEUE_ID,
	RECIPIENT_COUNT,
	SIZE,
	ATTRIBUTES
};

#define NAME(text)                    \
	{                             \
		text, sizeof text - 1 \
	}
static const struct {
	const char *text;
	size_t length;
} names[ATTRIBUTES] = { [REQUEST] = NAME("request"),
	[PROTOCOL_STATE] = NAME("protocol_state"),
	[INSTANCE] = NAME("instance"),
	[CLIENT_ADDRESS] = NAME("client_address"),
	[CLIENT_PORT] = NAME("client_port"),
	[SASL_USERNAME] = NAME("sasl_username"),
	[SENDER] = NAME("sender"),
	[RECIPIENT] = NAME("recipient"),
	[QUEUE_ID] = NAME("queue_id"),
	[RECIPIENT_COUNT] = NAME("recipient_count"),
	[SIZE] = NAME("size") };

static void
note(const char *value[], const char *name, size_t length, const char *text)
{
	unsigned i;

	for (i = 0; i < ATTRIBUTES; i++) {
		if (names[i].length == length &&
		    memcmp(names[i].text, name, length) == 0) {
			value[i] = text;
			return;
		}
	}
}

/* Cut the text into lines and these at their first "=". */
static int
split(char *text, size_t length, const char *value[], struct tide_err *err)
{
	char *line = text, *end = text + length, *newline, *equals;

	while (line < end && *line != '\n') {
		newline = memchr(line, '\n', (size_t)(end - line));
		if (newline == NULL)
			return tide_err_set(err, "a line without its end");
		equals = memchr(line, '=', (size_t)(newline - line));
		if (equals == NULL || equals == line)
			return tide_err_set(
			    err, "a line that is not name=value");
		*newline = '\0';
		note(value, line, (size_t)(equals - line), equals + 1);
		line = newline + 1;
	}
	return 0;
}

static enum policy_state
state_of(const char *text)
{
	if (strcasecmp(text, "RCPT") == 0)
		return POLICY_RCPT;
	if (strcasecmp(text, "END-OF-MESSAGE") == 0)
		return POLICY_END;
	if (strcasecmp(text, "DATA") == 0 || strcasecmp(text, "BDAT") == 0)
		return POLICY_DATA;
	return POLICY_OTHER;
}

/* Empty is 0; -1 for what is no number. */
static int
number(const char *text, uint64_t *n)
{
	char *end;

	*n = 0;
	if (*text == '\0')
		return 0;
	if (!isdigit((unsigned char)*text)) /* no sign, no space */
		return -1;
	errno = 0;
	*n = strtoull(text, &end, 10);
	return *end == '\0' && errno == 0 ? 0 : -1;
}

int
policy_request_parse(
    char *text, size_t length, struct policy_request *q, struct tide_err *err)
{
	const char *value[ATTRIBUTES];
	uint64_t recipients;
	unsigned i;

	for (i = 0; i < ATTRIBUTES; i++)
		value[i] = "";
	if (memchr(text, '\0', length) != NULL)
		return tide_err_set(err, "a NUL byte");
	if (split(text, length, value, err) < 0)
		return -1;
	if (strcmp(value[REQUEST], "smtpd_access_policy") != 0)
		return tide_err_set(
		    err, "«request» is not smtpd_access_policy");
	if (value[PROTOCOL_STATE][0] == '\0' || value[INSTANCE][0] == '\0')
		return tide_err_set(err, "no %s",
		    value[INSTANCE][0] == '\0' ? "instance" : "protocol_state");
	if (number(value[RECIPIENT_COUNT], &recipients) < 0 ||
	    number(value[SIZE], &q->size) < 0)
		return tide_err_set(
		    err, "recipient_count or size is no number");
	*q = (struct policy_request){ .state = state_of(value[PROTOCOL_STATE]),
		.instance = value[INSTANCE],
		.client = value[CLIENT_ADDRESS],
		.port = value[CLIENT_PORT],
		.user = value[SASL_USERNAME],
		.sender = value[SENDER],
		.recipient = value[RECIPIENT],
		.queue_id = value[QUEUE_ID],
		.recipients =
		    recipients < UINT32_MAX ? (uint32_t)recipients : UINT32_MAX,
		.size = q->size };
	return 0;
}
