/*
 * What a browser, or somebody who plays one, sends: any bytes are a form or
 * refused, are our host or not; any key can be masked.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../tools/web/form.h"
#include "../../tools/web/guard.h"
#include "../../tools/web/mask.h"
#include "tidemark/base/err.h"
#include "tidemark/base/listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Values lie in the body and hold no control characters. */
static void
try_form(const uint8_t *data, size_t n)
{
	struct form_field f[] = { { "text", NULL }, { "from", NULL } };
	char *body = malloc(n + 1);
	size_t i;

	memcpy(body, data, n);
	if (form_parse(body, n, f, 2))
		for (i = 0; i < 2; i++) {
			const char *v = f[i].value;
			size_t length = strlen(v);

			assert(length == 0 ||
			    (v > body && v + length <= body + n));
			for (; *v != '\0'; v++)
				assert((unsigned char)*v >= ' ' ||
				    strchr("\t\r\n", *v) != NULL);
		}
	free(body);
}

static void
try_guard(const char *text)
{
	const char *rest = strchr(text, '\n');
	char host[64] = "";

	if (guard_host(text))
		assert(strncasecmp(text, "localhost", 9) == 0 ||
		    strncmp(text, "127.", 4) == 0 ||
		    strncmp(text, "[::1]", 5) == 0);
	if (rest == NULL || (size_t)(rest - text) >= sizeof host)
		return;
	memcpy(host, text, (size_t)(rest - text));
	rest++;
	/* an origin that is taken ends with our own name */
	if (guard_post(host, rest, NULL))
		assert(strlen(rest) ==
			strlen(host) +
			    (strncasecmp(rest, "https", 5) == 0 ? 8 : 7) &&
		    strcasecmp(rest + strlen(rest) - strlen(host), host) == 0);
	(void)guard_post(host, rest, rest);
}

/* A local part of some length is not to be read any more. */
static void
try_mask(const char *text)
{
	char out[MASK_MAX], words[MASK_MAX];
	size_t n = strcspn(text, "@|");

	(void)mask_words(true, text, words);
	(void)mask_key(true, text, out);
	assert(strlen(out) < sizeof out && strlen(words) < sizeof words);
	if (n >= 12 && n < 100 && strncmp(text, "auth:", 5) != 0)
		assert(strncmp(out, text, n) != 0);
}

static void
try_place(const char *text)
{
	struct tide_web_place place;
	struct tide_err err;

	if (tide_web_place(text, &place, &err) == 0)
		assert(place.path[0] == '/' || place.at.ss_family != 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = '\0';
	try_form(data, n);
	try_guard(text);
	try_mask(text);
	try_place(text);
	free(text);
	return 0;
}
