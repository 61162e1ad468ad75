/*
 * Lists: what a word may be, whom it means, and who can get onto a list by
 * writing somebody else's address.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"
#include "tidemark/settings/peers.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct tide_hash_key secret = { { 1, 2, 3 } };

/* One message: who logged in (or NULL), the envelope's sender, the client. */
struct mail {
	const char *user, *sender, *client;
};

static bool
is_allowed(const struct tide_profile *p, const struct mail *m)
{
	struct tide_key_rules rules;
	const struct tide_keys keys = { &rules, &secret };
	struct tide_key account, address, domain;
	struct tide_listed who = { .keys = &keys };
	char name[TIDE_DOMAIN_MAX];
	struct tide_ip ip;

	tide_key_rules_defaults(&rules);
	if (m->user != NULL) {
		tide_key_user(&keys, m->user, &account);
		who.account = &account;
	}
	tide_key_address(&keys, m->sender, &address);
	who.address = &address;
	tide_domain_of(m->sender, name);
	tide_key_domain(&keys, name, &domain);
	who.domain = &domain;
	if (m->client != NULL && tide_ip_parse(m->client, &ip))
		who.client = &ip;
	return tide_allows(p, &who);
}

static const struct allow_case {
	const char *name, *allow, *forgeable;
	struct mail mail;
	bool want;
} allow_cases[] = {
	{ "a client's network", "192.0.2.0/24", "",
	    { NULL, "x@y.example", "192.0.2.7" }, true },
	{ "and no other", "192.0.2.0/24", "",
	    { NULL, "x@y.example", "192.0.3.7" }, false },
	{ "a network holds for an account, too", "192.0.2.0/24", "",
	    { "carol", "x@y.example", "192.0.2.7" }, true },
	{ "an IPv6 network", "2001:db8::/32", "",
	    { NULL, "x@y.example", "2001:db8::1" }, true },
	{ "an account", "auth:Lists", "",
	    { "lists", "x@y.example", "203.0.113.1" }, true },
	{ "another account", "auth:lists", "",
	    { "carol", "lists@y.example", "203.0.113.1" }, false },
	{ "an account's name without logging in", "auth:lists", "",
	    { NULL, "auth:lists", "203.0.113.1" }, false },
	{ "nor with a domain", "auth:lists", "",
	    { NULL, "<auth:lists@y.example>", "203.0.113.1" }, false },
	{ "an account that is an address", "auth:ann@Exämple.org", "",
	    { "ann@exämple.org", "x@y.example", "203.0.113.1" }, true },
	{ "an address in its network", "news@a.example|192.0.2.0/24", "",
	    { NULL, "<news+7@A.example>", "192.0.2.9" }, true },
	{ "not from elsewhere", "news@a.example|192.0.2.0/24", "",
	    { NULL, "news@a.example", "198.51.100.9" }, false },
	{ "not without a client", "news@a.example|192.0.2.0/24", "",
	    { NULL, "news@a.example", NULL }, false },
	{ "its network alone is not enough", "news@a.example|192.0.2.0/24", "",
	    { NULL, "other@a.example", "192.0.2.9" }, false },
	{ "no account gets it by its envelope", "news@a.example|192.0.2.0/24",
	    "", { "carol", "news@a.example", "192.0.2.9" }, false },
	{ "a domain in a network", "@exämple.org|192.0.2.0/24", "",
	    { NULL, "n@xn--exmple-cua.org", "192.0.2.9" }, true },
	{ "an address of SMTPUTF8", "Jürgen@exämple.org|192.0.2.0/24", "",
	    { NULL, "<jürgen@exämple.org>", "192.0.2.9" }, true },
	{ "a tag in the list is no matter", "ann+x@a.example|192.0.2.9", "",
	    { NULL, "ann@a.example", "192.0.2.9" }, true },
	{ "forgeable: from anywhere", "", "news@a.example @b.example",
	    { NULL, "news@a.example", "198.51.100.9" }, true },
	{ "forgeable: a domain", "", "news@a.example @b.example",
	    { NULL, "x@B.example", "198.51.100.9" }, true },
	{ "forgeable: not by an account", "", "news@a.example @b.example",
	    { "carol", "news@a.example", "198.51.100.9" }, false },
	{ "forgeable: nor its domain", "", "news@a.example @b.example",
	    { "carol", "x@b.example", "198.51.100.9" }, false },
	{ "forgeable: the null sender is nobody", "", "@b.example",
	    { NULL, "<>", "198.51.100.9" }, false },
	{ "nothing is nobody", "", "", { NULL, "a@b.example", "192.0.2.1" },
	    false },
};

static void
test_allow(void)
{
	for (size_t i = 0; i < LENGTH(allow_cases); i++) {
		const struct allow_case *c = &allow_cases[i];
		struct tide_profile p = { .name = "p" };

		(void)snprintf(p.allow, sizeof p.allow, "%s", c->allow);
		(void)snprintf(p.allow_forgeable, sizeof p.allow_forgeable,
		    "%s", c->forgeable);
		CHECK_MSG(is_allowed(&p, &c->mail) == c->want, "%s", c->name);
	}
}

