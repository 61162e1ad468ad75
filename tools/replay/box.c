/*
 * replay, box - mbox files and maildirs: their messages, sorted by time.
 *
 * A maildir is in no order, and an mbox need not be; buckets want one.  So
 * messages are kept, as short as can be, until all have been read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../read/output.h"
#include "mail.h"
#include "replay.h"

struct mail {
	uint64_t wall_ms;
	uint32_t recipients;
	bool auth;
	char text[]; /* client, NUL, sender, NUL */
};

/* ---- lines and headers ------------------------------------------------- */

bool
mail_get_line(FILE *f, char *line, size_t size)
{
	size_t n = 0;
	int c = getc_unlocked(f);

	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(f))
		if (n + 1 < size)
			line[n++] = (char)(c == '\0' ? '?' : c);
	if (n > 0 && line[n - 1] == '\r')
		n--;
	line[n] = '\0';
	return true;
}

/* Up to the empty line; folded lines become one, cut if it is too long. */
static void
read_head(FILE *f, struct letter *m)
{
	static char line[MAIL_LINE_MAX], header[MAIL_HEADER_MAX];
	size_t n = 0, more;

	header[0] = '\0';
	while (mail_get_line(f, line, sizeof line) && line[0] != '\0') {
		if (line[0] != ' ' && line[0] != '\t') {
			letter_header(m, header);
			n = 0;
		}
		more = strlen(line);
		if (more >= sizeof header - n)
			continue;
		memcpy(header + n, line, more + 1);
		n += more;
	}
	letter_header(m, header);
}

/* ---- keeping ----------------------------------------------------------- */

static int
make_room(struct mails *all)
{
	size_t room = all->room == 0 ? 1024 : 2 * all->room;
	struct mail **more;

	if (all->count < all->room)
		return 0;
	more = realloc(all->mail, room * sizeof(struct mail *));
	if (more == NULL)
		return -1;
	all->mail = more;
	all->room = room;
	return 0;
}

static int
keep(struct mails *all, struct letter *m)
{
	size_t client = strlen(m->line.client) + 1, from;
	struct mail *kept;

	if (!letter_end(m)) {
		all->undated++;
		return 0;
	}
	if (all->count >= MAILS_MAX) {
		all->left_out++;
		return 0;
	}
	from = strlen(m->line.from) + 1;
	kept = malloc(sizeof *kept + client + from);
	if (kept == NULL || make_room(all) < 0) {
		free(kept);
		complain("no memory for the messages");
		return -1;
	}
	kept->wall_ms = m->line.wall_ms;
	kept->recipients = m->line.recipients;
	kept->auth = m->line.auth[0] != '\0';
	memcpy(kept->text, m->line.client, client);
	memcpy(kept->text + client, m->line.from, from);
	all->mail[all->count++] = kept;
	return 0;
}

/* ---- mbox -------------------------------------------------------------- */

/* A message begins at a "From " line with a time, after an empty line. */
int
mails_read_mbox(struct mails *all, FILE *f, const char *first)
{
	static struct letter m, next;
	static char line[MAIL_LINE_MAX];
	bool empty;

	letter_start(&m, all->today);
	(void)letter_from_line(&m, first);
	for (;;) {
		read_head(f, &m);
		if (keep(all, &m) < 0)
			return -1;
		letter_start(&next, all->today);
		empty = true; /* the one behind the header */
		for (;;) {
			if (!mail_get_line(f, line, sizeof line))
				return 0;
			if (empty && letter_from_line(&next, line))
				break;
			empty = line[0] == '\0';
		}
		m = next;
	}
}

/* ---- maildir ----------------------------------------------------------- */

/* 0 also if it has gone meanwhile, or is no file. */
static int
read_message(struct mails *all, int folder, const char *name)
{
	static struct letter m;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f;
	int rc;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	f = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (f == NULL) {
		(void)close(fd);
		return 0;
	}
	letter_start(&m, all->today);
	read_head(f, &m);
	rc = ferror(f) ? -1 : keep(all, &m);
	(void)fclose(f);
	return rc;
}

static int
read_folder(struct mails *all, const char *path, const char *sub)
{
	char *name = NULL;
	const struct dirent *e;
	DIR *d = NULL;
	int rc = -1;

	if (asprintf(&name, "%s/%s", path, sub) < 0)
		return -1;
	d = opendir(name);
	if (d == NULL)
		goto out;
	rc = 0;
	while (rc == 0 && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.') {
			rc = read_message(all, dirfd(d), e->d_name);
			if (rc < 0)
				complain("%s/%s: %s", name, e->d_name,
				    strerror(errno));
		}
	(void)closedir(d);
out:
	if (d == NULL)
		complain("%s: %s", name, strerror(errno));
	free(name);
	return rc;
}

int
mails_read_maildir(struct mails *all, const char *path)
{
	return read_folder(all, path, "new") < 0 ||
		read_folder(all, path, "cur") < 0
	    ? -1
	    : 0;
}

/* ---- in order ---------------------------------------------------------- */

static int
by_time(const void *a, const void *b)
{
	const struct mail *x = *(struct mail *const *)a,
			  *y = *(struct mail *const *)b;

	return x->wall_ms < y->wall_ms ? -1 : x->wall_ms > y->wall_ms;
}

void
mails_each(
    struct mails *all, void (*each)(void *, struct replay_line *), void *arg)
{
	struct replay_line l;
	size_t i;

	if (all->count > 0)
		qsort(all->mail, all->count, sizeof(struct mail *), by_time);
	for (i = 0; i < all->count; i++) {
		const struct mail *m = all->mail[i];

		memset(&l, 0, sizeof l);
		l.wall_ms = m->wall_ms;
		l.recipients = m->recipients;
		l.auth[0] = m->auth ? '*' : '\0';
		(void)snprintf(l.client, sizeof l.client, "%s", m->text);
		(void)snprintf(
		    l.from, sizeof l.from, "%s", m->text + strlen(m->text) + 1);
		each(arg, &l);
	}
}

void
mails_free(struct mails *all)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		free(all->mail[i]);
	free(all->mail);
}
