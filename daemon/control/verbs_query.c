/*
 * verbs_query - did it pass?
 *
 * A question about content takes many lines: "content" lines say what it is,
 * without an answer, and the "query" that follows puts it to the windows.  A
 * text comes part by part; a message or a file comes as it is, as raw= bytes
 * behind a line, because the digests of files are made under the hash key,
 * which whoever asks does not have.  While it is at work it says how far it is; any word from the
 * other side, or its end, stops it, and what was found by then is the answer.
 *
 * Texts that are asked for are nobody's business: they are not logged.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/archive/archive.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

#define STOP_MS 20	/* how often one looks for a word to stop */
#define PROGRESS_MS 250 /* and says how far it is */

/* What this thread's connection has said so far. */
static _Thread_local struct {
	struct tide_recall *recall;
	enum tide_recall_kind kind;
	bool failed; /* and err says why */
	struct tide_err err;
	/* of what comes as it is */
	struct tide_text *pipeline;
	struct tide_digest *bytes, *lines;
	char *links; /* of the open part, each with its NUL */
	size_t links_length;
	unsigned cut;
} asked;

void
forget_question(void)
{
	tide_recall_free(asked.recall);
	tide_text_free(asked.pipeline);
	if (asked.bytes != NULL)
		(void)tide_digest_end(asked.bytes);
	if (asked.lines != NULL)
		(void)tide_digest_end(asked.lines);
	free(asked.links);
	memset(&asked, 0, sizeof asked);
}

/* ---- a message, a file, as they are ------------------------------------ */

static void
note(int rc)
{
	if (rc < 0)
		asked.failed = true;
}

static void
on_begin(void *arg, const struct tide_part *part)
{
	(void)arg;
	(void)part;
	if (!asked.failed)
		note(tide_recall_part(asked.recall, &asked.err));
}

static void
on_text(void *arg, const char *text, size_t length)
{
	(void)arg;
	if (!asked.failed)
		note(tide_recall_text(asked.recall, text, length, &asked.err));
}

/* While its text is open: kept until that is over. */
static void
on_link(
    void *arg, const struct tide_part *part, const char *text, size_t length)
{
	char *more = realloc(asked.links, asked.links_length + length + 1);

	(void)arg;
	(void)part;
	if (more == NULL) {
		note(tide_err_set(&asked.err, "no memory for the question"));
		return;
	}
	memcpy(more + asked.links_length, text, length);
	more[asked.links_length + length] = '\0';
	asked.links = more;
	asked.links_length += length + 1;
}

static void
on_end(void *arg, const struct tide_part *part)
{
	const char *link;

	for (link = asked.links;
	     link != NULL && link < asked.links + asked.links_length;
	     link += strlen(link) + 1) {
		on_begin(arg, part);
		on_text(arg, link, strlen(link));
	}
	asked.links_length = 0;
}

static void
on_file(void *arg, const struct tide_part *part, struct tide_hash digest,
    uint64_t bytes)
{
	(void)arg;
	(void)part;
	if (!asked.failed && bytes > 0)
		note(tide_recall_file(asked.recall, digest, &asked.err));
}

static bool
begin_raw(struct collector *c)
{
	static const struct tide_text_sink sink = { NULL, on_begin, on_text,
		on_end, on_link, on_file };
	char headers[sizeof c->config.text_headers];
	struct tide_text_caps caps;

	if (asked.kind == TIDE_RECALL_FILE && asked.bytes == NULL) {
		asked.bytes = tide_digest_new(&c->archive.key);
		asked.lines = tide_digest_new_lines(&c->archive.key);
	} else if (asked.kind == TIDE_RECALL_MESSAGE &&
	    asked.pipeline == NULL) {
		(void)pthread_mutex_lock(&c->lock);
		caps = tide_text_caps(&c->config);
		memcpy(headers, c->config.text_headers, sizeof headers);
		(void)pthread_mutex_unlock(&c->lock);
		asked.pipeline =
		    tide_text_new(&c->archive.key, &caps, headers, &sink);
	}
	return asked.pipeline != NULL ||
	    (asked.bytes != NULL && asked.lines != NULL);
}

