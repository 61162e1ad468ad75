/*
 * subject - parse, match.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/keys/subject.h"

#define CLIENT_IPV6 64 /* the prefix at which clients are shown */

static void
add_key(struct tide_subject *s, const struct tide_key *key)
{
	unsigned i;

	for (i = 0; i < s->keys; i++)
		if (tide_key_equal(&s->key[i], key))
			return;
	if (key->length > 0 && s->keys < TIDE_SUBJECT_KEYS)
		s->key[s->keys++] = *key;
}

static bool
is_nobody(const char *text)
{
	return strcmp(text, "<>") == 0 || strcmp(text, "local") == 0;
}

/* One client, or all of a network; never everybody. */
static int
name_network(struct tide_subject *s, const char *text, struct tide_err *err)
{
	struct tide_key key;

	if (tide_net_parse(text, &s->net, err) < 0)
		return -1;
	if (s->net.bits == (tide_ip_is_v4(&s->net.ip) ? 96 : 0))
		return tide_err_set(err, "%s is everybody", text);
	s->kind = TIDE_SUBJECT_NETWORK;
	if (s->net.bits == 128) {
		tide_key_client(&s->net.ip, CLIENT_IPV6, &key);
		add_key(s, &key);
	}
	return 0;
}

int
tide_subject_parse(struct tide_subject *s, const struct tide_keys *keys,
    const char *text, struct tide_err *err)
{
	struct tide_key key;

	memset(s, 0, sizeof *s);
	if (tide_key_given(keys, text, &key, err) < 0)
		return -1;
	if (is_nobody(key.text))
		return tide_err_set(
		    err, "%s is nobody in particular", key.text);
	add_key(s, &key);
	if (strchr(text, '|') != NULL || strncmp(text, "auth:", 5) == 0 ||
	    tide_key_is_cut(text, strlen(text)))
		return 0;
	if (text[0] == '@') {
		s->kind = TIDE_SUBJECT_DOMAIN;
	} else if (strchr(text, '@') != NULL) {
		s->kind = TIDE_SUBJECT_ADDRESS;
		tide_key_user(keys, key.text, &key); /* who logs in by it */
		add_key(s, &key);
	} else {
		return name_network(s, text, err);
	}
	return 0;
}

/* ---- matching ---------------------------------------------------------- */

/* "ann@x|network" and "auth:ann@x" are about ann@x. */
static struct tide_bytes
address_in(const char *key, size_t length)
{
	const char *bar = memchr(key, '|', length);

	if (bar != NULL)
		length = (size_t)(bar - key);
	if (length > 5 && memcmp(key, "auth:", 5) == 0)
		return tide_bytes(key + 5, length - 5);
	return tide_bytes(key, length);
}

static bool
is_address(const struct tide_subject *s, struct tide_bytes a)
{
	return a.size == s->key[0].length &&
	    memcmp(a.data, s->key[0].text, a.size) == 0;
}

/* The key of a domain begins with its @. */
static bool
is_in_domain(const struct tide_subject *s, struct tide_bytes a)
{
	size_t n = s->key[0].length;

	return a.size >= n &&
	    strncasecmp((const char *)a.data + a.size - n, s->key[0].text, n) ==
	    0;
}

static bool
is_within(const struct tide_subject *s, const char *key, size_t length)
{
	char text[TIDE_KEY_MAX + 1];
	struct tide_net net;
	struct tide_err err;

	if (length > TIDE_KEY_MAX || memchr(key, '@', length) != NULL)
		return false;
	memcpy(text, key, length);
	text[length] = '\0';
	return tide_net_parse(text, &net, &err) == 0 &&
	    net.bits >= s->net.bits && tide_net_contains(&s->net, &net.ip);
}

bool
tide_subject_may_mean(
    const struct tide_subject *s, const char *key, size_t length)
{
	size_t n = length - TIDE_KEY_TAIL;

	return s->kind == TIDE_SUBJECT_ADDRESS &&
	    tide_key_is_cut(key, length) && s->key[0].length >= n &&
	    memcmp(s->key[0].text, key, n) == 0 &&
	    !tide_subject_means(s, key, length);
}

/*
 * What the texts of all within begin with: numbers that the prefix covers
 * whole, of IPv6 up to the first 0, which may be written as ::.
 */
void
tide_subject_begins(const struct tide_subject *s, struct tide_key *text)
{
	const bool v4 = tide_ip_is_v4(&s->net.ip);
	const uint8_t *b = s->net.ip.byte;
	unsigned n = v4 ? 12 : 0, step = v4 ? 1 : 2, part;
	int used = 0;

	memset(text, 0, sizeof *text);
	for (; n + step <= s->net.bits / 8u && n < 16; n += step) {
		part = v4 ? b[n] : (unsigned)(b[n] << 8 | b[n + 1]);
		if (!v4 && part == 0)
			break;
		used += snprintf(text->text + used,
		    sizeof text->text - (size_t)used, v4 ? "%u." : "%x:", part);
	}
	text->length = (uint8_t)used;
}

bool
tide_subject_means(const struct tide_subject *s, const char *key, size_t length)
{
	unsigned i;

	for (i = 0; i < s->keys; i++)
		if (s->key[i].length == length &&
		    memcmp(s->key[i].text, key, length) == 0)
			return true;
	switch (s->kind) {
	case TIDE_SUBJECT_ADDRESS:
		return is_address(s, address_in(key, length));
	case TIDE_SUBJECT_DOMAIN:
		return is_in_domain(s, address_in(key, length));
	case TIDE_SUBJECT_NETWORK:
		return is_within(s, key, length);
	case TIDE_SUBJECT_KEY:
		break;
	}
	return false;
}
