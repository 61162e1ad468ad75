/*
 * charge - keys, drops, bans.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "charge.h"
#include "session.h"
#include "tidemark/classes.h"
#include "tidemark/clock.h"

static const struct tide_profile *
profile(void)
{
	return &session.config.profile[session.profile];
}

static struct tide_keys
keys_of(struct tide_key_rules *rules)
{
	tide_key_rules_defaults(rules);
	rules->sender_key = profile()->sender_key;
	return (struct tide_keys){ .rules = rules,
		.secret = &session.map->control->head.key };
}

/* ---- lists of addresses, domains and networks -------------------------- */

static bool
word_matches(const char *word, const struct tide_key *address,
    const struct tide_key *domain, const struct tide_ip *ip)
{
	struct tide_err err;
	struct tide_net net;

	if (word[0] == '@')
		return domain != NULL && strcasecmp(word, domain->text) == 0;
	if (strchr(word, '@') != NULL)
		return address != NULL && strcasecmp(word, address->text) == 0;
	return ip != NULL && tide_net_parse(word, &net, &err) == 0 &&
	    tide_net_contains(&net, ip);
}

static bool
list_matches(const char *words, const struct tide_key *address,
    const struct tide_key *domain, const struct tide_ip *ip)
{
	char copy[TIDE_WORDS_MAX], *word, *save = NULL;

	(void)snprintf(copy, sizeof copy, "%s", words);
	for (word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save))
		if (word_matches(word, address, domain, ip))
			return true;
	return false;
}

/* ---- keys -------------------------------------------------------------- */

void
charge_client(struct charge *c, const char *address)
{
	memset(c, 0, sizeof *c);
	c->has_client = tide_ip_parse(address, &c->ip);
}

void
charge_sender(struct charge *c, const char *sender, const char *user)
{
	struct tide_key_rules rules;
	struct tide_key_facts facts = { .user = user,
		.sender = sender,
		.client = c->has_client ? &c->ip : NULL };
	struct tide_keys keys;
	char domain[TIDE_DOMAIN_MAX];

	if (session.map == NULL)
		return;
	keys = keys_of(&rules);
	c->has_sender = tide_key_sender(&keys, &facts, &c->sender);
	tide_key_address(&keys, sender, &c->address);
	tide_domain_of(sender, domain);
	tide_key_domain(&keys, domain, &c->domain);
	c->exempt = list_matches(
	    profile()->allow, &c->address, &c->domain, facts.client);
}

/* ---- drops ------------------------------------------------------------- */

static void
count_drop(enum tide_drop d, uint32_t drops)
{
	struct tide_counters *n = session.map->counters;

	tide_count_profile(n, session.profile,
	    d == TIDE_DROP_LOST ? TIDE_COUNT_DROPS_LOST : TIDE_COUNT_DROPS,
	    drops);
	if (d == TIDE_DROP_OVERFLOW)
		tide_count_profile(n, session.profile, TIDE_COUNT_OVERFLOWS, 1);
}

static enum tide_drop
add_drops(enum tide_group group, unsigned tier, const struct tide_key *key,
    uint32_t drops)
{
	struct tide_class_id id = {
		.profile = session.profile, .group = group, .tier = tier
	};
	struct tide_adder me = { .epoch = &session.slot->epoch,
		.mailbox = (uint32_t)(session.slot - session.map->slots) };
	struct tide_flow_key flow_key;
	enum tide_drop d;
	int class = tide_class_number(session.config.profiles, id);

	if (class < 0 ||
	    !tide_flow_key(
		&session.map->flow, key->text, key->length, &flow_key))
		return TIDE_DROP_HELD;
	d = tide_flow_add(
	    &session.map->flow, &me, (unsigned)class, &flow_key, drops);
	count_drop(d, drops);
	return d;
}

static bool
is_over(enum tide_drop d)
{
	return d == TIDE_DROP_OVERFLOW || d == TIDE_DROP_OVER;
}

/* An IPv6 client pays at every tier. */
static bool
charge_ip(const struct charge *c, enum tide_group group, uint32_t drops)
{
	unsigned tier, tiers = tide_ip_is_v4(&c->ip) ? 1 : TIDE_KEY_TIERS;
	struct tide_key key;
	bool over = false;

	for (tier = 0; c->has_client && tier < tiers; tier++) {
		tide_key_client(&c->ip, tide_key_tiers[tier], &key);
		over |= is_over(add_drops(group, tier, &key, drops));
	}
	return over;
}

bool
charge_group(const struct charge *c, enum tide_group group, uint32_t drops)
{
	const struct tide_limit *l = &profile()->group[group];
	bool over = false;

	if (session.map == NULL || session.slot == NULL || c->exempt ||
	    l->mode == TIDE_MODE_OFF)
		return false;
	if (tide_group_is_ip(group))
		over = charge_ip(c, group, drops);
	else if (c->has_sender)
		over = is_over(add_drops(group, 0, &c->sender, drops));
	return over && l->mode == TIDE_MODE_ENFORCE;
}

/* ---- bans -------------------------------------------------------------- */

bool
charge_banned(const struct charge *c, struct tide_ban *ban)
{
	const struct tide_bans *bans;
	const uint8_t *secret;
	uint64_t now = tide_clock_wall_ms();

	if (session.map == NULL || c->exempt)
		return false;
	bans = session.map->bans;
	secret = session.map->flow.head->secret;
	if (c->has_sender &&
	    (tide_bans_find(bans, secret, &c->sender, now, ban) ||
		tide_bans_find(bans, secret, &c->address, now, ban) ||
		tide_bans_find(bans, secret, &c->domain, now, ban)))
		return true;
	return c->has_client &&
	    tide_bans_find_client(bans, secret, &c->ip, now, ban);
}

/* ---- recipients -------------------------------------------------------- */

bool
charge_always_open(const char *recipient)
{
	if (*recipient == '<')
		recipient++;
	return strncasecmp(recipient, "postmaster@", 11) == 0 ||
	    strncasecmp(recipient, "abuse@", 6) == 0 ||
	    strcasecmp(recipient, "postmaster>") == 0;
}

bool
charge_protected(const struct charge *c, const char *recipient)
{
	struct tide_key_rules rules;
	struct tide_keys keys;
	struct tide_key to;

	if (session.map == NULL || profile()->protected_to[0] == '\0' ||
	    c->exempt)
		return false;
	keys = keys_of(&rules);
	tide_key_address(&keys, recipient, &to);
	return list_matches(profile()->protected_to, &to, NULL, NULL) &&
	    !list_matches(
		profile()->protected_from, &c->address, &c->domain, NULL);
}
