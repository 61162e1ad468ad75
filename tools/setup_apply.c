/*
 * setup_apply - carry a plan out, and take it back.  See setup_plan.h.
 *
 * The journal has a line for each file that was changed or made:
 *	file HASH BACKUP PATH	BACKUP is - for a file that was not there;
 *				HASH is of what we wrote
 *	folder TOP DEEPEST	that were made
 * It is written before the first rename: whoever comes after a crash finds
 * in it all that may have happened.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "output.h"
#include "setup_plan.h"
#include "setup_text.h"
#include "tidemark/files.h"

struct step {
	char *real;	     /* links followed */
	char *fresh;	     /* what shall be, beside it */
	char *backup;	     /* what was; NULL for a new file */
	bool made;	     /* renamed into place */
	char *top, *deepest; /* folders that we made for it, or NULL */
};

/* FNV-1a: only to see that nobody has changed the file since. */
static unsigned long long
hash(const char *text)
{
	unsigned long long h = 14695981039346656037u;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

static char *
journal_path(const struct setup *s, const char *mta)
{
	return setup_format("%s%.*s/setup-%s.undo", s->root,
	    (int)(strrchr(s->conf, '/') - s->conf), s->conf, mta);
}

static char *
folder_of(const char *path)
{
	return setup_copy(path, (size_t)(strrchr(path, '/') - path));
}

/* ---- files ------------------------------------------------------------- */

/* A new file with the owner, the rights and, if asked, the times of another. */
static int
write_like(
    const char *path, const char *text, const struct stat *like, bool times)
{
	mode_t mode = like != NULL ? like->st_mode & 07777u : 0644;
	size_t n = strlen(text), done = 0;
	int fd, rc = 0;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	while (rc == 0 && done < n) {
		ssize_t k = write(fd, text + done, n - done);

		if (k < 0 && errno != EINTR)
			rc = -1;
		done += k > 0 ? (size_t)k : 0;
	}
	if (rc == 0 && like != NULL)
		rc = fchown(fd, like->st_uid, like->st_gid);
	if (rc == 0)
		rc = fchmod(fd, mode);
	if (rc == 0 && times)
		rc = futimens(
		    fd, (struct timespec[2]){ like->st_atim, like->st_mtim });
	if (rc == 0)
		rc = fsync(fd);
	if (close(fd) < 0)
		rc = -1;
	return rc;
}

/* FILE.tidemark-20261116-194500; with .2 behind it if that is taken. */
static char *
backup_name(const char *real)
{
	char date[32], *name = NULL;
	time_t now = time(NULL);
	struct tm tm;
	unsigned i;

	(void)localtime_r(&now, &tm);
	(void)strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm);
	for (i = 1; i < 1000; i++) {
		name = i == 1
		    ? setup_format("%s.tidemark-%s", real, date)
		    : setup_format("%s.tidemark-%s.%u", real, date, i);
		if (access(name, F_OK) != 0)
			return name;
		free(name);
	}
	return setup_format("%s.tidemark-%s.last", real, date);
}

/* The folders down to it; *top is the first one that had to be made. */
static int
make_folders(const char *folder, char **top)
{
	char *up;
	int rc;

	if (access(folder, F_OK) == 0)
		return 0;
	up = folder_of(folder);
	rc = up[0] != '\0' ? make_folders(up, top) : 0;
	free(up);
	if (rc == 0)
		rc = mkdir(folder, 0755);
	if (rc == 0 && *top == NULL)
		*top = setup_format("%s", folder);
	return rc;
}

/* They stay, if somebody else uses them. */
static void
remove_folders(const char *top, const char *deepest)
{
	char *at = setup_format("%s", deepest), *up;

	while (rmdir(at) == 0 && strcmp(at, top) != 0) {
		up = folder_of(at);
		free(at);
		at = up;
	}
	free(at);
}

static int
prepare(const struct setup *s, const struct plan_file *f, struct step *step)
{
	char *path = setup_real(s, f->path), *folder = folder_of(path);
	struct stat st;
	int rc;

	step->real = realpath(path, NULL);
	if (step->real == NULL)
		step->real = setup_format("%s", path);
	step->fresh = setup_format("%s.tidemark-new", step->real);
	rc = make_folders(folder, &step->top);
	if (step->top != NULL)
		step->deepest = setup_format("%s", folder);
	if (rc == 0 && f->old != NULL) {
		step->backup = backup_name(step->real);
		rc = stat(step->real, &st);
		if (rc == 0)
			rc = write_like(step->backup, f->old, &st, true);
	}
	if (rc == 0)
		rc = write_like(
		    step->fresh, f->new, f->old != NULL ? &st : NULL, false);
	if (rc != 0)
		complain("%s: %s", path, strerror(errno));
	free(folder);
	free(path);
	return rc;
}

