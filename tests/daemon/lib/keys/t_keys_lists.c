/*
 * Keys of lists and forwarders, and of texts of any length.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct tide_hash_key secret = { { 1, 2, 3 } };
static struct tide_key_rules rules;
static const struct tide_keys keys = { &rules, &secret };

struct verp_case {
	const char *name, *local;
	const char *bounces, *all; /* by the rule; NULL: as it was */
};

static void
check_verp(const struct verp_case *c, enum tide_verp verp, const char *want)
{
	char address[256], expect[256];
	struct tide_key key, again;

	snprintf(address, sizeof address, "%s@l.example", c->local);
	snprintf(expect, sizeof expect, "%s@l.example", want ? want : c->local);
	rules.verp = verp;
	tide_key_address(&keys, address, &key);
	CHECK_MSG(strcmp(key.text, expect) == 0, "%s: «%s» is «%s», not «%s»",
	    c->name, address, key.text, expect);
	tide_key_address(&keys, key.text, &again);
	CHECK_MSG(tide_key_equal(&key, &again), "%s: again «%s»", c->name,
	    again.text);
}

static void
verp(void)
{
	static const struct verp_case cases[] = {
		{ "ezmlm", "list-return-12345-user=example.org",
		    "list-return-*", "list-return-*" },
		{ "a bounce word and no dot", "bounce-1234-user=dom",
		    "bounce-*", "bounce-*" },
		{ "a name with hyphens", "list-return-12345-a-b-c=example.org",
		    "list-return-*", "list-return-*" },
		{ "a name of digits", "list-return-12345-67890=qq.example",
		    "list-return-*", "list-return-*" },
		{ "a name that says bounce", "list-return-1-bounce-x=e.org",
		    "list-return-*", "list-return-*" },
		{ "a number and no word", "list-12345-user=example.org",
		    "list-#-*", "list-#-*" },
		{ "a short number tells nothing", "list-12-user=example.org",
		    "*", "*" },
		{ "neither word nor number", "news-user=example.org", "*",
		    "*" },
		{ "nothing but the recipient", "first.last=example.org", "*",
		    "*" },
		{ "two equal signs", "list-return-1-a=b=example.org",
		    "list-return-*", "list-return-*" },
		{ "Mailman: a tag", "list-bounces+user=example.org",
		    "list-bounces", "list-bounces" },
		{ "an equal sign in a name", "john=doe", NULL, NULL },
		{ "an equal sign at the front", "=a.b", NULL, NULL },
		{ "an equal sign at the end", "a.b=", NULL, NULL },
		{ "what is no host", "a=b.c!d", NULL, NULL },
		{ "serials of a bounce address", "bounce-12345-67890",
		    "bounce-#-#", "bounce-#-#" },
		{ "capitals", "Bounces-12345", "bounces-#", "bounces-#" },
		{ "a hex serial", "bounce-9f3a02c4", "bounce-#", "bounce-#" },
		{ "a mixed serial", "bounce-x5f3kq9z1", "bounce-#",
		    "bounce-#" },
		{ "a name and a year", "bounces-newsletter2024",
		    "bounces-newsletter#", "bounces-newsletter#" },
		{ "digits inside a word", "bounces-a12345b67890c", "bounces-#",
		    "bounces-#" },
		{ "a word of hex letters only", "bounces-feed", NULL, NULL },
		{ "two digits are a name", "bounces-a12", NULL, NULL },
		{ "a machine's",
		    "0100018c9a8b7c6d-1234abcd-12ab-face-56ef-123456789abc-000000",
		    "#-#-#-#-#-#-#", "#-#-#-#-#-#-#" },
		{ "a student's number", "s123456", NULL, "s#" },
		{ "a year of birth", "anna.1985", NULL, "anna.#" },
		{ "two digits", "anna85", NULL, NULL },
		{ "three", "anna850", NULL, "anna#" },
		{ "two runs", "a123b4567", NULL, "a#b#" },
		{ "a run at the front", "123a", NULL, "#a" },
		{ "only digits", "123456", NULL, "#" },
	};
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < LENGTH(cases); i++) {
		check_verp(&cases[i], TIDE_VERP_BOUNCES, cases[i].bounces);
		check_verp(&cases[i], TIDE_VERP_ALL, cases[i].all);
	}
	check_verp(&(struct verp_case){ "off", "list-return-12345-u=e.org",
		       NULL, NULL },
	    TIDE_VERP_OFF, NULL);
}

