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

#include "tidemark/err.h"

#define TIDE_HASH_KEY_SIZE 192 /* an XXH3 secret */

struct tide_hash_key {
	uint8_t secret[TIDE_HASH_KEY_SIZE];
};

struct tide_hash {
	uint64_t low, high;
};

/* Draw a new key from the kernel. */
int tide_hash_key_draw(struct tide_hash_key *, struct tide_err *);

struct tide_hash tide_hash(const struct tide_hash_key *, const void *, size_t);

/* Unkeyed, for checksums of what we store. */
uint64_t tide_hash_check(const void *, size_t);

#endif
