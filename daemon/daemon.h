/*
 * daemon - what the parts of tidemarkd know of each other.
 *
 * One program, two roles: the supervisor, which opens the sockets and keeps
 * its two children alive, and the collector (--collector), which owns the
 * map and the archive.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/config.h"

/* What the command line said. */
struct options {
	const char *conf; /* -c FILE, or NULL */
	const char *root; /* --root DIR, or NULL */
	bool collector;
	const char *runtime; /* the collector's: where config is published */
	int control_fd;
	int ready_fd;
	bool map_aside;	    /* the collector's: do not use the map there is */
	unsigned silent_ms; /* a collector silent for so long is killed */
	bool keep_sockets;  /* the service manager does, over a restart */
	char *warnings; /* of the settings, to be logged: one a line, or NULL */
};

/* prepare.c: what the supervisor stands on. */
struct ground {
	int control_fd;
	int milter_fd[TIDE_PROFILES_MAX];
	int policy_fd[TIDE_POLICIES_MAX];
	int alive_fd[2];	 /* ends when nobody comes after us; or -1 */
	bool map_aside;		 /* the next collector is to put it aside */
	char bin[TIDE_PATH_MAX]; /* the folder of our own program */
};
int prepare_ground(const struct options *, const struct tide_config *,
    struct ground *, struct tide_err *);

int supervise(const struct options *, const struct tide_config *);
int collect(const struct options *);

/* children.c: become the collector or the acceptor; back only on failure. */
void exec_collector(const struct options *, const struct tide_config *,
    const struct ground *, int ready_fd);
void
exec_acceptor(const struct tide_config *, const struct ground *, int ready_fd);

/* Workers that a killed acceptor has left to us must not outlive us. */
void kill_orphans(pid_t collector);

/* sockets.c: listening sockets, those that were kept for us or new ones; -1
 * with a sentence. */
int listen_milter(const struct tide_profile *, struct tide_err *);
int listen_policy(const struct tide_policy *, struct tide_err *);
int listen_control(const struct tide_config *, struct tide_err *);
void unlink_socket(const char *address);

/* beats.c: does the collector still move? */
struct beats {
	uint64_t started_ms, heard_ms, checked_ms; /* monotonic */
	bool begun, ready;
	unsigned row; /* so many in a row were killed for their silence */
};
void beats_begin(struct beats *, uint64_t now);
void beats_hear(struct beats *, const char *, size_t, uint64_t now);
/* To be asked several times in limit_ms. */
bool beats_are_missing(struct beats *, unsigned limit_ms, uint64_t now);
void beats_note_kill(struct beats *, uint64_t now);
/* True once after two in a row. */
bool beats_blame_map(struct beats *);
bool beats_waits_for_disk(pid_t);

/* notify.c: systemd's protocol, without its library. */
void notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Milliseconds between watchdog messages, 0 for none. */
unsigned notify_watchdog_ms(void);

#define NOTIFY_NAME_MAX 64

/* Is it to keep descriptors?  True if there is one that hears us. */
bool notify_keep(bool wanted);
/* Have it keep a descriptor for whom it starts next; take one that it has kept
 * for us, or -1; tell it to keep one no longer, or all that nobody took. */
void notify_store(const char *name, int fd);
int notify_take(const char *name);
void notify_drop(const char *name, int fd);
void notify_drop_rest(void);

#endif
