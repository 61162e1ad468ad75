/*
 * egress_plan - from entries that overlap to sets that do not.
 *
 * A packet filter's interval sets refuse overlaps, and merging would lose what
 * lasts how long.  Networks help: two of them are nested or apart.  So one
 * sweep over them, outer before inner, with a stack of those that are open,
 * cuts a line of addresses into pieces, each with the longest time of all
 * that cover it.
 *
 * Pairs of customer and server are rectangles, and those may cross.  Cutting
 * them apart could take as many pieces as there are pairs of pairs.  Instead
 * every customer network gets a level, the number of networks around it, and
 * every level a set: on one level customers are apart or the same, and for
 * the same customer its servers are a line again.  A packet is looked up in
 * each level's set; there are as many as people nest networks, two or three.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"

typedef unsigned __int128 u128;

#define NESTED_MOST 130 /* one for each prefix length of an address */

struct raw {
	struct tide_egress_element *element;
	size_t count;
};

static u128
number(const struct tide_ip *ip)
{
	u128 n = 0;
	unsigned i;

	for (i = 0; i < sizeof ip->byte; i++)
		n = n << 8 | ip->byte[i];
	return n;
}

static struct tide_ip
address(u128 n)
{
	struct tide_ip ip;
	int i;

	for (i = 15; i >= 0; i--, n >>= 8)
		ip.byte[i] = (uint8_t)n;
	return ip;
}

static struct tide_egress_span
span(const struct tide_net *net)
{
	u128 host =
	    net->bits == 0 ? ~(u128)0 : ((u128)1 << (128 - net->bits)) - 1;

	return (struct tide_egress_span){ .from = net->ip,
		.to = address(number(&net->ip) | host) };
}

static uint64_t
lasting(uint64_t until_ms)
{
	return until_ms == 0 ? UINT64_MAX : until_ms;
}

/* ---- order ------------------------------------------------------------- */

/* The outer one first. */
static int
compare_spans(
    const struct tide_egress_span *a, const struct tide_egress_span *b)
{
	int order = memcmp(&a->from, &b->from, sizeof a->from);

	return order != 0 ? order : memcmp(&b->to, &a->to, sizeof a->to);
}

static int
compare_places(
    const struct tide_egress_element *a, const struct tide_egress_element *b)
{
	int order;

	if (a->set != b->set)
		return a->set < b->set ? -1 : 1;
	if (a->v6 != b->v6)
		return a->v6 < b->v6 ? -1 : 1;
	order = compare_spans(&a->customer, &b->customer);
	return order != 0 ? order : compare_spans(&a->at, &b->at);
}

int
tide_egress_compare(
    const struct tide_egress_element *a, const struct tide_egress_element *b)
{
	int order = compare_places(a, b);

	if (order != 0 || a->until_ms == b->until_ms)
		return order;
	return lasting(a->until_ms) > lasting(b->until_ms) ? -1 : 1;
}

bool
tide_egress_element_is_same(
    const struct tide_egress_element *a, const struct tide_egress_element *b)
{
	return compare_places(a, b) == 0;
}

static int
order(const void *a, const void *b)
{
	return tide_egress_compare(a, b);
}

static void
sort(struct tide_egress_element *e, size_t n)
{
	if (n > 1)
		qsort(e, n, sizeof *e, order);
}

/* ---- entries to elements ----------------------------------------------- */

static bool
net_is_v6(const struct tide_net *net)
{
	return net->bits < 96 || !tide_ip_is_v4(&net->ip);
}

static struct tide_egress_element *
add(struct raw *raw, unsigned set, const struct tide_egress *e)
{
	struct tide_egress_element *x = &raw->element[raw->count++];

	memset(x, 0, sizeof *x);
	x->set = set;
	x->v6 = net_is_v6(&e->net);
	x->at = span(&e->net);
	x->until_ms = e->until_ms;
	return x;
}

static void
add_line(struct raw *raw, const struct tide_egress *e, unsigned addresses,
    unsigned nets, uint64_t now_ms)
{
	if (!tide_egress_is_over(e, now_ms))
		(void)add(raw, e->net.bits == 128 ? addresses : nets, e);
}

static void
add_permit(struct raw *raw, const struct tide_egress *e, uint64_t now_ms)
{
	struct tide_egress who = { .net = e->customer };
	bool pair = e->net.bits == 128 && e->customer.bits == 128;

	add_line(raw, &who, TIDE_SET_CUSTOMERS, TIDE_SET_CUSTOMERS_NETS, 0);
	if (!tide_egress_is_over(e, now_ms))
		add(raw, pair ? TIDE_SET_PERMITTED : TIDE_SET_PERMITTED_NETS, e)
		    ->customer = span(&e->customer);
}

static void
add_entry(struct raw *raw, const struct tide_egress *e, uint64_t now_ms)
{
	if (e->kind == TIDE_EGRESS_BAN)
		add_line(raw, e, TIDE_SET_BANNED, TIDE_SET_BANNED_NETS, now_ms);
	else if (e->kind == TIDE_EGRESS_DENY)
		add_line(raw, e, TIDE_SET_DENIED, TIDE_SET_DENIED_NETS, now_ms);
	else
		add_permit(raw, e, now_ms);
}

/* ---- levels ------------------------------------------------------------ */