static int
take_raw(struct collector *c, const char *value)
{
	static _Thread_local char bytes[CONTROL_RAW_MOST];
	unsigned long n = strtoul(value, NULL, 10);

	if (n > sizeof bytes || control_take(bytes, n) < 0)
		return tide_err_set(&asked.err, "the content ended too early");
	if (!begin_raw(c))
		return tide_err_set(&asked.err, "no memory for the question");
	if (asked.pipeline != NULL) {
		tide_text_message(asked.pipeline, bytes, n);
		return asked.failed ? -1 : 0;
	}
	tide_digest_add(asked.bytes, bytes, n);
	tide_digest_add(asked.lines, bytes, n);
	return 0;
}

static void
end_raw(void)
{
	if (asked.pipeline != NULL)
		asked.cut = tide_text_end(asked.pipeline);
	if (asked.bytes == NULL)
		return;
	note(tide_recall_file(
	    asked.recall, tide_digest_end(asked.bytes), &asked.err));
	note(tide_recall_file(
	    asked.recall, tide_digest_end(asked.lines), &asked.err));
	asked.bytes = asked.lines = NULL;
}

/* ---- content ----------------------------------------------------------- */

static int
begin_content(struct collector *c, const char *kind)
{
	static const char *const kinds[] = { [TIDE_RECALL_EXCERPT] = "excerpt",
		[TIDE_RECALL_MESSAGE] = "message",
		[TIDE_RECALL_FILE] = "file" };
	unsigned i;

	forget_question();
	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kind, kinds[i]) == 0) {
			asked.kind = i;
			asked.recall = tide_recall_new(&c->archive.key, i);
		}
	return asked.recall != NULL
	    ? 0
	    : tide_err_set(&asked.err, "there is no such kind of content");
}

static int
take_content(struct collector *c, const char *key, const char *value)
{
	if (strcmp(key, "kind") == 0)
		return begin_content(c, value);
	if (asked.recall == NULL)
		return tide_err_set(&asked.err, "say which kind first");
	if (strcmp(key, "part") == 0)
		return tide_recall_part(asked.recall, &asked.err);
	if (strcmp(key, "text") == 0)
		return tide_recall_text(
		    asked.recall, value, strlen(value), &asked.err);
	if (strcmp(key, "raw") == 0)
		return take_raw(c, value);
	if (strcmp(key, "guess") == 0)
		return tide_recall_guess(
		    asked.recall, value, strlen(value), &asked.err);
	return 0; /* of a newer tool */
}

/* After a failure: what follows a line must not be taken for one. */
static void
skip_raw(const char *key, const char *value)
{
	static _Thread_local char bytes[CONTROL_RAW_MOST];
	unsigned long n = strtoul(value, NULL, 10);

	if (strcmp(key, "raw") == 0 && n <= sizeof bytes)
		(void)control_take(bytes, n);
}

void
do_content(struct collector *c, int fd, const struct tide_line *line)
{
	unsigned i;

	(void)fd;
	for (i = 0; i < line->pairs; i++)
		if (asked.failed)
			skip_raw(line->pair[i].key, line->pair[i].value);
		else if (take_content(
			     c, line->pair[i].key, line->pair[i].value) < 0)
			asked.failed = true; /* "query" will say so */
}

/* It came too late: the answer was on its way. */
void
do_stop(struct collector *c, int fd, const struct tide_line *line)
{
	(void)c;
	(void)fd;
	(void)line;
}

/* ---- on the way -------------------------------------------------------- */

struct way {
	int fd;
	uint64_t looked_ms, told_ms; /* monotonic */
};

