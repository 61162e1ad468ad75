/*
 * dump_live - the facts of the live map: head, places, slots, counters,
 * windows.  The hash key is left out: who has it can ask without us.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../read/view.h"
#include "dump.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/table.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static void
put_id(struct dump *d, const char *key, uint64_t id)
{
	char hex[20];

	(void)snprintf(hex, sizeof hex, "%016llx", (unsigned long long)id);
	fact_text(d, key, hex);
}

static void
put_control(struct dump *d, const struct view *v)
{
	const struct tide_control *c = v->map->control;
	const struct tide_map_head *h = v->map->head;
	char boot[sizeof h->boot_id + 1] = "";

	memcpy(boot, h->boot_id, sizeof h->boot_id);
	fact_begin(d, "control");
	put_id(d, "instance", h->instance);
	fact_time(d, "made", h->made_ms);
	fact_text(d, "boot_id", boot);
	fact_number(d, "slots", v->slots);
	fact_number(d, "epoch", atomic_load(&c->epoch));
	fact_number(d, "current", atomic_load(&c->current));
	fact_number(d, "generation", atomic_load(&c->generation));
	fact_number(d, "collector_pid", atomic_load(&c->collector_pid));
	fact_bool(d, "collector_stale", !view_collector(v).fresh);
	fact_time(d, "bypass_until", atomic_load(&c->bypass_until_ms));
	fact_time(d, "checkpoint", atomic_load(&c->checkpoint_ms));
	fact_number(d, "archive_windows", atomic_load(&c->archive_windows));
	fact_number(d, "archive_bytes", atomic_load(&c->archive_bytes));
	fact_number(d, "archive_failing", atomic_load(&c->archive_failing));
	fact_end(d);
}

static void
put_acceptor(struct dump *d, const struct view *v)
{
	const struct tide_acceptor *a = v->map->acceptor;

	fact_begin(d, "acceptor");
	fact_number(d, "pid", atomic_load(&a->pid));
	fact_bool(d, "listening", atomic_load(&a->listening) != 0);
	fact_time(d, "started", atomic_load(&a->started_ms));
	fact_time(d, "pulse", atomic_load(&a->pulse_wall_ms));
	fact_number(d, "lapse_head", atomic_load(&a->lapse_head));
	fact_number(d, "lapse_tail", atomic_load(&a->lapse_tail));
	fact_end(d);
}

/* ---- the published table ----------------------------------------------- */

static int
read_table(
    const char *runtime_dir, struct tide_map_table *t, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 8];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof path, "%s/map", runtime_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	n = read(fd, t, sizeof *t);
	(void)close(fd);
	if (n != (ssize_t)sizeof *t ||
	    t->check !=
		tide_hash_check(t, offsetof(struct tide_map_table, check)))
		return tide_err_set(err, "%s: is no table of a map", path);
	t->live[sizeof t->live - 1] = '\0';
	return 0;
}

static int
put_regions(
    struct dump *d, const struct tide_config *config, struct tide_err *err)
{
	struct tide_map_table t;
	char name[sizeof t.region[0].name + 1] = "";
	unsigned i;

	if (read_table(config->runtime_dir, &t, err) < 0)
		return -1;
	for (i = 0; i < TIDE_REGIONS; i++) {
		memcpy(name, t.region[i].name, sizeof t.region[i].name);
		fact_begin(d, "region");
		fact_text(d, "name", name);
		fact_number(d, "offset", t.region[i].offset);
		fact_number(d, "length", t.region[i].length);
		fact_text(d, "file", t.live);
		fact_end(d);
	}
	return 0;
}

/* ---- slots, counters, windows ------------------------------------------ */

static void
put_slots(struct dump *d, const struct view *v)
{
	struct view_worker w;
	uint32_t i;

	for (i = 0; i < v->slots; i++) {
		if (!view_worker(v, i, &w))
			continue;
		fact_begin(d, "slot");
		fact_number(d, "slot", w.slot);
		fact_text(d, "state", w.state);
		fact_number(d, "pid", w.pid);
		fact_number(d, "epoch", atomic_load(&v->map->slots[i].epoch));
		fact_time(d, "since", w.since_ms);
		fact_text(d, "client", w.client);
		fact_text(d, "profile", w.profile);
		fact_text(d, "stage", w.stage);
		fact_bool(d, "busy", w.busy);
		fact_number(d, "messages", w.messages);
		fact_bool(d, "lapsed", w.lapsed);
		fact_end(d);
	}
}

static void
put_counter(struct dump *d, const struct view *v, int row, enum tide_counter id)
{
	fact_begin(d, "counter");
	fact_text(d, "name", tide_counter_info[id].name);
	if (row > 0)
		fact_text(d, "profile", v->config.profile[row - 1].name);
	fact_number(d, "value", tide_counter_get(v->map->counters, row, id));
	fact_end(d);
}

static void
put_counters(struct dump *d, const struct view *v)
{
	unsigned i, profile;

	for (i = 0; i < TIDE_COUNTER_COUNT; i++) {
		if (tide_counter_info[i].scope == TIDE_SCOPE_GLOBAL)
			put_counter(d, v, 0, i);
		else
			for (profile = 0; profile < v->config.profiles;
			     profile++)
				put_counter(d, v, 1 + (int)profile, i);
	}
}

static void
put_window(struct dump *d, const struct view *v, unsigned i)
{
	struct view_window w;
	char key[40];
	unsigned k;

	view_window(v, i, &w);
	fact_begin(d, "live_window");
	fact_text(d, "region", tide_region[TIDE_REGION_WINDOW0 + i].name);
	fact_text(d, "state", w.state);
	fact_number(d, "number", w.number);
	fact_time(d, "opened", w.opened_ms);
	fact_time(d, "closed", w.closed_ms);
	fact_number(d, "messages", w.messages);
	fact_bool(d, "overfilled", w.overfilled);
	fact_number(d, "cut", w.cut);
	fact_number(d, "unread", w.unread);
	fact_number(d, "wire", w.wire);
	fact_number(d, "text", w.text);
	for (k = 0; k < TIDE_FILTERS; k++) {
		fact_number(d, view_filter_name[k], w.filter[k].elements);
		(void)snprintf(key, sizeof key, "%s_ones", view_filter_name[k]);
		fact_number(d, key, w.filter[k].ones);
		(void)snprintf(key, sizeof key, "%s_bits", view_filter_name[k]);
		fact_number(d, key, v->shape[k].bits);
	}
	fact_end(d);
}

int
dump_live(
    struct dump *d, const struct tide_config *config, struct tide_err *err)
{
	struct view view;
	int rc;

	if (view_open(&view, config, err) < 0)
		return -1;
	put_control(d, &view);
	put_acceptor(d, &view);
	rc = put_regions(d, config, err);
	if (rc == 0) {
		put_slots(d, &view);
		put_counters(d, &view);
		put_window(d, &view, 0);
		put_window(d, &view, 1);
	}
	view_close(&view);
	return rc;
}
