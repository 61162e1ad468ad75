/*
 * order - find the daemon, tell it, wait for its answer.
 */
#include "order.h"
#include "read/output.h"
#include "tidemark/base/line.h"
#include "tidemark/settings/config.h"

/* A line's words point into its own text. */
static void
keep(struct tide_line *to, const struct tide_line *from)
{
	unsigned i;

	*to = *from;
	to->word = to->text + (from->word - from->text);
	for (i = 0; i < to->pairs; i++) {
		to->pair[i].key = to->text + (from->pair[i].key - from->text);
		to->pair[i].value =
		    to->text + (from->pair[i].value - from->text);
	}
}

int
order_give(const struct tool *t, struct order *o, struct tide_line_out *request)
{
	struct tide_config config;
	enum answer a;

	o->said.pairs = 0;
	o->sent = false;
	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	a = ask_send(&o->ask, &config, request);
	if (a == ANSWER_BROKEN)
		return TOOL_ERROR;
	o->sent = true;
	while ((a = ask_next(&o->ask)) == ANSWER_LINE) {
		keep(&o->said, &o->ask.line);
		if (o->each != NULL)
			o->each(t, &o->ask.line);
	}
	ask_close(&o->ask);
	return a == ANSWER_DONE	  ? TOOL_OK
	    : a == ANSWER_REFUSED ? TOOL_NO
				  : TOOL_ERROR;
}
