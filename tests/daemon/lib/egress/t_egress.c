/*
 * Egress: what a line may be, what the archive keeps, and sets that do not
 * overlap and yet mean the same as the entries they were made of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_egress.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/ports.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define T0 1794830400000ull /* 2026-11-16 12:00 UTC */

static int
parse(enum tide_egress_kind kind, const char *text, struct tide_egress *e,
    struct tide_err *err)
{
	char line[512];

	snprintf(line, sizeof line, "%s", text);
	return tide_egress_read(kind, line, T0, e, err);
}

static struct tide_egress
entry(enum tide_egress_kind kind, const char *text)
{
	struct tide_egress e;
	struct tide_err err = { "" };

	CHECK_MSG(parse(kind, text, &e, &err) == 1, "%s: %s", text, err.text);
	return e;
}

/* ---- lines ------------------------------------------------------------- */

static const struct line_case {
	const char *name;
	enum tide_egress_kind kind;
	const char *text;
	int want;
	const char *again; /* written back, or what the complaint holds */
} lines[] = {
	{ "an address", TIDE_EGRESS_DENY, "192.0.2.7\n", 1, "192.0.2.7" },
	{ "a network and a reason", TIDE_EGRESS_DENY,
	    "192.0.2.0/24 open  relay # seen", 1, "192.0.2.0/24 open relay" },
	{ "IPv6", TIDE_EGRESS_DENY, "2001:DB8::/32", 1, "2001:db8::/32" },
	{ "IPv4 in IPv6 is IPv4", TIDE_EGRESS_DENY, "::ffff:192.0.2.1", 1,
	    "192.0.2.1" },
	{ "a comment", TIDE_EGRESS_DENY, "  # 192.0.2.7\r\n", 0, "" },
	{ "the other comment", TIDE_EGRESS_DENY, "; list of today", 0, "" },
	{ "nothing", TIDE_EGRESS_PERMIT, "\n", 0, "" },
	{ "a comment right after", TIDE_EGRESS_DENY, "192.0.2.0/24 ; SB123", 1,
	    "192.0.2.0/24" },
	{ "for a time", TIDE_EGRESS_DENY, "192.0.2.7 for=90s why", 1,
	    "192.0.2.7 until=@1794830490 why" },
	{ "until a moment", TIDE_EGRESS_DENY, "192.0.2.7 until=@1794830490", 1,
	    "192.0.2.7 until=@1794830490" },
	{ "half a second is a second", TIDE_EGRESS_DENY, "192.0.2.7 for=500ms",
	    1, "192.0.2.7 until=@1794830401" },
	{ "a registration", TIDE_EGRESS_PERMIT, "10.1.2.3 192.0.2.25 office", 1,
	    "10.1.2.3 192.0.2.25 office" },
	{ "networks", TIDE_EGRESS_PERMIT, "10.0.0.0/8 192.0.2.0/28", 1,
	    "10.0.0.0/8 192.0.2.0/28" },
	{ "everywhere is a permission", TIDE_EGRESS_PERMIT,
	    "10.0.0.1 0.0.0.0/0", 1, "10.0.0.1 0.0.0.0/0" },
	{ "no address", TIDE_EGRESS_DENY, "relay.example.org", -1, "neither" },
	{ "bits beyond", TIDE_EGRESS_DENY, "192.0.2.1/24", -1, "192.0.2.0/24" },
	{ "everybody", TIDE_EGRESS_DENY, "0.0.0.0/0", -1, "is everybody" },
	{ "everybody, IPv6", TIDE_EGRESS_DENY, "::/0", -1, "is everybody" },
	{ "no server", TIDE_EGRESS_PERMIT, "10.1.2.3 # x", -1, "no server" },
	{ "families differ", TIDE_EGRESS_PERMIT, "10.1.2.3 2001:db8::1", -1,
	    "IPv4 address does not reach" },
	{ "over already", TIDE_EGRESS_DENY, "192.0.2.7 until=@1000", -1,
	    "over already" },
	{ "for no time", TIDE_EGRESS_DENY, "192.0.2.7 for=0", -1, "more than" },
	{ "no time", TIDE_EGRESS_DENY, "192.0.2.7 for=ever", -1, "ever" },
	{ "a long reason", TIDE_EGRESS_DENY,
	    "192.0.2.7 0123456789012345678901234567890123456789 "
	    "01234567890123456789012",
	    -1, "at most 63" },
};

