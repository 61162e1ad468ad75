/*
 * setup, undo - put back what --apply changed.  See journal.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "journal.h"
#include "plan.h"
#include "setup.h"
#include "text.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"

static void
say_undone(const struct setup *s, const char *path, const char *what)
{
	struct json j;

	if (!s->tool->json) {
		printf("%s: %s\n", path, what);
		return;
	}
	j = json_record(stdout, "undone");
	json_text(&j, "file", path);
	json_text(&j, "what", what);
	json_record_end(&j);
}

/* True if the file is as it was before. */
static bool
undo_file(const struct setup *s, unsigned long long wrote, const char *backup,
    const char *path)
{
	char *now = setup_read(path, NULL), *before = setup_read(backup, NULL);
	bool ours = now != NULL && journal_hash(now) == wrote, done = true;

	if (now == NULL && before == NULL) {
		say_undone(s, path, "is not there any more");
	} else if (ours && strcmp(backup, "-") == 0) {
		done = unlink(path) == 0;
		say_undone(s, path, done ? "removed" : strerror(errno));
	} else if (ours && before != NULL) {
		done = rename(backup, path) == 0;
		/* make looks at times: it is not older than what it makes */
		(void)utimensat(AT_FDCWD, path, NULL, 0);
		say_undone(
		    s, path, done ? "as it was before" : strerror(errno));
	} else if (now != NULL && before != NULL && strcmp(now, before) == 0) {
		(void)unlink(backup);
		say_undone(s, path, "as it was before");
	} else {
		done = false;
		if (s->tool->json)
			say_undone(s, path, "left alone: changed since");
		complain("%s was changed by somebody else since: left alone; "
			 "as it was: %s",
		    path, backup);
	}
	free(now);
	free(before);
	return done;
}

/* One line of the journal; true if nothing is left to be done for it. */
static bool
undo_line(const struct setup *s, const char *line)
{
	char *copy = setup_copy(line, strlen(line)), *rest = copy;
	const char *kind = setup_field(&rest, "\t");
	const char *one = setup_field(&rest, "\t");
	const char *backup = setup_field(&rest, "\t");
	const char *path = setup_field(&rest, "\t");
	bool done = true;

	if (strcmp(kind, "folder") == 0 && backup != NULL)
		journal_remove_folders(one, backup);
	else if (one != NULL && backup != NULL && path != NULL)
		done = undo_file(s, strtoull(one, NULL, 16), backup, path);
	free(copy);
	return done;
}

/* It says what is renamed and removed: somebody else's is not believed. */
static char *
read_journal(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return NULL;
	if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		complain("%s can be written by others: not believed", path);
		return NULL;
	}
	return setup_read(path, NULL);
}

int
plan_undo(const struct setup *s, const char *mta, bool *any)
{
	char *path = journal_path(s, mta), *text = read_journal(path);
	char *end, *left = setup_format("%s", "");
	struct tide_err err;
	int code = TOOL_OK;

	if (text == NULL) {
		complain("there is nothing to undo: no %s", path);
		code = TOOL_NO;
	}
	/* the last line first */
	while (text != NULL && (end = strrchr(text, '\n')) != NULL) {
		char *line;

		*end = '\0';
		line = strrchr(text, '\n');
		line = line != NULL ? line + 1 : text;
		if (undo_line(s, line)) {
			*any = true;
		} else {
			char *more = setup_format("%s\n%s", line, left);

			free(left);
			left = more;
			code = TOOL_NO;
		}
		*line = '\0';
	}
	if (text != NULL && left[0] == '\0')
		(void)unlink(path);
	else if (text != NULL)
		(void)tide_files_replace(path, left, strlen(left), 0600, &err);
	free(left);
	free(text);
	free(path);
	return code;
}
