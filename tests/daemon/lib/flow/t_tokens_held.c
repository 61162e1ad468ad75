/*
 * Tokens under sessions that are held open: whatever a client takes, keeps and
 * gives back, no more than beta + rho t passes in any time t; and what comes
 * to nothing at once costs nothing.
 */
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define T0 1000000000000ull
#define HOUR 3600000ull
#define SESSIONS 40u
#define STEPS 4000u

static _Alignas(64) struct tide_tokens_slot slots[TIDE_TOKENS_BLOCK];
static const struct tide_tokens table = { slots, TIDE_TOKENS_BLOCK };
static const struct tide_hash joe = { .low = 7, .high = 8 };

/* Burst 100, 100 an hour: one comes back in 36 s. */
static struct tide_take
session(void)
{
	struct tide_take t = { .key = joe, .cost = TIDE_TOKEN };
	struct tide_err err;

	CHECK_INT(tide_allowance_make(
		      &t.allowance, 100, (struct tide_rate){ 100, HOUR }, &err),
	    0);
	return t;
}

static bool
take(struct tide_take *t, uint64_t tokens, uint64_t now)
{
	t->cost = tokens * TIDE_TOKEN;
	return tide_tokens_take(&table, t, now) == TIDE_TOKENS_TAKEN;
}

static void
give_back(struct tide_take *t, uint64_t tokens, uint64_t now)
{
	t->cost = tokens * TIDE_TOKEN;
	t->result = TIDE_TOKENS_TAKEN;
	tide_tokens_give_back(&table, t, now);
}

static uint64_t
level(uint64_t now)
{
	struct tide_take t = session();

	return tide_tokens_level(&table, joe, &t.allowance, now);
}

static uint64_t
send_all(uint64_t now)
{
	struct tide_take t = session();
	uint64_t passed = 0;

	while (take(&t, 1, now))
		passed++;
	return passed;
}

static uint64_t
random_below(uint64_t n)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

/* Twenty sessions take five each, wait, and give up one after the other. */
static void
test_banked(void)
{
	static const struct {
		uint64_t wait_s, most;
	} waits[] = { { 0, 100 }, { 36, 101 }, { 180, 105 }, { 1800, 100 },
		{ 3600, 100 }, { 7000, 100 } };
	struct tide_take held[20];
	uint64_t now, passed;
	unsigned w, i;

	for (w = 0; w < sizeof waits / sizeof *waits; w++) {
		memset(slots, 0, sizeof slots);
		for (i = 0; i < 20; i++) {
			held[i] = session();
			CHECK(take(&held[i], 5, T0));
		}
		now = T0 + waits[w].wait_s * 1000;
		passed = send_all(now);
		for (i = 0; i < 20; i++) {
			give_back(&held[i], 5, now);
			passed += send_all(now);
		}
		CHECK_MSG(passed <= waits[w].most,
		    "%llu pass at once after %llu s",
		    (unsigned long long)passed,
		    (unsigned long long)waits[w].wait_s);
	}
}

/* What is given up at once is as if it had never been. */
static void
test_at_once(void)
{
	struct tide_take held[20];
	unsigned i, round;

	memset(slots, 0, sizeof slots);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 20; i++) {
			held[i] = session();
			CHECK(take(&held[i], 5, T0));
		}
		CHECK_INT(level(T0), 0);
		for (i = 0; i < 20; i++)
			give_back(&held[i], 5, T0);
		CHECK_INT(level(T0), 100 * TIDE_TOKEN);
	}
}

/* Recipients that paid 1, 7 and 30: each gets back its own. */
static void
test_prices(void)
{
	struct tide_take t = session();

	memset(slots, 0, sizeof slots);
	CHECK(take(&t, 1, T0) && take(&t, 7, T0) && take(&t, 30, T0));
	CHECK_INT(level(T0), 62000);
	give_back(&t, 7, T0);
	CHECK_INT(level(T0), 69000);
	give_back(&t, 30, T0 + 36000); /* 31 were paid, 1 has come back */
	CHECK_INT(level(T0 + 36000), 100000);
	CHECK(take(&t, 50, T0 + 36000));
	give_back(&t, 80, T0 + 36000); /* more than it ever paid */
	CHECK_INT(level(T0 + 36000), 100000);
}

