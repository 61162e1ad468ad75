/*
 * t_buckets - leaky buckets step by step against a sequential oracle, and
 * their edges: leaks after a long sleep, a pool and a string space that run
 * dry, shared strings, resets, hostile mailboxes, a rebuild in between.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "flow_fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/flow_state.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/strings.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/epoch.h"

#define CLASSES 3u
#define KEYS 300u
#define STEPS 300000u

static struct flow_fixture x;
static struct tide_adder me;

/* ---- overflows as they are reported ------------------------------------ */

static uint32_t reported[CLASSES][KEYS];
static uint32_t last_number; /* of the last one told, dealt with or not */
static bool hold_back;	     /* as while a ban is being written */

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	uint32_t n = flow_fixture_number(o->key, o->length);

	(void)arg;
	last_number = o->number;
	if (hold_back)
		return false;
	CHECK(o->class < CLASSES);
	if (n < KEYS)
		reported[o->class][n] += o->times;
	return true;
}

static void
make(uint32_t buckets, uint32_t units, uint32_t depth)
{
	unsigned c;

	memset(reported, 0, sizeof reported);
	hold_back = false;
	flow_fixture_make(&x, buckets, units, depth + 2, on_overflow, NULL);
	me = flow_fixture_adder(&x, 0);
	for (c = 0; c < CLASSES; c++)
		tide_pool_set_class(&x.pool, c, depth, 1000, 0);
}

static enum tide_drop
add(unsigned class, uint32_t n, uint32_t drops)
{
	char text[128];
	struct tide_flow_key key = flow_fixture_key(&x.flow, n, text);
	enum tide_drop d = tide_flow_add(&x.flow, &me, class, &key, drops);

	CHECK(d != TIDE_DROP_LOST);
	(void)tide_pool_drain(&x.pool);
	return d;
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

static void
check_empty_again(uint32_t buckets, uint32_t depth)
{
	unsigned c;
	uint32_t i;

	for (i = 0; i < 2 * depth + 4; i++)
		for (c = 0; c < CLASSES; c++)
			tide_pool_tick(&x.pool, c);
	for (i = 0; i < 4; i++)
		tide_pool_reclaim(&x.pool);
	audit();
	CHECK_INT(atomic_load(&x.flow.head->free_count), buckets);
	CHECK_INT(atomic_load(&x.flow.head->strings), 0);
}

/* ---- the oracle -------------------------------------------------------- */

static uint32_t oracle[CLASSES][KEYS], oracle_over[CLASSES][KEYS];

static void
oracle_leak(unsigned class, uint32_t by)
{
	uint32_t n;

	for (n = 0; n < KEYS; n++)
		oracle[class][n] -=
		    oracle[class][n] < by ? oracle[class][n] : by;
}

static void
step(uint64_t *seed, uint32_t depth)
{
	unsigned class = (unsigned)(fixture_random(seed) % CLASSES);
	uint32_t n = (uint32_t)(fixture_random(seed) % KEYS), drops = 1, i, by;

	if (fixture_random(seed) % 100 == 0) {
		by = fixture_random(seed) % 50 == 0 ? depth + 3 : 1;
		for (i = 0; i < by; i++)
			tide_pool_tick(&x.pool, class);
		tide_pool_reclaim(&x.pool);
		oracle_leak(class, by);
		return;
	}
	if (fixture_random(seed) % 4 == 0)
		drops = 1 + (uint32_t)(fixture_random(seed) % 3);
	if (fixture_random(seed) % 200 == 0)
		drops = depth + 2;
	(void)add(class, n, drops);
	oracle[class][n] += drops;
	if (oracle[class][n] > depth) {
		oracle[class][n] = 0;
		oracle_over[class][n]++;
	}
	CHECK_INT(level(class, n), oracle[class][n]);
	CHECK_INT(reported[class][n], oracle_over[class][n]);
}

static void
check_all_levels(void)
{
	unsigned c;
	uint32_t n;

	for (c = 0; c < CLASSES; c++)
		for (n = 0; n < KEYS; n++)
			CHECK_INT(level(c, n), oracle[c][n]);
}

static void
run_oracle(uint32_t depth, uint32_t start_level, bool rebuild)
{
	struct tide_err err;
	uint64_t seed = 88172645463325252ull + depth;
	uint32_t i;
	unsigned c;

	make(CLASSES * KEYS + 200, CLASSES * KEYS * 8, depth);
	memset(oracle, 0, sizeof oracle);
	memset(oracle_over, 0, sizeof oracle_over);
	for (c = 0; c < CLASSES; c++)
		atomic_store(&x.flow.class[c].floor, start_level << 2);
	for (i = 0; i < STEPS; i++) {
		step(&seed, depth);
		if (i % 20000 == 19999) {
			if (rebuild)
				CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
			audit();
			check_all_levels();
		}
	}
	check_empty_again(CLASSES * KEYS + 200, depth);
	flow_fixture_free(&x);
}

static void
test_oracle(void)
{
	run_oracle(10, 1, false);
}

static void
test_oracle_shallow(void)
{
	run_oracle(1, 77, false);
}

/* Levels are absolute and wrap around; here they do it midway. */
static void
test_oracle_wraps(void)
{
	run_oracle(60, (1u << 30) - 400, false);
}

static void
test_oracle_rebuilt(void)
{
	run_oracle(10, 5, true);
}

/* ---- edges ------------------------------------------------------------- */

static void
test_first_drop_shows_after_drain(void)
{
	char text[128];
	struct tide_flow_key key;

	make(10, 100, 5);
	key = flow_fixture_key(&x.flow, 4, text);
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 1), TIDE_DROP_POSTED);
	CHECK_INT(level(0, 4), 0);
	CHECK_INT(tide_pool_drain(&x.pool), 1);
	CHECK_INT(level(0, 4), 1);
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 1), TIDE_DROP_HELD);
	CHECK_INT(level(0, 4), 2);
	flow_fixture_free(&x);
}

