/*
 * headers - rules and headers.
 */
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
