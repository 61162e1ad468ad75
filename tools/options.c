/*
 * options - the command line and the settings, the same for all subcommands.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/output.h"
#include "read/view.h"
#include "tool.h"
#include "tidemark/base/err.h"
#include "tidemark/base/nearest.h"
#include "tidemark/base/units.h"
#include "tidemark/settings/config.h"

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
	bool asks;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	asks = text[0] != '\0' && text[strlen(text) - 1] == '?';
	complain("%s%s%s%s tidemark %s%s--help", name,
	    name[0] != '\0' ? ": " : "", text, asks ? "  See" : "; see", name,
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
	static const char *const colors[] = { "auto", "always", "never", NULL };

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
		(void)tool_choice(t, "--color", optarg, colors);
		(void)output_color(optarg);
		return true;
	case 'V':
		printf("tidemark %s\n", TIDE_VERSION);
		exit(output_finish(TOOL_OK));
	case 'h':
		tool_help(t->command);
		exit(output_finish(TOOL_OK));
	default:
		return false;
	}
}

/* ---- mistakes ---------------------------------------------------------- */

static const char *
nearest_option(const char *word, const struct option *all)
{
	const char *names[SHARED + OWN_MAX];
	char name[64];
	size_t n;

	(void)snprintf(
	    name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
	for (n = 0; all[n].name != NULL; n++)
		names[n] = all[n].name;
	return tide_nearest(name, names, n);
}

/*
 * What getopt_long() did not like: it leaves a long option's word behind
 * optind, and in optopt 0 or the code of one that it knows.
 */
static void
misspelt(const struct tool *t, int c, const struct option *all)
{
	const char *word = t->argv[optind - 1], *close;

	if (c == ':' && strncmp(word, "--", 2) == 0)
		tool_misused(t, "%s what?", word);
	if (c == ':')
		tool_misused(t, "-%c what?", optopt);
	if (optopt >= OPT_ROOT || (optopt != 0 && strchr(word, '=') != NULL))
		tool_misused(
		    t, "%.*s takes no value", (int)strcspn(word, "="), word);
	if (optopt != 0)
		tool_misused(t, "there is no option -%c", optopt);
	close = nearest_option(word + 2, all);
	if (close == NULL)
		tool_misused(t, "there is no option %s", word);
	tool_misused(
	    t, "there is no option %s; did you mean --%s?", word, close);
}

int
tool_getopt(struct tool *t, const char *shorts, const struct option *longs)
{
	struct option all[SHARED + OWN_MAX + 1] = { { NULL, 0, NULL, 0 } };
	bool first = shorts[0] == '+'; /* stop at the subcommand */
	char letters[32];
	size_t n;
	int c;

	for (n = 0; longs[n].name != NULL; n++) {
		assert(n < OWN_MAX);
		all[n] = longs[n];
	}
	memcpy(&all[n], shared, sizeof shared);
	(void)snprintf(letters, sizeof letters, "%s:%sc:Vh", first ? "+" : "",
	    shorts + first);
	opterr = 0; /* we say it ourselves */
	do
		c = getopt_long(t->argc, t->argv, letters, all, NULL);
	while (c != -1 && take_shared(t, c));
	if (c == '?' || c == ':')
		misspelt(t, c, all);
	if (c == -1 && t->conf != NULL && t->root != NULL)
		tool_misused(t, "--config and --root exclude each other");
	return c;
}

/* ---- words ------------------------------------------------------------- */

const char *
tool_word(const struct tool *t)
{
	return optind < t->argc ? t->argv[optind] : NULL;
}

/* a, b and c */
static const char *
enumerate(const char *const *names, size_t n, char *text, size_t size)
{
	size_t i, used = 0;

	text[0] = '\0';
	for (i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
		    i == 0	     ? ""
			: i + 1 == n ? " and "
				     : ", ",
		    names[i]);
	return text;
}

size_t
tool_choice(const struct tool *t, const char *option, const char *word,
    const char *const *names)
{
	const char *close, *colon = option != NULL ? ": " : "";
	char text[256];
	size_t i, n;

	option = option != NULL ? option : "";
	for (n = 0; names[n] != NULL; n++)
		;
	for (i = 0; word != NULL && i < n; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	(void)enumerate(names, n, text, sizeof text);
	if (word == NULL)
		tool_misused(t, "which of %s?", text);
	close = tide_nearest(word, names, n);
	if (close != NULL)
		tool_misused(t, "%s%s«%s» is none of %s (did you mean %s?)",
		    option, colon, word, text, close);
	tool_misused(t, "%s%s«%s» is none of %s", option, colon, word, text);
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
	bool pass;

	if (path == NULL) {
		built_in(t, config);
		return 0;
	}
	if (tide_config_load(config, path, &complaints) == 0)
		return 0;
	pass = tide_complaints_pass(&complaints); /* so does the daemon */
	(void)fputs(
	    complaints.text != NULL ? complaints.text : "no memory\n", stderr);
	tide_complaints_free(&complaints);
	return pass ? 0 : -1;
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
	if (tide_config_load(config, path, &complaints) == 0 ||
	    tide_complaints_pass(&complaints)) {
		tide_complaints_free(&complaints);
		return 0;
	}
	complain("%s has mistakes (see tidemark configtest); going on with "
		 "runtime_dir %s and state_dir %s",
	    path, config->runtime_dir, config->state_dir);
	tide_complaints_free(&complaints);
	return 0;
}

int
tool_view(const struct tool *t, struct view *v)
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
