/*
 * t_tokens_steps - the tokens' protocol, interleaved on purpose.
 *
 * A few workers run as coroutines; between any two of their atomic steps
 * another may go on, and one may be killed there.  Many random schedules on
 * few slots.  Since only one runs at a time the table can be judged exactly:
 * after every step, no account in two open slots; at the end, charged is what
 * was taken, but for at most one take of each that was killed.
 *
 * takes: 7s
 */
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "check.h"

static void step(void);
#define TIDE_TOKENS_STEP() step()
#include "../../daemon/lib/flow/tokens.c"
#include "../../daemon/lib/flow/tokens_table.c"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define WORKERS 3u
#define SLOTS 64u
#define NAMES 6u /* accounts in play */
#define BURST 8u
#define EARLY 5000000u
#define LATE (EARLY + 10000000u) /* what was taken early is full again */

static _Alignas(64) struct tide_tokens_slot slots[SLOTS];
static const struct tide_tokens table = { slots, SLOTS };
static struct tide_allowance allowance;

static struct worker {
	ucontext_t context;
	char stack[65536];
	enum { IDLE, RUNNING, DONE, KILLED } state;
	unsigned who, takes;
} worker[WORKERS];

static ucontext_t home;
static struct worker *running;
static uint64_t taken[NAMES], uncounted;
static uint64_t noise = 88172645463325252ull;

static unsigned
draw(unsigned n)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return (unsigned)((noise >> 20) % n);
}

static void
step(void)
{
	if (running != NULL)
		(void)swapcontext(&running->context, &home);
}

/* All of one block, looked for from its first slot on. */
static struct tide_hash
account(unsigned who)
{
	return (struct tide_hash){ .low = 0, .high = who + 1 };
}

static enum tide_tokens_result
take_one(unsigned who, uint64_t now)
{
	struct tide_take t = {
		.key = account(who), .allowance = allowance, .cost = TIDE_TOKEN
	};

	return tide_tokens_take(&table, &t, now);
}

/* ---- workers ------------------------------------------------------------ */

#define SWEEPS NAMES /* who: the collector */

static void
work(void)
{
	struct worker *me = running;
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };

	for (; me->takes > 0; me->takes--) {
		if (me->who == SWEEPS)
			tide_tokens_sweep(&table, 0, 6, LATE, 10000, &sum);
		else if (take_one(me->who, LATE) == TIDE_TOKENS_TAKEN)
			taken[me->who]++;
		else
			uncounted++;
	}
	me->state = DONE;
	running = NULL;
	(void)swapcontext(&me->context, &home);
}

static void
start(struct worker *w)
{
	w->state = RUNNING;
	w->who = draw(4) == 0 ? SWEEPS : draw(3);
	w->takes = 1 + draw(2);
	(void)getcontext(&w->context);
	w->context.uc_stack.ss_sp = w->stack;
	w->context.uc_stack.ss_size = sizeof w->stack;
	w->context.uc_link = NULL;
	makecontext(&w->context, work, 0);
}

/* ---- judging ------------------------------------------------------------ */

static bool
stands_open(const struct tide_tokens_slot *s, unsigned who)
{
	enum condition c = condition_of(s->tag, s->word);

	return state_of(s->tag) == LIVE && is_of(s->tag, who + 1) &&
	    (c == OPEN || c == FRESH);
}

static void
judge_step(void)
{
	unsigned who, i, n;

	for (who = 0; who < NAMES; who++) {
		for (n = i = 0; i < 16; i++)
			n += stands_open(&slots[i], who);
		CHECK_MSG(n <= 1, "account %u stands in %u slots", who, n);
	}
}

