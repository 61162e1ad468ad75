/*
 * report, audit - tell the daemon of blocked mail; have it check its books.
 */
#include <stdio.h>
#include <string.h>

#include "../order.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "decision.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/ring.h"

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

/* The last decision about a message; false if the ring has none. */
static bool
find_message(const struct view *v, const char *qid, struct tide_decision *d)
{
	const struct tide_ring *r = v->map->ring;
	uint64_t n = tide_ring_next(r), oldest = tide_ring_oldest(r);

	while (n-- > oldest)
		if (tide_ring_get(r, n, d) == TIDE_RING_HERE &&
		    d->qid[0] != '\0' && strcmp(d->qid, qid) == 0)
			return true;
	return false;
}

static void
complain_of_reach(const struct view *v, const char *qid)
{
	const struct tide_ring *r = v->map->ring;
	uint64_t n, next = tide_ring_next(r);
	struct tide_decision d;
	char since[SHOW_MAX];

	for (n = tide_ring_oldest(r); n < next; n++)
		if (tide_ring_get(r, n, &d) == TIDE_RING_HERE)
			break;
	if (n >= next)
		complain("%s is not known: no decision is", qid);
	else
		complain("%s is not among the last %llu decisions, which reach "
			 "back to %s; take --sender and --ip from the log",
		    qid, (unsigned long long)(next - tide_ring_oldest(r)),
		    show_moment(d.wall_ms, since, sizeof since));
}

/* The keys as the milter had them, under its profile. */
static int
add_message(
    const struct tool *t, struct tide_line_out *request, const char *qid)
{
	struct tide_config config;
	struct tide_decision d;
	struct tide_err err;
	struct tide_ip ip;
	struct view view;
	int code = TOOL_NO;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	if (view_open(&view, &config, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	if (find_message(&view, qid, &d)) {
		tide_line_add(request, "sender_key", d.sender);
		if (tide_ip_parse(d.client, &ip)) /* it may be "local" */
			tide_line_add(request, "ip", d.client);
		tide_line_add(
		    request, "profile", profile_name(&view, d.profile));
		code = TOOL_OK;
	} else {
		complain_of_reach(&view, qid);
	}
	view_close(&view);
	return code;
}

struct reported {
	const char *sender, *ip, *profile, *qid;
};

static struct reported
read_options(struct tool *t)
{
	enum { OPT_SENDER = OPT_OWN, OPT_IP, OPT_PROFILE, OPT_QID };
	static const struct option longs[] = {
		{ "sender", required_argument, NULL, OPT_SENDER },
		{ "ip", required_argument, NULL, OPT_IP },
		{ "profile", required_argument, NULL, OPT_PROFILE },
		{ "queue-id", required_argument, NULL, OPT_QID },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const names[] = { "content-blocked", NULL };
	struct reported who = { .sender = NULL };
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == OPT_SENDER)
			who.sender = optarg;
		else if (c == OPT_IP)
			who.ip = optarg;
		else if (c == OPT_QID)
			who.qid = optarg;
		else
			who.profile = optarg;
	}
	(void)tool_choice(t, NULL, tool_arguments(t, 1)[0], names);
	if (who.qid != NULL && (who.sender || who.ip || who.profile))
		tool_misused(t, "--queue-id says it all: nothing beside it");
	if (who.qid == NULL && (who.sender == NULL || who.ip == NULL))
		tool_misused(
		    t, "--queue-id, or --sender and --ip, say who it was");
	return who;
}

int
run_report(struct tool *t)
{
	static struct order o = { .each = say_charged };
	struct reported who = read_options(t);
	struct tide_line_out request;
	int code;

	tide_line_start(&request, "report");
	tide_line_add(&request, "kind", "content-blocked");
	if (who.qid != NULL) {
		code = add_message(t, &request, who.qid);
		if (code != TOOL_OK)
			return code;
	} else {
		tide_line_add(&request, "sender", who.sender);
		tide_line_add(&request, "ip", who.ip);
	}
	if (who.profile != NULL)
		tide_line_add(&request, "profile", who.profile);
	return order_give(t, &o, &request);
}
