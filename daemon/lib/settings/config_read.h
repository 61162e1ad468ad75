/*
 * config_read - one tide_config_load() at work; private to config*.c.
 */
#ifndef CONFIG_READ_H
#define CONFIG_READ_H

#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

/* Sections: globals, profiles, policies, and two for what does not count. */
enum {
	IN_GLOBALS = 0,
	IN_PROFILE = 1,				    /* + index */
	IN_POLICY = IN_PROFILE + TIDE_PROFILES_MAX, /* + index */
	IN_EXCESS = IN_POLICY + TIDE_POLICIES_MAX,  /* a profile too many */
	IN_UNKNOWN, /* its keys are not looked at */
	SECTIONS = IN_UNKNOWN
};

/* Where something was said; file NULL: nowhere, it is built in. */
struct place {
	const char *file;
	unsigned line;
	bool bad; /* said, but wrong: what depends on it is not checked */
};

struct reading {
	struct tide_config *config;
	struct tide_complaints *complaints;
	struct tide_profile excess;
	bool own_profiles; /* the built-in ones are gone */
	struct place header[SECTIONS];
	struct place set[SECTIONS][TIDE_PARAMS_MAX];
	char **names; /* of the files read; places point to them */
	size_t names_count;
};

/* One file being read; they form a stack. */
struct source {
	const struct source *from; /* who includes it, or NULL */
	struct place at;	   /* the line being read */
	int section;
	unsigned depth;
	unsigned long long dev, ino; /* tells a cycle */
};

void tide_complain(struct tide_complaints *, const struct place *,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Of what an earlier version let pass: see struct tide_complaints. */
void tide_complain_passable(struct tide_complaints *, const struct place *,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* config_lines.c: read a file; what is wrong becomes complaints. */
void tide_reading_file(
    struct reading *, const struct source *from, const char *path);

/* config_keys.c: a "[section]" line, and "key = value". */
void tide_reading_section(struct reading *, struct source *, char *line);
void tide_reading_key(struct reading *, struct source *, char *line);

/* What settings a section has. */
enum tide_param_section tide_reading_kind(int section);

/* Take a value out of its quotes; NULL after a complaint. */
char *tide_reading_value(struct reading *, const struct source *, char *text);

/* config_check.c: do the settings fit together? */
void tide_reading_check(struct reading *);

/* Where a key was set. */
const struct place *
tide_reading_place(const struct reading *, int section, const char *key);
/* Whom to complain of: that, or else its section, or else runtime_dir. */
const struct place *
tide_reading_blame(const struct reading *, int section, const char *key);

/* config_policy.c: does every policy server charge somebody? */
void tide_reading_check_policies(struct reading *);

/* config_peers.c: does every socket that others reach say who may? */
void tide_reading_check_peers(struct reading *);

/* config_world.c: is there what the settings name? */
void tide_reading_check_world(struct reading *);

/* config_lists.c: a profile's lists; bad words are left out of them. */
void tide_reading_check_lists(struct reading *, unsigned profile);

#endif
