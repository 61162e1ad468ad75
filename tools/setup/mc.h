/*
 * setup, mc - sendmail.mc, without running m4: its calls of DAEMON_OPTIONS,
 * MAIL_FILTER and the like at the beginning of a line.
 */
#ifndef TOOLS_SETUP_MC_H
#define TOOLS_SETUP_MC_H

#include <stddef.h>

#include "sendmail_cf.h"

#define MC_ARGUMENTS 2

/* A call, as places in the text. */
struct mc_call {
	const char *begin;	       /* of its line */
	const char *arg[MC_ARGUMENTS]; /* within their quotes */
	size_t length[MC_ARGUMENTS];
	const char *end; /* behind the closing bracket */
};

/* The next call of that macro from `at' on; false if there is none. */
int mc_next(const char *at, const char *macro, struct mc_call *);

/* Is the line FEATURE(`name'...) there? */
int mc_has_feature(const char *text, const char *name);

/* What of filters and daemons stands in the file itself. */
void mc_parse(struct sm_conf *, const char *text);

/* Where lines for filters and daemons belong: a beginning of a line. */
const char *mc_place(const char *text);

#endif
