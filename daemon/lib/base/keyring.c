/*
 * keyring - key files: made, read, told apart.
 *
 * PROTOCOL make: a key file is there whole or not at all.
 *  K1 DIR/NAME.key.new: what a kill has left goes; made anew, O_EXCL, 0600
 *  K2 written, fsync
 *  K3 link to NAME.key (fails if one is there), unlink the .new
 *  K4 fsync of the folder
 * Crash: before K3 there is no key, and whoever comes next begins at K1;
 *        after it the key is there, and a .new that is left goes with the
 *        next K1.  Nothing that needs the key is written before K4.
 * Test:  tests/daemon/lib/base/t_keyring.c
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"

#define FORMAT "tidemark-key-1"
#define NAME_MOST 32u
#define PATH_MOST 4200u
#define TEXT_MOST (sizeof FORMAT + NAME_MOST + 2 * TIDE_KEYRING_MOST + 32)

/* ---- ids --------------------------------------------------------------- */

struct tide_key_id
tide_keyring_id(const char *name, const void *key, size_t size)
{
	uint8_t in[NAME_MOST + TIDE_KEYRING_MOST] = { 0 };
	struct tide_key_id id;

	(void)snprintf((char *)in, NAME_MOST, "%s", name);
	memcpy(in + NAME_MOST, key, size);
	(void)crypto_generichash(
	    id.byte, sizeof id.byte, in, NAME_MOST + size, NULL, 0);
	explicit_bzero(in, sizeof in);
	return id;
}

bool
tide_key_id_equal(const struct tide_key_id *a, const struct tide_key_id *b)
{
	return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

static void
put_hex(char *text, const uint8_t *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void
tide_key_id_show(const struct tide_key_id *id, char text[TIDE_KEY_ID_TEXT])
{
	put_hex(text, id->byte, sizeof id->byte);
}

/* ---- the line ---------------------------------------------------------- */

/* The key and its checksum; `text` has room for it. */
static void
put_key(char *text, const void *key, size_t size)
{
	put_hex(text, key, size);
	(void)snprintf(
	    text + 2 * size, 18, "-%016" PRIx64, tide_hash_check(key, size));
}

static int
nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
				    : -1;
}

/* Only what put_key() writes. */
static bool
get_key(const char *text, uint8_t *key, size_t size)
{
	char again[2 * TIDE_KEYRING_MOST + 32];
	bool same;
	size_t i;

	for (i = 0; i < size; i++) {
		int high = nibble(text[2 * i]);
		int low = high < 0 ? -1 : nibble(text[2 * i + 1]);

		if (low < 0)
			return false;
		key[i] = (uint8_t)(high << 4 | low);
	}
	put_key(again, key, size);
	same = strcmp(again, text) == 0;
	explicit_bzero(again, sizeof again);
	return same;
}

static bool
parse(char *line, const char *name, uint8_t *key, size_t size)
{
	char start[sizeof FORMAT + NAME_MOST + 2];
	size_t n;

	line[strcspn(line, "\n")] = '\0';
	(void)snprintf(start, sizeof start, "%s %s ", FORMAT, name);
	n = strlen(start);
	return get_key(
	    strncmp(line, start, n) == 0 ? line + n : line, key, size);
}

/* ---- reading ----------------------------------------------------------- */

static const char *
path_of(
    const char *dir, const char *name, const char *end, char path[PATH_MOST])
{
	(void)snprintf(path, PATH_MOST, "%s/%s.key%s", dir, name, end);
	return path;
}

static int
check_rights(int fd, const char *path, struct tide_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return tide_err_set(err, "%s: is no file", path);
	if ((st.st_mode & 077) != 0)
		return tide_err_set(err,
		    "%s: is a secret that others can read; chmod 600 it, and "
		    "be sure that nobody has",
		    path);
	return 0;
}

static int
read_path(const char *path, const char *name, void *key, size_t size,
    struct tide_err *err)
{
	char line[TEXT_MOST] = "";
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc = -1;

	if (fd < 0 && errno == ELOOP)
		return tide_err_set(
		    err, "%s: is a link; a key has to lie there itself", path);
	if (fd < 0)
		return errno == ENOENT ? 0 : tide_err_errno(err, "%s", path);
	if (check_rights(fd, path, err) == 0) {
		if (read(fd, line, sizeof line - 1) > 0 &&
		    parse(line, name, key, size))
			rc = 1;
		else
			(void)tide_err_set(
			    err, "%s: is no %s key, or damaged", path, name);
	}
	explicit_bzero(line, sizeof line);
	(void)close(fd);
	return rc;
}

int
tide_keyring_read(const char *dir, const char *name, void *key, size_t size,
    struct tide_err *err)
{
	char path[PATH_MOST];

	return read_path(path_of(dir, name, "", path), name, key, size, err);
}

int
tide_keyring_read_restoring(const char *dir, const char *name, void *key,
    size_t size, struct tide_err *err)
{
	char path[PATH_MOST];

	return read_path(
	    path_of(dir, name, ".restoring", path), name, key, size, err);
}

/* ---- making ------------------------------------------------------------ */

/* K1, K2 */
static int
write_line(const char *path, const char *line, struct tide_err *err)
{
	ssize_t n = (ssize_t)strlen(line);
	int fd, rc = 0;

	if (unlink(path) < 0 && errno != ENOENT)
		return tide_err_errno(err, "%s", path);
	fd = open(
	    path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	if (write(fd, line, (size_t)n) != n || fsync(fd) < 0) {
		rc = tide_err_errno(err, "%s", path);
		(void)unlink(path);
	}
	(void)close(fd);
	return rc;
}

static int
sync_folder(const char *dir, struct tide_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) < 0 ? tide_err_errno(err, "%s", dir) : 0;

	if (fd >= 0)
		(void)close(fd);
	return rc;
}

int
tide_keyring_make(const char *dir, const char *name, const void *key,
    size_t size, struct tide_err *err)
{
	char path[PATH_MOST], fresh[PATH_MOST], line[TEXT_MOST];
	int n, rc;

	n = snprintf(line, sizeof line, "%s %s ", FORMAT, name);
	put_key(line + n, key, size);
	(void)strcat(line, "\n");
	(void)path_of(dir, name, "", path);
	rc = write_line(path_of(dir, name, ".new", fresh), line, err);
	explicit_bzero(line, sizeof line);
	if (rc < 0)
		return -1;
	if (link(fresh, path) < 0) /* K3 */
		rc = tide_err_errno(err, "%s", path);
	(void)unlink(fresh);
	return rc < 0 ? -1 : sync_folder(dir, err); /* K4 */
}

int
tide_keyring_set_aside(const char *dir, const char *name, struct tide_err *err)
{
	char path[PATH_MOST], aside[PATH_MOST];

	(void)path_of(dir, name, "", path);
	(void)path_of(dir, name, ".unused", aside);
	if (rename(path, aside) < 0 && errno != ENOENT)
		return tide_err_errno(err, "%s", path);
	return 0;
}

int
tide_keyring_take_restoring(
    const char *dir, const char *name, struct tide_err *err)
{
	char path[PATH_MOST], restoring[PATH_MOST];

	(void)path_of(dir, name, "", path);
	(void)path_of(dir, name, ".restoring", restoring);
	if (rename(restoring, path) < 0)
		return tide_err_errno(err, "%s", path);
	return sync_folder(dir, err);
}
