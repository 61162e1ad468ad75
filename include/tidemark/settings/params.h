/*
 * params - the one table of settings.
 *
 * Everything anyone says about a setting comes from here: the parser's names
 * and range checks, the defaults, `tidemark config`, the commented sample
 * file and tidemark.conf(5).
 */
#ifndef TIDEMARK_PARAMS_H
#define TIDEMARK_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tidemark/settings/config.h"

#define TIDE_PARAMS_MAX 160
#define TIDE_PARAM_TEXT_MAX 320 /* holds whatever tide_param_show prints */

enum tide_param_kind {
	TIDE_PARAM_STRING, /* one word: a user, a group */
	TIDE_PARAM_WORDS,  /* list: spaces or commas between */
	TIDE_PARAM_PATH,   /* absolute */
	TIDE_PARAM_SOCKET, /* local:PATH or inet:PORT@ADDRESS */
	TIDE_PARAM_LOG,	   /* syslog, stderr or an absolute path */
	TIDE_PARAM_CHOICE,
	TIDE_PARAM_MODE,  /* octal permissions */
	TIDE_PARAM_COUNT, /* 256, 100k */
	TIDE_PARAM_SIZE,  /* 64M */
	TIDE_PARAM_TIME,  /* 1h, 90s, 180d */
	TIDE_PARAM_RATE,  /* 100/1h */
	TIDE_PARAM_SHARE  /* 0 < p < 1: 0.001 */
};

/* When a changed setting takes effect. */
enum tide_param_change {
	TIDE_CHANGE_RELOAD, /* at once */
	TIDE_CHANGE_RESTART /* a reload refuses it, and says so */
};

/* Where a setting belongs. */
enum tide_param_section {
	TIDE_OF_ALL,	 /* before the first section */
	TIDE_OF_PROFILE, /* [profile NAME] */
	TIDE_OF_POLICY,	 /* [policy NAME] */
	TIDE_PARAM_SECTIONS
};

struct tide_param {
	const char *name;
	enum tide_param_section section;
	enum tide_param_kind kind;
	enum tide_param_change change;
	size_t offset;		  /* into the struct of its section */
	size_t size;		  /* of the field */
	const char *fallback;	  /* the default, as a person writes it */
	const char *least, *most; /* as a person writes them; NULL: no bound */
	const char *const *choices; /* NULL-ended, for TIDE_PARAM_CHOICE */
	const char *topic;	    /* a heading before it, or NULL */
	const char *help;	    /* one or more sentences */
};

extern const struct tide_param tide_params[];
extern const size_t tide_params_count;

/*
 * What tide_params_need_restart() returns when profiles were added, removed,
 * renamed or moved.  It stands outside the table, as no key sets it.
 */
extern const struct tide_param tide_param_profiles;
extern const struct tide_param tide_param_policies; /* likewise */

/* The setting of that name and kind of section, or NULL. */
const struct tide_param *
tide_param_find(const char *name, enum tide_param_section);

/* The struct that holds the setting: of the index-th section of its kind. */
void *tide_param_base(
    const struct tide_param *, struct tide_config *, unsigned index);

/*
 * Read, check and store a value.  Base is the struct tide_config,
 * tide_profile or tide_policy, by the setting's section.  0, or -1 with a
 * sentence that does not name the setting; the field is then untouched.
 */
int tide_param_set(
    const struct tide_param *, void *base, const char *text, struct tide_err *);

/* The value as a person writes it; index is ignored for global settings. */
const char *tide_param_show(const struct tide_param *,
    const struct tide_config *, unsigned index, char *buf, size_t);

/*
 * The default as a person writes it.  A section's socket and daemons default
 * by its name, and the socket by runtime_dir as well.
 */
const char *tide_param_default(const struct tide_param *,
    const struct tide_config *, unsigned index, char *buf, size_t);

bool tide_param_is_default(
    const struct tide_param *, const struct tide_config *, unsigned index);

/* Are these the built-in profiles, in order, with no setting changed? */
bool tide_profiles_are_default(const struct tide_config *);

/*
 * The first setting that differs and that only a restart can change, or
 * NULL.  *index is set to its section's among those of its kind, or -1.
 */
const struct tide_param *tide_params_need_restart(
    const struct tide_config *old, const struct tide_config *new, int *index);

/* A kind as the manual names it: time, size, path. */
const char *tide_param_kind_name(enum tide_param_kind);

/*
 * The settings as a configuration that reads back as the same: all of them,
 * or (differences) what is not at its default.  The profiles are left out
 * then if they are the built-in ones.  The caller checks ferror().
 */
void tide_params_write(FILE *, const struct tide_config *, bool differences);

/* conf/tidemark.conf: every setting with its help, commented out. */
void tide_params_sample(FILE *);

/* The list of settings of tidemark.conf(5), in mdoc(7). */
void tide_params_man(FILE *);

#endif
