/*
 * simulate - one round of one experiment: 10,000 keys, k universal hashes
 * drawn afresh, every insertion through the product's counting filter.
 */
#ifndef TESTS_REPRODUCE_SIMULATE_H
#define TESTS_REPRODUCE_SIMULATE_H

#include <stdint.h>

/* Share of insertions that are counted wrong. */
struct wrong {
	double intuitive; /* every cell raised */
	double refined;	  /* the product's filter */
};

/* experiment: 1 to 8.  The same seed and round give the same answer. */
struct wrong simulate(
    unsigned experiment, unsigned m, unsigned k, uint64_t seed, unsigned round);

#endif
