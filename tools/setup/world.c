/*
 * setup, world - the machine that is set up: files, people, programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../read/output.h"
#include "setup.h"
#include "text.h"

/* ---- files ------------------------------------------------------------- */

char *
setup_real(const struct setup *s, const char *path)
{
	return setup_format("%s%s", s->root, path);
}

bool
setup_exists(const struct setup *s, const char *path)
{
	char *real = setup_real(s, path);
	bool there = access(real, F_OK) == 0;

	free(real);
	return there;
}

char *
setup_slurp(const struct setup *s, const char *path, size_t *length)
{
	char *real = setup_real(s, path);
	char *text = setup_read(real, length);

	if (text == NULL && errno != ENOENT && errno != ENOTDIR)
		complain("%s: %s", real,
		    errno == EILSEQ ? "there is a NUL in it; not touched"
				    : strerror(errno));
	free(real);
	return text;
}

/* ---- people ------------------------------------------------------------ */

/* The entry of DIR/etc/passwd, or of this machine. */
static bool
find_user(const struct setup *s, const char *name, uid_t *uid, gid_t *gid)
{
	struct passwd *p = NULL;
	char *path;
	FILE *f;

	if (s->root[0] == '\0') {
		p = getpwnam(name);
	} else {
		path = setup_real(s, "/etc/passwd");
		f = fopen(path, "re");
		free(path);
		while (f != NULL && (p = fgetpwent(f)) != NULL)
			if (strcmp(p->pw_name, name) == 0)
				break;
		if (f != NULL)
			(void)fclose(f);
	}
	if (p == NULL)
		return false;
	*uid = p->pw_uid;
	*gid = p->pw_gid;
	return true;
}

static FILE *
open_groups(const struct setup *s)
{
	char *path = setup_real(s, "/etc/group");
	FILE *f = fopen(path, "re");

	free(path);
	return f;
}

bool
setup_group(const struct setup *s, const char *name, gid_t *gid)
{
	struct group *g = NULL;
	FILE *f;

	if (s->root[0] == '\0') {
		g = getgrnam(name);
	} else {
		f = open_groups(s);
		while (f != NULL && (g = fgetgrent(f)) != NULL)
			if (strcmp(g->gr_name, name) == 0)
				break;
		if (f != NULL)
			(void)fclose(f);
	}
	if (g != NULL)
		*gid = g->gr_gid;
	return g != NULL;
}

static bool
is_member(const struct group *g, const char *name)
{
	char **m;

	for (m = g->gr_mem; *m != NULL; m++)
		if (strcmp(*m, name) == 0)
			return true;
	return false;
}

static void
add_groups(const struct setup *s, struct setup_person *p)
{
	FILE *f = open_groups(s);
	struct group *g;

	while (f != NULL && (g = fgetgrent(f)) != NULL) {
		if (g->gr_gid == p->gid[0])
			(void)snprintf(
			    p->group, sizeof p->group, "%s", g->gr_name);
		else if (p->groups < SETUP_GROUPS_MAX && is_member(g, p->name))
			p->gid[p->groups++] = g->gr_gid;
	}
	if (f != NULL)
		(void)fclose(f);
}

bool
setup_person(const struct setup *s, const char *user, const char *group,
    struct setup_person *p)
{
	*p = (struct setup_person){ .groups = 1 };
	(void)snprintf(p->name, sizeof p->name, "%s", user);
	if (!find_user(s, user, &p->uid, &p->gid[0]))
		return false;
	if (group[0] != '\0' && !setup_group(s, group, &p->gid[0]))
		return false;
	add_groups(s, p);
	return true;
}

/* ---- the way to a socket ----------------------------------------------- */

static bool
may(const struct setup_person *p, const struct stat *st, unsigned bit)
{
	size_t i;

	if (p->uid == 0)
		return true;
	if (p->uid == st->st_uid)
		return (st->st_mode >> 6 & bit) != 0;
	for (i = 0; i < p->groups; i++)
		if (p->gid[i] == st->st_gid)
			return (st->st_mode >> 3 & bit) != 0;
	return (st->st_mode & bit) != 0;
}

static enum setup_reach
judge_folder(const struct setup_person *p, enum setup_care care,
    const struct stat *st, const char *path, char *why, size_t size)
{
	mode_t bad = care == CARE_NONE ? 0
	    : care == CARE_WORLD       ? S_IWOTH
				       : S_IWOTH | S_IWGRP;

	if (!may(p, st, 1)) {
		(void)snprintf(why, size,
		    "%s may not pass the folder %s (mode %04o)", p->name, path,
		    st->st_mode & 07777u);
		return REACH_RIGHTS;
	}
	/* what the sticky bit keeps others from, sendmail does not mind */
	if ((st->st_mode & bad) != 0 && (st->st_mode & S_ISVTX) == 0) {
		(void)snprintf(why, size, "%s can be written by %s (mode %04o)",
		    path,
		    (st->st_mode & S_IWOTH) != 0 ? "everybody" : "its group",
		    st->st_mode & 07777u);
		return REACH_FOLDER;
	}
	return REACH_FINE;
}

/* Through the folder's descriptor: below --root a path may be too long. */
static bool
listens(const char *real)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *name = strrchr(real, '/');
	char *folder = setup_copy(real, (size_t)(name - real));
	int dir = open(folder, O_PATH | O_CLOEXEC), fd, rc = 0;

	free(folder);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dir >= 0 && fd >= 0 &&
	    snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d%s", dir,
		name) < (int)sizeof a.sun_path)
		rc = connect(fd, (struct sockaddr *)&a, sizeof a);
	if (rc < 0)
		rc = errno;
	if (fd >= 0)
		(void)close(fd);
	if (dir >= 0)
		(void)close(dir);
	return rc != ECONNREFUSED; /* who may not look cannot tell */
}

