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
	char *warnings; /* of the settings, to be logged: one a line, or NULL */
};

/* prepare.c: what the supervisor stands on. */
struct ground {
	int control_fd;
	int milter_fd[TIDE_PROFILES_MAX];
	int policy_fd[TIDE_POLICIES_MAX];
	char bin[TIDE_PATH_MAX]; /* the folder of our own program */
};
int prepare_ground(const struct options *, const struct tide_config *,
    struct ground *, struct tide_err *);

int supervise(const struct options *, const struct tide_config *);
int collect(const struct options *);

/* sockets.c: listening sockets; -1 with a sentence. */
int listen_milter(const struct tide_profile *, struct tide_err *);
int listen_policy(const struct tide_policy *, struct tide_err *);
int listen_control(const struct tide_config *, struct tide_err *);
void unlink_socket(const char *address);

/* notify.c: systemd's protocol, without its library. */
void notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Milliseconds between watchdog messages, 0 for none. */
unsigned notify_watchdog_ms(void);

#endif
