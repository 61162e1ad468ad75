/*
 * verbs - what the control socket understands.
 */
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "tidemark/clock.h"
#include "tidemark/line.h"
#include "tidemark/log.h"
#include "tidemark/query.h"
#include "verbs.h"

void
say_ok(int fd)
{
	struct tide_line_out out;

	tide_line_start(&out, "ok");
	(void)tide_line_send(&out, fd);
}

void
say_err(int fd, const char *text)
{
	struct tide_line_out out;

	tide_line_start(&out, "err");
	tide_line_add(&out, "text", text);
	(void)tide_line_send(&out, fd);
}

static void
say_result(int fd, int rc, const struct tide_err *err)
{
	if (rc == 0)
		say_ok(fd);
	else
		say_err(fd, err->text);
}

/* ---- asking ------------------------------------------------------------ */

static void
do_ping(struct collector *c, int fd, const struct tide_line *line)
{
	(void)c;
	(void)line;
	say_ok(fd);
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

static void
send_answer(int fd, const struct tide_answer *a)
{
	struct tide_line_out out;
	size_t i;
	int rc;

	tide_line_start(&out, "range");
	tide_line_add_number(&out, "since_ms", a->since_ms);
	tide_line_add_number(&out, "until_ms", a->until_ms);
	tide_line_add_number(&out, "windows", a->windows);
	tide_line_add_real(&out, "error", a->error);
	rc = tide_line_send(&out, fd);
	for (i = 0; rc == 0 && i < a->hits; i++)
		rc = send_hit(fd, &a->hit[i]);
	for (i = 0; rc == 0 && i < a->gaps; i++)
		rc = send_gap(fd, &a->gap[i]);
	if (rc == 0)
		say_ok(fd);
}

static void
do_query(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t now = tide_clock_wall_ms();
	struct tide_question q = { .from = tide_line_get(line, "from"),
		.to = tide_line_get(line, "to"),
		.has_since = tide_line_get(line, "since_ms") != NULL,
		.since_ms = tide_line_number(line, "since_ms", 0),
		.until_ms = tide_line_number(line, "until_ms", now),
		.now_ms = now };
	struct tide_answer answer;
	struct tide_err err;

	if (tide_query(&c->archive, c->map, &q, &answer, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	send_answer(fd, &answer);
	tide_answer_free(&answer);
}

/* ---- changing ---------------------------------------------------------- */

static void
do_reload(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_line_out out;
	char *text = NULL;

	(void)line;
	if (collector_reload(c, &text) < 0) {
		say_err(fd, text != NULL ? text : "no memory");
		free(text);
		return;
	}
	tide_line_start(&out, "reloaded");
	tide_line_add_number(
	    &out, "generation", atomic_load(&c->map->control->generation));
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

static void
do_bypass(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t for_ms = tide_line_number(line, "for_ms", 0);
	uint64_t now = tide_clock_wall_ms();
	uint64_t until = for_ms == 0 ? 0 : now + for_ms;
	struct tide_line_out out;
	struct tide_err err;

	atomic_store(&c->map->control->bypass_until_ms, until);
	if (until == 0)
		tide_log(TIDE_LOG_WARNING, "bypass off");
	else
		tide_log(TIDE_LOG_WARNING,
		    "bypass on for %llu s: every profile accepts",
		    (unsigned long long)for_ms / 1000);
	/* kept over a loss of the map, like everything acknowledged */
	if (archivist_ask(c, ERRAND_CHECKPOINT, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_line_start(&out, "bypass");
	tide_line_add_number(&out, "until_ms", until);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

static void
do_seal(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_err err;

	(void)line;
	say_result(fd, archivist_ask(c, ERRAND_SEAL, &err), &err);
}

static void
do_checkpoint(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_err err;

	(void)line;
	say_result(fd, archivist_ask(c, ERRAND_CHECKPOINT, &err), &err);
}

/* ---- the table --------------------------------------------------------- */

static const struct verb {
	const char *word;
	bool changes;
	void (*answer)(struct collector *, int fd, const struct tide_line *);
} verbs[] = {
	{ "ping", false, do_ping },
	{ "query", false, do_query },
	{ "reload", true, do_reload },
	{ "bypass", true, do_bypass },
	{ "seal", true, do_seal },
	{ "checkpoint", true, do_checkpoint },
	{ "ban", true, do_ban },
	{ "unban", true, do_unban },
	{ "bucket-reset", true, do_bucket_reset },
	{ "report", true, do_report },
	{ "audit", true, do_audit },
	{ "egress-add", true, do_egress_add },
	{ "egress-del", true, do_egress_del },
	{ "egress-list", false, do_egress_list },
	{ "egress-poll", false, do_egress_poll },
	{ "egress-checked", true, do_egress_checked },
};

void
answer_request(
    struct collector *c, int fd, const struct tide_line *line, bool may_change)
{
	size_t i;

	tide_count(c->map->counters, TIDE_COUNT_CONTROL_REQUESTS, 1);
	for (i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (strcmp(verbs[i].word, line->word) != 0)
			continue;
		if (!verbs[i].changes || may_change) {
			verbs[i].answer(c, fd, line);
			return;
		}
		tide_count(c->map->counters, TIDE_COUNT_CONTROL_DENIED, 1);
		say_err(fd,
		    "you may ask, but not change: see admins in "
		    "tidemark.conf(5)");
		return;
	}
	say_err(fd, "there is no such request");
}