static int
write_journal(const struct setup *s, const char *mta,
    const struct setup_plan *p, const struct step *steps)
{
	char *path = journal_path(s, mta), *old = setup_read(path, NULL);
	char *text = NULL, *folder = folder_of(path);
	struct tide_err err;
	size_t i, length;
	FILE *f = open_memstream(&text, &length);
	char *made = NULL;
	int rc = -1;

	if (f != NULL) {
		(void)fputs(old != NULL ? old : "", f);
		for (i = 0; i < p->files; i++) {
			if (steps[i].top != NULL)
				(void)fprintf(f, "folder\t%s\t%s\n",
				    steps[i].top, steps[i].deepest);
			(void)fprintf(f, "file\t%016llx\t%s\t%s\n",
			    hash(p->file[i].new),
			    steps[i].backup != NULL ? steps[i].backup : "-",
			    steps[i].real);
		}
		(void)fclose(f);
		rc = make_folders(folder, &made);
		if (rc == 0)
			rc = tide_files_replace(path, text, length, 0600, &err);
		if (rc != 0)
			complain("%s: cannot be written", path);
	}
	free(made);
	free(folder);
	free(text);
	free(old);
	free(path);
	return rc;
}

static void
roll_back(const struct setup_plan *p, struct step *steps)
{
	size_t i;

	for (i = p->files; i-- > 0;) {
		struct step *t = &steps[i];

		if (t->made && t->backup != NULL)
			(void)rename(t->backup, t->real);
		else if (t->made)
			(void)unlink(t->real);
		else if (t->backup != NULL)
			(void)unlink(t->backup);
		if (t->fresh != NULL)
			(void)unlink(t->fresh);
		if (t->deepest != NULL)
			remove_folders(t->top, t->deepest);
	}
}

static void
say_done(const struct setup *s, const struct step *t)
{
	struct json j;

	if (!s->tool->json) {
		if (t->backup != NULL)
			printf(
			    "%s: changed; as it was: %s\n", t->real, t->backup);
		else
			printf("%s: made\n", t->real);
		return;
	}
	j = json_record(stdout, "changed");
	json_text(&j, "file", t->real);
	if (t->backup != NULL)
		json_text(&j, "backup", t->backup);
	else
		json_null(&j, "backup");
	json_record_end(&j);
}

static int
carry_out(const struct setup *s, const char *mta, const struct setup_plan *p,
    struct step *steps)
{
	size_t i;

	for (i = 0; i < p->files; i++)
		if (prepare(s, &p->file[i], &steps[i]) != 0)
			return -1;
	if (write_journal(s, mta, p, steps) != 0)
		return -1;
	for (i = 0; i < p->files; i++) {
		if (rename(steps[i].fresh, steps[i].real) != 0) {
			complain("%s: %s", steps[i].real, strerror(errno));
			return -1;
		}
		steps[i].made = true;
	}
	return 0;
}

int
plan_apply(const struct setup *s, const char *mta, const struct setup_plan *p)
{
	struct step steps[PLAN_FILES_MAX] = { { .real = NULL } };
	char *path = journal_path(s, mta), *journal = setup_read(path, NULL);
	struct tide_err err;
	size_t i;
	int rc = p->files > 0 ? carry_out(s, mta, p, steps) : 0;

	if (rc != 0) {
		roll_back(p, steps);
		if (journal == NULL)
			(void)unlink(path);
		else
			(void)tide_files_replace(
			    path, journal, strlen(journal), 0600, &err);
		complain("nothing was changed");
	}
	for (i = 0; i < p->files; i++) {
		if (rc == 0)
			say_done(s, &steps[i]);
		free(steps[i].real);
		free(steps[i].fresh);
		free(steps[i].backup);
		free(steps[i].top);
		free(steps[i].deepest);
	}
	free(journal);
	free(path);
	return rc;
}

/* ---- undo -------------------------------------------------------------- */

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
	bool ours = now != NULL && hash(now) == wrote, done = true;

	if (now == NULL && before == NULL) {
		say_undone(s, path, "is not there any more");
	} else if (ours && strcmp(backup, "-") == 0) {
		done = unlink(path) == 0;
		say_undone(s, path, done ? "removed" : strerror(errno));
	} else if (ours && before != NULL) {
		done = rename(backup, path) == 0;
		say_undone(
		    s, path, done ? "as it was before" : strerror(errno));
	} else if (now != NULL && before != NULL && strcmp(now, before) == 0) {
		(void)unlink(backup);
		say_undone(s, path, "as it was before");
	} else {
		done = false;
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
		remove_folders(one, backup);
	else if (path != NULL)
		done = undo_file(s, strtoull(one, NULL, 16), backup, path);
	free(copy);
	return done;
}

int
plan_undo(const struct setup *s, const char *mta)
{
	char *path = journal_path(s, mta), *text = setup_read(path, NULL);
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
		if (!undo_line(s, line)) {
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