static const char *const fronts[] = { "list-return-12345-", "bounce-77-",
	"news-4711-", "l-bounces+", "prvs=0123456789=l-return-1-",
	"Bounces-mc.us1_123.456-", "verp-" };
static const char *const users[] = { "user", "a-b", "a.b", "a_b", "007",
	"12345", "x-2024", "bounce-desk", "returns", "a+b", "A--B",
	"m\xc3\xbcller", "0123456789abcdef0" };
static const char *const hosts[] = { "example.org", "a-b.example", "qq.example",
	"123.example", "mail.bounce.example" };

/* One mail to everybody: names with all that names have. */
static void
run_of_a_list(const char *front, struct tide_key *first)
{
	char address[256];
	struct tide_key key;
	size_t u, h;

	first->length = 0;
	for (u = 0; u < LENGTH(users); u++) {
		for (h = 0; h < LENGTH(hosts); h++) {
			snprintf(address, sizeof address, "%s%s=%s@l.example",
			    front, users[u], hosts[h]);
			tide_key_address(&keys, address, &key);
			if (first->length == 0)
				*first = key;
			CHECK_MSG(tide_key_equal(first, &key),
			    "«%s» is «%s», not «%s»", address, key.text,
			    first->text);
		}
	}
}

static void
one_run_one_key(void)
{
	struct tide_key key[LENGTH(fronts)];
	size_t f, g;

	tide_key_rules_defaults(&rules);
	for (f = 0; f < LENGTH(fronts); f++)
		run_of_a_list(fronts[f], &key[f]);
	for (f = 0; f < LENGTH(fronts); f++)
		for (g = 0; g < f; g++)
			CHECK_MSG(!tide_key_equal(&key[f], &key[g]) ||
				strncasecmp(fronts[f], "bounce", 6) == 0,
			    "%s and %s are one list", fronts[f], fronts[g]);
}

static void
forwarders(void)
{
	static const struct {
		const char *name, *address, *pays;
		const char *original; /* NULL: it is no SRS address */
	} cases[] = {
		{ "SRS0", "SRS0=HHH=TT=orig.example=user@fwd.example",
		    "srs@fwd.example", "user@orig.example" },
		{ "in lower case", "srs0=hhh=tt=orig.example=user@FWD.example",
		    "srs@fwd.example", "user@orig.example" },
		{ "SRS0+", "SRS0+HHH=TT=orig.example=user@fwd.example",
		    "srs@fwd.example", "user@orig.example" },
		{ "SRS0-", "SRS0-HHH=TT=orig.example=user@fwd.example",
		    "srs@fwd.example", "user@orig.example" },
		{ "the original is reduced as well",
		    "SRS0=HHH=TT=Orig.Example=User+tag@fwd.example",
		    "srs@fwd.example", "user@orig.example" },
		{ "an original with an =",
		    "SRS0=HHH=TT=orig.example=bounce-1-a=b.c@fwd.example",
		    "srs@fwd.example", "bounce-*@orig.example" },
		{ "SRS1",
		    "SRS1=HHH=one.example==HHH=TT=orig.example=user@two.example",
		    "srs@two.example", "user@orig.example" },
		{ "SRS1 of SRS0+",
		    "SRS1=HHH=one.example=+HHH=TT=orig.example=user@two.example",
		    "srs@two.example", "user@orig.example" },
		{ "signed again",
		    "prvs=0123456789=SRS0=H=T=orig.example=user@fwd.example",
		    "srs@fwd.example", "user@orig.example" },
		{ "a field too few", "SRS0=HHH=TT=user@fwd.example",
		    "srs0=hhh=tt=user@fwd.example", NULL },
		{ "an empty hash", "SRS0==TT=orig.example=user@fwd.example",
		    "srs0==tt=orig.example=user@fwd.example", NULL },
		{ "an empty user", "SRS0=HHH=TT=orig.example=@fwd.example",
		    "srs0=hhh=tt=orig.example=@fwd.example", NULL },
		{ "SRS1 without its inner part",
		    "SRS1=HHH=one.example=HHH=T@two.example",
		    "srs1=hhh=one.example=hhh=t@two.example", NULL },
		{ "only the word", "SRS0@fwd.example", "srs0@fwd.example",
		    NULL },
		{ "somebody else", "user@fwd.example", "user@fwd.example",
		    NULL },
		{ "nobody", "<>", "<>", NULL },
		{ "Microsoft's goes as a tag",
		    "bounces+SRS=bU5Ue=FH@fwd.example", "bounces@fwd.example",
		    NULL },
	};
	struct tide_key key;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < LENGTH(cases); i++) {
		tide_key_address(&keys, cases[i].address, &key);
		CHECK_STR(key.text, cases[i].pays);
		CHECK_MSG(tide_key_original(&keys, cases[i].address, &key) ==
			(cases[i].original != NULL),
		    "%s", cases[i].name);
		if (cases[i].original != NULL)
			CHECK_STR(key.text, cases[i].original);
	}
}

