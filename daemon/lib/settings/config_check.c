/*
 * config_check - do the settings fit together?
 *
 * Each check names the line of the setting at fault; what is built in is
 * blamed on what it clashes with.  A check is left out when a setting it looks
 * at was refused already: one mistake, one complaint.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config_read.h"
#include "tidemark/base/err.h"
#include "tidemark/base/listen.h"
#include "tidemark/base/units.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/overrides.h"
#include "tidemark/settings/params.h"
#include "tidemark/settings/ports.h"
#include "tidemark/settings/sizing.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define MARK_LEAST 8u /* of content_blocked_mark */

const struct place *
tide_reading_place(const struct reading *r, int section, const char *key)
{
	const struct tide_param *p =
	    tide_param_find(key, tide_reading_kind(section));

	return &r->set[section][p - tide_params];
}

const struct place *
tide_reading_blame(const struct reading *r, int section, const char *key)
{
	const struct place *at = tide_reading_place(r, section, key);

	if (at->file == NULL)
		at = &r->header[section];
	return at->file != NULL
	    ? at
	    : tide_reading_place(r, IN_GLOBALS, "runtime_dir");
}

static const struct place *
place_of(const struct reading *r, const char *key)
{
	return tide_reading_place(r, IN_GLOBALS, key);
}

/* Where a global setting was set, or the other one that it depends on. */
static const struct place *
blame(const struct reading *r, const char *key, const char *other)
{
	const struct place *at = place_of(r, key);

	return at->file != NULL ? at : place_of(r, other);
}

static const struct place *
blame_profile(const struct reading *r, unsigned i, const char *key)
{
	return tide_reading_blame(r, IN_PROFILE + (int)i, key);
}

static bool
is_bad(const struct reading *r, const char *key)
{
	return place_of(r, key)->bad;
}

static void
check_runtime_dir(struct reading *r)
{
	size_t n = strlen(r->config->runtime_dir);

	if (n > TIDE_RUNTIME_DIR_MAX)
		tide_complain(r->complaints, place_of(r, "runtime_dir"),
		    "runtime_dir: %zu bytes are too long for the sockets in "
		    "it; at most %d",
		    n, TIDE_RUNTIME_DIR_MAX);
}

static void
check_profile_count(struct reading *r)
{
	const struct place nowhere = { .file = NULL };

	if (r->config->profiles == 0)
		tide_complain(r->complaints, &nowhere, "there is no profile");
	if (r->config->profiles > TIDE_PROFILES_MAX) {
		tide_complain(r->complaints, &nowhere,
		    "%u profiles are too many; at most %d", r->config->profiles,
		    TIDE_PROFILES_MAX);
		r->config->profiles = TIDE_PROFILES_MAX;
	}
}

/* A socket that is only too long because runtime_dir is has been told of. */
static void
check_socket_length(struct reading *r, unsigned i)
{
	const struct tide_profile *p = &r->config->profile[i];
	const char *path = p->socket + strlen("local:");

	if (strncmp(p->socket, "local:", 6) != 0 ||
	    strlen(path) <= TIDE_LOCAL_SOCKET_MAX ||
	    (tide_reading_place(r, IN_PROFILE + (int)i, "socket")->file ==
		    NULL &&
		strlen(r->config->runtime_dir) > TIDE_RUNTIME_DIR_MAX))
		return;
	tide_complain(r->complaints, blame_profile(r, i, "socket"),
	    "socket: the path of a local socket has at most %d bytes, "
	    "not %zu",
	    TIDE_LOCAL_SOCKET_MAX, strlen(path));
}

static void
check_socket_taken(struct reading *r, unsigned i)
{
	const struct tide_profile *p = r->config->profile;

	for (unsigned k = 0; k < i; k++) {
		if (p[i].socket[0] == '\0' ||
		    strcmp(p[k].socket, p[i].socket) != 0)
			continue;
		tide_complain(r->complaints, blame_profile(r, i, "socket"),
		    "socket: %s is already the socket of [profile %s]",
		    p[i].socket, p[k].name);
		return;
	}
}

