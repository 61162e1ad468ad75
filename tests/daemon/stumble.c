/*
 * stumble - preloaded, kills a collector at a given step of its start.
 *
 * The file that STUMBLE names holds a number.  The next collector takes it
 * away, counts its steps from the moment at which a new live map gets its
 * name, and dies before that one: a step is whatever another process, or the
 * next collector, could notice.  If it is ready before, the file FILE.ready
 * says so: there are not so many steps.
 *
 * While there is a file FILE.slow, no collector gets a transaction onto its
 * disk, with FILE.stuck no file; that one waits for it, FILE.waits says.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char path[4096];
static int left; /* steps to go; 0: it does not stumble */
static bool counts;

static bool
is_collector(void)
{
	char line[4096] = "";
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t n, i;

	if (f == NULL)
		return false;
	n = fread(line, 1, sizeof line - 1, f);
	(void)fclose(f);
	for (i = 0; i < n; i += strlen(line + i) + 1)
		if (strcmp(line + i, "--collector") == 0)
			return true;
	return false;
}

static __attribute__((constructor)) void
begin(void)
{
	const char *name = getenv("STUMBLE");
	FILE *f;

	if (name == NULL || !is_collector())
		return;
	(void)snprintf(path, sizeof path, "%s", name);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fscanf(f, "%d", &left) != 1)
		left = 0;
	(void)fclose(f);
	(void)unlink(path);
}

static void
step(void)
{
	if (counts && left > 0 && --left == 0)
		(void)kill(getpid(), SIGKILL);
}

static void
is_ready(void)
{
	if (left > 0) {
		(void)strcat(path, ".ready");
		(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	left = 0;
}

/* ---- the steps --------------------------------------------------------- */

int
rename(const char *from, const char *to)
{
	const char *name = strrchr(to, '/');

	step();
	if (name != NULL && strcmp(name, "/live.mdb") == 0)
		counts = true;
	return REAL(rename)(from, to);
}

static void
wait_while(const char *what)
{
	const char *name = getenv("STUMBLE");
	char slow[4096], waits[4096];

	if (name == NULL || !is_collector())
		return;
	(void)snprintf(slow, sizeof slow, "%s.%s", name, what);
	(void)snprintf(waits, sizeof waits, "%s.waits", name);
	while (access(slow, F_OK) == 0) {
		(void)close(open(waits, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		(void)usleep(10000);
	}
}

int
fdatasync(int fd)
{
	step();
	wait_while("slow");
	return REAL(fdatasync)(fd);
}

int
fsync(int fd)
{
	wait_while("stuck");
	return REAL(fsync)(fd);
}

/* A key is drawn for a new map's table. */
ssize_t
getrandom(void *to, size_t size, unsigned flags)
{
	step();
	return REAL(getrandom)(to, size, flags);
}

/* The log's lines; and to the supervisor, that it is ready. */
ssize_t
write(int fd, const void *bytes, size_t size)
{
	if (size == 1 && *(const char *)bytes == '1') /* PROTOCOL beats, B2 */
		is_ready();
	step();
	return REAL(write)(fd, bytes, size);
}
