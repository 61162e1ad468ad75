/*
 * query - did mail from X, to Y, with this text, pass here, and when?  Asked
 * of the daemon or, offline, of the archive of one that does not run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../read/ask.h"
#include "../read/output.h"
#include "../read/query.h"
#include "../read/view.h"
#include "../tool.h"
#include "tidemark/archive/archive.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/err.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

/* ---- online ------------------------------------------------------------ */

static int
ask_daemon(const struct tool *t, struct inquiry *i, struct tide_answer *a)
{
	static struct tide_config config;

	if (tool_places(t, &config) < 0)
		return -1;
	return query_ask(&config, i, &query_terminal, a) == ANSWER_DONE ? 0
									: -1;
}

/* ---- offline ----------------------------------------------------------- */

static int
tell_ourselves(const struct tool *t, struct inquiry *i,
    const struct tide_archive *archive, struct tide_recall **recall)
{
	static struct tide_config config;
	struct telling telling = { .key = &archive->key, .config = &config };
	struct tide_err err;
	int rc;

	if (!archive->has_key) {
		complain("%s", archive->keyless.text);
		return -1;
	}

	if (tool_config_path(t) == NULL || tool_places(t, &config) < 0)
		tide_config_defaults(&config, NULL);
	rc = query_tell(&telling, i);
	*recall = telling.recall;
	if (rc == 0 && tide_recall_ready(*recall, &err) < 0) {
		complain("%s", err.text);
		rc = -1;
	}
	return rc;
}

static int
ask_archive(const struct tool *t, struct inquiry *i, struct tide_answer *a)
{
	struct tide_recall *recall = NULL;
	struct tide_archive archive;
	struct tide_err err;
	int rc = 0;

	if (view_archive(&archive, i->offline, &err) < 0) {
		complain("there is no archive to ask: %s", err.text);
		return -1;
	}
	if (query_has_content(i))
		rc = tell_ourselves(t, i, &archive, &recall);
	if (rc == 0) {
		i->q.recall = recall;
		i->q.go_on = query_terminal_go_on;
		query_terminal.begin(NULL, -1);
		rc = tide_query(&archive, NULL, &i->q, a, &err);
		query_terminal.end(NULL);
		if (rc < 0)
			complain("%s", err.text);
	}
	tide_recall_free(recall);
	i->q.recall = NULL;
	tide_archive_close(&archive);
	return rc;
}

/* ---- the question ------------------------------------------------------ */

/* Is there a message on standard input?  A person at a terminal has none. */
static bool
has_input(void)
{
	int c;

	if (isatty(STDIN_FILENO) == 1)
		return false;
	c = getchar();
	return c != EOF && ungetc(c, stdin) != EOF;
}

static void
complete(const struct tool *t, struct inquiry *i)
{
	const struct tide_question *q = &i->q;
	struct tide_err err;

	if (!query_has_content(i) && q->from == NULL && q->to == NULL)
		i->message = "-";
	if (i->message != NULL && strcmp(i->message, "-") == 0 && !has_input())
		tool_misused(t,
		    "give --from, --to, --text or --file, or a message on "
		    "standard input");
	if ((i->text != NULL) + (i->file != NULL) + (i->message != NULL) > 1)
		tool_misused(t, "one text, file or message at a time");
	if (i->guesses != NULL && i->text == NULL)
		tool_misused(t, "--guess needs a --text with one * in it");
	if (query_times(i, &err) < 0)
		tool_misused(t, "--%s", err.text);
	if (query_addresses(i, &err) < 0)
		tool_misused(t, "%s", err.text);
}

enum {
	FROM = OPT_OWN,
	TO,
	SINCE,
	UNTIL,
	OFFLINE,
	TEXT,
	A_FILE,
	MESSAGE,
	GUESS
};

static void
read_options(struct tool *t, struct inquiry *i)
{
	static const struct option longs[] = {
		{ "from", required_argument, NULL, FROM },
		{ "to", required_argument, NULL, TO },
		{ "since", required_argument, NULL, SINCE },
		{ "until", required_argument, NULL, UNTIL },
		{ "offline", required_argument, NULL, OFFLINE },
		{ "text", required_argument, NULL, TEXT },
		{ "file", required_argument, NULL, A_FILE },
		{ "message", required_argument, NULL, MESSAGE },
		{ "guess", required_argument, NULL, GUESS },
		{ NULL, 0, NULL, 0 },
	};
	const char **const field[] = { &i->q.from, &i->q.to, &i->since,
		&i->until, &i->offline, &i->text, &i->file, &i->message,
		&i->guesses };
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (*field[c - FROM] != NULL)
			tool_misused(
			    t, "--%s is given twice", longs[c - FROM].name);
		*field[c - FROM] = optarg;
	}
	(void)tool_arguments(t, 0);
	complete(t, i);
}

int
run_query(struct tool *t)
{
	struct inquiry i = { .since = NULL };
	struct tide_answer answer;
	int rc;

	read_options(t, &i);
	rc = i.offline != NULL ? ask_archive(t, &i, &answer)
			       : ask_daemon(t, &i, &answer);
	if (rc < 0) {
		query_forget(&i);
		return TIDE_UNANSWERED;
	}
	if (t->json)
		query_json(stdout, &i, &answer);
	else
		query_text(stdout, &i, &answer);
	rc = (int)tide_answer_verdict(&answer);
	tide_answer_free(&answer);
	query_forget(&i);
	return rc;
}
