/*
 * line - words and pairs on a socket.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/line.h"

/* ---- reading ----------------------------------------------------------- */

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Decode in place; false at a bad escape. */
static bool
decode(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (*s != '%') {
			*to++ = *s++;
			continue;
		}
		if (hex(s[1]) < 0 || hex(s[2]) < 0)
			return false;
		*to = (char)(hex(s[1]) * 16 + hex(s[2]));
		if (*to == '\0')
			return false;
		to++;
		s += 3;
	}
	*to = '\0';
	return true;
}

static bool
add_pair(struct tide_line *l, char *item)
{
	char *equals = strchr(item, '=');

	if (equals == NULL || equals == item || l->pairs == TIDE_LINE_PAIRS)
		return false;
	*equals = '\0';
	if (!decode(equals + 1))
		return false;
	l->pair[l->pairs].key = item;
	l->pair[l->pairs].value = equals + 1;
	l->pairs++;
	return true;
}

bool
tide_line_parse(struct tide_line *l, const char *text)
{
	char *item, *save = NULL;

	l->pairs = 0;
	if (strlen(text) >= sizeof l->text)
		return false;
	(void)snprintf(l->text, sizeof l->text, "%s", text);
	l->word = strtok_r(l->text, " \r", &save);
	if (l->word == NULL)
		return false;
	while ((item = strtok_r(NULL, " \r", &save)) != NULL)
		if (!add_pair(l, item))
			return false;
	return true;
}

const char *
tide_line_get(const struct tide_line *l, const char *key)
{
	unsigned i;

	for (i = 0; i < l->pairs; i++)
		if (strcmp(l->pair[i].key, key) == 0)
			return l->pair[i].value;
	return NULL;
}

uint64_t
tide_line_number(const struct tide_line *l, const char *key, uint64_t fallback)
{
	const char *value = tide_line_get(l, key);
	unsigned long long n;
	char *end;

	if (value == NULL || !isdigit((unsigned char)value[0]))
		return fallback;
	errno = 0;
	n = strtoull(value, &end, 10);
	return *end == '\0' && errno == 0 ? n : fallback;
}

double
tide_line_real(const struct tide_line *l, const char *key)
{
	const char *value = tide_line_get(l, key);

	return value == NULL ? 0 : strtod(value, NULL);
}

int
tide_line_read(struct tide_line_in *in, struct tide_line *l)
{
	char *newline;
	ssize_t n;

	for (;;) {
		newline = memchr(in->buf + in->at, '\n', in->have - in->at);
		if (newline != NULL) {
			*newline = '\0';
			n = tide_line_parse(l, in->buf + in->at) ? 1 : -1;
			in->at = (size_t)(newline + 1 - in->buf);
			return (int)n;
		}
		memmove(in->buf, in->buf + in->at, in->have - in->at);
		in->have -= in->at;
		in->at = 0;
		if (in->have == sizeof in->buf)
			return -1; /* a line without an end */
		n = read(in->fd, in->buf + in->have, sizeof in->buf - in->have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && in->have == 0 ? 0 : -1;
		in->have += (size_t)n;
	}
}

/* ---- writing ----------------------------------------------------------- */

void
tide_line_start(struct tide_line_out *o, const char *word)
{
	o->length = (size_t)snprintf(o->text, sizeof o->text, "%s", word);
}

static size_t
encode(char *to, size_t room, const char *from)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	for (; *from != '\0' && n + 3 < room; from++) {
		unsigned char c = (unsigned char)*from;

		if (c > ' ' && c != '%' && c != 0x7f) {
			to[n++] = (char)c;
			continue;
		}
		to[n++] = '%';
		to[n++] = digits[c >> 4];
		to[n++] = digits[c & 15];
	}
	return n;
}

void
tide_line_add(struct tide_line_out *o, const char *key, const char *value)
{
	size_t room = sizeof o->text - 2 - o->length;
	size_t need = strlen(key) + 2;

	if (need >= room)
		return;
	o->length += (size_t)snprintf(o->text + o->length, room, " %s=", key);
	o->length += encode(o->text + o->length, room - need, value);
	o->text[o->length] = '\0';
}

void
tide_line_add_number(struct tide_line_out *o, const char *key, uint64_t n)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	tide_line_add(o, key, text);
}

void
tide_line_add_real(struct tide_line_out *o, const char *key, double x)
{
	char text[40];

	(void)snprintf(text, sizeof text, "%.17g", x);
	tide_line_add(o, key, text);
}

int
tide_line_send(struct tide_line_out *o, int fd)
{
	o->text[o->length++] = '\n';
	return tide_line_send_bytes(fd, o->text, o->length);
}

int
tide_line_send_bytes(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	ssize_t n;

	while (size > 0) {
		n = send(fd, at, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int
tide_line_read_bytes(int fd, void *to, size_t size)
{
	char *at = to;
	ssize_t n;

	while (size > 0) {
		n = read(fd, at, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int
tide_line_connect(const char *runtime_dir, struct tide_err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char path[TIDE_PATH_MAX + 16];
	int fd;

	(void)snprintf(path, sizeof path, "%s/control.sock", runtime_dir);
	if (strlen(path) >= sizeof at.sun_path)
		return tide_err_set(err, "%s: is too long a path", path);
	memcpy(at.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
		(void)tide_err_errno(err, "%s", path);
		(void)close(fd);
		return -1;
	}
	return fd;
}
