/*
 * setup, text - files as text.  See text.h.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "text.h"

void *
setup_grow(void *old, size_t count, size_t size)
{
	void *new = reallocarray(old, count, size);

	if (new == NULL) {
		complain("no memory");
		exit(TOOL_ERROR);
	}
	return new;
}

char *
setup_copy(const char *s, size_t n)
{
	char *copy = setup_grow(NULL, n + 1, 1);
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		if (s[i] != '\0')
			copy[k++] = s[i];
	copy[k] = '\0';
	return copy;
}

char *
setup_format(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		complain("no memory");
		exit(TOOL_ERROR);
	}
	return text;
}

char *
setup_read(const char *path, size_t *length)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (f == NULL)
		return NULL;
	text = setup_grow(NULL, SETUP_FILE_MAX + 1, 1);
	n = fread(text, 1, SETUP_FILE_MAX, f);
	if (ferror(f)) {
		int saved = errno;

		free(text);
		(void)fclose(f);
		errno = saved;
		return NULL;
	}
	(void)fclose(f);
	text[n] = '\0';
	if (n == SETUP_FILE_MAX || memchr(text, '\0', n) != NULL) {
		free(text);
		errno = n == SETUP_FILE_MAX ? EFBIG : EILSEQ;
		return NULL;
	}
	if (length != NULL)
		*length = n;
	return setup_grow(text, n + 1, 1);
}

unsigned
setup_line_at(const char *text, const char *place)
{
	unsigned line = 1;

	for (; text < place; text++)
		line += *text == '\n';
	return line;
}

char *
setup_closing(char *s)
{
	unsigned deep = 0;

	for (; *s != '\0'; s++) {
		deep += *s == '{';
		deep -= *s == '}';
		if (deep == 0)
			return s;
	}
	return NULL;
}

char *
setup_trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
		;
	s[n] = '\0';
	return s;
}

char *
setup_field(char **rest, const char *ends)
{
	char *field = *rest;
	size_t n;

	if (field == NULL)
		return NULL;
	n = strcspn(field, ends);
	*rest = field[n] != '\0' ? field + n + 1 : NULL;
	field[n] = '\0';
	return setup_trim(field);
}

bool
setup_listed(const char *list, const char *ends, const char *word)
{
	size_t n, length = strlen(word);

	while (*list != '\0') {
		list += strspn(list, ends);
		n = strcspn(list, ends);
		if (n == length && n > 0 && strncmp(list, word, n) == 0)
			return true;
		list += n;
	}
	return false;
}
