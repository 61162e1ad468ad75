/*
 * policy_client - Postfix's side of the policy delegation protocol.
 *
 * Requests have every attribute that Postfix 3.7 sends, so that servers work
 * as much as they would in earnest.
 */
#ifndef TESTS_LOAD_POLICY_CLIENT_H
#define TESTS_LOAD_POLICY_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#define POLICY_ASK_MAX 8192

/* NULL is what an unauthenticated client of ours has. */
struct policy_ask {
	const char *state; /* RCPT, DATA, END-OF-MESSAGE */
	const char *instance;
	const char *client, *user, *sender, *recipient, *queue_id;
	const char *more; /* lines to add, each with its newline */
	long count, size;
};

struct policy_wire {
	int fd; /* -1: closed */
	int timeout_ms;
	char text[4096]; /* the last answer, without its empty line */
	size_t have;
};

enum policy_result { POLICY_ANSWERED, POLICY_CLOSED, POLICY_LATE };

/* local:PATH or inet:PORT[@HOST].  False if nobody listens there. */
bool policy_dial(struct policy_wire *, const char *socket, int timeout_ms);
void policy_hang_up(struct policy_wire *);

/* The request as Postfix writes it; its length. */
size_t policy_compose(const struct policy_ask *, char[POLICY_ASK_MAX]);

enum policy_result policy_send(struct policy_wire *, const char *, size_t);
enum policy_result policy_hear(struct policy_wire *);

#endif
