/*
 * egress, rules - the lists in nft's language: what `egress show` prints is
 * what `egress apply` hands to the kernel, to the letter.
 *
 * Nothing here looks at the state of connections: `ct` in a rule would switch
 * connection tracking on for the whole machine, and that is not ours to do.
 * A list that changes thus takes effect on running connections with their
 * next packet; those that are still permitted notice nothing.
 *
 * Only what goes towards a mail port is looked at, so answers always pass.
 */
#include <arpa/inet.h>
#include <string.h>

#include "egress.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/ports.h"

const char *const egress_count_name[EGRESS_COUNTS] = { "banned", "denied",
	"unregistered", "permitted", "other" };

#define SET_NAME 40

/* The kernel forgets it by itself; this only keeps the text readable. */
#define TIMEOUT_MOST_MS TIDE_EGRESS_LONGEST_MS

/* ---- names and addresses ----------------------------------------------- */

static const char *const set_names[] = { [TIDE_SET_BANNED] = "banned",
	[TIDE_SET_DENIED] = "denied",
	[TIDE_SET_CUSTOMERS] = "customers",
	[TIDE_SET_PERMITTED] = "permitted",
	[TIDE_SET_BANNED_NETS] = "banned",
	[TIDE_SET_DENIED_NETS] = "denied",
	[TIDE_SET_CUSTOMERS_NETS] = "customers",
	[TIDE_SET_PERMITTED_NETS] = "permitted" };

/* denied4, denied6_nets, permitted4_nets0 */
static const char *
set_name(unsigned set, unsigned v6, char buf[SET_NAME])
{
	char version = v6 ? '6' : '4';

	if (set >= TIDE_SET_PERMITTED_NETS)
		(void)snprintf(buf, SET_NAME, "%s%c_nets%u",
		    set_names[TIDE_SET_PERMITTED_NETS], version,
		    set - TIDE_SET_PERMITTED_NETS);
	else
		(void)snprintf(buf, SET_NAME, "%s%c%s", set_names[set], version,
		    set >= TIDE_SET_BANNED_NETS ? "_nets" : "");
	return buf;
}

static bool
has_pairs(unsigned set)
{
	return set == TIDE_SET_PERMITTED || set >= TIDE_SET_PERMITTED_NETS;
}

static bool
has_nets(unsigned set)
{
	return set >= TIDE_SET_BANNED_NETS;
}

static void
put_ip(FILE *f, const struct tide_ip *ip, unsigned v6)
{
	char text[INET6_ADDRSTRLEN];

	(void)inet_ntop(v6 ? AF_INET6 : AF_INET, ip->byte + (v6 ? 0 : 12), text,
	    sizeof text);
	(void)fputs(text, f);
}

static void
put_span(FILE *f, const struct tide_egress_span *s, unsigned v6)
{
	put_ip(f, &s->from, v6);
	if (memcmp(&s->from, &s->to, sizeof s->from) == 0)
		return;
	(void)fputc('-', f);
	put_ip(f, &s->to, v6);
}

static void
put_place(FILE *f, const struct tide_egress_element *e)
{
	if (has_pairs(e->set)) {
		put_span(f, &e->customer, e->v6);
		(void)fputs(" . ", f);
	}
	put_span(f, &e->at, e->v6);
}

static void
put_element(FILE *f, const struct tide_egress_element *e, uint64_t now_ms)
{
	uint64_t left = e->until_ms > now_ms ? e->until_ms - now_ms : 1;

	put_place(f, e);
	if (e->until_ms != 0)
		(void)fprintf(f, " timeout %llums",
		    (unsigned long long)(left < TIMEOUT_MOST_MS
			    ? left
			    : TIMEOUT_MOST_MS));
}

/* ---- elements ---------------------------------------------------------- */

/* Statements of one verb, one a set. */
struct batch {
	FILE *f;
	const char *verb, *table;
	unsigned set, v6;
	size_t count;
};

