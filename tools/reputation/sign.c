/*
 * sign - a message read, and signed as the daemon signs it on its way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "../read/view.h"
#include "sign.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

#define MESSAGE_MOST (256u << 20) /* bytes; the rest is not read */

/* All of it, with a NUL behind; NULL with errno. */
static char *
slurp(FILE *f, size_t *length)
{
	char chunk[65536], *bytes = NULL;
	FILE *to = open_memstream(&bytes, length);
	size_t n, total = 0;
	bool good = to != NULL;

	while (good && total < MESSAGE_MOST &&
	    (n = fread(chunk, 1, sizeof chunk, f)) > 0) {
		good = fwrite(chunk, 1, n, to) == n;
		total += n;
	}
	if (to != NULL)
		good &= fclose(to) == 0;
	if (good && ferror(f) == 0)
		return bytes;
	free(bytes);
	return NULL;
}

static char *
read_message(const char *path, size_t *length)
{
	bool standard = path == NULL || strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	char *bytes = f != NULL ? slurp(f, length) : NULL;

	if (bytes == NULL)
		complain("%s: %s", standard ? "standard input" : path,
		    strerror(errno));
	if (f != NULL && !standard)
		(void)fclose(f);
	return bytes;
}

/* One header, folded or not; where the next begins, NULL after the last. */
static char *
take_header(char *line, char **name, char **value)
{
	char *end = line, *colon;

	do
		end += strcspn(end, "\n") + 1;
	while (end[-1] != '\0' && (*end == ' ' || *end == '\t'));
	*name = NULL;
	if (end[-1] == '\0' || line[0] == '\n' || line[0] == '\r')
		return NULL;
	end[-1] = '\0';
	colon = strchr(line, ':');
	if (colon != NULL) {
		*colon = '\0';
		*name = line;
		*value = colon + 1;
	}
	return end;
}

/* Whom it was for, as far as its headers say. */
static int
give_recipients(struct tide_signer *signer, const char *bytes)
{
	char *copy = strdup(bytes), *line = copy, *name, *value = NULL;

	if (copy == NULL)
		return -1;
	if (strncmp(line, "From ", 5) == 0)
		line += strcspn(line, "\n") + (strchr(line, '\n') != NULL);
	while (line != NULL) {
		line = take_header(line, &name, &value);
		if (name != NULL)
			tide_signer_header(signer, name, value);
	}
	free(copy);
	return 0;
}

/* Signed as the daemon does it: its key, its caps. */
static int
sign(const struct view *v, const char *bytes, size_t length,
    const char *const *to, size_t recipients, struct tide_signatures *s)
{
	const struct tide_hash_key *key = v->map->key;
	struct tide_text_caps caps = tide_text_caps(&v->config);
	struct tide_signer *signer = tide_signer_new(key);
	struct tide_text *pipeline = NULL;
	struct tide_text_sink sink;
	size_t i;

	if (signer != NULL) {
		sink = tide_signer_sink(signer);
		pipeline =
		    tide_text_new(key, &caps, v->config.text_headers, &sink);
	}
	if (pipeline == NULL || give_recipients(signer, bytes) < 0) {
		complain("no memory for the message");
		tide_signer_free(signer);
		tide_text_free(pipeline);
		return -1;
	}
	for (i = 0; i < recipients; i++)
		tide_signer_recipient(signer, to[i]);
	tide_text_message(pipeline, bytes, length);
	(void)tide_text_end(pipeline);
	tide_signer_end(signer, s);
	tide_text_free(pipeline);
	tide_signer_free(signer);
	return 0;
}

int
sign_message(const struct view *v, const char *path, const char *const *to,
    size_t recipients, struct tide_signatures *s)
{
	size_t length = 0;
	char *bytes = read_message(path, &length);
	int rc = bytes != NULL ? sign(v, bytes, length, to, recipients, s) : -1;

	free(bytes);
	return rc;
}
