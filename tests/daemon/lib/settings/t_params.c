/*
 * The table of settings, and what is made from it: the listing, the sample
 * file and the manual.  Run from the top of the tree.
 *
 * `t_params sample` and `t_params man` print what the files should hold.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

static char *
slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 65536);

	CHECK_MSG(f != NULL, "%s is missing", path);
	CHECK(fread(text, 1, 65535, f) > 0);
	(void)fclose(f);
	return text;
}

static const char *
store(const char *text)
{
	static char path[600];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/t.conf", check_tmpdir());
	f = fopen(path, "w");
	CHECK(f != NULL);
	(void)fputs(text, f);
	CHECK(fclose(f) == 0);
	return path;
}

static void
load(struct tide_config *c, const char *text)
{
	struct tide_complaints complaints;

	(void)tide_config_load(c, store(text), &complaints);
	CHECK_MSG(tide_complaints_pass(&complaints), "%s", complaints.text);
	tide_complaints_free(&complaints);
}

static char *
printed(void (*print)(FILE *))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	print(f);
	CHECK(fclose(f) == 0);
	return text;
}

static char *
written(const struct tide_config *c, bool differences)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	tide_params_write(f, c, differences);
	CHECK(fclose(f) == 0);
	return text;
}

static void
rows(void)
{
	struct tide_config c;
	char now[TIDE_PARAM_TEXT_MAX], built_in[TIDE_PARAM_TEXT_MAX];

	load(&c, "[policy submission]\n");
	for (size_t i = 0; i < tide_params_count; i++) {
		const struct tide_param *p = &tide_params[i];
		void *base = tide_param_base(p, &c, 0);
		struct tide_err err;

		CHECK_STR(tide_param_show(p, &c, 0, now, sizeof now),
		    tide_param_default(p, &c, 0, built_in, sizeof built_in));
		CHECK_MSG(tide_param_find(p->name, p->section) == p,
		    "%s stands twice", p->name);
		CHECK_MSG(
		    p->help[strlen(p->help) - 1] == '.', "%s: help", p->name);
		CHECK_INT(p->least == NULL, p->most == NULL);
		if (p->least == NULL)
			continue;
		CHECK_MSG(tide_param_set(p, base, p->least, &err) == 0,
		    "%s: %s", p->name, err.text);
		CHECK_MSG(tide_param_set(p, base, p->most, &err) == 0, "%s: %s",
		    p->name, err.text);
		CHECK(!tide_param_is_default(p, &c, 0));
	}
}

static void
differences(void)
{
	struct tide_config c, again;
	char *text;

	load(&c, "");
	text = written(&c, true);
	CHECK_STR(text, "");
	free(text);
	load(&c,
	    "worker_stuck = 60s\nruntime_dir = /run//tm/\nadmins = bob,@ops\n"
	    "log = \"/var/log/a #1\"\n[profile internal]\n[profile mx]\n"
	    "on_error = tempfail\nsocket = inet:8891@127.0.0.1\n"
	    "[policy out]\nprofile = mx\naction = hold\n");
	text = written(&c, true);
	CHECK_STR(text,
	    "runtime_dir = /run/tm\nlog = \"/var/log/a #1\"\n"
	    "admins = bob @ops\n"
	    "\n[profile internal]\n\n[profile mx]\n"
	    "socket = inet:8891@127.0.0.1\non_error = tempfail\n"
	    "\n[policy out]\nprofile = mx\naction = hold\n");
	load(&again, text);
	CHECK(memcmp(&c, &again, sizeof c) == 0);
	free(text);
	text = written(&c, false);
	load(&again, text);
	CHECK(memcmp(&c, &again, sizeof c) == 0);
	free(text);
}

static void
restart_row(const char *text, const char *want, int want_profile)
{
	struct tide_config old, new;
	const struct tide_param *p;
	int profile = 4711;

	load(&old, "[profile a]\n[profile b]\n");
	load(&new, text);
	p = tide_params_need_restart(&old, &new, &profile);
	CHECK_MSG(check_same(p ? p->name : "-", want), "%s: %s, not %s", text,
	    p ? p->name : "-", want);
	CHECK_INT(profile, want_profile);
}

static void
need_restart(void)
{
	static const struct {
		const char *text, *want;
		int profile;
	} cases[] = {
		{ "[profile a]\n[profile b]\n", "-", -1 },
		{ "log_level = debug\n[profile a]\non_error = reject\n"
		  "[profile b]\ndaemons = X\n",
		    "-", -1 },
		{ "[profile a]\n[profile b]\n[policy c]\nprofile = a\n",
		    "policies", -1 },
		{ "max_workers = 256\n[profile a]\n[profile b]\n", "-", -1 },
		{ "max_workers = 255\n[profile a]\n[profile b]\n",
		    "max_workers", -1 },
		{ "window_error = 0.01\n[profile a]\n[profile b]\n",
		    "window_error", -1 },
		{ "control_group = adm\n[profile a]\n[profile b]\n",
		    "control_group", -1 },
		{ "[profile a]\n[profile b]\nsocket_mode = 0666\n",
		    "socket_mode", 1 },
		{ "[profile a]\nsocket = local:/x\n[profile b]\n", "socket",
		    0 },
		{ "[profile a]\n", "profiles", -1 },
		{ "[profile a]\n[profile c]\n", "profiles", -1 },
		{ "[profile b]\n[profile a]\n", "profiles", -1 },
		{ "", "profiles", -1 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		restart_row(cases[i].text, cases[i].want, cases[i].profile);
}

static void
sample_is_current(void)
{
	char *want = printed(tide_params_sample);
	char *have = slurp("conf/tidemark.conf");

	CHECK_MSG(strcmp(have, want) == 0,
	    "conf/tidemark.conf is not what `t_params sample` prints");
	free(have);
	free(want);
}

static void
sample_loads(void)
{
	struct tide_config c, built_in;
	char *text = slurp("conf/tidemark.conf"), *to = text;

	tide_config_defaults(&built_in, NULL);
	load(&c, text);
	CHECK(memcmp(&c, &built_in, sizeof c) == 0);
	/* take the mark off every key and section, and only off them */
	for (char *from = text; *from != '\0'; from++)
		if (*from != '#' || (from > text && from[-1] != '\n') ||
		    !(islower((unsigned char)from[1]) || from[1] == '['))
			*to++ = *from;
	*to = '\0';
	CHECK(strstr(text, "\n[profile internal]\nsocket = local:") != NULL);
	CHECK(strstr(text, "\nretain_for = 180d\n") != NULL);
	load(&c, text);
	/* a policy server is shown, though none is built in */
	load(&built_in, "[policy submission]\n");
	CHECK(memcmp(&c, &built_in, sizeof c) == 0);
	free(text);
}