static void
batch_next(struct batch *b, const struct tide_egress_element *e)
{
	char name[SET_NAME];

	if (b->count++ > 0 && b->set == e->set && b->v6 == e->v6) {
		(void)fputs(",\n\t", b->f);
		return;
	}
	if (b->count > 1)
		(void)fputs("\n}\n", b->f);
	b->set = e->set;
	b->v6 = e->v6;
	(void)fprintf(b->f, "%s element inet %s %s {\n\t", b->verb, b->table,
	    set_name(e->set, e->v6, name));
}

static void
batch_end(struct batch *b)
{
	if (b->count > 0)
		(void)fputs("\n}\n", b->f);
}

/* ---- the table --------------------------------------------------------- */

static void
put_set(FILE *f, unsigned set, unsigned v6)
{
	const char *type = v6 ? "ipv6_addr" : "ipv4_addr";
	bool lasts =
	    set == TIDE_SET_CUSTOMERS || set == TIDE_SET_CUSTOMERS_NETS;
	char name[SET_NAME];

	(void)fprintf(f, "\tset %s {\n\t\ttype %s%s%s\n",
	    set_name(set, v6, name), type, has_pairs(set) ? " . " : "",
	    has_pairs(set) ? type : "");
	if (has_nets(set) || !lasts)
		(void)fprintf(f, "\t\tflags %s%s%s\n",
		    has_nets(set) ? "interval" : "",
		    has_nets(set) && !lasts ? ", " : "",
		    lasts ? "" : "timeout");
	(void)fputs("\t}\n", f);
}

static void
put_sets(FILE *f, const struct tide_config *c, unsigned levels)
{
	uint16_t port[TIDE_PORTS_MAX];
	struct tide_err err;
	int n = tide_ports_parse(c->egress_ports, port, &err), i;
	unsigned set;

	(void)fputs(
	    "\tset ports {\n\t\ttype inet_service\n\t\telements = {", f);
	for (i = 0; i < n; i++)
		(void)fprintf(f, "%s %u", i > 0 ? "," : "", port[i]);
	(void)fputs(" }\n\t}\n", f);
	for (set = 0; set < TIDE_SET_PERMITTED_NETS + levels; set++) {
		put_set(f, set, 0);
		put_set(f, set, 1);
	}
}

/* A refusal, counted; what is only counted leaves the table at once, so that
 * it is not counted twice. */
static void
put_refusal(FILE *f, const struct tide_config *c, enum egress_count count)
{
	(void)fprintf(f,
	    "\tchain refuse_%s {\n"
	    "\t\tcounter name \"%s\"\n"
	    "\t\t%s\n"
	    "\t}\n",
	    egress_count_name[count], egress_count_name[count],
	    c->egress_mode == TIDE_EGRESS_ENFORCE
		? "meta l4proto tcp reject with tcp reset"
		: "accept");
}

/* Of connections, not of packets: a SYN without an ACK opens one. */
#define OPENING "tcp flags & (syn | ack) == syn"

static void
put_rules(FILE *f, unsigned set, const char *field, const char *verdict)
{
	char name[SET_NAME];
	unsigned v6;

	for (v6 = 0; v6 < 2; v6++) {
		const char *ip = v6 ? "ip6" : "ip";

		if (has_pairs(set))
			(void)fprintf(f,
			    "\t\t%s saddr . %s daddr @%s jump %s\n", ip, ip,
			    set_name(set, v6, name), verdict);
		else
			(void)fprintf(f, "\t\t%s %s @%s jump %s\n", ip, field,
			    set_name(set, v6, name), verdict);
	}
}

static void
put_chains(FILE *f, const struct tide_config *c, unsigned levels)
{
	unsigned i;

	put_refusal(f, c, COUNT_BANNED);
	put_refusal(f, c, COUNT_DENIED);
	put_refusal(f, c, COUNT_UNREGISTERED);
	(void)fputs("\tchain permit {\n"
		    "\t\t" OPENING " counter name \"permitted\"\n"
		    "\t\taccept\n"
		    "\t}\n"
		    "\tchain mail {\n",
	    f);
	put_rules(f, TIDE_SET_BANNED, "saddr", "refuse_banned");
	put_rules(f, TIDE_SET_BANNED_NETS, "saddr", "refuse_banned");
	put_rules(f, TIDE_SET_DENIED, "daddr", "refuse_denied");
	put_rules(f, TIDE_SET_DENIED_NETS, "daddr", "refuse_denied");
	put_rules(f, TIDE_SET_PERMITTED, "", "permit");
	for (i = 0; i < levels; i++)
		put_rules(f, TIDE_SET_PERMITTED_NETS + i, "", "permit");
	put_rules(f, TIDE_SET_CUSTOMERS, "saddr", "refuse_unregistered");
	put_rules(f, TIDE_SET_CUSTOMERS_NETS, "saddr", "refuse_unregistered");
	(void)fputs("\t\t" OPENING " counter name \"other\"\n\t}\n", f);
}

