/*
 * Distinct: how far off the estimates are, that generations pass, and that
 * sketches are inherited empty.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"

#define DAY 86400000ull
#define T0 (20000 * DAY)
#define CAPACITY 64u

static _Alignas(64) struct tide_distinct_sketch sketches[CAPACITY];
static const struct tide_distinct table = { sketches, CAPACITY, DAY };
static struct tide_hash_key key;

static void
set_up(void)
{
	memset(key.secret, 0x5a, sizeof key.secret);
	key.secret[7] = 1;
	memset(sketches, 0, sizeof sketches);
}

static struct tide_hash
name(uint64_t i)
{
	return tide_hash(&key, &i, sizeof i);
}

static void
add_range(uint64_t account, uint64_t from, uint64_t n, uint64_t now)
{
	for (; n > 0; n--, from++)
		CHECK(tide_distinct_add(&table,
		    tide_tokens_key(&key, 1, &account, sizeof account),
		    name(from), now));
}

static struct tide_estimate
estimate(uint64_t account, uint64_t now)
{
	return tide_distinct_estimate(
	    &table, tide_tokens_key(&key, 1, &account, sizeof account), now);
}

#define CHECK_NEAR(got, want, share)                                      \
	CHECK_MSG(fabs((got) - (want)) <= (share) * (want), "%s is %.1f", \
	    #got, (double)(got))

/* ---- the arithmetic ----------------------------------------------------- */

/* Standard error of estimates of n with so many registers; *bias too. */
static double
error_of(unsigned registers, uint64_t n, unsigned runs, double *bias)
{
	static uint64_t next = 1;
	double sum = 0, squares = 0, off;
	uint8_t reg[256];
	unsigned run;
	uint64_t i;

	for (run = 0; run < runs; run++) {
		memset(reg, 0, sizeof reg);
		for (i = 0; i < n; i++) {
			struct tide_hash h = name(next++);
			unsigned at = (unsigned)h.high & (registers - 1);
			int rank = __builtin_clzll(h.low | 64) + 1;

			if (rank > reg[at])
				reg[at] = (uint8_t)rank;
		}
		off = tide_distinct_count(reg, registers) / (double)n - 1;
		sum += off;
		squares += off * off;
	}
	*bias = sum / runs;
	return sqrt(squares / runs);
}

static void
test_errors(void)
{
	static const uint64_t n[] = { 10, 40, 200, 2000, 20000 };
	unsigned registers, i, runs;
	double error, bias;

	set_up();
	for (registers = 64; registers <= 256; registers *= 2) {
		printf("# %3u registers:", registers);
		for (i = 0; i < 5; i++) {
			runs = n[i] > 1000 ? 400 : 2000;
			error = error_of(registers, n[i], runs, &bias);
			printf("  %llu: %.1f%% (bias %+.1f%%)",
			    (unsigned long long)n[i], 100 * error, 100 * bias);
			CHECK(error < 1.2 * 1.04 / sqrt(registers));
			CHECK(fabs(bias) < 4 * error / sqrt(runs) + 0.01);
		}
		printf("\n");
	}
}

static void
test_small(void)
{
	uint8_t reg[128] = { 0 };

	CHECK(tide_distinct_count(reg, 128) == 0);
	reg[5] = 1;
	CHECK_NEAR(tide_distinct_count(reg, 128), 1.0, 0.01);
}

/* ---- in the table ------------------------------------------------------- */

static void
test_told_apart(void)
{
	uint64_t i;

	set_up();
	for (i = 0; i < 2000; i++) {
		add_range(1, 1000 + i % 40, 1, T0);
		add_range(2, 5000 + i, 1, T0);
	}
	CHECK_NEAR(estimate(1, T0).current, 40, 0.25);
	CHECK_NEAR(estimate(2, T0).current, 2000, 0.35);
	CHECK(estimate(3, T0).both == 0);
}

static void
test_generations(void)
{
	set_up();
	add_range(1, 0, 100, T0);
	CHECK_NEAR(estimate(1, T0 + DAY - 1).current, 100, 0.3);
	CHECK(estimate(1, T0 + DAY).current == 0);
	CHECK_NEAR(estimate(1, T0 + DAY).both, 100, 0.3);
	add_range(1, 50, 100, T0 + DAY);
	CHECK_NEAR(estimate(1, T0 + DAY).current, 100, 0.3);
	CHECK_NEAR(estimate(1, T0 + DAY).both, 150, 0.3);
	CHECK_NEAR(estimate(1, T0 + 2 * DAY).both, 100, 0.3);
	CHECK(estimate(1, T0 + 3 * DAY).both == 0);
	add_range(1, 0, 10, T0 + 3 * DAY);
	CHECK_NEAR(estimate(1, T0 + 3 * DAY).both, 10, 0.3);
}

/* Whoever is late adds nothing to what is newer, and spoils nothing. */
static void
test_late(void)
{
	set_up();
	add_range(1, 0, 100, T0 + 2 * DAY);
	add_range(1, 100, 1000, T0 + DAY);
	CHECK_NEAR(estimate(1, T0 + 2 * DAY).current, 100, 0.3);
	CHECK_NEAR(estimate(1, T0 + 2 * DAY).both, 1100, 0.3);
	set_up();
	add_range(1, 0, 100, T0 + 1000 * DAY);
	add_range(1, 0, 10, T0); /* the clock went back */
	CHECK_NEAR(estimate(1, T0).current, 10, 0.3);
}