static void
judge_end(void)
{
	uint64_t charged, killed[NAMES + 1] = { 0 };
	unsigned i;

	for (i = 0; i < WORKERS; i++)
		killed[worker[i].who] += worker[i].state == KILLED;
	for (i = 0; i < 3; i++) {
		charged = BURST -
		    tide_tokens_level(&table, account(i), &allowance, LATE) /
			TIDE_TOKEN;
		CHECK_MSG(
		    charged >= taken[i] && charged <= taken[i] + killed[i],
		    "account %u took %u, was charged %u", i, (unsigned)taken[i],
		    (unsigned)charged);
	}
	CHECK_INT(uncounted, 0);
}

/* ---- schedules ---------------------------------------------------------- */

static bool
go_on(struct worker *w)
{
	running = w;
	(void)swapcontext(&home, &w->context);
	running = NULL;
	judge_step();
	return w->state == RUNNING;
}

/* A worker was killed after so many steps. */
static void
leave_behind(unsigned steps)
{
	start(&worker[0]);
	worker[0].who = 3 + draw(NAMES - 3);
	while (steps-- > 0 && go_on(&worker[0]))
		;
	taken[worker[0].who] = 0;
}

/* Slots that are full again, free, never used, or left, as it falls. */
static void
lay_out(void)
{
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };
	unsigned i, n = draw(5);

	memset((void *)slots, 0, sizeof slots);
	memset(taken, 0, sizeof taken);
	uncounted = 0;
	for (i = 0; i < n; i++)
		if (draw(3) == 0)
			leave_behind(draw(10));
		else
			(void)take_one(draw(NAMES), EARLY);
	if (draw(2))
		tide_tokens_sweep(&table, 0, draw(4), LATE, 10000, &sum);
}

/* Mostly the same worker goes on for a while: few switches find most. */
static void
run_schedule(unsigned patience, bool deadly)
{
	unsigned i, left = WORKERS;

	lay_out();
	for (i = 0; i < WORKERS; i++)
		start(&worker[i]);
	for (i = draw(WORKERS); left > 0;) {
		if (worker[i].state != RUNNING || draw(patience) == 0)
			i = draw(WORKERS);
		if (worker[i].state != RUNNING)
			continue;
		if (deadly && draw(30) == 0)
			worker[i].state = KILLED;
		else if (go_on(&worker[i]))
			continue;
		left--;
	}
	judge_end();
}

#define SCHEDULES 150000u

#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN true
#else
#define UNDER_TSAN false
#endif

static void
set_up(void)
{
	struct tide_rate rate = { 1, 1000 };
	struct tide_err err;

	if (UNDER_TSAN)
		check_skip("TSan knows no coroutines");
	CHECK(tide_allowance_make(&allowance, BURST, rate, &err) == 0);
}

static void
run_schedules(bool deadly)
{
	unsigned n;

	set_up();
	for (n = 0; n < SCHEDULES; n++)
		run_schedule(1 + n % 12, deadly);
}

static void
test_schedules(void)
{
	run_schedules(false);
}

static void
test_deadly(void)
{
	run_schedules(true);
}

/* Killed with its claim up, again and again, in one slot. */
static void
test_failed_claims(void)
{
	struct tide_tokens_sweep sum = { 0, 0, 0, 0 };
	unsigned n;

	set_up();
	lay_out();
	memset((void *)slots, 0, sizeof slots);
	for (n = 0; n < 3000; n++) {
		start(&worker[0]);
		worker[0].who = 0;
		while (state_of(slots[0].tag) != CLAIM)
			CHECK(go_on(&worker[0]));
		tide_tokens_sweep(&table, 0, SLOTS, LATE, 10000, &sum);
		CHECK_INT(sum.cleared, n + 1);
	}
	for (n = 0; n < BURST; n++)
		CHECK(take_one(0, LATE) == TIDE_TOKENS_TAKEN);
	CHECK(take_one(0, LATE) == TIDE_TOKENS_SHORT);
	CHECK(stands_open(&slots[0], 0));
}

CHECK_CASES({ "interleaved in every way", test_schedules },
    { "interleaved, and killed", test_deadly },
    { "a slot of three thousand failed claims", test_failed_claims })
