/*
 * store_pages - the pages of an LMDB 0.9 file, as its trees refer to them.
 * Private to store_*.c.
 */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include <stdint.h>

#include "tidemark/base/err.h"

#define PAGE_BYTES 4096u

struct pages {
	int fd;
	uint64_t count; /* of the file */
	uint8_t *kind;	/* of each */
	uint16_t *end;	/* VALUE: bytes of it that are the value's */
};

enum place { PLACE_NOBODYS, PLACE_RECORD, PLACE_BRANCH };

/* Walk all trees of the newest state; the file must not change. */
int tide_pages_walk(struct pages *, int fd, struct tide_err *);
void tide_pages_free(struct pages *);

/* Bytes of the file that nobody reads. */
struct room {
	uint64_t from, until;
};

/* Whose are these bytes, all of one page?  NOBODYS: in a room that is. */
enum place tide_pages_what(
    const struct pages *, uint64_t from, uint64_t until, struct room *);

#endif
