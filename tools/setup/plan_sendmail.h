/*
 * setup, plan sendmail - the parts of sendmail's plan.
 */
#ifndef TOOLS_SETUP_PLAN_SENDMAIL_H
#define TOOLS_SETUP_PLAN_SENDMAIL_H

#include "setup.h"
#include "plan.h"
#include "sendmail_cf.h"

/* What the .mc should be; NULL once it is said why it cannot be had. */
char *
setup_edit_mc(const struct setup *, const char *mc, const struct sm_conf *cf);

/*
 * Tell of daemons without us that stand in no line of the .mc which we could
 * change; -1 if there are any.
 */
int setup_tell_of_others(
    const struct setup *, const char *mc, const struct sm_conf *cf);

/* What the .cf should be, where it is written by hand; NULL like that. */
char *
setup_edit_cf(const struct setup *, const char *cf, const struct sm_conf *);

/*
 * Build the .cf of the new .mc with m4, have sendmail read it, and add it to
 * the plan.  -1 once it is said what is wrong with it.
 */
int setup_build_cf(const struct setup *, struct setup_plan *, const char *old,
    const char *new, const char *cf);

#endif
