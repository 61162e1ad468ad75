/*
 * Files: replaced whole or not at all, locked, the published configuration.
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

/* ---- the published configuration --------------------------------------- */

static const char *
published(const struct tide_config *c)
{
	static char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/config", c->runtime_dir);
	return path;
}

static void
config_round_trip(void)
{
	struct tide_config c, back;
	struct tide_err err;
	uint64_t generation = 0;

	fixture_config(&c);
	CHECK_INT(tide_files_publish_config(&c, 42, &err), 0);
	CHECK_INT(
	    tide_files_read_config(c.runtime_dir, &back, &generation, &err), 0);
	CHECK_INT(generation, 42);
	CHECK(memcmp(&c, &back, sizeof c) == 0);
	c.max_workers = 7;
	CHECK_INT(tide_files_publish_config(&c, 43, &err), 0);
	CHECK_INT(
	    tide_files_read_config(c.runtime_dir, &back, &generation, &err), 0);
	CHECK_INT(generation, 43);
	CHECK_INT(back.max_workers, 7);
}

static void
must_be_refused(const struct tide_config *c, const char *what)
{
	struct tide_config back = { .max_workers = 4711 };
	uint64_t generation = 4711;
	struct tide_err err = { "" };

	CHECK_MSG(tide_files_read_config(
		      c->runtime_dir, &back, &generation, &err) == -1,
	    "%s was taken", what);
	CHECK_MSG(
	    strstr(err.text, "is no published configuration of ours") != NULL,
	    "%s: %s", what, err.text);
	CHECK_INT(generation, 4711);
	CHECK_INT(back.max_workers, 4711);
}

static void
damaged_configs(void)
{
	struct tide_config c;
	struct tide_err err;
	uint64_t state = 7;
	size_t size, i;
	char *bytes;

	fixture_config(&c);
	CHECK_INT(tide_files_publish_config(&c, 42, &err), 0);
	bytes = fixture_slurp(published(&c), &size);
	for (i = 0; i < 200; i++) {
		fixture_spit(published(&c), bytes, size);
		fixture_flip(published(&c), fixture_random(&state) % size,
		    (unsigned)(fixture_random(&state) % 8));
		must_be_refused(&c, "a bent one");
	}
	fixture_spit(published(&c), bytes, size - 1);
	must_be_refused(&c, "a short one");
	fixture_spit(published(&c), "", 0);
	must_be_refused(&c, "an empty one");
	fixture_spit(published(&c), "max_workers = 3\n", 16);
	must_be_refused(&c, "a foreign one");
	free(bytes);
}

static void
no_config(void)
{
	struct tide_config c, back;
	struct tide_err err = { "" };
	uint64_t generation;

	fixture_config(&c);
	CHECK_INT(
	    tide_files_read_config(c.runtime_dir, &back, &generation, &err),
	    -1);
	CHECK(strstr(err.text, "/config: No such file") != NULL);
}

CHECK_CASES({ "a file is replaced", replace },
    { "the old file stays readable", old_stays_readable },
    { "a failed replacement leaves nothing", replace_fails_cleanly },
    { "the folder of a path", folder_part },
    { "a lock keeps others out, and names its holder", lock },
    { "a lock is waited for", lock_waits_for_its_turn },
    { "a lock that cannot be made", lock_cannot_be_made },
    { "a configuration is published and read", config_round_trip },
    { "damaged ones are refused", damaged_configs },
    { "none at all", no_config })
