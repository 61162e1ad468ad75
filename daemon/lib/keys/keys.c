/*
 * keys - who pays: senders, accounts, domains, and the bounded form of all.
 */
#include <inttypes.h>
#include <stdio.h>

#include "keys_priv.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"

_Static_assert(TIDE_KEY_MAX <= UINT8_MAX, "a key's length fits its field");

static const char *const source_words[] = { [TIDE_SOURCE_USER] = "user",
	[TIDE_SOURCE_SENDER] = "sender",
	[TIDE_SOURCE_CLIENT] = "client" };

void
tide_key_rules_defaults(struct tide_key_rules *rules)
{
	*rules = (struct tide_key_rules){
		.tag_separators = "+",
		.fold_local = 1,
		.batv = 1,
		.srs = 1,
		.verp = TIDE_VERP_BOUNCES,
		.sender_key = TIDE_SENDER_ADDRESS_NETWORK,
		.sender_ipv4 = 24,
		.sender_ipv6 = 48,
		.account_ipv6 = 64,
		.account = { TIDE_SOURCE_USER, TIDE_SOURCE_SENDER,
		    TIDE_SOURCE_CLIENT },
	};
}

static uint32_t
source_of(const char *word, size_t n)
{
	uint32_t s;

	for (s = TIDE_SOURCE_USER; s <= TIDE_SOURCE_CLIENT; s++)
		if (strlen(source_words[s]) == n &&
		    memcmp(source_words[s], word, n) == 0)
			return s;
	return TIDE_SOURCE_NONE;
}

/* Add a word to an order; -1 with a sentence if it cannot stand there. */
static int
order_add(uint32_t order[TIDE_KEY_SOURCES + 1], const char *word, size_t n,
    struct tide_err *err)
{
	uint32_t source = source_of(word, n);
	size_t i;

	if (source == TIDE_SOURCE_NONE)
		return tide_err_set(err,
		    "«%.*s» is none of user, sender and client", (int)n, word);
	for (i = 0; order[i] != TIDE_SOURCE_NONE; i++)
		if (order[i] == source)
			return tide_err_set(err, "«%s» stands there twice",
			    source_words[source]);
	order[i] = source;
	return 0;
}

int
tide_key_order_parse(
    const char *words, uint32_t order[TIDE_KEY_SOURCES], struct tide_err *err)
{
	uint32_t got[TIDE_KEY_SOURCES + 1] = { TIDE_SOURCE_NONE };
	size_t n;

	for (words += strspn(words, " ,"); *words != '\0';
	     words += strspn(words, " ,")) {
		n = strcspn(words, " ,");
		if (order_add(got, words, n, err) == -1)
			return -1;
		words += n;
	}
	if (got[0] == TIDE_SOURCE_NONE)
		return tide_err_set(
		    err, "an account needs one of user, sender and client");
	memcpy(order, got, TIDE_KEY_SOURCES * sizeof *got);
	return 0;
}

bool
tide_key_equal(const struct tide_key *a, const struct tide_key *b)
{
	return a->length == b->length &&
	    memcmp(a->text, b->text, a->length) == 0;
}

/* How long its local part is, as far as it was not cut off; 0: it has none. */
static size_t
local_length(const char *key, size_t length)
{
	const char *at = memchr(key, '@', length);

	if (at != NULL)
		return (size_t)(at - key);
	return tide_key_is_cut(key, length) ? length - TIDE_KEY_TAIL : 0;
}

/* What was collapsed is an atom (keys_local.c, keys_verp.c): no quotes. */
bool
tide_key_is_shared(const char *key, size_t length)
{
	size_t n = local_length(key, length);

	if (n == 0 || key[0] == '"' || (n >= 5 && memcmp(key, "auth:", 5) == 0))
		return false;
	return (n == 3 && memcmp(key, "srs", 3) == 0) ||
	    memchr(key, '#', n) != NULL || memchr(key, '*', n) != NULL;
}

