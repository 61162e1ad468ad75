/*
 * Tokens: single takes in a table, then a million against an oracle that
 * keeps (t0, T) in whole numbers, then the published figure under a search
 * for the pattern of sending that gets most through.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define T0 1000000000000ull
#define DAY 86400000ull
#define HOUR 3600000ull
#define TABLE 65536u

static _Alignas(64) struct tide_tokens_slot slots[TABLE];
static struct tide_tokens table = { slots, TABLE };

static struct tide_allowance
allowance(uint64_t burst, uint64_t count, uint64_t period_ms)
{
	struct tide_allowance a;
	struct tide_err err;
	struct tide_rate rate = { count, period_ms };

	CHECK_MSG(
	    tide_allowance_make(&a, burst, rate, &err) == 0, "%s", err.text);
	return a;
}

static void
clear(uint64_t capacity)
{
	memset(slots, 0, sizeof slots);
	table.capacity = capacity;
}

/* Account i in a block of its own, as long as there are blocks. */
static struct tide_hash
account(uint64_t i)
{
	return (struct tide_hash){ .low = i | i << 60, .high = i + 1 };
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

/* ---- one take ----------------------------------------------------------- */

/* Burst 10, 10 an hour: a token each 6 minutes. */
static const struct take_case {
	const char *name;
	uint64_t level; /* at T0, thousandths */
	int64_t after_s;
	uint64_t cost;
	enum tide_tokens_result want;
	uint64_t left, retry_s;
} takes[] = {
	{ "a new account has its burst", 10000, 0, 1000, TIDE_TOKENS_TAKEN,
	    9000, 0 },
	{ "the whole burst at once", 10000, 0, 10000, TIDE_TOKENS_TAKEN, 0, 0 },
	{ "the last token", 1000, 0, 1000, TIDE_TOKENS_TAKEN, 0, 0 },
	{ "a refusal takes nothing", 3000, 0, 4000, TIDE_TOKENS_SHORT, 3000,
	    360 },
	{ "nothing left", 0, 0, 1000, TIDE_TOKENS_SHORT, 0, 360 },
	{ "a thousandth short", 999, 0, 1000, TIDE_TOKENS_SHORT, 999, 1 },
	{ "a thousandth is a cost", 999, 0, 999, TIDE_TOKENS_TAKEN, 0, 0 },
	{ "refills with time", 0, 720, 1000, TIDE_TOKENS_TAKEN, 1000, 0 },
	{ "a second too early", 0, 359, 1000, TIDE_TOKENS_SHORT, 997, 1 },
	{ "refills up to the burst", 5000, 7200, 1000, TIDE_TOKENS_TAKEN, 9000,
	    0 },
	{ "no more than the burst after a year", 0, 31536000, 11000,
	    TIDE_TOKENS_SHORT, 10000, UINT64_MAX },
	{ "costs nothing", 0, 0, 0, TIDE_TOKENS_TAKEN, 0, 0 },
	{ "costs more than there can be", 10000, 0, 10001, TIDE_TOKENS_SHORT,
	    10000, UINT64_MAX },
	{ "a step back does not refill", 5000, -60, 1000, TIDE_TOKENS_TAKEN,
	    3833, 0 },
	{ "a step back when empty", 0, -60, 1000, TIDE_TOKENS_SHORT, 0, 420 },
	{ "a step back of years blocks no longer than when empty", 5000,
	    -100000000, 1000, TIDE_TOKENS_SHORT, 0, 360 },
};

static void
test_takes(void)
{
	const struct take_case *c;

	for (c = takes; c < takes + LENGTH(takes); c++) {
		struct tide_take t = { .key = account(1),
			.allowance = allowance(10, 10, HOUR),
			.cost = 10000 - c->level };
		uint64_t now = T0 + (uint64_t)(c->after_s * 1000), retry;

		clear(TABLE);
		CHECK(tide_tokens_take(&table, &t, T0) == TIDE_TOKENS_TAKEN);
		CHECK_INT(t.left, c->level);
		t.cost = c->cost;
		CHECK_MSG(tide_tokens_take(&table, &t, now) == c->want &&
			t.result == c->want,
		    "%s", c->name);
		CHECK_MSG(t.left == c->left, "%s: left %llu", c->name,
		    (unsigned long long)t.left);
		retry = t.retry_after_ms == UINT64_MAX
		    ? UINT64_MAX
		    : (t.retry_after_ms + 999) / 1000;
		CHECK_MSG(retry == c->retry_s, "%s: retry after %llu s",
		    c->name, (unsigned long long)retry);
		CHECK_INT(tide_tokens_level(&table, t.key, &t.allowance, now),
		    c->left);
	}
}

static void
test_recovers(void)
{
	struct tide_take t = { .key = account(1),
		.allowance = allowance(10, 10, HOUR),
		.cost = 1000 };
	uint64_t past = T0 - 1000 * DAY;

	clear(TABLE);
	CHECK(tide_tokens_take(&table, &t, T0) == TIDE_TOKENS_TAKEN);
	CHECK(tide_tokens_take(&table, &t, past) == TIDE_TOKENS_SHORT);
	CHECK(tide_tokens_take(&table, &t, past + 359999) == TIDE_TOKENS_SHORT);
	CHECK(tide_tokens_take(&table, &t, past + 360000) == TIDE_TOKENS_TAKEN);
	CHECK_INT(t.left, 0);
}

/* What it says it takes to wait, it takes: not a millisecond less. */
static void
test_retry(void)
{
	struct tide_take t = { .key = account(1),
		.allowance = allowance(100, 7, 1000),
		.cost = 0 };
	uint64_t now = T0, i, at;

	clear(TABLE);
	for (i = 0; i < 100000; i++) {
		t.cost = 1 + random_below(100000);
		if (tide_tokens_take(&table, &t, now) == TIDE_TOKENS_SHORT) {
			CHECK(t.retry_after_ms > 0);
			at = now + t.retry_after_ms;
			CHECK(tide_tokens_take(&table, &t, at - 1) ==
			    TIDE_TOKENS_SHORT);
			CHECK(tide_tokens_take(&table, &t, at) ==
			    TIDE_TOKENS_TAKEN);
			now = at;
		}
		now += random_below(3000);
	}
}

/* A rate that is no whole number of ticks: beta + rho t all the same. */
static void
test_exact(void)
{
	static const struct {
		uint64_t count, cost;
	} uneven[] = { { 7, 1000 }, { 7, 1 }, { 7, 700 }, { 900, 1000 } };
	uint64_t sum, now, most;
	unsigned i;

	for (i = 0; i < LENGTH(uneven); i++) {
		struct tide_take t = { .key = account(1),
			.allowance = allowance(10000, uneven[i].count, 1000),
			.cost = uneven[i].cost };

		clear(TABLE);
		for (sum = 0, now = T0; now < T0 + 2000000; now += 997)
			while (tide_tokens_take(&table, &t, now) ==
			    TIDE_TOKENS_TAKEN)
				sum += t.cost;
		most = 10000000 + (now - 997 - T0) * uneven[i].count;
		CHECK(sum <= most);
		CHECK(sum >= most / 100 * 99);
	}
}

static void
test_mended(void)
{
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };
	struct tide_take t = { .key = account(1),
		.allowance = allowance(10, 10, HOUR),
		.cost = 1000 };

	clear(64);
	CHECK(tide_tokens_take(&table, &t, T0 + 9 * DAY) == TIDE_TOKENS_TAKEN);
	tide_tokens_sweep(&table, 0, 64, T0, HOUR, &sum);
	CHECK_INT(sum.mended, 1);
	CHECK_INT(tide_tokens_level(&table, t.key, &t.allowance, T0), 0);
	tide_tokens_sweep(&table, 0, 64, T0 + HOUR + 60000, HOUR, &sum);
	CHECK_INT(sum.freed, 1);
}

