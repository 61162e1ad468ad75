/*
 * published - a list that the collector puts into runtime_dir, for everybody
 * to map: a head, then records of one size.  Replaced as a whole; who has an
 * old one mapped keeps it.
 */
#ifndef TIDEMARK_PUBLISHED_H
#define TIDEMARK_PUBLISHED_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"

/* All zeroes: none. */
struct tide_published {
	void *mapped;
	size_t length;
	const void *records;
	size_t count;
};

int
tide_published_write(const char *runtime_dir, const char *name, uint64_t magic,
    const void *records, size_t size, size_t count, struct tide_err *);

/* Other bytes than those of such a list are refused. */
int tide_published_map(struct tide_published *, const char *runtime_dir,
    const char *name, uint64_t magic, size_t size, struct tide_err *);
void tide_published_unmap(struct tide_published *);

#endif
