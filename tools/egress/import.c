/*
 * egress, import - a list from a file: read it all, complain of every line
 * that is wrong, and only then tell the daemon.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "egress.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

#define COMPLAINTS_MOST 20

struct reading {
	const char *path;
	enum tide_egress_kind kind;
	const struct egress_options *options;
	uint64_t now_ms;
	unsigned long number, wrong;
};

/* ---- the file ---------------------------------------------------------- */

static bool
read_one(struct reading *r, char *line, struct egress_list *l)
{
	struct tide_egress e;
	struct tide_err err;
	int said = tide_egress_read(r->kind, line, r->now_ms, &e, &err);

	r->number++;
	if (said < 0 && ++r->wrong <= COMPLAINTS_MOST)
		complain("%s:%lu: %s", r->path, r->number, err.text);
	if (said <= 0)
		return true;
	if (e.until_ms == 0 && r->options->for_ms != 0)
		e.until_ms = r->now_ms + r->options->for_ms;
	if (e.reason[0] == '\0' && r->options->reason != NULL)
		(void)snprintf(
		    e.reason, sizeof e.reason, "%s", r->options->reason);
	return egress_list_add(l, &e);
}

static int
read_file(struct reading *r, struct egress_list *l)
{
	bool standard = strcmp(r->path, "-") == 0, room = true;
	FILE *f = standard ? stdin : fopen(r->path, "re");
	char *line = NULL;
	size_t size = 0;
	int code = TOOL_OK;

	if (f == NULL) {
		complain("%s: %s", r->path, strerror(errno));
		return TOOL_ERROR;
	}
	while (room && getline(&line, &size, f) > 0)
		room = read_one(r, line, l);
	if (ferror(f)) {
		complain("%s: %s", r->path, strerror(errno));
		code = TOOL_ERROR;
	}
	free(line);
	if (!standard)
		(void)fclose(f);
	if (r->wrong > COMPLAINTS_MOST)
		complain("%s: %lu more lines are wrong", r->path,
		    r->wrong - COMPLAINTS_MOST);
	if (r->wrong > 0)
		complain("%s: nothing is imported", r->path);
	return !room || r->wrong > 0 ? TOOL_ERROR : code;
}

/* ---- --replace --------------------------------------------------------- */

static int
order(const void *a, const void *b)
{
	const struct tide_egress *one = a, *other = b;
	int by = memcmp(&one->customer, &other->customer, sizeof one->customer);

	return by != 0 ? by : memcmp(&one->net, &other->net, sizeof one->net);
}

/* Of the same origin, and no longer in the file. */
static int
find_gone(const struct tide_config *config, const struct reading *r,
    const char *origin, const struct egress_list *kept,
    struct egress_list *gone)
{
	struct egress_list all = { 0 };
	int code = egress_fetch(config, r->kind, &all);
	size_t i;

	for (i = 0; code == TOOL_OK && i < all.count; i++)
		if (strcmp(all.entry[i].origin, origin) == 0 &&
		    (kept->count == 0 ||
			bsearch(&all.entry[i], kept->entry, kept->count,
			    sizeof *kept->entry, order) == NULL)) {
			all.entry[i].until_ms = 0;
			if (!egress_list_add(gone, &all.entry[i]))
				code = TOOL_ERROR;
		}
	egress_list_free(&all);
	return code;
}

static int
drop_gone(const struct tide_config *config, const struct reading *r,
    const char *origin, struct egress_list *kept, uint64_t *dropped)
{
	struct egress_list gone = { 0 };
	int code;

	if (kept->count > 1)
		qsort(kept->entry, kept->count, sizeof *kept->entry, order);
	code = find_gone(config, r, origin, kept, &gone);
	if (code == TOOL_OK)
		code = egress_change(config, "egress-del", r->kind, NULL, &gone,
		    "dropping", dropped);
	egress_list_free(&gone);
	return code;
}

/* ---- all of it --------------------------------------------------------- */

static void
say(const struct tool *t, const struct reading *r, size_t count, uint64_t new,
    uint64_t dropped)
{
	struct json j;

	if (!t->json) {
		printf("%zu entr%s on the %s list from %s: %llu new, %llu "
		       "dropped\n",
		    count, count == 1 ? "y" : "ies",
		    tide_egress_kind_name[r->kind], r->path,
		    (unsigned long long)new, (unsigned long long)dropped);
		return;
	}
	j = json_record(stdout, "egress-import");
	json_text(&j, "list", tide_egress_kind_name[r->kind]);
	json_text(&j, "file", r->path);
	json_number(&j, "entries", count);
	json_number(&j, "new", new);
	json_number(&j, "dropped", dropped);
	json_record_end(&j);
}

/* The file's name without its folders, unless somebody says better. */
static const char *
origin_of(const struct reading *r)
{
	static char name[TIDE_EGRESS_ORIGIN_MAX + 1];
	const char *slash = strrchr(r->path, '/');

	if (r->options->origin != NULL)
		return r->options->origin;
	(void)snprintf(
	    name, sizeof name, "%s", slash != NULL ? slash + 1 : r->path);
	return name;
}

int
egress_import(const struct tool *t, const struct egress_options *o,
    enum tide_egress_kind kind, const char *path)
{
	struct reading r = { .path = path,
		.kind = kind,
		.options = o,
		.now_ms = tide_clock_wall_ms() };
	struct egress_list l = { 0 };
	struct tide_config config;
	uint64_t new = 0, dropped = 0;
	int code = read_file(&r, &l);

	if (code == TOOL_OK && tool_places(t, &config) < 0)
		code = TOOL_ERROR;
	if (code == TOOL_OK)
		code = egress_change(&config, "egress-add", kind, origin_of(&r),
		    &l, "importing", &new);
	if (code == TOOL_OK && o->replace)
		code = drop_gone(&config, &r, origin_of(&r), &l, &dropped);
	if (code == TOOL_OK)
		say(t, &r, l.count, new, dropped);
	egress_list_free(&l);
	return code;
}
