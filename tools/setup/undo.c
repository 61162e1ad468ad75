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

/* A line about a file, and what became of it since. */
struct entry {
	char *copy; /* of the line; the words are in it */
	const char *kind, *one, *backup, *path;
	enum { GONE, OURS_NEW, OURS, AS_BEFORE, CHANGED } now;
};

static void
judge(struct entry *e)
{
	unsigned long long wrote = strtoull(e->one, NULL, 16);
	char *now = setup_read(e->path, NULL);
	char *before = setup_read(e->backup, NULL);
	bool ours = now != NULL && journal_hash(now) == wrote;

	if (now == NULL && before == NULL)
		e->now = GONE;
	else if (ours && strcmp(e->backup, "-") == 0)
		e->now = OURS_NEW;
	else if (ours && before != NULL)
		e->now = OURS;
	else if (now != NULL && before != NULL && strcmp(now, before) == 0)
		e->now = AS_BEFORE;
	else
		e->now = CHANGED;
	free(now);
	free(before);
}

/* False if it is none about a file. */
static bool
read_entry(struct entry *e, const char *line, size_t n)
{
	char *rest;

	*e = (struct entry){ .copy = setup_copy(line, n) };
	rest = e->copy;
	e->kind = setup_field(&rest, "\t");
	e->one = setup_field(&rest, "\t");
	e->backup = setup_field(&rest, "\t");
	e->path = setup_field(&rest, "\t");
	if (e->kind == NULL || strcmp(e->kind, "folder") == 0 ||
	    e->one == NULL || e->backup == NULL || e->path == NULL)
		return false;
	judge(e);
	return true;
}

static void
say_changed(const struct setup *s, const struct entry *e)
{
	if (s->tool->json)
		say_undone(s, e->path, "left alone: changed since");
	complain("%s was changed by somebody else since: left alone; as it "
		 "was: %s",
	    e->path, e->backup);
}

/* True if the file is as it was before. */
static bool
undo_file(const struct setup *s, const struct entry *e)
{
	bool done = true;

	switch (e->now) {
	case GONE:
		say_undone(s, e->path, "is not there any more");
		break;
	case OURS_NEW:
		done = unlink(e->path) == 0;
		say_undone(s, e->path, done ? "removed" : strerror(errno));
		break;
	case OURS:
		done = rename(e->backup, e->path) == 0;
		/* make looks at times: it is not older than what it makes */
		(void)utimensat(AT_FDCWD, e->path, NULL, 0);
		say_undone(
		    s, e->path, done ? "as it was before" : strerror(errno));
		break;
	case AS_BEFORE:
		(void)unlink(e->backup);
		say_undone(s, e->path, "as it was before");
		break;
	case CHANGED:
		done = false;
		say_changed(s, e);
		break;
	}
	return done;
}

/* One line of the journal; true if nothing is left to be done for it. */
static bool
undo_line(const struct setup *s, const char *line)
{
	struct entry e;
	bool done = true;

	if (read_entry(&e, line, strlen(line)))
		done = undo_file(s, &e);
	else if (e.kind != NULL && strcmp(e.kind, "folder") == 0 &&
	    e.backup != NULL)
		journal_remove_folders(e.one, e.backup);
	free(e.copy);
	return done;
}

/* Is every file as we left it, or as it was before? */
static bool
is_unchanged(const struct setup *s, const char *journal)
{
	bool same = true;
	struct entry e;
	size_t n;

	for (; *journal != '\0'; journal += n + (journal[n] == '\n')) {
		n = strcspn(journal, "\n");
		if (read_entry(&e, journal, n) && e.now == CHANGED) {
			say_changed(s, &e);
			same = false;
		}
		free(e.copy);
	}
	return same;
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

/* What is left to be undone, to be freed; the last line is taken first. */
static char *
undo_lines(const struct setup *s, char *text, bool *any)
{
	char *end, *left = setup_format("%s", "");

	while ((end = strrchr(text, '\n')) != NULL) {
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
		}
		*line = '\0';
	}
	return left;
}

int
plan_undo(const struct setup *s, const char *mta, bool *any)
{
	char *path = journal_path(s, mta), *text = read_journal(path);
	struct tide_err err;
	char *left = NULL;
	int code;

	if (text == NULL)
		complain("there is nothing to undo: no %s", path);
	else if (!s->all_or_nothing || is_unchanged(s, text))
		left = undo_lines(s, text, any);
	if (left != NULL && left[0] == '\0')
		(void)unlink(path);
	else if (left != NULL)
		(void)tide_files_replace(path, left, strlen(left), 0600, &err);
	code = left != NULL && left[0] == '\0' ? TOOL_OK : TOOL_NO;
	free(left);
	free(text);
	free(path);
	return code;
}