static void
check_daemons(struct reading *r, unsigned i)
{
	const struct tide_profile *p = r->config->profile;
	char words[TIDE_WORDS_MAX], *rest = NULL, *word;

	memcpy(words, p[i].daemons, sizeof words);
	for (word = strtok_r(words, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		for (unsigned k = 0; k < i; k++)
			if (tide_config_has_word(p[k].daemons, word))
				tide_complain(r->complaints,
				    blame_profile(r, i, "daemons"),
				    "daemons: %s already belongs to "
				    "[profile %s]",
				    word, p[k].name);
}

/* NAME:BEGINNING each; "X-Spam-Flag: YES" would be two words, both wrong. */
static void
check_header_rules(struct reading *r, unsigned i)
{
	static const char key[] = "content_blocked_header";
	char words[TIDE_WORDS_MAX], *rest = NULL, *word, *colon;

	memcpy(
	    words, r->config->profile[i].content_blocked_header, sizeof words);
	for (word = strtok_r(words, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		colon = strchr(word, ':');
		if (colon == NULL || colon == word || colon[1] == '\0')
			tide_complain(r->complaints, blame_profile(r, i, key),
			    "%s: «%s» is not NAME:BEGINNING, without a space, "
			    "such as X-Spam-Flag:YES",
			    key, word);
	}
}

/* As long as what it is to be told from. */
static void
check_header_mark(struct reading *r, unsigned i)
{
	static const char key[] = "content_blocked_mark";
	const struct tide_profile *p = &r->config->profile[i];
	const char *mark = p->content_blocked_mark;

	if (mark[0] != '\0' &&
	    (strlen(mark) < MARK_LEAST ||
		mark[strspn(mark, LETTERS DIGITS)] != '\0'))
		tide_complain(r->complaints, blame_profile(r, i, key),
		    "%s: «%s» is not %u letters and digits or more", key, mark,
		    MARK_LEAST);
	if (mark[0] == '\0' && p->content_blocked_header[0] != '\0' &&
	    (p->group[TIDE_CBSENDER].mode != TIDE_MODE_OFF ||
		p->group[TIDE_CBIP].mode != TIDE_MODE_OFF))
		tide_complain_passable(r->complaints,
		    blame_profile(r, i, "content_blocked_header"),
		    "content_blocked_header: anybody can write such a header, "
		    "so it counts in no group; let your filter write a word "
		    "that only you know, and set %s",
		    key);
}

static void
check_groups(struct reading *r, unsigned i)
{
	const struct tide_profile *p = &r->config->profile[i];
	char key[TIDE_NAME_MAX];
	struct tide_err err;
	uint64_t depth;

	for (unsigned g = 0; g < TIDE_GROUPS; g++) {
		const struct tide_limit *l = &p->group[g];

		(void)snprintf(
		    key, sizeof key, "%s_limit", tide_group_setting[g]);
		if (tide_size_leaky(l->limit, l->leak, &depth, &err) < 0)
			tide_complain(r->complaints, blame_profile(r, i, key),
			    "%s: %s", key, err.text);
		else if (depth > TIDE_DEPTH_MAX)
			tide_complain(r->complaints, blame_profile(r, i, key),
			    "%s: a bucket of %llu drops is too deep; at most "
			    "%u",
			    key, (unsigned long long)depth, TIDE_DEPTH_MAX);
	}
}

static void
complain_profile(
    struct reading *r, unsigned i, const char *key, const struct tide_err *err)
{
	tide_complain(
	    r->complaints, blame_profile(r, i, key), "%s: %s", key, err->text);
}

static void
check_tokens(struct reading *r, unsigned i)
{
	const struct tide_profile *p = &r->config->profile[i];
	uint32_t order[TIDE_KEY_SOURCES];
	struct tide_overrides overrides = { 0 };
	struct tide_allowance allowance, also[TIDE_TOKENS_ALSO];
	struct tide_err err;

	if (tide_tokens_also(p->tokens_also, also, &err) < 0)
		complain_profile(r, i, "tokens_also", &err);
	if (tide_allowance_make(
		&allowance, p->tokens_burst, p->tokens_rate, &err) < 0)
		complain_profile(r, i, "tokens_rate", &err);
	if (tide_key_order_parse(p->account_key, order, &err) < 0)
		complain_profile(r, i, "account_key", &err);
	if (p->tokens_overrides[0] != '\0' &&
	    tide_overrides_read(&overrides, p->tokens_overrides, i, &err) < 0)
		complain_profile(r, i, "tokens_overrides", &err);
	tide_overrides_free(&overrides);
}

/* A cell that stays at its most never gets to a threshold above it. */
static void
check_bulk(struct reading *r, unsigned i)
{
	const struct tide_profile *p = &r->config->profile[i];
	uint32_t most = (1u << r->config->bulk_bits) - 1;

	if (p->bulk_mode != TIDE_MODE_OFF && !is_bad(r, "bulk_bits") &&
	    p->bulk_threshold > most)
		tide_complain(r->complaints,
		    blame_profile(r, i, "bulk_threshold"),
		    "bulk_threshold: cells of %u bits (bulk_bits) count to %u "
		    "only",
		    r->config->bulk_bits, most);
}

/* About; the filter rounds up to whole blocks. */
static double
window_bytes(const struct tide_config *c)
{
	double bits = log(1 / c->window_error) / (log(2) * log(2));

	return bits *
	    ((double)c->window_senders + (double)c->window_recipients) / 8;
}

static void
check_window_fits(struct reading *r)
{
	const struct tide_config *c = r->config;
	char need[TIDE_UNITS_MAX], have[TIDE_UNITS_MAX];
	uint64_t kib;

	if (is_bad(r, "retain_size") || is_bad(r, "window_error") ||
	    is_bad(r, "window_senders") || is_bad(r, "window_recipients"))
		return;
	if (window_bytes(c) <= (double)c->retain_size)
		return;
	kib = (uint64_t)(window_bytes(c) / 1024) + 1;
	tide_complain(r->complaints, blame(r, "retain_size", "window_senders"),
	    "retain_size: one window takes about %s, more than %s",
	    tide_size_show(kib << 10, need, sizeof need),
	    tide_size_show(c->retain_size, have, sizeof have));
}

static void
check_retention(struct reading *r)
{
	const struct tide_config *c = r->config;
	char one[TIDE_UNITS_MAX], other[TIDE_UNITS_MAX];

	if (c->retain_size >= c->archive_map && !is_bad(r, "retain_size") &&
	    !is_bad(r, "archive_map"))
		tide_complain(r->complaints,
		    blame(r, "retain_size", "archive_map"),
		    "retain_size: %s must be smaller than archive_map, %s",
		    tide_size_show(c->retain_size, one, sizeof one),
		    tide_size_show(c->archive_map, other, sizeof other));
	if (c->retain_for < c->window_span && !is_bad(r, "retain_for") &&
	    !is_bad(r, "window_span"))
		tide_complain(r->complaints,
		    blame(r, "retain_for", "window_span"),
		    "retain_for: %s is shorter than window_span, %s",
		    tide_time_show(c->retain_for, one, sizeof one),
		    tide_time_show(c->window_span, other, sizeof other));
}

/* ---- egress ------------------------------------------------------------ */

/* nft's own language would take some of them for something else. */
static bool
good_table(const char *name)
{
	size_t n = strspn(name, LETTERS);

	return n > 0 && n + strspn(name + n, DIGITS "_") == strlen(name);
}

static void
check_egress(struct reading *r)
{
	const struct tide_config *c = r->config;
	uint16_t port[TIDE_PORTS_MAX];
	char words[TIDE_NAME_MAX], *rest = NULL, *word;
	struct tide_err err;

	if (!is_bad(r, "egress_ports") &&
	    tide_ports_parse(c->egress_ports, port, &err) < 0)
		tide_complain(r->complaints, place_of(r, "egress_ports"),
		    "egress_ports: %s", err.text);
	if (!is_bad(r, "egress_table") && !good_table(c->egress_table))
		tide_complain(r->complaints, place_of(r, "egress_table"),
		    "egress_table: «%s» is not letters and then digits or _",
		    c->egress_table);
	memcpy(words, c->egress_hooks, sizeof words);
	word = strtok_r(words, " ", &rest);
	if (word == NULL && !is_bad(r, "egress_hooks"))
		tide_complain(r->complaints, place_of(r, "egress_hooks"),
		    "egress_hooks: there is none");
	for (; word != NULL; word = strtok_r(NULL, " ", &rest))
		if (strcmp(word, "forward") != 0 && strcmp(word, "output") != 0)
			tide_complain(r->complaints,
			    place_of(r, "egress_hooks"),
			    "egress_hooks: «%s» is neither forward nor output",
			    word);
}

/* Kept for each, they must leave everybody at least one. */
static void
check_reserves(struct reading *r)
{
	const struct tide_config *c = r->config;
	const struct place *at = NULL;
	uint32_t i, sum = 0;

	for (i = 0; i < c->profiles; i++) {
		sum += c->profile[i].workers_reserved;
		if (c->profile[i].workers_reserved > 0)
			at = blame_profile(r, i, "workers_reserved");
		else
			sum++;
	}
	for (i = 0; i < c->policies; i++) {
		sum += c->policy[i].workers_reserved;
		if (c->policy[i].workers_reserved > 0)
			at = tide_reading_blame(
			    r, IN_POLICY + (int)i, "workers_reserved");
		else
			sum++;
	}
	if (at != NULL && sum > c->max_workers && !is_bad(r, "max_workers"))
		tide_complain(r->complaints, at,
		    "workers_reserved: %u in all, one for each socket at "
		    "least, are more than max_workers, %u",
		    sum, c->max_workers);
}

/* Up to 60 million were taken once, and keys of some ran into others. */
static void
check_buckets(struct reading *r)
{
	if (!is_bad(r, "max_buckets") &&
	    r->config->max_buckets > TIDE_BUCKETS_MAX)
		tide_complain_passable(r->complaints,
		    place_of(r, "max_buckets"),
		    "max_buckets: %llu are too many; %u, the most there can "
		    "be, are used",
		    (unsigned long long)r->config->max_buckets,
		    TIDE_BUCKETS_MAX);
}

static void
check_web(struct reading *r)
{
	struct tide_web_place place;
	struct tide_err err;

	if (r->config->web_listen[0] != '\0' && !is_bad(r, "web_listen") &&
	    tide_web_place(r->config->web_listen, &place, &err) < 0)
		tide_complain(r->complaints, place_of(r, "web_listen"),
		    "web_listen: %s", err.text);
}

void
tide_reading_check(struct reading *r)
{
	check_runtime_dir(r);
	check_profile_count(r);
	check_buckets(r);
	for (unsigned i = 0; i < r->config->profiles; i++) {
		int section = IN_PROFILE + (int)i;

		if (!tide_reading_place(r, section, "socket")->bad) {
			check_socket_length(r, i);
			check_socket_taken(r, i);
		}
		if (!tide_reading_place(r, section, "daemons")->bad)
			check_daemons(r, i);
		tide_reading_check_lists(r, i);
		check_header_rules(r, i);
		check_header_mark(r, i);
		check_groups(r, i);
		check_tokens(r, i);
		check_bulk(r, i);
	}
	tide_reading_check_policies(r);
	tide_reading_check_peers(r);
	check_retention(r);
	check_window_fits(r);
	check_egress(r);
	check_web(r);
	check_reserves(r);
	tide_reading_check_world(r);
}
