/*
 * setup, apply - carry a plan out.  See plan.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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
#include "tidemark/settings/config.h"

struct step {
	char *real;	     /* links followed */
	char *fresh;	     /* what shall be, beside it */
	char *backup;	     /* what was; NULL for a new file */
	bool made;	     /* renamed into place */
	char *top, *deepest; /* folders that we made for it, or NULL */
};

unsigned long long
journal_hash(const char *text)
{
	unsigned long long h = 14695981039346656037u;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

char *
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

void
journal_remove_folders(const char *top, const char *deepest)
{
	char *at = setup_format("%s", deepest), *up;

	while (rmdir(at) == 0 && strcmp(at, top) != 0) {
		up = folder_of(at);
		free(at);
		at = up;
	}
	free(at);
}

/* The plan was made of what was there then; m4 and others took their time. */
static int
still_the_same(const char *real, const char *old)
{
	char *now = setup_read(real, NULL);
	int rc = 0;

	if (now == NULL && (errno != ENOENT || old != NULL)) {
		rc = -1;
	} else if (now != NULL && (old == NULL || strcmp(now, old) != 0)) {
		errno = EBUSY; /* somebody else is at work on it */
		rc = -1;
	}
	free(now);
	return rc;
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
	rc = still_the_same(step->real, f->old);
	if (rc == 0)
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
		complain("%s: %s", path,
		    errno == EBUSY ? "somebody changed it just now"
				   : strerror(errno));
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
			    journal_hash(p->file[i].new),
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
			journal_remove_folders(t->top, t->deepest);
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

/* A rename counts once its folder is on disk. */
static int
sync_folder(const char *path)
{
	char *folder = folder_of(path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd >= 0 ? fsync(fd) : -1;

	if (fd >= 0)
		(void)close(fd);
	free(folder);
	return rc;
}

/* Ctrl-C in the middle would leave half of it: it has to wait. */
static void
hold_signals(bool hold)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < sizeof signals / sizeof *signals; i++)
		(void)sigaddset(&set, signals[i]);
	(void)sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/*
 * With what we have written, in a file of ours or of theirs, the daemon must
 * still start: what stands in another place already is said twice now.
 */
static int
settings_hold(const struct setup *s)
{
	static struct tide_config config;
	struct tide_complaints complaints = { 0 };
	char *real = setup_real(s, s->conf);
	int rc = 0;

	tide_config_defaults(&config, NULL);
	if (access(real, F_OK) == 0 &&
	    tide_config_load(&config, real, &complaints) < 0 &&
	    !tide_complaints_pass(&complaints))
		rc = -1;
	if (rc != 0)
		complain("%s%s would have mistakes with these lines (see "
			 "tidemark setup without --apply); write them by hand",
		    complaints.text != NULL ? complaints.text : "", s->conf);
	tide_complaints_free(&complaints);
	free(real);
	return rc;
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
		steps[i].made = rename(steps[i].fresh, steps[i].real) == 0;
		if (!steps[i].made || sync_folder(steps[i].real) != 0) {
			complain("%s: %s", steps[i].real, strerror(errno));
			return -1;
		}
	}
	return settings_hold(s);
}

int
plan_apply(const struct setup *s, const char *mta, const struct setup_plan *p)
{
	struct step steps[PLAN_FILES_MAX] = { { .real = NULL } };
	char *path = journal_path(s, mta), *journal = setup_read(path, NULL);
	struct tide_err err;
	size_t i;
	int rc;

	hold_signals(true);
	rc = p->files > 0 ? carry_out(s, mta, p, steps) : 0;
	if (rc != 0) {
		roll_back(p, steps);
		if (journal == NULL)
			(void)unlink(path);
		else
			(void)tide_files_replace(
			    path, journal, strlen(journal), 0600, &err);
		complain("nothing was changed");
	}
	hold_signals(false);
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
