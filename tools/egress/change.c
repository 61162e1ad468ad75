/*
 * egress, change - entries to the daemon, as many in a request as fit: each
 * request is one commit, and 100,000 commits would take minutes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../read/ask.h"
#include "../read/output.h"
#include "egress.h"
#include "tidemark/base/line.h"
#include "tidemark/egress/egress.h"
#include "tidemark/settings/config.h"

#define ROOM (TIDE_LINE_MAX - 512) /* the rest of the line */
#define BAR 40

/* What a text takes on the wire, its blanks as %20. */
static size_t
wire_length(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += (unsigned char)*text > ' ' && *text != '%' ? 1 : 3;
	return n;
}

/* As many entries as fit, from `at' on; how many. */
static size_t
pack(const struct egress_list *l, size_t at, char *buf, size_t size)
{
	char line[256];
	size_t used = 0, wire = 0, n;

	for (n = 0; at + n < l->count && n < 512; n++) {
		(void)tide_egress_write(&l->entry[at + n], line, sizeof line);
		wire += wire_length(line) + 3;
		if (wire > ROOM || used + strlen(line) + 2 > size)
			break;
		used += (size_t)snprintf(
		    buf + used, size - used, "%s%s", n > 0 ? "\n" : "", line);
	}
	return n;
}

static int
send_one(const struct tide_config *config, struct tide_line_out *request,
    uint64_t *changed)
{
	static struct ask ask;
	enum answer a = ask_send(&ask, config, request);

	if (a == ANSWER_BROKEN)
		return TOOL_ERROR;
	while ((a = ask_next(&ask)) == ANSWER_LINE)
		if (changed != NULL)
			*changed += tide_line_number(&ask.line, "changed", 0);
	ask_close(&ask);
	return a == ANSWER_DONE	  ? TOOL_OK
	    : a == ANSWER_REFUSED ? TOOL_NO
				  : TOOL_ERROR;
}

static void
show_progress(const char *what, size_t done, size_t all)
{
	unsigned filled = (unsigned)(all == 0 ? BAR : done * BAR / all), i;

	if (what == NULL || !isatty(STDERR_FILENO))
		return;
	(void)fprintf(stderr, "\r%s [", what);
	for (i = 0; i < BAR; i++)
		(void)fputc(i < filled ? '#' : ' ', stderr);
	(void)fprintf(stderr, "] %zu of %zu", done, all);
	if (done == all)
		(void)fputc('\n', stderr);
}

int
egress_change(const struct tide_config *config, const char *verb,
    enum tide_egress_kind kind, const char *origin, const struct egress_list *l,
    const char *progress, uint64_t *changed)
{
	static char list[TIDE_LINE_MAX];
	struct tide_line_out request;
	size_t at = 0, n;
	int code = TOOL_OK;

	while (code == TOOL_OK && at < l->count) {
		n = pack(l, at, list, sizeof list);
		tide_line_start(&request, verb);
		tide_line_add(&request, "kind", tide_egress_kind_name[kind]);
		if (origin != NULL)
			tide_line_add(&request, "origin", origin);
		tide_line_add(&request, "list", list);
		code = send_one(config, &request, changed);
		if (code == TOOL_OK)
			at += n;
		show_progress(progress, at, l->count);
	}
	if (code != TOOL_OK && at > 0)
		complain("the first %zu of %zu are done, the rest is not", at,
		    l->count);
	return code;
}
