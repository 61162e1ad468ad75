/*
 * setup - Tidemark beside a mail server: what its files have to say, whether
 * they do, and changing them.
 *
 * Every path is one of the configuration tree; with --root DIR that tree lies
 * below DIR, users and groups included.
 */
#ifndef TOOLS_SETUP_SETUP_H
#define TOOLS_SETUP_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "../tool.h"
#include "findings.h"
#include "tidemark/settings/config.h"

struct setup {
	const struct tool *tool;
	const char *root; /* "", or DIR without a slash at its end */
	struct tide_config config;
	const char *conf; /* tidemark.conf, there or not */
	bool conf_there, conf_wrong;
	const char *mc, *cf, *submit; /* sendmail's */
	const char *main_dir;	      /* Postfix's */
	const char *program;	      /* sendmail or postconf; NULL: look */
	bool all_or_nothing;	      /* --undo */
	unsigned found[SETUP_SEVERITIES];
};

/* ---- the machine: world.c ---------------------------------------------- */

/* A path of the tree as the system knows it; to be freed. */
char *setup_real(const struct setup *, const char *path);
bool setup_exists(const struct setup *, const char *path);
char *setup_slurp(const struct setup *, const char *path, size_t *length);

#define SETUP_GROUPS_MAX 64

/* Somebody, as the kernel judges his rights. */
struct setup_person {
	char name[64], group[64];
	uid_t uid;
	gid_t gid[SETUP_GROUPS_MAX]; /* his own first */
	size_t groups;
};

/* False if there is no such user.  `group', unless "", is his own instead. */
bool setup_person(const struct setup *, const char *user, const char *group,
    struct setup_person *);

/* False if there is no such group. */
bool setup_group(const struct setup *, const char *name, gid_t *);

enum setup_reach {
	REACH_FINE,
	REACH_MISSING,
	REACH_NO_SOCKET,
	REACH_LINK,   /* sendmail follows none */
	REACH_DEAF,   /* nobody listens */
	REACH_RIGHTS, /* he may not */
	REACH_FOLDER  /* others may write a folder on the way */
};

/* How careful the mail server is about the way to a socket. */
enum setup_care { CARE_NONE, CARE_WORLD, CARE_GROUP };

/* Can he connect?  If not, why says what is in the way. */
enum setup_reach setup_reach(const struct setup *, const char *path,
    const struct setup_person *, enum setup_care, char *why, size_t);

/*
 * Run a program on this machine; below DIR, if DIR has it.  Its exit status,
 * -1 if it could not be run.  What it writes is to be freed.
 */
int setup_run(
    const struct setup *, const char *const *argv, char **out, char **err);

/* Will it be run below DIR?  Then paths are those of the tree. */
bool setup_runs_below(const struct setup *, const char *program);

/* The first of these programs that is there, NULL if none is. */
const char *setup_which(const struct setup *, const char *const *paths);

/* ---- Tidemark's own settings: profile.c -------------------------------- */

/* The path of a local: socket; NULL for inet. */
const char *setup_socket_path(const char *socket);

/* The same socket, whichever of local:, unix: and a bare path it is? */
bool setup_same_socket(const char *, const char *);

/* The profile whose socket this is, or -1. */
int setup_profile_by_path(const struct setup *, const char *path);

/* The profile that has the daemon's name, or -1. */
int setup_profile_by_name(const struct setup *, const char *daemon);

/* The profile for the world's mail, or for our own people's. */
int setup_profile_for(const struct setup *, bool internal);

/* Is it our profile's kind?  With one profile alone all is. */
bool setup_profile_fits(const struct setup *, int profile, bool internal);

/* The name of a profile's filter: tidemark-ext, tidemark-int, ... */
void setup_filter_name(const struct setup *, int profile, char *, size_t);

/* Is the socket, or the name of a filter, Tidemark's? */
bool setup_is_ours(const struct setup *, const char *name, const char *path);

/* May the daemon give its sockets to that group? */
bool setup_may_give(const struct setup *, const char *group);

/* Is he in the group that a socket with this socket_group = will have? */
bool setup_shares_group(
    const struct setup *, const struct setup_person *, const char *set);

/* ---- the two mail servers ---------------------------------------------- */

/* What is common to both checks: check.c */
void setup_check_conf(struct setup *);
void setup_check_socket(struct setup *, const char *file, unsigned line,
    const char *who, const char *path, const struct setup_person *,
    enum setup_care);
void setup_check_groups(struct setup *);

/* Findings; -1 if there is nothing to check. */
int setup_check_sendmail(struct setup *);
int setup_check_postfix(struct setup *);

struct setup_plan;

/* What is to be done; -1 once it is said why nothing can. */
int setup_plan_sendmail(struct setup *, struct setup_plan *, bool apply);
int setup_plan_postfix(struct setup *, struct setup_plan *, bool apply);

#endif
