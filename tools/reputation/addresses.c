/*
 * addresses - the list of spam addresses: change it, ask it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../order.h"
#include "../read/ask.h"
#include "../read/ask_key.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "addresses.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"

static const char *
got(const struct tide_line *line, const char *key)
{
	const char *value = tide_line_get(line, key);

	return value != NULL ? value : "";
}

/* ---- add, del ---------------------------------------------------------- */

static int
change(const struct tool *t, const char *address, bool add)
{
	static struct order o;
	struct tide_line_out request;
	struct json j;
	bool changed;
	int code;

	tide_line_start(&request, add ? "addresses-add" : "addresses-del");
	tide_line_add(&request, "key", address);
	code = order_give(t, &o, &request);
	if (code != TOOL_OK)
		return code;
	changed = tide_line_number(&o.said, "changed", 0) == 1;
	if (t->json) {
		j = json_record(stdout, add ? "added" : "deleted");
		json_text(&j, "key", got(&o.said, "key"));
		json_bool(&j, "changed", changed);
		json_record_end(&j);
	} else {
		printf("%s %s%s%s\n", got(&o.said, "key"),
		    changed   ? "is "
			: add ? "was "
			      : "is not ",
		    !changed  ? "on the list"
			: add ? "now on the list"
			      : "taken out of the list",
		    !changed && add ? " already" : "");
	}
	return changed || add ? TOOL_OK : TOOL_NO;
}

static int
change_all(const struct tool *t, char *const *addresses, int n, bool add)
{
	int i, one, code = TOOL_OK;

	for (i = 0; i < n; i++) {
		one = change(t, addresses[i], add);
		code = one > code ? one : code;
	}
	return code;
}

/* ---- test -------------------------------------------------------------- */

struct finding {
	struct tide_sender_forms forms;
	struct listed found;
	const struct tide_exception *except;
};

static void
say_finding(const struct tool *t, const struct finding *f)
{
	const char *as = f->found.as;
	char since[SHOW_MAX];
	struct json j;

	if (t->json) {
		j = json_record(stdout, "address");
		json_text(&j, "key", f->forms.key[0].text);
		json_bool(&j, "listed", f->found.form >= 0);
		if (f->found.form >= 0)
			json_text(&j, "listed_as", as);
		json_bool(&j, "excepted", f->except != NULL);
		json_bool(&j, "spam", f->found.form >= 0 && f->except == NULL);
		json_record_end(&j);
		return;
	}
	printf("%s is %son the list", f->forms.key[0].text,
	    f->found.form < 0 ? "not " : "");
	if (f->found.form > 0)
		printf(", as %s", as);
	if (f->except != NULL)
		printf("%s an exception (%s) since %s%s",
		    f->found.form < 0 ? ", and" : ", but", f->except->key,
		    show_moment(f->except->since_ms, since, sizeof since),
		    f->except->reason[0] != '\0' ? ": " : "");
	if (f->except != NULL)
		put_foreign(stdout, f->except->reason);
	printf("\n");
}

/* One of them, on an open connection; -1 once complained. */
static int
find_one(struct ask *ask, const struct tide_exceptions *exceptions,
    const char *text, struct finding *f)
{
	static const struct tide_hash_key none; /* names are all we need */
	struct tide_key entry;

	if (tide_address_entry(&none, text, &entry) != 1) {
		complain("«%s» is no address and no @domain", text);
		return -1;
	}
	if (text[0] == '@')
		addresses_forms(&f->forms, &entry);
	else
		tide_sender_forms(&none, text, &f->forms);
	f->except = tide_exceptions_for(exceptions, &f->forms);
	return ask_listed(ask, &text, 1, &f->found);
}

static int
test(const struct tool *t, const struct view *v, char *const *addresses, int n)
{
	static struct ask ask;
	struct tide_exceptions exceptions;
	struct finding f;
	int i, code = TOOL_NO;

	if (ask_open(&ask, &v->config) == ANSWER_BROKEN)
		return TOOL_ERROR;
	addresses_exceptions(v, &exceptions);
	for (i = 0; i < n; i++) {
		if (find_one(&ask, &exceptions, addresses[i], &f) < 0) {
			code = TOOL_ERROR;
			break;
		}
		say_finding(t, &f);
		if (f.found.form >= 0 && f.except == NULL && code == TOOL_NO)
			code = TOOL_OK;
	}
	ask_close(&ask);
	tide_exceptions_detach(&exceptions);
	return code;
}

/* ---- stats ------------------------------------------------------------- */

