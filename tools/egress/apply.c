/*
 * egress, apply - the lists into the kernel, and what would go there.
 *
 * A first apply replaces the whole table in one transaction, and its counters
 * go on from where they were; no packet ever meets half a table, or none.
 * Whoever follows knows what it applied last, and from then on sends only the
 * elements that differ, also in one transaction; if that fails - something
 * timed out meanwhile, somebody has changed our table - it replaces it all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../read/ask.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "egress.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/egress/egress.h"
#include "tidemark/settings/config.h"

#define POLL_MS 2000u
#define AWAY_S 2
#define LISTINGS 5	   /* tries for a list that did not change meanwhile */
#define CLOCK_STEP_MS 2000 /* until= is our time, the kernel counts its own */

struct follow {
	const struct tool *tool;
	struct tide_config config;
	uint64_t settings; /* their number, as the daemon's */
	uint64_t generation[TIDE_EGRESS_KINDS]; /* of its lists */
	uint64_t listed[TIDE_EGRESS_KINDS];	/* of ours */
	struct egress_list list[TIDE_EGRESS_KINDS];
	struct tide_egress_plan plan;
	uint64_t handle;	     /* of the table as we made it */
	char applied[TIDE_NAME_MAX]; /* its name; "" before the first time */
	int64_t lack;		     /* boot time's, to the daemon's; or 0 */
	int64_t clock;		     /* our time less monotonic */
	bool away;		     /* the daemon; said once */
};

/* By the daemon's time, which no clock step moves (base/clock.h). */
static uint64_t
time_now(const struct follow *f)
{
	return f->lack != 0
	    ? (uint64_t)((int64_t)tide_clock_boot_ms() + f->lack)
	    : tide_clock_wall_ms();
}

static void
take_time(struct follow *f, uint64_t now_ms)
{
	if (now_ms != 0) /* a daemon of 0.2 does not say */
		f->lack = (int64_t)now_ms - (int64_t)tide_clock_boot_ms();
}

/* ---- from the daemon --------------------------------------------------- */

