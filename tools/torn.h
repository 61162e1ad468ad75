/*
 * torn - a live map that is cut short while somebody looks at it.
 *
 * Reading beyond the end of a mapped file is SIGBUS.  Attaching checks the
 * length, but who looks for hours needs more: what is missing then reads as
 * zeroes, and is told.
 */
#ifndef TOOLS_TORN_H
#define TOOLS_TORN_H

#include <stdbool.h>

#include "tidemark/map.h"

/* Look after this map from now on, and after no other. */
void torn_watch(const struct tide_map *);

/* If it is this one, no longer: it goes. */
void torn_leave(const struct tide_map *);

/* Has a part of it been missing? */
bool torn_is(void);

#endif
