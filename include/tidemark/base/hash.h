/*
 * hash - keyed hashing of what Tidemark remembers.
 *
 * One 128-bit XXH3 an element, under a secret drawn when the archive is
 * made: who does not know it cannot craft addresses that collide, and an
 * archive without it answers nothing.  Servers that exchange filters share
 * one key.
 */
#ifndef TIDEMARK_HASH_H
#define TIDEMARK_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/base/keyring.h"

#define TIDE_HASH_KEY_SIZE 192 /* an XXH3 secret */

struct tide_hash_key {
	uint8_t secret[TIDE_HASH_KEY_SIZE];
};

struct tide_hash {
	uint64_t low, high;
};

/* Draw a new key from the kernel. */
int tide_hash_key_draw(struct tide_hash_key *, struct tide_err *);

/*
 * A key as text: hexadecimal, and behind it the checksum of its bytes.  To
 * give several servers one key, that is put into state_dir as hash.key before
 * tidemarkd first starts there (keyring.h).
 */
#define TIDE_HASH_KEY_TEXT (2 * TIDE_HASH_KEY_SIZE + 1 + 16 + 1)
void
tide_hash_key_show(const struct tide_hash_key *, char text[TIDE_HASH_KEY_TEXT]);
/* DIR/hash.key: 1 read, 0 there is no such file, -1 it is wrong. */
int
tide_hash_key_read(struct tide_hash_key *, const char *dir, struct tide_err *);

/* What tells it from other keys and gives nothing away. */
struct tide_key_id tide_hash_key_id(const struct tide_hash_key *);

/* The secret of one map's hash tables (SipHash), by the map's instance. */
#define TIDE_TABLE_SECRET 16
void tide_hash_key_tables(const struct tide_hash_key *, uint64_t instance,
    uint8_t secret[TIDE_TABLE_SECRET]);

/*
 * A seal that only who has the key can make or check: BLAKE2b under a key
 * derived from it for that purpose.
 */
#define TIDE_SEAL_SIZE 32
void tide_hash_key_seal(const struct tide_hash_key *, const char *purpose,
    const void *, size_t, uint8_t seal[TIDE_SEAL_SIZE]);

struct tide_hash tide_hash(const struct tide_hash_key *, const void *, size_t);

/* Unkeyed, for checksums of what we store. */
uint64_t tide_hash_check(const void *, size_t);

#endif