/* Without a word, as it was said before. */
static bool
is_back(const struct follow *f)
{
	struct tide_err err;
	int fd = tide_line_connect(f->config.runtime_dir, &err);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static bool
is_wanted(const struct follow *f, unsigned kind)
{
	return kind != TIDE_EGRESS_BAN ||
	    f->config.egress_bans == TIDE_SWITCH_ON;
}

static bool
is_stale(const struct follow *f, unsigned kind)
{
	return is_wanted(f, kind) && f->listed[kind] != f->generation[kind];
}

static bool
any_stale(const struct follow *f)
{
	unsigned i;

	for (i = 0; i < TIDE_EGRESS_KINDS; i++)
		if (is_stale(f, i))
			return true;
	return false;
}

/* Wait for the lists to change; TOOL_OK with the numbers, or not. */
static int
poll_lists(struct follow *f, uint64_t wait_ms)
{
	static struct ask ask;
	struct tide_line_out request;
	enum answer a;
	unsigned i;

	tide_line_start(&request, "egress-poll");
	for (i = 0; i < TIDE_EGRESS_KINDS; i++)
		tide_line_add_number(&request, tide_egress_kind_name[i],
		    is_wanted(f, i) ? f->listed[i] : f->generation[i]);
	tide_line_add_number(&request, "settings", f->settings);
	tide_line_add_number(&request, "wait_ms", wait_ms);
	if (f->away && !is_back(f))
		return TOOL_ERROR;
	a = ask_send(&ask, &f->config, &request);
	if (a == ANSWER_BROKEN)
		return TOOL_ERROR;
	while ((a = ask_next(&ask)) == ANSWER_LINE) {
		for (i = 0; i < TIDE_EGRESS_KINDS; i++)
			f->generation[i] = tide_line_number(
			    &ask.line, tide_egress_kind_name[i], 0);
		f->settings = tide_line_number(&ask.line, "settings", 0);
		take_time(f, tide_line_number(&ask.line, "now_ms", 0));
	}
	ask_close(&ask);
	return a == ANSWER_DONE ? TOOL_OK : TOOL_ERROR;
}

/* What changes while it is read has another number by then. */
static int
fetch_stale(struct follow *f)
{
	struct egress_list l;
	unsigned i;
	int code = TOOL_OK;

	for (i = 0; code == TOOL_OK && i < TIDE_EGRESS_KINDS; i++) {
		if (!is_stale(f, i))
			continue;
		memset(&l, 0, sizeof l);
		code = egress_fetch(&f->config, i, &l);
		if (code != TOOL_OK) {
			egress_list_free(&l);
			break;
		}
		egress_list_free(&f->list[i]);
		f->list[i] = l;
		f->listed[i] = f->generation[i];
	}
	return code;
}

static int
make_plan(const struct follow *f, struct tide_egress_plan *plan)
{
	struct egress_list all = { 0 };
	struct tide_err err;
	bool room = true;
	unsigned i;
	size_t k;
	int code = TOOL_ERROR;

	for (i = 0; i < TIDE_EGRESS_KINDS; i++)
		for (k = 0; room && is_wanted(f, i) && k < f->list[i].count;
		     k++)
			room = egress_list_add(&all, &f->list[i].entry[k]);
	if (!room)
		code = TOOL_ERROR; /* said by then */
	else if (tide_egress_plan(
		     plan, all.entry, all.count, time_now(f), &err) < 0)
		complain("%s", err.text);
	else
		code = TOOL_OK;
	egress_list_free(&all);
	return code;
}

/* All lists as they stood at one moment, unless they change all the time. */
static int
gather(struct follow *f, struct tide_egress_plan *plan)
{
	int code, tries = 0;

	do {
		code = fetch_stale(f);
		if (code == TOOL_OK)
			code = poll_lists(f, 0);
	} while (code == TOOL_OK && any_stale(f) && ++tries < LISTINGS);
	return code == TOOL_OK ? make_plan(f, plan) : code;
}

/* ---- to the kernel ----------------------------------------------------- */

static int
run_stream(FILE *f, char **text, struct tide_err *err)
{
	bool bad = ferror(f) != 0;
	int rc;

	if (fclose(f) != 0 || bad)
		rc = tide_err_set(err, "no memory for the rules");
	else
		rc = nft_run(*text, err);
	free(*text);
	*text = NULL;
	return rc;
}

/* Where the settings name another table now, the old one goes with it. */
static int
replace_table(
    struct follow *f, const struct tide_egress_plan *plan, struct tide_err *err)
{
	const char *old =
	    f->applied[0] != '\0' ? f->applied : f->config.egress_table;
	struct egress_counts counts;
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int there = egress_counts(old, &counts, err);

	if (there < 0)
		return -1;
	out = open_memstream(&text, &size);
	if (out == NULL)
		return tide_err_errno(err, "no memory for the rules");
	if (there == 1 && strcmp(old, f->config.egress_table) != 0)
		(void)fprintf(out, "delete table inet %s\n", old);
	egress_rules(out, &f->config, plan, &counts, time_now(f));
	return run_stream(out, &text, err);
}

/* How many elements; -1 if it cannot be done this way. */
static int
send_changes(
    struct follow *f, const struct tide_egress_plan *plan, struct tide_err *err)
{
	char *text = NULL;
	size_t size = 0, n;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return -1;
	n = egress_rules_changes(out, &f->config, &f->plan, plan, time_now(f));
	if (n > 0)
		return run_stream(out, &text, err) < 0 ? -1 : (int)n;
	(void)fclose(out);
	free(text);
	return 0;
}

static void
applied(struct follow *f, struct tide_egress_plan *plan)
{
	struct tide_err err;

	tide_egress_plan_free(&f->plan);
	f->plan = *plan;
	memset(plan, 0, sizeof *plan);
	(void)snprintf(
	    f->applied, sizeof f->applied, "%s", f->config.egress_table);
	if (kernel_table(f->applied, &f->handle, &err) != 1)
		f->handle = 0;
}

static void
say_applied(
    const struct tool *t, const struct tide_config *c, size_t n, uint64_t ms)
{
	struct json j;

	if (!t->json) {
		printf("table inet %s: %zu elements in one transaction, "
		       "%.2f s\n",
		    c->egress_table, n, (double)ms / 1000);
	} else {
		j = json_record(stdout, "egress-applied");
		json_text(&j, "table", c->egress_table);
		json_number(&j, "elements", n);
		json_number(&j, "took_ms", ms);
		json_record_end(&j);
	}
	(void)fflush(stdout); /* who follows never ends */
}

static int
apply_all(struct follow *f, struct tide_egress_plan *plan)
{
	uint64_t began = tide_clock_mono_ms();
	size_t n = plan->count;
	struct tide_err err;

	if (replace_table(f, plan, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	applied(f, plan);
	say_applied(f->tool, &f->config, n, tide_clock_mono_ms() - began);
	return TOOL_OK;
}

/* ---- following --------------------------------------------------------- */

static int64_t
clock_now(const struct follow *f)
{
	return (int64_t)time_now(f) - (int64_t)tide_clock_mono_ms();
}

/* Has somebody taken or replaced our table, or set the clock? */
static bool
is_disturbed(struct follow *f)
{
	int64_t step = clock_now(f) - f->clock;
	struct tide_err err;
	uint64_t handle;

	if (step > CLOCK_STEP_MS || step < -CLOCK_STEP_MS) {
		f->clock = clock_now(f);
		return true;
	}
	if (kernel_table(f->applied, &handle, &err) == 1 && handle == f->handle)
		return false;
	complain(
	    "table inet %s is not as it was left; making it anew", f->applied);
	return true;
}

/* The daemon goes by new settings: so do we, if they can be read. */
static bool
take_settings(struct follow *f)
{
	static struct tide_config config;

	if (tool_config(f->tool, &config) < 0)
		return false;
	f->config = config;
	return true;
}

/* False if only a new table will do. */
static bool
change_some(struct follow *f, struct tide_egress_plan *plan, uint64_t began)
{
	struct tide_err err;
	int n;

	if (plan->levels != f->plan.levels)
		return false;
	n = send_changes(f, plan, &err);
	if (n < 0)
		return false;
	applied(f, plan);
	if (n > 0)
		say_applied(f->tool, &f->config, (size_t)n,
		    tide_clock_mono_ms() - began);
	return true;
}

static int
bring_in_step(struct follow *f, bool whole)
{
	uint64_t began = tide_clock_mono_ms();
	struct tide_egress_plan plan = { 0 };
	int code = gather(f, &plan);

	if (code == TOOL_OK && (whole || !change_some(f, &plan, began)))
		code = apply_all(f, &plan);
	tide_egress_plan_free(&plan);
	return code;
}

static void
rest(struct follow *f)
{
	const struct timespec nap = { .tv_sec = AWAY_S };

	if (!f->away)
		complain("the kernel goes on with what it has; it will be "
			 "tried again");
	f->away = true;
	(void)nanosleep(&nap, NULL);
}

/* Once; false if it has to be tried again. */
static bool
follow_once(struct follow *f, bool behind)
{
	uint64_t settings = f->settings;
	bool whole = behind;

	if (poll_lists(f, behind ? 0 : POLL_MS) != TOOL_OK)
		return false;
	f->away = false;
	if (f->settings != settings)
		whole = take_settings(f) || whole;
	if (is_disturbed(f))
		whole = true;
	if (!whole && !any_stale(f))
		return true;
	return bring_in_step(f, whole) == TOOL_OK;
}

static void
follow(struct follow *f)
{
	bool behind = false;

	for (;;) {
		behind = !follow_once(f, behind);
		if (behind)
			rest(f);
	}
}

/* ---- the words --------------------------------------------------------- */

static int
begin(struct follow *f, struct tide_egress_plan *plan)
{
	int code = poll_lists(f, 0);

	return code == TOOL_OK ? gather(f, plan) : code;
}

int
egress_apply(const struct tool *t, const struct egress_options *o)
{
	static struct follow f;
	struct tide_egress_plan plan = { 0 };
	int code;

	f.tool = t;
	f.clock = clock_now(&f);
	if (tool_config(t, &f.config) < 0)
		return TOOL_ERROR;
	code = begin(&f, &plan);
	while (o->follow && code != TOOL_OK) {
		rest(&f);
		code = begin(&f, &plan);
	}
	if (code == TOOL_OK)
		code = apply_all(&f, &plan);
	if (code == TOOL_OK && o->follow)
		follow(&f);
	tide_egress_plan_free(&plan);
	tide_egress_plan_free(&f.plan);
	return code;
}

int
egress_show(const struct tool *t)
{
	static const struct egress_counts none;
	static struct follow f;
	struct tide_egress_plan plan = { 0 };
	int code;

	f.tool = t;
	if (tool_config(t, &f.config) < 0)
		return TOOL_ERROR;
	code = begin(&f, &plan);
	if (code == TOOL_OK)
		egress_rules(stdout, &f.config, &plan, &none, time_now(&f));
	tide_egress_plan_free(&plan);
	return code;
}
