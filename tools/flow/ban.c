/*
 * ban - ban, unban, banned: who is refused, and until when.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../order.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../tool.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/line.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"

#define BAN_DEFAULT_MS 3600000u

static const struct option no_options[] = { { NULL, 0, NULL, 0 } };

static const char *
got(const struct tide_line *line, const char *key)
{
	const char *value = tide_line_get(line, key);

	return value != NULL ? value : "";
}

/* ---- ban --------------------------------------------------------------- */

static void
say_banned(const struct tool *t, const struct tide_line *line)
{
	uint64_t since = tide_line_number(line, "since_ms", 0);
	uint64_t until = tide_line_number(line, "until_ms", 0);
	uint64_t remaining = tide_line_number(line, "remaining_ms", 0);
	const char *reason = got(line, "reason");
	char when[SHOW_MAX], left[SHOW_MAX];
	struct json j;

	if (t->json) {
		j = json_record(stdout, "banned");
		json_text(&j, "key", got(line, "key"));
		json_text(&j, "reason", reason);
		json_time(&j, "since", since);
		json_time(&j, "until", until);
		json_number(&j, "remaining_ms", remaining);
		json_record_end(&j);
		return;
	}
	printf("%s is banned until %s (%s)%s%s\n", got(line, "key"),
	    show_moment(until, when, sizeof when),
	    show_span(remaining, left, sizeof left),
	    reason[0] != '\0' ? ": " : "", reason);
}

int
run_ban(struct tool *t)
{
	enum { OPT_FOR = OPT_OWN, OPT_REASON };
	static const struct option longs[] = {
		{ "for", required_argument, NULL, OPT_FOR },
		{ "reason", required_argument, NULL, OPT_REASON },
		{ NULL, 0, NULL, 0 },
	};
	static struct order o = { .each = say_banned };
	uint64_t for_ms = BAN_DEFAULT_MS;
	const char *reason = "";
	struct tide_line_out request;
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == OPT_FOR)
			for_ms = tool_for(t, optarg, "no ban");
		else
			reason = optarg;
	}
	if (strlen(reason) > TIDE_BAN_REASON_MAX)
		tool_misused(t, "a reason has at most %d characters",
		    TIDE_BAN_REASON_MAX);
	tide_line_start(&request, "ban");
	tide_line_add(&request, "key", tool_arguments(t, 1)[0]);
	tide_line_add_number(&request, "for_ms", for_ms);
	tide_line_add(&request, "reason", reason);
	return order_give(t, &o, &request);
}

/* ---- unban ------------------------------------------------------------- */

static void
say_unbanned(const struct tool *t, const struct tide_line *line)
{
	uint64_t now = tide_line_number(line, "now_ms", tide_clock_wall_ms());
	uint64_t until = tide_line_number(line, "until_ms", 0);
	const char *group = got(line, "group"), *reason = got(line, "reason");
	char left[SHOW_MAX];
	struct json j;

	if (t->json) {
		j = json_record(stdout, "unbanned");
		json_text(&j, "key", got(line, "key"));
		json_number(&j, "remaining_ms", until > now ? until - now : 0);
		json_text(&j, "reason", reason);
		json_record_end(&j);
		return;
	}
	printf("%s is no longer banned", got(line, "key"));
	if (until > now)
		printf("; it was for another %s (%s%s%s)",
		    show_span(until - now, left, sizeof left),
		    group[0] != '\0' ? group : "by hand",
		    reason[0] != '\0' ? ": " : "", reason);
	putchar('\n');
}

static int
unban_one(const struct tool *t, const char *key)
{
	static struct order o = { .each = say_unbanned };
	struct tide_line_out request;

	tide_line_start(&request, "unban");
	tide_line_add(&request, "key", key);
	return order_give(t, &o, &request);
}