/* Sorted: outer customers come before inner ones. */
static unsigned
set_levels(struct tide_egress_element *e, size_t n)
{
	struct tide_ip open[NESTED_MOST];
	unsigned depth = 0, levels = 0, family = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i == 0 || e[i].v6 != family)
			depth = 0;
		family = e[i].v6;
		if (i > 0 && depth > 0 &&
		    compare_spans(&e[i].customer, &e[i - 1].customer) == 0) {
			e[i].set += depth - 1;
			continue;
		}
		while (depth > 0 &&
		    memcmp(&open[depth - 1], &e[i].customer.from,
			sizeof *open) < 0)
			depth--;
		open[depth++] = e[i].customer.to;
		e[i].set += depth - 1;
		if (depth > levels)
			levels = depth;
	}
	return levels;
}

/* ---- the sweep --------------------------------------------------------- */

struct sweep {
	struct tide_egress_plan *plan;
	struct tide_egress_element like; /* of the line */
	u128 at;			 /* done up to here */
	struct {
		u128 to;
		uint64_t until_ms;
	} open[NESTED_MOST];
	unsigned depth;
};

static void
emit(struct sweep *s, u128 to, uint64_t until_ms)
{
	struct tide_egress_element *last = s->plan->element + s->plan->count;

	if (s->at > to)
		return;
	*last = s->like;
	last->at.from = address(s->at);
	last->at.to = address(to);
	last->until_ms = until_ms;
	s->plan->count++;
}

/* Ends what ends before that address. */
static void
close_before(struct sweep *s, u128 from)
{
	while (s->depth > 0 && s->open[s->depth - 1].to < from) {
		s->depth--;
		emit(s, s->open[s->depth].to, s->open[s->depth].until_ms);
		s->at = s->open[s->depth].to + 1;
	}
}

static void
close_all(struct sweep *s)
{
	while (s->depth > 0) {
		s->depth--;
		emit(s, s->open[s->depth].to, s->open[s->depth].until_ms);
		if (s->open[s->depth].to == ~(u128)0)
			break; /* the last address there is */
		s->at = s->open[s->depth].to + 1;
	}
	s->depth = 0;
}

static void
open_one(struct sweep *s, const struct tide_egress_element *e)
{
	u128 from = number(&e->at.from);

	close_before(s, from);
	if (s->depth > 0) {
		uint64_t around = s->open[s->depth - 1].until_ms;

		if (lasting(e->until_ms) <= lasting(around))
			return;
		if (from > 0 && s->at < from)
			emit(s, from - 1, around);
	}
	s->at = from;
	s->open[s->depth].to = number(&e->at.to);
	s->open[s->depth].until_ms = e->until_ms;
	s->depth++;
}

static bool
same_line(
    const struct tide_egress_element *a, const struct tide_egress_element *b)
{
	return a->set == b->set && a->v6 == b->v6 &&
	    compare_spans(&a->customer, &b->customer) == 0;
}

static size_t
sweep(struct tide_egress_plan *plan, const struct tide_egress_element *e,
    size_t n)
{
	struct sweep s = { .plan = plan, .like = e[0] };
	size_t i;

	for (i = 0; i < n && same_line(&e[0], &e[i]); i++)
		open_one(&s, &e[i]);
	close_all(&s);
	return i;
}

/* Addresses: of the same, the first lasts longest. */
static void
copy_once(struct tide_egress_plan *plan, const struct tide_egress_element *e)
{
	if (plan->count == 0 ||
	    compare_places(&plan->element[plan->count - 1], e) != 0)
		plan->element[plan->count++] = *e;
}

/* ---- all of it --------------------------------------------------------- */

/* Level by level; sorted anew, since a level is part of the order. */
static void
level(struct tide_egress_plan *plan, struct raw *raw)
{
	size_t i = 0;

	while (i < raw->count && raw->element[i].set < TIDE_SET_PERMITTED_NETS)
		i++;
	plan->levels = set_levels(raw->element + i, raw->count - i);
	sort(raw->element + i, raw->count - i);
}

int
tide_egress_plan(struct tide_egress_plan *plan, const struct tide_egress *e,
    size_t n, uint64_t now_ms, struct tide_err *err)
{
	struct raw raw = { 0 };
	size_t i;

	memset(plan, 0, sizeof *plan);
	/* an entry is two elements at most, one cut leaves two pieces more */
	raw.element = calloc(2 * n + 1, sizeof *raw.element);
	plan->element = calloc(4 * n + 1, sizeof *plan->element);
	if (raw.element == NULL || plan->element == NULL) {
		(void)tide_err_errno(err, "no room for %zu entries", n);
		free(raw.element);
		tide_egress_plan_free(plan);
		return -1;
	}
	for (i = 0; i < n; i++)
		add_entry(&raw, &e[i], now_ms);
	sort(raw.element, raw.count);
	level(plan, &raw);
	for (i = 0; i < raw.count;) {
		if (raw.element[i].set < TIDE_SET_BANNED_NETS)
			copy_once(plan, &raw.element[i++]);
		else
			i += sweep(plan, raw.element + i, raw.count - i);
	}
	sort(plan->element, plan->count);
	free(raw.element);
	return 0;
}

void
tide_egress_plan_free(struct tide_egress_plan *plan)
{
	free(plan->element);
	memset(plan, 0, sizeof *plan);
}