static enum setup_reach
judge_socket(const struct setup *s, const char *path,
    const struct setup_person *p, enum setup_care care, char *why, size_t size)
{
	char *real = setup_real(s, path);
	enum setup_reach reach = REACH_FINE;
	struct stat st;

	if (care != CARE_NONE && lstat(real, &st) == 0 && S_ISLNK(st.st_mode)) {
		(void)snprintf(why, size, "%s is a symbolic link", path);
		reach = REACH_LINK;
	} else if (stat(real, &st) != 0) {
		(void)snprintf(why, size, "%s is not there", path);
		reach = REACH_MISSING;
	} else if (!S_ISSOCK(st.st_mode)) {
		(void)snprintf(why, size, "%s is no socket", path);
		reach = REACH_NO_SOCKET;
	} else if (!listens(real)) {
		(void)snprintf(why, size, "nobody listens on %s", path);
		reach = REACH_DEAF;
	} else if (!may(p, &st, 2)) {
		(void)snprintf(why, size,
		    "%s may not write to %s (mode %04o, group %u)", p->name,
		    path, st.st_mode & 07777u, st.st_gid);
		reach = REACH_RIGHTS;
	}
	free(real);
	return reach;
}

enum setup_reach
setup_reach(const struct setup *s, const char *path,
    const struct setup_person *p, enum setup_care care, char *why, size_t size)
{
	enum setup_reach reach = REACH_FINE;
	const char *end = path;
	struct stat st;

	while (reach == REACH_FINE && end != NULL) {
		char *part =
		    setup_copy(path, end == path ? 1 : (size_t)(end - path));
		char *real = setup_real(s, part);

		if (stat(real, &st) != 0) {
			(void)snprintf(why, size, "%s is not there", part);
			reach = REACH_MISSING;
		} else {
			reach = judge_folder(p, care, &st, part, why, size);
		}
		free(real);
		free(part);
		end = strchr(end + 1, '/');
	}
	return reach == REACH_FINE ? judge_socket(s, path, p, care, why, size)
				   : reach;
}

/* ---- programs ---------------------------------------------------------- */

const char *
setup_which(const struct setup *s, const char *const *paths)
{
	for (; *paths != NULL; paths++)
		if (setup_exists(s, *paths))
			return *paths;
	return NULL;
}

bool
setup_runs_below(const struct setup *s, const char *program)
{
	return s->root[0] != '\0' && s->program == NULL && program[0] == '/' &&
	    setup_exists(s, program);
}

static void
child(const struct setup *s, const char *const *argv, const int out[2],
    const int err[2])
{
	int null = open("/dev/null", O_RDONLY);
	bool below = setup_runs_below(s, argv[0]);

	(void)dup2(null, 0);
	(void)dup2(out[1], 1);
	(void)dup2(err[1], 2);
	(void)setenv("LC_ALL", "C", 1);
	if (!below || (chroot(s->root) == 0 && chdir("/") == 0))
		(void)execvp(argv[0], (char *const *)argv);
	_exit(127);
}

/* sendmail sleeps for a minute when the machine's name has no dot. */
#define PATIENCE_MS 90000

/* Both pipes, as they fill; true once both have ended, and all was kept. */
static bool
drain(const int fds[2], char **texts[2])
{
	struct pollfd p[2] = { { .fd = fds[0], .events = POLLIN },
		{ .fd = fds[1], .events = POLLIN } };
	size_t used[2] = { 0, 0 };
	int i, open_ends = 2;

	*texts[0] = setup_grow(NULL, SETUP_FILE_MAX + 1, 1);
	*texts[1] = setup_grow(NULL, SETUP_FILE_MAX + 1, 1);
	while (open_ends > 0 && poll(p, 2, PATIENCE_MS) > 0) {
		for (i = 0; i < 2; i++) {
			ssize_t n;

			if (p[i].fd < 0 || p[i].revents == 0)
				continue;
			n = read(p[i].fd, *texts[i] + used[i],
			    SETUP_FILE_MAX - used[i]);
			if (n > 0) {
				used[i] += (size_t)n;
				continue;
			}
			p[i].fd = -1;
			open_ends--;
		}
	}
	for (i = 0; i < 2; i++)
		(*texts[i])[used[i]] = '\0';
	return open_ends == 0 && used[0] < SETUP_FILE_MAX;
}

int
setup_run(
    const struct setup *s, const char *const *argv, char **out, char **err)
{
	char **texts[2] = { out, err };
	int o[2], e[2], status = -1;
	bool whole;
	pid_t pid;

	*out = *err = NULL;
	if (pipe2(o, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(e, O_CLOEXEC) < 0) {
		(void)close(o[0]);
		(void)close(o[1]);
		return -1;
	}
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(s, argv, o, e);
	(void)close(o[1]);
	(void)close(e[1]);
	whole = drain((int[2]){ o[0], e[0] }, texts);
	if (!whole && pid > 0)
		(void)kill(pid, SIGKILL);
	(void)close(o[0]);
	(void)close(e[0]);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	return whole && pid > 0 && WIFEXITED(status) &&
		WEXITSTATUS(status) != 127
	    ? WEXITSTATUS(status)
	    : -1;
}
