/*
 * t_places - who may stand where in the tables of accounts: senders that
 * somebody makes up take no place of clients and of accounts that log in, in
 * the allowances and in the estimates, also after a boot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/settings/allowance.h"

#define T0 1000000000000ull
#define HOUR 3600000ull
#define PLACES 1024u
#define MADE_UP 24000u
#define FEW 100u /* so many fit wherever they may stand */

static _Alignas(64) struct tide_tokens_slot slots[PLACES];
static const struct tide_tokens tokens = { slots, PLACES };
static struct tide_distinct_sketch sketches[PLACES];
static const struct tide_distinct distinct = { sketches, PLACES, 12 * HOUR };
static const struct tide_hash_key secret = { { 0x16 } };

/* What is made of it; IDN and SMTPUTF8 as keys have them. */
static const char *const accounts[] = { "auth:user%u",
	"auth:user%u@b\xc3\xbc.example" };
static const char *const senders[] = { "s%u@evil.example",
	"s%u@xn--b-xga.example|192.0.2.0/24", "\xc3\xa9%u@evil.example" };
static const char *const clients[] = { "198.51.%u.7", "2001:db8:%x::/64" };

static struct tide_hash
key_of(const char *form, unsigned i, enum tide_account_kind kind)
{
	char text[64];
	int n = snprintf(text, sizeof text, form, i);

	return tide_account_key(&secret, "external", kind, text, (size_t)n);
}

static bool
take(const char *form, unsigned i)
{
	struct tide_take t = { .key = key_of(form, i, TIDE_ACCOUNT_TOKENS),
		.cost = TIDE_TOKEN };
	struct tide_err err;

	CHECK_INT(tide_allowance_make(
		      &t.allowance, 10, (struct tide_rate){ 10, HOUR }, &err),
	    0);
	return tide_tokens_take(&tokens, &t, T0) == TIDE_TOKENS_TAKEN;
}

static bool
note(const char *form, unsigned i)
{
	struct tide_hash one = { 1, 1 };

	return tide_distinct_add(
	    &distinct, key_of(form, i, TIDE_ACCOUNT_RECIPIENTS), one, T0);
}

/* How many of n find a place. */
static unsigned
flood(bool (*add)(const char *, unsigned), const char *form, unsigned n)
{
	unsigned i, placed = 0;

	for (i = 0; i < n; i++)
		placed += add(form, i);
	return placed;
}

static void
start(void)
{
	memset(slots, 0, sizeof slots);
	memset(sketches, 0, sizeof sketches);
}

static void
test_flooded(bool (*add)(const char *, unsigned))
{
	unsigned s, c, a;

	for (s = 0; s < 3; s++)
		for (c = 0; c < 2; c++)
			for (a = 0; a < 2; a++) {
				start();
				CHECK_INT(flood(add, senders[s], MADE_UP),
				    PLACES / 8 * 3);
				CHECK_INT(flood(add, clients[c], 20), 20);
				(void)flood(add, clients[c], 256);
				CHECK_INT(flood(add, accounts[a], FEW), FEW);
			}
}

static void
test_tokens_flooded(void)
{
	test_flooded(take);
}

static void
test_sketches_flooded(void)
{
	test_flooded(note);
}

/* Known by the same key, wherever it stands; a new one is not. */
static void
test_found(void)
{
	unsigned i;

	start();
	(void)flood(take, senders[0], 100);
	CHECK_INT(flood(take, accounts[0], FEW), FEW);
	for (i = 0; i < 100; i++) {
		CHECK(tide_tokens_known(
		    &tokens, key_of(senders[0], i, TIDE_ACCOUNT_TOKENS)));
		CHECK(tide_tokens_known(
		    &tokens, key_of(accounts[0], i, TIDE_ACCOUNT_TOKENS)));
		CHECK(!tide_tokens_known(
		    &tokens, key_of(clients[0], i, TIDE_ACCOUNT_TOKENS)));
	}
}

/* A flooded table is saved and loaded: nobody's place is lost, or taken. */
static void
test_carried(void)
{
	struct tide_err err;
	unsigned i, known = 0;
	char *bytes;
	size_t size;

	start();
	(void)flood(take, senders[0], MADE_UP);
	CHECK_INT(flood(take, accounts[0], FEW), FEW);
	CHECK_INT(tide_tokens_save(&tokens, T0, &bytes, &size, &err), 0);
	memset(slots, 0, sizeof slots);
	CHECK_INT(tide_tokens_load(&tokens, bytes, size, T0, 0),
	    PLACES / 8 * 3 + FEW);
	free(bytes);
	for (i = 0; i < FEW; i++)
		CHECK(tide_tokens_known(
		    &tokens, key_of(accounts[0], i, TIDE_ACCOUNT_TOKENS)));
	for (i = 0; i < MADE_UP; i++)
		known += tide_tokens_known(
		    &tokens, key_of(senders[0], i, TIDE_ACCOUNT_TOKENS));
	CHECK_INT(known, PLACES / 8 * 3);
	CHECK_INT(flood(take, accounts[1], FEW), FEW);
}

CHECK_CASES({ "made-up senders take no place of clients and accounts",
		test_tokens_flooded },
    { "nor in the estimates", test_sketches_flooded },
    { "each is found where it stands", test_found },
    { "and after a boot", test_carried })
