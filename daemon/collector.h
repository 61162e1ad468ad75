/*
 * collector - owner of the map and the only writer of the archive.
 *
 * Three kinds of threads: the first one keeps the pulse and takes signals;
 * the archivist does everything that may wait for a disk; each control
 * connection has one of its own.
 */
#ifndef DAEMON_COLLECTOR_H
#define DAEMON_COLLECTOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon.h"
#include "tidemark/archive.h"
#include "tidemark/config.h"
#include "tidemark/map.h"
#include "tidemark/sealer.h"

/* Work that a control thread may ask the archivist for. */
enum errand { ERRAND_SEAL, ERRAND_CHECKPOINT, ERRANDS };

struct collector {
	const struct options *options;
	struct tide_map *map;
	struct tide_archive archive;
	struct tide_sealer sealer; /* the archivist's alone */

	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	struct tide_config config;
	uint64_t generation;
	uint64_t wanted[ERRANDS], done[ERRANDS];
	struct tide_err failure[ERRANDS]; /* "" if the last one went well */
	bool stop;
};

/* reload.c: check the file and take it over.  -1 with every complaint in
 * *text (to be freed), and the old configuration stays. */
int collector_reload(struct collector *, char **text);

/* archivist.c */
void *archivist_run(void *collector);
/* Have it done and wait for it; -1 with why not. */
int archivist_ask(struct collector *, enum errand, struct tide_err *);

/* control.c */
void *control_run(void *collector);

/* verbs.c: answer one request; fd is the connection. */
struct tide_line;
void answer_request(
    struct collector *, int fd, const struct tide_line *, bool may_change);

#endif
