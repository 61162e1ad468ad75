/*
 * files - replace, lock, make a folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/rights.h"

static int
write_whole(int fd, const char *data, size_t size)
{
	ssize_t n;

	while (size > 0) {
		n = write(fd, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

int
tide_files_replace(const char *path, const void *data, size_t size, mode_t mode,
    struct tide_err *err)
{
	char temp[TIDE_PATH_MAX + 32];
	int fd, rc;

	(void)snprintf(temp, sizeof temp, "%s.%d.new", path, (int)getpid());
	(void)unlink(temp); /* of somebody who had our pid */
	fd = open(
	    temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return tide_err_errno(err, "%s", temp);
	rc = write_whole(fd, data, size);
	if (rc == 0)
		rc = fsync(fd);
	if (rc < 0)
		(void)tide_err_errno(err, "%s", temp);
	(void)close(fd);
	if (rc == 0 && rename(temp, path) < 0)
		rc = tide_err_errno(err, "%s", path);
	if (rc < 0)
		(void)unlink(temp);
	return rc;
}

void
tide_files_dirname(const char *path, char *dir, size_t size)
{
	const char *slash = strrchr(path, '/');
	int n = slash == NULL ? 0 : (int)(slash - path);

	if (slash == NULL)
		(void)snprintf(dir, size, ".");
	else
		(void)snprintf(dir, size, "%.*s", n == 0 ? 1 : n, path);
}

static bool
try_lock(int fd, pid_t *holder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &lock) == 0)
		return true;
	if (holder != NULL && fcntl(fd, F_GETLK, &lock) == 0)
		*holder = lock.l_pid;
	return false;
}

/* In a folder of somebody else's root is that somebody (rights.h); a link, or
 * a second name of another file, is refused all the same. */
static int
open_lock(const char *path, struct tide_err *err)
{
	struct tide_rights was;
	struct stat st;
	int fd;

	if (tide_rights_of_place(&was, path, (gid_t)-1, err) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	tide_rights_return(&was);
	if (fd < 0)
		return errno == ELOOP
		    ? tide_err_set(err, "%s: is a link, no lock of ours", path)
		    : tide_err_errno(err, "%s", path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return fd;
	(void)close(fd);
	return tide_err_set(err, "%s: is no lock of ours", path);
}

static bool
is_empty(int fd)
{
	int copy = dup(fd);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	unsigned n = 0;

	if (d == NULL)
		return false;
	while (n < 3 && readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n <= 2;
}

/* A folder with something in it may be /etc, named by a slip of the hand. */
static int
give_folder(const char *path, uid_t uid, gid_t gid, struct tide_err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	if (fstat(fd, &st) < 0)
		rc = -1;
	else if (st.st_uid == 0 && is_empty(fd))
		rc = fchown(fd, uid, gid);
	if (rc < 0)
		(void)tide_err_errno(err, "%s", path);
	(void)close(fd);
	return rc;
}

int
tide_files_folder(
    const char *path, mode_t mode, uid_t uid, gid_t gid, struct tide_err *err)
{
	struct tide_rights was;
	int rc;

	if (tide_rights_of_place(&was, path, (gid_t)-1, err) < 0)
		return -1;
	rc = mkdir(path, mode);
	tide_rights_return(&was);
	if (rc < 0 && errno != EEXIST)
		return tide_err_errno(err, "%s", path);
	if (uid == (uid_t)-1 || geteuid() != 0 || was.taken)
		return 0; /* names in that folder are its owner's to change */
	return give_folder(path, uid, gid, err);
}

int
tide_files_lock(
    const char *path, unsigned wait_ms, pid_t *holder, struct tide_err *err)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	uint64_t until = tide_clock_mono_ms() + wait_ms;
	int fd = open_lock(path, err);

	if (fd < 0)
		return -1;
	while (!try_lock(fd, holder)) {
		if (tide_clock_mono_ms() >= until) {
			(void)close(fd);
			return tide_err_set(err, "%s: another one is running%s",
			    path, wait_ms > 0 ? " and does not end" : "");
		}
		(void)nanosleep(&nap, NULL);
	}
	return fd;
}
