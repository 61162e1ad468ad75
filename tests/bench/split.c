/*
 * split - see split.h.
 */
#include <stdlib.h>
#include <string.h>

#include "split.h"

#define FREE_ENTRY 0xffffu

bool
split_open(
    struct split *f, uint64_t cells, uint32_t s, uint32_t bits, uint32_t room)
{
	uint64_t chunks = (cells + SPLIT_CHUNK - 1) / SPLIT_CHUNK;

	*f = (struct split){ .cells = cells,
		.s = s,
		.most = (1u << bits) - 1,
		.upper_bits = bits - s,
		.room = room,
		.base = calloc(1, cells),
		.entry = malloc(chunks * room * sizeof *f->entry) };
	if (f->base == NULL || f->entry == NULL)
		return false;
	memset(f->entry, 0xff, chunks * room * sizeof *f->entry);
	return true;
}

void
split_close(struct split *f)
{
	free(f->base);
	free(f->entry);
}

static uint16_t *
table_of(const struct split *f, uint64_t cell)
{
	return f->entry + cell / SPLIT_CHUNK * f->room;
}

/* The cell's entry, or the free one where it would be; NULL: full. */
static uint16_t *
find(const struct split *f, uint64_t cell)
{
	uint32_t offset = (uint32_t)(cell % SPLIT_CHUNK), i;
	uint32_t at = offset * 2654435761u >> 16;
	uint16_t *table = table_of(f, cell), *e;

	for (i = 0; i < f->room; i++) {
		e = &table[(at + i) % f->room];
		if (*e == FREE_ENTRY || (uint32_t)*e >> 4 == offset)
			return e;
	}
	return NULL;
}

uint32_t
split_get(const struct split *f, uint64_t cell)
{
	uint32_t base = f->base[cell];

	if ((base >> f->s & 1) == 0)
		return base;
	base &= (1u << f->s) - 1;
	return base | ((uint32_t)*find(f, cell) & 15) << f->s;
}

static void
put(struct split *f, uint64_t cell, uint32_t v)
{
	uint32_t low = v & ((1u << f->s) - 1), high = v >> f->s;
	uint16_t *e;

	if (high == 0) {
		f->base[cell] = (uint8_t)low;
		return;
	}
	e = find(f, cell);
	if (e == NULL) {
		f->refused++;
		return;
	}
	f->entries += *e == FREE_ENTRY;
	*e = (uint16_t)((cell % SPLIT_CHUNK) << 4 | high);
	f->base[cell] = (uint8_t)(low | 1u << f->s);
}

uint32_t
split_insert(struct split *f, const uint64_t *cell, uint32_t n)
{
	uint32_t v[16], i, least = f->most;

	for (i = 0; i < n; i++) {
		v[i] = split_get(f, cell[i]);
		least = v[i] < least ? v[i] : least;
	}
	for (i = 0; i < n && least < f->most; i++)
		if (v[i] == least)
			put(f, cell[i], least + 1);
	return least < f->most ? least + 1 : least;
}

double
split_bits_a_cell(const struct split *f)
{
	uint64_t chunks = (f->cells + SPLIT_CHUNK - 1) / SPLIT_CHUNK;

	return f->s + 1.0 +
	    (double)(chunks * f->room * (12 + f->upper_bits)) /
	    (double)f->cells;
}
