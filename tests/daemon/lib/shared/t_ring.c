/*
 * t_ring - the ring of decisions, by one hand: what is put is got, the oldest
 * go first, what is broken or half written is never shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/shared/ring.h"

#define CAPACITY 8u

static struct tide_ring ring;

static void
set_up(void)
{
	size_t size = (tide_ring_size(CAPACITY) + 63) / 64 * 64;

	free(ring.region);
	ring.region = aligned_alloc(64, size);
	CHECK(ring.region != NULL);
	memset((void *)ring.region, 0, size);
	ring.capacity = CAPACITY;
}

static bool
put(uint64_t n)
{
	struct tide_decision d = { .wall_ms = n, .recipients = (uint32_t)n };

	(void)snprintf(d.qid, sizeof d.qid, "Q%llu", (unsigned long long)n);
	return tide_ring_put(&ring, &d);
}

static void
is_empty_at_first(void)
{
	struct tide_decision d;

	set_up();
	CHECK_INT(tide_ring_next(&ring), 0);
	CHECK_INT(tide_ring_oldest(&ring), 0);
	CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_NOT_YET);
}

static void
gives_back_what_was_put(void)
{
	struct tide_decision d;
	char want[16];
	uint64_t n;

	set_up();
	for (n = 0; n < CAPACITY; n++)
		CHECK(put(n));
	for (n = 0; n < CAPACITY; n++) {
		CHECK_INT(tide_ring_get(&ring, n, &d), TIDE_RING_HERE);
		(void)snprintf(want, sizeof want, "Q%d", (int)n);
		CHECK_STR(d.qid, want);
		CHECK_INT(d.wall_ms, n);
	}
}

static void
overwrites_the_oldest(void)
{
	struct tide_decision d;
	uint64_t n;

	set_up();
	for (n = 0; n < 3 * CAPACITY + 2; n++)
		CHECK(put(n));
	CHECK_INT(tide_ring_oldest(&ring), 2 * CAPACITY + 2);
	CHECK_INT(tide_ring_get(&ring, 2 * CAPACITY + 1, &d), TIDE_RING_GONE);
	CHECK_INT(tide_ring_get(&ring, 2 * CAPACITY + 2, &d), TIDE_RING_HERE);
	CHECK_INT(d.recipients, 2 * CAPACITY + 2);
}

/* A writer killed while it wrote number 0. */
static void
skips_a_dead_writer_for_a_lap(void)
{
	struct tide_decision d;
	uint64_t n;

	set_up();
	atomic_store(&ring.region->next, 1);
	atomic_store(&ring.region->entry[0].seq, 1);
	for (n = 1; n < CAPACITY; n++)
		CHECK(put(n));
	CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_NOT_YET);
	CHECK(!put(CAPACITY)); /* it might still be at work */
	CHECK_INT(atomic_load(&ring.region->given_up), 1);
	for (n = CAPACITY + 1; n <= 2 * CAPACITY; n++)
		CHECK(put(n));
	CHECK_INT(tide_ring_get(&ring, 2 * CAPACITY, &d), TIDE_RING_HERE);
	CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_GONE);
}

static void
does_not_push_out_what_is_newer(void)
{
	struct tide_decision d;
	uint64_t n;

	set_up();
	for (n = 0; n <= CAPACITY; n++)
		CHECK(put(n));
	atomic_store(&ring.region->next, 0); /* as if stopped after W1 */
	CHECK(!put(0));
	CHECK_INT(tide_ring_get(&ring, CAPACITY, &d), TIDE_RING_HERE);
}

static void
shows_no_mixture(void)
{
	struct tide_decision d;
	unsigned i;

	for (i = 0; i < TIDE_DECISION_WORDS; i++) {
		set_up();
		CHECK(put(7));
		CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_HERE);
		atomic_fetch_add(&ring.region->entry[0].word[i], 1);
		CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_GONE);
	}
}

static void
ends_every_text(void)
{
	struct tide_decision d;

	set_up();
	memset(&d, 'x', sizeof d);
	CHECK(tide_ring_put(&ring, &d));
	CHECK_INT(tide_ring_get(&ring, 0, &d), TIDE_RING_HERE);
	CHECK_INT(strlen(d.sender), sizeof d.sender - 1);
	CHECK_INT(strlen(d.client), sizeof d.client - 1);
	CHECK_INT(strlen(d.reason), sizeof d.reason - 1);
	CHECK_INT(strlen(d.qid), sizeof d.qid - 1);
	CHECK_INT(strlen(d.session), sizeof d.session - 1);
}

static void
names_sessions_in_order(void)
{
	const uint64_t now = 1794834582000000u; /* November 2026 */
	char a[16], b[16], c[16];

	tide_session_id(now, 4095, a);
	tide_session_id(now + 1, 0, b);
	tide_session_id(now + 1, 1, c);
	CHECK_INT(strlen(a), 13);
	CHECK(strcmp(a, b) < 0);
	CHECK(strcmp(b, c) < 0);
}

CHECK_CASES({ "is empty at first", is_empty_at_first },
    { "gives back what was put", gives_back_what_was_put },
    { "overwrites the oldest", overwrites_the_oldest },
    { "skips a dead writer for a lap, then takes over",
	skips_a_dead_writer_for_a_lap },
    { "a lapped writer pushes out nothing newer",
	does_not_push_out_what_is_newer },
    { "a record that does not fit its check is not shown", shows_no_mixture },
    { "ends every text", ends_every_text },
    { "session ids sort by time and differ by slot", names_sessions_in_order })