/* Filled to the brim by workers and by the collector, leaking as any other. */
static void
test_a_shared_key_never_overflows(void)
{
	static const char text[] = "#-#@provider.example|192.0.2.0/24";
	struct tide_flow_key key;

	make(10, 100, 3);
	CHECK(tide_flow_key(&x.flow, text, sizeof text - 1, &key));
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 9), TIDE_DROP_POSTED);
	CHECK_INT(tide_pool_drain(&x.pool), 1);
	CHECK_INT(tide_flow_level(&x.flow, &me, 0, &key), 3);
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 1), TIDE_DROP_FULL);
	CHECK(tide_pool_add(&x.pool, 0, &key, 5));
	CHECK_INT(tide_flow_level(&x.flow, &me, 0, &key), 3);
	tide_pool_tick(&x.pool, 0);
	CHECK_INT(tide_flow_level(&x.flow, &me, 0, &key), 2);
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 1), TIDE_DROP_HELD);
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 1), TIDE_DROP_FULL);
	tide_pool_tick(&x.pool, 0);
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 2), TIDE_DROP_FULL);
	CHECK_INT(tide_flow_level(&x.flow, &me, 0, &key), 3);
	tide_pool_set_class(&x.pool, 0, 2, 1000, 0); /* above the brim */
	CHECK_INT(tide_flow_add(&x.flow, &me, 0, &key, 1), TIDE_DROP_FULL);
	CHECK_INT(tide_flow_level(&x.flow, &me, 0, &key), 3);
	CHECK_INT(atomic_load(&x.flow.class[0].overflows), 0);
	audit();
	flow_fixture_free(&x);
}

static void
test_overflow_is_held_until_dealt_with(void)
{
	make(10, 100, 3);
	hold_back = true;
	CHECK_INT(add(0, 2, 3), TIDE_DROP_POSTED);
	CHECK_INT(add(0, 2, 1), TIDE_DROP_OVERFLOW);
	CHECK_INT(level(0, 2), 4);
	CHECK_INT(add(0, 2, 2), TIDE_DROP_OVER);
	tide_pool_tick(&x.pool, 0);
	tide_pool_resolve(&x.pool);
	CHECK_INT(reported[0][2], 0);
	CHECK_INT(level(0, 2), 4);
	hold_back = false;
	tide_pool_resolve(&x.pool);
	CHECK_INT(reported[0][2], 1);
	CHECK_INT(level(0, 2), 2); /* what came since stays */
	audit();
	flow_fixture_free(&x);
}

/* Told again, also by the next collector, it has its number; the next one at
 * the same floor has another, and so has that of a bucket made anew. */
