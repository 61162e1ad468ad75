/*
 * roster_priv - the book itself, for roster.c and roster_deadlines.c.
 */
#ifndef MILTER_ROSTER_PRIV_H
#define MILTER_ROSTER_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidemark/base/clock.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/slots.h"

struct entry {
	pid_t pid;	  /* 0: free; -1: reserved */
	bool orphan;	  /* an earlier acceptor's worker */
	int pidfd;	  /* of an orphan; -1: not known yet whether it lives */
	uint64_t started; /* of an orphan: when it registered, in ticks */
	uint64_t instance; /* the map its slot is in; 0: it has none */
	struct tide_moment since;
	uint32_t service; /* of slots.h */
};

struct roster {
	uint32_t entries; /* as many as there are slots, or more */
	uint32_t most;	  /* max_workers: given away at once */
	uint32_t busy;
	uint32_t serving[TIDE_SERVICES]; /* of these */
	uint32_t hint;			 /* where to look for a free one */
	struct entry *entry;
	struct tide_map *map;
	bool unknown_told;
};

extern struct roster roster;

#endif