static const struct word_case {
	const char *text;
	unsigned kind; /* 0: is none */
} word_cases[] = {
	{ "192.0.2.7", TIDE_WORD_NETWORK },
	{ "192.0.2.0/24", TIDE_WORD_NETWORK },
	{ "2001:db8::/32", TIDE_WORD_NETWORK },
	{ "192.0.2.0/33", 0 },
	{ "192.0.2.1/24", 0 },
	{ "nonsense", 0 },
	{ "", 0 },
	{ "auth:lists", TIDE_WORD_ACCOUNT },
	{ "auth:", 0 },
	{ "a@b.example", TIDE_WORD_ADDRESS },
	{ "jürgen@exämple.org", TIDE_WORD_ADDRESS },
	{ "a|b@c.example", TIDE_WORD_ADDRESS },
	{ "@b.example", TIDE_WORD_DOMAIN },
	{ "a@", 0 },
	{ "@", 0 },
	{ "*@b.example", 0 },
	{ "<a@b.example>", 0 },
	{ "a@b.example|192.0.2.0/24", TIDE_WORD_WITHIN },
	{ "@b.example|2001:db8::/32", TIDE_WORD_WITHIN },
	{ "a@b.example|192.0.2.0/33", 0 },
	{ "a@b.example|", 0 },
	{ "|192.0.2.0/24", 0 },
};

static void
test_words(void)
{
	for (size_t i = 0; i < LENGTH(word_cases); i++) {
		const struct word_case *c = &word_cases[i];
		struct tide_list_word w;
		struct tide_err err;
		int rc = tide_list_word(c->text, &w, &err);

		CHECK_MSG(
		    rc == (c->kind == 0 ? -1 : 0), "«%s»: %d", c->text, rc);
		if (rc == 0)
			CHECK_MSG((unsigned)w.kind == c->kind, "«%s» is %u",
			    c->text, (unsigned)w.kind);
	}
}

static const struct peer_case {
	const char *name, *peers, *client;
	bool want;
} peer_cases[] = {
	{ "no list, as before there was one", "", "192.0.2.7", true },
	{ "an address", "198.51.100.1 192.0.2.7", "192.0.2.7", true },
	{ "and no other", "198.51.100.1 192.0.2.7", "192.0.2.8", false },
	{ "a network", "192.0.2.0/24", "192.0.2.8", true },
	{ "the same in IPv6", "192.0.2.0/24", "::ffff:192.0.2.8", true },
	{ "an IPv6 network", "2001:db8::/64", "2001:db8::7", true },
	{ "and no other", "2001:db8::/64", "2001:db8:0:1::7", false },
	{ "everybody, in so many words", "0.0.0.0/0", "203.0.113.1", true },
	{ "but of that family", "0.0.0.0/0", "2001:db8::7", false },
	{ "loopback always", "192.0.2.7", "127.0.0.1", true },
	{ "all of it", "192.0.2.7", "127.9.8.7", true },
	{ "by IPv6", "192.0.2.7", "::1", true },
	{ "in IPv6", "192.0.2.7", "::ffff:127.0.0.1", true },
	{ "the unspecified address is none", "192.0.2.7", "::", false },
	{ "a word that means nobody lets nobody", "nonsense", "192.0.2.7",
	    false },
};

static void
test_peers(void)
{
	for (size_t i = 0; i < LENGTH(peer_cases); i++) {
		const struct peer_case *c = &peer_cases[i];
		struct tide_ip ip;

		CHECK(tide_ip_parse(c->client, &ip));
		CHECK_MSG(
		    tide_peers_let(c->peers, &ip) == c->want, "%s", c->name);
	}
}

static void
test_sockets(void)
{
	static const struct {
		const char *socket;
		bool needs;
	} cases[] = {
		{ "local:/run/tidemark/a@192.0.2.1", false },
		{ "inet:8891@127.0.0.1", false },
		{ "inet:8891@127.0.0.2", false },
		{ "inet:8891@::1", false },
		{ "inet:8891@::ffff:127.0.0.1", false },
		{ "inet:8891@0.0.0.0", true },
		{ "inet:8891@::", true },
		{ "inet:8891@192.0.2.1", true },
		{ "inet:8891@2001:db8::1", true },
		{ "inet:8891@::ffff:192.0.2.1", true },
	};

	for (size_t i = 0; i < LENGTH(cases); i++)
		CHECK_MSG(tide_peers_needed(cases[i].socket) == cases[i].needs,
		    "%s", cases[i].socket);
}

CHECK_CASES({ "who is allowed, and who only says so", test_allow },
    { "what a word is", test_words }, { "who may connect", test_peers },
    { "which sockets need a list of them", test_sockets })
