/*
 * egress, lists - add, del, list, check: what the daemon has on its lists.
 */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../read/ask.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "egress.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/printable.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

/* ---- lists ------------------------------------------------------------- */

bool
egress_list_add(struct egress_list *l, const struct tide_egress *e)
{
	size_t room = l->room == 0 ? 256 : l->room * 2;
	struct tide_egress *more;

	if (l->count == l->room) {
		more = realloc(l->entry, room * sizeof *more);
		if (more == NULL) {
			complain("no room for %zu entries", room);
			return false;
		}
		l->entry = more;
		l->room = room;
	}
	l->entry[l->count++] = *e;
	return true;
}

void
egress_list_free(struct egress_list *l)
{
	free(l->entry);
	memset(l, 0, sizeof *l);
}

static void
copy_text(char *to, size_t size, const struct tide_line *line, const char *key)
{
	const char *value = tide_line_get(line, key);

	(void)snprintf(to, size, "%s", value != NULL ? value : "");
	tide_printable_disarm(to);
}

static bool
read_line(const struct tide_line *line, enum tide_egress_kind kind,
    struct tide_egress *e)
{
	const char *net = tide_line_get(line, "net");
	const char *customer = tide_line_get(line, "customer");
	struct tide_err err;

	memset(e, 0, sizeof *e);
	e->kind = (uint8_t)kind;
	e->since_ms = tide_line_number(line, "since_ms", 0);
	e->until_ms = tide_line_number(line, "until_ms", 0);
	e->checked_ms = tide_line_number(line, "checked_ms", 0);
	e->verdict = (uint8_t)(tide_line_number(line, "verdict", 0) %
	    TIDE_EGRESS_VERDICTS);
	copy_text(e->reason, sizeof e->reason, line, "reason");
	copy_text(e->origin, sizeof e->origin, line, "origin");
	return net != NULL && tide_net_parse(net, &e->net, &err) == 0 &&
	    (kind != TIDE_EGRESS_PERMIT ||
		(customer != NULL &&
		    tide_net_parse(customer, &e->customer, &err) == 0));
}

int
egress_fetch(const struct tide_config *config, enum tide_egress_kind kind,
    struct egress_list *l)
{
	static struct ask ask;
	struct tide_line_out request;
	struct tide_egress e;
	enum answer a;

	tide_line_start(&request, "egress-list");
	tide_line_add(&request, "kind", tide_egress_kind_name[kind]);
	a = ask_send(&ask, config, &request);
	if (a == ANSWER_BROKEN)
		return TOOL_ERROR;
	while ((a = ask_next(&ask)) == ANSWER_LINE)
		if (!read_line(&ask.line, kind, &e) || !egress_list_add(l, &e))
			break;
	ask_close(&ask);
	if (a == ANSWER_LINE)
		complain("the daemon's list cannot be understood");
	return a == ANSWER_DONE ? TOOL_OK : TOOL_ERROR;
}

/* ---- printing ---------------------------------------------------------- */

const char *
egress_show_until(uint64_t until_ms, char *buf, size_t size)
{
	uint64_t now = tide_clock_wall_ms();
	char when[SHOW_MAX];

	if (until_ms == 0)
		buf[0] = '\0';
	else
		(void)snprintf(buf, size,
		    until_ms > now ? ", until %s" : ", expired %s",
		    show_moment(until_ms, when, sizeof when));
	return buf;
}

static void
print_json(const struct tide_egress *e)
{
	struct json j = json_record(stdout, "egress");
	struct tide_key key;

	json_text(&j, "list", tide_egress_kind_name[e->kind]);
	if (e->kind == TIDE_EGRESS_PERMIT) {
		tide_key_net(&e->customer, &key);
		json_text(&j, "customer", key.text);
	}
	tide_key_net(&e->net, &key);
	json_text(
	    &j, e->kind == TIDE_EGRESS_PERMIT ? "server" : "net", key.text);
	json_text(&j, "reason", e->reason);
	json_text(&j, "origin", e->origin);
	json_time(&j, "since", e->since_ms);
	json_time(&j, "until", e->until_ms);
	json_bool(&j, "expired", tide_egress_is_over(e, tide_clock_wall_ms()));
	if (e->kind == TIDE_EGRESS_PERMIT) {
		json_text(&j, "verdict", tide_egress_verdict_name[e->verdict]);
		json_time(&j, "checked", e->checked_ms);
	}
	json_record_end(&j);
}

static void
print_text(const struct tide_egress *e)
{
	char since[SHOW_MAX], until[SHOW_MAX + 16], when[SHOW_MAX];
	struct tide_key customer = { 0 }, net;

	tide_key_net(&e->net, &net);
	if (e->kind == TIDE_EGRESS_PERMIT)
		tide_key_net(&e->customer, &customer);
	printf("%s%s%s%s%s%s%s, %s%ssince %s%s", tone(TONE_STRONG),
	    customer.text, customer.length > 0 ? " -> " : "", net.text,
	    tone(TONE_PLAIN), e->reason[0] != '\0' ? "  " : "", e->reason,
	    e->origin, e->origin[0] != '\0' ? ", " : "",
	    show_moment(e->since_ms, since, sizeof since),
	    egress_show_until(e->until_ms, until, sizeof until));
	if (e->verdict != TIDE_EGRESS_UNCHECKED)
		printf(", %s at %s", tide_egress_verdict_name[e->verdict],
		    show_moment(e->checked_ms, when, sizeof when));
	printf("\n");
}

void
egress_print(const struct tool *t, const struct tide_egress *e)
{
	if (t->json)
		print_json(e);
	else
		print_text(e);
}