static void
lines_read(void)
{
	struct tide_egress e;
	struct tide_err err;
	char again[256];
	size_t i;

	for (i = 0; i < LENGTH(lines); i++) {
		const struct line_case *c = &lines[i];
		int got = parse(c->kind, c->text, &e, &err);

		CHECK_MSG(
		    got == c->want, "%s: is %d, not %d", c->name, got, c->want);
		if (got < 0) {
			CHECK_MSG(strstr(err.text, c->again) != NULL,
			    "%s: «%s»", c->name, err.text);
		} else if (got > 0) {
			(void)tide_egress_write(&e, again, sizeof again);
			CHECK_STR(again, c->again);
			CHECK_INT(e.since_ms, T0);
		}
	}
}

static void
control_characters(void)
{
	struct tide_egress e = entry(TIDE_EGRESS_DENY, "192.0.2.7 a\x1b[31mb");

	CHECK_STR(e.reason, "a?[31mb");
}

static void
ports(void)
{
	uint16_t port[TIDE_PORTS_MAX];
	struct tide_err err;

	CHECK_INT(tide_ports_parse("25 465 587", port, &err), 3);
	CHECK_INT(port[1], 465);
	CHECK_INT(tide_ports_parse("0", port, &err), -1);
	CHECK_INT(tide_ports_parse("25 65536", port, &err), -1);
	CHECK_INT(tide_ports_parse("25x", port, &err), -1);
	CHECK_INT(tide_ports_parse("", port, &err), -1);
	CHECK_INT(tide_ports_parse(
		      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", port, &err),
	    -1);
}

/* ---- the archive ------------------------------------------------------- */

static int
list(struct tide_archive *a, enum tide_egress_kind kind,
    struct tide_egress *out, size_t most)
{
	struct tide_err err = { "" };
	int n = tide_archive_list_egress(a, kind, NULL, out, most, &err);

	CHECK_MSG(n >= 0, "%s", err.text);
	return n;
}

static void
stored(void)
{
	struct tide_egress e[3], got[4];
	struct tide_config c;
	struct tide_archive a;
	struct tide_err err;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	e[0] = entry(TIDE_EGRESS_DENY, "192.0.2.7 proxy");
	e[1] = entry(TIDE_EGRESS_DENY, "2001:db8::/32");
	e[2] = entry(TIDE_EGRESS_PERMIT, "10.0.0.1 192.0.2.25");
	CHECK_INT(tide_archive_put_egress(&a, e, 3, &err), 3);
	tide_archive_close(&a); /* another life */
	fixture_open_archive(&c, &a);
	CHECK_INT(list(&a, TIDE_EGRESS_DENY, got, 4), 2);
	CHECK_INT(list(&a, TIDE_EGRESS_PERMIT, got, 4), 1);
	CHECK(tide_egress_is_same(&got[0], &e[2]));

	/* again: since when it is and what was found stay */
	CHECK_INT(tide_archive_checked_egress(
		      &a, &e[2].net.ip, TIDE_EGRESS_RELAY, T0 + 5, &err),
	    1);
	e[2].since_ms += 1000;
	snprintf(e[2].reason, sizeof e[2].reason, "office");
	CHECK_INT(tide_archive_put_egress(&a, &e[2], 1, &err), 0);
	CHECK_INT(list(&a, TIDE_EGRESS_PERMIT, got, 4), 1);
	CHECK_INT(got[0].since_ms, T0);
	CHECK_INT(got[0].checked_ms, T0 + 5);
	CHECK_INT(got[0].verdict, TIDE_EGRESS_RELAY);
	CHECK_STR(got[0].reason, "office");

	CHECK_INT(tide_archive_del_egress(&a, e, 3, &err), 3);
	CHECK_INT(tide_archive_del_egress(&a, e, 3, &err), 0);
	CHECK_INT(list(&a, TIDE_EGRESS_DENY, got, 4), 0);
	tide_archive_close(&a);
}

/* More than one page, and more probes stored than fit in one go. */
#define MANY 700
static void
pages(void)
{
	struct tide_egress *e = calloc(MANY, sizeof *e), page[100], last;
	struct tide_config c;
	struct tide_archive a;
	struct tide_err err;
	char text[64];
	int i, n, sum = 0;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	for (i = 0; i < MANY; i++) {
		snprintf(text, sizeof text, "10.0.%d.%d 192.0.2.25", i / 256,
		    i % 256);
		e[i] = entry(TIDE_EGRESS_PERMIT, text);
	}
	CHECK_INT(tide_archive_put_egress(&a, e, MANY, &err), MANY);
	CHECK_INT(tide_archive_checked_egress(
		      &a, &e[0].net.ip, TIDE_EGRESS_GOOD, T0 + 1, &err),
	    MANY);
	do {
		n = tide_archive_list_egress(&a, TIDE_EGRESS_PERMIT,
		    sum > 0 ? &last : NULL, page, 100, &err);
		CHECK(n >= 0);
		for (i = 0; i < n; i++) {
			CHECK(tide_egress_is_same(&page[i], &e[sum + i]));
			CHECK_INT(page[i].verdict, TIDE_EGRESS_GOOD);
		}
		if (n > 0)
			last = page[n - 1];
		sum += n;
	} while (n > 0);
	CHECK_INT(sum, MANY);
	tide_archive_close(&a);
	free(e);
}

/* An expired denial goes; an expired registration stays, as it still says
 * that its customer is not free. */
static void
expiry(void)
{
	struct tide_egress e[3], got[4];
	struct tide_config c;
	struct tide_archive a;
	struct tide_err err;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	e[0] = entry(TIDE_EGRESS_DENY, "192.0.2.7 for=10s");
	e[1] = entry(TIDE_EGRESS_DENY, "192.0.2.8");
	e[2] = entry(TIDE_EGRESS_PERMIT, "10.0.0.1 192.0.2.25 for=10s");
	CHECK_INT(tide_archive_put_egress(&a, e, 3, &err), 3);
	CHECK_INT(tide_archive_expire_egress(&a, T0 + 9999, &err), 0);
	CHECK_INT(tide_archive_expire_egress(&a, T0 + 10000, &err), 1);
	CHECK_INT(list(&a, TIDE_EGRESS_DENY, got, 4), 1);
	CHECK(tide_egress_is_same(&got[0], &e[1]));
	CHECK_INT(list(&a, TIDE_EGRESS_PERMIT, got, 4), 1);
	tide_archive_close(&a);
}

static void
damaged(void)
{
	struct tide_egress e = entry(TIDE_EGRESS_DENY, "192.0.2.7"), got[2];
	const uint8_t key[35] = { 0 };
	struct tide_config c;
	struct tide_archive a;
	struct tide_txn *txn;
	struct tide_err err;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	CHECK_INT(tide_archive_put_egress(&a, &e, 1, &err), 1);
	txn = tide_txn_begin(a.store, true, &err);
	CHECK(txn != NULL);
	CHECK_INT(tide_txn_put(txn, TIDE_TABLE_EGRESS, tide_bytes(key, 35),
		      tide_bytes(&e, sizeof e), &err),
	    0);
	CHECK_INT(tide_txn_put(txn, TIDE_TABLE_EGRESS, tide_bytes(key, 3),
		      tide_bytes("x", 1), &err),
	    0);
	CHECK_INT(tide_txn_commit(txn, &err), 0);
	CHECK_INT(list(&a, TIDE_EGRESS_DENY, got, 2), 1);
	CHECK(tide_egress_is_same(&got[0], &e));
	tide_archive_close(&a);
}

/* ---- the plan ---------------------------------------------------------- */

static bool
within(const struct tide_egress_span *s, const struct tide_ip *ip)
{
	return memcmp(&s->from, ip, sizeof *ip) <= 0 &&
	    memcmp(ip, &s->to, sizeof *ip) <= 0;
}

static bool
overlap(const struct tide_egress_span *a, const struct tide_egress_span *b)
{
	return within(a, &b->from) || within(b, &a->from);
}

static void
no_overlaps(const struct tide_egress_plan *p)
{
	size_t i, k;

	for (i = 0; i < p->count; i++)
		for (k = i + 1; k < p->count; k++) {
			const struct tide_egress_element *a = &p->element[i];
			const struct tide_egress_element *b = &p->element[k];

			CHECK_MSG(a->set != b->set || a->v6 != b->v6 ||
				!overlap(&a->customer, &b->customer) ||
				!overlap(&a->at, &b->at),
			    "%zu and %zu overlap in set %u", i, k, a->set);
		}
}

static uint64_t
longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Until when it is so, by the entries: 0 it is not, UINT64_MAX for good. */
static uint64_t
by_entries(const struct tide_egress *e, size_t n, enum tide_egress_kind kind,
    const struct tide_ip *customer, const struct tide_ip *at)
{
	uint64_t until = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (e[i].kind == kind && !tide_egress_is_over(&e[i], T0) &&
		    tide_net_contains(&e[i].net, at) &&
		    (kind != TIDE_EGRESS_PERMIT ||
			tide_net_contains(&e[i].customer, customer)))
			until = longer(until,
			    e[i].until_ms == 0 ? UINT64_MAX : e[i].until_ms);
	return until;
}

static bool
set_is_of(unsigned set, enum tide_egress_kind kind)
{
	switch (kind) {
	case TIDE_EGRESS_DENY:
		return set == TIDE_SET_DENIED || set == TIDE_SET_DENIED_NETS;
	case TIDE_EGRESS_BAN:
		return set == TIDE_SET_BANNED || set == TIDE_SET_BANNED_NETS;
	default:
		return set == TIDE_SET_PERMITTED ||
		    set >= TIDE_SET_PERMITTED_NETS;
	}
}

static uint64_t
by_plan(const struct tide_egress_plan *p, enum tide_egress_kind kind,
    const struct tide_ip *customer, const struct tide_ip *at)
{
	uint64_t until = 0;
	size_t i;

	for (i = 0; i < p->count; i++) {
		const struct tide_egress_element *e = &p->element[i];

		if (set_is_of(e->set, kind) && within(&e->at, at) &&
		    (kind != TIDE_EGRESS_PERMIT ||
			within(&e->customer, customer)))
			until = longer(
			    until, e->until_ms == 0 ? UINT64_MAX : e->until_ms);
	}
	return until;
}

static bool
is_customer(const struct tide_egress_plan *p, const struct tide_ip *ip)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if ((p->element[i].set == TIDE_SET_CUSTOMERS ||
			p->element[i].set == TIDE_SET_CUSTOMERS_NETS) &&
		    within(&p->element[i].at, ip))
			return true;
	return false;
}

