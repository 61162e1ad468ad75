/*
 * keys - the names under which rates are counted.
 *
 * One sender has many spellings: a tag, a bounce address a recipient, a
 * signature a day, a network of addresses.  Here they all become one key:
 *
 *   user@example.org                   an address
 *   user@example.org|192.0.2.0/24      a sender: address and client network
 *   srs@forwarder.example              whatever this forwarder rewrote
 *   list-return-*@lists.example        all of a list's bounce addresses
 *   192.0.2.7   2001:db8:1:2::/64      a client, whole or by prefix
 *   @example.org                       a domain
 *   auth:user                          an authenticated account
 *   <>                                 the null sender
 *
 * NO KIND CAN BE FORGED AS ANOTHER: an address's key always has an @, and one
 * that has nothing before or after it shows as ""@example.org or root@; what
 * is neither letter, digit, dot, hyphen nor underscore in a domain is a ?.
 *
 * Keys are printable: control characters, bytes that are no UTF-8, and the
 * characters that reverse or hide text become a ? each.  Every text, however
 * broken, yields a key; the key of a key is itself.
 *
 * Nothing here locks, blocks or keeps state.  Nothing allocates, but for
 * libidn2, which only domains with non-ASCII letters reach.
 */
#ifndef TIDEMARK_KEYS_H
#define TIDEMARK_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"

struct sockaddr;

/*
 * With a header of 8 bytes the longest key fills seven units of 16.  A longer
 * one becomes its beginning, a ~ and 16 hex digits of its keyed hash.
 */
#define TIDE_KEY_MAX 104
#define TIDE_KEY_TAIL 17 /* that ~ and those digits */

struct tide_key {
	uint8_t length;
	char text[TIDE_KEY_MAX + 1]; /* NUL-ended, and 0 up to its end */
};

bool tide_key_equal(const struct tide_key *, const struct tide_key *);

/* ---- rules ------------------------------------------------------------- */

#define TIDE_KEY_SEPARATORS 8

enum tide_sender_key { TIDE_SENDER_ADDRESS_NETWORK, TIDE_SENDER_ADDRESS };

/* Which local parts have their serial numbers replaced by #. */
enum tide_verp {
	TIDE_VERP_OFF,
	TIDE_VERP_BOUNCES, /* those that look like a bounce address */
	TIDE_VERP_ALL	   /* any: s123456 and s654321 are one then */
};

/* Who an account is. */
enum tide_key_source {
	TIDE_SOURCE_NONE,
	TIDE_SOURCE_USER,   /* authenticated */
	TIDE_SOURCE_SENDER, /* of the envelope; not the null sender */
	TIDE_SOURCE_CLIENT
};

#define TIDE_KEY_SOURCES 3

/* Flat, to be a part of the configuration. */
struct tide_key_rules {
	char tag_separators[TIDE_KEY_SEPARATORS]; /* "+"; "" keeps tags */
	uint32_t fold_local;		    /* local parts in lower case */
	uint32_t batv;			    /* prvs=0123456789=user is user */
	uint32_t srs;			    /* the forwarder pays */
	uint32_t verp;			    /* enum tide_verp */
	uint32_t sender_key;		    /* enum tide_sender_key */
	uint32_t sender_ipv4, sender_ipv6;  /* prefixes of its network */
	uint32_t account_ipv6;		    /* prefix of a client as account */
	uint32_t account[TIDE_KEY_SOURCES]; /* enum tide_key_source, in order */
};

/* Lower case, "+", all rewriting, /24 and /48, user sender client. */
void tide_key_rules_defaults(struct tide_key_rules *);

/* "user sender client": some of these words, each once. */
int tide_key_order_parse(
    const char *words, uint32_t order[TIDE_KEY_SOURCES], struct tide_err *);

/* What keys are made with; both outlive their use. */
struct tide_keys {
	const struct tide_key_rules *rules;
	const struct tide_hash_key *secret;
};

/* ---- clients and networks ---------------------------------------------- */

/* An IPv4 address is kept as ::ffff:a.b.c.d, and so is one that came so. */
struct tide_ip {
	uint8_t byte[16];
};

struct tide_net {
	struct tide_ip ip;
	uint8_t bits; /* of 128: 192.0.2.0/24 has 120 */
};

bool tide_ip_is_v4(const struct tide_ip *);

/* 192.0.2.7, 2001:db8::1 or IPv6:2001:db8::1.  False leaves *ip alone. */
bool tide_ip_parse(const char *, struct tide_ip *);

