/*
 * why - everything known about a sender, a client or a message: bans, levels,
 * the last decisions, in plain words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/ask.h"
#include "../read/ask_key.h"
#include "../read/json.h"
#include "../read/levels.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../tool.h"
#include "decision.h"
#include "question.h"
#include "why.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/address.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/ring.h"

#define LAST 20u /* decisions that are shown; repeated ones count once */

struct why {
	const struct view *view;
	FILE *out;
	struct question q;
	bool json;
	uint64_t now; /* settled */
	unsigned bans, levels, decisions;
	bool listed; /* on the list of spam addresses */
};

/* ---- bans -------------------------------------------------------------- */

static const char *
cause_of(const struct tide_ban *b, char *buf, size_t size)
{
	if (b->group < TIDE_GROUPS)
		(void)snprintf(buf, size, "%s overflowed: too many %s",
		    tide_group_name[b->group], drop_name(b->group, 2));
	else
		(void)snprintf(buf, size, "by hand: %s",
		    b->reason[0] != '\0' ? b->reason : "no reason given");
	return buf;
}

static void
tell_ban(const struct why *w, const struct tide_ban *b)
{
	char cause[160], left[SHOW_MAX], since[SHOW_MAX], until[SHOW_MAX];
	struct json j;

	(void)cause_of(b, cause, sizeof cause);
	if (w->json) {
		j = json_record(w->out, "ban");
		json_text(&j, "key", b->key);
		json_text(&j, "group", group_name(b->group));
		json_text(&j, "cause", cause);
		json_time(&j, "since", b->since_ms);
		json_time(&j, "until", b->until_ms);
		json_number(&j, "remaining_ms", b->until_ms - w->now);
		json_number(&j, "times", b->times);
		json_record_end(&j);
		return;
	}
	(void)fprintf(w->out,
	    "%s%s is banned%s for another %s (until %s)\n"
	    "  %s\n  since %s; banned %u time%s\n"
	    "  its recipients are refused, but for postmaster and abuse%s\n",
	    tone(TONE_BAD), b->key, tone(TONE_PLAIN),
	    show_span(b->until_ms - w->now, left, sizeof left),
	    show_moment(b->until_ms, until, sizeof until), cause,
	    show_moment(b->since_ms, since, sizeof since), b->times,
	    plural(b->times), view_ban_spares(w->view));
}

static void
look_at_bans(struct why *w)
{
	struct tide_ban b;
	uint32_t i;

	for (i = 0; i < w->view->bans; i++) {
		if (!view_ban(w->view, i, w->now, &b) ||
		    !question_means_ban(&w->q, &b))
			continue;
		tell_ban(w, &b);
		w->bans++;
	}
}

/* ---- levels ------------------------------------------------------------ */

/* The same for a key that many share. */
static void
next_of_shared(const struct level *l, const char *so, char *buf, size_t size)
{
	if (l->level >= l->depth)
		(void)snprintf(buf, size,
		    "full: mail is put off until it has leaked; many share "
		    "this key: a full bucket defers, it does not ban%s",
		    so);
	else
		(void)snprintf(buf, size,
		    "%u more %s would still fit; many share this key: a full "
		    "bucket defers, it does not ban%s",
		    l->depth - l->level,
		    drop_name(l->group, l->depth - l->level), so);
}

/* What the next drop would meet. */
static const char *
next_of(const struct level *l, char *buf, size_t size)
{
	const char *so;
	char ban[TIDE_UNITS_MAX];

	if (l->depth == 0 || l->limit == NULL ||
	    l->limit->mode == TIDE_MODE_OFF) {
		(void)snprintf(buf, size, "this group is off: nothing happens");
		return buf;
	}
	(void)tide_time_show(l->limit->ban, ban, sizeof ban);
	so = l->limit->mode == TIDE_MODE_DRY_RUN ? " (dry-run: only counted)"
						 : "";
	if (tide_key_is_shared(l->key, strlen(l->key)))
		next_of_shared(l, so, buf, size);
	else if (l->over)
		(void)snprintf(buf, size,
		    "it has overflowed: refused, and banned for %s%s", ban, so);
	else if (l->level >= l->depth)
		(void)snprintf(buf, size,
		    "full: the next %s overflows it: refused, and banned for "
		    "%s%s",
		    drop_name(l->group, 1), ban, so);
	else
		(void)snprintf(buf, size,
		    "%u more %s would still fit; one more than that and it "
		    "is banned for %s%s",
		    l->depth - l->level,
		    drop_name(l->group, l->depth - l->level), ban, so);
	return buf;
}

static void
level_json(const struct why *w, const struct level *l, const char *next)
{
	struct json j = json_record(w->out, "bucket");

	json_text(&j, "key", l->key);
	json_text(&j, "profile", profile_name(w->view, l->profile));
	json_text(&j, "group", group_name(l->group));
	json_number(&j, "level", l->level);
	json_number(&j, "depth", l->depth);
	json_bool(&j, "overflowed", l->over);
	json_number(&j, "leak_ms", l->leak_ms);
	json_number(&j, "empty_in_ms", l->empties_ms);
	json_text(&j, "next", next);
	json_record_end(&j);
}