/* Few bits differ, so that nets often nest and meet their ends. */
static struct tide_net
random_net(uint64_t *seed, bool v6)
{
	struct tide_ip ip;
	uint64_t r = fixture_random(seed);

	CHECK(tide_ip_parse(v6 ? "2001:db8::" : "10.0.0.0", &ip));
	ip.byte[15] = (uint8_t)(r & 0xf);
	ip.byte[14] = (uint8_t)(r >> 8 & 1) * 0xff;
	if ((r >> 16 & 3) == 0)
		memset(ip.byte + 12, 0xff, 3); /* the end of it all */
	if ((r >> 16 & 7) == 0 && v6)
		memset(ip.byte, 0xff, 12);
	return tide_net_around(&ip,
	    (v6 ? 128 : 32) -
		(unsigned)((r >> 24) % 5) * (r >> 32 & 1 ? 1 : 6));
}

#define ENTRIES 40
#define ROUNDS 300

static void
random_entries(struct tide_egress *e, size_t n, uint64_t *seed)
{
	size_t i;

	memset(e, 0, n * sizeof *e);
	for (i = 0; i < n; i++) {
		uint64_t r = fixture_random(seed);
		bool v6 = r & 1;

		e[i].kind = (uint8_t)((r >> 8) % TIDE_EGRESS_KINDS);
		e[i].net = random_net(seed, v6);
		if (e[i].kind == TIDE_EGRESS_PERMIT)
			e[i].customer = random_net(seed, v6);
		e[i].until_ms =
		    (r >> 16 & 3) == 0 ? 0 : T0 - 1000 + (r >> 20) % 6 * 1000;
	}
}

