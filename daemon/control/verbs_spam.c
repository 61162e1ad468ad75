/*
 * verbs, spam - a message is reported, revoked, or looked for.
 */
#include <string.h>

#include "../collector/collector.h"
#include "message.h"
#include "verbs.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

static int
read_kind(const struct tide_line *line, enum tide_spam_kind *kind,
    struct tide_err *err)
{
	const char *word = tide_line_get(line, "kind");

	*kind = word != NULL && strcmp(word, "revoke") == 0
	    ? TIDE_SPAM_REVOKED
	    : TIDE_SPAM_REPORTED;
	if (*kind == TIDE_SPAM_REVOKED ||
	    (word != NULL && strcmp(word, "report") == 0))
		return 0;
	return tide_err_set(err, "kind= is one of report and revoke");
}

static int
read_signatures(const struct tide_line *line, struct tide_signatures *s,
    struct tide_err *err)
{
	if (message_signed(s, err) < 0)
		return -1;
	if (tide_line_number(line, "no_files", 0) != 0)
		s->files = 0;
	return 0;
}

void
do_spam(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_line_out out;
	struct tide_signatures s;
	enum tide_spam_kind kind;
	uint64_t generation = 0;
	char name[MESSAGE_NAME] = "-";
	struct tide_err err;
	int rc = read_kind(line, &kind, &err);

	if (rc == 0)
		rc = read_signatures(line, &s, &err);
	if (rc == 0 && !s.has_text && s.files == 0)
		rc = tide_err_set(&err,
		    "the message has too little text to be known by, and no "
		    "attachment");
	if (rc == 0)
		rc = spam_report(c, kind, &s, &generation, &err);
	if (rc < 0) {
		say_err(fd, err.text);
		return;
	}
	if (s.has_text)
		message_name(c, s.text, name);
	tide_log(TIDE_LOG_INFO, "spam: text=%.16s files=%zu %s", name, s.files,
	    kind == TIDE_SPAM_REPORTED ? "reported" : "revoked");
	tide_line_start(&out, "spam");
	tide_line_add_number(&out, "generation", generation);
	tide_line_add_number(&out, "has_text", s.has_text);
	tide_line_add(&out, "text", s.has_text ? name : "");
	tide_line_add_number(&out, "files", s.files);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

/* ---- would it be met? -------------------------------------------------- */

static void
send_trace(struct collector *c, int fd, const char *of, struct tide_hash h,
    const struct tide_spam_trace *t)
{
	char name[MESSAGE_NAME];
	struct tide_line_out out;

	message_name(c, h, name);
	tide_line_start(&out, "trace");
	tide_line_add(&out, "of", of);
	tide_line_add(&out, "name", name);
	tide_line_add_number(&out, "reported", t->reported);
	if (t->reported != 0)
		tide_line_add_number(&out, "began_ms",
		    atomic_load(&tide_spam_generation(c->map->spam, t->reported)
				     ->began_ms));
	tide_line_add_number(&out, "revoked", t->revoked);
	(void)tide_line_send(&out, fd);
}

static void
send_match(
    int fd, const struct tide_signatures *s, const struct tide_spam_match *m)
{
	struct tide_line_out out;

	tide_line_start(&out, "match");
	tide_line_add_number(&out, "samples", s->samples);
	tide_line_add_number(&out, "met", m->met);
	tide_line_add_number(&out, "met_gone", m->met_gone);
	tide_line_add_number(&out, "needed", m->needed);
	tide_line_add_number(&out, "how", (uint64_t)m->how);
	tide_line_add_number(&out, "generation", m->generation);
	tide_line_add_number(&out, "began_ms", m->began_ms);
	(void)tide_line_send(&out, fd);
}

void
do_spam_test(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_spam_match m;
	struct tide_signatures s;
	struct tide_err err;
	size_t i;

	if (read_signatures(line, &s, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	(void)tide_spam_test(c->map->spam, NULL, NULL, &s, &m);
	if (s.has_text)
		send_trace(c, fd, "text", s.text, &m.text);
	for (i = 0; i < s.files; i++)
		send_trace(c, fd, "file", s.file[i], &m.file[i]);
	send_match(fd, &s, &m);
	say_ok(fd);
}
