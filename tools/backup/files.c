/*
 * backup files - copied whole and on disk; a daemon's locks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"

int
backup_sync_dir(const char *dir, struct tide_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return tide_err_errno(err, "%s", dir);
	rc = fsync(fd);
	if (rc < 0)
		(void)tide_err_errno(err, "%s", dir);
	(void)close(fd);
	return rc;
}

static int
pour(int from, int to)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, 1u << 20);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -1 : fsync(to);
}

/* A file that is half a copy is not left behind. */
int
backup_copy(const char *from, const char *to, mode_t mode, uid_t uid, gid_t gid,
    struct tide_err *err)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, rc;

	if (in < 0)
		return tide_err_errno(err, "%s", from);
	out = open(
	    to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (out < 0) {
		(void)tide_err_errno(err, "%s", to);
		(void)close(in);
		return -1;
	}
	rc = fchmod(out, mode);
	if (rc == 0 && uid != (uid_t)-1)
		rc = fchown(out, uid, gid);
	if (rc == 0)
		rc = pour(in, out);
	if (rc < 0) {
		(void)tide_err_errno(err, "%s", to);
		(void)unlink(to);
	}
	(void)close(in);
	(void)close(out);
	return rc;
}

int
backup_lock(const char *dir, const char *name, unsigned wait_ms, pid_t *holder,
    struct tide_err *err)
{
	char path[BACKUP_PATH];
	struct stat st;
	int fd;

	fd =
	    tide_files_lock(backup_path(dir, name, path), wait_ms, holder, err);
	if (fd < 0 || geteuid() != 0)
		return fd;
	if (stat(dir, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0) {
		(void)tide_err_errno(err, "%s", path);
		(void)close(fd);
		return -1;
	}
	return fd;
}