static void
test_overflows_are_told_apart(void)
{
	struct tide_err err;
	uint32_t first, n;

	make(10, 100, 3);
	hold_back = true;
	(void)add(0, 2, 4);
	first = last_number;
	last_number = ~first;
	tide_pool_resolve(&x.pool);
	CHECK_INT(last_number, first);
	last_number = ~first;
	CHECK(tide_pool_rebuild(&x.pool, &err) == 0);
	tide_pool_resolve(&x.pool);
	CHECK_INT(last_number, first);
	hold_back = false;
	tide_pool_resolve(&x.pool);
	CHECK_INT(reported[0][2], 1);
	for (n = 0; n < 3; n++) {
		(void)add(0, 2, 4);
		CHECK_INT(reported[0][2], n + 2);
		CHECK(last_number != first);
		first = last_number;
	}
	tide_pool_tick(&x.pool, 0);
	tide_pool_reclaim(&x.pool);
	(void)add(0, 2, 4);
	CHECK(last_number != first);
	audit();
	flow_fixture_free(&x);
}

/* What is not told yet is not wiped away. */
static void
test_reset_leaves_an_overflow(void)
{
	char text[128];
	struct tide_flow_key key;

	make(10, 100, 3);
	key = flow_fixture_key(&x.flow, 2, text);
	hold_back = true;
	(void)add(0, 2, 4);
	CHECK_INT(tide_pool_reset(&x.pool, 0, &key), TIDE_RESET_BUSY);
	CHECK_INT(level(0, 2), 4);
	hold_back = false;
	tide_pool_resolve(&x.pool);
	CHECK_INT(reported[0][2], 1);
	CHECK_INT(tide_pool_reset(&x.pool, 0, &key), TIDE_RESET_DONE);
	flow_fixture_free(&x);
}

static void
test_drops_while_over_make_more_overflows(void)
{
	make(10, 100, 3);
	hold_back = true;
	(void)add(0, 2, 4);
	(void)add(0, 2, 9);
	hold_back = false;
	tide_pool_resolve(&x.pool);
	CHECK_INT(reported[0][2], 3); /* 4 of 13, then twice 4 of 9 */
	CHECK_INT(level(0, 2), 1);
	flow_fixture_free(&x);
}

static void
test_leaks_by_the_clock(void)
{
	make(10, 100, 8);
	(void)add(0, 2, 6);
	tide_pool_leak(&x.pool, 999);
	CHECK_INT(level(0, 2), 6);
	tide_pool_leak(&x.pool, 1000);
	CHECK_INT(level(0, 2), 5);
	tide_pool_leak(&x.pool, 3999);
	CHECK_INT(level(0, 2), 3);
	tide_pool_leak(&x.pool, 500); /* no clock goes back; nothing leaks */
	CHECK_INT(level(0, 2), 3);
	tide_pool_leak(&x.pool, 1000000000ull * 1000); /* a long sleep */
	CHECK_INT(level(0, 2), 0);
	(void)add(0, 2, 1);
	tide_pool_leak(&x.pool, 1000000000ull * 1000 + 1);
	CHECK_INT(level(0, 2), 1);
	flow_fixture_free(&x);
}

/* More than one round works off: empty to all at once, freed by and by, and
 * who gets a drop meanwhile keeps it. */
static void
test_many_run_empty_at_once(void)
{
	const uint32_t many = 30000;
	struct tide_flow_key key;
	char text[128];
	uint32_t n, rounds;

	make(many, many * 8, 8);
	for (n = 0; n < many - 500; n++) {
		key = flow_fixture_key(&x.flow, n, text);
		CHECK(tide_pool_add(&x.pool, 0, &key, 1));
	}
	tide_pool_leak(&x.pool, 1000);
	for (n = 0; n < many - 500; n++)
		CHECK_INT(level(0, n), 0);
	CHECK(x.flow.class[0].due != 0);
	CHECK(atomic_load(&x.flow.class[0].live) > 0);
	audit();
	for (n = 0; n < many - 500; n += 1000)
		(void)add(0, n, 2);
	for (rounds = 0; x.flow.class[0].due != 0; rounds++) {
		CHECK(rounds < 20);
		tide_pool_leak(&x.pool, 1000);
		audit();
	}
	CHECK_INT(
	    atomic_load(&x.flow.class[0].live), (many - 500 + 999) / 1000);
	for (n = 0; n < many - 500; n += 1000)
		CHECK_INT(level(0, n), 2);
	tide_pool_leak(&x.pool, 3000);
	tide_pool_leak(&x.pool, 3000);
	CHECK_INT(atomic_load(&x.flow.class[0].live), 0);
	flow_fixture_free(&x);
}

