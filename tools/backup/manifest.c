/*
 * backup manifest - written, read, and compared with what is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../progress.h"
#include "backup.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"

#define MANIFEST_MAX (256u << 10)
#define PIECE (1u << 20)

const char *
backup_path(const char *dir, const char *name, char path[BACKUP_PATH])
{
	(void)snprintf(path, BACKUP_PATH, "%s/%s", dir, name);
	return path;
}

uint64_t
backup_bytes(const struct backup *b)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < b->files; i++)
		sum += b->file[i].size;
	return sum;
}

/* ---- digests ----------------------------------------------------------- */

static void
show_digest(const unsigned char bytes[32], char text[BACKUP_DIGEST])
{
	unsigned i;

	for (i = 0; i < 32; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void
digest_text(const char *text, size_t length, char digest[BACKUP_DIGEST])
{
	unsigned char bytes[32];

	(void)crypto_generichash(
	    bytes, sizeof bytes, (const unsigned char *)text, length, NULL, 0);
	show_digest(bytes, digest);
}

/* How far a walk over many files has come. */
struct walk {
	struct progress bar;
	uint64_t done;
};

static int
digest_open(int fd, const char *path, struct backup_file *f, struct walk *w,
    struct tide_err *err)
{
	crypto_generichash_state state;
	unsigned char bytes[32];
	unsigned char *piece = malloc(PIECE);
	ssize_t n = -1;

	f->size = 0;
	(void)crypto_generichash_init(&state, NULL, 0, sizeof bytes);
	while (piece != NULL && (n = read(fd, piece, PIECE)) > 0) {
		(void)crypto_generichash_update(
		    &state, piece, (unsigned long long)n);
		f->size += (uint64_t)n;
		if (w != NULL)
			progress_at(&w->bar, w->done += (uint64_t)n);
	}
	free(piece);
	if (n < 0)
		return tide_err_errno(err, "%s", path);
	(void)crypto_generichash_final(&state, bytes, sizeof bytes);
	show_digest(bytes, f->digest);
	return 0;
}

static int
measure(
    const char *path, struct backup_file *f, struct walk *w, struct tide_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc;

	if (fd < 0)
		return tide_err_errno(e, "%s", path);
	rc = digest_open(fd, path, f, w, e);
	(void)close(fd);
	return rc;
}

int
backup_list(struct backup *b, const char *dir, const char *name,
    const char *from, struct tide_err *err)
{
	struct backup_file *f = &b->file[b->files];
	char path[BACKUP_PATH];

	if (b->files == BACKUP_FILES_MAX)
		return tide_err_set(
		    err, "%s: more than %u files", dir, BACKUP_FILES_MAX);
	(void)snprintf(f->name, sizeof f->name, "%s", name);
	(void)snprintf(f->from, sizeof f->from, "%s", from);
	if (measure(backup_path(dir, name, path), f, NULL, err) < 0)
		return -1;
	b->files++;
	return 0;
}

/* ---- writing ----------------------------------------------------------- */

static void
print_manifest(const struct backup *b, FILE *out)
{
	char made[32], state[32];
	unsigned i;

	(void)fprintf(out, "tidemark-backup %u\n", b->format);
	(void)fprintf(out, "version %s\n", b->version);
	(void)fprintf(out, "archive %u\n", b->archive);
	(void)fprintf(out, "node %s\n", b->node);
	(void)fprintf(out, "made %" PRIu64 " %s\n", b->made_ms,
	    tide_clock_show(b->made_ms, made, sizeof made));
	(void)fprintf(out, "state %" PRIu64 " %s\n", b->state_ms,
	    tide_clock_show(b->state_ms, state, sizeof state));
	for (i = 0; i < b->files; i++)
		(void)fprintf(out, "file %" PRIu64 " %s %s%s%s\n",
		    b->file[i].size, b->file[i].digest, b->file[i].name,
		    b->file[i].from[0] != '\0' ? " from " : "",
		    b->file[i].from);
}

/* Its last line holds the digest of those before. */
int
backup_write_manifest(
    const struct backup *b, const char *dir, struct tide_err *err)
{
	char path[BACKUP_PATH], digest[BACKUP_DIGEST];
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	int rc = -1;

	(void)backup_path(dir, TIDE_BACKUP_MANIFEST, path);
	if (out != NULL) {
		print_manifest(b, out);
		(void)fflush(out);
		digest_text(text, length, digest);
		(void)fprintf(out, "end %s\n", digest);
		rc = fclose(out);
	}
	rc = rc == 0 ? tide_files_replace(path, text, length, 0600, err)
		     : tide_err_errno(err, "%s", path);
	free(text);
	return rc;
}

/* ---- reading ----------------------------------------------------------- */

static char *
read_whole(const char *path, struct tide_err *err)
{
	char *text = malloc(MANIFEST_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = -1;

	while (fd >= 0 && text != NULL && have < MANIFEST_MAX &&
	    (n = read(fd, text + have, MANIFEST_MAX - have)) > 0)
		have += (size_t)n;
	if (fd < 0 && errno == ENOENT)
		(void)tide_err_set(err,
		    "%s: is not there: this is no backup, or one that was cut "
		    "short",
		    path);
	else if (fd < 0 || n < 0)
		(void)tide_err_errno(err, "%s", path);
	if (fd >= 0)
		(void)close(fd);
	if (n == 0 && strnlen(text, have) == have) {
		text[have] = '\0';
		return text;
	}
	if (n >= 0)
		(void)tide_err_set(err, "%s: is damaged", path);
	free(text);
	return NULL;
}

/* A name of ours stays within the folder. */
static bool
is_name(const char *name)
{
	size_t n;

	for (;; name += n + 1) {
		n = strcspn(name, "/");
		if (n == 0 || (n == 2 && memcmp(name, "..", 2) == 0))
			return false;
		if (name[n] == '\0')
			return true;
	}
}

static bool
read_file_line(struct backup *b, char *rest)
{
	struct backup_file *f = &b->file[b->files];
	char *from = strstr(rest, " from ");
	int n = 0;

	if (b->files == BACKUP_FILES_MAX)
		return false;
	memset(f, 0, sizeof *f);
	if (from != NULL) {
		*from = '\0';
		(void)snprintf(f->from, sizeof f->from, "%s", from + 6);
	}
	if (sscanf(rest, "%" SCNu64 " %64[0-9a-f] %n", &f->size, f->digest,
		&n) != 2 ||
	    n == 0 || strlen(rest + n) >= sizeof f->name || !is_name(rest + n))
		return false;
	(void)snprintf(f->name, sizeof f->name, "%s", rest + n);
	b->files++;
	return true;
}

static bool
read_line(struct backup *b, char *line)
{
	char *rest = strchr(line, ' ');

	if (rest == NULL)
		return false;
	*rest++ = '\0';
	if (strcmp(line, "file") == 0)
		return read_file_line(b, rest);
	if (strcmp(line, "version") == 0)
		(void)snprintf(b->version, sizeof b->version, "%s", rest);
	else if (strcmp(line, "node") == 0)
		(void)snprintf(b->node, sizeof b->node, "%s", rest);
	else if (strcmp(line, "layout") == 0)
		return true; /* of 0.1: the checkpoint says it itself now */
	else if (strcmp(line, "archive") == 0)
		return sscanf(rest, "%" SCNu32, &b->archive) == 1;
	else if (strcmp(line, "made") == 0)
		return sscanf(rest, "%" SCNu64, &b->made_ms) == 1;
	else if (strcmp(line, "state") == 0)
		return sscanf(rest, "%" SCNu64, &b->state_ms) == 1;
	return true;
}

/* The last line is there and says of the others what they are. */
static bool
ends_well(const char *text)
{
	const char *end = strstr(text, "\nend ");
	char digest[BACKUP_DIGEST];

	if (end == NULL)
		return false;
	digest_text(text, (size_t)(end + 1 - text), digest);
	return strncmp(end + 5, digest, 64) == 0 && strcmp(end + 69, "\n") == 0;
}

static int
parse(struct backup *b, char *text, const char *path, struct tide_err *err)
{
	char *line, *save = NULL;

	if (sscanf(text, "tidemark-backup %" SCNu32 "\n", &b->format) != 1)
		return tide_err_set(err, "%s: is damaged", path);
	if (b->format != BACKUP_FORMAT && strstr(text, "\nend ") != NULL)
		return tide_err_set(err,
		    "%s: is of format %u, and this Tidemark reads format %u",
		    path, b->format, BACKUP_FORMAT);
	if (!ends_well(text))
		return tide_err_set(err, "%s: is damaged", path);
	*(strstr(text, "\nend ") + 1) = '\0';
	(void)strtok_r(text, "\n", &save);
	while ((line = strtok_r(NULL, "\n", &save)) != NULL)
		if (!read_line(b, line))
			return tide_err_set(
			    err, "%s: «%s» makes no sense", path, line);
	return 0;
}

int
backup_read_manifest(struct backup *b, const char *dir, struct tide_err *err)
{
	char path[BACKUP_PATH];
	char *text;
	int rc;

	memset(b, 0, sizeof *b);
	text = read_whole(backup_path(dir, TIDE_BACKUP_MANIFEST, path), err);
	if (text == NULL)
		return -1;
	rc = parse(b, text, path, err);
	free(text);
	if (rc == 0 && b->archive != TIDE_ARCHIVE_FORMAT &&
	    b->archive != TIDE_ARCHIVE_KEYED)
		return tide_err_set(err,
		    "%s: its archive has format %u, and this Tidemark reads "
		    "format %u",
		    path, b->archive, TIDE_ARCHIVE_FORMAT);
	return rc;
}

/* ---- comparing --------------------------------------------------------- */

static int
compare(const struct backup_file *want, const char *dir, struct walk *w,
    struct tide_err *err)
{
	char path[BACKUP_PATH];
	struct backup_file is;
	struct stat st;

	(void)backup_path(dir, want->name, path);
	if (lstat(path, &st) < 0)
		return tide_err_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != want->size)
		return tide_err_set(err,
		    "%s: has %lld bytes, not %" PRIu64 ": it is damaged", path,
		    (long long)st.st_size, want->size);
	if (measure(path, &is, w, err) < 0)
		return -1;
	if (strcmp(is.digest, want->digest) != 0)
		return tide_err_set(
		    err, "%s: is damaged: its digest is another", path);
	return 0;
}

static const struct backup_file *
find(const struct backup *b, const char *name)
{
	unsigned i;

	for (i = 0; i < b->files; i++)
		if (strcmp(b->file[i].name, name) == 0)
			return &b->file[i];
	return NULL;
}

int
backup_compare(const struct backup *b, const char *name, const char *path,
    struct tide_err *err)
{
	const struct backup_file *want = find(b, name);
	struct backup_file is;

	if (want == NULL)
		return tide_err_set(err, "%s: is not in the list", name);
	if (measure(path, &is, NULL, err) < 0)
		return -1;
	if (is.size != want->size || strcmp(is.digest, want->digest) != 0)
		return tide_err_set(
		    err, "%s: was not copied as it is in the backup", path);
	return 0;
}

int
backup_verify(const struct backup *b, const char *dir, struct tide_err *err)
{
	struct walk w = { .done = 0 };
	unsigned i;
	int rc = 0;

	if (find(b, "archive.mdb") == NULL || find(b, "hash.key") == NULL)
		return tide_err_set(err,
		    "%s/" TIDE_BACKUP_MANIFEST ": does not list archive.mdb "
		    "and hash.key",
		    dir);
	progress_begin(&w.bar, "checking", backup_bytes(b));
	for (i = 0; rc == 0 && i < b->files; i++)
		rc = compare(&b->file[i], dir, &w, err);
	progress_end(&w.bar);
	return rc == 0 ? tide_archive_verify(dir, err) : rc;
}
