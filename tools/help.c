/*
 * help - the table of subcommands, shown.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "read/json.h"
#include "read/output.h"
#include "tool.h"
#include "tidemark/settings/config.h"

const char tool_common[] =
    "  -c, --config FILE  read FILE (default $TIDEMARK_CONF, then\n"
    "                     " TIDE_CONF_PATH ",\n"
    "                     then the built-in settings)\n"
    "      --root DIR     built-in settings, everything below DIR\n"
    "      --json         for programs: one JSON object a line\n"
    "      --color=WHEN   auto, always or never; see also NO_COLOR\n"
    "  -V, --version\n"
    "  -h, --help\n";

/* Headings of the list, by the command that comes first below each. */
static const struct heading {
	const char *first, *text;
} headings[] = {
	{ "status", "To look" },
	{ "banned", "To refuse, and to let in again" },
	{ "addresses", "Reputation" },
	{ "replay", "Limits and settings" },
	{ "seal", "The store, and what is counted" },
	{ "completion", "Help" },
};

/* What root does to a machine has its page in section 8. */
static int
page_section(const struct command *c)
{
	return strcmp(c->name, "egress") == 0 ? 8 : 1;
}

static void
help_command(const struct command *c)
{
	printf("usage: tidemark %s %s\n\n%c%s.\n\n%s%s\n%s", c->name,
	    c->synopsis, toupper((unsigned char)c->help[0]), c->help + 1,
	    c->details, c->details[0] != '\0' ? "\nEverywhere:" : "Everywhere:",
	    tool_common);
	printf("\nSee tidemark-%s(%d).\n", c->name, page_section(c));
}

static void
put_heading(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof headings / sizeof *headings; i++)
		if (strcmp(headings[i].first, name) == 0)
			printf("\n%s%s:%s\n", tone(TONE_STRONG),
			    headings[i].text, tone(TONE_PLAIN));
}

void
tool_help(const struct command *c)
{
	const struct command *all;
	size_t i, n;

	if (c != NULL) {
		help_command(c);
		return;
	}
	(void)fputs("usage: tidemark [options] COMMAND [options]\n", stdout);
	all = tool_commands(&n);
	for (i = 0; i < n; i++) {
		put_heading(all[i].name);
		printf("  %-11s  %s\n", all[i].name, all[i].help);
	}
	printf("\n%s\nSee tidemark COMMAND --help, and tidemark(1).\n",
	    tool_common);
}

static void
put_json(const struct command *c)
{
	struct json j = json_record(stdout, "command");

	json_text(&j, "name", c->name);
	json_text(&j, "synopsis", c->synopsis);
	json_text(&j, "help", c->help);
	json_text(&j, "details", c->details);
	json_record_end(&j);
}

int
run_help(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	const struct command *c = NULL, *all;
	size_t i, n;

	while (tool_getopt(t, "", none) != -1)
		;
	if (optind + 1 < t->argc)
		tool_misused(t, "one command at a time");
	if (optind < t->argc) {
		c = tool_command(t->argv[optind]);
		if (c == NULL)
			return TOOL_ERROR;
	}
	if (!t->json)
		tool_help(c);
	else if (c != NULL)
		put_json(c);
	else
		for (all = tool_commands(&n), i = 0; i < n; i++)
			put_json(&all[i]);
	return TOOL_OK;
}
