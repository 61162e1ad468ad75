/*
 * checkpoint, private - a checkpoint's table of contents, as it is stored and
 * as that of an older version is read into it.
 */
#ifndef ARCHIVE_CHECKPOINT_PRIV_H
#define ARCHIVE_CHECKPOINT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

#define CHECKPOINT_FORMAT 2u
#define CHECKPOINT_PARTS_MOST 64u
#define CHECKPOINT_NAME_MAX 24

/* The chunks of part i have i in their keys.  What a part is, its name says;
 * in which form, its format.  Who does not know it leaves it out. */
struct checkpoint_part {
	char name[CHECKPOINT_NAME_MAX];
	uint32_t format;
	uint32_t pad;
	uint64_t length;
	uint64_t digest;   /* of the chunks' checks, in order */
	uint8_t shape[32]; /* of filters: what the bytes were sized by */
};
_Static_assert(sizeof(struct checkpoint_part) == 80, "format 2");

/* Stored up to its last part. */
struct manifest {
	uint64_t magic;
	uint32_t format;
	uint32_t side;
	uint64_t check; /* of all that follows */
	uint64_t sequence;
	uint64_t taken_ms;
	uint64_t bypass_until_ms;
	struct tide_profile_names profiles;
	uint32_t parts;
	uint32_t pad;
	struct checkpoint_part part[CHECKPOINT_PARTS_MOST];
};
_Static_assert(offsetof(struct manifest, part) == 312, "format 2");

/* Names of parts: a window's record, and each of its filters. */
#define CHECKPOINT_WINDOW "window%u"
#define CHECKPOINT_FILTER "window%u.filter%u"

struct checkpoint_chunk {
	uint8_t side, part;
	uint8_t chunk[8];
};
_Static_assert(sizeof(struct checkpoint_chunk) == 10, "keys have no padding");

/* checkpoint_load.c: what writing and loading have in common. */
struct checkpoint_chunk
tide_checkpoint_chunk(unsigned side, unsigned part, uint64_t chunk);
struct tide_bytes tide_checkpoint_manifest(unsigned side); /* its key */
size_t tide_checkpoint_piece(uint64_t length, uint64_t chunk);
size_t tide_checkpoint_size(const struct manifest *);
uint64_t tide_checkpoint_check(const struct manifest *);

/* The side of the newest manifest that can be read, or -1; its sequence, or
 * 0. */
struct tide_txn;
int tide_checkpoint_newest(struct tide_txn *, uint64_t *sequence);

#endif
