/*
 * bytes - some bytes that lie elsewhere: a key, a value, a piece of a text.
 */
#ifndef TIDEMARK_BYTES_H
#define TIDEMARK_BYTES_H

#include <stddef.h>

struct tide_bytes {
	const void *data;
	size_t size;
};

static inline struct tide_bytes
tide_bytes(const void *data, size_t size)
{
	return (struct tide_bytes){ .data = data, .size = size };
}

#endif
