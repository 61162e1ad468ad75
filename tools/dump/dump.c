/*
 * dump - what the live map and the archive hold.
 */
#include <ctype.h>
#include <stdio.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "dump.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"

/* ---- facts ------------------------------------------------------------- */

void
fact_begin(struct dump *d, const char *type)
{
	if (d->as_json)
		d->json = json_record(stdout, type);
	else
		(void)fputs(type, stdout);
}

void
fact_end(struct dump *d)
{
	if (d->as_json)
		json_record_end(&d->json);
	else
		(void)fputc('\n', stdout);
	d->records++;
}

static bool
is_plain(const char *s)
{
	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++)
		if (!isgraph((unsigned char)*s) || *s == '"' || *s == '\\')
			return false;
	return true;
}

void
fact_text(struct dump *d, const char *key, const char *value)
{
	if (d->as_json) {
		json_text(&d->json, key, value);
		return;
	}
	printf(" %s=", key);
	if (is_plain(value))
		(void)fputs(value, stdout);
	else
		json_quote(stdout, value);
}

void
fact_number(struct dump *d, const char *key, uint64_t value)
{
	if (d->as_json)
		json_number(&d->json, key, value);
	else
		printf(" %s=%llu", key, (unsigned long long)value);
}

void
fact_real(struct dump *d, const char *key, double value)
{
	if (d->as_json)
		json_real(&d->json, key, value);
	else
		printf(" %s=%.6g", key, value);
}

void
fact_bool(struct dump *d, const char *key, bool value)
{
	if (d->as_json)
		json_bool(&d->json, key, value);
	else
		printf(" %s=%s", key, value ? "yes" : "no");
}

void
fact_time(struct dump *d, const char *key, uint64_t wall_ms)
{
	char text[32];

	if (d->as_json)
		json_time(&d->json, key, wall_ms);
	else
		printf(" %s=%s", key,
		    wall_ms == 0 ? "-"
				 : tide_clock_show(wall_ms, text, sizeof text));
}

/* ---- the command ------------------------------------------------------- */

struct choice {
	bool live, archive, mdb;
	const char *offline;
};

static int
dump_facts(const struct choice *c, const struct tide_config *config,
    const char *dir, bool as_json, struct tide_err *err)
{
	struct dump d = { .as_json = as_json };

	if (c->live && dump_live(&d, config, err) < 0)
		return -1;
	if (c->archive && dump_archive(&d, dir, err) < 0)
		return -1;
	fact_begin(&d, "end");
	fact_number(&d, "records", d.records);
	fact_end(&d);
	return 0;
}

static int
dump(const struct tool *t, const struct choice *c)
{
	struct tide_config config;
	const char *dir = c->offline;
	struct tide_err err;
	int rc;

	if (c->offline == NULL) {
		if (tool_places(t, &config) < 0)
			return TOOL_ERROR;
		dir = config.state_dir;
	}
	if (!c->mdb)
		rc = dump_facts(c, &config, dir, t->json, &err);
	else
		rc = c->live ? dump_mdb_live(&config, &err)
			     : dump_mdb_archive(dir, &err);
	if (rc == 0)
		return TOOL_OK;
	complain("%s", err.text);
	return TOOL_ERROR;
}

enum { LIVE = OPT_OWN, ARCHIVE, MDB, OFFLINE };

static void
read_options(struct tool *t, struct choice *choice)
{
	static const struct option longs[] = {
		{ "live", no_argument, NULL, LIVE },
		{ "archive", no_argument, NULL, ARCHIVE },
		{ "mdb", no_argument, NULL, MDB },
		{ "offline", required_argument, NULL, OFFLINE },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		choice->live |= c == LIVE;
		choice->archive |= c == ARCHIVE;
		choice->mdb |= c == MDB;
		if (c == OFFLINE)
			choice->offline = optarg;
	}
	(void)tool_arguments(t, 0);
}

/* Without a choice: both; as LMDB's text, or offline, the archive. */
int
run_dump(struct tool *t)
{
	struct choice c = { .offline = NULL };

	read_options(t, &c);
	if (c.live && c.offline != NULL)
		tool_misused(t, "--offline has no live map, only the archive");
	if (c.mdb && t->json)
		tool_misused(t, "--mdb and --json exclude each other");
	if (c.mdb && c.live && c.archive)
		tool_misused(t, "--mdb writes one of the two at a time");
	if (!c.live && !c.archive) {
		c.archive = true;
		c.live = !c.mdb && c.offline == NULL;
	}
	return dump(t, &c);
}
