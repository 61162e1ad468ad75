/*
 * verbs, flow - bans by hand, buckets, audit, reports.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"
#include "tidemark/shared/counters.h"

#define BAN_LONGEST_MS (100ull * 365 * 86400000)

/* ---- keys and names ---------------------------------------------------- */

static struct tide_keys
keys_of(const struct collector *c, struct tide_key_rules *rules)
{
	tide_key_rules_defaults(rules);
	return (struct tide_keys){ .rules = rules, .secret = c->map->key };
}

typedef int key_reader(const struct tide_keys *, const char *,
    struct tide_key *, struct tide_err *);

static int
read_key(const struct collector *c, const struct tide_line *line,
    key_reader *read, struct tide_key *key, struct tide_err *err)
{
	const char *text = tide_line_get(line, "key");
	struct tide_key_rules rules;
	struct tide_keys keys = keys_of(c, &rules);

	if (text == NULL)
		return tide_err_set(err, "there is no key=");
	return read(&keys, text, key, err);
}

/* The profile so named, -1 with a sentence; `fallback' without a name. */
static int
read_profile(const struct tide_config *config, const struct tide_line *line,
    int fallback, struct tide_err *err)
{
	const char *name = tide_line_get(line, "profile");
	int i;

	if (name == NULL)
		return fallback;
	i = tide_config_profile(config, name);
	return i >= 0 ? i : tide_err_set(err, "there is no profile %s", name);
}

static void
copy_config(struct collector *c, struct tide_config *config)
{
	(void)pthread_mutex_lock(&c->lock);
	*config = c->config;
	(void)pthread_mutex_unlock(&c->lock);
}

/* ---- bans -------------------------------------------------------------- */

/* A ban that would meet nobody, or everybody, is a mistake. */
static int
check_ban(const struct tide_key *key, uint64_t for_ms, struct tide_err *err)
{
	struct tide_err ignored;
	struct tide_net net;

	if (strcmp(key->text, "<>") == 0 || strcmp(key->text, "local") == 0)
		return tide_err_set(err,
		    "%s is never banned: ban the client instead", key->text);
	if (strchr(key->text, '@') == NULL &&
	    tide_net_parse(key->text, &net, &ignored) == 0 &&
	    net.bits == (tide_ip_is_v4(&net.ip) ? 96 : 0))
		return tide_err_set(err, "%s is everybody", key->text);
	if (for_ms == 0 || for_ms > BAN_LONGEST_MS)
		return tide_err_set(
		    err, "a ban lasts more than 0 and at most 100 years");
	return 0;
}

