/*
 * headers - rules and headers.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "headers.h"

static bool
rule_matches(
    const char *rule, size_t length, const char *name, const char *value)
{
	const char *colon = memchr(rule, ':', length);
	size_t n;

	if (colon == NULL)
		return false;
	n = (size_t)(colon - rule);
	return strlen(name) == n && strncasecmp(rule, name, n) == 0 &&
	    strncasecmp(colon + 1, value, length - n - 1) == 0;
}

bool
header_matches(const char *rules, const char *name, const char *value)
{
	size_t n;

	value += strspn(value, " \t\r\n"); /* also a folded beginning */
	for (rules += strspn(rules, " "); *rules != '\0';
	     rules += n, rules += strspn(rules, " ")) {
		n = strcspn(rules, " ");
		if (rule_matches(rules, n, name, value))
			return true;
	}
	return false;
}

/* A word ends where neither a letter nor a digit goes on. */
static bool
ends_word(char c)
{
	return !isalnum((unsigned char)c);
}

bool
header_has_mark(const char *mark, const char *value)
{
	const char *at = value;
	size_t n = strlen(mark);

	if (n == 0)
		return false;
	for (at = strstr(at, mark); at != NULL; at = strstr(at + 1, mark))
		if ((at == value || ends_word(at[-1])) && ends_word(at[n]))
			return true;
	return false;
}