static void
compare_at(const struct tide_egress_plan *p, const struct tide_egress *e,
    const struct tide_ip *customer, const struct tide_ip *at)
{
	unsigned kind;

	for (kind = 0; kind < TIDE_EGRESS_KINDS; kind++)
		CHECK_INT(by_plan(p, kind, customer, at),
		    by_entries(e, ENTRIES, kind, customer, at));
}

static void
plan_means_the_same(void)
{
	struct tide_egress e[ENTRIES];
	struct tide_egress_plan p;
	struct tide_err err;
	uint64_t seed = 42;
	unsigned levels = 0;
	size_t i, k;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		random_entries(e, ENTRIES, &seed);
		CHECK_INT(tide_egress_plan(&p, e, ENTRIES, T0, &err), 0);
		no_overlaps(&p);
		levels = p.levels > levels ? p.levels : levels;
		for (i = 0; i < ENTRIES; i++) {
			if (e[i].kind == TIDE_EGRESS_PERMIT)
				CHECK(is_customer(&p, &e[i].customer.ip));
			for (k = 0; k < ENTRIES; k++)
				compare_at(
				    &p, e, &e[k].customer.ip, &e[i].net.ip);
			compare_at(&p, e, &p.element[i % p.count].customer.to,
			    &p.element[i % p.count].at.to);
		}
		for (i = 1; i < p.count; i++)
			CHECK(tide_egress_compare(
				  &p.element[i - 1], &p.element[i]) < 0);
		tide_egress_plan_free(&p);
	}
	CHECK(levels > 2); /* or it has tried little */
}

