/*
 * addresses - what the parts of `tidemark addresses` share.
 */
#ifndef TOOLS_ADDRESSES_H
#define TOOLS_ADDRESSES_H

#include <stdint.h>

#include "../read/view.h"
#include "../tool.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"

/* ---- addresses_lines.c ------------------------------------------------- */

struct lines {
	uint64_t read;	   /* lines that named something */
	uint64_t left_out; /* lines that are no address; the first are shown */
	/* each of them; -1 ends it, with a complaint made */
	int (*each)(void *arg, const char *line, const struct tide_key *);
	void *arg;
};

/* All files, "-" for standard input, with a bar; -1 once complained. */
int lines_read(struct lines *, const char *what, char *const *files, int n);

/* ---- addresses_load.c -------------------------------------------------- */

int addresses_load(
    const struct tool *, const struct view *, char *const *files, int n);
int addresses_merge(
    const struct tool *, const struct view *, char *const *files, int n);
int addresses_export(const struct tool *, const struct view *);

/* ---- addresses_check.c ------------------------------------------------- */

/* With `except`, make exceptions of those that are found. */
int addresses_check(const struct tool *, const struct view *,
    char *const *files, int n, bool except);

/* The exceptions as they are published; none if there is no file yet. */
void addresses_exceptions(const struct view *, struct tide_exceptions *);

/* The forms that exceptions are looked up by; a domain has only itself. */
void addresses_forms(struct tide_sender_forms *, const struct tide_key *);

#endif
