/*
 * Strip: addresses taken out of a text, against one that is too simple to be
 * wrong; and how much work that is, counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../daemon/lib/reputation/strip.h"
#include "check.h"
#include "fixture.h"

#define TEXT_MOST 400000u

static struct strip strip;
static char out[TEXT_MOST];
static size_t length;

static void
emit(void *arg, const char *text, size_t n)
{
	(void)arg;
	CHECK(length + n <= sizeof out);
	memcpy(out + length, text, n);
	length += n;
}

static unsigned
any(unsigned n)
{
	static uint64_t state = 1;

	return (unsigned)(fixture_random(&state) % n);
}

static void
begin(void)
{
	strip.emit = emit;
	length = 0;
	tide_strip_begin(&strip);
}

static void
take(const char *text, size_t n, size_t piece)
{
	size_t i;

	length = 0;
	for (i = 0; i < n; i += piece)
		tide_strip_text(
		    &strip, text + i, piece < n - i ? piece : n - i);
	tide_strip_end(&strip);
}

/* The leftmost address goes, the longest of those that begin there. */
static size_t
simply(const char *text, size_t n, char *to)
{
	size_t i = 0, used = 0, longest, k;

	while (i < n) {
		longest = 0;
		for (k = 0; k < strip.forms; k++)
			if (strip.form[k].length <= n - i &&
			    strip.form[k].length > longest &&
			    memcmp(strip.form[k].text, text + i,
				strip.form[k].length) == 0)
				longest = strip.form[k].length;
		if (longest == 0)
			to[used++] = text[i++];
		i += longest;
	}
	return used;
}

/* Of two letters, so that addresses overlap and hold each other. */
static void
as_simply(void)
{
	static const size_t pieces[] = { 1, 7, 4096, 20000 };
	static char text[20000], want[20000];
	char address[64];
	unsigned round, i, k;
	size_t used;

	for (round = 0; round < 40; round++) {
		begin();
		for (i = 0; i < 1 + round % STRIP_RECIPIENTS; i++) {
			unsigned local = 2 + any(20);

			for (k = 0; k < local; k++)
				address[k] = (char)('a' + any(2));
			(void)snprintf(address + local, sizeof address - local,
			    "@%s", any(2) == 0 ? "aabb" : "bbab");
			tide_strip_recipient(&strip, address);
		}
		for (i = 0; i < sizeof text; i++)
			text[i] = (char)('a' + any(2));
		for (i = 0; i < 4; i++) {
			take(text, sizeof text, pieces[i]);
			used = simply(text, sizeof text, want);
			CHECK_MSG(
			    used == length && memcmp(out, want, used) == 0,
			    "round %u, pieces of %zu: %zu, not %zu", round,
			    pieces[i], length, used);
		}
	}
}

/* What people can do against us: who shares most with the text. */
static const struct work_case {
	const char *name;
	const char *address; /* with a %u for the number, or the same for all */
	const char *text;    /* again and again */
} works[] = {
	{ "ordinary", "user%u@example.org", "thequickbrownfoxjumps" },
	{ "Arabic, and U+FDFA taken apart", "صلى%u@الله.example",
	    "صلىاللهعليهوسلم" },
	{ "one letter, but for the last", "aaaaaaaaaaaaaaaa%u@aaaaaaaa.aa",
	    "a" },
	{ "a short one within a long one",
	    "abcdefabcdefabcdefabcdefabcdefabcdefabcdef%u@abc.def", "abcdef" },
	{ "first letters of everybody's", "x%u@y.example", "x1x2x3x4x5x6" },
};

static void
work_is_the_text_s(void)
{
	static char text[TEXT_MOST];
	size_t i, n, k, forms;
	char address[256];

	for (i = 0; i < sizeof works / sizeof *works; i++) {
		n = strlen(works[i].text);
		for (k = 0; k + n <= sizeof text; k += n)
			memcpy(text + k, works[i].text, n);
		begin();
		for (n = 0; n < 500; n++) {
			(void)snprintf(address, sizeof address,
			    works[i].address, (unsigned)n);
			tide_strip_recipient(&strip, address);
		}
		for (forms = 0, n = 0; n < strip.forms; n++)
			forms += strip.form[n].length;
		take(text, k, 10);
		/* two steps a byte, a tenth of them again; and to build it */
		CHECK_MSG(strip.work <= 3 * (k + forms),
		    "%s: %llu steps for %zu bytes", works[i].name,
		    (unsigned long long)strip.work, k);
	}
}

CHECK_CASES({ "as a simple search does it", as_simply },
    { "work is the text's, not the recipients'", work_is_the_text_s })
