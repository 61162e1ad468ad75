/*
 * What a person types for an address: asked for, or refused, and found
 * whatever its spelling.
 */
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/address.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct typed_case {
	const char *typed;
	const char *asked; /* NULL: refused */
	bool domain;
} typed_cases[] = {
	{ "ann@example.org", "ann@example.org", false },
	{ " ann@example.org\n", "ann@example.org", false },
	{ "<ann@example.org>", "ann@example.org", false },
	{ "News <ann@example.org>", "ann@example.org", false },
	{ "\"Ann, of <B>\" <ann@example.org>", "ann@example.org", false },
	{ "a@b.", "a@b.", false },
	{ "a@b", "a@b", false },
	{ "@example.org", "@example.org", false },
	{ "<@example.org>", "@example.org", false },
	{ "<>", "<>", false },
	{ "bookshop.example", "@bookshop.example", true },
	{ "bookshop.example.", "@bookshop.example.", true },
	{ "b\xc3\xbc"
	  "cher.example",
	    "@b\xc3\xbc"
	    "cher.example",
	    true },
	{ "m\xc3\xbcller@b\xc3\xbc"
	  "cher.example",
	    "m\xc3\xbcller@b\xc3\xbc"
	    "cher.example",
	    false },
	{ "\"not an address\"@b", "\"not an address\"@b", false },
	{ "\"a@x\"@b", "\"a@x\"@b", false },
	{ "a=b+c!d/e@[192.0.2.1]", "a=b+c!d/e@[192.0.2.1]", false },
	{ "<tomas>", "<tomas>", false },
	{ "<@x,@y:a@b>", "<@x,@y:a@b>", false },
	{ "<li*st@b>", "<li*st@b>", false },
	{ "", NULL, false },
	{ "  ", NULL, false },
	{ "tomas", NULL, false },
	{ "not an address", NULL, false },
	{ "not an@address here", NULL, false },
	{ "an address@b", NULL, false },
	{ "*@b", NULL, false },
	{ "list-return-*@lists.example", NULL, false },
	{ "*", NULL, false },
	{ "@", NULL, false },
	{ "a@", NULL, false },
	{ "a@.", NULL, false },
	{ "a@b..c", NULL, false },
	{ "a@.b", NULL, false },
	{ "a@b,c@d", NULL, false },
	{ "a@b, c@d", NULL, false },
	{ "a@b@c", NULL, false },
	{ "\"a\"b\"@c", NULL, false },
	{ "ann@example.org|192.0.2.0/24", NULL, false },
	{ "auth:ann@example.org", NULL, false },
	{ "auth:ann", NULL, false },
	{ "192.0.2.7", NULL, false },
	{ "192.0.2.0/24", NULL, false },
	{ "2001:db8::1", NULL, false },
	{ "News <not an address>", NULL, false },
	{ "<not an address>", NULL, false },
	{ "News <>", NULL, false },
	{ "<a@b> News", NULL, false },
	{ "\xe2\x80\x8b"
	  "a@b.example",
	    NULL, false },
	{ "a@b.example\xc2\xa0", NULL, false },
	{ "a\xef\xbc\xa0"
	  "b.example",
	    NULL, false },
};

static void
typed(void)
{
	char out[TIDE_ADDRESS_MAX], again[TIDE_ADDRESS_MAX];
	struct tide_err err;
	bool domain;
	size_t i;

	for (i = 0; i < LENGTH(typed_cases); i++) {
		const struct typed_case *c = &typed_cases[i];
		int rc = tide_address_typed(c->typed, out, &domain, &err);

		CHECK_MSG(
		    rc == (c->asked == NULL ? -1 : 0), "%d: %s", rc, c->typed);
		if (rc < 0)
			continue;
		CHECK_STR(out, c->asked);
		CHECK_MSG(domain == c->domain, "%s", c->typed);
		CHECK_INT(tide_address_typed(out, again, &domain, &err), 0);
		CHECK_STR(again, out);
	}
}

/* No length writes past the end, and none is asked for cut short. */
static void
long_ones(void)
{
	char text[3000], out[TIDE_ADDRESS_MAX];
	struct tide_err err;
	bool domain;
	size_t n;

	for (n = 900; n < 1200; n++) {
		memset(text, 'a', n);
		memcpy(text + n - 4, "@b.c", 5);
		if (tide_address_typed(text, out, &domain, &err) == 0)
			CHECK_STR(out, text);
		memcpy(text + n - 4, "ab.c", 5);
		if (tide_address_typed(text, out, &domain, &err) == 0)
			CHECK_STR(out + 1, text);
	}
}

