/*
 * sign - read, normalise, sign: the daemon's key, caps and order.
 */
#include <stdio.h>

#include "output.h"
#include "sign.h"
#include "tidemark/text.h"

static bool
feed(struct tide_text *pipeline)
{
	char bytes[65536];
	size_t n;

	while ((n = fread(bytes, 1, sizeof bytes, stdin)) > 0)
		tide_text_message(pipeline, bytes, n);
	if (ferror(stdin) == 0)
		return true;
	complain("the message cannot be read");
	return false;
}

static bool
sign(const struct view *v, struct tide_signer *signer)
{
	const struct tide_text_sink sink = tide_signer_sink(signer);
	struct tide_text_caps caps = tide_text_caps(&v->config);
	struct tide_text *pipeline = tide_text_new(
	    &v->map->control->head.key, &caps, v->config.text_headers, &sink);
	bool good;

	if (pipeline == NULL) {
		complain("no memory for the text");
		return false;
	}
	good = feed(pipeline);
	(void)tide_text_end(pipeline);
	tide_text_free(pipeline);
	return good;
}

bool
sign_message(const struct view *v, char *const *to, size_t recipients,
    struct tide_signatures *signatures)
{
	struct tide_signer *signer =
	    tide_signer_new(&v->map->control->head.key);
	bool good;
	size_t i;

	if (signer == NULL) {
		complain("no memory for the text");
		return false;
	}
	tide_signer_begin(signer);
	for (i = 0; i < recipients; i++)
		tide_signer_recipient(signer, to[i]);
	good = sign(v, signer);
	tide_signer_end(signer, signatures);
	tide_signer_free(signer);
	return good;
}

const char *
sign_show(struct tide_hash h, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%016llx", (unsigned long long)h.low);
	return buf;
}
