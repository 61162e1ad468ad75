/*
 * egress - what the files of `tidemark egress` share.
 */
#ifndef TOOLS_EGRESS_EGRESS_H
#define TOOLS_EGRESS_EGRESS_H

#include <stdio.h>

#include "../tool.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

struct egress_options {
	uint64_t for_ms; /* 0: for good */
	const char *reason, *origin;
	bool replace, follow;
	uint16_t port;
	uint64_t timeout_ms;
	const char *rcpt; /* of the probe */
};

struct egress_list {
	struct tide_egress *entry;
	size_t count, room;
};

/* ---- lists.c: the daemon's lists --------------------------------------- */

bool egress_list_add(struct egress_list *, const struct tide_egress *);
void egress_list_free(struct egress_list *);

/* Add the daemon's entries of a kind; TOOL_OK, or what went wrong, said. */
int egress_fetch(
    const struct tide_config *, enum tide_egress_kind, struct egress_list *);

/* Until when something is, as a person says it: ", until 2026-..." */
const char *egress_show_until(uint64_t until_ms, char *, size_t);
void egress_print(const struct tool *, const struct tide_egress *);

int egress_add(const struct tool *, const struct egress_options *,
    enum tide_egress_kind, char **words, int n);
int egress_del(const struct tool *, enum tide_egress_kind, char **words, int n);
int egress_print_all(const struct tool *, enum tide_egress_kind);
int egress_ask(const struct tool *, enum tide_egress_kind, char **words, int n);

/* change.c: tell the daemon, as many at a time as fit in a line.
 * *changed, unless NULL, is raised by how many were new, or were there. */
int egress_change(const struct tide_config *, const char *verb,
    enum tide_egress_kind, const char *origin, const struct egress_list *,
    const char *progress, uint64_t *changed);

/* import.c */
int egress_import(const struct tool *, const struct egress_options *,
    enum tide_egress_kind, const char *path);

/* ---- check.c, probe.c: registered servers ------------------------------ */

int egress_check(
    const struct tool *, const struct egress_options *, char **words, int n);

/* Speak to it; what it said last goes to said. */
enum tide_egress_verdict egress_probe(
    const struct tide_ip *, const struct egress_options *, char *said, size_t);

/* ---- rules.c: the lists in nft's language ------------------------------ */

enum egress_count {
	COUNT_BANNED,
	COUNT_DENIED,
	COUNT_UNREGISTERED,
	COUNT_PERMITTED,
	COUNT_OTHER,
	EGRESS_COUNTS
};

struct egress_counts {
	uint64_t packets[EGRESS_COUNTS], bytes[EGRESS_COUNTS];
};

extern const char *const egress_count_name[EGRESS_COUNTS];

/* The whole table, in place of one that is there; counting goes on. */
void egress_rules(FILE *, const struct tide_config *,
    const struct tide_egress_plan *, const struct egress_counts *,
    uint64_t now_ms);

/* What makes the sets of one plan those of the other; how many elements. */
size_t egress_rules_changes(FILE *, const struct tide_config *,
    const struct tide_egress_plan *from, const struct tide_egress_plan *to,
    uint64_t now_ms);

/* ---- nft.c, kernel.c: the kernel's side -------------------------------- */

/* Have libnftables carry out the commands, all or none. */
int nft_run(const char *commands, struct tide_err *);

/* Is there such a table?  1 and the number the kernel gave it, 0, -1. */
int kernel_table(const char *name, uint64_t *handle, struct tide_err *);

/* What a counter of a table has counted; 1, 0 if there is none, -1. */
int kernel_counter(const char *table, const char *name, uint64_t *packets,
    uint64_t *bytes, struct tide_err *);

/* ---- apply.c, stats.c -------------------------------------------------- */

/* What the table has counted; 1, 0 if there is none, -1. */
int egress_counts(const char *table, struct egress_counts *, struct tide_err *);

int egress_apply(const struct tool *, const struct egress_options *);
int egress_show(const struct tool *);
int egress_stats(const struct tool *);
int egress_remove(const struct tool *);

#endif
