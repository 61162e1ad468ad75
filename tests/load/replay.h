/*
 * replay - send a mailbox through a filter over many connections at once.
 *
 * One thread a connection.  They share the message counter and the list file;
 * all else is their own.
 */
#ifndef TESTS_LOAD_REPLAY_H
#define TESTS_LOAD_REPLAY_H

#include <stdbool.h>

#include "mailbox.h"
#include "tally.h"

struct replay_plan {
	const char *socket;
	int connections;
	long messages; /* 0: until replay_stop */
	long per_connection;
	double rate; /* messages a second, all connections; 0: no limit */
	const char *daemon;
	const char *client; /* the address that mail comes from */
	const char *user;   /* {auth_authen}, or NULL */
	const char *size;   /* announced with MAIL, or NULL */
	const char *qid_prefix;
	int acked_fd;	/* a line for each acknowledged message; -1: none */
	bool unique;	/* the queue id goes ahead of every address */
	bool retry;	/* dial again when a connection is lost */
	bool together;	/* open every connection before the first message */
	bool abort;	/* give messages up after their recipients */
	bool unknown;	/* nobody knows its recipients */
	bool replies;	/* show why recipients were refused */
	bool quiet;	/* say nothing about lost connections */
	int timeout_ms; /* for every wait */
};

/* Run to the end.  False: threads could not be made. */
bool
replay_run(const struct replay_plan *, const struct mailbox *, struct tally *);

/* Take no more messages; finish those under way.  Safe in a signal handler. */
void replay_stop(void);

#endif
