/*
 * metrics - the subcommand: for Prometheus, on stdout.
 */
#include "read/metrics.h"
#include "read/output.h"
#include "read/view.h"
#include "tool.h"

int
run_metrics(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	struct view v;

	while (tool_getopt(t, "", none) != -1)
		;
	(void)tool_arguments(t, 0);
	if (tool_view(t, &v) != TOOL_OK)
		return TOOL_ERROR;
	metrics_put(stdout, &v, t->json);
	view_close(&v);
	return TOOL_OK;
}
