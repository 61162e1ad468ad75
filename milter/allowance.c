/*
 * allowance - accounts, tokens, different recipients and clients.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allowance.h"
#include "session.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/overrides.h"
#include "tidemark/shared/counters.h"

static struct tide_overrides overrides;
static bool overrides_here;

/* ---- whose, and how much ----------------------------------------------- */

void
allowance_forget_overrides(void)
{
	tide_overrides_free(&overrides);
	overrides_here = false;
}

/* Mapped by those who need them; without them the profile's own hold. */
static void
need_overrides(void)
{
	struct tide_err err;

	if (overrides_here)
		return;
	if (tide_overrides_attach(
		&overrides, session.config.runtime_dir, &err) < 0)
		tide_log(TIDE_LOG_WARNING, "%s", err.text);
	overrides_here = true;
}

static const struct tide_override *
find_name(const char *key)
{
	return tide_overrides_find(&overrides, session.profile, key);
}

/*
 * An account that has authenticated goes by its own name: what it writes as
 * its sender must not earn it the allowance of another.
 */
static const struct tide_override *
find_override(const struct charge *c, enum tide_key_source source,
    const struct tide_key *account)
{
	const char *name = account->text + strlen("auth:"), *at;
	const struct tide_override *o = find_name(account->text);

	if (o == NULL && source == TIDE_SOURCE_USER) {
		at = strrchr(name, '@');
		o = find_name(name);
		if (o == NULL && at != NULL)
			o = find_name(at);
	} else if (o == NULL && source == TIDE_SOURCE_SENDER) {
		o = find_name(c->address.text);
		if (o == NULL)
			o = find_name(c->domain.text);
	}
	if (o == NULL && c->has_client)
		o = tide_overrides_find_client(
		    &overrides, session.profile, &c->ip);
	return o;
}

/* Further limits on the account; the profile's check has passed them. */
static void
find_also(struct allowance *a)
{
	struct tide_allowance also[TIDE_TOKENS_ALSO];
	struct tide_err err;
	int i, n = tide_tokens_also(session_profile()->tokens_also, also, &err);

	for (i = 0; i < n; i++)
		a->limit[a->limits++] =
		    (struct tide_take){ .allowance = also[i] };
}

static bool
find_allowance(struct allowance *a, const struct charge *c,
    enum tide_key_source source, const struct tide_key *account)
{
	const struct tide_override *o = NULL;
	struct tide_err err;

	if (session_profile()->tokens_overrides[0] != '\0') {
		need_overrides();
		o = find_override(c, source, account);
	}
	a->limits = 1;
	if (o != NULL) {
		a->limit[0].allowance = o->allowance;
		return true;
	}
	find_also(a);
	return tide_allowance_make(&a->limit[0].allowance,
		   session_profile()->tokens_burst,
		   session_profile()->tokens_rate, &err) == 0;
}

static struct tide_hash
account_hash(const struct tide_key *account, uint32_t kind)
{
	return tide_account_key(session.map->key, session_profile()->name, kind,
	    account->text, account->length);
}

/* A host may take any address of its IPv6 /64: all of them are one client. */
static struct tide_hash
client_hash(const struct tide_ip *ip)
{
	struct tide_key key;

	tide_key_client(ip, 64, &key);
	return tide_hash(session.map->key, key.text, key.length);
}

static void
set_keys(struct allowance *a, const struct tide_key *account)
{
	uint32_t i;

	for (i = 0; i < a->limits; i++)
		a->limit[i].key = account_hash(account,
		    i == 0 ? TIDE_ACCOUNT_TOKENS : TIDE_ACCOUNT_ALSO + i - 1);
}

/*
 * The account finds no room: its client is charged, under the same limits.
 * Clients have places that made-up senders cannot take (tokens.h).
 */
