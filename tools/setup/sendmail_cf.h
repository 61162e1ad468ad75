/*
 * setup, sendmail cf - what sendmail.cf says about filters and daemons.
 *
 * Only what concerns filters is kept.  Any text can be given to it: what
 * makes no sense is left out, as sendmail itself would complain.
 */
#ifndef TOOLS_SETUP_SENDMAIL_CF_H
#define TOOLS_SETUP_SENDMAIL_CF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SM_FILTERS_MAX 64
#define SM_DAEMONS_MAX 32
#define SM_NAME_MAX 64
#define SM_LIST_MAX 512

/* An X line.  Times are in seconds. */
struct sm_filter {
	char name[SM_NAME_MAX];
	char socket[256];
	char flag; /* R, T, 4, or 0 */
	uint64_t connect, send, answer, end;
	unsigned line;
};

/* One DaemonPortOptions. */
struct sm_daemon {
	char name[SM_NAME_MAX];
	char port[SM_NAME_MAX];
	char modifiers[SM_NAME_MAX];
	bool has_filters;	   /* InputMailFilters= is there */
	char filters[SM_LIST_MAX]; /* a;b as written */
	char lost[SM_LIST_MAX];	   /* what a comma cut off: b;c */
	char text[2 * SM_LIST_MAX];
	unsigned line;
};

struct sm_conf {
	char filters[SM_LIST_MAX]; /* InputMailFilters of all daemons */
	unsigned filters_line;
	char run_as[SM_NAME_MAX]; /* user, or user:group; "" is root */
	char blame[SM_LIST_MAX];  /* DontBlameSendmail */
	uint64_t most_children;	  /* MaxDaemonChildren; 0 is no limit */
	unsigned most_children_line;
	struct sm_filter filter[SM_FILTERS_MAX];
	size_t filter_count;
	struct sm_daemon daemon[SM_DAEMONS_MAX];
	size_t daemon_count;
};

void sm_parse(struct sm_conf *, const char *text, size_t);

/* The options of one daemon, as they stand in .mc and .cf. */
void sm_parse_daemon(struct sm_daemon *, const char *options);

const struct sm_filter *sm_filter(const struct sm_conf *, const char *name);

/* The filters that a daemon runs, with ; between them. */
const char *sm_filters_of(const struct sm_conf *, const struct sm_daemon *);

/* Our own people's: a submission port, or only after AUTH. */
bool sm_is_internal(const struct sm_daemon *);

/* Where submit.cf sends mail to: "HOST PORT"; false if it does not say. */
bool sm_submit_route(const char *text, char *route, size_t, unsigned *line);

#endif