static void
test_inherited(void)
{
	uint64_t i, rest = 0;
	struct tide_hash h;

	set_up();
	for (i = 0; i < 400; i++) {
		h = tide_tokens_key(&key, 1, &i, sizeof i);
		rest += !tide_distinct_add(&table, h, name(i), T0);
	}
	CHECK_INT(rest, 400 - CAPACITY);
	CHECK(!tide_distinct_add(
	    &table, tide_tokens_key(&key, 2, &i, sizeof i), name(1), T0 + DAY));
	for (i = 1000; i < 1016; i++)
		add_range(i, 0, 3, T0 + 2 * DAY);
	for (i = 1000; i < 1016; i++)
		CHECK_NEAR(estimate(i, T0 + 2 * DAY).both, 3, 0.3);
}

#define ADDERS 4

static void *
adder(void *arg)
{
	uint64_t i, from = (uintptr_t)arg, account;

	for (i = 0; i < 40000; i++) {
		account = 1 + i % 8;
		(void)tide_distinct_add(&table,
		    tide_tokens_key(&key, 1, &account, sizeof account),
		    name(from + i * ADDERS), T0 + i / 20000 * DAY);
	}
	return NULL;
}

/* The registers that many leave are those that one would. */
static void
test_threads(void)
{
	pthread_t t[ADDERS];
	struct tide_estimate one[8];
	uintptr_t i;

	set_up();
	for (i = 0; i < ADDERS; i++)
		(void)adder((void *)i);
	for (i = 0; i < 8; i++)
		one[i] = estimate(1 + i, T0 + DAY);
	set_up();
	for (i = 0; i < ADDERS; i++)
		CHECK(pthread_create(&t[i], NULL, adder, (void *)i) == 0);
	for (i = 0; i < ADDERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	for (i = 0; i < 8; i++) {
		CHECK(estimate(1 + i, T0 + DAY).current == one[i].current);
		CHECK(estimate(1 + i, T0 + DAY).both == one[i].both);
	}
}

/* ---- as records --------------------------------------------------------- */

#define MORE 256u
static _Alignas(64) struct tide_distinct_sketch others[MORE];

/* 40 yesterday, 100 today; saved six hours into today. */
static const struct carry_case {
	const char *name;
	uint64_t capacity, later;
	double current, both;
} carries[] = {
	{ "at once", CAPACITY, 0, 100, 140 },
	{ "the same day", CAPACITY, DAY / 2, 100, 140 },
	{ "the next day", CAPACITY, DAY, 0, 100 },
	{ "two days later", CAPACITY, 2 * DAY, 0, 0 },
	{ "into a larger table", MORE, 0, 100, 140 },
	{ "into a smaller one", 16, 0, 100, 140 },
};

static void
test_carried(void)
{
	const uint64_t now = 5 * DAY / 2; /* another boot's clock */
	const uint64_t saved_at = T0 + DAY / 4, one = 1;
	struct tide_hash account = tide_tokens_key(&key, 1, &one, sizeof one);
	const struct carry_case *c;
	struct tide_err err;
	char *bytes;
	size_t size;

	set_up();
	account = tide_tokens_key(&key, 1, &one, sizeof one);
	add_range(1, 0, 40, T0 - DAY / 2);
	add_range(1, 1000, 100, T0);
	add_range(2, 0, 7, T0 - 3 * DAY); /* long over */
	CHECK_INT(tide_distinct_save(&table, saved_at, &bytes, &size, &err), 0);
	for (c = carries; c < carries + sizeof carries / sizeof *carries; c++) {
		struct tide_distinct to = { others, c->capacity, DAY };
		struct tide_estimate e;

		memset(others, 0, sizeof others);
		CHECK_MSG((tide_distinct_load(&to, bytes, size, now,
			       c->later) == 1) == (c->both > 0),
		    "%s", c->name);
		e = tide_distinct_estimate(&to, account, now);
		CHECK_MSG(fabs(e.current - c->current) <= 0.25 * c->current &&
			fabs(e.both - c->both) <= 0.25 * c->both,
		    "%s: %.1f and %.1f", c->name, e.current, e.both);
	}
	memset(bytes, 0xff, size);
	(void)tide_distinct_load(&table, bytes, size, now, 0);
	free(bytes);
}

/* Its sketch is nobody's; the next add finds another, empty. */
static void
test_forgotten(void)
{
	uint64_t one = 1, two = 2;
	struct tide_hash first = tide_tokens_key(&key, 1, &one, sizeof one);
	struct tide_hash second = tide_tokens_key(&key, 1, &two, sizeof two);
	struct tide_estimate e;

	set_up();
	first = tide_tokens_key(&key, 1, &one, sizeof one);
	second = tide_tokens_key(&key, 1, &two, sizeof two);
	add_range(1, 0, 50, T0);
	add_range(2, 0, 50, T0);
	e = estimate(2, T0);
	CHECK(tide_distinct_known(&table, first, T0));
	CHECK(tide_distinct_forget(&table, first, T0 + DAY));
	CHECK(!tide_distinct_known(&table, first, T0 + DAY));
	CHECK(!tide_distinct_forget(&table, first, T0 + DAY));
	CHECK(estimate(1, T0).both < 0.5 && estimate(2, T0).both == e.both);
	add_range(1, 0, 1, T0 + DAY);
	CHECK_NEAR(estimate(1, T0 + DAY).both, 1, 0.1);
	CHECK(tide_distinct_known(&table, second, T0 + DAY));
}

CHECK_CASES({ "errors with 64, 128 and 256 registers", test_errors },
    { "none and one are known exactly", test_small },
    { "2,000 mails to 40 regulars, 2,000 to strangers", test_told_apart },
    { "two generations", test_generations },
    { "late adders and clock steps", test_late },
    { "sketches are inherited empty", test_inherited },
    { "threads leave what one would", test_threads },
    { "saved as records, and loaded after a boot", test_carried },
    { "forgotten, and as new", test_forgotten })
