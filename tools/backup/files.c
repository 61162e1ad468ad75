/*
 * backup files - copied whole and on disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup.h"
#include "tidemark/base/err.h"

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

/* A file that is half a copy is not left behind, nor one of an earlier try
 * written over: it may have another name as well. */
int
backup_copy_in(int in, const char *to, mode_t mode, struct tide_err *err)
{
	int out, rc;

	(void)unlink(to);
	out = open(
	    to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (out < 0)
		return tide_err_errno(err, "%s", to);
	rc = fchmod(out, mode);
	if (rc == 0)
		rc = pour(in, out);
	if (rc < 0) {
		(void)tide_err_errno(err, "%s", to);
		(void)unlink(to);
	}
	(void)close(out);
	return rc;
}

int
backup_copy(const char *from, const char *to, mode_t mode, struct tide_err *err)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), rc;

	if (in < 0)
		return tide_err_errno(err, "%s", from);
	rc = backup_copy_in(in, to, mode, err);
	(void)close(in);
	return rc;
}