static const struct spelling_case {
	const char *name, *passed, *asked;
	bool domain; /* it is found by the second hash */
} spellings[] = {
	{ "a dot at the end, asked", "a@b.example", "a@b.example.", false },
	{ "a dot at the end, passed", "<a@b.example.>", "a@b.example", false },
	{ "A-labels, asked",
	    "a@b\xc3\xbc"
	    "cher.example",
	    "a@xn--bcher-kva.example", false },
	{ "A-labels, passed", "a@xn--bcher-kva.example",
	    "a@B\xc3\x9c"
	    "CHER.example",
	    false },
	{ "Cyrillic, asked in lower case", "\xd0\x98\xd0\xb2@b.example",
	    "\xd0\xb8\xd0\xb2@b.example", false },
	{ "Cyrillic, passed in lower case", "\xd0\xb8\xd0\xb2@b.example",
	    "\xd0\x98\xd0\x92@b.example", false },
	{ "an accent by itself, asked", "m\xc3\xbcller@b.example",
	    "mu\xcc\x88ller@B.example", false },
	{ "both parts",
	    "B\xc3\x9cRO@b\xc3\xbc"
	    "cher.example",
	    "b\xc3\xbcro@xn--bcher-kva.example", false },
	{ "what is no UTF-8", "\xfc\xff@b.example", "\xfc\xff@b.example",
	    false },
	{ "quotes, passed", "<\"tomas\"@b.example>", "tomas@b.example", false },
	{ "quotes, asked", "tomas@b.example", "\"Tomas\"@b.example", false },
	{ "a backslash", "<to\\mas@b.example>", "tomas@b.example", false },
	{ "a route", "<@x.example,@y.example:tomas@b.example>",
	    "tomas@b.example", false },
	{ "a route, asked", "tomas@b.example", "<@x.example:tomas@b.example>",
	    false },
	{ "quotes that are needed", "<\"a b\"@b.example>", "\"A b\"@b.example",
	    false },
	{ "quotes that do not close", "<\"ab@b.example>", "<\"ab@b.example>",
	    false },
	{ "a literal", "a@[IPv6:2001:db8::1]", "a@[ipv6:2001:db8::1]", false },
	{ "of a literal", "a@[IPv6:2001:db8::1]", "@[ipv6:2001:db8::1]", true },
	{ "of all the domain",
	    "m\xc3\xbcller@b\xc3\xbc"
	    "cher.example",
	    "@XN--BCHER-KVA.example.", true },
};

static void
spelled(void)
{
	const struct tide_hash_key key = { { 4, 5, 6 } };
	struct tide_hash h[2], q[2];
	size_t i;

	for (i = 0; i < LENGTH(spellings); i++) {
		const struct spelling_case *c = &spellings[i];

		CHECK_INT(tide_address_hashes(&key, c->passed, h), 2);
		CHECK(tide_address_question(&key, c->asked, q) > 0);
		CHECK_MSG(q[0].low == h[c->domain].low &&
			q[0].high == h[c->domain].high,
		    "%s", c->name);
	}
}

/* Version 0.2 hashed what stood there; its windows are still asked. */
static void
older_windows(void)
{
	const struct tide_hash_key key = { { 4, 5, 6 } };
	struct tide_hash q[2], was;

	was = tide_hash(&key, "a@b.example.", 12);
	CHECK_INT(tide_address_question(&key, "A@b.example.", q), 2);
	CHECK(q[1].low == was.low && q[1].high == was.high);
	was = tide_hash(&key,
	    "a@b\xc3\xbc"
	    "cher.example",
	    17);
	CHECK_INT(tide_address_question(&key,
		      "a@b\xc3\xbc"
		      "cher.example",
		      q),
	    2);
	CHECK(q[1].low == was.low && q[1].high == was.high);
	CHECK_INT(tide_address_question(&key, "a@b.example", q), 1);
	was = tide_hash(&key, "\xd0\x98@b.example", 12);
	CHECK_INT(tide_address_question(&key, "\xd0\x98@b.example", q), 2);
	CHECK(q[1].low == was.low && q[1].high == was.high);
}

CHECK_CASES({ "typed, and asked for or refused", typed },
    { "however long", long_ones }, { "found whatever its spelling", spelled },
    { "and in windows of version 0.2", older_windows })