/* The account is forgotten while a session is open: nothing to give back. */
static void
test_forgotten(void)
{
	struct tide_take held = session(), other = session();

	memset(slots, 0, sizeof slots);
	CHECK(take(&held, 60, T0));
	CHECK(tide_tokens_forget(&table, joe));
	CHECK(take(&other, 100, T0));
	give_back(&held, 60, T0);
	CHECK_INT(level(T0), 0);
	held = session();
	CHECK(!take(&held, 1, T0));
}

/* ---- any pattern ---------------------------------------------------------- */

static struct {
	struct tide_take take;
	uint64_t at[8], cost[8]; /* of its recipients */
	unsigned n;
} open[SESSIONS];
static struct {
	uint64_t at, cost;
} passed[STEPS * 8];
static size_t passes;

static void
end_session(unsigned s, uint64_t now, bool sent)
{
	unsigned i;

	for (i = 0; i < open[s].n; i++) {
		if (sent) {
			passed[passes].at = open[s].at[i];
			passed[passes++].cost = open[s].cost[i];
		} else {
			give_back(&open[s].take, open[s].cost[i], now);
		}
	}
	open[s].take = session();
	open[s].n = 0;
}

/* Half of them send what they take, the others hold it and give up. */
static void
step(uint64_t now)
{
	unsigned s = (unsigned)random_below(SESSIONS);
	uint64_t cost = 1 + random_below(12), kind = random_below(8);

	if (kind < 5 && open[s].n < 8 && take(&open[s].take, cost, now)) {
		open[s].at[open[s].n] = now;
		open[s].cost[open[s].n++] = cost;
	} else if (kind >= 5) {
		end_session(s, now, s % 2 == 0);
	}
}

/* Much at once, then a pause of up to two hours. */
static uint64_t
next_time(uint64_t now, unsigned n, unsigned round)
{
	if (n % (50u << round) == 0)
		return now + random_below(2 * HOUR);
	return now + random_below(1u << 2 * round);
}

/* The most in any stretch of so many minutes, both ends included. */
static uint64_t
most_in(uint64_t minutes)
{
	uint64_t most = 0, sum;
	size_t i, j;

	for (i = 0; i < passes; i++) {
		for (sum = 0, j = 0; j < passes; j++)
			if (passed[j].at >= passed[i].at &&
			    passed[j].at - passed[i].at <= minutes * 60000)
				sum += passed[j].cost;
		if (sum > most)
			most = sum;
	}
	return most;
}

static void
test_any_time(void)
{
	static const uint64_t minutes[] = { 0, 1, 6, 30, 60, 300 };
	uint64_t now = T0, most;
	unsigned n, i, round;

	for (round = 0; round < 6; round++) {
		memset(slots, 0, sizeof slots);
		passes = 0;
		for (i = 0; i < SESSIONS; i++)
			end_session(i, now, false);
		for (n = 0; n < STEPS; n++) {
			now = next_time(now, n, round);
			step(now);
		}
		for (i = 0; i < sizeof minutes / sizeof *minutes; i++) {
			most = most_in(minutes[i]);
			CHECK_MSG(most <= 100 + minutes[i] * 100 / 60,
			    "%llu pass in %llu minutes",
			    (unsigned long long)most,
			    (unsigned long long)minutes[i]);
		}
		CHECK(passes > 10);
	}
}

CHECK_CASES(
    { "twenty sessions give up in the end: a burst, no more", test_banked },
    { "given up at once: as if it had never been", test_at_once },
    { "each recipient gets back what it paid", test_prices },
    { "nothing comes back of an account forgotten since", test_forgotten },
    { "forty sessions, taking, sending, giving up: beta + rho t",
	test_any_time })
