/*
 * Keys of clients, senders and accounts; networks and domains that match.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct tide_hash_key secret = { { 1, 2, 3 } };
static struct tide_key_rules rules;
static const struct tide_keys keys = { &rules, &secret };

static const struct tide_ip *
ip_of(const char *text)
{
	static struct tide_ip ip;

	if (text == NULL)
		return NULL;
	CHECK_MSG(tide_ip_parse(text, &ip), "«%s» is refused", text);
	return &ip;
}

static void
clients(void)
{
	static const struct {
		const char *client;
		unsigned prefix;
		const char *want;
	} cases[] = {
		{ "192.0.2.7", 128, "192.0.2.7" },
		{ "192.0.2.7", 48, "192.0.2.7" },
		{ "::ffff:192.0.2.7", 64, "192.0.2.7" },
		{ "IPv6:::FFFF:c000:207", 64, "192.0.2.7" },
		{ "2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6" },
		{ "2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::/64" },
		{ "2001:db8:1:2ff:3:4:5:6", 56, "2001:db8:1:200::/56" },
		{ "2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::/48" },
		{ "2001:DB8:0:0::1", 128, "2001:db8::1" },
		{ "IPv6:2001:db8::1", 128, "2001:db8::1" },
		{ "2001:db8::1", 127, "2001:db8::/127" },
		{ "2001:db8::1", 999, "2001:db8::1" },
		{ "2001:db8:ffff::1", 35, "2001:db8:e000::/35" },
		{ "::1", 128, "::1" },
		{ "::1", 0, "::/0" },
		{ NULL, 128, "local" },
	};
	struct tide_key key;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		tide_key_client(ip_of(cases[i].client), cases[i].prefix, &key);
		CHECK_STR(key.text, cases[i].want);
		CHECK_INT(key.length, strlen(cases[i].want));
	}
	CHECK(!tide_ip_parse("192.0.2", &(struct tide_ip){ { 0 } }));
	CHECK(!tide_ip_parse("192.0.2.07", &(struct tide_ip){ { 0 } }));
	CHECK(!tide_ip_parse("", &(struct tide_ip){ { 0 } }));
	CHECK(!tide_ip_parse("fe80::1%lo", &(struct tide_ip){ { 0 } }));
}

static void
sockets(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr other = { .sa_family = AF_UNIX };
	struct tide_ip ip;

	v4.sin_addr.s_addr = htonl(0xc0000207);
	CHECK(tide_ip_from_sockaddr((struct sockaddr *)&v4, &ip));
	CHECK(memcmp(&ip, ip_of("192.0.2.7"), sizeof ip) == 0);
	memcpy(&v6.sin6_addr, ip_of("2001:db8::1"), 16);
	CHECK(tide_ip_from_sockaddr((struct sockaddr *)&v6, &ip));
	CHECK(memcmp(&ip, ip_of("2001:db8::1"), sizeof ip) == 0);
	CHECK(!tide_ip_from_sockaddr(&other, &ip));
	CHECK(!tide_ip_from_sockaddr(NULL, &ip));
}

static void
senders(void)
{
	static const struct {
		const char *name, *user, *sender, *client, *want;
	} cases[] = {
		{ "address and network", NULL, "<User@D.org>", "192.0.2.7",
		    "user@d.org|192.0.2.0/24" },
		{ "the whole network is one", NULL, "user@d.org", "192.0.2.200",
		    "user@d.org|192.0.2.0/24" },
		{ "another network is another", NULL, "user@d.org", "192.0.3.7",
		    "user@d.org|192.0.3.0/24" },
		{ "IPv6", NULL, "user@d.org", "2001:db8:1:2::7",
		    "user@d.org|2001:db8:1::/48" },
		{ "mapped", NULL, "user@d.org", "::ffff:192.0.2.7",
		    "user@d.org|192.0.2.0/24" },
		{ "no client", NULL, "user@d.org", NULL, "user@d.org|local" },
		{ "authenticated", "user", "user@d.org", "192.0.2.7",
		    "user@d.org" },
		{ "an empty name is not authenticated", "", "user@d.org",
		    "192.0.2.7", "user@d.org|192.0.2.0/24" },
		{ "a forwarder", NULL, "SRS0=a=b=c.org=u@f.org", "192.0.2.7",
		    "srs@f.org|192.0.2.0/24" },
		{ "the null sender", NULL, "<>", "192.0.2.7", NULL },
		{ "the null sender, authenticated", "user", "", "192.0.2.7",
		    NULL },
		{ "no sender yet", NULL, NULL, "192.0.2.7", NULL },
	};
	struct tide_key_facts f;
	struct tide_key key;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < LENGTH(cases); i++) {
		f = (struct tide_key_facts){ cases[i].user, cases[i].sender,
			ip_of(cases[i].client) };
		CHECK_MSG(
		    tide_key_sender(&keys, &f, &key) == (cases[i].want != NULL),
		    "%s", cases[i].name);
		CHECK_STR(key.text, cases[i].want ? cases[i].want : "");
	}
}

static void
sender_rules(void)
{
	struct tide_key_facts f = { NULL, "user@d.org", ip_of("192.0.2.7") };
	struct tide_key key;
	char address[256];

	tide_key_rules_defaults(&rules);
	rules.sender_ipv4 = 32;
	CHECK(tide_key_sender(&keys, &f, &key));
	CHECK_STR(key.text, "user@d.org|192.0.2.7");
	rules.sender_ipv4 = 16;
	CHECK(tide_key_sender(&keys, &f, &key));
	CHECK_STR(key.text, "user@d.org|192.0.0.0/16");
	rules.sender_ipv4 = 48;
	CHECK(tide_key_sender(&keys, &f, &key));
	CHECK_STR(key.text, "user@d.org|192.0.2.7");
	rules.sender_ipv4 = UINT32_MAX; /* as wrong as it gets */
	CHECK(tide_key_sender(&keys, &f, &key));
	CHECK_STR(key.text, "user@d.org|192.0.2.7");
	rules.sender_key = TIDE_SENDER_ADDRESS;
	CHECK(tide_key_sender(&keys, &f, &key));
	CHECK_STR(key.text, "user@d.org");

	/* Long ones from two networks stay apart. */
	struct tide_key other;
	tide_key_rules_defaults(&rules);
	memset(address, 'x', 200);
	memcpy(address + 200, "@d.org", 7);
	f.sender = address;
	CHECK(tide_key_sender(&keys, &f, &key));
	f.client = ip_of("198.51.100.7");
	CHECK(tide_key_sender(&keys, &f, &other));
	CHECK(!tide_key_equal(&key, &other));
}

