/*
 * charge - keys, drops, bans.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "charge.h"
#include "session.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/slots.h"

static struct tide_keys
keys_of(struct tide_key_rules *rules)
{
	tide_key_rules_defaults(rules);
	rules->sender_key = session_profile()->sender_key;
	return (struct tide_keys){ .rules = rules, .secret = session.map->key };
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
	bool is_account = user != NULL && user[0] != '\0';
	char domain[TIDE_DOMAIN_MAX];

	if (session.map == NULL)
		return;
	keys = keys_of(&rules);
	if (is_account) {
		/* whatever it writes into the envelope, the account pays */
		c->has_sender = true;
		tide_key_user(&keys, user, &c->sender);
	} else {
		c->has_sender = tide_key_sender(&keys, &facts, &c->sender);
	}
	tide_key_address(&keys, sender, &c->address);
	tide_domain_of(sender, domain);
	tide_key_domain(&keys, domain, &c->domain);
	c->exempt = tide_allows(session_profile(),
	    &(struct tide_listed){ .keys = &keys,
		.account = is_account ? &c->sender : NULL,
		.address = &c->address,
		.domain = &c->domain,
		.client = facts.client });
}

/* ---- drops ------------------------------------------------------------- */

static void
count_drop(enum tide_drop d, uint32_t drops)
{
	struct tide_counters *n = session.map->counters;

	tide_count_profile(n, session.profile,
	    d == TIDE_DROP_LOST	      ? TIDE_COUNT_DROPS_LOST
		: d == TIDE_DROP_FULL ? TIDE_COUNT_DROPS_FULL
				      : TIDE_COUNT_DROPS,
	    drops);
	if (d == TIDE_DROP_OVERFLOW)
		tide_count_profile(n, session.profile, TIDE_COUNT_OVERFLOWS, 1);
}

/* What a drop needs; false if there is nothing to be charged. */
struct drop {
	struct tide_adder me;
	struct tide_flow_key key;
	unsigned class;
};

static bool
prepare_drop(enum tide_group group, unsigned tier, const struct tide_key *key,
    struct drop *d)
{
	struct tide_class_id id = {
		.profile = session.profile, .group = group, .tier = tier
	};
	int class = tide_class_number(session.config.profiles, id);

	if (class < 0 ||
	    !tide_flow_key(session.map->flow, key->text, key->length, &d->key))
		return false;
	d->me = (struct tide_adder){ .epoch = &session.slot->epoch,
		.mailbox = (uint32_t)(session.slot - session.map->slots) };
	d->class = (unsigned)class;
	return true;
}

/* Nobody else sees unknown users and content. */
static bool
is_the_milters(enum tide_group group)
{
	return group == TIDE_UNSENDER || group == TIDE_UNIP ||
	    group == TIDE_CBSENDER || group == TIDE_CBIP;
}

static bool
is_charged(const struct charge *c, enum tide_group group)
{
	return session.map != NULL && session.slot != NULL && !c->exempt &&
	    (!session.bystander || is_the_milters(group)) &&
	    session_profile()->group[group].mode != TIDE_MODE_OFF &&
	    !tide_map_bypassed(session.map, tide_map_now_ms(session.map));
}

/* Add drops: did it overflow, or had it, or is it full? */
static bool
add_drops(enum tide_group group, unsigned tier, const struct tide_key *key,
    uint32_t drops)
{
	struct drop drop;
	enum tide_drop d;

	if (!prepare_drop(group, tier, key, &drop))
		return false;
	d = tide_flow_add(
	    session.map->flow, &drop.me, drop.class, &drop.key, drops);
	count_drop(d, drops);
	return d == TIDE_DROP_OVERFLOW || d == TIDE_DROP_OVER ||
	    d == TIDE_DROP_FULL;
}

/* Would one more drop overflow it? */
static bool
is_full(enum tide_group group, unsigned tier, const struct tide_key *key,
    uint32_t unused)
{
	struct tide_flow *flow = session.map->flow;
	struct drop drop;
	uint32_t depth;

	(void)unused;
	if (!prepare_drop(group, tier, key, &drop))
		return false;
	depth = atomic_load_explicit(
	    &flow->class[drop.class].depth, memory_order_relaxed);
	return depth > 0 &&
	    tide_flow_level(flow, &drop.me, drop.class, &drop.key) >= depth;
}

