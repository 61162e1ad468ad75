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

#include "tidemark/config.h"

enum tide_param_kind {
	TIDE_PARAM_STRING,
	TIDE_PARAM_WORDS,	/* list: spaces or commas between */
	TIDE_PARAM_PATH,	/* absolute */
	TIDE_PARAM_SOCKET,	/* local:PATH or inet:PORT@ADDRESS */
	TIDE_PARAM_CHOICE,
	TIDE_PARAM_MODE,	/* octal permissions */
	TIDE_PARAM_COUNT,	/* 256, 100k */
	TIDE_PARAM_SIZE,	/* 64M */
	TIDE_PARAM_TIME,	/* 1h, 90s, 180d */
	TIDE_PARAM_SHARE	/* 0 < p < 1: 0.001 */
};

/* When a changed setting takes effect. */
enum tide_param_change {
	TIDE_CHANGE_RELOAD,	/* at once */
	TIDE_CHANGE_RESTART	/* a reload refuses it, and says so */
};

struct tide_param {
	const char *name;
	bool of_profile;	/* belongs into [profile NAME] */
	enum tide_param_kind kind;
	enum tide_param_change change;
	size_t offset;		/* into tide_config or tide_profile */
	size_t size;		/* of the field */
	const char *fallback;	/* the default, as a person writes it */
	const char *least, *most; /* as a person writes them; NULL: no bound */
	const char *const *choices; /* NULL-ended, for TIDE_PARAM_CHOICE */
	const char *help;	/* one or more sentences */
};

extern const struct tide_param tide_params[];
extern const size_t tide_params_count;

/* The value as a person writes it; profile is ignored for global settings. */
const char *tide_param_show(const struct tide_param *,
    const struct tide_config *, unsigned profile, char *buf, size_t);

/* Is it at its default? (profile sockets default by the profile's name) */
bool tide_param_is_default(const struct tide_param *,
    const struct tide_config *, unsigned profile);

/*
 * The first setting that differs and that only a restart can change, or
 * NULL.  *profile is set to its profile's index, or -1.
 */
const struct tide_param *tide_params_need_restart(const struct tide_config *old,
    const struct tide_config *new, int *profile);

#endif