static void
tell_level(const struct why *w, const struct level *l)
{
	char next[256], empty[SHOW_MAX], leak[TIDE_UNITS_MAX];
	bool dry = l->level == 0;

	(void)next_of(l, next, sizeof next);
	if (w->json) {
		level_json(w, l, next);
		return;
	}
	(void)fprintf(w->out,
	    "%s%s%s in %s of profile %s: %u of %u\n"
	    "  one drop leaks each %s; empty %s%s\n  %s\n",
	    tone(TONE_STRONG), l->key, tone(TONE_PLAIN), group_name(l->group),
	    profile_name(w->view, l->profile), l->level, l->depth,
	    tide_time_show(l->leak_ms, leak, sizeof leak), dry ? "" : "in ",
	    dry ? "now" : show_span(l->empties_ms, empty, sizeof empty), next);
}

static void
look_at_levels(struct why *w)
{
	uint32_t i, n = levels_count(w->view);
	struct level l;

	for (i = 1; i <= n; i++) {
		if (!level_at(w->view, i, &l) ||
		    !question_means_key(&w->q, l.key))
			continue;
		tell_level(w, &l);
		w->levels++;
	}
}

/* ---- the list of spam addresses ---------------------------------------- */

static void
tell_listed(const struct why *w, const char *key, const char *as,
    const struct tide_exception *e)
{
	struct json j;

	if (w->json) {
		j = json_record(w->out, "listed");
		json_text(&j, "key", key);
		json_text(&j, "listed_as", as);
		json_bool(&j, "excepted", e != NULL);
		json_record_end(&j);
		return;
	}
	(void)fprintf(w->out, "%s%s%s is on the list of spam addresses",
	    tone(TONE_STRONG), key, tone(TONE_PLAIN));
	if (strcmp(key, as) != 0)
		(void)fprintf(w->out, ", as %s", as);
	(void)fprintf(w->out, "%s\n", e != NULL ? ", but an exception" : "");
}

/* The daemon knows; while it is away, and where no list is, nobody is. */
static bool
is_listed(const struct why *w, struct listed *found)
{
	const char *sender = w->q.address.text;
	struct ask *ask;
	bool is = false;

	if (tide_addresses_now(w->view->map->addresses, NULL) == NULL)
		return false;
	ask = calloc(1, sizeof *ask);
	if (ask != NULL && ask_open(ask, &w->view->config) == ANSWER_LINE) {
		is =
		    ask_listed(ask, &sender, 1, found) == 0 && found->form >= 0;
		ask_close(ask);
	}
	free(ask);
	return is;
}

static void
look_at_list(struct why *w)
{
	static const struct tide_hash_key none; /* the names of its forms do */
	struct tide_exceptions exceptions = { 0 };
	struct tide_sender_forms forms;
	struct listed found;
	struct tide_err err;

	if (w->q.address.length == 0 || !is_listed(w, &found))
		return;
	tide_sender_forms(&none, w->q.address.text, &forms);
	(void)tide_exceptions_attach(
	    &exceptions, w->view->config.runtime_dir, &err);
	tell_listed(w, forms.key[0].text, found.as,
	    tide_exceptions_for(&exceptions, &forms));
	tide_exceptions_detach(&exceptions);
	w->listed = true;
}

/* ---- decisions --------------------------------------------------------- */

/* The same again: a message with many recipients is refused at each. */
static bool
repeats(const struct tide_decision *a, const struct tide_decision *b)
{
	return a->profile == b->profile && a->stage == b->stage &&
	    a->verdict == b->verdict && a->group == b->group &&
	    strcmp(a->session, b->session) == 0 &&
	    strcmp(a->qid, b->qid) == 0 && strcmp(a->reason, b->reason) == 0 &&
	    strcmp(a->sender, b->sender) == 0;
}

static bool
decision_at(const struct why *w, uint64_t number, struct tide_decision *d)
{
	return tide_ring_get(w->view->map->ring, number, d) == TIDE_RING_HERE &&
	    question_means_decision(&w->q, d);
}

/* The number of the first of the last so many that are meant. */
static uint64_t
first_of_last(const struct why *w)
{
	const struct tide_ring *r = w->view->map->ring;
	uint64_t n, oldest = tide_ring_oldest(r);
	struct tide_decision d, later;
	unsigned found = 0;

	for (n = tide_ring_next(r); n > oldest; n--) {
		if (!decision_at(w, n - 1, &d))
			continue;
		if (w->json || found == 0 || !repeats(&d, &later)) {
			if (found == LAST)
				break;
			found++;
		}
		later = d;
	}
	return n;
}

static void
decision_record(
    const struct why *w, uint64_t number, const struct tide_decision *d)
{
	struct json j = json_record(w->out, "decision");

	json_number(&j, "number", number);
	decision_json(&j, w->view, d);
	json_record_end(&j);
}

static void
tell_decision(
    const struct why *w, const struct tide_decision *d, unsigned times)
{
	char line[DECISION_MAX];

	(void)fprintf(
	    w->out, "%s", decision_show(w->view, d, line, sizeof line));
	if (times > 1)
		(void)fprintf(w->out, " (%u times)", times);
	(void)fputc('\n', w->out);
}

