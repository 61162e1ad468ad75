/*
 * tail - follow the decisions.  Reads the ring, and nothing but the ring: no
 * worker knows.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "decision.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/ring.h"

#define POLL_MS 100
#define UNWRITTEN_MS 1000 /* then its writer was killed */

struct tail {
	struct view view;
	bool json, once;
	const char *filter;
	uint64_t at;	 /* the next to show */
	uint64_t missed; /* not told yet */
	uint64_t since;	 /* monotonic: when we began to wait for `at` */
};

static volatile sig_atomic_t stopped;

static void
on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void
tell_missed(struct tail *t)
{
	struct json j;

	if (t->missed == 0)
		return;
	if (t->json) {
		j = json_record(stdout, "missed");
		json_number(&j, "count", t->missed);
		json_record_end(&j);
	} else {
		complain("missed %llu decision%s",
		    (unsigned long long)t->missed, plural(t->missed));
	}
	t->missed = 0;
}

static void
show(struct tail *t, const struct tide_decision *d)
{
	char line[DECISION_MAX];
	struct json j;

	(void)decision_show(&t->view, d, line, sizeof line);
	if (t->filter != NULL && strcasestr(line, t->filter) == NULL)
		return;
	tell_missed(t);
	if (!t->json) {
		printf("%s%s%s\n",
		    tone(d->verdict == TIDE_DECIDED_ACCEPT ? TONE_PLAIN
							   : TONE_BAD),
		    line, tone(TONE_PLAIN));
		return;
	}
	j = json_record(stdout, "decision");
	json_number(&j, "number", t->at);
	decision_json(&j, &t->view, d);
	json_record_end(&j);
}

/* Not there: lapped, or still being written.  False: wait for it. */
static bool
give_up(struct tail *t, enum tide_ring_found found)
{
	uint64_t now = tide_clock_mono_ms();

	if (found == TIDE_RING_NOT_YET && !t->once) {
		if (t->since == 0)
			t->since = now;
		if (now - t->since < UNWRITTEN_MS)
			return false;
	}
	t->missed++;
	return true;
}

/* All that there is by now. */
static void
catch_up(struct tail *t)
{
	const struct tide_ring *r = t->view.map->ring;
	struct tide_decision d;
	enum tide_ring_found found;
	uint64_t oldest;

	while (!stopped && t->at < tide_ring_next(r)) {
		oldest = tide_ring_oldest(r);
		if (t->at < oldest) {
			t->missed += oldest - t->at;
			t->at = oldest;
		}
		found = tide_ring_get(r, t->at, &d);
		if (found == TIDE_RING_HERE)
			show(t, &d);
		else if (found != TIDE_RING_ERASED && !give_up(t, found))
			break;
		t->at++;
		t->since = 0;
	}
	tell_missed(t);
}

/* False: there is no map any more, and it was said why. */
static bool
follow_map(struct tail *t, const struct tide_config *config)
{
	uint64_t maps = t->view.maps;
	struct tide_err err;

	if (!view_follow(&t->view, config, &err)) {
		complain("%s", err.text);
		return false;
	}
	if (t->view.maps != maps)
		t->at = 0; /* another one: from its start */
	return true;
}

static void
wait_a_little(void)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000 };

	(void)nanosleep(&pause, NULL);
}

static int
follow(struct tail *t, const struct tide_config *config, uint64_t back)
{
	uint64_t next, oldest;

	if (!follow_map(t, config))
		return TOOL_ERROR;
	next = tide_ring_next(t->view.map->ring);
	oldest = tide_ring_oldest(t->view.map->ring);
	t->at = next - oldest > back ? next - back : oldest;
	catch_up(t);
	while (!t->once && !stopped && output_flush()) {
		wait_a_little();
		if (!follow_map(t, config))
			return TOOL_ERROR;
		catch_up(t);
	}
	view_close(&t->view);
	return TOOL_OK;
}

int
run_tail(struct tool *t)
{
	static const struct option longs[] = {
		{ "filter", required_argument, NULL, OPT_OWN },
		{ "once", no_argument, NULL, OPT_OWN + 1 },
		{ NULL, 0, NULL, 0 },
	};
	const struct sigaction act = { .sa_handler = on_signal };
	struct tail tail = { .once = false };
	struct tide_config config;
	struct tide_err err;
	uint64_t back = 10;
	int c;

	while ((c = tool_getopt(t, "n:", longs)) != -1) {
		if (c == 'n' && tide_count_parse(optarg, &back, &err) < 0)
			tool_misused(t, "%s", err.text);
		if (c == OPT_OWN)
			tail.filter = optarg;
		if (c == OPT_OWN + 1)
			tail.once = true;
	}
	(void)tool_arguments(t, 0);
	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	tail.json = t->json;
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	return follow(&tail, &config, back);
}
