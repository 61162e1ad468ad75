/*
 * remembered RUNTIME_DIR ACKED - is everything that was acknowledged found?
 *
 * Asks the daemon, over one control connection, for the sender and for every
 * recipient of each line that `feed --acked` has written.  Prints
 * "asked=N missing=N"; exit 0 if nothing is missing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/line.h"

static struct tide_line_in in;
static unsigned long asked, missing;

static bool
is_found(const char *key, const char *address)
{
	static struct tide_line line;
	struct tide_line_out out;
	bool found = false;

	tide_line_start(&out, "query");
	tide_line_add(&out, key, address);
	if (tide_line_send(&out, in.fd) < 0)
		exit(2);
	for (;;) {
		if (tide_line_read(&in, &line) <= 0)
			exit(2);
		if (strcmp(line.word, "hit") == 0)
			found = true;
		if (strcmp(line.word, "ok") == 0)
			return found;
		if (strcmp(line.word, "err") == 0)
			exit(2);
	}
}

static void
ask(const char *key, const char *address)
{
	asked++;
	if (is_found(key, address))
		return;
	missing++;
	if (missing <= 5)
		(void)fprintf(stderr, "# missing: %s %s\n", key, address);
}

static void
ask_line(char *line)
{
	char *save = NULL, *qid = strtok_r(line, " \n", &save);
	char *from = strtok_r(NULL, " \n", &save);
	char *to;

	if (qid == NULL || from == NULL)
		return;
	ask("from", from);
	for (to = strtok_r(NULL, ",\n", &save); to != NULL;
	     to = strtok_r(NULL, ",\n", &save))
		ask("to", to);
}

int
main(int argc, char **argv)
{
	struct tide_err err;
	char *line = NULL;
	size_t room = 0;
	FILE *acked;

	if (argc != 3)
		return 64;
	acked = fopen(argv[2], "re");
	in.fd = tide_line_connect(argv[1], &err);
	if (acked == NULL || in.fd < 0) {
		(void)fprintf(
		    stderr, "%s\n", acked == NULL ? argv[2] : err.text);
		return 2;
	}
	while (getline(&line, &room, acked) > 0)
		ask_line(line);
	printf("asked=%lu missing=%lu\n", asked, missing);
	return missing == 0 && asked > 0 ? 0 : 1;
}