/* One bucket for a sender; for an IPv6 client one at every tier. */
static bool
each_bucket(const struct charge *c, enum tide_group group, uint32_t drops,
    bool (*ask)(enum tide_group, unsigned, const struct tide_key *, uint32_t))
{
	unsigned tier, tiers = tide_ip_is_v4(&c->ip) ? 1 : TIDE_KEY_TIERS;
	struct tide_key key;
	bool any = false;

	if (!tide_group_is_ip(group))
		return c->has_sender && ask(group, 0, &c->sender, drops);
	for (tier = 0; c->has_client && tier < tiers; tier++) {
		tide_key_client(&c->ip, tide_key_tiers[tier], &key);
		any |= ask(group, tier, &key, drops);
	}
	return any;
}

/* ---- whose bans may come of it ----------------------------------------- */

static bool
key_is_banned(const struct tide_key *key, uint64_t now, struct tide_ban *ban)
{
	return tide_bans_find(session.map->bans, session.map->flow->secret, key,
		   now, ban) &&
	    tide_ban_is_in(ban, session_profile()->name);
}

static bool
client_is_banned(const struct charge *c, uint64_t now, struct tide_ban *ban)
{
	return c->has_client &&
	    tide_bans_find_client(session.map->bans, session.map->flow->secret,
		&c->ip, session_profile()->name, now, ban);
}

/*
 * A client that is banned makes no bans on the senders that it writes into
 * its envelopes; and an attempt in spite of a ban lengthens that one, if it
 * stands on that very sender.
 */
static bool
may_ban(const struct charge *c, enum tide_group group)
{
	uint64_t now = tide_map_now_ms(session.map);
	struct tide_ban ban;

	if (tide_group_is_ip(group))
		return true;
	if (group == TIDE_SBSENDER)
		return c->has_sender && key_is_banned(&c->sender, now, &ban);
	return !client_is_banned(c, now, &ban);
}

bool
charge_group(const struct charge *c, enum tide_group group, uint32_t drops)
{
	return is_charged(c, group) && may_ban(c, group) &&
	    each_bucket(c, group, drops, add_drops) &&
	    session_profile()->group[group].mode == TIDE_MODE_ENFORCE;
}

bool
charge_is_full(const struct charge *c, enum tide_group group)
{
	return session_profile()->group[group].mode == TIDE_MODE_ENFORCE &&
	    is_charged(c, group) && each_bucket(c, group, 1, is_full);
}

/* ---- what many share ---------------------------------------------------- */

uint64_t
charge_put_off(const struct charge *c, enum tide_group group)
{
	uint64_t leak;

	if (tide_group_is_ip(group) || !c->has_sender ||
	    !tide_key_is_shared(c->sender.text, c->sender.length))
		return 0;
	leak = session_profile()->group[group].leak;
	return leak > 0 ? leak : 1;
}

enum tide_group
charge_full(const struct charge *c)
{
	static const enum tide_group asked[] = { TIDE_OKSENDER, TIDE_UNSENDER,
		TIDE_CBSENDER, TIDE_RBSENDER };
	size_t i;

	for (i = 0; i < sizeof asked / sizeof *asked; i++)
		if (charge_put_off(c, asked[i]) > 0 &&
		    charge_is_full(c, asked[i]))
			return asked[i];
	return TIDE_GROUPS;
}

/* ---- bans -------------------------------------------------------------- */

bool
charge_banned(const struct charge *c, struct tide_ban *ban)
{
	uint64_t now;

	if (session.map == NULL || c->exempt)
		return false;
	now = tide_map_now_ms(session.map);
	if (c->has_sender &&
	    (key_is_banned(&c->sender, now, ban) ||
		key_is_banned(&c->address, now, ban) ||
		key_is_banned(&c->domain, now, ban)))
		return true;
	return client_is_banned(c, now, ban);
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

	if (session.map == NULL || session_profile()->protected_to[0] == '\0' ||
	    c->exempt)
		return false;
	keys = keys_of(&rules);
	tide_key_address(&keys, recipient, &to);
	return tide_words_mean(session_profile()->protected_to,
		   &(struct tide_listed){ .keys = &keys, .address = &to }) &&
	    !tide_words_mean(session_profile()->protected_from,
		&(struct tide_listed){ .keys = &keys,
		    .address = &c->address,
		    .domain = &c->domain });
}