int
egress_print_all(const struct tool *t, enum tide_egress_kind kind)
{
	struct egress_list l = { 0 };
	struct tide_config config;
	size_t i;
	int code;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	code = egress_fetch(&config, kind, &l);
	for (i = 0; code == TOOL_OK && i < l.count; i++)
		egress_print(t, &l.entry[i]);
	if (code == TOOL_OK && l.count == 0) {
		code = TOOL_NO;
		if (!t->json)
			printf("nothing is on the %s list\n",
			    tide_egress_kind_name[kind]);
	}
	egress_list_free(&l);
	return code;
}

/* ---- add, del ---------------------------------------------------------- */

/* Who types it. */
static const char *
own_name(void)
{
	static char name[TIDE_EGRESS_ORIGIN_MAX + 1];
	const struct passwd *p = getpwuid(getuid());

	(void)snprintf(
	    name, sizeof name, "%s", p != NULL ? p->pw_name : "by hand");
	return name;
}

/* NETWORK..., or CUSTOMER SERVER... */
static void
read_words(const struct tool *t, enum tide_egress_kind kind, char **words,
    int n, struct egress_list *l)
{
	bool permit = kind == TIDE_EGRESS_PERMIT;
	struct tide_egress e;
	struct tide_err err;
	char line[256];
	int i;

	if (n < (permit ? 2 : 1))
		tool_misused(
		    t, permit ? "CUSTOMER and SERVER?" : "which NETWORK?");
	for (i = permit; i < n; i++) {
		(void)snprintf(line, sizeof line, "%s%s%s",
		    permit ? words[0] : "", permit ? " " : "", words[i]);
		if (tide_egress_read(
			kind, line, tide_clock_wall_ms(), &e, &err) != 1) {
			complain("%s", err.text);
			exit(TOOL_ERROR);
		}
		if (!egress_list_add(l, &e))
			exit(TOOL_ERROR);
	}
}

int
egress_add(const struct tool *t, const struct egress_options *o,
    enum tide_egress_kind kind, char **words, int n)
{
	uint64_t now = tide_clock_wall_ms();
	struct egress_list l = { 0 };
	struct tide_config config;
	size_t i;
	int code;

	read_words(t, kind, words, n, &l);
	for (i = 0; i < l.count; i++) {
		if (o->for_ms != 0)
			l.entry[i].until_ms = now + o->for_ms;
		(void)snprintf(l.entry[i].reason, sizeof l.entry[i].reason,
		    "%s", o->reason != NULL ? o->reason : "");
		(void)snprintf(l.entry[i].origin, sizeof l.entry[i].origin,
		    "%s", o->origin != NULL ? o->origin : own_name());
	}
	code = tool_places(t, &config) < 0
	    ? TOOL_ERROR
	    : egress_change(&config, "egress-add", kind, l.entry[0].origin, &l,
		  NULL, NULL);
	for (i = 0; code == TOOL_OK && i < l.count; i++)
		egress_print(t, &l.entry[i]);
	egress_list_free(&l);
	return code;
}

static void
say_deleted(const struct tool *t, enum tide_egress_kind kind, uint64_t there)
{
	struct json j;

	if (!t->json) {
		printf("%llu deleted from the %s list\n",
		    (unsigned long long)there, tide_egress_kind_name[kind]);
		return;
	}
	j = json_record(stdout, "egress-deleted");
	json_text(&j, "list", tide_egress_kind_name[kind]);
	json_number(&j, "entries", there);
	json_record_end(&j);
}

int
egress_del(
    const struct tool *t, enum tide_egress_kind kind, char **words, int n)
{
	struct egress_list l = { 0 };
	struct tide_config config;
	uint64_t there = 0;
	int code;

	read_words(t, kind, words, n, &l);
	code = tool_places(t, &config) < 0
	    ? TOOL_ERROR
	    : egress_change(
		  &config, "egress-del", kind, NULL, &l, NULL, &there);
	if (code == TOOL_OK)
		say_deleted(t, kind, there);
	if (code == TOOL_OK && there < l.count)
		code = TOOL_NO;
	egress_list_free(&l);
	return code;
}

/* ---- check ------------------------------------------------------------- */

static void
read_ip(const struct tool *t, const char *text, struct tide_ip *ip)
{
	if (!tide_ip_parse(text, ip))
		tool_misused(t, "«%s» is no address", text);
}

/*
 * deny check IP: is it denied?  permit check CUSTOMER SERVER: is that
 * registered?  What says so is printed.
 */
int
egress_ask(
    const struct tool *t, enum tide_egress_kind kind, char **words, int n)
{
	bool permit = kind == TIDE_EGRESS_PERMIT;
	uint64_t now = tide_clock_wall_ms();
	struct egress_list l = { 0 };
	struct tide_ip customer, at;
	struct tide_config config;
	size_t i, found = 0;
	int code;

	if (n != (permit ? 2 : 1))
		tool_misused(
		    t, permit ? "CUSTOMER and SERVER?" : "which address?");
	read_ip(t, words[0], &customer);
	read_ip(t, words[n - 1], &at);
	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	code = egress_fetch(&config, kind, &l);
	for (i = 0; code == TOOL_OK && i < l.count; i++)
		if (!tide_egress_is_over(&l.entry[i], now) &&
		    tide_net_contains(&l.entry[i].net, &at) &&
		    (!permit ||
			tide_net_contains(&l.entry[i].customer, &customer))) {
			egress_print(t, &l.entry[i]);
			found++;
		}
	egress_list_free(&l);
	if (code == TOOL_OK && found == 0 && !t->json)
		printf("%s is not on the %s list\n", words[n - 1],
		    tide_egress_kind_name[kind]);
	return code == TOOL_OK && found == 0 ? TOOL_NO : code;
}
