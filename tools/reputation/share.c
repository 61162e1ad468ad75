/*
 * share - exchange bulk counts with other servers: export, merge.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../read/ask.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/reputation/share.h"
#include "tidemark/settings/config.h"

/* ---- export ------------------------------------------------------------ */

/* Its owner and root can read it; who may only ask cannot. */
static int
show_key(const struct tool *t)
{
	static struct tide_config config;
	char text[TIDE_HASH_KEY_TEXT];
	struct tide_hash_key key;
	struct tide_err err;
	struct json j;
	int found;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	found = tide_hash_key_read(&key, config.state_dir, &err);
	if (found <= 0) {
		complain("%s", found < 0 ? err.text : "there is no key yet");
		return TOOL_ERROR;
	}
	tide_hash_key_show(&key, text);
	if (t->json) {
		j = json_record(stdout, "key");
		json_text(&j, "key", text);
		json_record_end(&j);
	} else {
		printf("%s\n", text);
	}
	return TOOL_OK;
}

/* What the reader of lines has read already, then the rest. */
static size_t
next_bytes(struct tide_line_in *in, char *to, size_t most)
{
	size_t have = in->have - in->at;
	ssize_t n;

	if (have > 0) {
		have = have < most ? have : most;
		memcpy(to, in->buf + in->at, have);
		in->at += have;
		return have;
	}
	do
		n = read(in->fd, to, most);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

/* All of it, before a byte is written: half a file is none. */
static int
copy_out(struct ask *ask, size_t size)
{
	char *file = malloc(size + 1);
	size_t at = 0, n;

	if (file == NULL) {
		complain("there is no memory for the export");
		return -1;
	}
	while (at < size) {
		n = next_bytes(&ask->in, file + at, size - at);
		if (n == 0)
			break;
		at += n;
	}
	if (at == size)
		(void)fwrite(file, size, 1, stdout);
	else
		complain("the daemon hung up before the export ended");
	free(file);
	return at == size ? 0 : -1;
}

/* On stderr: stdout is the file. */
static void
say_exported(const struct tool *t, const struct tide_line *line)
{
	unsigned long long sequence =
	    (unsigned long long)tide_line_number(line, "sequence", 0);
	unsigned long long since =
	    (unsigned long long)tide_line_number(line, "since", 0);
	struct json j;

	if (t->json) {
		j = json_record(stderr, "export");
		json_number(&j, "sequence", sequence);
		json_number(&j, "since", since);
		json_number(&j, "bytes", tide_line_number(line, "bytes", 0));
		json_record_end(&j);
		return;
	}
	if (since == 0)
		(void)fprintf(stderr, "export %llu, whole", sequence);
	else
		(void)fprintf(
		    stderr, "export %llu, a delta to %llu", sequence, since);
	(void)fprintf(stderr, "; next time: --delta %llu\n", sequence);
}

static int
take_export(const struct tool *t, const struct tide_config *config,
    struct tide_line_out *request)
{
	static struct ask ask;
	enum answer a;
	int code = TOOL_ERROR;

	if (ask_send(&ask, config, request) == ANSWER_BROKEN)
		return TOOL_ERROR;
	a = ask_next(&ask);
	if (a == ANSWER_REFUSED)
		code = TOOL_NO;
	if (a == ANSWER_LINE &&
	    copy_out(&ask, (size_t)tide_line_number(&ask.line, "bytes", 0)) ==
		0) {
		say_exported(t, &ask.line);
		code = ask_next(&ask) == ANSWER_DONE ? TOOL_OK : TOOL_ERROR;
	}
	ask_close(&ask);
	return code;
}

static void
add_since(
    const struct tool *t, struct tide_line_out *request, const char *since)
{
	char *end;
	unsigned long long n;

	if (strcmp(since, "last") == 0) {
		tide_line_add_number(request, "last", 1);
		return;
	}
	errno = 0;
	n = strtoull(since, &end, 10);
	if (since[0] < '0' || since[0] > '9' || *end != '\0' || errno != 0 ||
	    n == 0)
		tool_misused(
		    t, "«%s» is no number of an export, nor last", since);
	tide_line_add_number(request, "since", n);
}

int
run_export(struct tool *t)
{
	enum { OPT_DELTA = OPT_OWN, OPT_KEY };
	static const struct option longs[] = {
		{ "delta", required_argument, NULL, OPT_DELTA },
		{ "key", no_argument, NULL, OPT_KEY },
		{ NULL, 0, NULL, 0 },
	};
	struct tide_line_out request;
	struct tide_config config;
	bool key = false;
	int opt;

	tide_line_start(&request, "export");
	while ((opt = tool_getopt(t, "", longs)) != -1) {
		if (opt == OPT_KEY)
			key = true;
		else
			add_since(t, &request, optarg);
	}
	(void)tool_arguments(t, 0);
	if (key)
		return show_key(t);
	if (isatty(STDOUT_FILENO) == 1)
		tool_misused(t, "an export is no text; send it to a file");
	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	return take_export(t, &config, &request);
}

/* ---- merge ------------------------------------------------------------- */

static char *
read_all(FILE *f, size_t *size)
{
	size_t room = 1 << 16, n;
	char *bytes = malloc(room), *more;

	*size = 0;
	while (bytes != NULL) {
		n = fread(bytes + *size, 1, room - *size, f);
		*size += n;
		if (n == 0)
			break;
		if (*size < room)
			continue;
		room *= 2;
		more = realloc(bytes, room);
		if (more == NULL)
			free(bytes);
		bytes = more;
	}
	if (bytes != NULL && ferror(f)) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

/* Is it worth the daemon's time?  Settings and order are its to judge. */
static char *
read_file(const char *path, size_t *size)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	struct tide_err err;
	char *bytes;

	if (f == NULL) {
		complain("%s", strerror(errno));
		return NULL;
	}
	bytes = read_all(f, size);
	if (f != stdin)
		(void)fclose(f);
	if (bytes == NULL)
		complain("cannot be read");
	else if (tide_share_check((const void *)bytes, *size, NULL, &err) < 0) {
		complain("%s", err.text);
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

static void
say_merged(const struct tool *t, const char *path, const struct tide_line *line)
{
	unsigned long long sequence =
	    (unsigned long long)tide_line_number(line, "sequence", 0);
	char origin[24];
	struct json j;

	(void)snprintf(origin, sizeof origin, "%016llx",
	    (unsigned long long)tide_line_number(line, "origin", 0));
	if (!t->json) {
		printf("%s: merged, export %llu of server %s\n", path, sequence,
		    origin);
		return;
	}
	j = json_record(stdout, "merged");
	json_text(&j, "file", path);
	json_text(&j, "origin", origin);
	json_number(&j, "sequence", sequence);
	json_number(&j, "since", tide_line_number(line, "since", 0));
	json_record_end(&j);
}

static int
hear(const struct tool *t, struct ask *ask, const char *path)
{
	enum answer a;

	while ((a = ask_next(ask)) == ANSWER_LINE)
		say_merged(t, path, &ask->line);

	return a == ANSWER_DONE	  ? TOOL_OK
	    : a == ANSWER_REFUSED ? TOOL_NO
				  : TOOL_ERROR;
}

static int
merge_one(
    const struct tool *t, const struct tide_config *config, const char *path)
{
	static struct ask ask;
	struct tide_line_out request;
	size_t size;
	char *bytes = read_file(path, &size);
	enum answer a;
	int code = TOOL_ERROR;

	if (bytes == NULL)
		return TOOL_NO;
	tide_line_start(&request, "merge");
	tide_line_add_number(&request, "bytes", size);
	if (ask_send(&ask, config, &request) != ANSWER_BROKEN) {
		a = ask_next(&ask);
		if (a == ANSWER_REFUSED)
			code = TOOL_NO;
		if (a == ANSWER_LINE && strcmp(ask.line.word, "send") == 0) {
			if (tide_line_send_bytes(ask.in.fd, bytes, size) < 0)
				complain("the daemon does not take the file");
			code = hear(t, &ask, path);
		}
		ask_close(&ask);
	}
	free(bytes);
	return code;
}

/* Why not stands on stderr. */
static void
say_refused(const struct tool *t, const char *path)
{
	struct json j;

	if (!t->json)
		return;
	j = json_record(stdout, "refused");
	json_text(&j, "file", path);
	json_record_end(&j);
}

/* Each file by itself: one that is refused does not hold up the others. */
int
run_merge(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	struct tide_config config;
	int i, one, code = TOOL_OK;

	while (tool_getopt(t, "", none) != -1)
		;
	if (optind == t->argc)
		tool_misused(t, "merge what?");
	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	for (i = optind; i < t->argc; i++) {
		complain_about(t->argv[i]);
		one = merge_one(t, &config, t->argv[i]);
		complain_about(NULL);
		if (one == TOOL_NO)
			say_refused(t, t->argv[i]);
		code = one > code ? one : code;
	}
	return code;
}
