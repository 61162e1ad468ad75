/*
 * keyring - secret keys, each in a file of its own: DIR/NAME.key.
 *
 * A key file is made once, durably, for its owner alone, and never written
 * over.  It is one line of text: what it is, the key in hexadecimal, and a
 * checksum.  What was made with a key keeps the key's id, which tells keys
 * apart and gives nothing away.
 */
#ifndef TIDEMARK_KEYRING_H
#define TIDEMARK_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"

#define TIDE_KEYRING_MOST 256u /* bytes of a key */
#define TIDE_KEY_ID_TEXT 33

struct tide_key_id {
	uint8_t byte[16];
};

struct tide_key_id
tide_keyring_id(const char *name, const void *key, size_t size);
bool tide_key_id_equal(const struct tide_key_id *, const struct tide_key_id *);
void tide_key_id_show(const struct tide_key_id *, char text[TIDE_KEY_ID_TEXT]);

/*
 * Read a key of that size.  1 read, 0 there is none, -1 it is not to be
 * trusted: damaged, not of that name or size, or others can read it.  A line
 * without the name, as tidemark export --key writes it, is read as well.
 */
int tide_keyring_read(const char *dir, const char *name, void *key, size_t size,
    struct tide_err *);

/*
 * Make the file; once we return 0 it outlives a power cut.  One that is there
 * stays as it is, and that is an error.
 */
int tide_keyring_make(const char *dir, const char *name, const void *key,
    size_t size, struct tide_err *);

/*
 * Move one that is there and is not the key out of the way, to NAME.key.unused,
 * and say why it is.
 */
int
tide_keyring_set_aside(const char *dir, const char *name, struct tide_err *);

/*
 * tidemark restore brings an archive, then its key: until that has its name it
 * is NAME.key.restoring.  Read it, as tide_keyring_read() does; give it the
 * name, durably.
 */
int tide_keyring_read_restoring(const char *dir, const char *name, void *key,
    size_t size, struct tide_err *);
int tide_keyring_take_restoring(
    const char *dir, const char *name, struct tide_err *);

#endif