void
do_ban(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t for_ms = tide_line_number(line, "for_ms", 3600000);
	char reason[TIDE_BAN_REASON_MAX + 1];
	uint64_t left;
	struct tide_line_out out;
	struct tide_err err;
	struct tide_ban ban;
	struct tide_key key;

	verb_text(reason, sizeof reason, tide_line_get(line, "reason"));
	if (read_key(c, line, tide_key_wanted, &key, &err) < 0 ||
	    check_ban(&key, for_ms, &err) < 0 ||
	    ban_by_hand(c, &key, for_ms, reason, &ban, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_line_start(&out, "banned");
	tide_line_add(&out, "key", key.text);
	tide_line_add_number(&out, "since_ms", ban.since_ms);
	tide_line_add_number(&out, "until_ms", ban.until_ms);
	left = ban.until_ms - tide_map_now_ms(c->map);
	tide_line_add_number(
	    &out, "remaining_ms", left < for_ms ? for_ms : left);
	tide_line_add(&out, "reason", ban.reason);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

void
do_unban(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_line_out out;
	struct tide_err err;
	struct tide_key key;
	struct tide_ban was = { 0 };
	int rc = read_key(c, line, tide_key_given, &key, &err);

	if (rc == 0) {
		rc = unban(c, &key, &was, &err);
		if (rc == 0)
			rc = tide_err_set(
			    &err, "there is no ban on %s", key.text);
	}
	if (rc < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_line_start(&out, "unbanned");
	tide_line_add(&out, "key", key.text);
	tide_line_add_number(&out, "until_ms", was.until_ms);
	tide_line_add_number(&out, "now_ms", tide_map_now_ms(c->map));
	if (was.group < TIDE_GROUPS)
		tide_line_add(&out, "group", tide_group_name[was.group]);
	tide_line_add(&out, "reason", was.reason);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

/* ---- buckets ----------------------------------------------------------- */

/* A bit for each class that the line means, and apart for each tier. */
static int
read_classes(struct collector *c, const struct tide_line *line,
    uint64_t *classes, uint64_t tier[TIDE_KEY_TIERS], struct tide_err *err)
{
	const char *group = tide_line_get(line, "group");
	struct tide_class_id id;
	struct tide_config config;
	int profile;
	unsigned i;

	copy_config(c, &config);
	profile = read_profile(&config, line, TIDE_PROFILES_MAX, err);
	if (profile < 0)
		return -1;
	*classes = 0;
	for (i = 0; i < TIDE_CLASSES; i++) {
		if (!tide_class_describe(config.profiles, i, &id) ||
		    (profile != TIDE_PROFILES_MAX &&
			id.profile != (unsigned)profile) ||
		    (group != NULL &&
			strcasecmp(group, tide_group_name[id.group]) != 0))
			continue;
		*classes |= 1ull << i;
		tier[id.tier] |= 1ull << i;
	}
	return *classes != 0 ? 0
			     : tide_err_set(err, "there is no group %s",
				   group != NULL ? group : "");
}

/*
 * The key's buckets; with an IPv6 client's also those of the networks around
 * it, which have got every drop of its: emptied alone, it would still meet
 * them full.
 */
static int
plan_reset(struct collector *c, const struct tide_line *line,
    struct chore *chore, struct tide_err *err)
{
	uint64_t tier[TIDE_KEY_TIERS] = { 0 };
	struct tide_ip ip;
	unsigned i;

	if (read_key(c, line, tide_key_given, &chore->key[0], err) < 0 ||
	    read_classes(c, line, &chore->classes[0], tier, err) < 0)
		return -1;
	chore->keys = 1;
	if (!tide_ip_parse(chore->key[0].text, &ip) || tide_ip_is_v4(&ip))
		return 0;
	for (i = 1; i < TIDE_KEY_TIERS; i++) {
		tide_key_client(
		    &ip, tide_key_tiers[i], &chore->key[chore->keys]);
		chore->classes[chore->keys++] = tier[i];
	}
	return 0;
}

void
do_bucket_reset(struct collector *c, int fd, const struct tide_line *line)
{
	struct chore chore = { .kind = CHORE_RESET };
	struct tide_line_out out;
	struct tide_err err;

	if (plan_reset(c, line, &chore, &err) < 0 ||
	    chore_ask(c, &chore, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	if (chore.count > 0)
		tide_log(TIDE_LOG_WARNING, "bucket: key=%s emptied by hand",
		    chore.key[0].text);
	tide_line_start(&out, "emptied");
	tide_line_add(&out, "key", chore.key[0].text);
	tide_line_add_number(&out, "buckets", chore.count);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

void
do_audit(struct collector *c, int fd, const struct tide_line *line)
{
	struct chore chore = { .kind = CHORE_AUDIT };
	struct tide_line_out out;
	struct tide_err err;

	(void)line;
	if (chore_ask(c, &chore, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_count(c->map->counters, TIDE_COUNT_AUDITS, 1);
	tide_count(c->map->counters, TIDE_COUNT_AUDIT_FAULTS, chore.count);
	if (chore.count > 0)
		tide_log(TIDE_LOG_ERROR, "audit: %u faults, the first: %s",
		    chore.count, chore.err.text);
	tide_line_start(&out, "audit");
	tide_line_add_number(&out, "faults", chore.count);
	tide_line_add(&out, "text", chore.count > 0 ? chore.err.text : "");
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

/* ---- reports ----------------------------------------------------------- */

static void
want(struct chore *chore, const struct tide_config *config,
    struct tide_class_id id, const struct tide_key *key)
{
	int class = tide_class_number(config->profiles, id);

	if (class < 0 ||
	    config->profile[id.profile].group[id.group].mode == TIDE_MODE_OFF)
		return;
	chore->key[chore->keys] = *key;
	chore->class[chore->keys++] = (unsigned)class;
}

/* An IPv6 client pays at every tier. */
static void
want_client(struct chore *chore, const struct tide_config *config,
    unsigned profile, const struct tide_ip *ip)
{
	struct tide_class_id id = { .profile = profile, .group = TIDE_CBIP };
	unsigned tiers = tide_ip_is_v4(ip) ? 1 : TIDE_KEY_TIERS;
	struct tide_key key;

	for (; id.tier < tiers; id.tier++) {
		tide_key_client(ip, tide_key_tiers[id.tier], &key);
		want(chore, config, id, &key);
	}
}

/* sender_key= as it was charged, or the key of sender=. */
static bool
read_sender(const struct collector *c, const struct tide_line *line,
    const struct tide_profile *p, const struct tide_ip *ip,
    struct tide_key *key)
{
	const char *ready = tide_line_get(line, "sender_key");
	struct tide_key_rules rules;
	struct tide_keys keys = keys_of(c, &rules);
	struct tide_key_facts facts = { .sender = tide_line_get(line, "sender"),
		.client = ip };

	if (ready != NULL) {
		tide_key_text(&keys, ready, key);
		return key->length > 0 && strcmp(key->text, "<>") != 0;
	}
	rules.sender_key = p->sender_key;
	return facts.sender != NULL && tide_key_sender(&keys, &facts, key);
}

/* Is it one whom the milter would never have charged? */
static bool
is_allowed(const struct collector *c, const struct tide_line *line,
    const struct tide_profile *p, const struct tide_ip *ip)
{
	const char *ready = tide_line_get(line, "sender_key");
	const char *sender =
	    ready != NULL ? ready : tide_line_get(line, "sender");
	struct tide_key_rules rules;
	struct tide_keys keys = keys_of(c, &rules);
	struct tide_key address, domain;
	struct tide_listed who = { .keys = &keys, .client = ip };
	char text[512], name[TIDE_DOMAIN_MAX];

	if (sender != NULL && strncmp(sender, "auth:", 5) == 0) {
		tide_key_user(&keys, sender + 5, &address);
		who.account = &address;
	} else if (sender != NULL) {
		(void)snprintf(text, sizeof text, "%.*s",
		    (int)strcspn(sender, ready != NULL ? "|" : ""), sender);
		tide_key_address(&keys, text, &address);
		who.address = &address;
		tide_domain_of(text, name);
		tide_key_domain(&keys, name, &domain);
		who.domain = &domain;
	}
	return tide_allows(p, &who);
}

/*
 * The same keys as the milter would have charged.  Only who has a ready key
 * can do without a client: mail from a local socket has none.
 */
static int
plan_report(struct collector *c, const struct tide_line *line,
    const struct tide_config *config, struct chore *chore, struct tide_err *err)
{
	const char *kind = tide_line_get(line, "kind");
	const char *ip_text = tide_line_get(line, "ip");
	bool no_client =
	    ip_text == NULL && tide_line_get(line, "sender_key") != NULL;
	struct tide_class_id id = { .group = TIDE_CBSENDER };
	const struct tide_profile *p;
	struct tide_key key;
	struct tide_ip ip;
	int profile = read_profile(config, line, 0, err);

	if (profile < 0)
		return -1;
	if (kind == NULL || strcmp(kind, "content-blocked") != 0)
		return tide_err_set(err, "only content-blocked is reported");
	if (!no_client && (ip_text == NULL || !tide_ip_parse(ip_text, &ip)))
		return tide_err_set(err, "«%.60s» is no client's address",
		    ip_text != NULL ? ip_text : "");
	id.profile = (unsigned)profile;
	p = &config->profile[profile];
	if (is_allowed(c, line, p, no_client ? NULL : &ip))
		return tide_err_set(err,
		    "on the list allow of profile %s: never charged", p->name);
	if (read_sender(c, line, p, no_client ? NULL : &ip, &key))
		want(chore, config, id, &key);
	if (!no_client)
		want_client(chore, config, id.profile, &ip);
	return chore->keys > 0
	    ? 0
	    : tide_err_set(err,
		  "cbsender_mode and cbip_mode of profile %s "
		  "are off",
		  p->name);
}

static int
send_charge(int fd, const struct tide_config *config, const struct chore *chore,
    unsigned i)
{
	struct tide_line_out out;
	struct tide_class_id id;

	if (!tide_class_describe(config->profiles, chore->class[i], &id))
		return 0;
	tide_line_start(&out, "charged");
	tide_line_add(&out, "key", chore->key[i].text);
	tide_line_add(&out, "profile", config->profile[id.profile].name);
	tide_line_add(&out, "group", tide_group_name[id.group]);
	return tide_line_send(&out, fd);
}

void
do_report(struct collector *c, int fd, const struct tide_line *line)
{
	struct chore chore = { .kind = CHORE_ADD };
	struct tide_class_id id;
	struct tide_config config;
	struct tide_err err;
	unsigned i;
	int rc = 0;

	copy_config(c, &config);
	if (plan_report(c, line, &config, &chore, &err) < 0 ||
	    chore_ask(c, &chore, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	if (chore.count < chore.keys) {
		say_err(fd, "there is no room for another bucket");
		return;
	}
	if (tide_class_describe(config.profiles, chore.class[0], &id))
		tide_count_profile(c->map->counters, id.profile,
		    TIDE_COUNT_DROPS, chore.count);
	for (i = 0; rc == 0 && i < chore.keys; i++)
		rc = send_charge(fd, &config, &chore, i);
	if (rc == 0)
		say_ok(fd);
}
