/*
 * t_buckets_attack - leaky buckets, attacked: reloads in the middle of it,
 * reports held back halfway, stopped workers, and memory that a hostile
 * worker wrote.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "flow_fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"
#include "tidemark/keys/keys.h"
#include "tidemark/shared/epoch.h"

#define DEPTH 3u

static struct flow_fixture x;
static struct tide_adder me;

/* ---- overflows, and what else happens while one is reported ------------- */

static uint32_t reported, calls;
static uint32_t refuse_from; /* calls from that one on are held back */
static uint32_t meanwhile;   /* drops that arrive during the first call */

static void add(unsigned class, uint32_t n, uint32_t drops);

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	uint32_t drops = meanwhile;

	(void)arg;
	meanwhile = 0;
	if (drops > 0)
		add(o->class, flow_fixture_number(o->key, o->length), drops);
	if (++calls >= refuse_from)
		return false;
	reported += o->times;
	return true;
}

static void
make(uint32_t buckets, uint32_t units)
{
	reported = calls = meanwhile = 0;
	refuse_from = UINT32_MAX;
	flow_fixture_make(&x, buckets, units, 64, on_overflow, NULL);
	me = flow_fixture_adder(&x, 0);
	tide_pool_set_class(&x.pool, 0, DEPTH, 1000, 0);
	tide_pool_set_class(&x.pool, 1, 50, 1000, 0);
}

static void
add(unsigned class, uint32_t n, uint32_t drops)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);

	CHECK(
	    tide_flow_add(&x.flow, &me, class, &key, drops) != TIDE_DROP_LOST);
}

static void
add_and_drain(unsigned class, uint32_t n, uint32_t drops)
{
	add(class, n, drops);
	(void)tide_pool_drain(&x.pool);
}

static uint32_t
level(unsigned class, uint32_t n)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);

	return tide_flow_level(&x.flow, &me, class, &key);
}

static void
audit(void)
{
	struct tide_err err;

	CHECK_MSG(tide_pool_audit(&x.pool, &err) == 0, "%s", err.text);
}

/* ---- reports ------------------------------------------------------------ */

/* 4 drops overflow; 4 more come while that is reported, and the report of
 * those is held back: the first must not be made again. */
static void
test_report_held_back_halfway(void)
{
	make(10, 100);
	add_and_drain(0, 2, 3);
	meanwhile = 5;
	refuse_from = 2;
	add_and_drain(0, 2, 1);
	CHECK_INT(calls, 2);
	CHECK_INT(reported, 1);
	CHECK_INT(level(0, 2), DEPTH + 1);
	refuse_from = UINT32_MAX;
	tide_pool_resolve(&x.pool);
	CHECK_INT(reported, 2);
	CHECK_INT(level(0, 2), 1);
	CHECK_INT(atomic_load(&x.flow.class[0].overflows), 2);
	audit();
	flow_fixture_free(&x);
}

static void
test_many_alarms_one_look(void)
{
	uint32_t i;

	make(10, 100);
	refuse_from = 0;
	add_and_drain(0, 2, 4);
	calls = 0;
	for (i = 0; i < FIXTURE_WORKERS; i++)
		atomic_store(&x.flow.mailbox[i].alarm, 1);
	(void)tide_pool_drain(&x.pool);
	CHECK_INT(calls, 1);
	flow_fixture_free(&x);
}

/* ---- reloads ------------------------------------------------------------ */

/* Every few minutes a cron job reloads; buckets must leak all the same. */
static void
test_reload_leaves_the_clock_alone(void)
{
	make(10, 100);
	add_and_drain(1, 2, 6);
	tide_pool_set_class(&x.pool, 1, 50, 1000, 900);
	tide_pool_leak(&x.pool, 1000);
	CHECK_INT(level(1, 2), 5);
	tide_pool_set_class(&x.pool, 1, 50, 100, 1050); /* a new leak time */
	tide_pool_leak(&x.pool, 1149);
	CHECK_INT(level(1, 2), 5);
	tide_pool_leak(&x.pool, 1150);
	CHECK_INT(level(1, 2), 4);
	flow_fixture_free(&x);
}

