/*
 * Keys of addresses: many spellings, one key; and one key, one kind.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct tide_hash_key secret = { { 1, 2, 3 } };

struct address_case {
	const char *name, *address, *want;
};

static void
run_rows(
    const struct tide_key_rules *rules, const struct address_case *c, size_t n)
{
	struct tide_keys keys = { rules, &secret };
	struct tide_key key, again;

	for (; n > 0; n--, c++) {
		tide_key_address(&keys, c->address, &key);
		CHECK_MSG(strcmp(key.text, c->want) == 0,
		    "%s: «%s» is «%s», not «%s»", c->name, c->address, key.text,
		    c->want);
		CHECK_INT(key.length, strlen(c->want));
		tide_key_address(&keys, key.text, &again);
		CHECK_MSG(tide_key_equal(&key, &again),
		    "%s: the key of «%s» is «%s»", c->name, key.text,
		    again.text);
	}
}

static void
run_defaults(const struct address_case *c, size_t n)
{
	struct tide_key_rules rules;

	tide_key_rules_defaults(&rules);
	run_rows(&rules, c, n);
}

static void
spellings(void)
{
	static const struct address_case cases[] = {
		{ "an address is itself", "user@example.org",
		    "user@example.org" },
		{ "brackets go", "<user@example.org>", "user@example.org" },
		{ "blanks around go", " <user@example.org> \r\n",
		    "user@example.org" },
		{ "domains have no case", "user@EXAMPLE.Org",
		    "user@example.org" },
		{ "local parts have none by default", "User@example.org",
		    "user@example.org" },
		{ "a trailing dot goes", "user@example.org.",
		    "user@example.org" },
		{ "and so do several", "user@example.org...",
		    "user@example.org" },
		{ "a source route goes", "<@a.example,@b.example:user@d.org>",
		    "user@d.org" },
		{ "a short one too", "@a:user@d.org", "user@d.org" },
		{ "a route through a literal", "@[IPv6:2001:db8::1]:user@d.org",
		    "user@d.org" },
		{ "a route of routes", "@a:@b:user@d.org", "user@d.org" },
		{ "a route to nobody is none", "@a:", "\"\"@a?" },
		{ "a colon alone is no route", "a:b@d.org", "\"a:b\"@d.org" },
		{ "the null sender", "<>", "<>" },
		{ "the null sender, bare", "", "<>" },
		{ "the null sender, with blanks", " < > ", "<>" },
		{ "no domain", "root", "root@" },
		{ "an empty domain", "root@", "root@" },
		{ "a domain that is a dot", "root@.", "root@" },
		{ "a bang path has no domain", "host!user", "host!user@" },
		{ "an IP address for a sender is no client's key", "192.0.2.7",
		    "192.0.2.7@" },
		{ "no local part is not the whole domain", "@example.org",
		    "\"\"@example.org" },
		{ "the percent hack stays", "a%b.org@c.org", "a%b.org@c.org" },
		{ "a second @ is quoted", "a@b@c.org", "\"a@b\"@c.org" },
		{ "an account's prefix is quoted", "auth:user@d.org",
		    "\"auth:user\"@d.org" },
		{ "no network through the domain", "user@d.org|192.0.2.0/24",
		    "user@d.org?192.0.2.0?24" },
		{ "a bar in the local part is one", "a|b@d.org", "a|b@d.org" },
		{ "no hash's ~ through the domain", "u@d~0123456789abcdef",
		    "u@d?0123456789abcdef" },
		{ "an underscore may be in a domain", "u@_a.d.org",
		    "u@_a.d.org" },
	};

	run_defaults(cases, LENGTH(cases));
}

static void
quotes(void)
{
	static const struct address_case cases[] = {
		{ "quotes that were needed stay", "\"a b\"@d.org",
		    "\"a b\"@d.org" },
		{ "others go", "\"abc\"@d.org", "abc@d.org" },
		{ "with dots as well", "\"a.b\"@d.org", "a.b@d.org" },
		{ "quoted words in part", "\"a\".b@d.org", "a.b@d.org" },
		{ "forgotten ones are set", "a b@d.org", "\"a b\"@d.org" },
		{ "an @ inside", "\"a@b\"@d.org", "\"a@b\"@d.org" },
		{ "an escaped letter", "\"a\\bc\"@d.org", "abc@d.org" },
		{ "an escaped quote", "\"a\\\"b\"@d.org", "\"a\\\"b\"@d.org" },
		{ "an escaped backslash", "\"a\\\\b\"@d.org",
		    "\"a\\\\b\"@d.org" },
		{ "an escaped @ outside", "a\\@b@d.org", "\"a@b\"@d.org" },
		{ "nothing quoted", "\"\"@d.org", "\"\"@d.org" },
		{ "a quote that stays open", "\"abc@d.org",
		    "\"\\\"abc\"@d.org" },
		{ "case inside quotes", "\"A B\"@d.org", "\"a b\"@d.org" },
		{ "a needed quote keeps its tag", "\"a b+x\"@d.org",
		    "\"a b+x\"@d.org" },
		{ "a needless one does not", "\"ab+x\"@d.org", "ab@d.org" },
		{ "an @ quoted in the domain", "a@\"b@c\"", "a@?b?c?" },
		{ "quotes in the domain", "a@\"b.org\"", "a@?b.org?" },
	};

	run_defaults(cases, LENGTH(cases));
}

static void
harmless(void)
{
	static const struct address_case cases[] = {
		{ "a control character", "a\001b@d.org", "a?b@d.org" },
		{ "an escape sequence", "\033[31mx@d.org", "\"?[31mx\"@d.org" },
		{ "a line break inside", "a\r\nb@d.org", "a??b@d.org" },
		{ "DEL", "a\177@d.org", "a?@d.org" },
		{ "a byte that is no UTF-8", "a\xff@d.org", "a?@d.org" },
		{ "Latin-1", "m\xfcller@d.org", "m?ller@d.org" },
		{ "half a character", "a\xc3@d.org", "a?@d.org" },
		{ "too long a form of /", "a\xc0\xaf@d.org", "a??@d.org" },
		{ "a surrogate", "a\xed\xa0\x80@d.org", "a???@d.org" },
		{ "beyond Unicode", "a\xf4\x90\x80\x80@d.org", "a????@d.org" },
		{ "a C1 control", "a\xc2\x9b@d.org", "a?@d.org" },
		{ "text reversed", "a\xe2\x80\xae@d.org", "a?@d.org" },
		{ "a zero-width space", "a\xe2\x80\x8b@d.org", "a?@d.org" },
		{ "a soft hyphen", "a\xc2\xad@d.org", "a?@d.org" },
		{ "UTF-8 stays", "m\xc3\xbcller@d.org", "m\xc3\xbcller@d.org" },
		{ "four bytes of it too", "\xf0\x9f\x90\x9f@d.org",
		    "\xf0\x9f\x90\x9f@d.org" },
		{ "junk in a domain", "a@b c<d", "a@b?c?d" },
		{ "controls in a domain", "a@d\002.org", "a@d?.org" },
		{ "8-bit junk in a domain", "a@\xff.org", "a@?.org" },
		{ "only junk", "\001\002", "??@" },
	};

	run_defaults(cases, LENGTH(cases));
}

static void
domains(void)
{
	static const struct address_case cases[] = {
		{ "a U-label",
		    "a@b\xc3\xbc"
		    "cher.example",
		    "a@xn--bcher-kva.example" },
		{ "its A-label", "a@xn--bcher-kva.example",
		    "a@xn--bcher-kva.example" },
		{ "its A-label in capitals", "a@XN--BCHER-KVA.Example",
		    "a@xn--bcher-kva.example" },
		{ "its U-label in capitals",
		    "a@B\xc3\x9c"
		    "CHER.example",
		    "a@xn--bcher-kva.example" },
		{ "decomposed",
		    "a@bu\xcc\x88"
		    "cher.example",
		    "a@xn--bcher-kva.example" },
		{ "an ideographic full stop",
		    "a@b\xc3\xbc"
		    "cher\xe3\x80\x82"
		    "example",
		    "a@xn--bcher-kva.example" },
		{ "full-width letters", "a@\xef\xbd\x81.org", "a@a.org" },
		{ "sharp s is a letter of its own",
		    "a@stra\xc3\x9f"
		    "e.example",
		    "a@xn--strae-oqa.example" },
		{ "cyrillic",
		    "a@\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80.\xd1\x80\xd1\x84",
		    "a@xn--e1afmkfd.xn--p1ai" },
		{ "what IDNA refuses stays", "a@\xf0\x9f\x90\x9f-.org",
		    "a@\xf0\x9f\x90\x9f-.org" },
		{ "an IPv4 literal", "a@[192.0.2.1]", "a@[192.0.2.1]" },
		{ "an IPv6 literal", "a@[IPv6:2001:0DB8:0::1]",
		    "a@[ipv6:2001:db8::1]" },
		{ "an IPv6 literal without its word", "a@[2001:db8::1]",
		    "a@[ipv6:2001:db8::1]" },
		{ "a mapped literal", "a@[IPv6:::ffff:192.0.2.1]",
		    "a@[192.0.2.1]" },
		{ "a literal with a dot after it", "a@[192.0.2.1].",
		    "a@[192.0.2.1]" },
		{ "a literal that is none", "a@[X|y]", "a@[x?y]" },
		{ "half a literal", "a@[192.0.2.1", "a@?192.0.2.1" },
	};

	run_defaults(cases, LENGTH(cases));
}

static void
tags(void)
{
	static const struct address_case cases[] = {
		{ "a tag goes", "user+tag@d.org", "user@d.org" },
		{ "at the first separator", "user+a+b@d.org", "user@d.org" },
		{ "an empty one too", "user+@d.org", "user@d.org" },
		{ "a separator in front is none", "+user@d.org",
		    "+user@d.org" },
		{ "a hyphen is none by default", "user-tag@d.org",
		    "user-tag@d.org" },
	};
	static const struct address_case set[] = {
		{ "any of the separators set", "user-tag@d.org", "user@d.org" },
		{ "and the other", "user=tag@d.org", "user@d.org" },
		{ "only those", "user+tag@d.org", "user+tag@d.org" },
	};
	static const struct address_case off[] = {
		{ "no separators, no tags", "user+tag@d.org",
		    "user+tag@d.org" },
		{ "case by choice", "User@D.org", "User@d.org" },
		{ "case by choice, quoted", "\"A b\"@D.org", "\"A b\"@d.org" },
	};
	struct tide_key_rules rules;

	run_defaults(cases, LENGTH(cases));
	tide_key_rules_defaults(&rules);
	memcpy(rules.tag_separators, "-=", 3);
	run_rows(&rules, set, LENGTH(set));
	rules.tag_separators[0] = '\0';
	rules.fold_local = 0;
	run_rows(&rules, off, LENGTH(off));
	memset(rules.tag_separators, '!', sizeof rules.tag_separators);
	run_rows(&rules, off, 1); /* full, without a NUL */
}

