/*
 * status_json - the same for programs: one object.
 */
#include <stdio.h>

#include "counters.h"
#include "read/json.h"
#include "read/view.h"
#include "read/view_flow.h"
#include "status.h"
#include "tidemark/base/bloom.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static void
put_worker(struct json *j, const struct view_worker *w)
{
	json_object(j, NULL);
	json_number(j, "slot", w->slot);
	json_number(j, "pid", w->pid);
	json_time(j, "since", w->since_ms);
	json_text(j, "client", w->client);
	json_text(j, "profile", w->profile);
	json_text(j, "stage", w->stage);
	json_bool(j, "busy", w->busy);
	json_number(j, "quiet_ms", w->quiet_ms);
	json_number(j, "messages", w->messages);
	json_bool(j, "lapsed", w->lapsed);
	json_object_end(j);
}

static void
put_workers(struct json *j, const struct view *v)
{
	struct view_worker w;
	uint32_t i;

	json_number(j, "max_workers", v->slots);
	json_array(j, "workers");
	for (i = 0; i < v->slots; i++)
		if (view_worker(v, i, &w) && w.serving)
			put_worker(j, &w);
	json_array_end(j);
}

static void
put_window(struct json *j, const struct status *s)
{
	const struct view_window *w = &s->window;
	unsigned k;

	if (!s->has_window) {
		json_null(j, "window");
		return;
	}
	json_object(j, "window");
	json_number(j, "number", w->number);
	json_time(j, "opened", w->opened_ms);
	json_number(j, "messages", w->messages);
	json_bool(j, "overfilled", w->overfilled);
	json_number(j, "cut", w->cut);
	json_number(j, "unread", w->unread);
	json_number(j, "wire_bytes", w->wire);
	json_number(j, "text_bytes", w->text);
	for (k = 0; k < TIDE_FILTERS; k++) {
		json_object(j, view_filter_name[k]);
		json_number(j, "elements", w->filter[k].elements);
		json_number(j, "capacity", s->view.shape[k].capacity);
		json_number(j, "bits", s->view.shape[k].bits);
		json_number(j, "ones", w->filter[k].ones);
		json_real(j, "fill", w->filter[k].fill);
		json_real(j, "load", w->filter[k].load);
		json_real(j, "error", w->filter[k].error);
		json_object_end(j);
	}
	json_object_end(j);
}

static void
put_archive(struct json *j, const struct status *s)
{
	json_object(j, "archive");
	json_number(j, "windows", s->archive_windows);
	json_number(j, "bytes", s->archive_bytes);
	json_time(j, "from", s->archive_from_ms);
	json_time(j, "until", s->archive_until_ms);
	json_number(j, "failing", s->archive_failing);
	if (s->disk_known)
		json_number(j, "disk_free", s->disk_free);
	json_number(j, "wire_bytes", s->archive_wire);
	json_number(j, "text_bytes", s->archive_text);
	json_number(j, "content_bytes", s->archive_kept);
	json_object_end(j);
	json_time(j, "checkpoint", s->checkpoint_ms);
}

static void
put_flow(struct json *j, const struct status *s)
{
	json_object(j, "flow");
	json_number(j, "buckets", s->flow.buckets);
	json_number(j, "max_buckets", s->view.flow.buckets);
	json_number(j, "strings", s->flow.strings);
	json_number(j, "bans", s->flow.bans);
	json_number(j, "overflows", s->flow.overflows);
	json_object_end(j);
}

static void
put_profiles(struct json *j, const struct status *s)
{
	const struct tide_config *c = &s->view.config;
	unsigned i;

	json_array(j, "profiles");
	for (i = 0; i < c->profiles; i++) {
		json_object(j, NULL);
		json_text(j, "name", c->profile[i].name);
		json_text(j, "socket", c->profile[i].socket);
		json_bool(
		    j, "waiting", status_waits(s, TIDE_SERVICE_PROFILE(i)));
		json_object_end(j);
	}
	json_array_end(j);
}

static void
put_pulse(struct json *j, const char *key, const struct view_pulse *p)
{
	if (p->beaten)
		json_number(j, key, p->age_ms);
	else
		json_null(j, key);
}

static void
put_processes(struct json *j, const struct status *s)
{
	json_number(j, "collector_pid", s->collector.pid);
	json_bool(j, "collector_stale", !s->collector.fresh);
	put_pulse(j, "collector_pulse_age_ms", &s->collector);
	json_number(j, "acceptor_pid", s->acceptor.pid);
	json_bool(j, "acceptor_listening", s->listening);
	put_pulse(j, "acceptor_pulse_age_ms", &s->acceptor);
}

void
status_json(const struct status *s)
{
	struct json j = json_record(stdout, "status");
	unsigned i;

	json_time(&j, "now", s->now_ms);
	put_processes(&j, s);
	json_bool(&j, "bypass", s->bypass_until_ms > s->settled_ms);
	json_time(&j, "bypass_until", s->bypass_until_ms);
	json_number(&j, "generation", s->generation);
	put_profiles(&j, s);
	put_workers(&j, &s->view);
	put_window(&j, s);
	put_archive(&j, s);
	put_flow(&j, s);
	json_object(&j, "counters");
	for (i = 0; i < TIDE_COUNTER_COUNT; i++) {
		json_object(&j, tide_counter_info[i].name);
		counter_json(&j, &s->view, i);
		json_object_end(&j);
	}
	json_object_end(&j);
	json_record_end(&j);
}