static uint32_t
find(unsigned class, uint32_t n)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);

	return tide_flow_find(&x.flow, class, &key);
}

/* A worker that has seen the class in use adds a moment later. */
static void
test_class_switched_off_does_not_overflow(void)
{
	make(10, 100);
	add_and_drain(0, 2, 1);
	tide_pool_set_class(&x.pool, 0, 0, 0, 100);
	CHECK_INT(
	    tide_flow_fill(&x.flow, 0, find(0, 2), false, 1), TIDE_DROP_HELD);
	flow_fixture_free(&x);
}

static void
test_class_switched_off_is_given_back(void)
{
	char text[128];
	struct tide_flow_key key;
	unsigned i;

	make(10, 100);
	refuse_from = 0;
	add_and_drain(0, 2, 3);
	add_and_drain(0, 4, 4); /* overflowed, and pending */
	add_and_drain(0, 4, 3); /* 3 since */
	key = flow_fixture_key(&x.flow, 6, text);
	(void)tide_flow_add(&x.flow, &me, 0, &key, 1); /* posted, not drained */
	tide_pool_set_class(&x.pool, 0, 0, 0, 100);
	refuse_from = UINT32_MAX;
	for (i = 0; i < 2 * 64; i++) {
		(void)tide_pool_drain(&x.pool);
		tide_pool_resolve(&x.pool);
		tide_pool_leak(&x.pool, 100 + i);
	}
	CHECK_INT(reported, 1);
	CHECK_INT(atomic_load(&x.flow.head->malformed), 0);
	CHECK_INT(atomic_load(&x.flow.head->free_count), 10);
	audit();
	flow_fixture_free(&x);
}

static void
test_shallower(void)
{
	make(10, 100);
	add_and_drain(1, 2, 40);
	tide_pool_set_class(&x.pool, 1, 5, 1000, 0);
	CHECK_INT(level(1, 2), 40);
	tide_pool_leak(&x.pool, 1000ull * 3600 * 1000); /* a long sleep */
	CHECK_INT(level(1, 2), 0);
	add_and_drain(1, 2, 5);
	CHECK_INT(reported, 0);
	add_and_drain(1, 2, 1);
	CHECK_INT(reported, 1);
	audit();
	flow_fixture_free(&x);
}

/* ---- stopped workers ----------------------------------------------------- */

/* While nothing can be freed, giving up more buckets makes no room. */
static void
test_flood_while_a_worker_is_stopped(void)
{
	uint32_t n;

	make(400, 4000);
	for (n = 2; n < 202; n++)
		add_and_drain(1, n, 20);
	tide_epoch_enter(&x.slots[3].epoch, x.epoch);
	for (n = 1000; n < 11000; n++)
		add_and_drain(1, n, 1);
	for (n = 2; n < 202; n++)
		CHECK_MSG(level(1, n) == 20, "key %u was given up", n);
	audit();
	tide_epoch_leave(&x.slots[3].epoch);
	add_and_drain(1, 300, 1);
	add_and_drain(1, 302, 1);
	CHECK_INT(level(1, 302), 1);
	audit();
	flow_fixture_free(&x);
}

static void
test_added_while_rebuilding(void)
{
	char text[128];
	struct tide_flow_key key;
	struct tide_err err;
	uint32_t n;

	make(100, 1000);
	add_and_drain(1, 2, 1);
	tide_epoch_enter(&x.slots[3].epoch, x.epoch);
	CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
	key = flow_fixture_key(&x.flow, 2, text);
	CHECK(tide_pool_add(&x.pool, 1, &key, 1));
	key = flow_fixture_key(&x.flow, 4, text);
	CHECK(!tide_pool_add(&x.pool, 1, &key, 1));
	tide_epoch_leave(&x.slots[3].epoch);
	tide_pool_reclaim(&x.pool);
	for (n = 4; n < 24; n++)
		add_and_drain(1, n, n);
	CHECK_INT(level(1, 2), 2);
	for (n = 4; n < 24; n++)
		CHECK_INT(level(1, n), n);
	audit();
	flow_fixture_free(&x);
}

