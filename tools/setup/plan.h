/*
 * setup, plan - the files that are to change, and the commands that follow.
 *
 * A plan holds each file as it is and as it shall be.  Applying it is all or
 * nothing: every new file is written beside the old one first, then all are
 * renamed; if one fails, those before it are put back.  The old files stay as
 * FILE.tidemark-DATE, and a journal in Tidemark's folder knows them, for
 * --undo.
 */
#ifndef TOOLS_SETUP_PLAN_H
#define TOOLS_SETUP_PLAN_H

#include "setup.h"

#define PLAN_FILES_MAX 16
#define PLAN_COMMANDS_MAX 16

struct plan_file {
	char *path;
	char *old; /* NULL: it is not there yet */
	char *new;
	const char *why;
};

struct plan_command {
	char *command;
	const char *why;
};

struct setup_plan {
	struct plan_file file[PLAN_FILES_MAX];
	size_t files;
	struct plan_command command[PLAN_COMMANDS_MAX];
	size_t commands;
	bool
	    general; /* for no machine in particular, or by hand: not applied */
};

/* The plan takes over the strings; a file that stays the same is left out. */
void plan_file(
    struct setup_plan *, char *path, char *old, char *new, const char *why);
void plan_command(struct setup_plan *, const char *why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void plan_free(struct setup_plan *);

/*
 * Tidemark's side: let him get at the sockets, and serve so many connections at
 * once.  Unless he is in their group already, the daemon gives them to his own
 * (settings, and a drop-in of its unit).
 */
void plan_settings(const struct setup *, struct setup_plan *,
    const struct setup_person *, unsigned connections);

/* Files as differences, then the commands. */
void plan_print(const struct setup *, const struct setup_plan *, bool done);

void plan_print_commands(const struct setup *, const struct setup_plan *);

/* 0, or -1 once it is said what failed; nothing is changed then. */
int
plan_apply(const struct setup *, const char *mta, const struct setup_plan *);

/* Put back what plan_apply() changed; *any if something was.  An exit code. */
int plan_undo(const struct setup *, const char *mta, bool *any);

/* Differences of two texts, as diff -u shows them, without a head. */
void plan_diff(FILE *, const char *old, const char *new);

#endif
