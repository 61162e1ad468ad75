/*
 * order - one request to the daemon, and the last line of its answer.
 */
#ifndef TOOLS_ORDER_H
#define TOOLS_ORDER_H

#include "read/ask.h"
#include "tool.h"
#include "tidemark/base/line.h"

struct order {
	struct ask ask;
	struct tide_line said; /* the line that came before "ok" */
	bool sent;	       /* else the daemon knows nothing of it */
	void (*each)(const struct tool *, const struct tide_line *);
};

/*
 * TOOL_OK and the line in o->said (an empty one if none came).  Every line
 * goes to o->each, unless that is NULL.
 */
int order_give(const struct tool *, struct order *, struct tide_line_out *);

#endif
