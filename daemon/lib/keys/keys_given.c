/*
 * keys given - what people type: the key that it means.
 */
#include <string.h>

#include "tidemark/base/err.h"
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
		return tide_err_set(err,
		    "«%.100s» is no address, no @domain, no client and no "
		    "network, nor a key as in the log",
		    text);
	}
	return 0;
}