static void
accounts(void)
{
	static const struct {
		const char *order, *user, *sender, *client;
		enum tide_key_source source;
		const char *want;
	} cases[] = {
		{ "user sender client", "Alice", "a@d.org", "192.0.2.7",
		    TIDE_SOURCE_USER, "auth:alice" },
		{ "user sender client", "Al+x@D.org", "a@d.org", "192.0.2.7",
		    TIDE_SOURCE_USER, "auth:al+x@d.org" },
		{ "user sender client", "a\033b", "a@d.org", "192.0.2.7",
		    TIDE_SOURCE_USER, "auth:a?b" },
		{ "user sender client", NULL, "a@d.org", "192.0.2.7",
		    TIDE_SOURCE_SENDER, "a@d.org|192.0.2.0/24" },
		{ "user sender client", "", "<>", "192.0.2.7",
		    TIDE_SOURCE_CLIENT, "192.0.2.7" },
		{ "user sender client", NULL, "<>", "2001:db8:1:2::7",
		    TIDE_SOURCE_CLIENT, "2001:db8:1:2::/64" },
		{ "client, user", "alice", "a@d.org", "192.0.2.7",
		    TIDE_SOURCE_CLIENT, "192.0.2.7" },
		{ "sender user", "alice", "a@d.org", "192.0.2.7",
		    TIDE_SOURCE_SENDER, "a@d.org" },
		{ "user", NULL, "a@d.org", "192.0.2.7", TIDE_SOURCE_NONE, "" },
		{ " client ", NULL, NULL, NULL, TIDE_SOURCE_CLIENT, "local" },
	};
	struct tide_key_facts f;
	struct tide_err err;
	struct tide_key key;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < LENGTH(cases); i++) {
		CHECK_INT(
		    tide_key_order_parse(cases[i].order, rules.account, &err),
		    0);
		f = (struct tide_key_facts){ cases[i].user, cases[i].sender,
			ip_of(cases[i].client) };
		CHECK_INT(tide_key_account(&keys, &f, &key), cases[i].source);
		CHECK_STR(key.text, cases[i].want);
	}
	rules.account[0] = 77; /* bytes from elsewhere */
	rules.account[1] = rules.account[2] = TIDE_SOURCE_NONE;
	CHECK_INT(tide_key_account(&keys, &f, &key), TIDE_SOURCE_NONE);
}

