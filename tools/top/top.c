/*
 * top - a live look into the shared map: options; batch and JSON output.
 */
#include <ctype.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "../read/output.h"
#include "../tool.h"
#include "top.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"

#define WAIT_MS 100
#define BATCH_WAIT_MS 5000u

struct wish {
	bool batch, waits;
	uint64_t samples; /* 0: for ever */
	uint64_t wait_ms; /* for a daemon */
	const char *sort;
};

static volatile sig_atomic_t stopped;

static void
on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void
pause_ms(uint64_t ms)
{
	const struct timespec t = { .tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&t, NULL);
}

/* ---- options ----------------------------------------------------------- */

static double
read_interval(const struct tool *t, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end != '\0' || !(s >= TOP_INTERVAL_LEAST) ||
	    s > TOP_INTERVAL_MOST)
		tool_misused(t, "-d is in seconds, %g to %g",
		    TOP_INTERVAL_LEAST, TOP_INTERVAL_MOST);
	return s;
}

static unsigned
read_view(const struct tool *t, const char *name)
{
	const char *names[TOP_VIEWS + 1] = { NULL };
	char small[TOP_VIEWS][16];
	unsigned i;

	for (i = 0; i < TOP_VIEWS; i++)
		if (strcasecmp(top_views[i]->name, name) == 0)
			return i;
	for (i = 0; i < TOP_VIEWS; i++) {
		(void)snprintf(
		    small[i], sizeof small[i], "%s", top_views[i]->name);
		small[i][0] = (char)tolower((unsigned char)small[i][0]);
		names[i] = small[i];
	}
	return (unsigned)tool_choice(t, "--view", name, names);
}

static void
read_number(const struct tool *t, const char *text, uint64_t *n)
{
	struct tide_err err;

	if (tide_count_parse(text, n, &err) < 0)
		tool_misused(t, "-n: %s", err.text);
}

enum { OPT_READONLY = OPT_OWN, OPT_VIEW, OPT_WAIT, OPT_NOTE };

static void
take_option(struct top *t, struct wish *w, int c)
{
	struct tide_err err;

	switch (c) {
	case 'b':
		w->batch = true;
		break;
	case '1':
		w->batch = true;
		w->samples = 1;
		break;
	case 'n':
		w->batch = true;
		read_number(t->tool, optarg, &w->samples);
		break;
	case 's':
		w->sort = optarg;
		break;
	case 'F':
		(void)snprintf(t->filter, sizeof t->filter, "%s", optarg);
		break;
	case 'd':
		t->interval = read_interval(t->tool, optarg);
		break;
	case 'U':
		t->ascii = true;
		break;
	case OPT_READONLY:
		t->readonly = true;
		break;
	case OPT_NOTE:
		t->note = optarg;
		break;
	case OPT_VIEW:
		t->which = read_view(t->tool, optarg);
		break;
	default:
		w->waits = true;
		if (tide_time_parse(optarg, &w->wait_ms, &err) < 0)
			tool_misused(t->tool, "--wait: %s", err.text);
	}
}

static void
take_sort(struct top *t, const char *name)
{
	const struct top_view *v = top_views[t->which];
	static char names[512];
	unsigned i;
	int c;

	if (name == NULL)
		return;
	c = top_column(t, name);
	for (i = 0; c < 0 && i < v->columns; i++) {
		(void)strncat(names, " ", sizeof names - strlen(names) - 1);
		(void)strncat(
		    names, v->column[i].name, sizeof names - strlen(names) - 1);
	}
	if (c < 0)
		tool_misused(
		    t->tool, "-s «%s»: the columns are%s", name, names);
	t->sort[t->which] = (unsigned)c;
	t->descending[t->which] = !v->column[c].text;
}

static void
read_options(struct top *t, struct wish *w)
{
	static const struct option longs[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "sort", required_argument, NULL, 's' },
		{ "filter", required_argument, NULL, 'F' },
		{ "interval", required_argument, NULL, 'd' },
		{ "ascii", no_argument, NULL, 'U' },
		{ "readonly", no_argument, NULL, OPT_READONLY },
		{ "view", required_argument, NULL, OPT_VIEW },
		{ "wait", required_argument, NULL, OPT_WAIT },
		{ "note", required_argument, NULL, OPT_NOTE },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = tool_getopt(t->tool, "b1n:s:F:d:U", longs)) != -1)
		take_option(t, w, c);
	(void)tool_arguments(t->tool, 0);
	w->batch = w->batch || t->tool->json;
	take_sort(t, w->sort);
}

/* ---- batch ------------------------------------------------------------- */

/* True once there is a map. */
static bool
wait_for_daemon(struct top *t, const struct wish *w)
{
	uint64_t until = tide_clock_mono_ms() + w->wait_ms;
	bool said = false;

	while (!top_sample(t) && !t->attached && !stopped) {
		if (tide_clock_mono_ms() >= until) {
			complain(
			    "there is no live map to read: %s", t->why.text);
			return false;
		}
		if (!said)
			complain("waiting for the daemon: %s", t->why.text);
		said = true;
		pause_ms(WAIT_MS);
	}
	return t->attached;
}

static int
batch(struct top *t, const struct wish *w)
{
	const struct sigaction act = { .sa_handler = on_signal };
	uint64_t n = 0;

	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	if (!wait_for_daemon(t, w))
		return TOOL_ERROR;
	for (;;) {
		if (t->tool->json)
			top_print_json(t);
		else
			top_print(t);
		if (++n == w->samples || stopped || !output_flush())
			return TOOL_OK;
		pause_ms((uint64_t)(t->interval * 1000));
		if (stopped)
			return TOOL_OK;
		if (!top_sample(t)) {
			complain("%s", t->why.text);
			return TOOL_ERROR;
		}
	}
}

static int
watch(struct top *t, const struct wish *w)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		complain("top wants a terminal; without one, try top -b");
		return TOOL_ERROR;
	}
	if (w->waits && !wait_for_daemon(t, w))
		return TOOL_ERROR;
	return top_watch(t);
}

int
run_top(struct tool *tool)
{
	static struct top t;
	struct wish w = { .wait_ms = BATCH_WAIT_MS };
	int code;

	t = (struct top){ .tool = tool, .interval = 1 };
	top_begin(&t);
	read_options(&t, &w);
	(void)setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		t.ascii = true;
	if (tool_places(tool, &t.places) < 0)
		return TOOL_ERROR;
	code = w.batch ? batch(&t, &w) : watch(&t, &w);
	top_end(&t);
	return code;
}