static const struct range_case {
	uint64_t burst;
	struct tide_rate rate;
	const char *says;
} ranges[] = {
	{ 100, { 100, DAY }, NULL },
	{ 1000000, { 100, DAY }, NULL },
	{ 1000000, { 1000, 1000 }, NULL },
	{ 0, { 0, 0 }, NULL },
	{ 1000001, { 100, DAY },
	    "a burst of 1000001 tokens is too large (at most 1000000)" },
	{ 1, { 1001, 1000 }, "1001/s is too fast (at most 1k/s)" },
	{ 1, { 0, DAY }, "tokens must come back at some rate, such as 100/d" },
	{ 1000000, { 1, DAY },
	    "a burst of 1000000 takes longer than 34 years to come back at "
	    "1/d" },
};

static void
test_ranges(void)
{
	const struct range_case *c;
	struct tide_allowance a;

	for (c = ranges; c < ranges + LENGTH(ranges); c++) {
		struct tide_err err = { "" };
		int rc = tide_allowance_make(&a, c->burst, c->rate, &err);

		CHECK_STR(err.text, c->says != NULL ? c->says : "");
		CHECK_INT(rc, c->says != NULL ? -1 : 0);
	}
}

static void
test_blocked(void)
{
	struct tide_take t = {
		.key = account(1), .allowance = allowance(0, 0, 0), .cost = 1000
	};

	clear(64);
	CHECK(tide_tokens_take(&table, &t, T0) == TIDE_TOKENS_SHORT);
	CHECK(t.retry_after_ms == TIDE_TOKENS_NEVER);
	CHECK_INT(tide_tokens_level(&table, t.key, &t.allowance, T0), 0);
	tide_tokens_give_back(&table, &t, T0);
}

