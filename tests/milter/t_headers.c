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

CHECK_CASES({ "rules and headers", matches })