static void
bad_orders(void)
{
	static const struct {
		const char *words, *says;
	} cases[] = {
		{ "user admin", "«admin» is none of user, sender and client" },
		{ "user sender client user", "«user» stands there twice" },
		{ "use", "«use» is none of user, sender and client" },
		{ " ", "an account needs one of user, sender and client" },
	};
	uint32_t order[TIDE_KEY_SOURCES] = { 7, 7, 7 };
	struct tide_err err;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		CHECK_INT(
		    tide_key_order_parse(cases[i].words, order, &err), -1);
		CHECK_STR(err.text, cases[i].says);
		CHECK_INT(order[0], 7);
	}
}

static void
networks(void)
{
	static const struct {
		const char *net, *ip;
		bool want;
	} cases[] = {
		{ "192.0.2.0/24", "192.0.2.0", true },
		{ "192.0.2.0/24", "192.0.2.255", true },
		{ "192.0.2.0/24", "192.0.3.0", false },
		{ "192.0.2.0/24", "::ffff:192.0.2.9", true },
		{ "192.0.2.128/25", "192.0.2.127", false },
		{ "192.0.2.128/25", "192.0.2.128", true },
		{ "192.0.2.7", "192.0.2.7", true },
		{ "192.0.2.7", "192.0.2.6", false },
		{ "192.0.2.7/32", "192.0.2.7", true },
		{ "0.0.0.0/0", "203.0.113.9", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "::/0", "192.0.2.7", false },
		{ "2001:db8::/32", "2001:db8:ffff::1", true },
		{ "2001:db8::/32", "2001:db9::1", false },
		{ "2001:db8::/33", "2001:db8:8000::1", false },
		{ "2001:db8::1", "2001:db8::1", true },
		{ "2001:db8::1", "2001:db8::2", false },
		{ "::ffff:192.0.2.0/120", "192.0.2.9", true },
		{ "::ffff:0:0/96", "192.0.2.9", true },
		{ "IPv6:2001:db8::/32", "2001:db8::1", true },
	};
	struct tide_err err;
	struct tide_net net;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		CHECK_INT(tide_net_parse(cases[i].net, &net, &err), 0);
		CHECK_MSG(tide_net_contains(&net, ip_of(cases[i].ip)) ==
			cases[i].want,
		    "%s in %s", cases[i].ip, cases[i].net);
	}
}

#define NEITHER " is neither an IP address nor a network"

static void
bad_networks(void)
{
	static const struct {
		const char *net, *says;
	} cases[] = {
		{ "192.0.2.7/24",
		    "«192.0.2.7/24» has bits beyond its prefix; the network is 192.0.2.0/24" },
		{ "2001:db8::1/32",
		    "«2001:db8::1/32» has bits beyond its prefix; the network is 2001:db8::/32" },
		{ "192.0.2.0/33",
		    "the prefix of «192.0.2.0/33» is not from 0 to 32" },
		{ "192.0.2.0/",
		    "the prefix of «192.0.2.0/» is not from 0 to 32" },
		{ "192.0.2.0/-1",
		    "the prefix of «192.0.2.0/-1» is not from 0 to 32" },
		{ "192.0.2.0/24 ",
		    "the prefix of «192.0.2.0/24 » is not from 0 to 32" },
		{ "192.0.2.0/0024",
		    "the prefix of «192.0.2.0/0024» is not from 0 to 32" },
		{ "::/129", "the prefix of «::/129» is not from 0 to 128" },
		{ "::ffff:0:0/90",
		    "the prefix of «::ffff:0:0/90» is not from 96 to 128" },
		{ "192.0.2/24", "«192.0.2/24»" NEITHER },
		{ "", "«»" NEITHER },
		{ "example.org", "«example.org»" NEITHER },
		{ "1111111111111111111111111111111111111111111111111111",
		    "«1111111111111111111111111111111111111111111111111111»" NEITHER },
	};
	struct tide_net net = { .bits = 77 };
	struct tide_err err;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		CHECK_MSG(tide_net_parse(cases[i].net, &net, &err) == -1, "%s",
		    cases[i].net);
		CHECK_STR(err.text, cases[i].says);
		CHECK_INT(net.bits, 77);
	}
}

