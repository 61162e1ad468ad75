/*
 * view - attach, check, take copies.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "torn.h"
#include "view.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/flow/bans.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/regions.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/shared/slots.h"

#define ACCEPTOR_STALE_MS 5000u

const char *const view_filter_name[TIDE_FILTERS] = { "senders", "recipients",
	"content" };

/* ---- attaching --------------------------------------------------------- */

static int
take_geometry(struct view *v, struct tide_err *err)
{
	const struct tide_map_head head = *v->map->head;
	unsigned i;

	v->slots = head.slots;
	v->bans = tide_bans_entries(head.bans);
	v->bans_most = head.bans;
	v->flow = head.flow;
	v->shape[TIDE_FILTER_SENDERS] = head.senders;
	v->shape[TIDE_FILTER_RECIPIENTS] = head.recipients;
	v->shape[TIDE_FILTER_CONTENT] = head.content;
	v->memory = head.memory;
	for (i = 0; i < TIDE_FILTERS; i++)
		if (!tide_bloom_sane(&v->shape[i]))
			return tide_err_set(err,
			    "the live map's filter of %s has no shape we know",
			    view_filter_name[i]);
	for (i = 0; i < TIDE_REGIONS; i++)
		if (v->map->length[i] < tide_map_region_length(i, &head))
			return tide_err_set(err,
			    "region %s of the live map is too short",
			    tide_region[i].name);
	return 0;
}

int
view_open(
    struct view *v, const struct tide_config *config, struct tide_err *err)
{
	uint64_t generation;
	struct tide_err ignored;

	v->config = *config;
	v->generation = v->maps = 0;
	v->map = tide_map_attach(config->runtime_dir, TIDE_MAP_TOOL, err);
	if (v->map == NULL)
		return -1;
	if (take_geometry(v, err) < 0) {
		view_close(v);
		return -1;
	}
	/* first: a reload meanwhile is then noticed the next time */
	v->generation = atomic_load(&v->map->control->generation);
	/* without it our own settings have to do for the profiles' names */
	if (tide_config_published(
		config->runtime_dir, &v->config, &generation, &ignored) < 0)
		v->config = *config;
	if (v->config.profiles > TIDE_PROFILES_MAX)
		v->config.profiles = 0;
	return 0;
}

void
view_close(struct view *v)
{
	tide_map_detach(v->map);
	v->map = NULL;
}

bool
view_follow(
    struct view *v, const struct tide_config *places, struct tide_err *err)
{
	struct view fresh;

	if (torn_seen()) {
		if (v->map != NULL)
			view_close(v);
		v->maps++;
		torn_forget();
	}
	if (v->map != NULL &&
	    tide_map_is_current(v->map, places->runtime_dir) &&
	    atomic_load(&v->map->control->generation) == v->generation)
		return true;
	if (view_open(&fresh, places, err) < 0)
		return v->map != NULL;
	fresh.maps = v->maps;
	if (v->map != NULL) {
		fresh.maps +=
		    fresh.map->head->instance != v->map->head->instance;
		view_close(v);
	}
	*v = fresh;
	torn_watch();
	return true;
}

/* ---- pulses ------------------------------------------------------------ */

/* Dead, but not yet taken in by its parent. */
static bool
is_zombie(uint32_t pid)
{
	char path[32], text[256] = "", *p;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	p = fgets(text, sizeof text, f) != NULL ? strrchr(text, ')') : NULL;
	(void)fclose(f);
	return p != NULL && strncmp(p, ") Z", 3) == 0;
}

/* A killed process leaves its pid behind, and for a while a fresh beat. */
static bool
is_alive(uint32_t pid)
{
	return pid != 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH) &&
	    !is_zombie(pid);
}

/*
 * The beat is read before the clock, so one that lies ahead of it is of
 * another boot.
 */
static struct view_pulse
pulse(uint32_t pid, uint64_t beat_ms, uint64_t stale_ms)
{
	uint64_t now = tide_clock_mono_ms();
	struct view_pulse p = { .pid = pid };

	p.beaten = beat_ms != 0 && beat_ms <= now;
	p.age_ms = p.beaten ? now - beat_ms : 0;
	p.fresh = p.beaten && p.age_ms <= stale_ms && is_alive(pid);
	return p;
}

struct view_pulse
view_collector(const struct view *v)
{
	const struct tide_control *c = v->map->control;

	return pulse(atomic_load(&c->collector_pid), atomic_load(&c->pulse_ms),
	    v->config.pulse_stale);
}

struct view_pulse
view_acceptor(const struct view *v)
{
	const struct tide_acceptor *a = v->map->acceptor;
	uint64_t stale = v->config.pulse_stale;

	return pulse(atomic_load(&a->pid), atomic_load(&a->pulse_ms),
	    stale > ACCEPTOR_STALE_MS ? stale : ACCEPTOR_STALE_MS);
}

const char *
view_trouble(const struct view *v, uint64_t now_ms)
{
	bool collector = view_collector(v).fresh;
	bool acceptor = view_acceptor(v).fresh &&
	    atomic_load(&v->map->acceptor->listening) != 0;

	return !collector && !acceptor ? "the daemon is not at work"
	    : !collector	       ? "the collector is silent"
	    : !acceptor		       ? "the acceptor does not listen"
	    : atomic_load(&v->map->control->bypass_until_ms) > now_ms
	    ? "bypass: all is accepted"
	    : "";
}