/* ---- hostile workers ----------------------------------------------------- */

/* One leaves its mailbox at an odd place; the slot's next worker is honest. */
static void
test_mailbox_after_a_hostile_worker(void)
{
	struct tide_mailbox *m;
	uint64_t odd;
	uint32_t n = 0;

	make(4000, 40000);
	me = flow_fixture_adder(&x, 1);
	m = &x.flow.mailbox[1];
	atomic_store(&x.flow.mailbox[2].head, 77777776);
	atomic_store(&x.flow.mailbox[2].tail, 77777776);
	for (odd = TIDE_MAILBOX_BYTES - 9; odd < TIDE_MAILBOX_BYTES; odd++) {
		uint32_t end = n + 100;

		atomic_store(&m->tail, 3);
		atomic_store(&m->head, odd);
		(void)tide_pool_drain(&x.pool);
		for (; n < end; n++)
			add_and_drain(1, n, 1);
		CHECK_INT(atomic_load(&x.flow.mailbox[2].head), 77777776);
	}
	while (n-- > 0)
		CHECK_INT(level(1, n), 1);
	flow_fixture_free(&x);
}

static void
scribble(uint64_t *seed)
{
	struct tide_bucket *b = &x.flow.bucket[fixture_random(seed) % 64 + 1];
	uint32_t junk = (uint32_t)fixture_random(seed);

	if (junk % 3 == 0)
		junk = (uint32_t)fixture_random(seed) % 70;
	switch (fixture_random(seed) % 5) {
	case 0:
		atomic_store(&b->mark, junk % 4 == 0 ? TIDE_MARK_DEAD : junk);
		break;
	case 1:
		atomic_store(&b->next, junk);
		break;
	case 2:
		b->level_next = junk;
		break;
	case 3:
		b->class_string = junk;
		break;
	default:
		b->hash = junk;
	}
}

/* It writes where it can; nobody falls over, and a rebuild mends it. */
static void
test_scribbled_buckets(void)
{
	uint64_t seed = 4711;
	struct tide_err err;
	unsigned round, k;

	(void)alarm(60); /* a loop is a failure */
	for (round = 0; round < 2000; round++) {
		make(64, 400);
		for (k = 0; k < 300; k++) {
			add_and_drain((unsigned)(k % 2),
			    (uint32_t)fixture_random(&seed) % 90, 1 + k % 3);
			if (k % 25 == 24)
				tide_pool_leak(&x.pool, k * 200);
			if (k > 100 && k % 20 == 0)
				scribble(&seed);
			if (k % 60 == 59)
				(void)tide_pool_audit(&x.pool, &err);
		}
		CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
		audit();
		flow_fixture_free(&x);
	}
	(void)alarm(0);
}

/* ---- string space --------------------------------------------------------- */

/* A key of exactly that length; true if it found a place. */
static bool
put(const char *prefix, uint32_t n, uint32_t length)
{
	char text[256];
	struct tide_flow_key key;

	(void)snprintf(text, sizeof text, "%s%0*u@example.org", prefix,
	    (int)(length - 12 - strlen(prefix)), n);
	CHECK(tide_flow_key(&x.flow, text, length, &key));
	return tide_pool_add(&x.pool, 1, &key, 1);
}

static void
let_all_leak(void)
{
	unsigned i;

	for (i = 0; i < 4; i++) {
		tide_pool_tick(&x.pool, 1);
		tide_pool_reclaim(&x.pool);
		tide_pool_reclaim(&x.pool);
	}
	CHECK_INT(atomic_load(&x.flow.class[1].live), 0);
}

