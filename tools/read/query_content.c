/*
 * query_content - what is asked for, normalised as mail was, and said part by
 * part: to the daemon over its socket, or to a recollection of our own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "output.h"
#include "query.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

#define PIECE 4096u /* of text, in one line */

/* ---- saying ------------------------------------------------------------ */

struct speech {
	struct telling *t;
	bool failed; /* and why is said */
	/* where text goes that is not for the question: a guess */
	char *kept;
	size_t kept_length;
};

static void
failed(struct speech *s, const struct tide_err *err)
{
	if (!s->failed && err != NULL)
		complain("%s", err->text);
	s->failed = true;
}

/* One line to the daemon, which answers only the last one. */
static void
say(struct speech *s, const char *key, const char *value)
{
	struct tide_line_out line;

	if (s->failed)
		return;
	tide_line_start(&line, "content");
	tide_line_add(&line, key, value);
	if (ask_say(s->t->ask, &line) == ANSWER_BROKEN)
		failed(s, NULL);
}

static void
say_kind(struct speech *s, enum tide_recall_kind kind)
{
	static const char *const names[] = { [TIDE_RECALL_EXCERPT] = "excerpt",
		[TIDE_RECALL_MESSAGE] = "message",
		[TIDE_RECALL_FILE] = "file" };

	if (s->t->ask != NULL) {
		say(s, "kind", names[kind]);
		return;
	}
	s->t->recall = tide_recall_new(s->t->key, kind);
	if (s->t->recall == NULL) {
		complain("no memory left for the question");
		s->failed = true;
	}
}

static void
say_part(struct speech *s)
{
	struct tide_err err;

	if (s->t->ask != NULL)
		say(s, "part", "1");
	else if (!s->failed && tide_recall_part(s->t->recall, &err) < 0)
		failed(s, &err);
}

static void
say_text(struct speech *s, const char *key, const char *text, size_t length)
{
	char piece[PIECE + 1];
	struct tide_err err;
	size_t n;

	if (s->t->ask == NULL) {
		if (!s->failed &&
		    tide_recall_text(s->t->recall, text, length, &err) < 0)
			failed(s, &err);
		return;
	}
	for (; length > 0 && !s->failed; text += n, length -= n) {
		n = length < PIECE ? length : PIECE;
		memcpy(piece, text, n);
		piece[n] = '\0';
		say(s, key, piece);
	}
}

static void
say_guess(struct speech *s, const char *text, size_t length)
{
	struct tide_err err;

	if (s->t->ask != NULL && length > PIECE) {
		complain(
		    "a candidate is longer than %u letters and digits", PIECE);
		s->failed = true;
	} else if (s->t->ask != NULL) {
		say_text(s, "guess", text, length);
	} else if (!s->failed &&
	    tide_recall_guess(s->t->recall, text, length, &err) < 0) {
		failed(s, &err);
	}
}

static void
say_file(struct speech *s, struct tide_hash digest)
{
	struct tide_err err;

	if (!s->failed && tide_recall_file(s->t->recall, digest, &err) < 0)
		failed(s, &err);
}

/* As it is: the daemon has the key that digests are made with. */
static void
say_raw(void *arg, const void *bytes, size_t length)
{
	struct speech *s = arg;
	struct tide_line_out line;

	if (s->failed)
		return;
	tide_line_start(&line, "content");
	tide_line_add_number(&line, "raw", length);
	if (ask_say(s->t->ask, &line) == ANSWER_BROKEN)
		failed(s, NULL);
	else if (tide_line_send_bytes(s->t->ask->in.fd, bytes, length) < 0)
		failed(s,
		    &(struct tide_err){
			"the daemon does not take the question" });
}

/* ---- behind the pipeline ----------------------------------------------- */

static void
on_begin(void *arg, const struct tide_part *part)
{
	(void)part;
	say_part(arg);
}

static void
on_text(void *arg, const char *text, size_t length)
{
	say_text(arg, "text", text, length);
}

/* While its text is open: kept until that is over. */
static void
on_link(
    void *arg, const struct tide_part *part, const char *text, size_t length)
{
	struct speech *s = arg;
	char *more = realloc(s->kept, s->kept_length + length + 1);

	(void)part;
	if (more == NULL) {
		complain("no memory left for the question");
		s->failed = true;
		return;
	}
	memcpy(more + s->kept_length, text, length);
	more[s->kept_length + length] = '\0';
	s->kept = more;
	s->kept_length += length + 1;
}

static void
on_end(void *arg, const struct tide_part *part)
{
	struct speech *s = arg;
	const char *link;

	(void)part;
	for (link = s->kept; link != NULL && link < s->kept + s->kept_length;
	     link += strlen(link) + 1) {
		say_part(s);
		say_text(s, "text", link, strlen(link));
	}
	s->kept_length = 0;
}

static void
on_file(void *arg, const struct tide_part *part, struct tide_hash digest,
    uint64_t bytes)
{
	struct speech *s = arg;

	(void)part;
	if (s->t->key != NULL && bytes > 0)
		say_file(s, digest);
}

/* A candidate is put together before it is said. */
static void
on_guess(void *arg, const char *text, size_t length)
{
	on_link(arg, NULL, text, length);
	((struct speech *)arg)->kept_length--; /* one after the other */
}

static struct tide_text *
pipeline(struct speech *s, bool for_guesses)
{
	static const struct tide_hash_key none;
	const struct tide_text_sink sink = { s, on_begin, on_text, on_end,
		on_link, on_file };
	const struct tide_text_sink guesses = { .arg = s, .text = on_guess };
	struct tide_text_caps caps = tide_text_caps(s->t->config);
	struct tide_text *t =
	    tide_text_new(s->t->key != NULL ? s->t->key : &none, &caps,
		s->t->config->text_headers, for_guesses ? &guesses : &sink);

	if (t == NULL) {
		complain("no memory left for the question");
		s->failed = true;
	}
	return t;
}