static void
put_stats_json(const struct tide_addresses *a,
    const struct tide_addresses_copy *now, uint64_t filled, double error,
    uint64_t exceptions)
{
	struct json j = json_record(stdout, "addresses");

	json_text(&j, "form", a->shape.counting ? "counting" : "plain");
	json_number(&j, "cells", a->shape.bloom.bits);
	json_number(&j, "positions", a->shape.bloom.positions);
	json_number(&j, "bytes", tide_list_bytes(&a->shape));
	json_number(&j, "capacity", a->shape.bloom.capacity);
	json_number(&j, "addresses", now ? atomic_load(&now->elements) : 0);
	json_number(&j, "filled", filled);
	json_real(&j, "error", error);
	json_number(&j, "list", now ? atomic_load(&now->version) : 0);
	json_number(&j, "change", now ? atomic_load(&now->sequence) : 0);
	json_time(&j, "loaded", now ? atomic_load(&now->loaded_ms) : 0);
	json_number(&j, "exceptions", exceptions);
	json_record_end(&j);
}

static void
put_stats(const struct tide_addresses *a, const struct tide_addresses_copy *now,
    uint64_t filled, double error, uint64_t exceptions)
{
	uint64_t n = now ? atomic_load(&now->elements) : 0;
	char bytes[SHOW_MAX], chance[SHOW_MAX], when[SHOW_MAX];

	printf("addresses   %llu of %llu\n", (unsigned long long)n,
	    (unsigned long long)a->shape.bloom.capacity);
	printf("form        %s, %llu cells, %s, twice; k = %u\n",
	    a->shape.counting ? "counting" : "plain",
	    (unsigned long long)a->shape.bloom.bits,
	    show_bytes(tide_list_bytes(&a->shape), bytes, sizeof bytes),
	    a->shape.bloom.positions);
	printf("filled      %.3f%%; chance of a false yes %s\n",
	    100 * (double)filled / (double)a->shape.bloom.bits,
	    show_chance(error, chance, sizeof chance));
	printf("list        number %llu, change %llu, %s\n",
	    (unsigned long long)(now ? atomic_load(&now->version) : 0),
	    (unsigned long long)(now ? atomic_load(&now->sequence) : 0),
	    now ? show_moment(atomic_load(&now->loaded_ms), when, sizeof when)
		: "none is loaded");
	printf("exceptions  %llu\n", (unsigned long long)exceptions);
}

static int
stats(const struct tool *t, const struct view *v)
{
	const struct tide_addresses *a = v->map->addresses;
	const struct tide_addresses_copy *now;
	struct tide_exceptions exceptions;
	tide_bloom_word *words = NULL;
	uint64_t filled = 0;
	double error;

	now = tide_addresses_now(a, &words);
	if (now != NULL)
		filled = tide_list_filled(&a->shape, words);
	error = tide_bloom_error(&a->shape.bloom, filled);
	addresses_exceptions(v, &exceptions);
	if (t->json)
		put_stats_json(a, now, filled, error, exceptions.count);
	else
		put_stats(a, now, filled, error, exceptions.count);
	tide_exceptions_detach(&exceptions);
	return TOOL_OK;
}

/* ---- from here --------------------------------------------------------- */

enum verb { LOAD, ADD, DEL, TEST, STATS, MERGE, EXPORT, CHECK, VERBS };

static const struct {
	const char *name;
	int least; /* arguments */
} verbs[VERBS] = { [LOAD] = { "load", 1 },
	[ADD] = { "add", 1 },
	[DEL] = { "del", 1 },
	[TEST] = { "test", 1 },
	[STATS] = { "stats", 0 },
	[MERGE] = { "merge", 1 },
	[EXPORT] = { "export", 0 },
	[CHECK] = { "check-against", 1 } };

static enum verb
read_verb(const struct tool *t)
{
	const char *names[VERBS + 1] = { NULL };
	size_t i;

	for (i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	i = tool_choice(t, NULL, tool_word(t), names);
	if (t->argc - optind - 1 < verbs[i].least)
		tool_misused(t, "%s what?", names[i]);
	if (verbs[i].least == 0)
		(void)tool_arguments(t, 1);
	return (enum verb)i;
}

static int
act(const struct tool *t, const struct view *v, enum verb verb, bool except)
{
	char *const *rest = t->argv + optind + 1;
	int n = t->argc - optind - 1;

	switch (verb) {
	case LOAD:
		return addresses_load(t, v, rest, n);
	case ADD:
	case DEL:
		return change_all(t, rest, n, verb == ADD);
	case TEST:
		return test(t, v, rest, n);
	case MERGE:
		return addresses_merge(t, v, rest, n);
	case EXPORT:
		return addresses_export(t, v);
	case CHECK:
		return addresses_check(t, v, rest, n, except);
	default:
		return stats(t, v);
	}
}

int
run_addresses(struct tool *t)
{
	enum { OPT_EXCEPT = OPT_OWN };
	static const struct option longs[] = {
		{ "except", no_argument, NULL, OPT_EXCEPT },
		{ NULL, 0, NULL, 0 },
	};
	bool except = false;
	enum verb verb;
	struct view v;
	int code;

	while (tool_getopt(t, "", longs) != -1)
		except = true;
	verb = read_verb(t);
	if (except && verb != CHECK)
		tool_misused(t, "--except goes with check-against");
	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	code = act(t, &v, verb, except);
	view_close(&v);
	return code;
}
