/*
 * query - did mail from X, to Y, with this text, pass here, and when?  Asked
 * of the daemon or, offline, of the archive of one that does not run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "query.h"
#include "tidemark/clock.h"
#include "tool.h"
#include "view.h"

/* ---- online ------------------------------------------------------------ */

/* Room for one more at the end, or NULL. */
static void *
grow(void *array, size_t n, size_t size)
{
	return (n & (n - 1)) == 0 ? realloc(array, (n == 0 ? 1 : 2 * n) * size)
				  : array;
}

static struct tide_recollection
read_content(const struct tide_line *l)
{
	return (struct tide_recollection){ .found = true,
		.levels = (unsigned)tide_line_number(l, "levels", 0),
		.blocks = (unsigned)tide_line_number(l, "blocks", 0),
		.whole = tide_line_number(l, "whole", 0) != 0,
		.chance = tide_line_real(l, "chance"),
		.share = tide_line_real(l, "share"),
		.files = (unsigned)tide_line_number(l, "files", 0),
		.files_asked = (unsigned)tide_line_number(l, "files_asked", 0),
		.distance = tide_line_get(l, "distance") == NULL
		    ? -1
		    : (int64_t)tide_line_number(l, "distance", 0) };
}

static int
take_hit(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_hit *hit = grow(a->hit, a->hits, sizeof *hit);
	const char *profiles = tide_line_get(l, "profiles");

	if (hit == NULL)
		return -1;
	a->hit = hit;
	hit += a->hits++;
	*hit = (struct tide_hit){ .number = tide_line_number(l, "number", 0),
		.from_ms = tide_line_number(l, "from_ms", 0),
		.until_ms = tide_line_number(l, "until_ms", 0),
		.error = tide_line_real(l, "error"),
		.sealed = tide_line_number(l, "sealed", 0) != 0,
		.content = read_content(l),
		.certain = tide_line_number(l, "certain", 0) != 0 };
	if (profiles != NULL)
		(void)snprintf(
		    hit->profiles, sizeof hit->profiles, "%s", profiles);
	return 0;
}

static int
take_fit(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_fit *fit = grow(a->fit, a->fits, sizeof *fit);

	if (fit == NULL)
		return -1;
	a->fit = fit;
	fit[a->fits++] =
	    (struct tide_fit){ .guess = tide_line_number(l, "guess", 0),
		    .window = tide_line_number(l, "window", 0),
		    .levels = (unsigned)tide_line_number(l, "levels", 0),
		    .error = tide_line_real(l, "error") };
	return 0;
}

static int
take_gap(struct tide_answer *a, const struct tide_line *l)
{
	struct tide_gap *gap = grow(a->gap, a->gaps, sizeof *gap);

	if (gap == NULL)
		return -1;
	a->gap = gap;
	gap[a->gaps++] =
	    (struct tide_gap){ .from_ms = tide_line_number(l, "from_ms", 0),
		    .until_ms = tide_line_number(l, "until_ms", 0),
		    .kind = (uint32_t)tide_line_number(l, "kind", 0) };
	return 0;
}

/* Words we do not know are a newer daemon's: let them pass. */
static int
take_line(struct tide_answer *a, const struct tide_line *l, bool *ranged)
{
	if (strcmp(l->word, "hit") == 0)
		return take_hit(a, l);
	if (strcmp(l->word, "gap") == 0)
		return take_gap(a, l);
	if (strcmp(l->word, "fit") == 0)
		return take_fit(a, l);
	if (strcmp(l->word, "progress") == 0)
		wait_progress(tide_line_number(l, "done", 0),
		    tide_line_number(l, "all", 0));
	if (strcmp(l->word, "range") != 0)
		return 0;
	a->since_ms = tide_line_number(l, "since_ms", 0);
	a->until_ms = tide_line_number(l, "until_ms", 0);
	a->windows = tide_line_number(l, "windows", 0);
	a->error = tide_line_real(l, "error");
	a->lookups = tide_line_number(l, "lookups", 0);
	a->stopped = tide_line_number(l, "stopped", 0) != 0;
	*ranged = true;
	return 0;
}

