/*
 * config_lines - read a configuration file, follow its includes, hand on its
 * lines.
 *
 * A file is read whole, then cut into lines in place.  An included file starts
 * outside any section and does not change the section of its includer.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_read.h"
#include "tidemark/base/nearest.h"

#define FILE_MAX_BYTES (1u << 20)
#define LINE_MAX_BYTES 1023
#define DEPTH_MAX 8
#define BLANK " \t"

/* Keep the name until the reading ends; places point to it. */
static const char *
keep_name(struct reading *r, const char *path)
{
	char **more;
	char *copy = strdup(path);

	if (copy == NULL)
		return NULL;
	more = realloc(r->names, (r->names_count + 1) * sizeof *more);
	if (more == NULL) {
		free(copy);
		return NULL;
	}
	r->names = more;
	r->names[r->names_count++] = copy;
	return copy;
}

/* Up to size bytes; how many, or -1. */
static ssize_t
read_all(int fd, char *buf, size_t size)
{
	size_t at = 0;
	ssize_t n;

	while (at < size) {
		n = read(fd, buf + at, size - at);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

/*
 * The contents, to be freed; NULL with errno.  O_NONBLOCK, so that a FIFO by
 * mistake is refused instead of waited for.
 */
static char *
slurp(const char *path, size_t *length, struct stat *st)
{
	char *text = NULL;
	ssize_t n = -1;
	int fd, why;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		return NULL;
	if (fstat(fd, st) == 0) {
		if (S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode))
			errno = EINVAL;
		else
			text = malloc(FILE_MAX_BYTES + 1);
	}
	if (text != NULL)
		n = read_all(fd, text, FILE_MAX_BYTES + 1);
	if (n > (ssize_t)FILE_MAX_BYTES)
		errno = EFBIG;
	why = errno;
	(void)close(fd);
	if (n >= 0 && n <= (ssize_t)FILE_MAX_BYTES) {
		text[n] = '\0';
		*length = (size_t)n;
		return text;
	}
	free(text);
	errno = why;
	return NULL;
}

/* Is the file already on the stack of files being read? */
static bool
in_cycle(const struct source *s, const struct stat *st)
{
	for (; s != NULL; s = s->from)
		if (s->ino == st->st_ino && s->dev == st->st_dev)
			return true;
	return false;
}

/* Cut a comment off: # at the beginning or after a blank, outside quotes. */
static void
cut_comment(char *line)
{
	bool quoted = false;

	for (char *s = line; *s != '\0'; s++) {
		if (*s == '"')
			quoted = !quoted;
		if (*s == '#' && !quoted &&
		    (s == line || strchr(BLANK, s[-1]) != NULL)) {
			*s = '\0';
			return;
		}
	}
}

static char *
trim(char *s)
{
	size_t n;

	s += strspn(s, BLANK);
	n = strlen(s);
	while (n > 0 && strchr(BLANK, s[n - 1]) != NULL)
		n--;
	s[n] = '\0';
	return s;
}

/*
 * The file or pattern, seen from the including file's folder.  For glob() the
 * wildcards in that folder's name are escaped.
 */
static char *
resolve(const char *includer, const char *pattern, bool escape)
{
	const char *slash = strrchr(includer, '/');
	size_t dir = slash != NULL ? (size_t)(slash - includer) + 1 : 0;
	char *path = malloc(2 * dir + strlen(pattern) + 1), *to = path;

	if (path == NULL)
		return NULL;
	for (size_t i = 0; *pattern != '/' && i < dir; i++) {
		if (escape && strchr("*?[]\\", includer[i]) != NULL)
			*to++ = '\\';
		*to++ = includer[i];
	}
	(void)strcpy(to, pattern);
	return path;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static _Thread_local int glob_errno;

/* A folder that is not there has no files; any other trouble is trouble. */
static int
folder_trouble(const char *path, int why)
{
	(void)path;
	glob_errno = why;
	return why != ENOENT;
}

static void
include_pattern(struct reading *r, const struct source *s, const char *pattern)
{
	glob_t found;
	int rc = glob(pattern, GLOB_NOSORT, folder_trouble, &found);

	if (rc == GLOB_ABORTED)
		tide_complain(r->complaints, &s->at, "cannot read %s: %s",
		    pattern, strerrordesc_np(glob_errno));
	else if (rc == GLOB_NOSPACE)
		tide_complain(r->complaints, &s->at, "out of memory");
	if (rc != 0)
		return;
	qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_name);
	for (size_t i = 0; i < found.gl_pathc; i++)
		tide_reading_file(r, s, found.gl_pathv[i]);
	globfree(&found);
}

/* A name without wildcards must be there; a pattern may match nothing. */
static void
include(struct reading *r, const struct source *s, char *text)
{
	char *pattern = tide_reading_value(r, s, text), *path;
	bool wild;

	if (pattern == NULL)
		return;
	if (*pattern == '\0') {
		tide_complain(r->complaints, &s->at, "include needs a file");
		return;
	}
	wild = strpbrk(pattern, "*?[") != NULL;
	path = resolve(s->at.file, pattern, wild);
	if (path == NULL)
		tide_complain(r->complaints, &s->at, "out of memory");
	else if (wild)
		include_pattern(r, s, path);
	else
		tide_reading_file(r, s, path);
	free(path);
}

/* What is not text has no place in a configuration, nor in a log about it. */
static bool
is_text(struct reading *r, const struct source *s, const char *line, size_t n)
{
	if (n > LINE_MAX_BYTES) {
		tide_complain(r->complaints, &s->at,
		    "the line has %zu bytes; at most %d", n, LINE_MAX_BYTES);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f) {
			tide_complain(r->complaints, &s->at,
			    "control character 0x%02x in column %zu", c, i + 1);
			return false;
		}
	}
	return true;
}