/* The page with its list filled in passes mandoc's lint. */
static void
manual(void)
{
	char *page = slurp("conf/tidemark.conf.5.in"), command[1400];
	char *list = printed(tide_params_man), *hole, path[600];
	FILE *f;

	if (system("command -v mandoc >/dev/null 2>&1") != 0)
		check_skip("mandoc is not installed");
	hole = strstr(page, "@PARAMS@\n");
	CHECK(hole != NULL);
	*hole = '\0';
	(void)snprintf(path, sizeof path, "%s/t.5", check_tmpdir());
	f = fopen(path, "w");
	CHECK(f != NULL);
	(void)fprintf(f, "%s%s%s", page, list, hole + strlen("@PARAMS@\n"));
	CHECK(fclose(f) == 0);
	(void)snprintf(command, sizeof command,
	    "mandoc -T lint '%s' | grep -v 'referenced manual not found' >&2",
	    path);
	CHECK_MSG(system(command) != 0, "mandoc complains");
	free(list);
	free(page);
}

static void
manual_names_all(void)
{
	char *list = printed(tide_params_man), line[128];

	for (size_t i = 0; i < tide_params_count; i++) {
		(void)snprintf(line, sizeof line, "\n.It Ic %s No = Ar ",
		    tide_params[i].name);
		CHECK_MSG(strstr(list, line) != NULL, "%s", line);
	}
	free(list);
}

static const struct check_case cases[] = {
	{ "every row: default, name, help and bounds are sound", rows },
	{ "what differs is written and reads back", differences },
	{ "what needs a restart", need_restart },
	{ "conf/tidemark.conf is current", sample_is_current },
	{ "conf/tidemark.conf loads, also uncommented", sample_loads },
	{ "the manual names every setting", manual_names_all },
	{ "the manual passes lint", manual },
};

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "sample") == 0)
		tide_params_sample(stdout);
	else if (argc == 2 && strcmp(argv[1], "man") == 0)
		tide_params_man(stdout);
	else
		return check_main(cases, sizeof cases / sizeof *cases);
	return fflush(stdout) == 0 ? 0 : 1;
}