/* Every ban that is of the key; the daemon speaks if there is none. */
static int
unban_all(const struct tool *t, const struct view *v, const char *text)
{
	uint64_t now = tide_map_now_ms(v->map);
	struct tide_ban ban;
	struct tide_key key;
	char last[sizeof ban.key] = "";
	unsigned found = 0;
	int code = TOOL_OK, one;
	uint32_t i = 0;

	if (view_key(v, text, &key) < 0)
		return TOOL_ERROR;
	while (i < v->bans) {
		if (!view_ban(v, i, now, &ban) || !view_is_of(&key, ban.key) ||
		    strcmp(ban.key, last) == 0) {
			i++;
			continue;
		}
		/* those behind it move up: look here once more */
		(void)snprintf(last, sizeof last, "%s", ban.key);
		found++;
		one = unban_one(t, ban.key);
		code = one > code ? one : code;
	}
	return found > 0 ? code : unban_one(t, key.text);
}

int
run_unban(struct tool *t)
{
	struct view v;
	int i, one, code = TOOL_OK;

	while (tool_getopt(t, "", no_options) != -1)
		;
	if (optind == t->argc)
		tool_misused(t, "whom?");
	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	for (i = optind; i < t->argc; i++) {
		one = unban_all(t, &v, t->argv[i]);
		code = one > code ? one : code;
	}
	view_close(&v);
	return code;
}

/* ---- banned ------------------------------------------------------------ */

static void
put_json(const struct tide_ban *b, uint64_t now)
{
	struct json j = json_record(stdout, "ban");
	bool manual = b->group == TIDE_BAN_MANUAL;

	json_text(&j, "key", b->key);
	json_bool(&j, "by_hand", manual);
	if (manual) {
		json_null(&j, "group");
		json_null(&j, "profile");
	} else {
		json_text(&j, "group", view_ban_group(b));
		if (b->profile[0] != '\0')
			json_text(&j, "profile", b->profile);
		else
			json_null(&j, "profile"); /* everywhere */
	}
	json_text(&j, "reason", b->reason);
	json_time(&j, "since", b->since_ms);
	json_time(&j, "until", b->until_ms);
	json_number(&j, "remaining_ms", b->until_ms - now);
	json_number(&j, "times", b->times);
	json_record_end(&j);
}

static void
put_text(const struct tide_ban *b, uint64_t now)
{
	char since[SHOW_MAX], until[SHOW_MAX], left[SHOW_MAX];

	printf("%s%s%s  %s%s%s, since %s, until %s (%s left), %u time%s\n",
	    tone(TONE_STRONG), b->key, tone(TONE_PLAIN), view_ban_group(b),
	    b->reason[0] != '\0' ? ": " : "", b->reason,
	    show_moment(b->since_ms, since, sizeof since),
	    show_moment(b->until_ms, until, sizeof until),
	    show_span(b->until_ms - now, left, sizeof left), b->times,
	    plural(b->times));
}

static int
list_bans(const struct tool *t, const struct view *v, const char *text)
{
	uint64_t now = tide_map_now_ms(v->map);
	struct tide_ban ban;
	struct tide_key key;
	unsigned found = 0;
	uint32_t i;

	if (text != NULL && view_key(v, text, &key) < 0)
		return TOOL_ERROR;
	for (i = 0; i < v->bans; i++) {
		if (!view_ban(v, i, now, &ban) ||
		    (text != NULL && !view_meets(&key, ban.key)))
			continue;
		found++;
		if (t->json)
			put_json(&ban, now);
		else
			put_text(&ban, now);
	}
	if (found == 0 && !t->json)
		printf("%s%s\n", text != NULL ? "no ban stands on " : "nobody ",
		    text != NULL ? key.text : "is banned");
	return found > 0 ? TOOL_OK : TOOL_NO;
}

int
run_banned(struct tool *t)
{
	const char *text = NULL;
	struct view v;
	int code;

	while (tool_getopt(t, "", no_options) != -1)
		;
	if (optind < t->argc)
		text = tool_arguments(t, 1)[0];
	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	code = list_bans(t, &v, text);
	view_close(&v);
	return code;
}
