/*
 * replay, basin - the daemon's own buckets, in memory of ours.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replay.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/keys/keys.h"

int
basin_make(
    struct basin *b, uint32_t buckets, tide_on_overflow *on_overflow, void *arg)
{
	static const uint8_t secret[16] = "nobody attacks u";
	struct tide_flow_shape shape = tide_flow_plan(buckets, 1);
	struct tide_flow_sizes sizes = tide_flow_sizes(&shape);
	unsigned i;

	memset(b, 0, sizeof *b);
	b->bytes[0] = sizes.books;
	b->bytes[1] = sizes.buckets;
	b->bytes[2] = sizes.mailboxes;
	for (i = 0; i < 3; i++) {
		b->region[i] = mmap(NULL, b->bytes[i], PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (b->region[i] == MAP_FAILED) {
			b->region[i] = NULL;
			basin_free(b);
			return -1;
		}
	}
	tide_flow_attach(
	    &b->flow, b->region[0], b->region[1], b->region[2], &shape);
	atomic_store(&b->epoch, 1);
	b->flow.epoch = &b->epoch;
	b->flow.head->shape = shape;
	tide_pool_format(&b->flow, secret);
	b->pool = (struct tide_pool){
		.flow = &b->flow, .on_overflow = on_overflow, .arg = arg
	};
	return 0;
}

void
basin_free(struct basin *b)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		if (b->region[i] != NULL)
			(void)munmap(b->region[i], b->bytes[i]);
}

void
basin_leak(struct basin *b, uint64_t now_ms)
{
	tide_pool_leak(&b->pool, now_ms);
	tide_pool_reclaim(&b->pool);
}

void
basin_add(
    struct basin *b, unsigned class, const struct tide_key *key, uint32_t drops)
{
	struct tide_flow_key k;

	if (drops == 0 || !tide_flow_key(&b->flow, key->text, key->length, &k))
		return;
	(void)tide_pool_add(&b->pool, class, &k, drops);
	tide_pool_resolve(&b->pool);
}

uint32_t
basin_level(struct basin *b, unsigned class, const struct tide_key *key)
{
	const struct tide_adder me = { .epoch = &b->mine };
	struct tide_flow_key k;

	if (!tide_flow_key(&b->flow, key->text, key->length, &k))
		return 0;
	return tide_flow_level(&b->flow, &me, class, &k);
}

bool
basin_has_room(
    struct basin *b, unsigned class, const struct tide_key *key, uint32_t drops)
{
	uint32_t depth = atomic_load(&b->flow.class[class].depth);

	return depth == 0 || basin_level(b, class, key) + drops <= depth;
}
