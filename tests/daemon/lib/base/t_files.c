/*
 * Files: replaced whole or not at all, locked.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const char *
in_tmp(const char *name)
{
	static char path[600];

	(void)snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
	return path;
}

static size_t
leftovers(void)
{
	glob_t found;
	size_t n = 0;

	if (glob(in_tmp("*.new"), 0, NULL, &found) == 0) {
		n = found.gl_pathc;
		globfree(&found);
	}
	return n;
}

/* ---- replace ----------------------------------------------------------- */

static void
replace(void)
{
	const char *path = in_tmp("file");
	struct tide_err err;
	struct stat st;

	CHECK_INT(tide_files_replace(path, "one", 3, 0640, &err), 0);
	CHECK(fixture_is(path, "one", 3));
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
	CHECK_INT(tide_files_replace(path, "longer", 6, 0600, &err), 0);
	CHECK(fixture_is(path, "longer", 6));
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK_INT(tide_files_replace(path, "", 0, 0600, &err), 0);
	CHECK(fixture_is(path, "", 0));
	CHECK_INT(leftovers(), 0);
}

/* A reader that has the old file open goes on reading the old file. */
static void
old_stays_readable(void)
{
	const char *path = in_tmp("file");
	struct tide_err err;
	char buf[8] = "";
	int fd;

	CHECK_INT(tide_files_replace(path, "one", 3, 0640, &err), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(tide_files_replace(path, "two", 3, 0640, &err), 0);
	CHECK_INT(read(fd, buf, sizeof buf), 3);
	CHECK_STR(buf, "one");
	(void)close(fd);
}

static void
replace_fails_cleanly(void)
{
	struct tide_err err = { "" };

	CHECK_INT(
	    tide_files_replace(in_tmp("no/file"), "x", 1, 0640, &err), -1);
	CHECK(strstr(err.text, "No such file or directory") != NULL);
	CHECK(mkdir(in_tmp("folder"), 0755) == 0);
	CHECK_INT(tide_files_replace(in_tmp("folder"), "x", 1, 0640, &err), -1);
	CHECK(strstr(err.text, "/folder: Is a directory") != NULL);
	CHECK_INT(leftovers(), 0);
}

static void
folder_part(void)
{
	static const char *const cases[][2] = {
		{ "/a/b", "/a" },
		{ "/a", "/" },
		{ "a/b", "a" },
		{ "a", "." },
		{ "/a/b/", "/a/b" },
		{ "", "." },
	};
	char dir[64];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		tide_files_dirname(cases[i][0], dir, sizeof dir);
		CHECK_STR(dir, cases[i][1]);
	}
}

/* ---- lock -------------------------------------------------------------- */

/* A child that holds the lock until it is killed. */
static pid_t
holder_of(const char *path)
{
	struct tide_err err;
	int fds[2];
	char c;
	pid_t pid;

	CHECK(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		if (tide_files_lock(path, 0, NULL, &err) < 0 ||
		    write(fds[1], "1", 1) != 1)
			_exit(1);
		(void)pause();
	}
	(void)close(fds[1]);
	CHECK_INT(read(fds[0], &c, 1), 1);
	(void)close(fds[0]);
	return pid;
}

static void
lock(void)
{
	const char *path = in_tmp("lock");
	pid_t child = holder_of(path), holder = 0;
	struct tide_err err = { "" };
	uint64_t start = tide_clock_mono_ms();
	int fd;

	CHECK_INT(tide_files_lock(path, 0, &holder, &err), -1);
	CHECK_INT(holder, child);
	CHECK(strstr(err.text, "/lock: another one is running") != NULL);
	CHECK_INT(tide_files_lock(path, 100, NULL, &err), -1);
	CHECK(tide_clock_mono_ms() - start >= 100);
	CHECK(strstr(err.text, "and does not end") != NULL);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	fd = tide_files_lock(path, 1000, NULL, &err);
	CHECK(fd >= 0);
	(void)close(fd);
}

static void
lock_waits_for_its_turn(void)
{
	const char *path = in_tmp("lock");
	pid_t child = holder_of(path);
	struct tide_err err;
	int fd;

	if (fork() == 0) {
		(void)usleep(100000);
		(void)kill(child, SIGKILL);
		_exit(0);
	}
	fd = tide_files_lock(path, 5000, NULL, &err);
	CHECK(fd >= 0);
	(void)close(fd);
	while (wait(NULL) > 0)
		;
}

static void
lock_cannot_be_made(void)
{
	struct tide_err err = { "" };

	CHECK_INT(tide_files_lock(in_tmp("no/lock"), 0, NULL, &err), -1);
	CHECK(strstr(err.text, "/no/lock: No such file") != NULL);
}

CHECK_CASES({ "a file is replaced", replace },
    { "the old file stays readable", old_stays_readable },
    { "a failed replacement leaves nothing", replace_fails_cleanly },
    { "the folder of a path", folder_part },
    { "a lock keeps others out, and names its holder", lock },
    { "a lock is waited for", lock_waits_for_its_turn },
    { "a lock that cannot be made", lock_cannot_be_made })