/* ---- several ------------------------------------------------------------ */

static void
test_all_or_none(void)
{
	struct tide_take t[3] = {
		{ .key = account(1),
		    .allowance = allowance(10, 10, HOUR),
		    .cost = 1000 },
		{ .key = account(2),
		    .allowance = allowance(5, 10, HOUR),
		    .cost = 1000 },
		{ .key = account(3),
		    .allowance = allowance(3, 10, HOUR),
		    .cost = 1000 },
	};
	size_t refused = 9;
	int i;

	clear(TABLE);
	for (i = 0; i < 3; i++)
		CHECK(tide_tokens_take_all(&table, t, 3, T0, &refused) ==
		    TIDE_TOKENS_TAKEN);
	CHECK_INT(refused, 9);
	CHECK(tide_tokens_take_all(&table, t, 3, T0, &refused) ==
	    TIDE_TOKENS_SHORT);
	CHECK_INT(refused, 2);
	CHECK_INT(t[2].retry_after_ms, 360000);
	for (i = 0; i < 3; i++)
		CHECK_INT(
		    tide_tokens_level(&table, t[i].key, &t[i].allowance, T0),
		    t[i].allowance.burst * 1000 - 3000);
}

static void
test_give_back(void)
{
	struct tide_take t = { .key = account(1),
		.allowance = allowance(10, 10, HOUR),
		.cost = 4000 };

	clear(TABLE);
	tide_tokens_give_back(&table, &t, T0); /* of a stranger */
	CHECK(tide_tokens_take(&table, &t, T0) == TIDE_TOKENS_TAKEN);
	tide_tokens_give_back(&table, &t, T0 + 720000); /* 6 + 2 + 4 */
	CHECK_INT(
	    tide_tokens_level(&table, t.key, &t.allowance, T0 + 720000), 10000);
	CHECK(tide_tokens_take(&table, &t, T0 + 720000) == TIDE_TOKENS_TAKEN);
	CHECK_INT(t.left, 6000);
	t.cost = 1000;
	tide_tokens_give_back(&table, &t, T0 + 720000);
	CHECK_INT(
	    tide_tokens_level(&table, t.key, &t.allowance, T0 + 720000), 7000);
	t.result = TIDE_TOKENS_SHORT;
	tide_tokens_give_back(&table, &t, T0 + 720000);
	CHECK_INT(
	    tide_tokens_level(&table, t.key, &t.allowance, T0 + 720000), 7000);
}