static void
domains(void)
{
	static const struct {
		const char *rule, *address;
		bool want;
	} cases[] = {
		{ "@example.org", "a@example.org", true },
		{ "@Example.Org.", "<a@EXAMPLE.org.>", true },
		{ "@example.org", "a@sub.example.org", false },
		{ "@example.org", "a@example.org.uk", false },
		{ "@example.org", "a@notexample.org", false },
		{ ".example.org", "a@sub.example.org", true },
		{ ".example.org", "a@a.b.example.org", true },
		{ ".example.org", "a@example.org", false },
		{ ".example.org", "a@notexample.org", false },
		{ ".example.org", "a@.example.org", false },
		{ "@b\xc3\xbc"
		  "cher.example",
		    "a@xn--bcher-kva.example", true },
		{ ".xn--bcher-kva.example",
		    "a@x.B\xc3\x9c"
		    "CHER.example",
		    true },
		{ "@[192.0.2.1]", "a@[IPv6:::ffff:192.0.2.1]", true },
		{ "@example.org", "\"@example.org\"@other.org", false },
		{ "@example.org", "@example.org:a@other.org", false },
		{ "@example.org", "example.org", false },
		{ "@example.org", "<>", false },
	};
	char domain[TIDE_DOMAIN_MAX];
	struct tide_domain_rule rule;
	struct tide_err err;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		CHECK_INT(tide_domain_parse(cases[i].rule, &rule, &err), 0);
		tide_domain_of(cases[i].address, domain);
		CHECK_MSG(tide_domain_matches(&rule, domain) == cases[i].want,
		    "%s and %s (%s)", cases[i].rule, cases[i].address, domain);
	}
	CHECK_INT(tide_domain_parse("example.org", &rule, &err), -1);
	CHECK_INT(tide_domain_parse("@", &rule, &err), -1);
	CHECK_INT(tide_domain_parse("..example.org", &rule, &err), -1);
	CHECK_INT(tide_domain_parse("@exa mple.org", &rule, &err), -1);
	CHECK_STR(
	    err.text, "«@exa mple.org» is no domain that mail could have");
}

static void
domain_keys(void)
{
	struct tide_key key;

	tide_key_rules_defaults(&rules);
	tide_key_domain(&keys, "Example.Org.", &key);
	CHECK_STR(key.text, "@example.org");
	tide_key_domain(&keys,
	    "@b\xc3\xbc"
	    "cher.example",
	    &key);
	CHECK_STR(key.text, "@xn--bcher-kva.example");
	tide_key_domain(&keys, "", &key);
	CHECK_STR(key.text, "@");
}

/* A ban that no mail could meet is not made. */
static void
wanted(void)
{
	static const struct {
		const char *typed, *want; /* NULL: refused */
	} cases[] = {
		{ "a@b.example", "a@b.example" },
		{ "News <A@B.example.>", "a@b.example" },
		{ "from=<a@b.example>", "a@b.example" },
		{ "j\xc3\xb6rg@b\xc3\xbc"
		  "cher.example",
		    "j\xc3\xb6rg@xn--bcher-kva.example" },
		{ "\"a b\"@c.example", "\"a b\"@c.example" },
		{ "@b.example", "@b.example" },
		{ "192.0.2.7", "192.0.2.7" },
		{ "192.0.2.0/24", "192.0.2.0/24" },
		{ "auth:ann", "auth:ann" },
		{ "a@b.example|192.0.2.0/24", "a@b.example|192.0.2.0/24" },
		{ "#-#@b.example|2001:db8::/48",
		    "#-#@b.example|2001:db8::/48" },
		{ "a@b.example|local", "a@b.example|local" },
		{ "auth:", NULL },
		{ "*@b.example", NULL },
		{ "@.", NULL },
		{ "@", NULL },
		{ "b.example", NULL },
		{ "a@b.example,c@d.example", NULL },
		{ "mailto:a@b.example", NULL },
		{ "a@b.example|", NULL },
		{ "a@b.example|foo", NULL },
		{ "a@b.example|192.0.2.0/33", NULL },
		{ "a@b.example|192.0.2.7", NULL },
		{ "a@b.example|2001:db8::/32", NULL },
		{ "|192.0.2.0/24", NULL },
		{ "@b.example|192.0.2.0/24", NULL },
		{ "", NULL },
	};
	struct tide_key key;
	struct tide_err err;
	size_t i;

	tide_key_rules_defaults(&rules);
	for (i = 0; i < LENGTH(cases); i++) {
		int rc = tide_key_wanted(&keys, cases[i].typed, &key, &err);

		CHECK_MSG(rc == (cases[i].want != NULL ? 0 : -1), "%d: %s", rc,
		    cases[i].typed);
		if (rc == 0)
			CHECK_STR(key.text, cases[i].want);
	}
}

CHECK_CASES({ "clients by prefix", clients },
    { "addresses from sockets", sockets },
    { "senders by address and network", senders },
    { "senders by other rules", sender_rules },
    { "accounts in the order set", accounts },
    { "orders that are refused", bad_orders },
    { "what is in a network", networks },
    { "networks that are refused", bad_networks },
    { "what is in a domain", domains }, { "keys of domains", domain_keys },
    { "a ban that would meet nobody", wanted })
