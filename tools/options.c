/*
 * options - the command line and the settings, the same for all subcommands.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "tool.h"
#include "view_flow.h"

enum { OPT_ROOT = 256, OPT_JSON, OPT_COLOR };

static const struct option shared[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "root", required_argument, NULL, OPT_ROOT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "color", required_argument, NULL, OPT_COLOR },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
};

#define SHARED (sizeof shared / sizeof *shared)
#define OWN_MAX 10

/* ---- options ----------------------------------------------------------- */

void
tool_misused(const struct tool *t, const char *fmt, ...)
{
	const char *name = t->command != NULL ? t->command->name : "";
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	complain("%s%s%s; see tidemark %s%s--help", name,
	    name[0] != '\0' ? ": " : "", text, name,
	    name[0] != '\0' ? " " : "");
	exit(TOOL_ERROR);
}

uint64_t
tool_for(const struct tool *t, const char *text, const char *zero_is)
{
	struct tide_err err;
	uint64_t ms;

	if (tide_time_parse(text, &ms, &err) < 0)
		tool_misused(t, "--for: %s", err.text);
	if (ms == 0)
		tool_misused(t, "--for 0 would be %s", zero_is);
	return ms;
}

/* True if the option was one of all subcommands'. */
static bool
take_shared(struct tool *t, int c)
{
	switch (c) {
	case 'c':
		t->conf = optarg;
		return true;
	case OPT_ROOT:
		t->root = optarg;
		return true;
	case OPT_JSON:
		t->json = true;
		return true;
	case OPT_COLOR:
		if (!output_color(optarg))
			tool_misused(
			    t, "--color is one of auto, always and never");
		return true;
	case 'V':
		printf("tidemark %s\n", TIDE_VERSION);
		exit(finish(TOOL_OK));
	case 'h':
		tool_help(t->command);
		exit(finish(TOOL_OK));
	case '?':
		complain("try %s --help", t->argv[0]);
		exit(TOOL_ERROR);
	default:
		return false;
	}
}

int
tool_getopt(struct tool *t, const char *shorts, const struct option *longs)
{
	struct option all[SHARED + OWN_MAX + 1] = { { NULL, 0, NULL, 0 } };
	char letters[32];
	size_t n;
	int c;

	for (n = 0; n < OWN_MAX && longs[n].name != NULL; n++)
		all[n] = longs[n];
	memcpy(&all[n], shared, sizeof shared);
	(void)snprintf(letters, sizeof letters, "%sc:Vh", shorts);
	do
		c = getopt_long(t->argc, t->argv, letters, all, NULL);
	while (c != -1 && take_shared(t, c));
	if (c == -1 && t->conf != NULL && t->root != NULL)
		tool_misused(t, "--config and --root exclude each other");
	return c;
}

char **
tool_arguments(const struct tool *t, int n)
{
	if (t->argc - optind < n)
		tool_misused(t, "something is missing");
	if (t->argc - optind > n)
		tool_misused(
		    t, "«%s» is one word too many", t->argv[optind + n]);
	return t->argv + optind;
}

/* ---- settings ---------------------------------------------------------- */

const char *
tool_config_path(const struct tool *t)
{
	const char *path = t->conf;

	if (t->root != NULL)
		return NULL;
	if (path == NULL)
		path = getenv("TIDEMARK_CONF");
	if (path != NULL && path[0] != '\0')
		return path;
	return access(TIDE_CONF_PATH, F_OK) == 0 ? TIDE_CONF_PATH : NULL;
}

static void
built_in(const struct tool *t, struct tide_config *config)
{
	char *root = t->root == NULL ? NULL : realpath(t->root, NULL);

	tide_config_defaults(config, root != NULL ? root : t->root);
	free(root);
}

int
tool_config(const struct tool *t, struct tide_config *config)
{
	struct tide_complaints complaints = { 0 };
	const char *path = tool_config_path(t);

	if (path == NULL) {
		built_in(t, config);
		return 0;
	}
	if (tide_config_load(config, path, &complaints) == 0)
		return 0;
	(void)fputs(
	    complaints.text != NULL ? complaints.text : "no memory\n", stderr);
	tide_complaints_free(&complaints);
	return -1;
}

int
tool_places(const struct tool *t, struct tide_config *config)
{
	struct tide_complaints complaints = { 0 };
	const char *path = tool_config_path(t);

	if (path == NULL) {
		built_in(t, config);
		return 0;
	}
	if (access(path, R_OK) != 0) {
		complain("%s: %s", path, strerror(errno));
		return -1;
	}
	if (tide_config_load(config, path, &complaints) == 0)
		return 0;
	complain("%s has mistakes (see tidemark configtest); going on with "
		 "runtime_dir %s and state_dir %s",
	    path, config->runtime_dir, config->state_dir);
	tide_complaints_free(&complaints);
	return 0;
}

int
view_open_for(const struct tool *t, struct view *v)
{
	struct tide_config config;
	struct tide_err err;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	if (view_open(v, &config, &err) == 0)
		return TOOL_OK;
	complain("there is no live map to read: %s", err.text);
	return TOOL_ERROR;
}