static void
test_strings_are_shared(void)
{
	make(10, 100, 8);
	(void)add(0, 2, 1);
	(void)add(1, 2, 1);
	(void)add(2, 2, 1);
	CHECK_INT(atomic_load(&x.flow.head->strings), 1);
	CHECK_INT(atomic_load(&x.flow.head->free_count), 7);
	tide_pool_tick(&x.pool, 0);
	tide_pool_tick(&x.pool, 0);
	tide_pool_reclaim(&x.pool);
	tide_pool_reclaim(&x.pool);
	CHECK_INT(atomic_load(&x.flow.head->strings), 1);
	check_empty_again(10, 8);
	flow_fixture_free(&x);
}

/* A flood of made-up keys must not lift the limit from one that matters. */
static void
test_flood(void)
{
	uint32_t n;

	make(200, 2000, 50);
	(void)add(0, 2, 20);
	for (n = 1000; n < 21000; n++) {
		(void)add(0, n, 1);
		if (n % 1000 == 0)
			(void)add(0, 2, 1);
	}
	CHECK(atomic_load(&x.flow.head->evicted) > 10000);
	CHECK_INT(atomic_load(&x.flow.head->refused), 0);
	CHECK_INT(level(0, 2), 40);
	(void)add(0, 2, 11);
	CHECK_INT(reported[0][2], 1);
	audit();
	check_empty_again(200, 50);
	flow_fixture_free(&x);
}

static void
test_no_room_for_strings(void)
{
	uint32_t n;

	make(1000, 60, 50);
	for (n = 1000; n < 3000; n++)
		(void)add(0, n, 1);
	CHECK(atomic_load(&x.flow.head->evicted) > 1000);
	audit();
	check_empty_again(1000, 50);
	flow_fixture_free(&x);
}

/* A worker inside keeps everything from being freed: then new keys are let
 * through, and counted; nobody waits. */
static void
test_stopped_worker(void)
{
	uint32_t n;

	make(50, 1000, 50);
	tide_epoch_enter(&x.slots[3].epoch, x.epoch);
	for (n = 1000; n < 1200; n++)
		(void)add(0, n, 1);
	CHECK(atomic_load(&x.flow.head->refused) > 0);
	audit();
	tide_epoch_leave(&x.slots[3].epoch);
	(void)add(0, 2, 1);
	CHECK_INT(level(0, 2), 1);
	check_empty_again(50, 50);
	flow_fixture_free(&x);
}

static void
test_reset(void)
{
	char text[128];
	struct tide_flow_key key;

	make(10, 100, 8);
	key = flow_fixture_key(&x.flow, 2, text);
	CHECK_INT(tide_pool_reset(&x.pool, 0, &key), TIDE_RESET_NONE);
	(void)add(0, 2, 6);
	CHECK_INT(tide_pool_reset(&x.pool, 0, &key), TIDE_RESET_DONE);
	CHECK_INT(level(0, 2), 0);
	audit();
	flow_fixture_free(&x);
}

/* Bytes of a mailbox come from a process that parses hostile mail. */
static void
test_hostile_mailboxes(void)
{
	uint64_t seed = 7;
	struct tide_mailbox *m;
	unsigned round, i;

	make(100, 1000, 8);
	m = &x.flow.mailbox[1];
	for (round = 0; round < 20000; round++) {
		for (i = 0; i < 200; i++)
			m->bytes[i] = (unsigned char)fixture_random(&seed);
		if (round % 2 == 0) { /* nearly right */
			m->bytes[0] = 32;
			m->bytes[1] = m->bytes[2] = m->bytes[3] = 0;
			m->bytes[4] = (unsigned char)(round % 4);
			m->bytes[5] %= 70;
		}
		atomic_store(&m->tail, 0);
		atomic_store(
		    &m->head, round % 3 == 0 ? fixture_random(&seed) : 64);
		(void)tide_pool_drain(&x.pool);
		CHECK(atomic_load(&m->tail) == atomic_load(&m->head));
	}
	CHECK(atomic_load(&x.flow.head->malformed) > 1000);
	audit();
	flow_fixture_free(&x);
}

