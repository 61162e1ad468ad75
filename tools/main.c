/*
 * tidemark - ask Tidemark, and tell it what to do.  The dispatcher.
 */
#include <stdlib.h>
#include <time.h>

#include "read/output.h"
#include "tool.h"

/* From here on the command line is the subcommand's. */
static void
enter(struct tool *t, int argc, char **argv)
{
	t->command = tool_command(argv[0]);
	if (t->command == NULL)
		exit(TOOL_ERROR);
	t->argc = argc;
	t->argv = argv;
	optind = 0; /* start over */
}

int
main(int argc, char **argv)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	struct tool t = { .argc = argc, .argv = argv };

	tzset();
	(void)output_color("auto");
	while (tool_getopt(&t, "+", none) != -1)
		;
	if (optind >= argc) {
		complain("what is wanted?  See tidemark --help");
		return TOOL_ERROR;
	}
	enter(&t, argc - optind, argv + optind);
	return output_finish(t.command->run(&t));
}
