/*
 * mask - keep enough to tell one from another, and no more.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "mask.h"
#include "tidemark/base/printable.h"

#define PIECE 256	  /* of a key, at most */
#define CHARACTER_MOST 4u /* bytes of UTF-8 */

struct out {
	char *at;
	size_t left; /* with the NUL */
};

static void
put(struct out *o, const char *s, size_t n)
{
	if (n >= o->left)
		n = o->left - 1;
	memcpy(o->at, s, n);
	o->at += n;
	o->left -= n;
	*o->at = '\0';
}

static void
puts_(struct out *o, const char *s)
{
	put(o, s, strlen(s));
}

/* Where the n-th such character ends what is kept; the whole if there is none.
 */
static size_t
upto(const char *s, char c, unsigned n)
{
	size_t i;

	for (i = 0; s[i] != '\0'; i++)
		if (s[i] == c && --n == 0)
			return i;
	return i;
}

/* 192.0.2.0/24, 2001:db8::1: its first half at most. */
static bool
put_network(struct out *o, const char *s)
{
	unsigned char bytes[16];
	char text[64] = "";
	size_t n = strcspn(s, "/");

	if (n >= sizeof text)
		return false;
	memcpy(text, s, n);
	if (inet_pton(AF_INET, text, bytes) == 1) {
		put(o, s, upto(s, '.', 2));
		puts_(o, ".*.*");
		return true;
	}
	if (inet_pton(AF_INET6, text, bytes) != 1)
		return false;
	put(o, text, upto(text, ':', 2));
	puts_(o, ":*");
	return true;
}

/* The length of the last character; a byte that ends none counts as one. */
static size_t
last_character(const char *s, size_t n)
{
	size_t i;

	for (i = 1; i <= n && i <= CHARACTER_MOST; i++)
		if (tide_printable_character(s + n - i, i) == i)
			return i;
	return 1;
}

/* Its first and last letters, if something is left between. */
static void
put_name(struct out *o, const char *s, size_t n)
{
	size_t first, last;

	if (n == 0) {
		puts_(o, "***");
		return;
	}
	first = tide_printable_stumble(s, n);
	last = last_character(s, n);
	if (first + last < n) {
		put(o, s, first);
		puts_(o, "***");
		put(o, s + n - last, last);
	} else {
		puts_(o, "***");
	}
}

/* One part of a key: between its bars. */
static void
put_part(struct out *o, const char *s)
{
	const char *at = strrchr(s, '@');

	bool domain = at == s && s[1] != '[';

	if (s[0] == '\0' || domain || strcmp(s, "<>") == 0 ||
	    strcmp(s, "local") == 0) {
		puts_(o, s);
	} else if (strncmp(s, "auth:", 5) == 0) {
		puts_(o, "auth:");
		put_part(o, s + 5);
	} else if (at != NULL) {
		put_name(o, s, (size_t)(at - s));
		puts_(o, at[1] == '[' ? "@[*]" : at);
	} else if (!put_network(o, s)) {
		put_name(o, s, strlen(s));
	}
}

const char *
mask_key(bool on, const char *key, char out[MASK_MAX])
{
	struct out o = { .at = out, .left = MASK_MAX };
	char part[PIECE];
	size_t n;

	out[0] = '\0';
	if (!on) {
		puts_(&o, key);
		return out;
	}
	for (; *key != '\0'; key += n) {
		if (*key == '|') {
			puts_(&o, "|");
			key++;
		}
		n = strcspn(key, "|");
		(void)snprintf(part, sizeof part, "%.*s", (int)n, key);
		put_part(&o, part);
	}
	return out;
}

static bool
may_be_address(const char *run)
{
	size_t marks = 0;

	for (; *run != '\0'; run++)
		marks += *run == '.' || *run == ':';
	return marks >= 2;
}

/*
 * Rather one too many: what is made of the characters of an IP address, a port
 * behind it and a full stop included, is taken for one, also as a part of a
 * word (relay=192.0.2.7, ip:192.0.2.7).
 */
static void
put_word(struct out *o, const char *word)
{
	static const char digits[] = "0123456789abcdefABCDEF.:/";
	char run[PIECE], masked[MASK_MAX];
	size_t n;

	if (strchr(word, '@') != NULL) {
		puts_(o, mask_key(true, word, masked));
		return;
	}
	while (*word != '\0') {
		n = strcspn(word, digits);
		n += word[n] == ':' && word[n + 1] != ':';
		put(o, word, n);
		word += n;
		n = strspn(word, digits);
		(void)snprintf(run, sizeof run, "%.*s", (int)n, word);
		puts_(
		    o, may_be_address(run) ? mask_key(true, run, masked) : run);
		word += n;
	}
}

const char *
mask_words(bool on, const char *text, char out[MASK_MAX])
{
	static const char around[] = " \t,;=()[]<>\"'"; /* IPv6 has colons */
	struct out o = { .at = out, .left = MASK_MAX };
	char word[PIECE];
	size_t n;

	out[0] = '\0';
	for (; *text != '\0'; text += n) {
		n = strspn(text, around);
		put(&o, text, n);
		text += n;
		n = strcspn(text, around);
		(void)snprintf(word, sizeof word, "%.*s", (int)n, text);
		if (on)
			put_word(&o, word);
		else
			put(&o, text, n);
	}
	return out;
}