static void
signatures(void)
{
	static const struct address_case cases[] = {
		{ "BATV", "prvs=0123456789=user@d.org", "user@d.org" },
		{ "BATV in capitals", "PRVS=01234ABCDE=User@d.org",
		    "user@d.org" },
		{ "BATV, first draft", "prvs=user/0123456789@d.org",
		    "user@d.org" },
		{ "BATV over a tag", "prvs=0123456789=user+tag@d.org",
		    "user@d.org" },
		{ "BATV twice", "prvs=0123456789=prvs=9876543210=u@d.org",
		    "u@d.org" },
		{ "BATV before a tag", "prvs=user/0123456789+tag@d.org",
		    "user@d.org" },
		{ "too short a signature", "prvs=01234=user@d.org",
		    "prvs=01234=user@d.org" },
		{ "a signature of letters", "prvs=012345678x=user@d.org",
		    "prvs=012345678x=user@d.org" },
		{ "a signature of nobody", "prvs=0123456789=@d.org",
		    "prvs=0123456789=@d.org" },
		{ "Barracuda's", "btv1==0123456789ab==user@d.org",
		    "user@d.org" },
		{ "Barracuda's, empty", "btv1====user@d.org",
		    "btv1====user@d.org" },
		{ "Message Systems'", "msprvs1=19876abcDEF=user@d.org",
		    "user@d.org" },
		{ "BATV over VERP",
		    "prvs=0123456789=list-return-123-u=e.org@d.org",
		    "list-return-*@d.org" },
		{ "BATV over SRS", "prvs=0123456789=SRS0=ab=cd=e.org=u@f.org",
		    "srs@f.org" },
	};
	static const struct address_case off[] = {
		{ "BATV by choice", "prvs=0123456789=user@d.org",
		    "prvs=0123456789=user@d.org" },
		{ "SRS by choice", "SRS0=ab=cd=e.org=u@f.org",
		    "srs0=ab=cd=e.org=u@f.org" },
	};
	struct tide_key_rules rules;

	run_defaults(cases, LENGTH(cases));
	tide_key_rules_defaults(&rules);
	rules.batv = rules.srs = 0;
	run_rows(&rules, off, LENGTH(off));
}

CHECK_CASES({ "many spellings of an address", spellings },
    { "quotes only where they are needed", quotes },
    { "nothing harmful in a key", harmless },
    { "one spelling for a domain", domains },
    { "tags by the separators set", tags },
    { "signatures come off", signatures })
