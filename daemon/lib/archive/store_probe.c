/*
 * store, looked at from outside: what a file is before LMDB maps it, checks
 * in a process of their own, where a value lies.  No LMDB here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark/archive/store.h"
#include "tidemark/base/err.h"

/* ---- probe ------------------------------------------------------------- */

/*
 * The two meta pages of LMDB 0.9 on a 64-bit machine, as far as we look: the
 * page header is 16 bytes, and the roots' page numbers stand where mdb.c's
 * MDB_meta has them.  Checked against a file we made, in
 * tests/daemon/lib/archive/t_store.c.
 */
#define META_MAGIC 0xBEEFC0DEu
#define META_VERSION 1u
#define PAGE 4096u

struct meta_page {
	uint64_t page_no;
	uint16_t pad, flags;
	uint16_t lower, upper;
	uint32_t magic, version;
	uint64_t address, map_size;
	struct {
		uint32_t pad;
		uint16_t flags, depth;
		uint64_t branches, leaves, overflows, entries, root;
	} tree[2];
	uint64_t last_page, txn;
};
_Static_assert(sizeof(struct meta_page) == 152, "LMDB 0.9 meta page");

#define META_FLAG 0x08

static bool
meta_is_ours(const struct meta_page *m, unsigned i)
{
	return m->page_no == i && m->flags == META_FLAG &&
	    m->magic == META_MAGIC && m->version == META_VERSION &&
	    m->tree[0].pad == PAGE; /* where LMDB keeps its page size */
}

/* Might these first bytes, too few for a store, once have been one's? */
static bool
starts_like_ours(const struct meta_page *m, size_t n)
{
	const struct meta_page ours = {
		.flags = META_FLAG, .magic = META_MAGIC, .version = META_VERSION
	};
	const size_t fixed = offsetof(struct meta_page, address);

	return memcmp(m, &ours, n < fixed ? n : fixed) == 0;
}

/* Is the page that this meta page calls its main root a branch or a leaf? */
static bool
root_is_sane(int fd, uint64_t root)
{
	struct {
		uint64_t page_no;
		uint16_t pad, flags;
	} head;

	if (root == UINT64_MAX)
		return true; /* an empty tree */
	if (pread(fd, &head, sizeof head, (off_t)(root * PAGE)) !=
	    (ssize_t)sizeof head)
		return false;
	return head.page_no == root && (head.flags & 0x03) != 0;
}

static enum tide_store_state
judge(int fd, off_t size, const struct meta_page m[2], const char *path,
    struct tide_err *err)
{
	const struct meta_page *newest = &m[m[0].txn < m[1].txn];
	uint64_t pages = (uint64_t)size / PAGE;

	if (!meta_is_ours(&m[0], 0) && !meta_is_ours(&m[1], 1)) {
		(void)tide_err_set(err, "%s: is no LMDB 0.9 file", path);
		return TIDE_STORE_FOREIGN;
	}
	if (!meta_is_ours(&m[0], 0) || !meta_is_ours(&m[1], 1)) {
		(void)tide_err_set(
		    err, "%s: is damaged in its first pages", path);
		return TIDE_STORE_DAMAGED;
	}
	if (newest->last_page >= pages) {
		(void)tide_err_set(err,
		    "%s: is truncated: %llu pages of %llu are there", path,
		    (unsigned long long)pages,
		    (unsigned long long)newest->last_page + 1);
		return TIDE_STORE_TRUNCATED;
	}
	if (!root_is_sane(fd, newest->tree[1].root) ||
	    !root_is_sane(fd, newest->tree[0].root)) {
		(void)tide_err_set(err, "%s: is damaged at its root", path);
		return TIDE_STORE_DAMAGED;
	}
	return TIDE_STORE_WHOLE;
}

static enum tide_store_state
probe_fd(int fd, const char *path, struct tide_err *err)
{
	struct meta_page m[2];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)tide_err_set(err, "%s: is no regular file", path);
		return TIDE_STORE_FOREIGN;
	}
	n = pread(fd, &m[0], sizeof m[0], 0);
	if (n == (ssize_t)sizeof m[0] &&
	    pread(fd, &m[1], sizeof m[1], PAGE) == (ssize_t)sizeof m[1])
		return judge(fd, st.st_size, m, path, err);
	if (n < 0 || !starts_like_ours(&m[0], (size_t)n)) {
		(void)tide_err_set(err, "%s: is no LMDB 0.9 file", path);
		return TIDE_STORE_FOREIGN;
	}
	(void)tide_err_set(err,
	    "%s: is truncated: %lld bytes cannot be a store", path,
	    (long long)st.st_size);
	return TIDE_STORE_TRUNCATED;
}

enum tide_store_state
tide_store_probe(const char *path, struct tide_err *err)
{
	enum tide_store_state state;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		state =
		    errno == ENOENT ? TIDE_STORE_ABSENT : TIDE_STORE_DAMAGED;
		(void)tide_err_errno(err, "%s", path);
		return state;
	}
	state = probe_fd(fd, path, err);
	(void)close(fd);
	return state;
}

/* ---- apart ------------------------------------------------------------- */

/* In the child: nothing of it may outlive the answer. */
static void
check_and_exit(tide_check *check, void *arg, int fd)
{
	const struct rlimit no_core = { 0, 0 };
	struct tide_err err = { "" };

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)alarm(300); /* a loop in a damaged tree ends, too */
	if (check(arg, &err) == 0)
		_exit(0);
	_exit(write(fd, err.text, strlen(err.text)) < 0 ? 2 : 1);
}

int
tide_store_apart(
    const char *path, tide_check *check, void *arg, struct tide_err *err)
{
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return tide_err_errno(err, "%s: cannot be checked", path);
	pid = fork();
	if (pid == 0)
		check_and_exit(check, arg, fds[1]);
	(void)close(fds[1]);
	n = pid < 0 ? 0 : read(fds[0], err->text, sizeof err->text - 1);
	err->text[n > 0 ? n : 0] = '\0';
	(void)close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return tide_err_errno(err, "%s: cannot be checked", path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (err->text[0] == '\0')
		return tide_err_set(err,
		    "%s: is damaged: reading it through ended with signal %d; "
		    "it is left as it is",
		    path, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return -1;
}

/* ---- places ------------------------------------------------------------ */

/*
 * LMDB tells nobody where its map starts, so we ask the kernel which file
 * offset lies behind an address of ours.
 */
int
tide_store_offset(const void *value, uint64_t *offset, struct tide_err *err)
{
	uintptr_t at = (uintptr_t)value;
	unsigned long low, high, off;
	char line[512];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (maps == NULL)
		return tide_err_errno(err, "/proc/self/maps");
	while (!found && fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx %*s %lx", &low, &high, &off) == 3 &&
		    at >= low && at < high) {
			*offset = off + (at - low);
			found = 1;
		}
	}
	(void)fclose(maps);
	if (!found)
		return tide_err_set(err, "/proc/self/maps: address not mapped");
	return 0;
}