/* What libmilter gives at connect; false for NULL and other families. */
bool tide_ip_from_sockaddr(const struct sockaddr *, struct tide_ip *);

/* 192.0.2.0/24, 2001:db8::/32, or one address; 0, or -1 with a sentence. */
int tide_net_parse(const char *, struct tide_net *, struct tide_err *);

/* An IPv4 address is in no IPv6 network: not in ::/0 either. */
bool tide_net_contains(const struct tide_net *, const struct tide_ip *);

/* The prefix counts from the address's own 32 or 128; more means whole. */
struct tide_net tide_net_around(const struct tide_ip *, unsigned prefix);

/* The prefixes at which one IPv6 client is counted: 128, 64, 56, 48. */
#define TIDE_KEY_TIERS 4
extern const uint8_t tide_key_tiers[TIDE_KEY_TIERS];

void tide_key_net(const struct tide_net *, struct tide_key *);

/*
 * The client at a tier; IPv4 is whole at all of them.  Without an address
 * (mail from standard input or a local socket): "local".
 */
void tide_key_client(
    const struct tide_ip *, unsigned ipv6_prefix, struct tide_key *);

/* ---- domains ----------------------------------------------------------- */

#define TIDE_DOMAIN_MAX 256 /* with its NUL */

/*
 * The domain of an address, as in its key: lower case, A-labels, literals in
 * one spelling.  "" if there is none, or one longer than a domain can be.
 */
void tide_domain_of(const char *address, char out[TIDE_DOMAIN_MAX]);

/* "@example.org": the domain.  ".example.org": all below it, not itself. */
struct tide_domain_rule {
	uint8_t below;
	char name[TIDE_DOMAIN_MAX];
};

int
tide_domain_parse(const char *, struct tide_domain_rule *, struct tide_err *);

/* The domain is one that tide_domain_of() gave. */
bool tide_domain_matches(const struct tide_domain_rule *, const char *domain);

/* ---- keys -------------------------------------------------------------- */

/* What is known of a message; NULL where it is not. */
struct tide_key_facts {
	const char *user;   /* {auth_authen} */
	const char *sender; /* envelope, with or without <> */
	const struct tide_ip *client;
};

void tide_key_address(
    const struct tide_keys *, const char *address, struct tide_key *);

/* Whom an SRS0 or SRS1 address was made for; false if it is neither. */
bool tide_key_original(
    const struct tide_keys *, const char *address, struct tide_key *);

/*
 * By sender_key, but the address alone for an authenticated sender: nobody
 * gets banned by what others forge.  False for the null sender.
 */
bool tide_key_sender(
    const struct tide_keys *, const struct tide_key_facts *, struct tide_key *);

/*
 * The first of the rules' sources that the message has.  TIDE_SOURCE_NONE if
 * it has none of them; the key is then empty.
 */
enum tide_key_source tide_key_account(
    const struct tide_keys *, const struct tide_key_facts *, struct tide_key *);

void
tide_key_user(const struct tide_keys *, const char *user, struct tide_key *);

/* "@example.org", from that or from the bare name. */
void tide_key_domain(
    const struct tide_keys *, const char *domain, struct tide_key *);

/* Does a key end in the hash of one that was too long? */
bool tide_key_is_cut(const char *key, size_t length);

/*
 * Does the key stand for addresses that others besides one sender may have:
 * all bounce addresses of a provider, all that a forwarder rewrote?  By its
 * text alone, so that all who see a key agree: the local part is srs, or holds
 * a # or * in place of what was taken out.  An account (auth:) is one sender.
 * Who writes such an address himself has such a key, as with any bounce
 * address; nobody can make one of somebody else's.
 */
bool tide_key_is_shared(const char *key, size_t length);

/* A key as someone copied it from a log line: no rule is applied. */
void
tide_key_text(const struct tide_keys *, const char *text, struct tide_key *);

/*
 * What a person typed: an address, @domain, client, network, or a key as in
 * the log.  0, or -1 with a sentence.
 */
int tide_key_given(const struct tide_keys *, const char *text,
    struct tide_key *, struct tide_err *);

/*
 * The same, for a ban that is to be made: -1 also for what no mail can have as
 * its key, where a postmaster would take the ban for one that works.
 */
int tide_key_wanted(const struct tide_keys *, const char *text,
    struct tide_key *, struct tide_err *);

#endif
