/*
 * address - the bare addresses of a To or From header.
 */
#include <ctype.h>
#include <string.h>

#include "mailbox.h"

static const char *
skip_comment(const char *p)
{
	int depth = 0;

	do {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '(')
			depth++;
		else if (*p == ')')
			depth--;
		p++;
	} while (*p && depth > 0);
	return p;
}

static const char *
skip_quoted(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* Copy [from, to) if it looks like an address that we can use. */
static bool
keep(const char *from, const char *to, char *addr, size_t size)
{
	const size_t len = (size_t)(to - from);
	const char *at = memchr(from, '@', len);

	if (!at || at == from || at + 1 == to || len >= size)
		return false;
	for (const char *p = from; p < to; p++)
		if (isspace((unsigned char)*p) || strchr(",<>\"()", *p))
			return false;
	memcpy(addr, from, len);
	addr[len] = '\0';
	return true;
}

/* Past the word that begins at p: up to a blank or a separator. */
static const char *
word_end(const char *p)
{
	return p + strcspn(p, " \t\r\n,;:<>\"(");
}

bool
mail_next_address(const char **at, char *addr, size_t size)
{
	const char *p = *at, *end;
	bool found = false;

	while (*p && !found) {
		if (*p == '(') {
			p = skip_comment(p);
		} else if (*p == '"') {
			p = skip_quoted(p);
		} else if (*p == '<') {
			end = p + strcspn(p, ">");
			found = keep(p + 1, end, addr, size);
			p = *end ? end + 1 : end;
		} else {
			end = word_end(p);
			found = end > p && keep(p, end, addr, size);
			p = end > p ? end : p + 1;
		}
	}
	*at = p;
	return found;
}
