/*
 * Overrides: what a line may be, who is found, what is published.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/overrides.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const char *
write_file(const char *text)
{
	static char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/overrides.map", check_tmpdir());
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs(text, f);
	CHECK_INT(fclose(f), 0);
	return path;
}

/* ---- lines ------------------------------------------------------------- */

static const struct bad_case {
	const char *name, *text, *want;
} bad[] = {
	{ "a word is missing", "ann@example.org 5\n", ":1: a line has three" },
	{ "a word too many", "# x\na@b.example 5 5/1d x\n", ":2: a line has" },
	{ "no key", "ann 5 5/1d\n", "is no key, such as auth:user" },
	{ "no number", "auth:ann many 5/1d\n", ":1: " },
	{ "no rate", "auth:ann 5 5\n", ":1: " },
	{ "too large", "auth:ann 2m 5/1d\n", "too large" },
	{ "too fast", "auth:ann 5 5k/1s\n", "too fast" },
	{ "twice", "auth:ann 5 5/1d\nauth:Ann 6 5/1d\n",
	    "auth:ann is there twice" },
	{ "a network twice", "10.0.0.0/8 5 5/1d\n10.0.0.0/8 5 5/1d\n",
	    "10.0.0.0/8 is there twice" },
};

static void
bad_lines(void)
{
	struct tide_overrides o = { 0 };
	struct tide_err err;
	size_t i;

	for (i = 0; i < LENGTH(bad); i++) {
		err.text[0] = '\0';
		CHECK_MSG(tide_overrides_read(
			      &o, write_file(bad[i].text), 0, &err) == -1,
		    "%s: was taken", bad[i].name);
		CHECK_MSG(strstr(err.text, bad[i].want) != NULL,
		    "%s: says «%s»", bad[i].name, err.text);
		tide_overrides_free(&o);
	}
	CHECK_INT(tide_overrides_read(&o, "/nowhere/at/all", 0, &err), -1);
}

static const char good[] = "# KEY BURST RATE\n"
			   "\n"
			   "auth:Lists  5k 5k/1d  # the list server\n"
			   "Ann+tag@Example.ORG 300 300/1d\n"
			   "@example.org\t200 200/1d\n"
			   "10.0.0.0/8 50 50/1d\n"
			   "10.1.0.0/16 60 60/1d\n"
			   "2001:db8::/32 70 70/1d\n"
			   "auth:gone 0 1/1d\n";

/* ---- who is found ------------------------------------------------------ */

static const struct find_case {
	const char *key;
	uint64_t burst; /* 0: not found */
} finds[] = {
	{ "auth:lists", 5000 },
	{ "ann@example.org", 300 },
	{ "@example.org", 200 },
	{ "auth:ann@example.org", 0 },
	{ "bob@example.org", 0 },
	{ "", 0 },
};

static const struct find_case clients[] = {
	{ "10.0.0.1", 50 },
	{ "10.1.2.3", 60 }, /* the narrowest */
	{ "2001:db8::1", 70 },
	{ "192.0.2.1", 0 },
};

static uint64_t
burst_of(const struct tide_override *o)
{
	return o == NULL ? 0 : o->allowance.burst;
}

static void
check_finds(const struct tide_overrides *o)
{
	struct tide_ip ip;
	size_t i;

	for (i = 0; i < LENGTH(finds); i++)
		CHECK_MSG(burst_of(tide_overrides_find(o, 0, finds[i].key)) ==
			finds[i].burst,
		    "«%s»", finds[i].key);
	for (i = 0; i < LENGTH(clients); i++) {
		CHECK(tide_ip_parse(clients[i].key, &ip));
		CHECK_MSG(burst_of(tide_overrides_find_client(o, 0, &ip)) ==
			clients[i].burst,
		    "«%s»", clients[i].key);
		CHECK(tide_overrides_find_client(o, 1, &ip) == NULL);
	}
	CHECK(tide_overrides_find(o, 0, "auth:gone") != NULL);
	CHECK(tide_overrides_find(o, 1, "auth:lists") == NULL);
}

static void
lookup(void)
{
	struct tide_overrides o = { 0 };
	struct tide_err err;

	CHECK_INT(tide_overrides_read(&o, write_file(good), 0, &err), 0);
	CHECK_INT(o.count, 7);
	check_finds(&o);
	tide_overrides_free(&o);
	CHECK(tide_overrides_find(&o, 0, "auth:lists") == NULL);
}

/* ---- published --------------------------------------------------------- */

static void
published(void)
{
	static struct tide_config c;
	struct tide_overrides o = { 0 };
	struct tide_err err;

	tide_config_defaults(&c, NULL);
	snprintf(c.runtime_dir, sizeof c.runtime_dir, "%s", check_tmpdir());
	CHECK_INT(tide_overrides_publish(&c, &err), 0);
	CHECK_INT(tide_overrides_attach(&o, c.runtime_dir, &err), 0);
	CHECK_INT(o.count, 0);
	tide_overrides_free(&o);

	snprintf(c.profile[0].tokens_overrides,
	    sizeof c.profile[0].tokens_overrides, "%s", write_file(good));
	CHECK_INT(tide_overrides_publish(&c, &err), 0);
	CHECK_INT(tide_overrides_attach(&o, c.runtime_dir, &err), 0);
	check_finds(&o);
	CHECK_INT(tide_overrides_longest_ms(&o), 86400001);

	(void)write_file("nonsense\n"); /* what was published stays */
	CHECK_INT(tide_overrides_publish(&c, &err), -1);
	tide_overrides_free(&o);
	CHECK_INT(tide_overrides_attach(&o, c.runtime_dir, &err), 0);
	CHECK_INT(o.count, 7);
	tide_overrides_free(&o);
}

/* Whatever lies in its place, it is not followed. */
static void
foreign(void)
{
	struct tide_overrides o = { 0 };
	struct tide_err err;
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/overrides", check_tmpdir());
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs("this is not what we wrote", f);
	CHECK_INT(fclose(f), 0);
	CHECK_INT(tide_overrides_attach(&o, check_tmpdir(), &err), -1);
	CHECK_INT(o.count, 0);
}

CHECK_CASES({ "a bad line is named", bad_lines },
    { "keys, domains, the narrowest network", lookup },
    { "published and attached", published },
    { "foreign bytes are refused", foreign })
