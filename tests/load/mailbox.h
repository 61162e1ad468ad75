/*
 * mailbox - messages from an mbox file (mboxrd), a folder of messages or one
 * message, whole in memory, ready to be sent.
 *
 * Envelope: the sender from X-Envelope-From, Return-Path, the mbox "From "
 * line or From, in this order; recipients from X-Envelope-To, else To and Cc.
 * X-Envelope-* and Return-Path are not among the headers then: a server that
 * receives the message would not see them.
 */
#ifndef TESTS_LOAD_MAILBOX_H
#define TESTS_LOAD_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

struct mail_header {
	const char *name;
	const char *value; /* from behind the colon; folds as "\n\t" */
};

struct mail {
	char *from; /* bare address; "" is the null sender */
	char **to;  /* at least one */
	size_t n_to;
	struct mail_header *headers;
	size_t n_headers;
	char *body; /* CRLF lines */
	size_t body_len;
	char *text; /* what the header pointers point into */
};

struct mailbox {
	struct mail *mails;
	size_t n;
};

/* Add a file's or a folder's messages.  False: *why says what is wrong. */
bool mailbox_read(struct mailbox *, const char *path, const char **why);
void mailbox_free(struct mailbox *);

/*
 * Take the next address of a header value, bare; false at its end.  Display
 * names, comments, groups and routes are passed over, and so is anything with
 * a blank or a comma inside, which no test wants in a line of a list.
 */
bool mail_next_address(const char **at, char *addr, size_t size);

#endif