/* n times x, one more, @d.org */
static void
long_key(size_t n, char last, struct tide_key *key)
{
	static char address[8192];

	memset(address, 'x', n);
	snprintf(address + n, sizeof address - n, "%c@d.org", last);
	tide_key_address(&keys, address, key);
}

static void
any_length(void)
{
	static const size_t lengths[] = { 97, 98, 100, 200, 1000, 2041, 2042,
		2043, 5000 };
	struct tide_key a, b, again;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < LENGTH(lengths); i++) {
		long_key(lengths[i], 'a', &a);
		long_key(lengths[i], 'b', &b);
		CHECK(a.length <= TIDE_KEY_MAX);
		CHECK_INT(strlen(a.text), a.length);
		CHECK(!tide_key_equal(&a, &b));
		CHECK_MSG((strchr(a.text, '~') != NULL) == (lengths[i] > 97),
		    "%zu: «%s»", lengths[i], a.text);
		tide_key_text(&keys, a.text, &again);
		CHECK_STR(again.text, a.text);
		long_key(lengths[i], 'a', &again);
		CHECK(tide_key_equal(&a, &again));
	}
	long_key(100, 'a', &a);
	CHECK_INT(a.length, TIDE_KEY_MAX);
	CHECK(strspn(a.text + TIDE_KEY_MAX - 16, "0123456789abcdef") == 16);
}

static void
keyed(void)
{
	static const struct tide_hash_key other = { { 9 } };
	struct tide_keys theirs = { &rules, &other };
	char address[256];
	struct tide_key a, b;

	tide_key_rules_defaults(&rules);
	memset(address, 'x', 200);
	memcpy(address + 200, "@d.org", 7);
	tide_key_address(&keys, address, &a);
	tide_key_address(&theirs, address, &b);
	CHECK(!tide_key_equal(&a, &b));
	/* Who has seen a long key cannot write it as an address. */
	tide_key_address(&keys, a.text, &b);
	CHECK(!tide_key_equal(&a, &b));
}

