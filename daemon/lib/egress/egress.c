/*
 * egress - entries as people write them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"

#define BLANKS " \t\r\n"

const char *const tide_egress_kind_name[TIDE_EGRESS_KINDS] = { "deny", "permit",
	"ban" };
const char *const tide_egress_verdict_name[TIDE_EGRESS_VERDICTS] = {
	"unchecked", "good", "unreachable", "silent", "relay", "unclear"
};

bool
tide_egress_is_over(const struct tide_egress *e, uint64_t now_ms)
{
	return e->until_ms != 0 && e->until_ms <= now_ms;
}

static bool
same_net(const struct tide_net *a, const struct tide_net *b)
{
	return a->bits == b->bits && memcmp(&a->ip, &b->ip, sizeof a->ip) == 0;
}

bool
tide_egress_is_same(const struct tide_egress *a, const struct tide_egress *b)
{
	return a->kind == b->kind && same_net(&a->customer, &b->customer) &&
	    same_net(&a->net, &b->net);
}

static bool
is_v4(const struct tide_net *net)
{
	return net->bits >= 96 && tide_ip_is_v4(&net->ip);
}

/* ---- reading ----------------------------------------------------------- */

/* The next word, or NULL at the end or where a comment begins. */
static char *
next_word(char **rest)
{
	char *word = strtok_r(NULL, BLANKS, rest);

	return word == NULL || word[0] == '#' || word[0] == ';' ? NULL : word;
}

static int
read_until(
    const char *word, uint64_t now_ms, uint64_t *until_ms, struct tide_err *err)
{
	uint64_t ms;

	if (strncmp(word, "for=", 4) == 0) {
		if (tide_time_parse(word + 4, &ms, err) < 0)
			return -1;
		if (ms == 0 || ms > TIDE_EGRESS_LONGEST_MS)
			return tide_err_set(err,
			    "«%.40s» is not more than 0 and at most 100 years",
			    word);
		*until_ms = now_ms + ms;
		return 0;
	}
	if (tide_clock_parse(word + strlen("until="), now_ms, &ms, err) < 0)
		return -1;
	if (ms <= now_ms)
		return tide_err_set(err, "«%.40s» is over already", word);
	*until_ms = ms;
	return 0;
}

/* It is shown on terminals: one line, printable. */
static int
add_reason(struct tide_egress *e, const char *word, struct tide_err *err)
{
	size_t at = strlen(e->reason), n = strlen(word), i;

	if (at + (at > 0) + n > TIDE_EGRESS_REASON_MAX)
		return tide_err_set(err, "a reason has at most %d characters",
		    TIDE_EGRESS_REASON_MAX);
	if (at > 0)
		e->reason[at++] = ' ';
	for (i = 0; i < n; i++)
		e->reason[at + i] =
		    (char)(iscntrl((unsigned char)word[i]) ? '?' : word[i]);
	return 0;
}

static int
check(const struct tide_egress *e, const char *word, struct tide_err *err)
{
	if (e->kind != TIDE_EGRESS_PERMIT &&
	    e->net.bits == (is_v4(&e->net) ? 96 : 0))
		return tide_err_set(err, "«%s» is everybody", word);
	if (e->kind == TIDE_EGRESS_PERMIT &&
	    is_v4(&e->customer) != is_v4(&e->net))
		return tide_err_set(err,
		    "a customer's IPv%d address does not reach «%s»",
		    is_v4(&e->customer) ? 4 : 6, word);
	return 0;
}

/* The words after the networks. */
static int
read_rest(
    struct tide_egress *e, char **rest, uint64_t now_ms, struct tide_err *err)
{
	char *word;
	int rc = 0;

	while (rc == 0 && (word = next_word(rest)) != NULL) {
		if (strncmp(word, "until=", 6) == 0 ||
		    strncmp(word, "for=", 4) == 0)
			rc = read_until(word, now_ms, &e->until_ms, err);
		else
			rc = add_reason(e, word, err);
	}
	return rc;
}

int
tide_egress_read(enum tide_egress_kind kind, char *line, uint64_t now_ms,
    struct tide_egress *e, struct tide_err *err)
{
	char *rest = NULL, *word = strtok_r(line, BLANKS, &rest);

	memset(e, 0, sizeof *e);
	e->kind = (uint8_t)kind;
	e->since_ms = now_ms;
	if (word == NULL || word[0] == '#' || word[0] == ';')
		return 0;
	if (kind == TIDE_EGRESS_PERMIT) {
		if (tide_net_parse(word, &e->customer, err) < 0)
			return -1;
		word = next_word(&rest);
		if (word == NULL)
			return tide_err_set(err,
			    "a customer, but no server: a line has "
			    "CUSTOMER SERVER");
	}
	if (tide_net_parse(word, &e->net, err) < 0 || check(e, word, err) < 0)
		return -1;
	return read_rest(e, &rest, now_ms, err) < 0 ? -1 : 1;
}

int
tide_egress_write(const struct tide_egress *e, char *buf, size_t size)
{
	struct tide_key customer = { 0 }, net;
	char until[40] = "";

	tide_key_net(&e->net, &net);
	if (e->kind == TIDE_EGRESS_PERMIT)
		tide_key_net(&e->customer, &customer);
	if (e->until_ms != 0) /* whole seconds, and none too few */
		(void)snprintf(until, sizeof until, " until=@%llu",
		    (unsigned long long)(e->until_ms + 999) / 1000);
	return snprintf(buf, size, "%s%s%s%s%s%s", customer.text,
	    customer.length > 0 ? " " : "", net.text, until,
	    e->reason[0] != '\0' ? " " : "", e->reason);
}