static bool
turn_to_client(struct allowance *a)
{
	struct tide_key key;

	if (a->by_client || a->paid > 0 || !session.charge.has_client)
		return false;
	tide_key_client(&session.charge.ip, 64, &key);
	set_keys(a, &key);
	a->by_client = true;
	return true;
}

static uint64_t
first_level(const struct allowance *a, uint64_t now)
{
	return tide_tokens_level(
	    session.map->tokens, a->limit[0].key, &a->limit[0].allowance, now);
}

void
allowance_begin(struct allowance *a, const struct charge *c, const char *sender,
    const char *user)
{
	const struct tide_profile *p = session_profile();
	struct tide_key_facts facts = { .user = user,
		.sender = sender,
		.client = c->has_client ? &c->ip : NULL };
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules };
	enum tide_key_source source;
	struct tide_key account;
	struct tide_err err;

	allowance_clear(a);
	if (session.map == NULL || c->exempt || session.bystander)
		return;
	keys.secret = session.map->key;
	tide_key_rules_defaults(&rules);
	rules.sender_key = p->sender_key;
	if (tide_key_order_parse(p->account_key, rules.account, &err) < 0)
		return;
	source = tide_key_account(&keys, &facts, &account);
	if (source == TIDE_SOURCE_NONE)
		return;
	a->tokens = p->tokens_mode != TIDE_MODE_OFF &&
	    find_allowance(a, c, source, &account);
	set_keys(a, &account);
	a->cost = (uint64_t)p->tokens_cost * TIDE_TOKEN;
	a->limit[0].left = first_level(a, tide_clock_mono_ms());
	a->distinct =
	    p->distinct_mode != TIDE_MODE_OFF && p->distinct_limit > 0;
	a->sketch = account_hash(&account, TIDE_ACCOUNT_RECIPIENTS);
	a->clients = p->clients_mode != TIDE_MODE_OFF && p->clients_limit > 0 &&
	    c->has_client;
	a->origins = account_hash(&account, TIDE_ACCOUNT_CLIENTS);
	if (a->clients)
		a->client = client_hash(&c->ip);
}

/*
 * Thousandths for the data, rounded up.  What no burst could pay for need not
 * be told apart: both factors stay small enough to be multiplied.
 */
static uint64_t
data_cost(uint64_t bytes, uint64_t per_token)
{
	const uint64_t most = (uint64_t)TIDE_TOKENS_BURST_MAX + 1;

	if (per_token == 0)
		return 0;
	if (bytes / per_token >= most)
		return most * TIDE_TOKEN;
	return bytes / per_token * TIDE_TOKEN +
	    (bytes % per_token * TIDE_TOKEN + per_token - 1) / per_token;
}

void
allowance_size(struct allowance *a, uint64_t bytes)
{
	a->cost += data_cost(bytes, session_profile()->tokens_per_data);
}

/* ---- different recipients ---------------------------------------------- */

static struct tide_hash
recipient_hash(const char *recipient)
{
	const struct tide_hash_key *secret = session.map->key;
	struct tide_key_rules rules;
	const struct tide_keys keys = { &rules, secret };
	struct tide_key key;

	tide_key_rules_defaults(&rules);
	tide_key_address(&keys, recipient, &key);
	return tide_hash(secret, key.text, key.length);
}

/* Past the limit?  Two periods of half a day are what counts as a day. */
static bool
too_many(const struct allowance *a, uint64_t now)
{
	struct tide_estimate e =
	    tide_distinct_estimate(session.map->distinct, a->sketch, now);

	return e.both + 0.5 > session_profile()->distinct_limit;
}

/* The sketch of the client, where the account finds no room for its own. */
static void
choose_sketch(struct allowance *a, uint64_t now)
{
	struct tide_key key;

	if (!a->sketch_by_client && session.charge.has_client &&
	    !tide_distinct_has_room(session.map->distinct, a->sketch, now)) {
		tide_key_client(&session.charge.ip, 64, &key);
		a->sketch = account_hash(&key, TIDE_ACCOUNT_RECIPIENTS);
		a->sketch_by_client = true;
	}
	if (a->sketch_by_client)
		session_count(TIDE_COUNT_DISTINCT_BY_CLIENT, 1);
}

