/*
 * flow_fixture - buckets in shared memory of the test's own, with a few
 * workers' slots, so that the same code runs in forked processes and threads.
 */
#ifndef TESTS_LIB_FLOW_FIXTURE_H
#define TESTS_LIB_FLOW_FIXTURE_H

#include <stdint.h>

#include "fixture.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/shared/epoch.h"

#define FIXTURE_WORKERS 8u

struct flow_fixture {
	struct tide_flow flow;
	struct tide_pool pool;
	struct tide_slot *slots; /* shared */
	tide_epoch *epoch;	 /* shared */
	size_t bytes[4];
	void *region[4];
};

/* Sizes: buckets in the pool, units of strings, a ring for depths below it. */
void flow_fixture_make(struct flow_fixture *, uint32_t buckets,
    uint32_t string_units, uint32_t ring, tide_on_overflow *, void *arg);
void flow_fixture_free(struct flow_fixture *);

struct tide_adder flow_fixture_adder(struct flow_fixture *, unsigned worker);

/* Key number n: an address or an IP, of many lengths. */
struct tide_flow_key
flow_fixture_key(const struct tide_flow *, uint32_t n, char text[128]);
/* Which number it was. */
uint32_t flow_fixture_number(const char *text, unsigned length);

void *fixture_shared(size_t bytes);

#endif