/* A word, or nobody there any more; an end of what it says is neither. */
static bool
wants_it_stopped(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	if (control_has_more())
		return true;
	if (poll(&p, 1, 0) <= 0)
		return false;
	return (p.revents & (POLLHUP | POLLERR)) != 0 ||
	    recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static bool
go_on(void *arg, uint64_t done, uint64_t all)
{
	struct way *w = arg;
	uint64_t now = tide_clock_mono_ms();
	struct tide_line_out out;

	if (now < w->looked_ms + STOP_MS)
		return true;
	w->looked_ms = now;
	if (wants_it_stopped(w->fd))
		return false;
	if (now < w->told_ms + PROGRESS_MS)
		return true;
	w->told_ms = now;
	tide_line_start(&out, "progress");
	tide_line_add_number(&out, "done", done);
	tide_line_add_number(&out, "all", all);
	return tide_line_send(&out, w->fd) == 0;
}

/* ---- the answer -------------------------------------------------------- */

static void
add_content(struct tide_line_out *out, const struct tide_hit *h)
{
	const struct tide_recollection *c = &h->content;

	tide_line_add_number(out, "levels", c->levels);
	tide_line_add_number(out, "blocks", c->blocks);
	tide_line_add_number(out, "whole", c->whole);
	tide_line_add_real(out, "chance", c->chance);
	tide_line_add_real(out, "share", c->share);
	tide_line_add_number(out, "files", c->files);
	tide_line_add_number(out, "files_asked", c->files_asked);
	if (c->distance >= 0)
		tide_line_add_number(out, "distance", (uint64_t)c->distance);
	tide_line_add(out, "profiles", h->profiles);
	tide_line_add_number(out, "certain", h->certain);
}

static int
send_hit(int fd, const struct tide_hit *h)
{
	struct tide_line_out out;

	tide_line_start(&out, "hit");
	tide_line_add_number(&out, "number", h->number);
	tide_line_add_number(&out, "from_ms", h->from_ms);
	tide_line_add_number(&out, "until_ms", h->until_ms);
	tide_line_add_real(&out, "error", h->error);
	tide_line_add_number(&out, "sealed", h->sealed);
	add_content(&out, h);
	return tide_line_send(&out, fd);
}

static int
send_gap(int fd, const struct tide_gap *g)
{
	struct tide_line_out out;

	tide_line_start(&out, "gap");
	tide_line_add_number(&out, "from_ms", g->from_ms);
	tide_line_add_number(&out, "until_ms", g->until_ms);
	tide_line_add_number(&out, "kind", g->kind);
	return tide_line_send(&out, fd);
}

static int
send_fit(int fd, const struct tide_fit *f)
{
	struct tide_line_out out;

	tide_line_start(&out, "fit");
	tide_line_add_number(&out, "guess", f->guess);
	tide_line_add_number(&out, "window", f->window);
	tide_line_add_number(&out, "levels", f->levels);
	tide_line_add_real(&out, "error", f->error);
	return tide_line_send(&out, fd);
}

static int
send_range(int fd, const struct tide_answer *a)
{
	struct tide_line_out out;

	tide_line_start(&out, "range");
	tide_line_add_number(&out, "since_ms", a->since_ms);
	tide_line_add_number(&out, "until_ms", a->until_ms);
	tide_line_add_number(&out, "windows", a->windows);
	tide_line_add_real(&out, "error", a->error);
	tide_line_add_number(&out, "lookups", a->lookups);
	tide_line_add_number(&out, "stopped", a->stopped);
	tide_line_add_number(&out, "cut", asked.cut);
	return tide_line_send(&out, fd);
}

static void
send_answer(int fd, const struct tide_answer *a)
{
	size_t i;
	int rc = send_range(fd, a);

	for (i = 0; rc == 0 && i < a->hits; i++)
		rc = send_hit(fd, &a->hit[i]);
	for (i = 0; rc == 0 && i < a->fits; i++)
		rc = send_fit(fd, &a->fit[i]);
	for (i = 0; rc == 0 && i < a->gaps; i++)
		rc = send_gap(fd, &a->gap[i]);
	if (rc == 0)
		say_ok(fd);
}

static int
ready(const struct tide_line *line)
{
	if (tide_line_get(line, "content") == NULL)
		return 0;
	if (asked.failed)
		return -1;
	if (asked.recall == NULL)
		return tide_err_set(&asked.err, "no content was asked for");
	end_raw();
	if (asked.failed)
		return -1;
	return tide_recall_ready(asked.recall, &asked.err);
}

void
do_query(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t now = tide_clock_wall_ms();
	struct way way = { .fd = fd, .told_ms = tide_clock_mono_ms() };
	struct tide_question q = { .from = tide_line_get(line, "from"),
		.to = tide_line_get(line, "to"),
		.has_since = tide_line_get(line, "since_ms") != NULL,
		.since_ms = tide_line_number(line, "since_ms", 0),
		.until_ms = tide_line_number(line, "until_ms", UINT64_MAX),
		.now_ms = now,
		.boot_ms = tide_clock_boot_ms(),
		.mono_ms = tide_clock_mono_ms(),
		.arg = &way };
	struct tide_answer answer;
	int rc = ready(line);

	if (rc >= 0 && tide_line_get(line, "content") != NULL) {
		q.recall = asked.recall;
		q.go_on = go_on;
	}
	if (rc >= 0)
		rc = tide_query(&c->archive, c->map, &q, &answer, &asked.err);
	if (rc < 0) {
		say_err(fd, asked.err.text);
	} else {
		send_answer(fd, &answer);
		tide_answer_free(&answer);
	}
	forget_question();
}
