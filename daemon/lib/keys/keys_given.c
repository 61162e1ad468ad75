/*
 * keys given - what people type: the key that it means.
 */
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/address.h"
#include "tidemark/keys/keys.h"

bool
tide_key_is_cut(const char *text, size_t length)
{
	size_t i;

	/* no character was cut in two: up to 3 bytes less */
	if (length > TIDE_KEY_MAX || length + 3 < TIDE_KEY_MAX ||
	    text[length - TIDE_KEY_TAIL] != '~')
		return false;
	for (i = length - TIDE_KEY_TAIL + 1; i < length; i++)
		if (memchr("0123456789abcdef", text[i], 16) == NULL)
			return false;
	return true;
}

/* A key as in the log that no rule would leave as it is. */
static bool
is_copied(const char *text)
{
	return tide_key_is_cut(text, strlen(text)) ||
	    strchr(text, '|') != NULL || strncmp(text, "auth:", 5) == 0 ||
	    strcmp(text, "<>") == 0 || strcmp(text, "local") == 0;
}

static int
is_nobodys(const char *text, struct tide_err *err)
{
	return tide_err_set(err,
	    "«%.100s» is no address, no @domain, no client and no "
	    "network, nor a key as in the log",
	    text);
}

int
tide_key_given(const struct tide_keys *keys, const char *text,
    struct tide_key *key, struct tide_err *err)
{
	struct tide_err why;
	struct tide_net net;

	if (is_copied(text)) {
		tide_key_text(keys, text, key);
	} else if (text[0] == '@' && text[1] != '\0') {
		tide_key_domain(keys, text, key);
	} else if (strchr(text, '@') != NULL && strlen(text) > 1) {
		tide_key_address(keys, text, key);
	} else if (tide_net_parse(text, &net, &why) == 0) {
		tide_key_net(&net, key);
	} else if (strpbrk(text, "/:") != NULL) {
		*err = why;
		return -1;
	} else {
		return is_nobodys(text, err);
	}
	return 0;
}

/* ---- keys that somebody may have --------------------------------------- */

/* Behind the bar stands a network as wide as those that senders have. */
static int
check_network(const struct tide_keys *keys, const char *bar, const char *text,
    struct tide_err *err)
{
	const struct tide_key_rules *r = keys->rules;
	struct tide_net net;
	unsigned wide;
	bool v4;

	if (strcmp(bar + 1, "local") == 0)
		return 0;
	if (tide_net_parse(bar + 1, &net, err) < 0)
		return -1;
	v4 = tide_ip_is_v4(&net.ip);
	wide = v4 ? r->sender_ipv4 + 96 : r->sender_ipv6;
	if (net.bits != wide)
		return tide_err_set(err,
		    "«%.100s» would meet nobody: behind | stands a /%u", text,
		    (unsigned)(v4 ? r->sender_ipv4 : r->sender_ipv6));
	return 0;
}

/* An address: the one in "News <ann@example.org>", too. */
static int
check_address(
    const char *text, char out[TIDE_ADDRESS_MAX], struct tide_err *err)
{
	struct tide_err why;
	bool domain;

	if (tide_address_typed(text, out, &domain, &why) == 0 && !domain)
		return 0;
	if (strchr(text, '*') != NULL)
		return tide_err_set(err,
		    "«%.100s»: a * stands for nothing here; %.100s is all of "
		    "the domain",
		    text, strchr(text, '@'));
	return is_nobodys(text, err);
}

/* As a list of buckets shows it: big-bounce-*@lists.example. */
static bool
is_shown_shared(const char *text)
{
	return strncmp(text, "*@", 2) != 0 && strpbrk(text, " <>\"") == NULL &&
	    tide_key_is_shared(text, strlen(text));
}

int
tide_key_wanted(const struct tide_keys *keys, const char *text,
    struct tide_key *key, struct tide_err *err)
{
	const char *bar = strrchr(text, '|');
	char address[TIDE_ADDRESS_MAX];

	if (tide_key_is_cut(text, strlen(text)) || strcmp(text, "<>") == 0 ||
	    (bar == NULL && is_shown_shared(text)))
		return tide_key_given(keys, text, key, err);
	if (strncmp(text, "auth:", 5) == 0) {
		if (text[5] == '\0')
			return tide_err_set(err, "auth: whom?");
	} else if (bar != NULL) {
		if (bar == text || text[0] == '@')
			return tide_err_set(err,
			    "«%.100s» would meet nobody: a whole address "
			    "stands in front of |",
			    text);
		if (check_network(keys, bar, text, err) < 0)
			return -1;
	} else if (strchr(text, '@') != NULL) {
		if (check_address(text, address, err) < 0)
			return -1;
		return tide_key_given(keys, address, key, err);
	}
	return tide_key_given(keys, text, key, err);
}