/* ---- workers ----------------------------------------------------------- */

static void
show_client(const struct tide_slot *s, char out[INET6_ADDRSTRLEN])
{
	uint64_t words[2] = { atomic_load(&s->client[0]),
		atomic_load(&s->client[1]) };
	struct in6_addr a;

	memcpy(&a, words, sizeof a);
	if (words[0] == 0 && words[1] == 0)
		(void)snprintf(out, INET6_ADDRSTRLEN, "local");
	else if (IN6_IS_ADDR_V4MAPPED(&a))
		(void)inet_ntop(AF_INET, &a.s6_addr[12], out, INET6_ADDRSTRLEN);
	else
		(void)inet_ntop(AF_INET6, &a, out, INET6_ADDRSTRLEN);
}

bool
view_worker(const struct view *v, uint32_t slot, struct view_worker *w)
{
	static const char *const states[] = { "free", "reserved", "serving" };
	const struct tide_slot *s = &v->map->slots[slot];
	uint32_t state = atomic_load(&s->state);
	uint32_t profile = atomic_load(&s->profile);
	uint32_t stage = atomic_load(&s->stage);
	uint64_t touched = atomic_load(&s->touched_ms);
	uint64_t now = tide_clock_mono_ms();

	if (state == TIDE_SLOT_FREE)
		return false;
	*w = (struct view_worker){ .slot = slot,
		.pid = atomic_load(&s->pid),
		.messages = atomic_load(&s->messages),
		.state = state <= TIDE_SLOT_SERVING ? states[state] : "?",
		.profile = profile < v->config.profiles
		    ? v->config.profile[profile].name
		    : "?",
		.stage = stage < TIDE_STAGES ? tide_stage_name[stage] : "?",
		.since_ms = atomic_load(&s->since_ms),
		.quiet_ms = touched != 0 && touched < now ? now - touched : 0,
		.serving = state == TIDE_SLOT_SERVING,
		.busy = atomic_load(&s->busy) != 0,
		.lapsed = atomic_load(&s->lapsed) != 0 };
	show_client(s, w->client);
	return true;
}

uint32_t
view_serving(const struct view *v)
{
	uint32_t i, n = 0;

	for (i = 0; i < v->slots; i++)
		n += atomic_load(&v->map->slots[i].state) == TIDE_SLOT_SERVING;
	return n;
}

const char *
view_ban_spares(const struct view *v)
{
	uint32_t i;

	for (i = 0; i < v->config.profiles; i++)
		if (v->config.profile[i].ban_at == TIDE_BAN_AT_MAIL)
			return " (not where ban_at = mail)";
	return "";
}

/* ---- windows ----------------------------------------------------------- */

static uint64_t
count_ones(const struct tide_bloom_shape *s, const tide_bloom_word *words)
{
	uint64_t i, ones = 0;

	for (i = 0; i < s->bits / 64; i++)
		ones += (uint64_t)__builtin_popcountll(
		    atomic_load_explicit(&words[i], memory_order_relaxed));
	return ones;
}

static void
look_at_filter(
    struct view_filter *f, const struct tide_bloom_shape *s, uint64_t elements)
{
	f->elements = elements;
	f->fill = (double)f->ones / (double)s->bits;
	f->error = tide_bloom_error(s, f->ones);
	f->load = (double)elements / (double)s->capacity;
}

void
view_window(const struct view *v, unsigned i, struct view_window *out)
{
	static const char *const states[] = { "idle", "open", "sealing",
		"clearing" };
	const struct tide_window *w = v->map->window[i];
	const struct tide_window_times *t = &v->map->control->window[i];
	uint32_t state = atomic_load(&w->state);
	unsigned k;

	*out = (struct view_window){
		.state = state <= TIDE_WINDOW_CLEARING ? states[state] : "?",
		.open = state == TIDE_WINDOW_OPEN,
		.overfilled = atomic_load(&w->overfilled) != 0,
		.number = atomic_load(&t->number),
		.opened_ms = atomic_load(&t->opened_ms),
		.closed_ms = atomic_load(&t->closed_ms),
		.messages = atomic_load(&w->messages),
		.cut = atomic_load(&w->cut),
		.unread = atomic_load(&w->unread),
		.wire = atomic_load(&w->wire),
		.text = atomic_load(&w->text)
	};
	for (k = 0; k < TIDE_FILTERS; k++) {
		out->filter[k].ones =
		    count_ones(&v->shape[k], tide_window_words(v->map, w, k));
		look_at_filter(
		    &out->filter[k], &v->shape[k], tide_window_elements(w, k));
	}
}

bool
view_open_window(const struct view *v, struct view_window *out)
{
	uint64_t current = atomic_load(&v->map->control->current);
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (atomic_load(&v->map->window[i]->state) !=
			TIDE_WINDOW_OPEN ||
		    atomic_load(&v->map->control->window[i].number) != current)
			continue;
		view_window(v, i, out);
		return true;
	}
	return false;
}

/* ---- the archive ------------------------------------------------------- */

int
view_archive(
    struct tide_archive *a, const char *state_dir, struct tide_err *err)
{
	if (tide_archive_verify(state_dir, err) < 0)
		return -1;
	return tide_archive_open(a, state_dir, TIDE_ARCHIVE_READ, 0, err);
}
