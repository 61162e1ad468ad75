/*
 * files - replace, lock.
 */
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
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
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

int
tide_files_lock(
    const char *path, unsigned wait_ms, pid_t *holder, struct tide_err *err)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	uint64_t until = tide_clock_mono_ms() + wait_ms;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);

	if (fd < 0)
		return tide_err_errno(err, "%s", path);
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
