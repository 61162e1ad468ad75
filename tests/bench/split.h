/*
 * split - counts in two parts, as the paper behind bulk counts proposes: a
 * base filter of s + 1 bits a cell (s of the count, and whether there is
 * more), and the upper bits of the rare large counts in small hash tables, one
 * a chunk of cells, indexed by the offset within it.
 *
 * An experiment, for one inserter: see b_bulk.c for what it costs and saves.
 */
#ifndef TESTS_BENCH_SPLIT_H
#define TESTS_BENCH_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#define SPLIT_CHUNK 4096u /* cells: an offset has 12 bits */

struct split {
	uint64_t cells;
	uint32_t s;	     /* bits of the count in the base */
	uint32_t most;	     /* that is counted to */
	uint32_t upper_bits; /* of an entry */
	uint32_t room;	     /* entries of a chunk's table */
	uint8_t *base;	     /* s + 1 bits in a byte each, for speed */
	uint16_t *entry;     /* offset << 4 | upper bits; 0xffff: free */
	uint64_t entries;
	uint64_t refused; /* counts that found no room in their table */
};

/* room: entries a chunk; a cell that finds none stays where it is. */
bool split_open(
    struct split *, uint64_t cells, uint32_t s, uint32_t bits, uint32_t room);
void split_close(struct split *);

uint32_t split_get(const struct split *, uint64_t cell);

/* Raise only the least of these cells; the count. */
uint32_t split_insert(struct split *, const uint64_t *cell, uint32_t n);

/* As it would be stored: base without padding, entries of 12 + upper bits. */
double split_bits_a_cell(const struct split *);

#endif