static void
test_full_table(void)
{
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };
	struct tide_take t = { .key = account(0),
		.allowance = allowance(10, 10, HOUR),
		.cost = 1000 };
	uint64_t i, soon = T0 + 360000 + TIDE_TOKENS_STALE_MS;

	clear(64);
	for (i = 0; i < 64; i++) {
		t.key = account(i);
		CHECK(tide_tokens_take(&table, &t, T0) == TIDE_TOKENS_TAKEN);
	}
	t.key = account(64);
	CHECK(tide_tokens_take(&table, &t, T0) == TIDE_TOKENS_UNCOUNTED);
	CHECK(tide_tokens_take(&table, &t, soon - 1) == TIDE_TOKENS_UNCOUNTED);
	CHECK(tide_tokens_take(&table, &t, soon) == TIDE_TOKENS_TAKEN);
	CHECK_INT(t.left, 9000);
	tide_tokens_sweep(&table, 0, 64, soon, HOUR, &sum);
	CHECK_INT(sum.live, 1);
	CHECK_INT(sum.freed, 63);
	CHECK_INT(sum.cleared + sum.mended, 0);
	CHECK_INT(tide_tokens_level(&table, t.key, &t.allowance, soon), 9000);
}

/* ---- the oracle --------------------------------------------------------- */

typedef __int128 wide;

/* T at t0, in thousandths times the period, so that refill is whole. */
struct oracle {
	wide tokens, t0;
	bool known;
	wide paid, paid_t0; /* by the message, as of then: to be given back */
	struct tide_take take;
};

static const struct {
	uint64_t burst, count, period, step;
} limits[] = { { 100, 100, DAY, 1 }, { 10, 10, HOUR, 1 }, { 1, 1, 1000, 1 },
	{ 1000000, 100, DAY, 1 }, { 1000000, 1000, 1000, 1000 },
	{ 50, 5, 1000, 5 } };

static wide
oracle_level(const struct oracle *o, unsigned l, uint64_t now, bool *mend)
{
	wide most = (wide)limits[l].burst * 1000 * (wide)limits[l].period;
	wide slack = (wide)limits[l].count * 1000 * TIDE_TOKENS_STALE_MS;
	wide level = most;

	*mend = false;
	if (o->known)
		level = o->tokens +
		    ((wide)now - o->t0) * (wide)limits[l].count * 1000;
	*mend = level < -slack;
	return *mend ? 0 : level > most ? most : level;
}

/* Of what the message has paid, so much has not come back by itself. */
static wide
oracle_paid(const struct oracle *o, unsigned l, uint64_t now)
{
	wide paid =
	    o->paid - ((wide)now - o->paid_t0) * (wide)limits[l].count * 1000;

	return paid > 0 && o->paid > 0 ? paid : 0;
}

static bool
oracle_take(struct oracle *o, unsigned l, uint64_t now, uint64_t cost)
{
	bool mend;
	wide level = oracle_level(o, l, now, &mend);
	wide after = level - (wide)cost * (wide)limits[l].period;

	if (after < 0 && !mend)
		return false;
	o->tokens = after < 0 ? 0 : after;
	o->t0 = (wide)now;
	o->known = true;
	if (after >= 0) {
		o->paid = oracle_paid(o, l, now) +
		    (wide)cost * (wide)limits[l].period;
		o->paid_t0 = (wide)now;
	}
	return after >= 0;
}

static void
oracle_give(struct oracle *o, unsigned l, uint64_t now, uint64_t cost)
{
	wide most = (wide)limits[l].burst * 1000 * (wide)limits[l].period;
	bool mend;
	wide level = oracle_level(o, l, now, &mend);
	wide paid = oracle_paid(o, l, now);
	wide back = (wide)cost * (wide)limits[l].period;

	if (back > paid)
		back = paid;
	if (paid == 0)
		o->paid = 0; /* a step back does not bring it back */
	if (back == 0)
		return;
	o->paid = paid - back;
	o->paid_t0 = (wide)now;
	if (level == most)
		return;
	level += back;
	o->tokens = level > most ? most : level;
	o->t0 = (wide)now;
	o->known = true;
}

static uint64_t
next_time(uint64_t now, bool steps)
{
	uint64_t kind = random_below(steps ? 1000 : 990);

	if (kind < 500)
		return now;
	if (kind < 900)
		return now + random_below(20000);
	if (kind < 990)
		return now + random_below(2 * HOUR);
	if (kind < 995)
		return now - random_below(3 * 60000);
	if (kind < 998)
		return now - random_below(3 * DAY);
	return now + random_below(40 * DAY);
}

