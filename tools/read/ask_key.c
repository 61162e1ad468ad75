/*
 * ask_key - questions that only who has the hash key can answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "ask_key.h"
#include "output.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

/* One line and "ok"; the line is in ask->line. */
static int
ask_line(
    struct ask *ask, const struct tide_config *config, struct tide_line_out *l)
{
	int rc = -1;

	if (ask_send(ask, config, l) == ANSWER_BROKEN)
		return -1;
	if (ask_next(ask) == ANSWER_LINE)
		rc = 0;
	ask_close(ask);
	return rc;
}

static int
ask_daemon(const struct tide_config *config, const char *text,
    struct tide_key *key, uint64_t *fingerprint)
{
	struct ask *ask = calloc(1, sizeof *ask);
	struct tide_line_out request;
	const char *said;
	int rc;

	if (ask == NULL)
		return -1;
	tide_line_start(&request, "key");
	if (text != NULL)
		tide_line_add(&request, "text", text);
	rc = ask_line(ask, config, &request);
	said = rc == 0 ? tide_line_get(&ask->line, "key") : NULL;
	if (text != NULL && said != NULL) {
		memset(key, 0, sizeof *key);
		(void)snprintf(key->text, sizeof key->text, "%s", said);
		key->length = (uint8_t)strlen(key->text);
	}
	if (rc == 0 && fingerprint != NULL)
		*fingerprint = tide_line_number(&ask->line, "fingerprint", 0);
	free(ask);
	return rc;
}

int
ask_key(
    const struct tide_config *config, const char *text, struct tide_key *key)
{
	static const struct tide_hash_key one, other = { { 1 } };
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = &one };
	struct tide_key again;
	struct tide_err err;

	tide_key_rules_defaults(&rules);
	if (tide_key_given(&keys, text, key, &err) < 0) {
		complain("%s", err.text);
		return -1;
	}
	keys.secret = &other;
	if (tide_key_given(&keys, text, &again, &err) == 0 &&
	    tide_key_equal(key, &again))
		return 0; /* the same under any hash key */
	return ask_daemon(config, text, key, NULL);
}

int
ask_fingerprint(const struct tide_config *config, uint64_t *fingerprint)
{
	return ask_daemon(config, NULL, NULL, fingerprint);
}

static void
take_listed(const struct tide_line *line, struct listed *found)
{
	const char *as = tide_line_get(line, "as");

	found->form = as != NULL ? (int)tide_line_number(line, "form", 0) : -1;
	(void)snprintf(found->as, sizeof found->as, "%s", as != NULL ? as : "");
}

int
ask_listed(struct ask *ask, const char *const *sender, unsigned n,
    struct listed *found)
{
	struct tide_line_out request;
	enum answer a = ANSWER_LINE;
	unsigned i;

	tide_line_start(&request, "addresses-test");
	for (i = 0; i < n; i++)
		tide_line_add(&request, "key", sender[i]);
	if (ask_say(ask, &request) == ANSWER_BROKEN)
		return -1;
	for (i = 0; i < n && a == ANSWER_LINE; i++) {
		a = ask_next(ask);
		if (a == ANSWER_LINE)
			take_listed(&ask->line, &found[i]);
	}
	return a == ANSWER_LINE && ask_next(ask) == ANSWER_DONE ? 0 : -1;
}