static void
put_hook(FILE *f, const struct tide_config *c, const char *hook)
{
	if (tide_config_has_word(c->egress_hooks, hook))
		(void)fprintf(f,
		    "\tchain %s {\n"
		    "\t\ttype filter hook %s priority filter; policy accept;\n"
		    "\t\ttcp dport @ports jump mail\n"
		    "\t}\n",
		    hook, hook);
}

void
egress_rules(FILE *f, const struct tide_config *c,
    const struct tide_egress_plan *p, const struct egress_counts *counts,
    uint64_t now_ms)
{
	struct batch b = { .f = f, .verb = "add", .table = c->egress_table };
	size_t i;

	/* to delete what may not be there, make it first */
	(void)fprintf(f,
	    "add table inet %s\ndelete table inet %s\ntable inet %s {\n",
	    c->egress_table, c->egress_table, c->egress_table);
	for (i = 0; i < EGRESS_COUNTS; i++)
		(void)fprintf(f,
		    "\tcounter %s {\n\t\tpackets %llu bytes %llu\n\t}\n",
		    egress_count_name[i],
		    (unsigned long long)counts->packets[i],
		    (unsigned long long)counts->bytes[i]);
	put_sets(f, c, p->levels);
	put_chains(f, c, p->levels);
	put_hook(f, c, "forward");
	put_hook(f, c, "output");
	(void)fputs("}\n", f);
	for (i = 0; i < p->count; i++) {
		batch_next(&b, &p->element[i]);
		put_element(f, &p->element[i], now_ms);
	}
	batch_end(&b);
}

/* ---- changes ----------------------------------------------------------- */

/* What times out by itself cannot be deleted, nor need it be. */
static bool
is_there(const struct tide_egress_element *e, uint64_t now_ms)
{
	return e->until_ms == 0 || e->until_ms > now_ms;
}

static int
beside(const struct tide_egress_plan *a, size_t i,
    const struct tide_egress_plan *b, size_t k)
{
	if (i == a->count || k == b->count)
		return i == a->count ? k < b->count : -1;
	if (tide_egress_element_is_same(&a->element[i], &b->element[k]))
		return 0;
	return tide_egress_compare(&a->element[i], &b->element[k]);
}

/* One walk along both: what is only in a, or there for another time. */
static size_t
put_difference(struct batch *b, const struct tide_egress_plan *a,
    const struct tide_egress_plan *other, bool with_time, uint64_t now_ms)
{
	size_t i = 0, k = 0;

	while (i < a->count) {
		const struct tide_egress_element *e = &a->element[i];
		int side = beside(a, i, other, k);

		if (side > 0) {
			k++;
			continue;
		}
		if ((side < 0 || e->until_ms != other->element[k].until_ms) &&
		    is_there(e, now_ms)) {
			batch_next(b, e);
			if (with_time)
				put_element(b->f, e, now_ms);
			else
				put_place(b->f, e);
		}
		i++;
		k += side == 0;
	}
	batch_end(b);
	return b->count;
}

size_t
egress_rules_changes(FILE *f, const struct tide_config *c,
    const struct tide_egress_plan *from, const struct tide_egress_plan *to,
    uint64_t now_ms)
{
	struct batch gone = {
		.f = f, .verb = "delete", .table = c->egress_table
	};
	struct batch new = { .f = f, .verb = "add", .table = c->egress_table };

	return put_difference(&gone, from, to, false, now_ms) +
	    put_difference(&new, to, from, true, now_ms);
}
