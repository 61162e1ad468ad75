/*
 * config - configtest, and the settings on show.
 */
#include <stdio.h>
#include <string.h>

#include "read/json.h"
#include "read/output.h"
#include "tool.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

static void
put_verdict(const struct tool *t, const char *path, bool fine)
{
	struct json j;

	if (!t->json && fine)
		printf("%s: fine\n", path != NULL ? path : "built-in settings");
	if (!t->json)
		return;
	j = json_record(stdout, "configtest");
	if (path != NULL)
		json_text(&j, "file", path);
	else
		json_null(&j, "file");
	json_bool(&j, "fine", fine);
	json_record_end(&j);
}

/* One of them a line. */
static void
put_complaints(const struct tool *t, char *text)
{
	char *rest = NULL, *line = strtok_r(text, "\n", &rest);
	struct json j;

	for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		(void)fprintf(stderr, "%s\n", line);
		if (!t->json)
			continue;
		j = json_record(stdout, "complaint");
		json_text(&j, "text", line);
		json_record_end(&j);
	}
}

int
run_configtest(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	struct tide_complaints complaints = { 0 };
	struct tide_config config;
	const char *path;
	bool fine;

	while (tool_getopt(t, "", none) != -1)
		;
	(void)tool_arguments(t, 0);
	path = tool_config_path(t);
	fine =
	    path == NULL || tide_config_load(&config, path, &complaints) == 0;
	if (!fine && complaints.text != NULL)
		put_complaints(t, complaints.text);
	tide_complaints_free(&complaints);
	put_verdict(t, path, fine);
	return fine ? TOOL_OK : TOOL_NO;
}

/* ---- config ------------------------------------------------------------ */

/* The settings of one kind of section, as members of an open object. */
static void
put_settings(struct json *j, const struct tide_config *c,
    enum tide_param_section section, unsigned index, bool differences)
{
	const struct tide_param *p;
	char value[TIDE_PARAM_TEXT_MAX];
	bool at_default;

	for (p = tide_params; p < tide_params + tide_params_count; p++) {
		if (p->section != section)
			continue;
		at_default = tide_param_is_default(p, c, index);
		if (differences && at_default)
			continue;
		json_object(j, p->name);
		json_text(j, "value",
		    tide_param_show(p, c, index, value, sizeof value));
		json_bool(j, "default", at_default);
		json_object_end(j);
	}
}

static void
put_json(const struct tide_config *c, bool differences)
{
	struct json j = json_record(stdout, "config");
	unsigned i, n = c->profiles;

	json_object(&j, "settings");
	put_settings(&j, c, TIDE_OF_ALL, 0, differences);
	json_object_end(&j);
	if (differences && tide_profiles_are_default(c))
		n = 0;
	json_object(&j, "profiles");
	for (i = 0; i < n; i++) {
		json_object(&j, c->profile[i].name);
		put_settings(&j, c, TIDE_OF_PROFILE, i, differences);
		json_object_end(&j);
	}
	json_object_end(&j);
	json_object(&j, "policies");
	for (i = 0; i < c->policies; i++) {
		json_object(&j, c->policy[i].name);
		put_settings(&j, c, TIDE_OF_POLICY, i, differences);
		json_object_end(&j);
	}
	json_object_end(&j);
	json_record_end(&j);
}

static int
show(const struct tool *t, bool differences)
{
	struct tide_config config;

	if (tool_config(t, &config) < 0)
		return TOOL_ERROR;
	if (t->json)
		put_json(&config, differences);
	else
		tide_params_write(stdout, &config, differences);
	return TOOL_OK;
}

enum { SHOW_SAMPLE = OPT_OWN, SHOW_MAN };

int
run_config(struct tool *t)
{
	static const struct option longs[] = {
		{ "sample", no_argument, NULL, SHOW_SAMPLE },
		{ "man", no_argument, NULL, SHOW_MAN },
		{ NULL, 0, NULL, 0 },
	};
	bool differences = false;
	int c, what = 0;

	while ((c = tool_getopt(t, "n", longs)) != -1) {
		if (c == 'n')
			differences = true;
		else
			what = c;
	}
	(void)tool_arguments(t, 0);
	if (what != 0 && (differences || t->json))
		tool_misused(t, "--sample and --man stand alone");
	if (what == 0)
		return show(t, differences);
	if (what == SHOW_SAMPLE)
		tide_params_sample(stdout);
	else
		tide_params_man(stdout);
	return TOOL_OK;
}
