/*
 * addresses check-against - which of the known good are taken for spam?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../order.h"
#include "../read/ask.h"
#include "../read/ask_key.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "addresses.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/config.h"

#define BATCH 24u /* keys in one request */

void
addresses_exceptions(const struct view *v, struct tide_exceptions *x)
{
	struct tide_err err;

	memset(x, 0, sizeof *x);
	(void)tide_exceptions_attach(x, v->config.runtime_dir, &err);
}

void
addresses_forms(struct tide_sender_forms *f, const struct tide_key *key)
{
	static const struct tide_hash_key none; /* names are all we need */

	if (key->text[0] != '@') {
		tide_sender_forms(&none, key->text, f);
		return;
	}
	f->count = 1;
	f->key[0] = *key;
}

struct check {
	const struct tool *t;
	const struct view *v;
	struct tide_exceptions exceptions;
	uint64_t checked, excepted, found;
	bool except;
	struct ask ask;
	struct tide_key asked[ASK_LISTED_MOST]; /* not looked for yet */
	unsigned waiting;
	struct tide_key batch[BATCH];
	unsigned pending;
};

static void
say_excepted(const struct tool *t, const struct tide_line *line)
{
	(void)t;
	(void)line;
}

static int
flush(struct check *c)
{
	static struct order o = { .each = say_excepted };
	struct tide_line_out request;
	unsigned i;

	if (c->pending == 0)
		return 0;
	tide_line_start(&request, "except-add");
	tide_line_add(&request, "reason", "false positive of the list");
	for (i = 0; i < c->pending; i++)
		tide_line_add(&request, "key", c->batch[i].text);
	c->pending = 0;
	return order_give(c->t, &o, &request) == TOOL_OK ? 0 : -1;
}

static void
say_found(const struct check *c, const struct tide_key *key)
{
	struct json j;

	if (!c->t->json) {
		printf("%s\n", key->text);
		return;
	}
	j = json_record(stdout, "false_positive");
	json_text(&j, "key", key->text);
	json_bool(&j, "excepted", c->except);
	json_record_end(&j);
}

/* An exception for what was found: the address, unless it is its domain. */
static int
take_found(struct check *c, const struct tide_key *key)
{
	struct tide_sender_forms forms;

	addresses_forms(&forms, key);
	if (tide_exceptions_for(&c->exceptions, &forms) != NULL) {
		c->excepted++;
		return 0;
	}
	c->found++;
	say_found(c, key);
	if (!c->except)
		return 0;
	c->batch[c->pending++] = *key;
	return c->pending == BATCH ? flush(c) : 0;
}

static int
look(struct check *c)
{
	const char *sender[ASK_LISTED_MOST];
	struct listed found[ASK_LISTED_MOST];
	unsigned i, n = c->waiting;
	int rc = 0;

	for (i = 0; i < n; i++)
		sender[i] = c->asked[i].text;
	c->waiting = 0;
	if (n > 0 && ask_listed(&c->ask, sender, n, found) < 0)
		return -1;
	for (i = 0; rc == 0 && i < n; i++)
		if (found[i].form >= 0)
			rc = take_found(c, &c->asked[i]);
	return rc;
}

static int
check_line(void *arg, const char *line, const struct tide_key *key)
{
	struct check *c = arg;

	(void)line;
	c->checked++;
	c->asked[c->waiting++] = *key;
	return c->waiting == ASK_LISTED_MOST ? look(c) : 0;
}

static void
sum_up(const struct check *c)
{
	complain("%llu checked, %llu on the list%s, %llu excepted before",
	    (unsigned long long)c->checked, (unsigned long long)c->found,
	    c->found == 0   ? ""
		: c->except ? ", now exceptions"
			    : " (--except makes exceptions of them)",
	    (unsigned long long)c->excepted);
}

int
addresses_check(const struct tool *t, const struct view *v, char *const *files,
    int n, bool except)
{
	static struct check c;
	struct lines l = { .each = check_line, .arg = &c };
	int rc;

	c = (struct check){ .t = t, .v = v, .except = except };
	if (ask_open(&c.ask, &v->config) == ANSWER_BROKEN)
		return TOOL_ERROR;
	addresses_exceptions(v, &c.exceptions);
	rc = lines_read(&l, "checking", files, n);
	if (rc == 0)
		rc = look(&c);
	if (rc == 0)
		rc = flush(&c);
	ask_close(&c.ask);
	tide_exceptions_detach(&c.exceptions);
	if (rc < 0)
		return TOOL_ERROR;
	sum_up(&c);
	return c.found == 0 || except ? TOOL_OK : TOOL_NO;
}
