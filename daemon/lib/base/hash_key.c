/*
 * hash_key - the key as a text that can be carried to another server; what is
 * derived from it.
 */
#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <stdio.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"

#define PURPOSE_MAX 64

void
tide_hash_key_show(
    const struct tide_hash_key *key, char text[TIDE_HASH_KEY_TEXT])
{
	size_t i;

	for (i = 0; i < sizeof key->secret; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", key->secret[i]);
	(void)snprintf(text + 2 * i, 18, "-%016" PRIx64,
	    tide_hash_check(key->secret, sizeof key->secret));
}

/* A key of its own for each purpose: what one use shows helps no other. */
static void
derive(const struct tide_hash_key *key, const char *purpose,
    uint8_t derived[crypto_generichash_KEYBYTES])
{
	uint8_t in[PURPOSE_MAX + sizeof key->secret] = { 0 };

	(void)snprintf((char *)in, PURPOSE_MAX, "%s", purpose);
	memcpy(in + PURPOSE_MAX, key->secret, sizeof key->secret);
	(void)crypto_generichash(
	    derived, crypto_generichash_KEYBYTES, in, sizeof in, NULL, 0);
	explicit_bzero(in, sizeof in);
}

void
tide_hash_key_seal(const struct tide_hash_key *key, const char *purpose,
    const void *data, size_t size, uint8_t seal[TIDE_SEAL_SIZE])
{
	uint8_t derived[crypto_generichash_KEYBYTES];

	derive(key, purpose, derived);
	(void)crypto_generichash(
	    seal, TIDE_SEAL_SIZE, data, size, derived, sizeof derived);
	explicit_bzero(derived, sizeof derived);
}

struct tide_key_id
tide_hash_key_id(const struct tide_hash_key *key)
{
	return tide_keyring_id("hash", key->secret, sizeof key->secret);
}

int
tide_hash_key_read(
    struct tide_hash_key *key, const char *dir, struct tide_err *err)
{
	return tide_keyring_read(
	    dir, "hash", key->secret, sizeof key->secret, err);
}

/* A key of 128 bits for the tables of one map. */
void
tide_hash_key_tables(const struct tide_hash_key *key, uint64_t instance,
    uint8_t secret[TIDE_TABLE_SECRET])
{
	uint8_t seal[TIDE_SEAL_SIZE];

	tide_hash_key_seal(
	    key, "tidemark tables", &instance, sizeof instance, seal);
	memcpy(secret, seal, TIDE_TABLE_SECRET);
	explicit_bzero(seal, sizeof seal);
}
