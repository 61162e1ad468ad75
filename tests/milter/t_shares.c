/*
 * t_shares - who may have one more worker.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../milter/shares.h"
#include "check.h"

#define MOST 4

/* ---- planning ---------------------------------------------------------- */

static const struct plan_case {
	const char *name;
	uint32_t workers;
	unsigned n;
	uint32_t reserved[MOST], most[MOST]; /* as set; 0: not */
	uint32_t want_reserved[MOST], want_most[MOST];
} plans[] = {
	{ "two profiles, nothing set", 256, 2, { 0 }, { 0 }, { 32, 32 },
	    { 224, 224 } },
	{ "one has all", 256, 1, { 0 }, { 0 }, { 64 }, { 256 } },
	{ "few workers: one each", 4, 2, { 0 }, { 0 }, { 1, 1 }, { 3, 3 } },
	{ "too few to keep any", 3, 2, { 0 }, { 0 }, { 0, 0 }, { 3, 3 } },
	{ "a single one", 1, 2, { 0 }, { 0 }, { 0, 0 }, { 1, 1 } },
	{ "one set, of the rest a quarter", 100, 3, { 60 }, { 0 }, { 60, 5, 5 },
	    { 90, 35, 35 } },
	{ "a most of its own", 100, 2, { 10, 10 }, { 0, 20 }, { 10, 10 },
	    { 90, 20 } },
	{ "a most that is too much", 100, 2, { 10, 10 }, { 100, 95 },
	    { 10, 10 }, { 90, 90 } },
	{ "more kept than there are: nobody goes without", 10, 2, { 10, 10 },
	    { 0 }, { 10, 10 }, { 1, 1 } },
};

static void
plan(void)
{
	size_t i;
	unsigned k;

	for (i = 0; i < sizeof plans / sizeof *plans; i++) {
		const struct plan_case *p = &plans[i];
		struct share s[MOST] = { 0 };

		for (k = 0; k < p->n; k++)
			s[k] = (struct share){ .reserved = p->reserved[k],
				.most = p->most[k] };
		shares_plan(s, p->n, p->workers);
		for (k = 0; k < p->n; k++)
			CHECK_MSG(s[k].reserved == p->want_reserved[k] &&
				s[k].most == p->want_most[k],
			    "%s: %u has %u kept, %u at most", p->name, k,
			    s[k].reserved, s[k].most);
	}
}

/* ---- asking ------------------------------------------------------------ */

/* Three listeners, 2 of 12 workers kept for each. */
static const struct room_case {
	const char *name;
	uint32_t busy[3];
	unsigned which;
	bool want;
} rooms[] = {
	{ "the first of all", { 0, 0, 0 }, 0, true },
	{ "up to what is kept for the others", { 7, 0, 0 }, 0, true },
	{ "not beyond", { 8, 0, 0 }, 0, false },
	{ "the others then still have theirs", { 8, 0, 0 }, 1, true },
	{ "two that fill up leave the third its own", { 5, 5, 0 }, 0, false },
	{ "which it gets", { 5, 5, 0 }, 2, true },
	{ "to the last one", { 5, 5, 1 }, 2, true },
	{ "and no more", { 5, 5, 2 }, 2, false },
	{ "what is kept and in use is owed no more", { 7, 2, 2 }, 0, true },
};

static void
room(void)
{
	struct share s[3];
	uint32_t used;
	size_t i;
	unsigned k;

	for (i = 0; i < sizeof rooms / sizeof *rooms; i++) {
		used = 0;
		for (k = 0; k < 3; k++) {
			s[k] = (struct share){ .reserved = 2 };
			used += rooms[i].busy[k];
		}
		shares_plan(s, 3, 12);
		for (k = 0; k < 3; k++)
			s[k].busy = rooms[i].busy[k];
		CHECK_MSG(share_has_room(s, 3, rooms[i].which, 12 - used) ==
			rooms[i].want,
		    "%s", rooms[i].name);
	}
}

/* Whatever comes and goes: who has less than is kept for it gets one. */
static void
kept(void)
{
	struct share s[MOST] = { { .reserved = 3 }, { 0 }, { .most = 4 } };
	uint64_t state = 11;
	uint32_t room_left = 20;
	unsigned i, k;

	shares_plan(s, MOST, 20);
	for (i = 0; i < 100000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		k = (unsigned)(state >> 40) % MOST;
		if ((state >> 60) < 5 && s[k].busy > 0) {
			s[k].busy--;
			room_left++;
		} else if (share_has_room(s, MOST, k, room_left)) {
			s[k].busy++;
			room_left--;
		} else {
			CHECK(s[k].busy >= s[k].reserved);
		}
		CHECK(s[k].busy <= s[k].most && room_left <= 20);
	}
}

CHECK_CASES({ "shares of max_workers: as set, or a quarter is kept", plan },
    { "one more: never of what is kept for others", room },
    { "whatever comes and goes, what is kept can be had", kept })