/* By the key alone: whose bucket may defer, and never bans. */
static void
shared(void)
{
	static const struct {
		const char *address, *key; /* of 192.0.2.7 */
		bool shared;
	} cases[] = {
		{ "ann@example.org", "ann@example.org", false },
		{ "ann+tag@example.org", "ann@example.org", false },
		{ "prvs=0123456789=ann@example.org", "ann@example.org", false },
		{ "0100018f2a3b4c5d-6e7f-0000@amazonses.example",
		    "#-#-#@amazonses.example", true },
		{ "list-return-12345-u=example.org@lists.example",
		    "list-return-*@lists.example", true },
		{ "SRS0=HHH=TT=orig.example=u@forwarder.example",
		    "srs@forwarder.example", true },
		{ "srs@forwarder.example", "srs@forwarder.example", true },
		{ "srs1@forwarder.example", "srs1@forwarder.example", false },
		{ "bounce-1234-b\xc3\xbc"
		  "cher@b\xc3\xbc"
		  "cher.example",
		    "bounce-#-b\xc3\xbc"
		    "cher@xn--bcher-kva.example",
		    true },
		{ "b\xc3\xbc"
		  "cher@b\xc3\xbc"
		  "cher.example",
		    "b\xc3\xbc"
		    "cher@xn--bcher-kva.example",
		    false },
		{ "\"a #*b\"@example.org", "\"a #*b\"@example.org", false },
		{ "\"auth:#\"@example.org", "\"auth:#\"@example.org", false },
		{ "ann@#.*", "ann@?.?", false },
	};
	char want[128];
	struct tide_ip ip;
	struct tide_key key;
	size_t i;

	tide_key_rules_defaults(&rules);
	CHECK(tide_ip_parse("192.0.2.7", &ip));
	for (i = 0; i < LENGTH(cases); i++) {
		CHECK(tide_key_sender(&keys,
		    &(struct tide_key_facts){
			.sender = cases[i].address, .client = &ip },
		    &key));
		snprintf(want, sizeof want, "%s|192.0.2.0/24", cases[i].key);
		CHECK_STR(key.text, want);
		CHECK_MSG(
		    tide_key_is_shared(key.text, key.length) == cases[i].shared,
		    "%s", key.text);
		tide_key_address(&keys, cases[i].address, &key);
		CHECK_MSG(
		    tide_key_is_shared(key.text, key.length) == cases[i].shared,
		    "%s", key.text);
	}
}

static void
not_shared(void)
{
	static const char *const texts[] = { "", "<>", "local", "192.0.2.7",
		"2001:db8::/64", "@lists.example", "auth:#", "auth:srs",
		"auth:bounce-#@lists.example", "auth:*", "srs", "a#b" };
	struct tide_key key;
	char address[256];
	size_t i;

	for (i = 0; i < LENGTH(texts); i++)
		CHECK_MSG(!tide_key_is_shared(texts[i], strlen(texts[i])), "%s",
		    texts[i]);
	/* a domain so long that the key is cut, and a local part that is */
	tide_key_rules_defaults(&rules);
	snprintf(address, sizeof address, "bounce-12345@%0120d.example", 1);
	tide_key_address(&keys, address, &key);
	CHECK(tide_key_is_shared(key.text, key.length));
	snprintf(address, sizeof address, "bounce-12345-%0120d@l.example", 1);
	rules.verp = TIDE_VERP_OFF;
	tide_key_address(&keys, address, &key);
	CHECK(!tide_key_is_shared(key.text, key.length));
	snprintf(address, sizeof address, "bounce-12345-%s@l.example",
	    "of-a-list-whose-name-does-not-end-for-so-long-that-no-key-could-"
	    "ever-hold-it-in-full-with-its-domain");
	rules.verp = TIDE_VERP_BOUNCES;
	tide_key_address(&keys, address, &key);
	CHECK(tide_key_is_shared(key.text, key.length));
}

/* The prefix ends before a character that does not fit. */
static void
whole_characters(void)
{
	char address[256] = "";
	struct tide_key key;
	size_t i, shift;

	tide_key_rules_defaults(&rules);
	for (shift = 0; shift < 4; shift++) {
		memset(address, 'x', shift);
		for (i = 0; i < 40; i++)
			memcpy(address + shift + 4 * i, "\xf0\x9f\x90\x9f", 5);
		tide_key_text(&keys, address, &key);
		CHECK_INT(key.text[key.length - 17], '~');
		CHECK_INT((key.length - 17 - shift) % 4, 0);
	}
}

CHECK_CASES({ "bounce addresses", verp },
    { "one run of a list is one key", one_run_one_key },
    { "the forwarder pays", forwarders }, { "keys that many share", shared },
    { "keys that are one sender's", not_shared },
    { "keys of any length stay apart", any_length },
    { "long keys depend on the secret", keyed },
    { "no half characters", whole_characters })