static void
look_at_decisions(struct why *w)
{
	uint64_t n = first_of_last(w),
		 next = tide_ring_next(w->view->map->ring);
	struct tide_decision d, held;
	unsigned times = 0; /* that which is held was made */

	for (; n < next; n++) {
		if (!decision_at(w, n, &d))
			continue;
		w->decisions++;
		if (w->json) {
			decision_record(w, n, &d);
		} else if (times > 0 && repeats(&d, &held)) {
			times++;
		} else {
			if (times == 0)
				(void)fprintf(w->out, "Last decisions:\n");
			else
				tell_decision(w, &held, times);
			held = d;
			times = 1;
		}
	}
	if (times > 0)
		tell_decision(w, &held, times);
}

/* A message's name stands for its sender and its client. */
static void
follow_name(struct why *w)
{
	const struct tide_ring *r = w->view->map->ring;
	uint64_t n = tide_ring_next(r), oldest = tide_ring_oldest(r);
	struct tide_decision d;

	while (n-- > oldest) {
		if (!decision_at(w, n, &d))
			continue;
		question_add(&w->q, d.sender);
		question_add(&w->q, d.client);
		if (!w->q.has_ip)
			w->q.has_ip = tide_ip_parse(d.client, &w->q.ip);
		return;
	}
}

static void
tell_reach(const struct why *w)
{
	const struct tide_ring *r = w->view->map->ring;
	uint64_t n, next = tide_ring_next(r);
	struct tide_decision d = { .wall_ms = 0 };
	char since[SHOW_MAX];
	struct json j;

	for (n = tide_ring_oldest(r); n < next; n++)
		if (tide_ring_get(r, n, &d) == TIDE_RING_HERE)
			break;
	if (w->json) {
		j = json_record(w->out, "ring");
		json_time(&j, "from", d.wall_ms);
		json_number(&j, "capacity", r->capacity);
		json_number(&j, "decisions", next);
		json_record_end(&j);
	} else if (next == 0) {
		(void)fprintf(w->out,
		    "No decision has been made since the map was made.\n");
	} else {
		(void)fprintf(w->out,
		    "%sDecisions are known since %s: the last %llu of "
		    "%llu.%s\n",
		    tone(TONE_FAINT),
		    show_moment(d.wall_ms, since, sizeof since),
		    (unsigned long long)(next - tide_ring_oldest(r)),
		    (unsigned long long)next, tone(TONE_PLAIN));
	}
}

/* ---- from here --------------------------------------------------------- */

int
why_tell(const struct view *view, const char *text, bool as_json, FILE *out)
{
	struct why why = { .view = view, .out = out, .json = as_json };
	struct why *w = &why;

	w->now = tide_map_now_ms(w->view->map);
	question_ask(&w->q, view, text);
	if (w->q.is_name)
		follow_name(w);
	look_at_bans(w);
	look_at_levels(w);
	look_at_list(w);
	look_at_decisions(w);
	if (w->bans + w->levels + w->decisions == 0 && !w->listed && !w->json)
		(void)fprintf(out,
		    "Nothing is known of %s: no ban, no bucket, no "
		    "decision.\n",
		    text);
	else if (w->bans == 0 && !w->json)
		(void)fprintf(out, "No ban stands against %s.\n", text);
	tell_reach(w);
	return w->bans + w->levels + w->decisions > 0 || w->listed ? TOOL_OK
								   : TOOL_NO;
}

/*
 * What was typed, as it is asked for.  "Nothing is known" would be true of what
 * is no key at all, and mislead.
 */
static int
read_typed(const char *text, char out[TIDE_ADDRESS_MAX], struct tide_err *err)
{
	static const struct tide_hash_key any;
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = &any };
	struct tide_key key;
	bool domain;

	(void)snprintf(out, TIDE_ADDRESS_MAX, "%s", text);
	if (text[0] != '\0' && strpbrk(text, " ./:|@") == NULL)
		return 0; /* the id of a message or session */
	tide_key_rules_defaults(&rules);
	if (tide_key_wanted(&keys, text, &key, err) < 0)
		return -1;
	if (strchr(text, '@') == NULL || strchr(text, '|') != NULL ||
	    strncmp(text, "auth:", 5) == 0 ||
	    tide_key_is_cut(text, strlen(text)) ||
	    tide_address_typed(text, out, &domain, err) == 0)
		return 0;
	/* a key that many share, as it is shown */
	(void)snprintf(out, TIDE_ADDRESS_MAX, "%s", text);
	return tide_key_is_shared(text, strlen(text)) ? 0 : -1;
}

int
run_why(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	struct tide_config config;
	struct tide_err err;
	char typed[TIDE_ADDRESS_MAX];
	struct view view;
	int code;

	while (tool_getopt(t, "", none) != -1)
		;
	if (read_typed(tool_arguments(t, 1)[0], typed, &err) < 0)
		tool_misused(t, "%s", err.text);
	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	if (view_open(&view, &config, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	code = why_tell(&view, typed, t->json, stdout);
	view_close(&view);
	return code;
}