/* Neither section nor include, and no "=" either. */
static void
not_understood(struct reading *r, const struct source *s, char *line)
{
	static const char *const include_word[] = { "include" };

	line[strcspn(line, BLANK)] = '\0';
	if (tide_nearest(line, include_word, 1) != NULL)
		tide_complain(r->complaints, &s->at,
		    "expected «key = value»; did you mean «include»?");
	else
		tide_complain(r->complaints, &s->at, "expected «key = value»");
}

static void
read_line(struct reading *r, struct source *s, char *line)
{
	char *rest;

	cut_comment(line);
	line = trim(line);
	if (*line == '\0')
		return;
	rest = line + strcspn(line, BLANK "=");
	if (*line == '[') {
		tide_reading_section(r, s, line);
	} else if (rest - line == 7 && strncmp(line, "include", 7) == 0) {
		rest = trim(rest);
		if (*rest == '=')
			tide_complain(r->complaints, &s->at,
			    "write «include FILE», without «=»");
		else
			include(r, s, rest);
	} else if (strchr(line, '=') == NULL) {
		not_understood(r, s, line);
	} else {
		tide_reading_key(r, s, line);
	}
}

static void
read_lines(struct reading *r, struct source *s, char *text, size_t length)
{
	char *end = text + length;

	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3; /* byte order mark */
	while (text < end) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *next = newline != NULL ? newline + 1 : end;
		char *stop = newline != NULL ? newline : end;

		if (stop > text && stop[-1] == '\r')
			stop--;
		*stop = '\0';
		s->at.line++;
		if (is_text(r, s, text, (size_t)(stop - text)))
			read_line(r, s, text);
		text = next;
	}
}

void
tide_reading_file(
    struct reading *r, const struct source *from, const char *path)
{
	const struct place nowhere = { .file = NULL };
	const struct place *at = from != NULL ? &from->at : &nowhere;
	struct source s = { .from = from, .section = IN_GLOBALS };
	struct stat st;
	size_t length;
	char *text = slurp(path, &length, &st);
	int why = errno;

	s.depth = from != NULL ? from->depth + 1 : 0;
	s.at.file = keep_name(r, path);
	if (text == NULL)
		tide_complain(r->complaints, at, "cannot read %s: %s", path,
		    strerrordesc_np(why));
	else if (s.at.file == NULL)
		tide_complain(r->complaints, at, "out of memory");
	else if (in_cycle(from, &st))
		tide_complain(r->complaints, at,
		    "%s includes itself, directly or through others", path);
	else if (s.depth > DEPTH_MAX)
		tide_complain(r->complaints, at,
		    "includes are nested too deep; at most %d", DEPTH_MAX);
	else {
		s.dev = st.st_dev;
		s.ino = st.st_ino;
		read_lines(r, &s, text, length);
	}
	free(text);
}