static void
note_recipient(const struct allowance *a, const char *recipient, uint64_t now)
{
	if (!tide_distinct_add(session.map->distinct, a->sketch,
		recipient_hash(recipient), now))
		session_count(TIDE_COUNT_DISTINCT_UNCOUNTED, 1);
}

/* ---- different clients ------------------------------------------------- */

/*
 * Noted before it is looked at, and also if refused: as many as the limit says
 * pass, and an account that strangers use stays shut while they try.
 */
static bool
from_too_many(const struct allowance *a, uint64_t now)
{
	const struct tide_distinct *table = session.map->distinct;
	struct tide_estimate e;

	if (!tide_distinct_add(table, a->origins, a->client, now))
		session_count(TIDE_COUNT_DISTINCT_UNCOUNTED, 1);
	e = tide_distinct_estimate(table, a->origins, now);
	return e.both - 0.5 > session_profile()->clients_limit;
}

/* ---- a recipient ------------------------------------------------------- */

/* Whole tokens: fractions add up within a message, the last one is dropped. */
static uint64_t
tokens_paid(const struct allowance *a)
{
	return a->sum / TIDE_TOKEN;
}

static bool
make_room(struct allowance *a)
{
	uint32_t room = a->room == 0 ? 64 : a->room * 2, *price;

	if (a->paid < a->room)
		return true;
	price = realloc(a->price, room * sizeof *price);
	if (price == NULL)
		return false;
	a->price = price;
	a->room = room;
	return true;
}

/* What is taken is at most a burst: a word holds it. */
_Static_assert(
    (uint64_t)TIDE_TOKENS_BURST_MAX *TIDE_TOKEN <= UINT32_MAX, "a price fits");

static void
note_paid(struct allowance *a)
{
	a->sum += a->cost;
	if (make_room(a))
		a->price[a->paid++] = (uint32_t)a->cost;
	else
		tide_log(TIDE_LOG_WARNING,
		    "out of memory: a recipient's tokens will not be given "
		    "back should its message come to nothing");
}

static void
give_back_all(struct allowance *a, uint64_t cost, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < a->limits; i++) {
		a->limit[i].cost = cost;
		tide_tokens_give_back(session.map->tokens, &a->limit[i], now);
	}
}

/* From all limits or from none; what is left is the first one's. */
static enum tide_tokens_result
take_from_all(struct allowance *a, uint64_t now)
{
	struct tide_take *first = &a->limit[0];
	enum tide_tokens_result result;
	size_t i, refused = 0;

	for (i = 0; i < a->limits; i++)
		a->limit[i].cost = a->cost;
	result = tide_tokens_take_all(
	    session.map->tokens, a->limit, a->limits, now, &refused);
	if (result == TIDE_TOKENS_UNCOUNTED)
		give_back_all(a, a->cost, now);
	if (result == TIDE_TOKENS_SHORT && refused > 0)
		first->left = first_level(a, now);
	first->retry_after_ms = a->limit[refused].retry_after_ms;
	return result;
}

static bool
is_short(struct allowance *a, uint64_t now)
{
	uint64_t before = tokens_paid(a);
	enum tide_tokens_result result = take_from_all(a, now);

	if (result == TIDE_TOKENS_UNCOUNTED && turn_to_client(a))
		result = take_from_all(a, now);
	if (a->by_client && result != TIDE_TOKENS_UNCOUNTED)
		session_count(TIDE_COUNT_TOKENS_BY_CLIENT, 1);
	switch (result) {
	case TIDE_TOKENS_TAKEN:
		note_paid(a);
		session_count(TIDE_COUNT_TOKENS_TAKEN, tokens_paid(a) - before);
		return false;
	case TIDE_TOKENS_SHORT:
		session_count(TIDE_COUNT_RECIPIENTS_SHORT, 1);
		return true;
	default:
		session_count(TIDE_COUNT_TOKENS_UNCOUNTED, 1);
		a->limit[0].left = a->limit[0].allowance.burst * TIDE_TOKEN;
		return false;
	}
}

