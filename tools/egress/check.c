/*
 * egress, check - probe registered servers, and have the daemon remember it.
 */
#include <stdlib.h>
#include <string.h>

#include "../order.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "egress.h"
#include "tidemark/base/line.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

#define SAID 160

static const char *const verdict_means[TIDE_EGRESS_VERDICTS] = {
	"was not checked", "is good: it speaks SMTP and relays for no stranger",
	"cannot be reached", "does not speak SMTP",
	"is an open relay: it takes mail from anybody for anybody",
	"does not say what it would do"
};

/* How many registrations there are of it, or -1. */
static int
remember(
    const struct tool *t, const char *server, enum tide_egress_verdict verdict)
{
	static struct order o;
	struct tide_line_out request;

	tide_line_start(&request, "egress-checked");
	tide_line_add(&request, "server", server);
	tide_line_add_number(&request, "verdict", verdict);
	if (order_give(t, &o, &request) != TOOL_OK)
		return -1;
	return (int)tide_line_number(&o.said, "entries", 0);
}

static void
print(const struct tool *t, const char *server,
    enum tide_egress_verdict verdict, const char *said, int registered)
{
	struct json j;

	if (!t->json) {
		printf("%s%s%s %s%s%s%s%s\n",
		    tone(verdict == TIDE_EGRESS_GOOD ? TONE_GOOD : TONE_BAD),
		    server, tone(TONE_PLAIN), verdict_means[verdict],
		    said[0] != '\0' ? " («" : "", said,
		    said[0] != '\0' ? "»)" : "",
		    registered == 0 ? "; it is registered for nobody" : "");
		(void)fflush(stdout); /* the next one may take its time */
		return;
	}
	j = json_record(stdout, "egress-check");
	json_text(&j, "server", server);
	json_text(&j, "verdict", tide_egress_verdict_name[verdict]);
	json_text(&j, "said", said);
	json_number(&j, "entries", registered > 0 ? (uint64_t)registered : 0);
	json_record_end(&j);
}

static int
check_one(const struct tool *t, const struct egress_options *o,
    const struct tide_ip *ip)
{
	struct tide_net net = { .ip = *ip, .bits = 128 };
	enum tide_egress_verdict verdict;
	struct tide_key key;
	char said[SAID];
	int registered;

	tide_key_net(&net, &key);
	verdict = egress_probe(ip, o, said, sizeof said);
	registered = remember(t, key.text, verdict);
	print(t, key.text, verdict, said, registered);
	if (registered < 0)
		return TOOL_ERROR;
	return verdict == TIDE_EGRESS_GOOD ? TOOL_OK : TOOL_NO;
}

static int
order(const void *a, const void *b)
{
	const struct tide_egress *one = a, *other = b;

	return memcmp(&one->net, &other->net, sizeof one->net);
}

/* Every server that is registered by its own address, once. */
static int
check_all(const struct tool *t, const struct egress_options *o)
{
	struct egress_list l = { 0 };
	struct tide_config config;
	int code, one;
	size_t i;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	code = egress_fetch(&config, TIDE_EGRESS_PERMIT, &l);
	if (l.count > 1)
		qsort(l.entry, l.count, sizeof *l.entry, order);
	for (i = 0; code != TOOL_ERROR && i < l.count; i++) {
		if (l.entry[i].net.bits != 128 ||
		    (i > 0 && order(&l.entry[i - 1], &l.entry[i]) == 0))
			continue;
		one = check_one(t, o, &l.entry[i].net.ip);
		code = one > code ? one : code;
	}
	egress_list_free(&l);
	return code;
}

int
egress_check(
    const struct tool *t, const struct egress_options *o, char **words, int n)
{
	int i, one, code = TOOL_OK;
	struct tide_ip ip;

	for (i = 0; i < n; i++)
		if (!tide_ip_parse(words[i], &ip))
			tool_misused(t, "«%s» is no address", words[i]);
	if (n == 0)
		return check_all(t, o);
	for (i = 0; i < n && code != TOOL_ERROR; i++) {
		(void)tide_ip_parse(words[i], &ip);
		one = check_one(t, o, &ip);
		code = one > code ? one : code;
	}
	return code;
}
