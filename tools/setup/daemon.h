/*
 * setup, daemon - what one of sendmail's daemons shall have, in .mc or .cf.
 *
 * Every daemon keeps the filters it has and gets Tidemark's behind them: what
 * a filter behind us refuses would count as passed.  A daemon without a list
 * of its own runs the list of all; once it has one, that list has to be
 * copied into it.
 */
#ifndef TOOLS_SETUP_DAEMON_H
#define TOOLS_SETUP_DAEMON_H

#include "setup.h"
#include "sendmail_cf.h"

/* Is one of these filters ours? */
bool
sm_has_ours(const struct setup *, const struct sm_conf *, const char *list);

/*
 * The options that the daemon shall have; NULL if they can stay, or on an
 * error, with *code -1.  Profiles whose filter is not defined yet are marked
 * in `needed'.
 */
char *sm_better(const struct setup *, const struct sm_conf *,
    const struct sm_daemon *, bool *needed, int *code);

/*
 * Define the filters of the profiles marked: before, the name, between, S=, F=
 * and T=, after.
 */
void sm_put_filters(FILE *, const struct setup *, const bool *needed,
    const char *before, const char *between, const char *after);

#endif
