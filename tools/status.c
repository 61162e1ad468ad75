/*
 * status - how the daemon and its windows are doing, from the map alone: it
 * works, and says so, when the daemon does not.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "read/output.h"
#include "status.h"
#include "tool.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

/* Less than this on its disk, and the archive will soon have none. */
#define DISK_LOW (64u << 20)
#define DISK_FULL (1u << 20)

static void
look_at_disk(struct status *s)
{
	struct statvfs disk;

	s->disk_known = statvfs(s->view.config.state_dir, &disk) == 0;
	s->disk_free =
	    s->disk_known ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

static int
gather(struct status *s, const struct tide_config *config, struct tide_err *err)
{
	const struct tide_control *c;

	if (view_open(&s->view, config, err) < 0)
		return -1;
	c = s->view.map->control;
	s->collector = view_collector(&s->view);
	s->acceptor = view_acceptor(&s->view);
	s->listening = atomic_load(&s->view.map->acceptor->listening) != 0 &&
	    s->acceptor.fresh;
	if (s->listening)
		s->waiting = atomic_load(&s->view.map->acceptor->waiting);
	s->has_window = view_open_window(&s->view, &s->window);
	s->archive_windows = atomic_load(&c->archive_windows);
	s->archive_bytes = atomic_load(&c->archive_bytes);
	s->archive_from_ms = atomic_load(&c->archive_from_ms);
	s->archive_failing = atomic_load(&c->archive_failing);
	s->archive_until_ms = atomic_load(&c->archive_until_ms);
	s->archive_wire = atomic_load(&c->archive_wire);
	s->archive_text = atomic_load(&c->archive_text);
	s->archive_kept = atomic_load(&c->archive_kept);
	look_at_disk(s);
	s->checkpoint_ms = atomic_load(&c->checkpoint_ms);
	s->bypass_until_ms = atomic_load(&c->bypass_until_ms);
	s->generation = atomic_load(&c->generation);
	s->now_ms = tide_clock_wall_ms();
	s->settled_ms = tide_map_now_ms(s->view.map);
	s->flow = view_flow(&s->view, s->settled_ms);
	return 0;
}

/* ---- lines ------------------------------------------------------------- */

static void
label(const char *what)
{
	printf("%s%-11s%s ", tone(TONE_STRONG), what, tone(TONE_PLAIN));
}

static void
put_process(const char *what, const struct view_pulse *p, bool well,
    const char *good, const char *bad)
{
	char age[SHOW_MAX];

	label(what);
	printf("%s%s%s", tone(well ? TONE_GOOD : TONE_BAD), well ? good : bad,
	    tone(TONE_PLAIN));
	if (p->pid != 0)
		printf(", pid %u", p->pid);
	if (p->beaten)
		printf(", last sign of life %s ago",
		    show_span(p->age_ms, age, sizeof age));
	printf("\n");
}

static void
put_bypass(const struct status *s)
{
	char when[SHOW_MAX], left[SHOW_MAX];

	if (s->bypass_until_ms <= s->settled_ms)
		return;
	label("bypass");
	printf("%son%s: every profile accepts until %s (%s left)\n",
	    tone(TONE_BAD), tone(TONE_PLAIN),
	    show_moment(s->bypass_until_ms, when, sizeof when),
	    show_span(s->bypass_until_ms - s->settled_ms, left, sizeof left));
}

/* Only while it is in doubt. */
static void
put_clock(const struct status *s)
{
	bool ahead = s->now_ms > s->settled_ms;
	uint64_t off =
	    ahead ? s->now_ms - s->settled_ms : s->settled_ms - s->now_ms;
	char span[SHOW_MAX];

	if (off <= TIDE_CLOCK_SLACK_MS)
		return;
	label("clock");
	printf("%s%s %s%s of what was expected: nothing expires by it until it "
	       "has stood so for an hour\n",
	    tone(TONE_BAD), show_span(off, span, sizeof span),
	    ahead ? "ahead" : "behind", tone(TONE_PLAIN));
}

static void
put_profiles(const struct status *s)
{
	static const enum tide_counter column[] = { TIDE_COUNT_CONNECTIONS,
		TIDE_COUNT_MESSAGES, TIDE_COUNT_ACCEPTED, TIDE_COUNT_REFUSED,
		TIDE_COUNT_ABORTED, TIDE_COUNT_RECIPIENTS,
		TIDE_COUNT_FAILED_OPEN };
	const struct tide_config *c = &s->view.config;
	unsigned i, k;

	label("profile");
	for (k = 0; k < sizeof column / sizeof *column; k++)
		printf(" %s%11s%s", tone(TONE_FAINT),
		    tide_counter_info[column[k]].name, tone(TONE_PLAIN));
	printf("\n");
	for (i = 0; i < c->profiles; i++) {
		printf("  %-10.31s", c->profile[i].name);
		for (k = 0; k < sizeof column / sizeof *column; k++)
			printf(" %11llu",
			    (unsigned long long)tide_counter_get(
				s->view.map->counters, 1 + (int)i, column[k]));
		printf("\n");
	}
}

static void
put_workers(const struct status *s, bool each)
{
	struct view_worker w;
	char age[SHOW_MAX];
	uint64_t old;
	uint32_t i;

	label("workers");
	printf("%u of at most %u\n", view_serving(&s->view), s->view.slots);
	for (i = 0; each && i < s->view.slots; i++) {
		if (!view_worker(&s->view, i, &w) || !w.serving)
			continue;
		old = s->now_ms > w.since_ms ? s->now_ms - w.since_ms : 0;
		printf("  pid %-8u %-10s %-12s %-9s %-7s %u message%s%s\n",
		    w.pid, show_span(old, age, sizeof age), w.client, w.profile,
		    w.stage, w.messages, plural(w.messages),
		    w.lapsed ? ", lapsed" : "");
	}
}

bool
status_waits(const struct status *s, unsigned service)
{
	return (s->waiting >> (service - 1) & 1) != 0;
}

/* Connections that have found no worker yet. */
static void
put_waiting(const struct status *s)
{
	const struct tide_config *c = &s->view.config;
	unsigned i;

	if (s->waiting == 0)
		return;
	label("waiting");
	printf("%sconnections wait for a worker%s:", tone(TONE_BAD),
	    tone(TONE_PLAIN));
	for (i = 0; i < c->profiles; i++)
		if (status_waits(s, TIDE_SERVICE_PROFILE(i)))
			printf(" profile %s", c->profile[i].name);
	for (i = 0; i < c->policies; i++)
		if (status_waits(s, TIDE_SERVICE_POLICY(i)))
			printf(" policy %s", c->policy[i].name);
	printf("\n");
}

static void
put_filter(const struct status *s, unsigned k)
{
	const struct view_filter *f = &s->window.filter[k];
	char chance[SHOW_MAX];

	printf("%12s%s: %llu of %llu (%.2g%%), %.2g%% of the bits set; "
	       "chance of a false yes %s\n",
	    "", view_filter_name[k], (unsigned long long)f->elements,
	    (unsigned long long)s->view.shape[k].capacity, f->load * 100,
	    f->fill * 100,
	    f->ones == 0 ? "none" : show_chance(f->error, chance, SHOW_MAX));
}

static void
put_window(const struct status *s)
{
	const struct view_window *w = &s->window;
	char when[SHOW_MAX];
	unsigned k;

	label("window");
	if (!s->has_window) {
		printf("%snone is open%s\n", tone(TONE_BAD), tone(TONE_PLAIN));
		return;
	}
	printf("number %llu, open since %s, %llu message%s%s\n",
	    (unsigned long long)w->number,
	    show_moment(w->opened_ms, when, sizeof when),
	    (unsigned long long)w->messages, plural(w->messages),
	    w->overfilled ? ", overfilled" : "");
	for (k = 0; k < TIDE_FILTERS; k++)
		if (k != TIDE_FILTER_CONTENT ||
		    s->view.memory != TIDE_MEMORY_OFF)
			put_filter(s, k);
	if (w->cut > 0)
		printf("%12sthe text of %llu message%s was cut short\n", "",
		    (unsigned long long)w->cut, plural(w->cut));
	if (w->unread > 0)
		printf("%12sthe text of %llu message%s was not read\n", "",
		    (unsigned long long)w->unread, plural(w->unread));
}

/* What the memory of content costs. */
static void
put_content(const struct status *s)
{
	char wire[SHOW_MAX], text[SHOW_MAX], kept[SHOW_MAX];

	if (s->archive_text == 0 || s->archive_kept == 0)
		return;
	printf("%12s%s of mail, %s of text in it, kept in %s: %.1f and %.1f "
	       "bytes a byte\n",
	    "", show_bytes(s->archive_wire, wire, sizeof wire),
	    show_bytes(s->archive_text, text, sizeof text),
	    show_bytes(s->archive_kept, kept, sizeof kept),
	    (double)s->archive_wire / (double)s->archive_kept,
	    (double)s->archive_text / (double)s->archive_kept);
}

static void
put_disk(const struct status *s)
{
	char bytes[SHOW_MAX];

	if (!s->disk_known || s->disk_free >= DISK_LOW)
		return;
	printf("%12s%sthe disk is %sfull%s: %s left in %s\n", "",
	    tone(TONE_BAD), s->disk_free < DISK_FULL ? "" : "nearly ",
	    tone(TONE_PLAIN), show_bytes(s->disk_free, bytes, sizeof bytes),
	    s->view.config.state_dir);
}

static void
put_archive(const struct status *s)
{
	char bytes[SHOW_MAX], when[SHOW_MAX], age[SHOW_MAX];

	label("archive");
	printf("%llu window%s, %s", (unsigned long long)s->archive_windows,
	    plural(s->archive_windows),
	    show_bytes(s->archive_bytes, bytes, sizeof bytes));
	if (s->archive_windows > 0)
		printf(", since %s (%s)",
		    show_moment(s->archive_from_ms, when, sizeof when),
		    show_span(s->archive_until_ms - s->archive_from_ms, age,
			sizeof age));
	if (s->archive_failing > 0)
		printf("; %sfailed %llu time%s in a row%s", tone(TONE_BAD),
		    (unsigned long long)s->archive_failing,
		    plural(s->archive_failing), tone(TONE_PLAIN));
	printf("\n");
	put_disk(s);
	put_content(s);
	label("checkpoint");
	if (s->checkpoint_ms == 0 || s->checkpoint_ms > s->now_ms)
		printf("%s\n", show_moment(s->checkpoint_ms, when, SHOW_MAX));
	else
		printf("%s ago\n",
		    show_span(s->now_ms - s->checkpoint_ms, age, sizeof age));
}

static void
put_flow(const struct status *s)
{
	const struct view_flow *f = &s->flow;
	uint64_t unplaced = tide_counter_get(
	    s->view.map->counters, -1, TIDE_COUNT_BANS_UNPLACED);

	label("flow");
	printf("%u of %u buckets in use, %u string%s, %u ban%s standing, "
	       "%llu overflow%s\n",
	    f->buckets, s->view.flow.buckets, f->strings, plural(f->strings),
	    f->bans, plural(f->bans), (unsigned long long)f->overflows,
	    plural(f->overflows));
	if (unplaced > 0) {
		label("");
		printf("%llu ban%s found no place: max_bans = %u, and its "
		       "shares\n",
		    (unsigned long long)unplaced, plural(unplaced),
		    s->view.bans_most);
	}
}

/* Only when accounts found no place: allowances are not what they should be. */
static void
put_accounts(const struct status *s)
{
	const struct tide_counters *n = s->view.map->counters;
	uint64_t by_client =
	    tide_counter_get(n, -1, TIDE_COUNT_TOKENS_BY_CLIENT) +
	    tide_counter_get(n, -1, TIDE_COUNT_DISTINCT_BY_CLIENT);
	uint64_t uncounted =
	    tide_counter_get(n, -1, TIDE_COUNT_TOKENS_UNCOUNTED) +
	    tide_counter_get(n, -1, TIDE_COUNT_DISTINCT_UNCOUNTED);

	if (by_client == 0 && uncounted == 0)
		return;
	label("accounts");
	printf("%sfull%s: %llu recipients were charged to their client, %llu "
	       "not at all; raise max_accounts\n",
	    tone(TONE_BAD), tone(TONE_PLAIN), (unsigned long long)by_client,
	    (unsigned long long)uncounted);
}

static void
put_counters(const struct status *s)
{
	unsigned i;
	uint64_t n;

	for (i = 0; i < TIDE_COUNTER_COUNT; i++) {
		n = tide_counter_get(s->view.map->counters, -1, i);
		if (n != 0)
			printf("  %-21s %12llu  %s%s%s\n",
			    tide_counter_info[i].name, (unsigned long long)n,
			    tone(TONE_FAINT), tide_counter_info[i].help,
			    tone(TONE_PLAIN));
	}
}

/* ---- all of it --------------------------------------------------------- */

static void
put_text(const struct status *s, bool verbose)
{
	put_process("collector", &s->collector, s->collector.fresh, "at work",
	    s->collector.pid == 0 ? "not running" : "silent");
	put_process("acceptor", &s->acceptor, s->listening, "listening",
	    s->acceptor.pid == 0    ? "not running"
		: s->acceptor.fresh ? "not listening"
				    : "silent");
	put_bypass(s);
	put_clock(s);
	put_window(s);
	put_archive(s);
	put_flow(s);
	put_accounts(s);
	put_workers(s, verbose);
	put_waiting(s);
	put_profiles(s);
	if (verbose) {
		printf("%scounters%s\n", tone(TONE_STRONG), tone(TONE_PLAIN));
		put_counters(s);
	}
}

static int
judge(const struct status *s)
{
	if (!s->collector.fresh)
		complain("the collector is not at work: mail is remembered, "
			 "but no window is sealed and nothing is saved");
	if (!s->listening)
		complain("the acceptor is not listening: mail passes unseen, "
			 "or waits, by the mail server's own settings");
	if (s->archive_failing > 0)
		complain("the archive cannot be written: nothing is saved, and "
			 "no ban is made; the log says why, and it is tried "
			 "again");
	return s->collector.fresh && s->listening && s->archive_failing == 0
	    ? TOOL_OK
	    : TOOL_NO;
}

static int
show(const struct tool *t, bool verbose)
{
	struct tide_config config;
	struct status s = { .waiting = 0 };
	struct tide_err err;
	int code;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	if (gather(&s, &config, &err) < 0) {
		complain("there is no live map to read: %s", err.text);
		return TOOL_ERROR;
	}
	if (t->json)
		status_json(&s);
	else
		put_text(&s, verbose);
	code = judge(&s);
	view_close(&s.view);
	return code;
}

int
run_status(struct tool *t)
{
	static const struct option longs[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	bool verbose = false;

	while (tool_getopt(t, "v", longs) != -1)
		verbose = true;
	(void)tool_arguments(t, 0);
	return show(t, verbose);
}
