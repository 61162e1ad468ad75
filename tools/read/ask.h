/*
 * ask - a question to the daemon over its control socket.
 */
#ifndef TOOLS_READ_ASK_H
#define TOOLS_READ_ASK_H

#include "tidemark/settings/config.h"
#include "tidemark/base/line.h"

struct ask {
	struct tide_line_in in;
	struct tide_line line; /* the last one of the answer */
};

enum answer {
	ANSWER_LINE,	/* one is in ask->line; there may be more */
	ANSWER_DONE,	/* "ok" */
	ANSWER_REFUSED, /* "err"; what the daemon said was printed */
	ANSWER_BROKEN	/* no daemon, or no sense in it; also printed */
};

/* Connect and send; ANSWER_LINE, or ANSWER_BROKEN. */
enum answer
ask_send(struct ask *, const struct tide_config *, struct tide_line_out *);
/* The same in two steps, for a request of many lines. */
enum answer ask_open(struct ask *, const struct tide_config *);
enum answer ask_say(struct ask *, struct tide_line_out *);
enum answer ask_next(struct ask *);
void ask_close(struct ask *);

#endif