static int
take_answer(struct ask *ask, struct tide_answer *a)
{
	enum answer next;
	bool ranged = false;

	memset(a, 0, sizeof *a);
	while ((next = ask_next(ask)) == ANSWER_LINE) {
		if (take_line(a, &ask->line, &ranged) < 0) {
			complain("no memory left for the answer");
			return -1;
		}
	}
	if (next == ANSWER_DONE && !ranged)
		complain("the daemon's answer makes no sense");
	return next == ANSWER_DONE && ranged ? 0 : -1;
}

/* The digest of a file is made under the daemon's key, which the map has. */
static bool
find_key(const struct tide_config *config, struct tide_hash_key *key)
{
	struct tide_err err;
	struct tide_map *map =
	    tide_map_attach(config->runtime_dir, TIDE_MAP_TOOL, &err);

	if (map == NULL)
		return false;
	*key = map->control->head.key;
	tide_map_detach(map);
	return true;
}

static int
tell_daemon(
    struct ask *ask, const struct tide_config *config, struct inquiry *i)
{
	struct tide_hash_key key;
	struct telling t = { .ask = ask, .config = config };

	if (i->text == NULL && find_key(config, &key))
		t.key = &key;
	if (i->message != NULL && t.key == NULL)
		complain("the message's files are left out: their digests "
			 "need the live map");
	return query_tell(&t, i);
}

static void
word(const struct inquiry *i, struct tide_line_out *request)
{
	tide_line_start(request, "query");
	if (i->q.from != NULL)
		tide_line_add(request, "from", i->q.from);
	if (i->q.to != NULL)
		tide_line_add(request, "to", i->q.to);
	if (i->q.has_since)
		tide_line_add_number(request, "since_ms", i->q.since_ms);
	if (i->until != NULL)
		tide_line_add_number(request, "until_ms", i->q.until_ms);
	if (query_has_content(i))
		tide_line_add(request, "content", "1");
}

static int
ask_daemon(const struct tool *t, struct inquiry *i, struct tide_answer *a)
{
	static struct ask ask;
	static struct tide_config config;
	struct tide_line_out request;
	int rc = 0;

	memset(a, 0, sizeof *a);
	if (tool_places(t, &config) < 0 ||
	    ask_open(&ask, &config) == ANSWER_BROKEN)
		return -1;
	if (query_has_content(i))
		rc = tell_daemon(&ask, &config, i);
	word(i, &request);
	if (rc == 0 && ask_say(&ask, &request) == ANSWER_BROKEN)
		return -1;
	wait_begin(ask.in.fd);
	if (rc == 0)
		rc = take_answer(&ask, a);
	wait_end();
	ask_close(&ask);
	if (rc < 0)
		tide_answer_free(a);
	return rc;
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
		i->q.go_on = wait_go_on;
		wait_begin(-1);
		rc = tide_query(&archive, NULL, &i->q, a, &err);
		wait_end();
		if (rc < 0)
			complain("%s", err.text);
	}
	tide_recall_free(recall);
	i->q.recall = NULL;
	tide_archive_close(&archive);
	return rc;
}

/* ---- the question ------------------------------------------------------ */

static uint64_t
read_moment(
    const struct tool *t, const char *option, const char *text, uint64_t now)
{
	struct tide_err err;
	uint64_t ms;

	if (tide_clock_parse(text, now, &ms, &err) < 0)
		tool_misused(t, "%s: %s", option, err.text);
	return ms;
}

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
	struct tide_question *q = &i->q;

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
	q->now_ms = tide_clock_wall_ms();
	q->until_ms = q->now_ms;
	if (i->until != NULL)
		q->until_ms = read_moment(t, "--until", i->until, q->now_ms);
	q->has_since = i->since != NULL;
	if (q->has_since)
		q->since_ms = read_moment(t, "--since", i->since, q->now_ms);
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

	while ((c = tool_getopt(t, "", longs)) != -1)
		*field[c - FROM] = optarg;
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
		query_json(&i, &answer);
	else
		query_text(&i, &answer);
	rc = (int)tide_answer_verdict(&answer);
	tide_answer_free(&answer);
	query_forget(&i);
	return rc;
}
