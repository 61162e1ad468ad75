/*
 * Any bytes yield a key, and what keys promise holds for each.
 *
 * The first byte chooses the rules (a blank: the defaults), the rest is the
 * address.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct tide_hash_key secret = { { 1, 2, 3 } };

static void
choose(struct tide_key_rules *rules, uint8_t by)
{
	by ^= ' ';
	tide_key_rules_defaults(rules);
	rules->fold_local = !(by & 1);
	rules->batv = !(by & 2);
	rules->srs = !(by & 4);
	rules->verp = (rules->verp + (by >> 3 & 3)) % 3;
	if (by & 32)
		memcpy(rules->tag_separators, "-=.", 4);
	if (by & 64)
		rules->tag_separators[0] = '\0';
	rules->sender_key = by >> 7;
}

/* Bounded, ended, printable, and itself when copied from a log line. */
static void
check_key(const struct tide_keys *keys, const struct tide_key *key)
{
	struct tide_key again;
	size_t i;

	assert(key->length > 0 && key->length <= TIDE_KEY_MAX);
	assert(strlen(key->text) == key->length);
	for (i = 0; i < key->length; i++)
		assert(
		    (unsigned char)key->text[i] >= ' ' && key->text[i] != 0x7f);
	for (; i < sizeof key->text; i++)
		assert(key->text[i] == '\0');
	tide_key_text(keys, key->text, &again);
	assert(tide_key_equal(key, &again));
}

static bool
is_hashed(const struct tide_key *key)
{
	return key->length > 80 && key->text[key->length - 17] == '~';
}

static void
check_address(const struct tide_keys *keys, const char *text)
{
	struct tide_key key, again;

	tide_key_address(keys, text, &key);
	check_key(keys, &key);
	if (is_hashed(&key))
		return;
	assert(strcmp(key.text, "<>") == 0 || strchr(key.text, '@') != NULL);
	assert(key.text[0] != '@' && strncmp(key.text, "auth:", 5) != 0);
	tide_key_address(keys, key.text, &again);
	assert(tide_key_equal(&key, &again));
}

static void
check_others(const struct tide_keys *keys, const char *text)
{
	struct tide_ip ip = { { 0x20, 1, 0xd, 0xb8, 0, 1 } };
	struct tide_key_facts facts = { NULL, text, &ip };
	struct tide_key key, plain;

	tide_key_address(keys, text, &plain);
	assert(tide_key_sender(keys, &facts, &key) ==
	    (strcmp(plain.text, "<>") != 0));
	if (key.length > 0)
		check_key(keys, &key);
	assert((key.length == 0 || tide_key_equal(&key, &plain)) ==
	    (key.length == 0 || keys->rules->sender_key));
	if (tide_key_original(keys, text, &key))
		check_key(keys, &key);
	tide_key_user(keys, text, &key);
	check_key(keys, &key);
	assert(tide_key_account(keys, &facts, &key) != TIDE_SOURCE_NONE);
	check_key(keys, &key);
}

static void
check_domain(const struct tide_keys *keys, const char *text)
{
	char domain[TIDE_DOMAIN_MAX];
	struct tide_domain_rule rule;
	struct tide_err err;
	struct tide_key key, again;

	tide_key_domain(keys, text, &key);
	check_key(keys, &key);
	if (!is_hashed(&key)) {
		tide_key_domain(keys, key.text, &again);
		assert(tide_key_equal(&key, &again));
	}
	tide_domain_of(text, domain);
	if (tide_domain_parse(text, &rule, &err) == 0)
		tide_domain_matches(&rule, domain);
}

/* A network contains its own address and reads back as the same. */
static void
check_net(const struct tide_keys *keys, const char *text)
{
	struct tide_err err;
	struct tide_key key;
	struct tide_net net, again;

	if (tide_net_parse(text, &net, &err) == -1)
		return;
	assert(tide_net_contains(&net, &net.ip));
	tide_key_net(&net, &key);
	check_key(keys, &key);
	assert(tide_net_parse(key.text, &again, &err) == 0);
	assert(memcmp(&net, &again, sizeof net) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tide_key_rules rules;
	struct tide_keys keys = { &rules, &secret };
	char *text;

	if (size == 0)
		return 0;
	choose(&rules, data[0]);
	text = strndup((const char *)data + 1, size - 1);
	assert(text != NULL);
	check_address(&keys, text);
	check_others(&keys, text);
	check_domain(&keys, text);
	check_net(&keys, text);
	free(text);
	return 0;
}
