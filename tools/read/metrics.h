/*
 * metrics - everything that can be counted, as Prometheus reads it (text
 * format 0.0.4) or as JSON records.  Labels are profiles, groups, stages and
 * filters: never an address.
 */
#ifndef TOOLS_READ_METRICS_H
#define TOOLS_READ_METRICS_H

#include <stdio.h>

#include "view.h"

void metrics_put(FILE *, const struct view *, bool json);

#endif
