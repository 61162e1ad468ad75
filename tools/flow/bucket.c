/*
 * bucket - list and reset: how full the leaky buckets are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../order.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../tool.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

enum sort { SORT_LEVEL, SORT_KEY };

struct wish {
	const char *group, *profile;
	enum sort sort;
	uint64_t most; /* 0: all */
};

/* ---- gathering --------------------------------------------------------- */

/* As view_bucket, but no longer than it has to be: there may be millions. */
struct item {
	const char *profile, *group;
	char *key;
	uint64_t empty_ms;
	uint32_t class, level, depth;
	bool overflowed;
};

struct list {
	struct item *item;
	size_t count, room;
};

static int
append(struct list *l, const struct view_bucket *b)
{
	size_t room = l->room == 0 ? 64 : l->room * 2;
	struct item *more;

	if (l->count == l->room) {
		more = realloc(l->item, room * sizeof *more);
		if (more == NULL)
			return -1;
		l->item = more;
		l->room = room;
	}
	l->item[l->count] = (struct item){ .profile = b->profile,
		.group = b->group,
		.key = strdup(b->key),
		.empty_ms = b->empty_ms,
		.class = b->class,
		.level = b->level,
		.depth = b->depth,
		.overflowed = b->overflowed };
	if (l->item[l->count].key == NULL)
		return -1;
	l->count++;
	return 0;
}

static void
empty(struct list *l)
{
	while (l->count > 0)
		free(l->item[--l->count].key);
	free(l->item);
}

static bool
is_wanted(const struct wish *w, const struct view_bucket *b)
{
	return (w->group == NULL || strcasecmp(w->group, b->group) == 0) &&
	    (w->profile == NULL || strcmp(w->profile, b->profile) == 0);
}

static int
gather(const struct view *v, const struct wish *w, struct list *l)
{
	struct view_bucket b;
	uint32_t i;

	for (i = 1; i <= v->flow.buckets; i++)
		if (view_bucket(v, i, &b) && is_wanted(w, &b) &&
		    append(l, &b) < 0) {
			complain("no memory for so many buckets");
			return -1;
		}
	return 0;
}

static int
by_key(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int order = strcmp(a->key, b->key);

	return order != 0 ? order : (int)a->class - (int)b->class;
}

/* The fullest first: those that have the least left of their depth. */
static int
by_level(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	uint64_t left = (uint64_t)a->level * (b->depth + 1ull);
	uint64_t right = (uint64_t)b->level * (a->depth + 1ull);

	return left != right ? (left < right) - (left > right) : by_key(x, y);
}

/* ---- printing ---------------------------------------------------------- */

static void
put_json(const struct item *i)
{
	struct json j = json_record(stdout, "bucket");

	json_text(&j, "profile", i->profile);
	json_text(&j, "group", i->group);
	json_text(&j, "key", i->key);
	json_number(&j, "level", i->level);
	json_number(&j, "depth", i->depth);
	json_bool(&j, "overflowed", i->overflowed);
	if (i->empty_ms == 0)
		json_null(&j, "empty_in_ms");
	else
		json_number(&j, "empty_in_ms", i->empty_ms);
	json_record_end(&j);
}

static void
put_text(const struct item *i)
{
	char span[SHOW_MAX], level[32];

	(void)snprintf(level, sizeof level, "%u/%u", i->level, i->depth);
	printf("%-10s %-9s %11s  %s%s%s  ", i->profile, i->group, level,
	    tone(TONE_STRONG), i->key, tone(TONE_PLAIN));
	if (i->overflowed)
		printf("%soverflowed%s\n", tone(TONE_BAD), tone(TONE_PLAIN));
	else if (i->empty_ms == 0)
		printf("does not leak: switched off\n");
	else
		printf(
		    "empty in %s\n", show_span(i->empty_ms, span, sizeof span));
}

static int
show(const struct tool *t, const struct view *v, const struct wish *w)
{
	struct list l = { 0 };
	int code = TOOL_ERROR;
	size_t i;

	if (gather(v, w, &l) == 0) {
		if (l.count > 0)
			qsort(l.item, l.count, sizeof *l.item,
			    w->sort == SORT_KEY ? by_key : by_level);
		for (i = 0; i < l.count && (w->most == 0 || i < w->most); i++) {
			if (t->json)
				put_json(&l.item[i]);
			else
				put_text(&l.item[i]);
		}
		code = l.count > 0 ? TOOL_OK : TOOL_NO;
		if (l.count == 0 && !t->json)
			printf("no bucket holds anything\n");
	}
	empty(&l);
	return code;
}

/* ---- reset ------------------------------------------------------------- */

