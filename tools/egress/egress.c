/*
 * egress - the ways out that do not pass the mail server: the words after
 * `tidemark egress`.
 */
#include <stdlib.h>
#include <string.h>

#include "../tool.h"
#include "egress.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/egress/egress.h"
#include "tidemark/settings/ports.h"

enum {
	OPT_FOR = OPT_OWN,
	OPT_REASON,
	OPT_ORIGIN,
	OPT_REPLACE,
	OPT_FOLLOW,
	OPT_PORT,
	OPT_TIMEOUT,
	OPT_RCPT
};

static const struct option longs[] = {
	{ "for", required_argument, NULL, OPT_FOR },
	{ "reason", required_argument, NULL, OPT_REASON },
	{ "origin", required_argument, NULL, OPT_ORIGIN },
	{ "replace", no_argument, NULL, OPT_REPLACE },
	{ "follow", no_argument, NULL, OPT_FOLLOW },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "rcpt", required_argument, NULL, OPT_RCPT },
	{ NULL, 0, NULL, 0 },
};

/* ---- options ----------------------------------------------------------- */

static uint64_t
read_time(const struct tool *t, const char *option, const char *text)
{
	struct tide_err err;
	uint64_t ms;

	if (tide_time_parse(text, &ms, &err) < 0)
		tool_misused(t, "%s: %s", option, err.text);
	if (ms == 0 || ms > TIDE_EGRESS_LONGEST_MS)
		tool_misused(
		    t, "%s is more than 0 and at most 100 years", option);
	return ms;
}

static const char *
read_word(
    const struct tool *t, const char *option, const char *text, size_t most)
{
	if (strlen(text) > most)
		tool_misused(t, "%s has at most %zu characters", option, most);
	if (strpbrk(text, "\r\n") != NULL)
		tool_misused(t, "%s is one line", option);
	return text;
}

/* An entry travels as a line: its reason must not be taken for the rest. */
static const char *
read_reason(const struct tool *t, const char *text)
{
	char copy[TIDE_EGRESS_REASON_MAX + 1], *rest = NULL, *word;

	(void)read_word(t, "--reason", text, TIDE_EGRESS_REASON_MAX);
	(void)snprintf(copy, sizeof copy, "%s", text);
	for (word = strtok_r(copy, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		if (word[0] == '#' || word[0] == ';' ||
		    strncmp(word, "until=", 6) == 0 ||
		    strncmp(word, "for=", 4) == 0)
			tool_misused(
			    t, "--reason: no word begins so: «%s»", word);
	return text;
}

static uint16_t
read_port(const struct tool *t, const char *text)
{
	uint16_t port[TIDE_PORTS_MAX];
	struct tide_err err;

	if (tide_ports_parse(text, port, &err) != 1)
		tool_misused(t, "--port: «%s» is no port", text);
	return port[0];
}

static void
read_options(struct tool *t, struct egress_options *o)
{
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == OPT_FOR)
			o->for_ms = read_time(t, "--for", optarg);
		else if (c == OPT_REASON)
			o->reason = read_reason(t, optarg);
		else if (c == OPT_ORIGIN)
			o->origin = read_word(
			    t, "--origin", optarg, TIDE_EGRESS_ORIGIN_MAX);
		else if (c == OPT_REPLACE)
			o->replace = true;
		else if (c == OPT_FOLLOW)
			o->follow = true;
		else if (c == OPT_PORT)
			o->port = read_port(t, optarg);
		else if (c == OPT_TIMEOUT)
			o->timeout_ms = read_time(t, "--timeout", optarg);
		else
			o->rcpt = read_word(t, "--rcpt", optarg, 254);
	}
}

/* ---- words ------------------------------------------------------------- */

static const char *
one_word(const struct tool *t, char **words, int n, const char *what)
{
	if (n != 1)
		tool_misused(t, "which %s, and only one?", what);
	return words[0];
}

static int
run_list(const struct tool *t, const struct egress_options *o,
    enum tide_egress_kind kind, char **words, int n)
{
	static const char *const names[] = { "add", "del", "list", "import",
		"check", NULL };
	const char *what =
	    names[tool_choice(t, NULL, n > 0 ? words[0] : NULL, names)];

	words++;
	n--;
	if (strcmp(what, "add") == 0)
		return egress_add(t, o, kind, words, n);
	if (strcmp(what, "del") == 0)
		return egress_del(t, kind, words, n);
	if (strcmp(what, "check") == 0)
		return egress_ask(t, kind, words, n);
	if (strcmp(what, "import") == 0)
		return egress_import(t, o, kind, one_word(t, words, n, "file"));
	if (n > 0)
		tool_misused(t, "«%s» is one word too many", words[0]);
	return egress_print_all(t, kind);
}

static int
run_word(const struct tool *t, const struct egress_options *o, const char *what)
{
	(void)tool_arguments(t, 1);
	if (strcmp(what, "apply") == 0)
		return egress_apply(t, o);
	if (strcmp(what, "show") == 0)
		return egress_show(t);
	if (strcmp(what, "stats") == 0)
		return egress_stats(t);
	return egress_remove(t);
}

int
run_egress(struct tool *t)
{
	static const char *const names[] = { "deny", "permit", "check", "apply",
		"show", "stats", "remove", NULL };
	struct egress_options o = { .port = 25,
		.timeout_ms = 10000,
		.rcpt = "postmaster@example.com" };
	char **words;
	int n;

	read_options(t, &o);
	words = t->argv + optind;
	n = t->argc - optind;
	(void)tool_choice(t, NULL, tool_word(t), names);
	if (strcmp(words[0], "deny") == 0)
		return run_list(t, &o, TIDE_EGRESS_DENY, words + 1, n - 1);
	if (strcmp(words[0], "permit") == 0)
		return run_list(t, &o, TIDE_EGRESS_PERMIT, words + 1, n - 1);
	if (strcmp(words[0], "check") == 0)
		return egress_check(t, &o, words + 1, n - 1);
	return run_word(t, &o, words[0]);
}