static void
plan_of(struct tide_egress_plan *p, enum tide_egress_kind kind,
    const char *const *text, size_t n)
{
	struct tide_egress e[8];
	struct tide_err err;
	size_t i;

	for (i = 0; i < n; i++)
		e[i] = entry(kind, text[i]);
	CHECK_INT(tide_egress_plan(p, e, n, T0, &err), 0);
}

static void
carved(void)
{
	static const char *const text[] = { "10.0.0.0/24 for=1h",
		"10.0.0.64/26", "10.0.0.0/25 for=1min" };
	struct tide_egress_plan p;
	struct tide_key key;
	struct tide_net net = { .bits = 128 };

	plan_of(&p, TIDE_EGRESS_DENY, text, 3);
	CHECK_INT(p.count, 3); /* the minute lies within the hour */
	net.ip = p.element[0].at.to;
	tide_key_net(&net, &key);
	CHECK_STR(key.text, "10.0.0.63");
	CHECK_INT(p.element[0].until_ms, T0 + 3600000);
	CHECK_INT(p.element[1].until_ms, 0);
	net.ip = p.element[2].at.from;
	tide_key_net(&net, &key);
	CHECK_STR(key.text, "10.0.0.128");
	tide_egress_plan_free(&p);
}

/* Two rectangles of which each begins within the other. */
static void
crossing(void)
{
	static const char *const text[] = { "10.0.0.0/8 192.0.2.0/30",
		"10.0.0.0/16 192.0.2.0/24", "10.0.0.0/16 192.0.2.0/28 for=1h" };
	struct tide_egress_plan p;

	plan_of(&p, TIDE_EGRESS_PERMIT, text, 3);
	no_overlaps(&p);
	CHECK_INT(p.levels, 2);
	CHECK_INT(p.count, 3); /* two pairs, and one customer around both */
	tide_egress_plan_free(&p);
}

static void
of_nothing(void)
{
	struct tide_egress_plan p;
	struct tide_err err;

	CHECK_INT(tide_egress_plan(&p, NULL, 0, T0, &err), 0);
	CHECK_INT(p.count, 0);
	CHECK_INT(p.levels, 0);
	tide_egress_plan_free(&p);
}

CHECK_CASES({ "lines are read, written back, refused", lines_read },
    { "a reason is printable", control_characters }, { "ports", ports },
    { "the archive stores, replaces, deletes", stored },
    { "lists are read page by page", pages },
    { "denials expire, registrations stay", expiry },
    { "damaged records are passed over", damaged },
    { "a plan means what its entries mean, without overlaps",
	plan_means_the_same },
    { "what lasts longer is carved out", carved },
    { "pairs that cross go to levels of their own", crossing },
    { "a plan of nothing", of_nothing })
