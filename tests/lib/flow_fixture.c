/*
 * flow_fixture - buckets for tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flow_fixture.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"

void *
fixture_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	return p;
}

void
flow_fixture_make(struct flow_fixture *x, uint32_t buckets,
    uint32_t string_units, uint32_t ring, tide_on_overflow *on_overflow,
    void *arg)
{
	static const uint8_t secret[16] = "fixture's secret";
	struct tide_flow_shape shape = { .buckets = buckets,
		.heads = tide_power_of_two(buckets),
		.string_units = string_units,
		.ring = tide_power_of_two(ring),
		.mailboxes = FIXTURE_WORKERS };
	struct tide_flow_sizes sizes = tide_flow_sizes(&shape);

	memset(x, 0, sizeof *x);
	x->bytes[0] = sizes.books;
	x->bytes[1] = sizes.buckets;
	x->bytes[2] = sizes.mailboxes;
	x->bytes[3] = sizeof(tide_epoch) * 16 +
	    FIXTURE_WORKERS * sizeof(struct tide_slot);
	for (int i = 0; i < 4; i++)
		x->region[i] = fixture_shared(x->bytes[i]);
	x->slots = x->region[3];
	x->epoch = (tide_epoch *)(void *)(x->slots + FIXTURE_WORKERS);
	atomic_store(x->epoch, 1);
	for (int i = 0; i < (int)FIXTURE_WORKERS; i++)
		atomic_store(&x->slots[i].state, TIDE_SLOT_SERVING);
	tide_flow_attach(
	    &x->flow, x->region[0], x->region[1], x->region[2], &shape);
	x->flow.epoch = x->epoch;
	x->flow.head->shape = shape;
	tide_pool_format(&x->flow, secret);
	x->pool = (struct tide_pool){ .flow = &x->flow,
		.workers = { x->slots, FIXTURE_WORKERS, x->flow.epoch },
		.on_overflow = on_overflow,
		.arg = arg };
}

void
flow_fixture_free(struct flow_fixture *x)
{
	tide_pool_close(&x->pool);
	for (int i = 0; i < 4; i++)
		(void)munmap(x->region[i], x->bytes[i]);
}

struct tide_adder
flow_fixture_adder(struct flow_fixture *x, unsigned worker)
{
	return (struct tide_adder){ .epoch = &x->slots[worker].epoch,
		.mailbox = worker };
}

struct tide_flow_key
flow_fixture_key(const struct tide_flow *f, uint32_t n, char text[128])
{
	struct tide_flow_key key;
	int length;

	if (n % 2 == 0)
		length = snprintf(text, 128, "user%u.%0*u@example.org", n,
		    (int)(n % 60) + 1, 7u);
	else
		length = snprintf(text, 128, "10.%u.%u.%u", n >> 16 & 255,
		    n >> 8 & 255, n & 255);
	(void)tide_flow_key(f, text, (size_t)length, &key);
	return key;
}

uint32_t
flow_fixture_number(const char *text, unsigned length)
{
	char copy[128];
	unsigned a, b, c;

	memcpy(copy, text, length);
	copy[length] = '\0';
	if (sscanf(copy, "user%u", &a) == 1)
		return a;
	if (sscanf(copy, "10.%u.%u.%u", &a, &b, &c) == 3)
		return a << 16 | b << 8 | c;
	return UINT32_MAX;
}