/* Something will be out of sight when the next period begins. */
static struct tide_shortage
until_next_period(enum tide_short_of of, uint64_t now)
{
	return (struct tide_shortage){ .of = of,
		.come_back_ms =
		    TIDE_DISTINCT_PERIOD_MS - now % TIDE_DISTINCT_PERIOD_MS };
}

static struct tide_shortage
short_of(struct allowance *a, uint64_t now)
{
	if (a->clients && from_too_many(a, now)) {
		session_count(TIDE_COUNT_RECIPIENTS_CLIENTS, 1);
		if (session_profile()->clients_mode == TIDE_MODE_ENFORCE)
			return until_next_period(TIDE_SHORT_OF_CLIENTS, now);
	}
	if (a->distinct)
		choose_sketch(a, now);
	if (a->distinct && too_many(a, now)) {
		session_count(TIDE_COUNT_RECIPIENTS_MANY, 1);
		if (session_profile()->distinct_mode == TIDE_MODE_ENFORCE)
			return until_next_period(TIDE_SHORT_OF_DISTINCT, now);
	}
	if (a->tokens && is_short(a, now) &&
	    session_profile()->tokens_mode == TIDE_MODE_ENFORCE)
		return (struct tide_shortage){ .of = TIDE_SHORT_OF_TOKENS,
			.come_back_ms = a->limit[0].retry_after_ms };
	return (struct tide_shortage){ .of = TIDE_SHORT_OF_NOTHING };
}

struct tide_shortage
allowance_recipient(struct allowance *a, const char *recipient)
{
	uint64_t now = tide_clock_mono_ms();
	struct tide_shortage s = { .of = TIDE_SHORT_OF_NOTHING };

	if (!a->tokens && !a->distinct && !a->clients)
		return s;
	s = short_of(a, now);
	if (charge_always_open(recipient))
		s.of = TIDE_SHORT_OF_NOTHING;
	if (s.of != TIDE_SHORT_OF_NOTHING)
		a->refused++;
	else if (a->distinct)
		note_recipient(a, recipient, now);
	return s;
}

/* ---- the end ----------------------------------------------------------- */

static int
dearest_first(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	return (a < b) - (a > b);
}

/* An estimate cannot forget: only tokens are given back. */
void
allowance_give_back(struct allowance *a, uint32_t recipients)
{
	uint64_t now = tide_clock_mono_ms(), before = tokens_paid(a);
	uint32_t i;

	if (a->paid == 0)
		return;
	for (i = 0; i < a->limits; i++)
		a->limit[i].result = TIDE_TOKENS_TAKEN;
	qsort(a->price, a->paid, sizeof *a->price, dearest_first);
	for (; a->paid > 0 && recipients > 0; recipients--) {
		a->paid--;
		give_back_all(a, a->price[a->paid], now);
		a->sum -= a->price[a->paid];
	}
	session_count(TIDE_COUNT_TOKENS_GIVEN_BACK, before - tokens_paid(a));
	a->limit[0].left = first_level(a, now);
}

void
allowance_keep(struct allowance *a)
{
	a->paid = 0;
	a->sum = 0;
}

void
allowance_clear(struct allowance *a)
{
	uint32_t *price = a->price, room = a->room;

	memset(a, 0, sizeof *a);
	a->price = price;
	a->room = room;
}

const char *
allowance_show(const struct allowance *a, char *buf, size_t size)
{
	buf[0] = '\0';
	if (a->tokens)
		(void)snprintf(buf, size, " tokens=%llu",
		    (unsigned long long)(a->limit[0].left / TIDE_TOKEN));
	return buf;
}