/* A new message; what the last one paid stays paid. */
static void
begin_message(struct oracle *o, uint64_t i, unsigned l)
{
	o->take = (struct tide_take){ .key = account(i),
		.allowance = allowance(
		    limits[l].burst, limits[l].count, limits[l].period) };
	o->paid = 0;
}

static void
compare(struct oracle *o, uint64_t i, uint64_t now)
{
	unsigned l = (unsigned)(i % LENGTH(limits));
	struct tide_take *t = &o->take;
	uint64_t unit = limits[l].step;
	bool mend, want;
	wide level;

	if (!o->known || random_below(4) == 0)
		begin_message(o, i, l);
	t->cost = random_below(10) < 8
	    ? 1000 * (1 + random_below(3))
	    : unit * random_below(limits[l].burst * 1100 / unit);
	if (t->cost > limits[l].burst * 1000)
		t->cost = 0;
	if (random_below(4) == 0) {
		oracle_give(o, l, now, t->cost);
		t->result = TIDE_TOKENS_TAKEN;
		tide_tokens_give_back(&table, t, now);
	} else if (t->cost > 0) {
		want = oracle_take(o, l, now, t->cost);
		CHECK_INT(tide_tokens_take(&table, t, now),
		    want ? TIDE_TOKENS_TAKEN : TIDE_TOKENS_SHORT);
	}
	level = oracle_level(o, l, now, &mend);
	level = level < 0 ? 0 : level / (wide)limits[l].period;
	CHECK_INT(tide_tokens_level(&table, t->key, &t->allowance, now), level);
}

/* Accounts in blocks of their own: a step back finds all as they were. */
static void
test_oracle(void)
{
	static struct oracle o[600];
	uint64_t now = T0, n, i;

	clear(TABLE);
	memset(o, 0, sizeof o);
	for (n = 0; n < 1000000; n++) {
		i = random_below(random_below(2) ? 12 : LENGTH(o));
		compare(&o[i], i, now);
		now = next_time(now, true);
	}
}

/* Three times as many accounts as slots: they inherit from each other. */
static void
test_oracle_crowded(void)
{
	static struct oracle o[600];
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };
	uint64_t now = T0, n, i;

	clear(64);
	memset(o, 0, sizeof o);
	for (n = 0; n < 1000000; n++) {
		i = random_below(LENGTH(o)) / 6 * 6 + 1 + random_below(2);
		compare(&o[i], i, now);
		now = next_time(now, false) + 60 * 1000;
		if (n % 5000 == 0)
			tide_tokens_sweep(
			    &table, 0, table.capacity, now, 30 * DAY, &sum);
	}
	CHECK_INT(sum.cleared + sum.mended, 0);
	CHECK(sum.freed > 0);
}

/* ---- the published figure ----------------------------------------------- */

#define GENES 24

struct pattern {
	uint32_t gap_s[GENES], tries[GENES];
};

static uint64_t passed[20000]; /* when */
static size_t passes;

/* Send by the pattern, over and over, for ten days. */
static void
send(const struct pattern *p)
{
	struct tide_take t = { .key = account(1),
		.allowance = allowance(100, 100, DAY),
		.cost = 1000 };
	uint64_t now = T0, g = 0, i;

	clear(64);
	passes = 0;
	for (; now <= T0 + 10 * DAY; g = (g + 1) % GENES) {
		now += p->gap_s[g] * 1000ull;
		for (i = 0; i < p->tries[g]; i++)
			if (tide_tokens_take(&table, &t, now) ==
			    TIDE_TOKENS_TAKEN)
				passed[passes++] = now;
	}
}

/* The most in any stretch of so many days, both ends included. */
static uint64_t
most_in(uint64_t days)
{
	size_t from = 0, i, most = 0;

	for (i = 0; i < passes; i++) {
		while (passed[i] - passed[from] > days * DAY)
			from++;
		if (i - from + 1 > most)
			most = i - from + 1;
	}
	return most;
}

