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
#include "tidemark/bans.h"
#include "tidemark/config.h"
#include "tidemark/map.h"
#include "tidemark/pool.h"
#include "tidemark/sealer.h"

/* Work that a control thread may ask the archivist for. */
enum errand { ERRAND_SEAL, ERRAND_CHECKPOINT, ERRANDS };

/* An overflow on its way to a ban: PROTOCOL overflow in keeper.c. */
#define BAN_WORKS 64u
struct ban_work {
	bool used, durable;
	bool first;		 /* no ban stood */
	struct tide_ban ban;	 /* as met */
	struct tide_ban settled; /* as stored */
};

/* A running ban_hook. */
#define HOOKS 16u
struct hook {
	pid_t pid; /* 0: none */
	bool killed;
	unsigned profile;
	uint64_t began_ms; /* monotonic */
};

struct collector {
	const struct options *options;
	struct tide_map *map;
	struct tide_archive archive;
	struct tide_sealer sealer; /* the archivist's alone */
	struct tide_pool pool;	   /* the first thread's alone */
	struct hook hook[HOOKS];   /* the first thread's, too */
	pthread_mutex_t ban_lock;  /* over writing to the map's bans */

	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	struct tide_config config;
	uint64_t generation;
	uint64_t wanted[ERRANDS], done[ERRANDS];
	struct tide_err failure[ERRANDS]; /* "" if the last one went well */
	struct ban_work work[BAN_WORKS];
	bool bans_queued;
	bool classes_stale; /* a reload changed them */
	bool stop;
};

/* reload.c: check the file and take it over.  -1 with every complaint in
 * *text (to be freed), and the old configuration stays. */
int collector_reload(struct collector *, char **text);

/* keeper.c: buckets and overflows. */
int keeper_open(struct collector *, struct tide_err *);
void keeper_round(struct collector *);
unsigned class_of(unsigned profile, unsigned group);

/* hook.c: tell ban_hook; see what has become of those that run. */
void hook_start(struct collector *, const struct tide_ban *);
void hook_round(struct collector *);

/* banning.c */
void publish_ban(struct collector *, const struct tide_ban *);
/* How many were stored, or -1. */
int
commit_bans(struct collector *, const struct tide_config *, struct tide_err *);
int ban_by_hand(struct collector *, const struct tide_key *, uint64_t for_ms,
    const char *reason, struct tide_ban *, struct tide_err *);
int unban(struct collector *, const struct tide_key *, struct tide_err *);

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