/* ---- saving and loading ------------------------------------------------ */

static void
test_saved_and_loaded(void)
{
	struct tide_err err;
	uint32_t n, before[KEYS];
	int same[TIDE_CLASSES];
	char *bytes;
	size_t size;

	for (n = 0; n < TIDE_CLASSES; n++)
		same[n] = (int)n;
	make(400, 4000, 20);
	for (n = 0; n < KEYS; n++)
		(void)add(n % CLASSES, n, 1 + n % 20);
	for (n = 0; n < KEYS; n++)
		before[n] = level(n % CLASSES, n);
	CHECK(tide_flow_save(&x.flow, &bytes, &size, &err) == 0);
	flow_fixture_free(&x);

	make(600, 9000, 20); /* of other sizes, and 2.5 leaks later */
	CHECK(tide_flow_load(&x.pool, bytes, size, same, 2500) > 0);
	for (n = 0; n < KEYS; n++)
		CHECK_INT(
		    level(n % CLASSES, n), before[n] > 2 ? before[n] - 2 : 0);
	audit();
	CHECK_INT(tide_flow_load(&x.pool, bytes, size - 1, same, 0) > 0, 1);
	(void)tide_flow_load(
	    &x.pool, "hostile bytes, of no use at all", 31, same, 0);
	audit();
	free(bytes);
	flow_fixture_free(&x);
}

/* ---- mailbox ----------------------------------------------------------- */

static void
test_full_mailbox_loses_and_says_so(void)
{
	char text[128];
	struct tide_flow_key key;
	uint32_t n, lost = 0, posted = 0;

	make(1000, 10000, 8);
	for (n = 0; n < 1000; n++) {
		key = flow_fixture_key(&x.flow, n, text);
		if (tide_flow_add(&x.flow, &me, 0, &key, 1) == TIDE_DROP_LOST)
			lost++;
		else
			posted++;
	}
	CHECK(lost > 0 && posted > 20);
	CHECK_INT(tide_pool_drain(&x.pool), posted);
	for (n = 0; n < posted; n++)
		CHECK_INT(level(0, n), 1);
	flow_fixture_free(&x);
}

/* More than can be named are not planned for. */
static void
test_most_buckets(void)
{
	static const uint32_t wanted[] = { 64, 50000, TIDE_BUCKETS_MAX,
		TIDE_BUCKETS_MAX + 1, 17000000, 60000000 };
	unsigned i;

	for (i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct tide_flow_shape s = tide_flow_plan(wanted[i], 1);

		CHECK(s.buckets <= wanted[i] && s.string_units > s.buckets);
		CHECK(s.string_units <= TIDE_HELD_STRINGS);
		CHECK(s.buckets == wanted[i] || wanted[i] > TIDE_BUCKETS_MAX);
	}
}

CHECK_CASES({ "agrees with the oracle, depth 10", test_oracle },
    { "agrees with the oracle, depth 1", test_oracle_shallow },
    { "agrees with the oracle while levels wrap", test_oracle_wraps },
    { "agrees with the oracle across rebuilds", test_oracle_rebuilt },
    { "a first drop shows after the drain", test_first_drop_shows_after_drain },
    { "a key that many share never overflows",
	test_a_shared_key_never_overflows },
    { "an overflow stays until it is dealt with",
	test_overflow_is_held_until_dealt_with },
    { "two overflows are told apart, one told twice is not",
	test_overflows_are_told_apart },
    { "a reset leaves an overflow to be told", test_reset_leaves_an_overflow },
    { "drops on an overflowed bucket are counted",
	test_drops_while_over_make_more_overflows },
    { "leaks by the clock, never backwards", test_leaks_by_the_clock },
    { "many run empty at once", test_many_run_empty_at_once },
    { "strings are shared between classes", test_strings_are_shared },
    { "a flood evicts the emptiest, not the one that matters", test_flood },
    { "a string space that runs dry", test_no_room_for_strings },
    { "a stopped worker holds nobody up", test_stopped_worker },
    { "reset empties a bucket", test_reset },
    { "hostile mailboxes", test_hostile_mailboxes },
    { "saved as records, and loaded elsewhere", test_saved_and_loaded },
    { "a full mailbox loses drops and says so",
	test_full_mailbox_loses_and_says_so },
    { "more buckets than can be named", test_most_buckets })
