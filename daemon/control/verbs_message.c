/*
 * verbs, message - a message as it is, for us to sign.
 *
 * Signatures are made under the hash key, which whoever asks does not have:
 * "message" lines, without an answer, say what to sign, and the request that
 * follows on the same connection is about it.  The bytes behind a line with
 * raw= go through the text pipeline as they come; only the headers are held,
 * since whom the message was for must be known before its text.
 *
 * Signatures are shown by names that say nothing about the key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../collector/collector.h"
#include "message.h"
#include "verbs.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

#define HEADERS_MOST (1u << 20) /* bytes that are held for them */

/* What this thread's connection has said so far. */
static _Thread_local struct {
	struct tide_signer *signer;
	struct tide_text *pipeline;
	char *headers; /* NULL: they are over */
	size_t length;
	bool failed;
} given;

void
forget_message(void)
{
	tide_signer_free(given.signer);
	tide_text_free(given.pipeline);
	free(given.headers);
	memset(&given, 0, sizeof given);
}

static void
begin_message(struct collector *c)
{
	char headers[sizeof c->config.text_headers];
	struct tide_text_caps caps;
	struct tide_text_sink sink;

	forget_message();
	(void)pthread_mutex_lock(&c->lock);
	caps = tide_text_caps(&c->config);
	memcpy(headers, c->config.text_headers, sizeof headers);
	(void)pthread_mutex_unlock(&c->lock);
	given.headers = malloc(HEADERS_MOST + 1);
	given.signer = tide_signer_new(&c->archive.key);
	if (given.signer != NULL) {
		sink = tide_signer_sink(given.signer);
		given.pipeline =
		    tide_text_new(&c->archive.key, &caps, headers, &sink);
	}
	given.failed = given.headers == NULL || given.pipeline == NULL;
}

/* ---- headers ----------------------------------------------------------- */

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

/* Whom it was for, as far as its headers say; then they are text like any. */
static void
end_headers(void)
{
	char *line = given.headers, *name, *value = NULL;

	if (line == NULL)
		return;
	line[given.length] = '\0';
	tide_text_message(given.pipeline, line, given.length);
	if (strncmp(line, "From ", 5) == 0)
		line += strcspn(line, "\n") + (strchr(line, '\n') != NULL);
	while (line != NULL) {
		line = take_header(line, &name, &value);
		if (name != NULL)
			tide_signer_header(given.signer, name, value);
	}
	free(given.headers);
	given.headers = NULL;
}

static bool
are_over(void)
{
	return given.length == HEADERS_MOST ||
	    memmem(given.headers, given.length, "\n\n", 2) != NULL ||
	    memmem(given.headers, given.length, "\n\r\n", 3) != NULL;
}

/* ---- bytes ------------------------------------------------------------- */

static void
take_bytes(const char *bytes, size_t n)
{
	size_t room;

	if (given.headers != NULL) {
		room = HEADERS_MOST - given.length;
		room = n < room ? n : room;
		memcpy(given.headers + given.length, bytes, room);
		given.length += room;
		bytes += room;
		n -= room;
		if (are_over())
			end_headers();
	}
	if (n > 0)
		tide_text_message(given.pipeline, bytes, n);
}

void
do_message(struct collector *c, int fd, const struct tide_line *line)
{
	static _Thread_local char bytes[CONTROL_RAW_MOST];
	const char *to = tide_line_get(line, "to");
	uint64_t n = tide_line_number(line, "raw", 0);

	(void)fd;
	if (tide_line_get(line, "begin") != NULL)
		begin_message(c);
	if (n > sizeof bytes || control_take(bytes, (size_t)n) < 0)
		given.failed = true;
	if (given.signer == NULL || given.failed)
		return;
	if (to != NULL)
		tide_signer_recipient(given.signer, to);
	take_bytes(bytes, (size_t)n);
}

int
message_signed(struct tide_signatures *s, struct tide_err *err)
{
	if (given.signer == NULL || given.failed) {
		forget_message();
		return tide_err_set(err, "no message has come whole");
	}
	end_headers();
	(void)tide_text_end(given.pipeline);
	tide_signer_end(given.signer, s);
	forget_message();
	return 0;
}

void
message_name(struct collector *c, struct tide_hash h, char name[MESSAGE_NAME])
{
	uint8_t seal[TIDE_SEAL_SIZE];
	unsigned i;

	tide_hash_key_seal(
	    &c->archive.key, "tidemark shown", &h, sizeof h, seal);
	for (i = 0; i < 16; i++)
		(void)snprintf(name + 2 * i, 3, "%02x", seal[i]);
}

/* ---- how many copies? -------------------------------------------------- */

static int
send_count(struct collector *c, int fd, const char *of, struct tide_hash h,
    struct tide_err *err)
{
	char name[MESSAGE_NAME];
	struct tide_bulk_count n;
	struct tide_line_out out;

	if (!tide_bulk_look(c->map->bulk, h, &n))
		return tide_err_set(err, "nothing is counted yet");
	message_name(c, h, name);
	tide_line_start(&out, "count");
	tide_line_add(&out, "of", of);
	tide_line_add(&out, "name", name);
	tide_line_add_number(&out, "own", n.own);
	tide_line_add_number(&out, "neighbours", n.neighbours);
	tide_line_add_number(&out, "more", n.more);
	tide_line_add_number(&out, "most", n.most);
	tide_line_add_number(&out, "since_ms", n.since_ms);
	(void)tide_line_send(&out, fd);
	return 0;
}

void
do_bulk_test(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_signatures s;
	struct tide_err err;
	size_t i;
	int rc = message_signed(&s, &err);

	(void)line;
	if (rc == 0 && s.has_text)
		rc = send_count(c, fd, "text", s.text, &err);
	for (i = 0; rc == 0 && !s.has_text && i < s.files; i++)
		rc = send_count(c, fd, "attachment", s.file[i], &err);
	if (rc == 0)
		say_ok(fd);
	else
		say_err(fd, err.text);
}