/* ---- excerpts ---------------------------------------------------------- */

static void
tell_text(struct speech *s, struct inquiry *i)
{
	struct piece piece[TIDE_PIECES_MOST + 1];
	struct tide_text *t = pipeline(s, false);
	size_t n = query_pieces(s->t->config, i->text, piece, &i->star), k;

	if (t != NULL && n == 0) {
		complain("no memory left for the question");
		s->failed = true;
	}
	for (k = 0; t != NULL && k < n; k++)
		tide_text_excerpt(t, piece[k].text, piece[k].length);
	tide_text_free(t);
}

static int
keep_line(struct inquiry *i, char *line)
{
	char **more;

	if ((i->guess_count & (i->guess_count - 1)) == 0) {
		more = realloc(i->guess,
		    (i->guess_count == 0 ? 1 : 2 * i->guess_count) *
			sizeof *more);
		if (more == NULL)
			return -1;
		i->guess = more;
	}
	i->guess[i->guess_count++] = line;
	return 0;
}

static void
tell_guess(
    struct speech *s, struct tide_text *t, struct inquiry *i, const char *line)
{
	char *copy;

	s->kept_length = 0;
	tide_text_excerpt(t, line, strlen(line));
	if (s->kept_length == 0)
		return; /* nothing is left of it */
	say_guess(s, s->kept, s->kept_length);
	copy = strdup(line);
	if (copy == NULL || keep_line(i, copy) < 0) {
		free(copy);
		complain("no memory left for the question");
		s->failed = true;
	}
}

static void
tell_guesses(struct speech *s, struct inquiry *i)
{
	struct tide_text *t = pipeline(s, true);
	FILE *f = fopen(i->guesses, "re");
	size_t room = 0;
	char *line = NULL;

	if (f == NULL) {
		complain("%s: %s", i->guesses, strerror(errno));
		s->failed = true;
	}
	while (f != NULL && t != NULL && !s->failed &&
	    getline(&line, &room, f) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		tell_guess(s, t, i, line);
	}
	if (f != NULL)
		(void)fclose(f);
	free(line);
	s->kept_length = 0;
	tide_text_free(t);
}

/* ---- messages and files ------------------------------------------------ */

/* Read all of it, chunk by chunk. */
static void
read_file(struct speech *s, const char *path,
    void (*take)(void *arg, const void *bytes, size_t length), void *arg)
{
	bool std = strcmp(path, "-") == 0;
	FILE *f = std ? stdin : fopen(path, "re");
	char chunk[32768];
	size_t n;

	if (f == NULL) {
		complain("%s: %s", path, strerror(errno));
		s->failed = true;
		return;
	}
	while (!s->failed && (n = fread(chunk, 1, sizeof chunk, f)) > 0)
		take(arg, chunk, n);
	if (ferror(f) != 0) {
		complain(
		    "%s: %s", std ? "standard input" : path, strerror(errno));
		s->failed = true;
	}
	if (!std)
		(void)fclose(f);
}

static void
take_message(void *arg, const void *bytes, size_t length)
{
	tide_text_message(arg, bytes, length);
}

void
query_say_cut(unsigned cut)
{
	char names[TIDE_CUT_MAX];

	if (cut != 0)
		complain("the message is not asked for whole, past the caps "
			 "of: %s",
		    tide_text_cut_show(cut, names));
}

static void
tell_message(struct speech *s, const char *path)
{
	struct tide_text *t;

	if (s->t->ask != NULL) {
		read_file(s, path, say_raw, s);
		return;
	}
	t = pipeline(s, false);
	if (t == NULL)
		return;
	read_file(s, path, take_message, t);
	query_say_cut(tide_text_end(t));
	tide_text_free(t);
}

struct digests {
	struct tide_digest *bytes, *lines;
};

static void
take_bytes(void *arg, const void *bytes, size_t length)
{
	struct digests *d = arg;

	tide_digest_add(d->bytes, bytes, length);
	tide_digest_add(d->lines, bytes, length);
}

static void
tell_file(struct speech *s, const char *path)
{
	struct digests d;

	if (s->t->ask != NULL) {
		read_file(s, path, say_raw, s);
		return;
	}
	d.bytes = tide_digest_new(s->t->key);
	d.lines = tide_digest_new_lines(s->t->key);
	if (d.bytes == NULL || d.lines == NULL) {
		complain("no memory left for the question");
		s->failed = true;
		return;
	}
	read_file(s, path, take_bytes, &d);
	say_file(s, tide_digest_end(d.bytes));
	say_file(s, tide_digest_end(d.lines));
}

/* ---- all of it --------------------------------------------------------- */

bool
query_has_content(const struct inquiry *i)
{
	return i->text != NULL || i->file != NULL || i->message != NULL;
}

int
query_tell(struct telling *t, struct inquiry *i)
{
	struct speech s = { .t = t };

	say_kind(&s,
	    i->text != NULL	  ? TIDE_RECALL_EXCERPT
		: i->file != NULL ? TIDE_RECALL_FILE
				  : TIDE_RECALL_MESSAGE);
	if (s.failed)
		return -1;
	if (i->text != NULL)
		tell_text(&s, i);
	else if (i->file != NULL)
		tell_file(&s, i->file);
	else
		tell_message(&s, i->message);
	if (i->guesses != NULL && !s.failed)
		tell_guesses(&s, i);
	free(s.kept);
	return s.failed ? -1 : 0;
}

void
query_forget(struct inquiry *i)
{
	size_t k;

	for (k = 0; k < i->guess_count; k++)
		free(i->guess[k]);
	free(i->guess);
}
