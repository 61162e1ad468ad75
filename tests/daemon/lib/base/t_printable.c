/*
 * What a terminal may be shown.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/printable.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct {
	const char *text, *disarmed, *escaped;
} cases[] = {
	{ "", "", "" },
	{ "plain@d.org|192.0.2.0/24", "plain@d.org|192.0.2.0/24",
	    "plain@d.org|192.0.2.0/24" },
	{ "m\xc3\xbcller", "m\xc3\xbcller", "m\xc3\xbcller" },
	{ "\xf0\x9f\x93\xac", "\xf0\x9f\x93\xac", "\xf0\x9f\x93\xac" },
	{ "\033[2J\a\177", "?[2J??", "\\x1b[2J\\x07\\x7f" },
	{ "a\tb", "a?b", "a\tb" },
	{ "\xc2\x9b"
	  "2J",
	    "??2J", "\\u009b2J" },
	{ "a\x9b"
	  "2J",
	    "a?2J", "a\\x9b2J" },
	{ "a\xe2\x80\xae", "a???", "a\\u202e" },
	{ "a\xe2\x81\xa6z", "a???z", "a\\u2066z" },
	{ "\xf3\xa0\x80\xa0", "????", "\\ue0020" },
	{ "cut\xe2\x80", "cut??", "cut\\xe2\\x80" },
	{ "\xc0\x9b", "??", "\\xc0\\x9b" },	      /* too long a form */
	{ "\xed\xa0\x80", "???", "\\xed\\xa0\\x80" }, /* a surrogate */
};

static void
disarmed(void)
{
	char text[64];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		(void)snprintf(text, sizeof text, "%s", cases[i].text);
		tide_printable_disarm(text);
		CHECK_MSG(strcmp(text, cases[i].disarmed) == 0,
		    "row %zu is «%s», not «%s»", i, text, cases[i].disarmed);
	}
}

static void
escaped(void)
{
	char text[64];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		(void)tide_printable_escape(text, sizeof text, cases[i].text);
		CHECK_MSG(strcmp(text, cases[i].escaped) == 0,
		    "row %zu is «%s», not «%s»", i, text, cases[i].escaped);
	}
}

/* At every length: ended, and no piece of an escape. */
static void
no_room(void)
{
	static const char want[] = "a\\u202eb";
	char text[16];
	size_t size, n;

	for (size = 1; size <= sizeof want; size++) {
		memset(text, 'x', sizeof text);
		(void)tide_printable_escape(text, size,
		    "a\xe2\x80\xae"
		    "b");
		n = size > 8 ? 8 : size > 7 ? 7 : size > 1 ? 1 : 0;
		CHECK_INT(strlen(text), n);
		CHECK(memcmp(text, want, n) == 0 && text[size] == 'x');
	}
}

CHECK_CASES({ "disarmed in place", disarmed }, { "escaped", escaped },
    { "cut between characters", no_room })
