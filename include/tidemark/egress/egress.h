/*
 * egress - the ways out that do not pass the mail server.
 *
 * Three kinds of entries:
 *   deny    addresses and networks that nobody may reach on the mail ports
 *           (filter-out)
 *   permit  a customer (an address or network) and a mail server registered
 *           for it; whoever has one may reach no other (filter-in)
 *   ban     a client that we have banned: it may reach none.  Not stored
 *           here; bans.h has them
 * A denied server stays denied to those who registered it.  What is permitted
 * to a network is permitted to everyone in it.  A registration that has
 * expired no longer permits, but its customer does not thereby get free: only
 * deleting its last registration does that.
 *
 * The archive has the entries (archive_egress.h).  tide_egress_plan() makes of them what a packet filter
 * can hold: sets whose elements do not overlap.  The caller passes the time.
 */
#ifndef TIDEMARK_EGRESS_H
#define TIDEMARK_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"

#define TIDE_EGRESS_REASON_MAX 63
#define TIDE_EGRESS_ORIGIN_MAX 31
#define TIDE_EGRESS_LONGEST_MS (100ull * 365 * 86400000)

enum tide_egress_kind {
	TIDE_EGRESS_DENY,
	TIDE_EGRESS_PERMIT,
	TIDE_EGRESS_BAN,
	TIDE_EGRESS_KINDS
};

extern const char *const tide_egress_kind_name[TIDE_EGRESS_KINDS];

/* What a probe of a registered server found. */
enum tide_egress_verdict {
	TIDE_EGRESS_UNCHECKED,
	TIDE_EGRESS_GOOD,	 /* speaks SMTP and relays for no stranger */
	TIDE_EGRESS_UNREACHABLE, /* no connection */
	TIDE_EGRESS_SILENT,	 /* a connection, but no SMTP */
	TIDE_EGRESS_RELAY,	 /* takes mail from anybody for anybody */
	TIDE_EGRESS_UNCLEAR,	 /* it did not say: a temporary refusal */
	TIDE_EGRESS_VERDICTS
};

/* One word each, as on the wire and in JSON. */
extern const char *const tide_egress_verdict_name[TIDE_EGRESS_VERDICTS];

struct tide_egress {
	uint64_t since_ms;
	uint64_t until_ms; /* 0: for good */
	uint64_t checked_ms;
	struct tide_net customer; /* permit only; else all 0 */
	struct tide_net net;	  /* denied, the server, or the banned */
	uint8_t kind;		  /* enum tide_egress_kind */
	uint8_t verdict;	  /* enum tide_egress_verdict */
	char origin[TIDE_EGRESS_ORIGIN_MAX + 1];
	char reason[TIDE_EGRESS_REASON_MAX + 1];
	uint8_t pad[4];
};
_Static_assert(sizeof(struct tide_egress) % 8 == 0, "no hidden padding");

bool tide_egress_is_over(const struct tide_egress *, uint64_t now_ms);

/* The same kind, customer and network? */
bool
tide_egress_is_same(const struct tide_egress *, const struct tide_egress *);

/*
 * One line as people write them, which is cut up:
 *
 *   NETWORK [until=MOMENT | for=TIME] [REASON]           of a deny list
 *   CUSTOMER SERVER [until=MOMENT | for=TIME] [REASON]   of a permit list
 *
 * What follows a word that begins with # or ; is a comment.  1 if there is an
 * entry, 0 if there is none, -1 with a sentence.  since_ms is the time passed.
 */
int tide_egress_read(enum tide_egress_kind, char *line, uint64_t now_ms,
    struct tide_egress *, struct tide_err *);

/* The line that reads back as this entry; its length, as snprintf() has it. */
int tide_egress_write(const struct tide_egress *, char *buf, size_t);

/* ---- the plan ---------------------------------------------------------- */

/*
 * Which set of the packet filter.  Addresses and networks are kept apart:
 * a hash of addresses takes a new one at once however large it is, where
 * ordered intervals have to be compared with all that are there.
 */
enum tide_egress_set {
	TIDE_SET_BANNED,
	TIDE_SET_DENIED,
	TIDE_SET_CUSTOMERS,
	TIDE_SET_PERMITTED, /* customer, server */
	TIDE_SET_BANNED_NETS,
	TIDE_SET_DENIED_NETS,
	TIDE_SET_CUSTOMERS_NETS,
	TIDE_SET_PERMITTED_NETS /* and the ones after it: a level each */
};

struct tide_egress_span {
	struct tide_ip from, to;
};

struct tide_egress_element {
	uint32_t set; /* enum tide_egress_set, a level added */
	uint32_t v6;
	struct tide_egress_span customer; /* of PERMITTED sets; else all 0 */
	struct tide_egress_span at;
	uint64_t until_ms; /* 0: for good */
};

/* Sorted, so that two plans can be compared side by side. */
struct tide_egress_plan {
	struct tide_egress_element *element;
	size_t count;
	unsigned levels; /* of PERMITTED_NETS */
};

/*
 * What stands at that time.  Within a set no two elements overlap; where
 * entries do, the one that lasts longest counts.
 */
int tide_egress_plan(struct tide_egress_plan *, const struct tide_egress *,
    size_t, uint64_t now_ms, struct tide_err *);
void tide_egress_plan_free(struct tide_egress_plan *);

/* By set and place; what lasts longer comes first. */
int tide_egress_compare(
    const struct tide_egress_element *, const struct tide_egress_element *);

/* Is it of the same set and place, whatever it lasts? */
bool tide_egress_element_is_same(
    const struct tide_egress_element *, const struct tide_egress_element *);

#endif
