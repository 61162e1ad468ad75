/*
 * verbs - what the control socket understands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/base/printable.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/counters.h"

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

void
verb_text(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text != NULL ? text : "");
	tide_printable_disarm(out);
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
	uint64_t now = tide_map_now_ms(c->map);
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
	tide_line_add_number(&out, "now_ms", now);
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

/* With the drops that are still in mailboxes: PROTOCOL backup in
 * tools/backup.c. */
static void
do_checkpoint(struct collector *c, int fd, const struct tide_line *line)
{
	struct chore drain = { .kind = CHORE_DRAIN };
	struct tide_err err;

	(void)line;
	if (chore_ask(c, &drain, &err) < 0) {
		say_err(fd, err.text);
		return;
	}
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
	{ "content", false, do_content },
	{ "stop", false, do_stop },
	{ "message", false, do_message },
	{ "spam-test", false, do_spam_test },
	{ "bulk-test", false, do_bulk_test },
	{ "key", false, do_key },
	{ "addresses-test", false, do_addresses_test },
	{ "addresses-install", true, do_addresses_install },
	{ "addresses-load", true, do_addresses_load },
	{ "addresses-add", true, do_addresses_add },
	{ "addresses-del", true, do_addresses_del },
	{ "except-add", true, do_except_add },
	{ "except-del", true, do_except_del },
	{ "egress-add", true, do_egress_add },
	{ "egress-del", true, do_egress_del },
	{ "egress-list", false, do_egress_list },
	{ "egress-poll", false, do_egress_poll },
	{ "egress-checked", true, do_egress_checked },
	{ "spam", true, do_spam },
	{ "export", true, do_export },
	{ "merge", true, do_merge },
	{ "forget", true, do_forget },
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
