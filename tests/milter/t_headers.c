/*
 * Rules for headers: which header of a filter before us says "blocked".
 */
#include "../../milter/headers.h"
#include "check.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct header_case {
	const char *rules, *name, *value;
	bool want;
} cases[] = {
	{ "X-Spam-Flag:YES", "X-Spam-Flag", "YES", true },
	{ "X-Spam-Flag:YES", "x-spam-flag", "yes", true },
	{ "X-Spam-Flag:YES", "X-Spam-Flag", " YES", true },
	{ "X-Spam-Flag:YES", "X-Spam-Flag", "\r\n\tYES", true },
	{ "X-Spam-Flag:YES", "X-Spam-Flag", "YES, score=9", true },
	{ "X-Spam-Flag:YES", "X-Spam-Flag", "NO", false },
	{ "X-Spam-Flag:YES", "X-Spam-Flag", "YE", false },
	{ "X-Spam-Flag:YES", "X-Spam-Flag", "", false },
	{ "X-Spam-Flag:YES", "X-Spam-Flags", "YES", false },
	{ "X-Spam-Flag:YES", "X-Spam-Fla", "YES", false },
	{ "X-Spam-Flag:YES", "", "", false },
	{ "", "X-Spam-Flag", "YES", false },
	{ "A:1 B:2", "B", "2", true },
	{ "A:1 B:2", "A", "2", false },
	{ "A:1 A:2", "A", "2", true },
	{ "A:b:c", "A", "b:cd", true }, /* the first colon parts it */
	{ "nocolon A:1", "nocolon", "1", false },
};

static void
matches(void)
{
	for (size_t i = 0; i < LENGTH(cases); i++)
		CHECK_MSG(header_matches(cases[i].rules, cases[i].name,
			      cases[i].value) == cases[i].want,
		    "%s: %s: %s", cases[i].rules, cases[i].name,
		    cases[i].value);
}

static const struct mark_case {
	const char *mark, *value;
	bool want;
} marks[] = {
	{ "k7Qf2mP9", " blocked k7Qf2mP9", true },
	{ "k7Qf2mP9", "k7Qf2mP9", true },
	{ "k7Qf2mP9", "YES; mark=k7Qf2mP9, score=9", true },
	{ "k7Qf2mP9", "xk7Qf2mP9 k7Qf2mP9", true },
	{ "k7Qf2mP9", "YES", false },
	{ "k7Qf2mP9", "k7qf2mp9", false },
	{ "k7Qf2mP9", "k7Qf2mP9x", false },
	{ "k7Qf2mP9", "xk7Qf2mP9", false },
	{ "k7Qf2mP9", "k7Qf2mP", false },
	{ "", "YES", false },
	{ "", "", false },
};

static void
has_mark(void)
{
	for (size_t i = 0; i < LENGTH(marks); i++)
		CHECK_MSG(header_has_mark(marks[i].mark, marks[i].value) ==
			marks[i].want,
		    "%s: %s", marks[i].mark, marks[i].value);
}

CHECK_CASES({ "rules and headers", matches },
    { "the mark, whole and letter for letter", has_mark })