static struct pattern
mutated(struct pattern p)
{
	unsigned i, n = 1 + (unsigned)random_below(4);

	for (; n > 0; n--) {
		i = (unsigned)random_below(GENES);
		p.gap_s[i] = random_below(3) == 0
		    ? (uint32_t)(864 * (1 + random_below(100)))
		    : 60 + (uint32_t)random_below(86400);
		i = (unsigned)random_below(GENES);
		p.tries[i] = (uint32_t)random_below(130);
	}
	return p;
}

static void
test_figure(void)
{
	struct pattern best, p;
	uint64_t most = 0, day, days, ten, i;

	memset(&best, 0, sizeof best);
	for (i = 0; i < GENES; i++)
		best.gap_s[i] = 3600;
	for (i = 0; i < 20000; i++) {
		p = mutated(best);
		send(&p);
		day = most_in(1);
		CHECK_MSG(day <= 200, "%llu in a day", (unsigned long long)day);
		for (days = 2, ten = 0; days <= 10; days++) {
			ten = most_in(days);
			CHECK(ten <= 100 + 100 * days);
		}
		if (day + ten >= most) {
			most = day + ten;
			best = p;
		}
	}
	send(&best);
	CHECK_MSG(most_in(1) >= 195, "the search found only %llu",
	    (unsigned long long)most_in(1));
	CHECK(most_in(10) >= 1000);
}

/* Who asks every second and takes whatever there is. */
static void
test_figure_greedy(void)
{
	struct pattern p;
	unsigned i;

	for (i = 0; i < GENES; i++) {
		p.gap_s[i] = 1;
		p.tries[i] = 2;
	}
	send(&p);
	CHECK_INT(most_in(1), 200);
	CHECK_INT(most_in(9), 1000);
	p = (struct pattern){ { 86400 }, { 100 } };
	p.gap_s[1] = 0;
	send(&p);
	CHECK_INT(most_in(1), 200);
}

/* ---- as records --------------------------------------------------------- */

#define ACCOUNTS 3000u

/* Of any block and home. */
static struct tide_hash
spread(uint64_t i)
{
	static const struct tide_hash_key key = { { 0x5a, 1 } };

	return tide_tokens_key(&key, 1, &i, sizeof i);
}

/* Account i has taken i % 10 + 1 tokens of 10; one comes back in 6 minutes. */
static void
take_some(uint64_t i, uint64_t tokens, uint64_t now)
{
	struct tide_take t = { .key = spread(i),
		.allowance = allowance(10, 10, HOUR),
		.cost = tokens * 1000 };

	CHECK_INT(tide_tokens_take(&table, &t, now), TIDE_TOKENS_TAKEN);
}

static uint64_t
level_of(uint64_t i, uint64_t now)
{
	struct tide_allowance a = allowance(10, 10, HOUR);

	return tide_tokens_level(&table, spread(i), &a, now);
}

/* Half of the accounts, in a table of the first size; another half of the
 * slots was used by others that are full by now. */
static char *
save_some(uint64_t capacity, size_t *size)
{
	struct tide_err err;
	char *bytes;
	uint64_t i;

	clear(capacity);
	for (i = 0; i < ACCOUNTS; i++)
		take_some(2 * i + 1, 1, T0 - 2 * HOUR);
	for (i = 0; i < ACCOUNTS; i++)
		take_some(2 * i, i % 10 + 1, T0);
	CHECK_INT(tide_tokens_save(&table, T0, &bytes, size, &err), 0);
	return bytes;
}

static const struct carry_case {
	const char *name;
	uint64_t from, to; /* sizes */
	uint64_t later_s;
} carries[] = {
	{ "at once", 8192, 8192, 0 },
	{ "half an hour later", 8192, 8192, 1800 },
	{ "an hour later all are full", 8192, 8192, 3600 },
	{ "into a smaller table", 16384, 8192, 600 },
	{ "into a larger one", 8192, TABLE, 600 },
};

