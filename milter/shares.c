/*
 * shares - see shares.h.
 */
#include "shares.h"

/* What is kept for whom nothing is set. */
static uint32_t
own_choice(const struct share *s, unsigned n, uint32_t max_workers)
{
	uint64_t set = 0;
	uint32_t left, unset = 0, each;
	unsigned i;

	for (i = 0; i < n; i++) {
		set += s[i].reserved;
		unset += s[i].reserved == 0;
	}
	if (unset == 0 || set >= max_workers)
		return 0;
	left = max_workers - (uint32_t)set;
	each = left / 4 / unset;
	return each == 0 && left >= 2 * unset ? 1 : each;
}

/* Kept for all but this one. */
static uint32_t
kept_from(const struct share *s, unsigned n, unsigned which)
{
	uint32_t sum = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		if (i != which)
			sum += s[i].reserved;
	return sum;
}

void
shares_plan(struct share *s, unsigned n, uint32_t max_workers)
{
	uint32_t each = own_choice(s, n, max_workers), most;
	unsigned i;

	for (i = 0; i < n; i++)
		if (s[i].reserved == 0)
			s[i].reserved = each;
	for (i = 0; i < n; i++) {
		most = kept_from(s, n, i);
		/* nobody is left without any, whatever the settings say */
		most = most < max_workers ? max_workers - most : 1;
		if (s[i].most == 0 || s[i].most > most)
			s[i].most = most;
	}
}

bool
share_has_room(const struct share *s, unsigned n, unsigned which, uint32_t room)
{
	uint32_t owed = 0;
	unsigned i;

	if (room == 0 || s[which].busy >= s[which].most)
		return false;
	if (s[which].busy < s[which].reserved)
		return true;
	for (i = 0; i < n; i++)
		if (i != which && s[i].busy < s[i].reserved)
			owed += s[i].reserved - s[i].busy;
	return room > owed;
}