/* As much as leaves room for the hash, and no half character. */
static size_t
prefix_length(const struct keytext *t)
{
	size_t n = TIDE_KEY_MAX - TIDE_KEY_TAIL;

	while (n > 0 && ((unsigned char)t->bytes[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void
finish(
    const struct tide_keys *keys, const struct keytext *t, struct tide_key *key)
{
	size_t n = t->length;
	struct tide_hash h;

	memset(key, 0, sizeof *key);
	if (n > TIDE_KEY_MAX) {
		n = prefix_length(t);
		h = tide_hash(keys->secret, t->bytes, t->length);
		snprintf(
		    key->text + n, TIDE_KEY_TAIL + 1, "~%016" PRIx64, h.low);
		key->length = (uint8_t)(n + TIDE_KEY_TAIL);
	} else {
		key->length = (uint8_t)n;
	}
	memcpy(key->text, t->bytes, n);
}

void
tide_key_address(
    const struct tide_keys *keys, const char *address, struct tide_key *key)
{
	struct keytext t;

	t.length = 0;
	tide_key_address_text(keys, address, &t);
	finish(keys, &t, key);
}

bool
tide_key_original(
    const struct tide_keys *keys, const char *address, struct tide_key *key)
{
	struct keyparts parts;
	struct keytext original, t;
	struct tide_key_rules only_batv = { .batv = keys->rules->batv };

	t.length = 0;
	if (!tide_key_address_split(address, &parts) ||
	    !tide_keytext_is_atom(&parts.local))
		return false;
	tide_key_local_reduce(&only_batv, &parts.local);
	if (!tide_key_srs_original(&parts.local, &original))
		return false;
	original.bytes[original.length] = '\0';
	tide_key_address_text(keys, original.bytes, &t);
	finish(keys, &t, key);
	return true;
}

static bool
is_null(const char *sender)
{
	size_t n;

	if (sender == NULL)
		return true;
	tide_key_address_trim(sender, &n);
	return n == 0;
}

static bool
is_user(const char *user)
{
	return user != NULL && *user != '\0';
}

static void
add_network(struct keytext *t, const struct tide_key_rules *rules,
    const struct tide_ip *client)
{
	struct tide_key network;
	struct tide_net net;

	if (client == NULL) {
		tide_key_client(NULL, 0, &network);
	} else {
		net = tide_net_around(client,
		    tide_ip_is_v4(client) ? rules->sender_ipv4
					  : rules->sender_ipv6);
		tide_key_net(&net, &network);
	}
	tide_keytext_add(t, "|", 1);
	tide_keytext_add(t, network.text, network.length);
}

bool
tide_key_sender(const struct tide_keys *keys,
    const struct tide_key_facts *facts, struct tide_key *key)
{
	struct keytext t;

	t.length = 0;
	if (is_null(facts->sender)) {
		memset(key, 0, sizeof *key);
		return false;
	}
	tide_key_address_text(keys, facts->sender, &t);
	if (keys->rules->sender_key != TIDE_SENDER_ADDRESS &&
	    !is_user(facts->user))
		add_network(&t, keys->rules, facts->client);
	finish(keys, &t, key);
	return true;
}

/*
 * A name to log in with is no address: no tag is taken off it.  The prefix
 * keeps it apart from the same name in an envelope, which anyone may write.
 */
void
tide_key_user(
    const struct tide_keys *keys, const char *user, struct tide_key *key)
{
	struct keytext t;
	char *at;

	t.length = 0;
	tide_keytext_add_text(&t, "auth:");
	tide_keytext_clean(&t, user, strlen(user));
	at = memrchr(t.bytes, '@', t.length);
	if (keys->rules->fold_local)
		tide_key_fold(t.bytes, t.length);
	else if (at != NULL)
		tide_key_fold(at, t.length - (size_t)(at - t.bytes));
	finish(keys, &t, key);
}

enum tide_key_source
tide_key_account(const struct tide_keys *keys,
    const struct tide_key_facts *facts, struct tide_key *key)
{
	size_t i;

	for (i = 0; i < TIDE_KEY_SOURCES; i++) {
		switch (keys->rules->account[i]) {
		case TIDE_SOURCE_USER:
			if (!is_user(facts->user))
				continue;
			tide_key_user(keys, facts->user, key);
			return TIDE_SOURCE_USER;
		case TIDE_SOURCE_SENDER:
			if (!tide_key_sender(keys, facts, key))
				continue;
			return TIDE_SOURCE_SENDER;
		case TIDE_SOURCE_CLIENT:
			tide_key_client(
			    facts->client, keys->rules->account_ipv6, key);
			return TIDE_SOURCE_CLIENT;
		default:
			continue;
		}
	}
	memset(key, 0, sizeof *key);
	return TIDE_SOURCE_NONE;
}

void
tide_key_domain(
    const struct tide_keys *keys, const char *domain, struct tide_key *key)
{
	struct keytext name, t;

	name.length = t.length = 0;
	if (*domain == '@')
		domain++;
	tide_keytext_clean(&name, domain, strnlen(domain, ADDRESS_MAX));
	tide_key_domain_normalise(&name);
	tide_keytext_add(&t, "@", 1);
	tide_keytext_add(&t, name.bytes, name.length);
	finish(keys, &t, key);
}

void
tide_key_text(
    const struct tide_keys *keys, const char *text, struct tide_key *key)
{
	struct keytext t;

	t.length = 0;
	tide_keytext_clean(&t, text, strnlen(text, ADDRESS_MAX));
	finish(keys, &t, key);
}
