/*
 * decision - a record of the ring, for the eye and for programs.
 */
#ifndef TOOLS_DECISION_H
#define TOOLS_DECISION_H

#include "../read/json.h"
#include "../read/view.h"
#include "tidemark/shared/ring.h"

#define DECISION_MAX 512

/* One line without its end, as tail shows it; returns buf. */
const char *decision_show(
    const struct view *, const struct tide_decision *, char *buf, size_t);

/* The fields, within an open object. */
void
decision_json(struct json *, const struct view *, const struct tide_decision *);

/* The profile's name, "?" if there is none of that number. */
const char *profile_name(const struct view *, unsigned profile);

/* "OKSENDER", "-" if it is none. */
const char *group_name(unsigned group);

#endif