static void
test_carried(void)
{
	const struct carry_case *c;
	uint64_t i, now, want;
	unsigned loaded;
	char *bytes;
	size_t size;

	for (c = carries; c < carries + LENGTH(carries); c++) {
		bytes = save_some(c->from, &size);
		clear(c->to);
		now = 777777; /* another boot's clock */
		loaded = tide_tokens_load(
		    &table, bytes, size, now, c->later_s * 1000);
		CHECK_MSG(
		    (loaded > 0) == (c->later_s < HOUR / 1000), "%s", c->name);
		for (i = 0; i < ACCOUNTS; i++) {
			want = (9 - i % 10) * 1000 + c->later_s * 1000 / 360;
			want = want > 10000 ? 10000 : want;
			CHECK_MSG(level_of(2 * i, now) == want,
			    "%s: account %llu has %llu, not %llu", c->name,
			    (unsigned long long)i,
			    (unsigned long long)level_of(2 * i, now),
			    (unsigned long long)want);
			CHECK_INT(level_of(2 * i + 1, now), 10000);
		}
		free(bytes);
	}
}

/* Workers were faster: what they took and what was lacking add up. */
static void
test_carried_late(void)
{
	char *bytes;
	size_t size;
	uint64_t i;

	bytes = save_some(8192, &size);
	clear(8192);
	for (i = 0; i < ACCOUNTS; i++)
		take_some(2 * i, 1, T0);
	(void)tide_tokens_load(&table, bytes, size, T0, 0);
	for (i = 0; i < ACCOUNTS; i++)
		CHECK_INT(
		    level_of(2 * i, T0), i % 10 == 9 ? 0 : (8 - i % 10) * 1000);
	free(bytes);
}

static void
test_carried_hostile(void)
{
	uint64_t words[4096], i;
	unsigned round;

	clear(8192);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < LENGTH(words); i++)
			words[i] = random_below(round % 2 ? UINT64_MAX : 9000);
		for (i = 1; i < LENGTH(words); i += 8)
			words[i] = 1ull << random_below(64);
		(void)tide_tokens_load(&table, (const char *)words,
		    random_below(sizeof words), T0, random_below(UINT64_MAX));
	}
	(void)tide_tokens_load(&table, NULL, 0, T0, 0);
	CHECK(level_of(1, T0) <= 10000);
}

/* As if it had never sent; its neighbours as they were. */
static void
test_forgotten(void)
{
	struct tide_take one = { .key = account(1),
		.allowance = allowance(10, 10, HOUR),
		.cost = 4000 };
	struct tide_take two = one;
	unsigned i;

	clear(TABLE);
	two.key.high += 7; /* of the same block */
	CHECK(tide_tokens_take(&table, &one, T0) == TIDE_TOKENS_TAKEN);
	CHECK(tide_tokens_take(&table, &two, T0) == TIDE_TOKENS_TAKEN);
	CHECK(tide_tokens_known(&table, one.key));
	CHECK(tide_tokens_forget(&table, one.key));
	CHECK(!tide_tokens_known(&table, one.key));
	CHECK(!tide_tokens_forget(&table, one.key));
	CHECK_INT(tide_tokens_level(&table, two.key, &two.allowance, T0), 6000);
	for (i = 0; i < TABLE; i++)
		CHECK((atomic_load(&slots[i].tag) & ((1ull << 50) - 1)) !=
		    one.key.high);
	CHECK(tide_tokens_take(&table, &one, T0) == TIDE_TOKENS_TAKEN);
	CHECK_INT(one.left, 6000);
}

CHECK_CASES({ "single takes", test_takes },
    { "a clock stepped back years: empty, then as usual", test_recovers },
    { "retry after: then, and not before", test_retry },
    { "uneven rates: never more than beta + rho t", test_exact },
    { "a sweep mends what a clock step left", test_mended },
    { "settings out of range are refused", test_ranges },
    { "a burst of 0 lets nothing pass", test_blocked },
    { "several limits: all or none", test_all_or_none },
    { "given back, never above the burst", test_give_back },
    { "a full table lets through; full buckets are inherited",
	test_full_table },
    { "a million steps as the oracle has them, clock steps and all",
	test_oracle },
    { "the same, more accounts than slots", test_oracle_crowded },
    { "100 and 100/day: never more than 200 in a day", test_figure },
    { "the greediest sender", test_figure_greedy },
    { "saved as records, and loaded after a boot", test_carried },
    { "loaded beside workers", test_carried_late },
    { "hostile records", test_carried_hostile },
    { "forgotten, and as new", test_forgotten })