static int
reset_one(const struct tool *t, const char *key, const struct wish *w,
    uint64_t *emptied)
{
	static struct order o;
	struct tide_line_out request;
	int code;

	tide_line_start(&request, "bucket-reset");
	tide_line_add(&request, "key", key);
	if (w->group != NULL)
		tide_line_add(&request, "group", w->group);
	if (w->profile != NULL)
		tide_line_add(&request, "profile", w->profile);
	code = order_give(t, &o, &request);
	if (code == TOOL_OK)
		*emptied += tide_line_number(&o.said, "buckets", 0);
	return code;
}

static void
say_emptied(const struct tool *t, const char *key, uint64_t n)
{
	struct json j;

	if (t->json) {
		j = json_record(stdout, "emptied");
		json_text(&j, "key", key);
		json_number(&j, "buckets", n);
		json_record_end(&j);
	} else if (n == 0) {
		printf("there is no bucket of %s\n", key);
	} else {
		printf("emptied %llu bucket%s of %s\n", (unsigned long long)n,
		    plural(n), key);
	}
}

/* The key's own buckets, then those of the same sender at some network. */
static int
reset(const struct tool *t, const struct view *v, const struct wish *w,
    const char *text)
{
	struct list l = { 0 };
	struct tide_key key;
	uint64_t n = 0;
	size_t i;
	int code;

	if (view_key(v, text, &key) < 0 || gather(v, w, &l) < 0) {
		empty(&l);
		return TOOL_ERROR;
	}
	if (l.count > 0)
		qsort(l.item, l.count, sizeof *l.item, by_key);
	code = reset_one(t, key.text, w, &n);
	for (i = 0; code == TOOL_OK && i < l.count; i++) {
		if (i > 0 && strcmp(l.item[i].key, l.item[i - 1].key) == 0)
			continue; /* the same key in another group */
		if (strcmp(l.item[i].key, key.text) != 0 &&
		    view_is_of(&key, l.item[i].key))
			code = reset_one(t, l.item[i].key, w, &n);
	}
	empty(&l);
	if (code != TOOL_OK)
		return code;
	say_emptied(t, key.text, n);
	return n > 0 ? TOOL_OK : TOOL_NO;
}

/* ---- from here --------------------------------------------------------- */

static enum sort
read_sort(const struct tool *t, const char *word)
{
	static const char *const names[] = { "level", "key", NULL };

	return tool_choice(t, "--sort", word, names) == 0 ? SORT_LEVEL
							  : SORT_KEY;
}

static void
read_options(struct tool *t, struct wish *w)
{
	enum { OPT_GROUP = OPT_OWN, OPT_PROFILE, OPT_SORT };
	static const struct option longs[] = {
		{ "group", required_argument, NULL, OPT_GROUP },
		{ "profile", required_argument, NULL, OPT_PROFILE },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ NULL, 0, NULL, 0 },
	};
	struct tide_err err;
	int c;

	while ((c = tool_getopt(t, "n:", longs)) != -1) {
		if (c == OPT_GROUP)
			w->group = optarg;
		else if (c == OPT_PROFILE)
			w->profile = optarg;
		else if (c == OPT_SORT)
			w->sort = read_sort(t, optarg);
		else if (tide_count_parse(optarg, &w->most, &err) < 0)
			tool_misused(t, "-n: %s", err.text);
	}
}

static void
check_wish(const struct tool *t, const struct view *v, const struct wish *w)
{
	const char *names[TIDE_GROUPS + TIDE_PROFILES_MAX + 1] = { NULL };
	unsigned g = 0, i;

	while (w->group != NULL && g < TIDE_GROUPS &&
	    strcasecmp(w->group, tide_group_name[g]) != 0)
		g++;
	if (g == TIDE_GROUPS) {
		memcpy(names, tide_group_name, sizeof tide_group_name);
		(void)tool_choice(t, "--group", w->group, names);
	}
	if (w->profile == NULL)
		return;
	for (i = 0; i < v->config.profiles; i++)
		names[i] = v->config.profile[i].name;
	(void)tool_choice(t, "--profile", w->profile, names);
}

int
run_bucket(struct tool *t)
{
	static const char *const names[] = { "list", "reset", NULL };
	struct wish w = { .sort = SORT_LEVEL };
	struct view v;
	bool lists;
	int code;

	read_options(t, &w);
	lists = tool_choice(t, NULL, tool_word(t), names) == 0;
	(void)tool_arguments(t, lists ? 1 : 2);
	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	check_wish(t, &v, &w);
	code = lists ? show(t, &v, &w) : reset(t, &v, &w, t->argv[optind + 1]);
	view_close(&v);
	return code;
}
