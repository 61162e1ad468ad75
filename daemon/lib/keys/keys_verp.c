/*
 * keys_verp - bounce addresses: one list, one key.
 *
 * A list gives each recipient, and often each message, a return path of its
 * own.  A run to a million of them has to count as one sender:
 *
 *   list-return-12345-user=example.org      list-return-*
 *   list-12345-user=example.org             list-#-*
 *   user=example.org                        *
 *   bounce-12345-9f3a02c4                   bounce-#-#
 *
 * Where the recipient begins is not marked, and names have hyphens, digits
 * and dots of their own.  So a recipient begins after the first word that
 * says "bounce" or is a number, and at the front if there is none: to take
 * two lists for one is better than to take one for a million.
 */
#include "keys_priv.h"
#include "tidemark/keys/keys.h"

#define SERIAL 3	 /* so many digits are no name but a number */
#define SERIAL_HEX 4	 /* a word of hex digits, one of them decimal */
#define SERIAL_MIXED 8	 /* a word that goes to and fro between them ... */
#define SERIAL_CHANGES 3 /* ... so often */
#define MACHINE 16	 /* so many hex digits: the rest is no name either */

/* A word of a local part, between separators. */
struct word {
	const char *s;
	size_t n;
};

static bool
is_separator(char c)
{
	return c != '\0' && strchr("-_.+=/", c) != NULL;
}

/* The word that begins at an offset, if only an empty one. */
static struct word
word_at(const struct keytext *t, size_t at)
{
	struct word w = { t->bytes + at, 0 };

	while (at + w.n < t->length && !is_separator(w.s[w.n]))
		w.n++;
	return w;
}

static bool
says_bounce(struct word w)
{
	static const char *const words[] = { "bounce", "bounces", "bounced",
		"bouncer", "return", "returns", "errors", "verp", "fbl",
		"ndr" };
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == w.n &&
		    strncasecmp(words[i], w.s, w.n) == 0)
			return true;
	return false;
}

static size_t
digits(struct word w)
{
	size_t i, n = 0;

	for (i = 0; i < w.n; i++)
		n += tide_key_is_digit(w.s[i]);
	return n;
}

static size_t
changes(struct word w)
{
	size_t i, n = 0;

	for (i = 1; i < w.n; i++)
		n += tide_key_is_digit(w.s[i]) != tide_key_is_digit(w.s[i - 1]);
	return n;
}

static bool
is_number(struct word w)
{
	return w.n >= SERIAL && digits(w) == w.n;
}

static bool
is_machine(struct word w)
{
	return w.n >= MACHINE && tide_key_is_hex(w.s, w.n) && digits(w) > 0;
}

static bool
is_serial(struct word w, bool machine)
{
	if (w.n >= SERIAL_HEX && tide_key_is_hex(w.s, w.n) &&
	    (machine || digits(w) > 0))
		return true;
	return w.n >= SERIAL_MIXED && changes(w) >= SERIAL_CHANGES;
}

static bool
is_host(const char *s, const char *end, bool dotted)
{
	bool dot = false;

	if (s == end)
		return false;
	for (; s < end; s++) {
		if (*s == '.')
			dot = true;
		else if (strchr("!#$%&'*+/?^`{|}~", *s) != NULL)
			return false;
	}
	return dot || !dotted;
}

/* Replace n bytes by the one. */
static void
put(struct keytext *t, size_t at, size_t n, char c)
{
	t->bytes[at] = c;
	tide_keytext_cut(t, at + 1, n - 1);
}

/* The first telling word before the =; an empty one if there is none. */
static struct word
find_anchor(const struct keytext *t, size_t equals)
{
	struct word w;
	size_t at;

	for (at = 0; at < equals; at += w.n + 1) {
		w = word_at(t, at);
		if (at + w.n < equals && (says_bounce(w) || is_number(w)))
			return w;
	}
	return (struct word){ t->bytes, 0 };
}

void
tide_key_verp_recipient(struct keytext *t)
{
	const char *end = t->bytes + t->length;
	const char *first = memchr(t->bytes, '=', t->length);
	const char *last = memrchr(t->bytes, '=', t->length);
	struct word anchor;
	size_t at, start;

	if (first == NULL || first == t->bytes)
		return;
	anchor = find_anchor(t, (size_t)(first - t->bytes));
	if (!is_host(last + 1, end, anchor.n == 0))
		return;
	at = (size_t)(anchor.s - t->bytes);
	start = anchor.n == 0 ? 0 : at + anchor.n + 1;
	put(t, start, t->length - start, '*');
	if (is_number(anchor))
		put(t, at, anchor.n, '#');
}

/* Runs of digits in a word. */
static void
number_runs(struct keytext *t, size_t at, size_t end)
{
	size_t run;

	for (; at < end; at++) {
		for (run = 0; at + run < end; run++)
			if (!tide_key_is_digit(t->bytes[at + run]))
				break;
		if (run >= SERIAL) {
			put(t, at, run, '#');
			end -= run - 1;
		}
	}
}

/* Does it look like a bounce address, and is it made by a machine? */
static bool
is_bounce(const struct keytext *t, bool *machine)
{
	struct word w;
	size_t at;
	bool bounce = false;

	*machine = false;
	for (at = 0; at < t->length; at += w.n + 1) {
		w = word_at(t, at);
		bounce = bounce || says_bounce(w);
		*machine = *machine || is_machine(w);
	}
	return bounce || *machine;
}

void
tide_key_verp_serials(struct keytext *t, enum tide_verp which)
{
	struct word w;
	size_t at;
	bool machine;

	if (!is_bounce(t, &machine)) {
		if (which == TIDE_VERP_ALL)
			number_runs(t, 0, t->length);
		return;
	}
	for (at = 0; at < t->length; at += word_at(t, at).n + 1) {
		w = word_at(t, at);
		if (is_serial(w, machine))
			put(t, at, w.n, '#');
		else
			number_runs(t, at, at + w.n);
	}
}
