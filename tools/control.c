/*
 * control - reload, bypass, seal, checkpoint: what the daemon is told to do.
 */
#include <stdio.h>
#include <string.h>

#include "order.h"
#include "read/json.h"
#include "read/output.h"
#include "read/view.h"
#include "tool.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

static const struct option no_options[] = { { NULL, 0, NULL, 0 } };

#define BYPASS_DEFAULT_MS 3600000u

/* ---- one request -------------------------------------------------------- */

static void
say_done(const struct tool *t, const char *type, const char *sentence)
{
	struct json j;

	if (!t->json) {
		printf("%s\n", sentence);
		return;
	}
	j = json_record(stdout, type);
	json_bool(&j, "done", true);
	json_record_end(&j);
}

static int
give_plain(struct tool *t, const char *word, const char *sentence)
{
	static struct order o;
	struct tide_line_out request;
	int code;

	while (tool_getopt(t, "", no_options) != -1)
		;
	(void)tool_arguments(t, 0);
	tide_line_start(&request, word);
	code = order_give(t, &o, &request);
	if (code == TOOL_OK)
		say_done(t, word, sentence);
	return code;
}

int
run_reload(struct tool *t)
{
	return give_plain(t, "reload",
	    "the daemon has read its configuration again and goes by it");
}

int
run_seal(struct tool *t)
{
	return give_plain(t, "seal", "the window is in the archive");
}

int
run_checkpoint(struct tool *t)
{
	return give_plain(
	    t, "checkpoint", "the live map is saved in the archive");
}

/* ---- bypass ------------------------------------------------------------ */

static void
say_bypass(const struct tool *t, uint64_t until_ms, uint64_t now)
{
	char when[SHOW_MAX], left[SHOW_MAX];
	bool on = until_ms > now;
	struct json j;

	if (t->json) {
		j = json_record(stdout, "bypass");
		json_bool(&j, "on", on);
		json_time(&j, "until", on ? until_ms : 0);
		json_record_end(&j);
	} else if (on) {
		printf("bypass on: every profile accepts until %s (%s left)\n",
		    show_moment(until_ms, when, sizeof when),
		    show_span(until_ms - now, left, sizeof left));
	} else {
		printf("bypass off\n");
	}
}

static int
set_bypass(const struct tool *t, uint64_t for_ms)
{
	static struct order o;
	struct tide_line_out request;
	int code;

	tide_line_start(&request, "bypass");
	tide_line_add_number(&request, "for_ms", for_ms);
	code = order_give(t, &o, &request);
	if (code == TOOL_OK)
		say_bypass(t, tide_line_number(&o.said, "until_ms", 0),
		    tide_line_number(&o.said, "now_ms", tide_clock_wall_ms()));
	return code;
}

static int
show_bypass(const struct tool *t)
{
	struct tide_config config;
	struct tide_err err;
	struct view view;
	uint64_t until, now;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	if (view_open(&view, &config, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	until = atomic_load(&view.map->control->bypass_until_ms);
	now = tide_map_now_ms(view.map);
	view_close(&view);
	say_bypass(t, until, now);
	return until > now ? TOOL_OK : TOOL_NO;
}

int
run_bypass(struct tool *t)
{
	static const struct option longs[] = {
		{ "for", required_argument, NULL, OPT_OWN },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const names[] = { "on", "off", "status", NULL };
	uint64_t for_ms = 0;
	const char *what;

	while (tool_getopt(t, "", longs) != -1)
		for_ms = tool_for(t, optarg, "no bypass; say off");
	what = tool_arguments(t, 1)[0];
	if (tool_choice(t, NULL, what, names) == 0)
		return set_bypass(t, for_ms != 0 ? for_ms : BYPASS_DEFAULT_MS);
	if (for_ms != 0)
		tool_misused(t, "--for belongs to on");
	if (strcmp(what, "off") == 0)
		return set_bypass(t, 0);
	return show_bypass(t);
}
