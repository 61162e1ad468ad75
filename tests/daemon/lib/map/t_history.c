/*
 * t_history - what was added each second and minute, whoever was away.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "tidemark/map/history.h"
#include "tidemark/shared/counters.h"

#define LAST (TIDE_HISTORY_SPANS - 1)
#define T0 (1000 * 1000ull) /* second 1000, in the middle of a minute */

static struct tide_history h;
static struct tide_counters c;
static double got[TIDE_HISTORY_SPANS];

static void
set_up(void)
{
	memset((void *)&h, 0, sizeof h);
	memset((void *)&c, 0, sizeof c);
}

static void
pass(uint64_t messages)
{
	tide_count_profile(&c, 1, TIDE_COUNT_ACCEPTED, messages);
}

static void
ask(enum tide_history_unit unit, uint64_t ms)
{
	tide_history_series(&h, unit, 1, TIDE_HISTORY_ACCEPTED, ms, got);
}

static void
nothing_is_known_at_first(void)
{
	unsigned i;

	set_up();
	ask(TIDE_HISTORY_SECONDS, T0);
	for (i = 0; i < TIDE_HISTORY_SPANS; i++)
		CHECK(isnan(got[i]));
	tide_history_note(&h, &c, T0);
	ask(TIDE_HISTORY_SECONDS, T0);
	CHECK_MSG(isnan(got[LAST]), "one row is no difference");
}

static void
each_second_has_its_own(void)
{
	unsigned s;

	set_up();
	for (s = 0; s < 200; s++) {
		tide_history_note(&h, &c, T0 + s * 1000);
		tide_history_note(&h, &c, T0 + s * 1000 + 400);
		pass(s);
		tide_history_note(&h, &c, T0 + s * 1000 + 900);
	}
	tide_history_note(&h, &c, T0 + 200 * 1000);
	ask(TIDE_HISTORY_SECONDS, T0 + 200 * 1000 + 10);
	for (s = 0; s < TIDE_HISTORY_SPANS; s++)
		CHECK_INT(got[s], 200 - TIDE_HISTORY_SPANS + s);
}

static void
minutes_add_up(void)
{
	uint64_t s;

	set_up();
	for (s = 0; s <= 3600 * 2; s++) {
		tide_history_note(&h, &c, s * 1000);
		pass(s / 60 % 7);
	}
	ask(TIDE_HISTORY_MINUTES, 3600 * 2 * 1000);
	for (s = 0; s < TIDE_HISTORY_SPANS; s++)
		CHECK_INT(got[s], 60 * ((60 + s) % 7));
}

static void
who_was_away_leaves_an_average(void)
{
	set_up();
	tide_history_note(&h, &c, T0);
	pass(4);
	tide_history_note(&h, &c, T0 + 1000);
	pass(30); /* seconds 2 and 3 are not noted */
	tide_history_note(&h, &c, T0 + 4000);
	ask(TIDE_HISTORY_SECONDS, T0 + 4000);
	CHECK(isnan(got[LAST - 4]));
	CHECK_INT(got[LAST - 3], 4);
	CHECK_INT(got[LAST - 2], 10);
	CHECK_INT(got[LAST - 1], 10);
	CHECK_INT(got[LAST], 10);
}

static void
one_that_is_silent_now_is_unknown(void)
{
	set_up();
	tide_history_note(&h, &c, T0);
	pass(4);
	tide_history_note(&h, &c, T0 + 1000);
	ask(TIDE_HISTORY_SECONDS, T0 + 3000);
	CHECK_INT(got[LAST - 2], 4);
	CHECK(isnan(got[LAST - 1]) && isnan(got[LAST]));
}

static void
old_rows_are_not_taken_for_new(void)
{
	unsigned i;

	set_up();
	tide_history_note(&h, &c, T0);
	tide_history_note(&h, &c, T0 + 1000);
	ask(TIDE_HISTORY_SECONDS, T0 + TIDE_HISTORY_ROWS * 1000);
	for (i = 0; i < TIDE_HISTORY_SPANS; i++)
		CHECK(isnan(got[i]));
}

static void
a_counter_may_pass_four_billion(void)
{
	set_up();
	pass(0xfffffff0u);
	tide_history_note(&h, &c, T0);
	pass(0x20);
	tide_history_note(&h, &c, T0 + 1000);
	ask(TIDE_HISTORY_SECONDS, T0 + 1000);
	CHECK_INT(got[LAST], 0x20);
}

static void
soon_after_the_start_of_the_machine(void)
{
	set_up();
	tide_history_note(&h, &c, 0);
	pass(3);
	tide_history_note(&h, &c, 1000);
	ask(TIDE_HISTORY_SECONDS, 1500);
	CHECK_INT(got[LAST], 3);
	CHECK(isnan(got[LAST - 1]));
}

CHECK_CASES({ "nothing is known at first", nothing_is_known_at_first },
    { "each of the last 60 seconds has its own", each_second_has_its_own },
    { "so has each of the last 60 minutes", minutes_add_up },
    { "a time without notes shows its average",
	who_was_away_leaves_an_average },
    { "while nobody notes, nothing is known",
	one_that_is_silent_now_is_unknown },
    { "rows of an earlier round are not taken for new",
	old_rows_are_not_taken_for_new },
    { "a counter may pass 4 billion", a_counter_may_pass_four_billion },
    { "it works in the machine's first seconds",
	soon_after_the_start_of_the_machine })
