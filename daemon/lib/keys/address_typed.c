/*
 * address typed - what a person asks for, on a command line or on the page.
 *
 * A filter says "certainly not" to whatever it never saw, so to whatever is no
 * address; a postmaster takes that for an answer.  So only what can have stood
 * in an envelope is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/address.h"

struct typed {
	const char *text; /* without blanks around it */
	size_t n;
	bool literal; /* it stands alone in brackets: as in an envelope */
};

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
trim(struct typed *t)
{
	for (; t->n > 0 && is_blank(*t->text); t->n--)
		t->text++;
	while (t->n > 0 && is_blank(t->text[t->n - 1]))
		t->n--;
}

/* "News <a@b>" is a@b; "<a@b>" as well, word for word. */
static void
unwrap(struct typed *t)
{
	const char *open = memrchr(t->text, '<', t->n);

	if (open == NULL || t->text[t->n - 1] != '>')
		return;
	t->literal = open == t->text;
	t->n -= (size_t)(open - t->text) + 2;
	t->text = open + 1;
	trim(t);
}

/*
 * What comes along unseen when an address is copied off a page, and the wide @:
 * no mail server takes any of it for what it looks like.
 */
static bool
has_unseen(const char *s, size_t n)
{
	static const char override[] = { '\xe2', '\x80', '\xae', '\0' };
	static const char *const unseen[] = { "\xc2\xa0", "\xc2\xad",
		"\xe2\x80\x8b", override, "\xe2\x81\xa0", "\xef\xbb\xbf",
		"\xef\xbc\xa0" };
	size_t i;

	for (i = 0; i < sizeof unseen / sizeof *unseen; i++)
		if (memmem(s, n, unseen[i], strlen(unseen[i])) != NULL)
			return true;
	return false;
}

/* ---- domains ----------------------------------------------------------- */

static bool
is_domain_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '_' ||
	    (unsigned char)c >= 0x80;
}

/* Names with dots between them, and maybe one at the end; or a literal. */
static bool
is_domain(const char *s, size_t n)
{
	size_t i;

	if (n > 2 && s[0] == '[' && s[n - 1] == ']')
		return memchr(s + 1, '[', n - 1) == NULL &&
		    memchr(s, ' ', n) == NULL;
	if (n > 1 && s[n - 1] == '.')
		n--;
	for (i = 0; i < n; i++)
		if (!is_domain_byte(s[i]) &&
		    (s[i] != '.' || i == 0 || i == n - 1 || s[i - 1] == '.'))
			return false;
	return n > 0;
}

/* Of two names or more, the last of which is no number: no client. */
static bool
is_bare_domain(const char *s, size_t n)
{
	const char *dot;

	if (n > 0 && s[n - 1] == '.')
		n--;
	dot = memrchr(s, '.', n);
	if (dot == NULL || !is_domain(s, n))
		return false;
	return strspn(dot + 1, "0123456789") < n - (size_t)(dot + 1 - s);
}

/* ---- local parts ------------------------------------------------------- */

static bool
is_quoted(const char *s, size_t n)
{
	size_t i;

	if (n < 2 || s[0] != '"' || s[n - 1] != '"')
		return false;
	for (i = 1; i < n - 1; i++) {
		if (s[i] == '"')
			return false;
		if (s[i] == '\\' && ++i == n - 1)
			return false;
	}
	return true;
}

/*
 * What is left out of the specials of RFC 5322 is the *, of which we say more
 * below.  In an envelope almost anything may stand (a source route).
 */
static bool
is_local(const struct typed *t, size_t n)
{
	size_t i;

	if (is_quoted(t->text, n))
		return true;
	for (i = 0; i < n; i++)
		if ((unsigned char)t->text[i] <= ' ' || t->text[i] == 0x7f ||
		    (!t->literal &&
			strchr("()<>[]:;@\\,\"|", t->text[i]) != NULL))
			return false;
	return true;
}

/* ---- all of it --------------------------------------------------------- */

static int
refuse(const struct typed *t, struct tide_err *err)
{
	return tide_err_set(err,
	    "'%.*s' is no address to ask for: give user@domain, @domain for "
	    "all of a domain, <> for bounces, or <name> for one without a "
	    "domain",
	    (int)(t->n < 100 ? t->n : 100), t->text);
}

static int
check_parts(const struct typed *t, const char *at, struct tide_err *err)
{
	size_t n = (size_t)(at - t->text);

	if (!is_domain(at + 1, t->n - n - 1) || !is_local(t, n))
		return refuse(t, err);
	if (!t->literal && memchr(t->text, '*', n) != NULL)
		return tide_err_set(err,
		    "'%.*s': a * stands for nothing here; '%.*s' asks for all "
		    "of the domain",
		    (int)(t->n < 100 ? t->n : 100), t->text,
		    (int)(t->n - n < 100 ? t->n - n : 100), at);
	return 0;
}

static int
check_typed(const struct typed *t, bool *domain, struct tide_err *err)
{
	const char *at = memrchr(t->text, '@', t->n);

	if (t->n + 3 >= TIDE_ADDRESS_MAX)
		return tide_err_set(err, "no address is that long");
	if (!t->literal && has_unseen(t->text, t->n))
		return tide_err_set(err,
		    "'%.*s' has a character in it that is not seen, or that "
		    "only looks like an @: type it anew",
		    (int)(t->n < 100 ? t->n : 100), t->text);
	if (at != NULL)
		return check_parts(t, at, err);
	if (t->literal)
		return is_local(t, t->n) ? 0 : refuse(t, err);
	*domain = is_bare_domain(t->text, t->n);
	return *domain ? 0 : refuse(t, err);
}

static bool
needs_no_brackets(const struct typed *t)
{
	const struct typed plain = { .text = t->text, .n = t->n };
	const char *at = memrchr(t->text, '@', t->n);
	struct tide_err err;

	return at != NULL && check_parts(&plain, at, &err) == 0;
}

int
tide_address_typed(const char *typed, char out[TIDE_ADDRESS_MAX], bool *domain,
    struct tide_err *err)
{
	struct typed t = { .text = typed, .n = strlen(typed) };

	*domain = false;
	trim(&t);
	if (t.n == 0)
		return tide_err_set(err, "no address was given");
	unwrap(&t);
	if (t.literal && needs_no_brackets(&t))
		t.literal = false;
	if (check_typed(&t, domain, err) < 0)
		return -1;
	(void)snprintf(out, TIDE_ADDRESS_MAX,
	    t.literal	  ? "<%.*s>"
		: *domain ? "@%.*s"
			  : "%.*s",
	    (int)t.n, t.text);
	return 0;
}
