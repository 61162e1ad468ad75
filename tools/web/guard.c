/*
 * guard - names of loopback, and the same origin.
 */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "guard.h"

/* ":" and digits, or nothing. */
static bool
is_port(const char *s)
{
	return *s == '\0' ||
	    (s[0] == ':' && s[1] != '\0' && strlen(s + 1) <= 5 &&
		strspn(s + 1, "0123456789") == strlen(s + 1));
}

static bool
is_loopback4(const char *s, size_t n)
{
	char text[INET_ADDRSTRLEN] = "";
	struct in_addr a;

	if (n >= sizeof text)
		return false;
	memcpy(text, s, n);
	return inet_pton(AF_INET, text, &a) == 1 &&
	    ntohl(a.s_addr) >> 24 == 127;
}

bool
guard_host(const char *host)
{
	size_t n;

	if (host == NULL)
		return false;
	if (strncmp(host, "[::1]", 5) == 0)
		return is_port(host + 5);
	n = strcspn(host, ":");
	if (!is_port(host + n))
		return false;
	return (n == 9 && strncasecmp(host, "localhost", 9) == 0) ||
	    is_loopback4(host, n);
}

/* http://HOST or, behind a proxy, https://HOST */
static bool
is_origin_of(const char *origin, const char *host)
{
	size_t n = strncasecmp(origin, "http://", 7) == 0 ? 7
	    : strncasecmp(origin, "https://", 8) == 0	  ? 8
							  : 0;

	return n > 0 && strcasecmp(origin + n, host) == 0;
}

bool
guard_post(const char *host, const char *origin, const char *fetch_site)
{
	if (fetch_site != NULL && strcmp(fetch_site, "same-origin") != 0)
		return false;
	/* a form of a page without referrers has the origin "null" */
	if (origin == NULL ||
	    (fetch_site != NULL && strcmp(origin, "null") == 0))
		return true;
	return host != NULL && is_origin_of(origin, host);
}
