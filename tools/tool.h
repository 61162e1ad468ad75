/*
 * tool - what the subcommands of `tidemark` have in common.
 *
 * Data goes to stdout, talk to stderr.  A subcommand returns its exit code;
 * main() then makes sure that all of stdout was written.
 */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <getopt.h>
#include <stdbool.h>

#include "read/output.h"
#include "tidemark/settings/config.h"

struct view;

struct tool {
	const struct command *command; /* NULL before it is known */
	int argc;
	char **argv; /* the subcommand's, its name first */
	const char *conf, *root;
	bool json;
};

struct command {
	const char *name;
	const char *synopsis; /* what follows the name */
	const char *help;     /* one line, no full stop */
	const char *details;  /* options and exit codes, or "" */
	int (*run)(struct tool *);
};

/* Codes of a subcommand's long options start here. */
enum { OPT_OWN = 512 };

/*
 * The next option of the subcommand, as getopt_long() gives it; -1 after the
 * last.  The options that all subcommands share are taken care of, and so are
 * --help and mistakes, which end the program.
 */
int tool_getopt(struct tool *, const char *shorts, const struct option *longs);

/* The arguments after the options; ends the program if they are not n. */
char **tool_arguments(const struct tool *, int n);

/* Say what is wrong with the command line, then end the program. */
void tool_misused(const struct tool *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/*
 * Which of the names, up to NULL, the word is.  If it is none, say which there
 * are and which is nearest, then end the program.  `option', unless NULL, is
 * where it was given.
 */
size_t tool_choice(const struct tool *, const char *option, const char *word,
    const char *const *names);

/* The word at optind; NULL if the command line ends before it. */
const char *tool_word(const struct tool *);

/* --for TIME: milliseconds, of which 0 would be what is said. */
uint64_t tool_for(const struct tool *, const char *text, const char *zero_is);

/* `tidemark SUB --help`; `tidemark --help` with NULL. */
void tool_help(const struct command *);

/* The table of subcommands, and the options that all of them have. */
const struct command *tool_commands(size_t *count);
extern const char tool_common[];

/* The one of that name; NULL once the nearest is said. */
const struct command *tool_command(const char *name);

/* The file the settings are read from, NULL for the built-in ones. */
const char *tool_config_path(const struct tool *);

/* Find and read the settings.  0, or -1 once all complaints are said. */
int tool_config(const struct tool *, struct tide_config *);

/*
 * The same, for those who only want to find the daemon: it may well be at
 * work when its file has just been spoilt, and a bypass must not wait for
 * the repair.  -1 only if there is no file to read.
 */
int tool_places(const struct tool *, struct tide_config *);

/* Open the map of that daemon; TOOL_ERROR once it is said why not. */
int tool_view(const struct tool *, struct view *);

/* The subcommands. */
int run_addresses(struct tool *);
int run_audit(struct tool *);
int run_ban(struct tool *);
int run_banned(struct tool *);
int run_bucket(struct tool *);
int run_bulk(struct tool *);
int run_bypass(struct tool *);
int run_checkpoint(struct tool *);
int run_config(struct tool *);
int run_configtest(struct tool *);
int run_counters(struct tool *);
int run_dump(struct tool *);
int run_normalise(struct tool *);
int run_except(struct tool *);
int run_export(struct tool *);
int run_merge(struct tool *);
int run_egress(struct tool *);
int run_query(struct tool *);
int run_reload(struct tool *);
int run_report(struct tool *);
int run_replay(struct tool *);
int run_seal(struct tool *);
int run_size(struct tool *);
int run_spam(struct tool *);
int run_status(struct tool *);
int run_unban(struct tool *);
int run_tail(struct tool *);
int run_top(struct tool *);
int run_metrics(struct tool *);
int run_completion(struct tool *);
int run_setup(struct tool *);
int run_why(struct tool *);
int run_help(struct tool *);
int run_backup(struct tool *);
int run_restore(struct tool *);
int run_forget(struct tool *);

#endif
