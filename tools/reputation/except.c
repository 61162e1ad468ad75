/*
 * except - senders that no reputation counts against.
 */
#include <stdio.h>
#include <string.h>

#include "../order.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "addresses.h"
#include "tidemark/base/line.h"
#include "tidemark/reputation/exceptions.h"

static const char *
got(const struct tide_line *line, const char *key)
{
	const char *value = tide_line_get(line, key);

	return value != NULL ? value : "";
}

static void
say_change(const struct tool *t, const struct tide_line *line)
{
	bool gone = strcmp(line->word, "unexcepted") == 0;
	struct json j;

	if (!t->json) {
		printf("%s is %s exception\n", got(line, "key"),
		    gone ? "no longer an" : "an");
		return;
	}
	j = json_record(stdout, line->word);
	json_text(&j, "key", got(line, "key"));
	json_record_end(&j);
}

static int
add(const struct tool *t, char *const *keys, int n, const char *reason)
{
	static struct order o = { .each = say_change };
	struct tide_line_out request;
	int i, one, code = TOOL_OK;

	for (i = 0; i < n; i++) {
		tide_line_start(&request, "except-add");
		tide_line_add(&request, "key", keys[i]);
		tide_line_add(&request, "reason", reason);
		one = order_give(t, &o, &request);
		code = one > code ? one : code;
	}
	return code;
}

static int
del(const struct tool *t, char *const *keys, int n)
{
	static struct order o = { .each = say_change };
	struct tide_line_out request;
	int i, one, code = TOOL_OK;

	for (i = 0; i < n; i++) {
		tide_line_start(&request, "except-del");
		tide_line_add(&request, "key", keys[i]);
		one = order_give(t, &o, &request);
		code = one > code ? one : code;
	}
	return code;
}

static void
put_exception(const struct tool *t, const struct tide_exception *e)
{
	char since[SHOW_MAX];
	struct json j;

	if (!t->json) {
		printf("%s  since %s%s", e->key,
		    show_moment(e->since_ms, since, sizeof since),
		    e->reason[0] != '\0' ? ": " : "");
		put_foreign(stdout, e->reason);
		printf("\n");
		return;
	}
	j = json_record(stdout, "exception");
	json_text(&j, "key", e->key);
	json_time(&j, "since", e->since_ms);
	json_text(&j, "reason", e->reason);
	json_record_end(&j);
}

static int
list(const struct tool *t)
{
	struct tide_exceptions x;
	struct view v;
	size_t i;
	int code;

	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	addresses_exceptions(&v, &x);
	for (i = 0; i < x.count; i++)
		put_exception(t, &x.list[i]);
	if (x.count == 0 && !t->json)
		printf("there is no exception\n");
	code = x.count > 0 ? TOOL_OK : TOOL_NO;
	tide_exceptions_detach(&x);
	view_close(&v);
	return code;
}

int
run_except(struct tool *t)
{
	enum { OPT_REASON = OPT_OWN };
	static const struct option longs[] = {
		{ "reason", required_argument, NULL, OPT_REASON },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const names[] = { "add", "del", "list", NULL };
	const char *reason = "", *what;
	char *const *keys;
	int n;

	while (tool_getopt(t, "", longs) != -1)
		reason = optarg;
	if (strlen(reason) > TIDE_EXCEPTION_REASON_MAX)
		tool_misused(t, "a reason has at most %d characters",
		    TIDE_EXCEPTION_REASON_MAX);
	what = names[tool_choice(t, NULL, tool_word(t), names)];
	keys = t->argv + optind + 1;
	n = t->argc - optind - 1;
	if (strcmp(what, "list") == 0) {
		(void)tool_arguments(t, 1);
		return list(t);
	}
	if (n < 1)
		tool_misused(t, "whom?");
	return what[0] == 'a' ? add(t, keys, n, reason) : del(t, keys, n);
}
