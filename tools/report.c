/*
 * report, audit - tell the daemon of blocked mail; have it check its books.
 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "order.h"
#include "output.h"

static const char *
got(const struct tide_line *line, const char *key)
{
	const char *value = tide_line_get(line, key);

	return value != NULL ? value : "";
}

/* ---- audit ------------------------------------------------------------- */

static void
say_audit(const struct tool *t, const struct tide_line *line)
{
	uint64_t faults = tide_line_number(line, "faults", 1);
	struct json j;

	if (t->json) {
		j = json_record(stdout, "audit");
		json_number(&j, "faults", faults);
		if (faults > 0)
			json_text(&j, "first", got(line, "text"));
		else
			json_null(&j, "first");
		json_record_end(&j);
	} else if (faults == 0) {
		printf("all books of the buckets agree\n");
	} else {
		printf("%llu fault%s, the first: %s\n",
		    (unsigned long long)faults, plural(faults),
		    got(line, "text"));
	}
}

int
run_audit(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	static struct order o = { .each = say_audit };
	struct tide_line_out request;
	int code;

	while (tool_getopt(t, "", none) != -1)
		;
	(void)tool_arguments(t, 0);
	tide_line_start(&request, "audit");
	code = order_give(t, &o, &request);
	if (code == TOOL_NO)
		return TOOL_ERROR; /* nothing was checked */
	return code == TOOL_OK && tide_line_number(&o.said, "faults", 1) > 0
	    ? TOOL_NO
	    : code;
}

/* ---- report ------------------------------------------------------------ */

static void
say_charged(const struct tool *t, const struct tide_line *line)
{
	struct json j;

	if (!t->json) {
		printf("one drop more for %s in %s of %s\n", got(line, "key"),
		    got(line, "group"), got(line, "profile"));
		return;
	}
	j = json_record(stdout, "charged");
	json_text(&j, "key", got(line, "key"));
	json_text(&j, "profile", got(line, "profile"));
	json_text(&j, "group", got(line, "group"));
	json_record_end(&j);
}

int
run_report(struct tool *t)
{
	enum { OPT_SENDER = OPT_OWN, OPT_IP, OPT_PROFILE };
	static const struct option longs[] = {
		{ "sender", required_argument, NULL, OPT_SENDER },
		{ "ip", required_argument, NULL, OPT_IP },
		{ "profile", required_argument, NULL, OPT_PROFILE },
		{ NULL, 0, NULL, 0 },
	};
	static struct order o = { .each = say_charged };
	const char *sender = NULL, *ip = NULL, *profile = NULL;
	struct tide_line_out request;
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == OPT_SENDER)
			sender = optarg;
		else if (c == OPT_IP)
			ip = optarg;
		else
			profile = optarg;
	}
	if (strcmp(tool_arguments(t, 1)[0], "content-blocked") != 0)
		tool_misused(t, "only content-blocked can be reported");
	if (sender == NULL || ip == NULL)
		tool_misused(t, "--sender and --ip say who it was");
	tide_line_start(&request, "report");
	tide_line_add(&request, "kind", "content-blocked");
	tide_line_add(&request, "sender", sender);
	tide_line_add(&request, "ip", ip);
	if (profile != NULL)
		tide_line_add(&request, "profile", profile);
	return order_give(t, &o, &request);
}