/* Short keys fill the space and go; long ones find it whole again. */
static void
test_long_keys_after_short_ones(void)
{
	static const uint32_t lengths[] = { 48, 35, 19, 56, 104, 48 };
	struct tide_flow_shape plan = tide_flow_plan(5000, 1);
	uint32_t n, i, r;

	make(plan.buckets, plan.string_units);
	for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		for (n = 0; n < 5000; n++)
			(void)put("a", n, lengths[i]);
		audit();
		let_all_leak();
		audit();
		CHECK_INT(atomic_load(&x.flow.head->string_free) + 1,
		    atomic_load(&x.flow.head->string_used));
	}
	reported = 0;
	x.pool.keys_unplaced = 0;
	for (r = 0; r < 200; r++)
		for (n = 0; n < 100; n++)
			CHECK(put("spam", n, 56));
	CHECK_INT(reported, 100 * (200 / 51));
	CHECK_INT(x.pool.keys_unplaced, 0);
	audit();
	flow_fixture_free(&x);
}

/* While strings of all lengths come and go, and a rebuild now and then. */
static void
test_mixed_lengths(void)
{
	uint64_t seed = 99;
	struct tide_err err;
	unsigned k;

	make(300, 900);
	for (k = 0; k < 20000; k++) {
		(void)put("m", (uint32_t)fixture_random(&seed) % 1000,
		    16 + (uint32_t)fixture_random(&seed) % 89);
		if (k % 50 == 0)
			tide_pool_tick(&x.pool, 1);
		tide_pool_reclaim(&x.pool);
		if (k % 200 == 0)
			audit();
		if (k % 3000 == 2999)
			CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
	}
	let_all_leak();
	CHECK(tide_string_join(&x.flow));
	audit();
	flow_fixture_free(&x);
}

static void
test_no_room_is_counted(void)
{
	uint32_t n;

	make(400, 64);				      /* eight long ones */
	tide_epoch_enter(&x.slots[3].epoch, x.epoch); /* nothing is freed */
	for (n = 0; n < 20; n++)
		(void)put("b", n, 104);
	CHECK(x.pool.keys_unplaced >= 10);
	audit();
	flow_fixture_free(&x);
}

/* One limit everywhere: what no key can be comes from a bad worker alone. */
static void
test_key_too_long(void)
{
	char text[256];
	struct tide_flow_key key;
	unsigned length, n = 0;

	make(100, 1000);
	memset(text, 'k', sizeof text);
	CHECK(tide_flow_key(&x.flow, text, TIDE_KEY_MAX, &key));
	CHECK(!tide_flow_key(&x.flow, text, TIDE_KEY_MAX + 1, &key));
	for (length = TIDE_KEY_MAX; length <= 200; length += 12, n++) {
		key = (struct tide_flow_key){ .text = text,
			.length = (uint8_t)length };
		(void)tide_flow_key(&x.flow, text, TIDE_KEY_MAX, &key);
		key.length = (uint8_t)length;
		(void)tide_flow_add(&x.flow, &me, 0, &key, 40);
		(void)tide_pool_drain(&x.pool);
	}
	CHECK_INT(atomic_load(&x.flow.head->malformed), n - 1);
	CHECK_INT(atomic_load(&x.flow.head->strings), 1);
	CHECK_INT(x.pool.pendings, 0);
	audit();
	flow_fixture_free(&x);
}

CHECK_CASES({ "a report held back halfway is finished, not repeated",
		test_report_held_back_halfway },
    { "many alarms, one look", test_many_alarms_one_look },
    { "a reload leaves the clock alone", test_reload_leaves_the_clock_alone },
    { "a class switched off does not overflow",
	test_class_switched_off_does_not_overflow },
    { "a class switched off gives its buckets back",
	test_class_switched_off_is_given_back },
    { "a class made shallower", test_shallower },
    { "a flood while a worker is stopped",
	test_flood_while_a_worker_is_stopped },
    { "added while a rebuild waits", test_added_while_rebuilding },
    { "a mailbox after a hostile worker", test_mailbox_after_a_hostile_worker },
    { "scribbled buckets", test_scribbled_buckets },
    { "long keys where short ones were", test_long_keys_after_short_ones },
    { "keys of all lengths come and go", test_mixed_lengths },
    { "a key without room is counted", test_no_room_is_counted },
    { "a key longer than any is refused and counted", test_key_too_long })
